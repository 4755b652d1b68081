//! The two parts of a sender's round trip, as measured at the capture point.

use crate::seq::is_before;
use crate::units::{Duration, Time};

/// The two parts of one direction's round trip: from the capture to the receiver and back (*far*),
/// and from the capture to the sender and back (*near*). Their sum is the sender's round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathTimes {
    /// The smoothed far part.
    srtt: Duration,
    /// The smoothed variation of the far part.
    rttvar: Duration,
    /// The shortest far part.
    far_min: Option<Duration>,
    /// The number of samples of the far part.
    far_samples: u32,
    /// The shortest near part.
    near_min: Option<Duration>,
    /// A lower bound of the current near part: a recent sample of the near part, minus the longest
    /// possible pause of the sender in this sample. Zero without such a sample.
    near_now: Duration,
    /// A timestamp of the receiver that the sender has not echoed yet, and when it was captured.
    echo: Option<(u32, Time)>,
    /// The newest timestamp of the receiver.
    stamp: Option<u32>,
    /// Where the capture was taken, as the headers of the link and of IP show. `Unknown` if these
    /// headers do not show it.
    shown: Vantage,
}

/// Where a capture was taken, as seen from the sender of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Vantage {
    /// The capture does not show where it was taken.
    #[default]
    Unknown,
    /// At the sender.
    Sender,
    /// At the receiver.
    Receiver,
    /// Between the sender and the receiver.
    Middle,
}

impl Vantage {
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 4] = ["unknown", "sender", "receiver", "middle"];
}

impl PathTimes {
    /// If the shorter part is at most the longer part divided by `OWN_SHARE`, the capture was taken
    /// at the host of the shorter part. This host is the sender if the near part is shorter, and
    /// the receiver if the far part is shorter. The shorter part is the time of that host's stack
    /// and scheduler.
    const OWN_SHARE: u64 = 16;
    /// If one part is shorter than `OWN_HOST` and at most a quarter of the other part, the capture
    /// was taken at the host of the shorter part.
    const OWN_HOST: Duration = Duration::from_millis(1);
    /// If one part is shorter than `ONE_MACHINE` and at most three quarters of the other part, the
    /// capture was taken at the host of the shorter part. Packets that cross two network cards and
    /// wait for their interrupts need more time. Between two containers of one host, both parts may
    /// be shorter than `ONE_MACHINE`.
    const ONE_MACHINE: Duration = Duration::from_micros(10);

    /// The probability that the inferred capture point is right if both parts are shorter than
    /// `ONE_MACHINE`. The two ends then share a machine or are next to each other. Either part is
    /// mostly the time of a stack and a scheduler, so the ratio of the parts shows little.
    const TOO_SHORT_SURE: f32 = 0.5;
    /// The probability that the headers show correctly where the capture was taken.
    const SHOWN_SURE: f32 = 0.99;

    /// Notes where the capture was taken, as far as the headers of its packets show it.
    #[inline]
    pub fn shown(&mut self, vantage: Vantage) {
        self.shown = vantage;
    }

    /// Takes an unambiguous sample of the far part (RFC 6298 §2.2, §2.3).
    #[inline]
    pub fn far_sample(&mut self, rtt: Duration) {
        self.far_samples = self.far_samples.saturating_add(1);
        if let Some(least) = self.far_min {
            let off = if self.srtt > rtt { self.srtt - rtt } else { rtt - self.srtt };
            self.rttvar = (self.rttvar * 3 + off) / 4;
            self.srtt = (self.srtt * 7 + rtt) / 8;
            self.far_min = Some(least.min(rtt));
        } else {
            (self.srtt, self.rttvar, self.far_min) = (rtt, rtt / 2, Some(rtt));
        }
    }

    /// Takes a sample of the near part.
    #[inline]
    pub fn near_sample(&mut self, rtt: Duration) {
        self.near_min = Some(self.near_min.map_or(rtt, |least| least.min(rtt)));
    }

    /// Notes that a packet with the receiver's timestamp `val` passed towards the sender.
    ///
    /// Several packets may have the same timestamp. The sender may echo it because of the first of
    /// these packets, so the time from a later one to the echo is not a round trip.
    #[inline]
    pub fn stamp_passed(&mut self, at: Time, val: u32) {
        if self.stamp.is_none_or(|newest| is_before(newest, val)) {
            self.stamp = Some(val);
            if self.echo.is_none() {
                self.echo = Some((val, at));
            }
        }
    }

    /// Notes that the sender echoes the timestamp `ecr` in a packet. The time since the sender's
    /// previous packet is `gap`.
    #[inline]
    pub fn stamp_echoed(&mut self, at: Time, ecr: u32, gap: Duration) {
        if let Some((val, passed)) = self.echo
            && !is_before(ecr, val)
        {
            if ecr == val {
                let near = at.saturating_since(passed);
                self.near_sample(near);
                // A pause of the sender makes the sample longer. No packet comes in the pause, so
                // the pause before this packet was at most `gap`.
                if gap * 4 <= near || near < self.near_now {
                    self.near_now = near - gap;
                }
            }
            self.echo = None;
        }
    }

    /// The shortest time from the capture to the sender and back. Zero if it is not known.
    pub fn near(&self) -> Duration {
        self.near_known().unwrap_or(Duration::ZERO)
    }

    /// A lower bound of the current time from the capture to the sender and back. It exceeds
    /// [`near`](Self::near) if data waits in a queue before the capture.
    #[inline]
    pub fn near_now(&self) -> Duration {
        if self.shown == Vantage::Sender { Duration::ZERO } else { self.near_now.max(self.near()) }
    }

    /// Like [`near_now`](Self::near_now), but `None` if the headers show that the capture was taken
    /// at the sender. Also `None` if the headers do not show where the capture was taken, and the
    /// near part is at most the far part divided by [`OWN_SHARE`](Self::OWN_SHARE).
    #[inline]
    pub fn near_if_apart(&self) -> Option<Duration> {
        let near = self.near_now();
        let apart = match self.shown {
            Vantage::Unknown => near * Self::OWN_SHARE > self.far_min.unwrap_or(Duration::ZERO),
            shown => shown != Vantage::Sender,
        };
        apart.then_some(near)
    }

    /// Whether the headers, or else the round trips, show that the capture was taken beside the
    /// sender.
    #[inline]
    pub fn is_beside_sender(&self) -> bool {
        self.vantage().0 == Vantage::Sender
    }

    /// The smoothed round trip if the capture was taken beside the sender, else zero.
    pub fn round_trip_beside_sender(&self) -> Duration {
        let known = self.estimate().filter(|_| self.is_beside_sender());
        known.map_or(Duration::ZERO, |both| both.0)
    }

    /// By how much the current near part exceeds the shortest near part. `None` unless a queue
    /// between the sender and the capture causes most of the sender's round trip.
    pub fn queue_before(&self) -> Option<Duration> {
        let least = self.least()?;
        let away = matches!(self.vantage().0, Vantage::Middle | Vantage::Receiver);
        (away && self.near_now >= least * 2).then(|| self.near_now - self.near())
    }

    /// The shortest time from the capture to the sender and back. `None` if it is not known.
    pub fn near_known(&self) -> Option<Duration> {
        if self.shown == Vantage::Sender { Some(Duration::ZERO) } else { self.near_min }
    }

    /// The shortest time from the capture to the receiver and back.
    pub fn far(&self) -> Option<Duration> {
        self.far_min
    }

    /// The number of samples of the time from the capture to the receiver and back.
    pub fn far_samples(&self) -> u32 {
        self.far_samples
    }

    /// The sender's smoothed round trip and its variation. `None` without samples.
    pub fn estimate(&self) -> Option<(Duration, Duration)> {
        self.far_min.map(|_| (self.srtt + self.near(), self.rttvar))
    }

    /// The sender's shortest round trip.
    pub fn least(&self) -> Option<Duration> {
        Some(self.far_min? + self.near())
    }

    /// Where the capture was taken, and the probability that this is right. If the headers do not
    /// show the capture point, the lengths of the two parts of the round trip and their ratio
    /// decide. The further the ratio is from the limit [`OWN_SHARE`](Self::OWN_SHARE), the higher
    /// the probability is. The probability is 80 % if [`OWN_HOST`](Self::OWN_HOST) or
    /// [`ONE_MACHINE`](Self::ONE_MACHINE) decides. It is 50 % if both parts are shorter than
    /// [`ONE_MACHINE`](Self::ONE_MACHINE).
    #[inline]
    pub fn vantage(&self) -> (Vantage, f32) {
        if self.shown != Vantage::Unknown {
            return (self.shown, Self::SHOWN_SURE);
        }
        let (Some(near), Some(far)) = (self.near_min, self.far_min) else {
            return (Vantage::Unknown, 0.0);
        };
        let (small, large) = (near.min(far), near.max(far));
        let own = small * Self::OWN_SHARE <= large
            || small * 4 <= large && small < Self::OWN_HOST
            || small * 4 <= large * 3 && small < Self::ONE_MACHINE;
        let share = small.as_nanos() as f32 / (large.as_nanos() as f32).max(1.0);
        let bound = 1.0 / Self::OWN_SHARE as f32;
        let clear = if own { 1.0 - share / bound } else { (share - bound) / (1.0 - bound) };
        let sure = if large < Self::ONE_MACHINE {
            Self::TOO_SHORT_SURE
        } else {
            0.8 + 0.19 * clear.clamp(0.0, 1.0)
        };
        match (own, near <= far) {
            (true, true) => (Vantage::Sender, sure),
            (true, false) => (Vantage::Receiver, sure),
            (false, _) => (Vantage::Middle, sure),
        }
    }
}

/// The shorter of two times. Each of them may be unknown.
pub(super) fn least(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a capture was taken if the near and the far part take these times in microseconds.
    fn vantage(near_us: u64, far_us: u64) -> Vantage {
        let mut path = PathTimes::default();
        path.near_sample(Duration::from_micros(near_us));
        path.far_sample(Duration::from_micros(far_us));
        path.vantage().0
    }

    #[test]
    fn link_headers_decide_the_capture_point_even_if_round_trips_disagree() {
        let mut path = PathTimes::default();
        path.near_sample(Duration::from_millis(20));
        path.far_sample(Duration::from_millis(2));
        assert_eq!(path.vantage().0, Vantage::Middle);
        path.shown(Vantage::Sender);
        assert_eq!(path.vantage().0, Vantage::Sender);
        assert_eq!(path.near_if_apart(), None);
        assert_eq!(path.least(), Some(Duration::from_millis(2)));
        path.shown(Vantage::Unknown);
        assert_eq!(path.least(), Some(Duration::from_millis(22)));
    }

    /// The clock of the timestamps has ticks of 1 ms, and the near part takes 300 µs.
    #[test]
    fn only_the_first_packet_with_a_timestamp_measures_the_time_to_its_echo() {
        let at = |us| Time::ZERO + Duration::from_micros(us);
        let mut path = PathTimes::default();
        path.stamp_passed(at(1000), 7);
        path.stamp_passed(at(2000), 8);
        path.stamp_echoed(at(1300), 7, Duration::ZERO);
        path.stamp_passed(at(2290), 8);
        path.stamp_echoed(at(2300), 8, Duration::ZERO);
        assert_eq!(path.near_known(), Some(Duration::from_micros(300)));
        path.stamp_passed(at(3000), 9);
        path.stamp_echoed(at(3290), 9, Duration::ZERO);
        assert_eq!(path.near_known(), Some(Duration::from_micros(290)));
    }

    #[test]
    fn the_capture_point_is_uncertain_if_both_parts_of_the_round_trip_are_very_short() {
        for (near_ns, far_ns, sure) in
            [(2974, 2304, 0.5), (9999, 500, 0.5), (10_000, 9_999, 0.98), (10_000, 5_000, 0.8)]
        {
            let mut path = PathTimes::default();
            path.near_sample(Duration::from_nanos(near_ns));
            path.far_sample(Duration::from_nanos(far_ns));
            let told = path.vantage().1;
            assert!((told - sure).abs() < 0.01, "{near_ns} {far_ns} {told}");
        }
    }

    #[test]
    fn a_very_short_part_of_the_round_trip_shows_the_capturing_host() {
        for (short, long) in [(2500, 40_000), (900, 3600), (20, 80), (9, 12), (3, 7)] {
            assert_eq!(vantage(short, long), Vantage::Sender, "{short} {long}");
            assert_eq!(vantage(long, short), Vantage::Receiver, "{short} {long}");
        }
        for (one, other) in [(2501, 40_000), (900, 3599), (1000, 4001), (10, 14), (9, 11)] {
            assert_eq!(vantage(one, other), Vantage::Middle, "{one} {other}");
            assert_eq!(vantage(other, one), Vantage::Middle, "{one} {other}");
        }
    }
}
