//! What retransmission timers with other floors would have done on a captured direction.
//!
//! A *floor* is the minimum of the time that a timer adds to srtt. A *wait* is a silence that a
//! timer of the sender ended. An *answer* is an acknowledgment of the octets for which the timer
//! ran.

use std::array;
use std::ops::Range;

use crate::observe::OneWay;
use crate::rto::{LinuxFloors, MeanDeviation};
use crate::sample::RttSample;
use crate::segment::Cause;
use crate::units::{Duration, Time};
use crate::wire::SynStyle;

use super::ExplainedRetransmission;
use super::infer::is_linux;

/// The floors that are tried. Linux's setting `rto_min` is a floor.
pub const FLOORS: [Duration; 6] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(100),
    Duration::from_millis(200),
];

/// Timeouts double a timer at most `MOST_BACKOFFS` times.
const MOST_BACKOFFS: u32 = 16;

/// The timer that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EndedBy {
    /// The retransmission timer.
    Retransmission,
    /// The timer of tail loss probes.
    Probe,
    /// The timer of a SYN.
    Syn,
}

impl EndedBy {
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 3] = ["retransmission", "probe", "syn"];

    /// The timer that a cause names. `None` if the cause is not a timer.
    pub fn of(cause: Option<Cause>) -> Option<Self> {
        match cause? {
            Cause::Rto => Some(Self::Retransmission),
            Cause::Tlp => Some(Self::Probe),
            Cause::Syn => Some(Self::Syn),
            _ => None,
        }
    }
}

/// A wait that a timer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerWait {
    /// When the retransmission was captured.
    pub at: Time,
    /// The timer.
    pub timer: EndedBy,
    /// The first octet of the retransmission.
    pub left: u64,
    /// The time since data was last sent or acknowledged, as the sender saw it. The timer started
    /// at the beginning of this time, or earlier.
    pub waited: Duration,
    /// The time since the timer was started, as the sender saw it (RFC 6298 §5). The timer starts
    /// at the later of two instants: the last acknowledgment of new octets, and the last
    /// transmission of the retransmitted octets. Other data that is sent does not restart the
    /// timer.
    pub ran: Duration,
    /// The smoothed round trip and its variation when the timer fired, computed from every
    /// unambiguous sample as in RFC 6298. The round trip includes the part between the capture and
    /// the sender.
    pub estimate: Option<MeanDeviation>,
    /// The timers with other floors, without backoff. The round trip includes the part between the
    /// capture and the sender. `None` before the first sample.
    pub timers: Option<[Duration; FLOORS.len()]>,
    /// Whether a sender with RACK would have known of the loss before the timer fired. It would
    /// have known if SACK blocks had reported octets that were sent after the last transmission of
    /// the lost octets.
    pub sacked: bool,
    /// The number of outstanding segments.
    pub outstanding: u32,
    /// When an acknowledgment first covered the first octet of the retransmission, by its number or
    /// by a SACK block. `None` if this did not happen.
    pub answered: Option<Time>,
}

impl TimerWait {
    /// Returns the retransmission that ended the wait. `all` has the retransmissions of the
    /// direction in the order of capture. Several of them may have the same time.
    pub fn ended_by<'a>(
        &self,
        all: &'a [ExplainedRetransmission],
    ) -> Option<&'a ExplainedRetransmission> {
        let first = all.partition_point(|one| one.at < self.at);
        let mut same = all[first..].iter().take_while(|one| one.at == self.at);
        same.find(|one| one.left == self.left)
    }
}

/// The round trip between the capture and the sender.
///
/// An acknowledgment reaches the sender later than it passes the capture, and the sender's answer
/// passes the capture later than the sender sends it. So a wait that begins with an acknowledgment
/// seems longer in the capture by this round trip.
#[derive(Clone, Copy, Debug)]
pub struct NearTrip {
    /// The time from the capture to the sender and back. The sender's round-trip samples contain
    /// this time, and the samples of the capture do not.
    pub trip: Duration,
    /// Whether the last progress before the wait was an acknowledgment, and not a segment of the
    /// sender.
    pub after_ack: bool,
}

/// What happened before a timer fired.
#[derive(Clone, Copy, Debug)]
pub struct BeforeWait {
    /// When data was last sent or acknowledged. `None` if this is not known.
    pub progress: Option<Time>,
    /// When new octets were last acknowledged.
    pub acked: Time,
    /// The round trip between the capture and the sender.
    pub near: NearTrip,
}

/// Retransmission timers with other floors. They take the round-trip samples of a captured
/// direction.
///
/// If the sender's SYN is a SYN of Linux, the timers follow Linux's rule. Otherwise they follow RFC
/// 6298.
///
/// ```
/// use netspurt::explain::{FLOORS, OtherFloors};
/// use netspurt::sample::RttSample;
/// use netspurt::units::{Duration, Time};
/// let mut floors = OtherFloors::default();
/// let at = |ms| Time::ZERO + Duration::from_millis(ms);
/// for (sent, rtt) in [(0, 5), (10, 5), (20, 5), (30, 50)] {
///     let rtt = Duration::from_millis(rtt);
///     floors.sample(&RttSample { sent: at(sent), at: at(sent) + rtt, rtt, ..RttSample::default() });
/// }
/// // srtt is 5 ms. The last round trip is above srtt + 40 ms and below srtt + 100 ms.
/// assert_eq!(floors.spurious(), [1, 1, 1, 1, 0, 0]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct OtherFloors {
    estimate: Option<MeanDeviation>,
    /// Whether the sender is a Linux host.
    is_linux: bool,
    /// The values of Linux's timers. `None` if the sender is not known to be a Linux host, or
    /// before the first sample.
    linux: Option<Box<LinuxFloors<{ FLOORS.len() }>>>,
    /// For each floor, the spurious timeouts. `None` until the first sample that is longer than the
    /// timer with the lowest floor.
    expired: Option<Box<[Expired; FLOORS.len()]>>,
    /// When the last sample ended.
    last: Time,
    /// How often the retransmission timer fired since the last sample that was not ambiguous.
    backoffs: u32,
    waits: Vec<TimerWait>,
    /// The number of waits before the first wait without an answer.
    before_open: usize,
}

/// How often the timer with one floor would have fired although an answer was on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Expired {
    count: u32,
    /// For segments that were sent before the instant `until`, no further timeout is counted.
    until: Time,
}

impl OtherFloors {
    /// Takes the sample of a round trip that ended. For each floor, if its timer would have fired
    /// during the round trip, one timeout is counted. No further timeout is counted for other data
    /// that was sent before this round trip ended.
    ///
    /// An ACK of new data restarts the timer (RFC 6298 §5.3). So a timer fires only if it is
    /// shorter than the time since the previous ACK of new data. It is not enough that the timer is
    /// shorter than the round trip. After a timeout, the timer stays doubled until the next sample
    /// that is not ambiguous (§5.5, Karn and Partridge 1987).
    #[inline]
    pub fn sample(&mut self, sample: &RttSample) {
        let started = sample.sent.max(std::mem::replace(&mut self.last, sample.at));
        if sample.ambiguous {
            return;
        }
        if self.timer(0).is_some_and(|shortest| sample.rtt > shortest) {
            self.count(sample, started);
        }
        self.backoffs = 0;
        self.estimate = Some(MeanDeviation::sampled(self.estimate, sample.rtt));
        if self.is_linux {
            let before = self.linux.as_deref().copied();
            let now = LinuxFloors::sampled(before, sample, &FLOORS);
            **self.linux.get_or_insert_with(|| Box::new(now)) = now;
        }
    }

    /// Takes a SYN of the sender.
    pub fn sent_syn(&mut self, style: SynStyle) {
        self.is_linux = is_linux(style);
        self.linux = self.linux.take().filter(|_| self.is_linux);
    }

    /// The timer with the floor at the index `place` of [`FLOORS`], without backoff. `None` before
    /// the first sample.
    #[inline]
    fn timer(&self, place: usize) -> Option<Duration> {
        let estimate = self.estimate?;
        Some(match self.linux.as_deref() {
            Some(linux) => estimate.mean() + linux.rttvar(place),
            None => estimate.timer_above(FLOORS[place]),
        })
    }

    /// The timers with [`FLOORS`], without backoff. `None` before the first sample.
    fn timers(&self) -> Option<[Duration; FLOORS.len()]> {
        self.estimate?;
        Some(array::from_fn(|place| self.timer(place).unwrap_or_default()))
    }

    /// Whether a wait has no answer yet.
    #[inline]
    pub const fn has_open_wait(&self) -> bool {
        self.before_open < self.waits.len()
    }

    /// Takes an acknowledgment at the instant `at`. It acknowledges the octets below `ack` and the
    /// octets in `blocks`, the ranges of its SACK blocks.
    #[cold]
    pub fn acknowledged(&mut self, at: Time, ack: u64, blocks: &[Range<u64>]) {
        let covers = |left: u64| left < ack || blocks.iter().any(|block| block.contains(&left));
        let open = &mut self.waits[self.before_open..];
        for wait in open.iter_mut().filter(|wait| covers(wait.left)) {
            wait.answered.get_or_insert(at);
        }
        let still = open.iter().position(|wait| wait.answered.is_none());
        self.before_open += still.unwrap_or(open.len());
    }

    #[cold]
    fn count(&mut self, sample: &RttSample, started: Time) {
        let waited = sample.at.saturating_since(started);
        let Some(timers) = self.timers() else { return };
        let expired = self.expired.get_or_insert_default();
        for (expired, timer) in expired.iter_mut().zip(timers) {
            let timer = timer * (1 << self.backoffs.min(MOST_BACKOFFS));
            if waited > timer && sample.sent >= expired.until {
                *expired = Expired { count: expired.count + 1, until: sample.at };
            }
        }
    }

    /// Records that `timer` fired and sent the retransmission `again`. If the value `before` does
    /// not say when data was last sent or acknowledged, the wait counts from the previous
    /// transmission of the same octets. `octets` has the outstanding segments.
    #[cold]
    pub fn waited<T: Copy>(
        &mut self,
        again: &ExplainedRetransmission,
        timer: EndedBy,
        before: &BeforeWait,
        octets: &OneWay<T>,
    ) {
        let outstanding = octets.outstanding();
        self.backoffs += u32::from(timer == EndedBy::Retransmission);
        let near = before.near;
        let without_near = |span: Duration, after_ack: bool| {
            span - if after_ack { near.trip } else { Duration::ZERO }
        };
        let waited = before.progress.map_or(again.gap, |since| again.at.saturating_since(since));
        let acked = again.at.saturating_since(before.acked);
        self.waits.push(TimerWait {
            at: again.at,
            timer,
            left: again.left,
            waited: without_near(waited, near.after_ack),
            ran: without_near(acked.min(again.gap), acked < again.gap),
            estimate: self.estimate.map(|estimate| estimate.longer_by(near.trip)),
            timers: self.timers().map(|timers| timers.map(|timer| timer + near.trip)),
            sacked: is_known_lost(again, octets),
            outstanding: u32::try_from(outstanding.len()).unwrap_or(u32::MAX),
            answered: None,
        });
    }

    /// Keeps only the waits for which `known` returns true. The caller uses this method for a
    /// direction whose acknowledgments were not captured.
    pub fn keep_waits(&mut self, known: impl Fn(&TimerWait) -> bool) {
        self.waits.retain(known);
        self.before_open = self.waits.len();
    }

    /// The estimate after the last sample.
    pub const fn estimate(&self) -> Option<MeanDeviation> {
        self.estimate
    }

    /// For each of [`FLOORS`], how often a timer with this floor would have fired although an
    /// answer was on its way.
    pub fn spurious(&self) -> [u32; FLOORS.len()] {
        let expired = self.expired.as_ref();
        expired.map_or([0; FLOORS.len()], |expired| expired.each_ref().map(|one| one.count))
    }

    /// These floors without the values of Linux's timers, to save memory. If further samples come,
    /// the timers follow RFC 6298.
    pub fn at_rest(self) -> Self {
        Self { is_linux: false, linux: None, ..self }
    }

    /// Whether no sample was longer than the timer with the lowest floor, and no timer ended a
    /// wait.
    pub fn is_silent(&self) -> bool {
        self.expired.is_none() && self.waits.is_empty()
    }

    /// The waits that timers ended, in the order of the capture.
    pub fn waits(&self) -> &[TimerWait] {
        &self.waits
    }
}

/// Whether a sender with RACK would have known of the loss before it sent the retransmission
/// `again` (RFC 8985 §6.2). It would have known if SACK blocks had reported octets that were sent
/// after the previous transmission of the retransmitted octets. The reports do not count if the
/// receiver discarded octets that it had reported. A receiver has discarded octets if its SACK
/// blocks have reported the first octet that is not acknowledged (RFC 2018 §8).
fn is_known_lost<T: Copy>(again: &ExplainedRetransmission, octets: &OneWay<T>) -> bool {
    let outstanding = octets.outstanding();
    let discarded = outstanding.front().is_some_and(|one| one.sacked);
    let behind = outstanding.partition_point(|one| one.left < again.right);
    let mut later = outstanding.range(behind..);
    !discarded
        && !again.gap.is_zero()
        && later.any(|one| one.sacked && again.at.saturating_since(one.last_sent) <= again.gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The floors after these round trips. Each round trip has the time at which its data was sent,
    /// and its length, both in milliseconds.
    fn sampled(trips: &[(u64, u64)]) -> OtherFloors {
        let mut floors = OtherFloors::default();
        for (sent, rtt) in trips.iter().map(|(sent, rtt)| (*sent, Duration::from_millis(*rtt))) {
            let sent = Time::ZERO + Duration::from_millis(sent);
            floors.sample(&RttSample { sent, at: sent + rtt, rtt, ..RttSample::default() });
        }
        floors
    }

    #[test]
    fn acks_of_new_data_restart_the_timer() {
        // The last round trip takes 50 ms in both lists. But in the list `busy`, ACKs come during
        // this round trip.
        let quiet = [(0, 5), (10, 5), (20, 5), (30, 50)];
        let busy = [(0, 5), (10, 5), (20, 5), (30, 20), (30, 35), (30, 50)];
        assert_eq!(sampled(&quiet).spurious(), [1, 1, 1, 1, 0, 0]);
        assert_eq!(sampled(&busy).spurious(), [1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn the_first_octet_shows_which_of_several_simultaneous_retransmissions_ended_the_wait() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let again = |ms, left| ExplainedRetransmission { at: at(ms), left, ..Default::default() };
        let all = [again(5, 0), again(7, 0), again(7, 100), again(7, 200), again(9, 0)];
        let ended_by = |ms, left| {
            let wait = TimerWait {
                at: at(ms),
                timer: EndedBy::Retransmission,
                left,
                waited: Duration::ZERO,
                ran: Duration::ZERO,
                estimate: None,
                timers: None,
                sacked: false,
                outstanding: 0,
                answered: None,
            };
            wait.ended_by(&all).map(|one| all.iter().position(|known| known == one).unwrap())
        };
        let found =
            [(5, 0), (7, 0), (7, 100), (7, 200), (9, 0)].map(|(ms, left)| ended_by(ms, left));
        assert_eq!(found, [0, 1, 2, 3, 4].map(Some));
        assert_eq!([ended_by(7, 300), ended_by(8, 0), ended_by(10, 0)], [None; 3]);
    }

    #[test]
    fn a_floor_is_added_to_srtt() {
        let mut trips: Vec<(u64, u64)> = (0..40).map(|n| (100 * n, 50)).collect();
        trips.push((4000, 80));
        // The variation is about 0 now, so a timer is 50 ms plus its floor.
        assert_eq!(sampled(&trips).spurious(), [1, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn timers_follow_the_rule_of_linux_if_linux_sent_the_syn() {
        // The timers in units of 0.1 ms. `order` has the kinds of the options of the SYN.
        let timers = |order| {
            let mut floors = OtherFloors::default();
            floors.sent_syn(SynStyle { order, hop_limit: 64, ..SynStyle::default() });
            // The four samples belong to one round. Within a round, rttvar of Linux does not fall.
            for n in 0..4 {
                let (sent, rtt) = (Time::from_nanos(n), Duration::from_millis(40));
                let at = sent + rtt;
                floors.sample(&RttSample { sent, at, rtt, round: 1, ..RttSample::default() });
            }
            floors.timers().unwrap().map(|timer| timer.as_nanos() / 100_000)
        };
        assert_eq!(timers(0x2483), [1200, 1200, 1200, 1200, 1400, 2400]);
        // RFC 6298 §2.3: a timer is srtt (40 ms) plus four variations, which together are 80 *
        // (3/4)^3 ms.
        assert_eq!(timers(0x2348), [737, 737, 737, 800, 1400, 2400]);
    }

    #[test]
    fn a_timer_stays_doubled_after_a_timeout_until_the_next_unambiguous_sample() {
        let trip = |floors: &mut OtherFloors, sent: u64, rtt, ambiguous| {
            let (sent, rtt) = (Time::from_nanos(1_000_000 * sent), Duration::from_millis(rtt));
            let at = sent + rtt;
            floors.sample(&RttSample { sent, at, rtt, ambiguous, ..RttSample::default() });
        };
        let [mut steady, mut backed_off] = [(); 2].map(|()| sampled(&[(0, 5), (10, 5), (20, 5)]));
        backed_off.backoffs = 1;
        for floors in [&mut steady, &mut backed_off] {
            trip(floors, 30, 5, true);
            trip(floors, 1000, 70, false);
        }
        assert_eq!(steady.spurious(), [1, 1, 1, 1, 0, 0]);
        assert_eq!(backed_off.spurious(), [1, 1, 1, 0, 0, 0]);
        assert_eq!(backed_off.backoffs, 0);
    }
}
