//! Changes of the round trip, and how much was delivered while it changed.

use std::array;

use crate::packed::{PackedValue, packed_value};
use crate::units::{Duration, Time};

/// How the round trip of a direction changed, and how much was delivered during the changes.
///
/// A *delivery* is an acknowledgment that reports octets as arrived. The *extreme* is the round
/// trip with which new round trips are compared. At the beginning, it is the shortest round trip so
/// far. A *change* ends at the first delivery whose round trip differs from the extreme by at least
/// a quarter of the shorter of these two round trips. The change began at the last delivery with a
/// round trip near the extreme. After a change to longer round trips, the extreme is the longest
/// round trip since this change. After a change to shorter round trips, it is the shortest round
/// trip since this change.
///
/// If the queue of a full link makes round trips longer, data is delivered at the rate of the link
/// during the change. If the delay of the path grows instead, fewer octets are delivered during the
/// change.
///
/// ```
/// use netspurt::explain::DelayChanges;
/// use netspurt::units::{Duration, Time};
/// let ms = Duration::from_millis;
/// let mut changes = DelayChanges::default();
/// for tick in 0..100 {
///     // 1000 octets are sent every millisecond. After 50 ms, the delay grows by 30 ms.
///     let rtt = if tick < 50 { ms(40) } else { ms(70) };
///     changes.take(Time::ZERO + ms(tick) + rtt, 1000, rtt);
/// }
/// let longer = changes.sums[0];
/// assert_eq!((longer.rtt_ns, longer.lasted_ns, longer.bytes), (30_000_000, 31_000_000, 1000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayChanges {
    /// The sums of the changes of each kind, in the order of [`KINDS`](Self::KINDS).
    pub sums: [ChangeSums; 4],
    /// Octets that were delivered so far.
    bytes: u64,
    /// The extreme round trip since the last change. `None` before the first delivery.
    extreme: Option<Duration>,
    /// The last delivery with a round trip near the extreme: its time, the number of octets
    /// delivered until then, and its round trip.
    begin: (Time, (u64, Duration)),
    /// Whether the last change was to longer round trips, so that the extreme is the longest.
    is_high: bool,
}

/// The sums of changes of the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeSums {
    /// The sum of the differences of round trips, without sign, in nanoseconds.
    pub rtt_ns: u64,
    /// How long the changes lasted, in nanoseconds.
    pub lasted_ns: u64,
    /// The octets that were delivered during the changes.
    pub bytes: u64,
}

packed_value!(ChangeSums { rtt_ns, lasted_ns, bytes });

impl DelayChanges {
    /// The kinds of changes. A change is slow if the round trip changes by less than an eighth of
    /// the time of the change.
    pub const KINDS: [&str; 4] = ["longer", "shorter", "slowly longer", "slowly shorter"];
    /// A change is slow if the round trip changes by less than the time of the change divided by
    /// `FAST`.
    const FAST: u64 = 8;
    /// A round trip is near the extreme if the two differ by at most the extreme divided by `NEAR`.
    const NEAR: u64 = 16;

    /// Takes `bytes` octets that an acknowledgment at the instant `at` reports as delivered. `rtt`
    /// is the round trip of the newest of them.
    #[inline]
    pub fn take(&mut self, at: Time, bytes: u64, rtt: Duration) {
        self.bytes = self.bytes.saturating_add(bytes);
        let (now, extreme) = (rtt.as_nanos(), self.extreme.unwrap_or(rtt).as_nanos());
        let (low, high) = (now.min(extreme), now.max(extreme));
        let is_beyond = if self.is_high { now >= extreme } else { now <= extreme };
        if is_beyond || (high - low).saturating_mul(Self::NEAR) <= extreme {
            self.begin = (at, (self.bytes, rtt));
            self.extreme = Some(if is_beyond { rtt } else { Duration::from_nanos(extreme) });
        } else if (high - low).saturating_mul(4) >= low {
            self.change(at, rtt);
        }
    }

    /// Takes octets without a known round trip.
    #[inline]
    pub fn pass(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Ends a change at the instant `at`, with the round trip `rtt`.
    #[cold]
    fn change(&mut self, at: Time, rtt: Duration) {
        let (begin, (bytes, from)) = self.begin;
        let differs = rtt.as_nanos().abs_diff(from.as_nanos());
        let lasted = at.saturating_since(begin).as_nanos();
        let is_slow = differs.saturating_mul(Self::FAST) < lasted;
        let sums = &mut self.sums[2 * usize::from(is_slow) + usize::from(self.is_high)];
        sums.rtt_ns = sums.rtt_ns.saturating_add(differs);
        sums.lasted_ns = sums.lasted_ns.saturating_add(lasted);
        sums.bytes = sums.bytes.saturating_add(self.bytes - bytes);
        self.is_high = !self.is_high;
        self.extreme = Some(rtt);
        self.begin = (at, (self.bytes, rtt));
    }
}

impl PackedValue for DelayChanges {
    fn put(&self, into: &mut Vec<u8>) {
        self.sums.iter().for_each(|sums| sums.put(into));
        (self.bytes, (self.extreme, (self.begin, self.is_high))).put(into);
    }

    fn get(from: &mut &[u8]) -> Self {
        let sums = array::from_fn(|_| ChangeSums::get(from));
        let (bytes, (extreme, (begin, is_high))) = PackedValue::get(from);
        Self { sums, bytes, extreme, begin, is_high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The changes of the round trip over `many` deliveries of 1000 octets. For each delivery, the
    /// function `of` gives two times in microseconds: when the octets were sent, and their round
    /// trip. If octets would arrive before earlier octets, their round trip is made longer, so that
    /// they arrive together with the earlier octets.
    fn changes(many: u64, of: impl Fn(u64) -> (u64, u64)) -> DelayChanges {
        let (mut changes, mut last) = (DelayChanges::default(), 0);
        for n in 0..many {
            let (sent, rtt) = of(n);
            last = last.max(sent + rtt);
            let [at, rtt] = [last, last - sent].map(Duration::from_micros);
            changes.take(Time::ZERO + at, 1000, rtt);
        }
        changes
    }

    #[test]
    fn a_queue_delivers_at_link_rate_while_round_trips_become_longer() {
        // The link takes 1 ms for each delivery. The octets are sent twice as fast, so the queue
        // grows.
        let [longer, shorter, slowly, _] = changes(100, |n| (500 * n, 40_000 + 500 * n)).sums;
        assert_eq!(longer.lasted_ns / 1_000_000 * 1000, longer.bytes);
        assert!(longer.rtt_ns >= longer.lasted_ns / 2);
        assert_eq!([shorter, slowly], [ChangeSums::default(); 2]);
    }

    #[test]
    fn many_octets_are_delivered_at_once_when_the_delay_becomes_shorter() {
        let delay = |n| if (100..200).contains(&n) { 80_000 } else { 50_000 };
        let [longer, shorter, slowly, _] = changes(300, |n| (1000 * n, delay(n))).sums;
        assert_eq!((longer.rtt_ns, longer.bytes), (30_000_000, 1000));
        assert_eq!((shorter.lasted_ns, slowly), (0, ChangeSums::default()));
        assert!(shorter.bytes > 10_000, "{shorter:?}");
    }

    #[test]
    fn a_slow_change_counts_but_small_variations_do_not() {
        let noise = |n| 200 * (n % 8);
        let [longer, shorter, slowly, _] =
            changes(3000, |n| (1000 * n, 40_000 + 10 * n + noise(n))).sums;
        assert_eq!([longer, shorter], [ChangeSums::default(); 2]);
        assert!(slowly.rtt_ns > 7_000_000, "{slowly:?}");
        let still = changes(3000, |n| (1000 * n, 40_000 + noise(n)));
        assert_eq!(still.sums, [ChangeSums::default(); 4]);
    }

    #[test]
    fn octets_count_in_a_change_even_if_their_round_trip_is_unknown() {
        let ms = Duration::from_millis;
        let mut changes = DelayChanges::default();
        changes.take(Time::ZERO + ms(40), 1000, ms(40));
        changes.pass(5000);
        changes.take(Time::ZERO + ms(80), 1000, ms(60));
        assert_eq!(changes.sums[0].bytes, 6000);
    }
}
