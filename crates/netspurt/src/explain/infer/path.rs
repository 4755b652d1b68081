//! The two halves of the round trip, as they are measured at the point of capture.

use crate::units::{Duration, Time};

/// Round trips of one direction: from the capture to the receiver and back (*far*), and from the
/// capture to the sender and back (*near*). Their sum is the sender's round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathTimes {
    srtt: Duration,
    rttvar: Duration,
    /// The least far half.
    far_min: Option<Duration>,
    /// The least near half.
    near_min: Option<Duration>,
    /// A time stamp of the receiver whose echo by the sender is awaited, and when it was captured.
    echo: Option<(u32, Time)>,
}

/// Where a capture was taken, as seen from the sender of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Vantage {
    /// It cannot be told.
    #[default]
    Unknown,
    /// At the sender.
    Sender,
    /// At the receiver.
    Receiver,
    /// Between them.
    Middle,
}

impl Vantage {
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 4] = ["unknown", "sender", "receiver", "middle"];
}

impl PathTimes {
    /// A half that is shorter than this part of the round trip belongs to the capturing host itself
    /// (its stack and its scheduler take time, too).
    const OWN_SHARE: u64 = 16;
    /// A half that is shorter than this belongs to the capturing host unless the path is as short.
    const OWN_HOST: Duration = Duration::from_millis(1);

    /// An unambiguous sample of the far half (RFC 6298 §2.2, §2.3).
    #[inline]
    pub fn far_sample(&mut self, rtt: Duration) {
        if let Some(least) = self.far_min {
            let off = if self.srtt > rtt { self.srtt - rtt } else { rtt - self.srtt };
            self.rttvar = (self.rttvar * 3 + off) / 4;
            self.srtt = (self.srtt * 7 + rtt) / 8;
            self.far_min = Some(least.min(rtt));
        } else {
            (self.srtt, self.rttvar, self.far_min) = (rtt, rtt / 2, Some(rtt));
        }
    }

    /// A sample of the near half.
    #[inline]
    pub fn near_sample(&mut self, rtt: Duration) {
        self.near_min = Some(self.near_min.map_or(rtt, |least| least.min(rtt)));
    }

    /// The receiver's time stamp `val` passed towards the sender.
    #[inline]
    pub fn stamp_passed(&mut self, at: Time, val: u32) {
        if self.echo.is_none() {
            self.echo = Some((val, at));
        }
    }

    /// The sender echoes `ecr`.
    #[inline]
    pub fn stamp_echoed(&mut self, at: Time, ecr: u32) {
        if let Some((val, passed)) = self.echo
            && ecr.wrapping_sub(val).cast_signed() >= 0
        {
            if ecr == val {
                self.near_sample(at.saturating_since(passed));
            }
            self.echo = None;
        }
    }

    /// The least time from the capture to the sender and back; zero if it is not known.
    pub fn near(&self) -> Duration {
        self.near_min.unwrap_or(Duration::ZERO)
    }

    /// The same; `None` if it is not known.
    pub fn near_known(&self) -> Option<Duration> {
        self.near_min
    }

    /// The least time from the capture to the receiver and back.
    pub fn far(&self) -> Option<Duration> {
        self.far_min
    }

    /// The sender's smoothed round trip and its variation; none without samples.
    pub fn estimate(&self) -> Option<(Duration, Duration)> {
        self.far_min.map(|_| (self.srtt + self.near(), self.rttvar))
    }

    /// The sender's least round trip.
    pub fn least(&self) -> Option<Duration> {
        Some(self.far_min? + self.near())
    }

    /// Where the capture was taken, and the probability that this is right: the further the shares
    /// of the round trip are from the bounds, the surer it is.
    pub fn vantage(&self) -> (Vantage, f32) {
        let (Some(near), Some(far)) = (self.near_min, self.far_min) else {
            return (Vantage::Unknown, 0.0);
        };
        let (small, large) = (near.min(far), near.max(far));
        let own = small * Self::OWN_SHARE <= large || small * 4 <= large && small < Self::OWN_HOST;
        let share = small.as_nanos() as f32 / (large.as_nanos() as f32).max(1.0);
        let bound = 1.0 / Self::OWN_SHARE as f32;
        let clear = if own { 1.0 - share / bound } else { (share - bound) / (1.0 - bound) };
        let sure = 0.8 + 0.19 * clear.clamp(0.0, 1.0);
        match (own, near <= far) {
            (true, true) => (Vantage::Sender, sure),
            (true, false) => (Vantage::Receiver, sure),
            (false, _) => (Vantage::Middle, sure),
        }
    }
}
