//! Statistics of the receive windows that one side advertises.

use crate::packed::packed_value;
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

/// The windows that one side advertises, in octets.
///
/// Windows are scaled if both SYNs were captured and both offer scaling (RFC 7323 §2.2). Then the
/// windows in the SYNs do not count, because SYNs have unscaled windows. Zero windows that came
/// before the first scaled window count only in `zeros`. Packets with RST do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// The number of advertised windows.
    pub count: u64,
    /// The number of zero windows on segments with ACK.
    pub zeros: u64,
    /// The largest window.
    pub max: u32,
    /// The smallest window above zero. Zero if there is none.
    pub min: u32,
    /// The sum of all windows.
    pub sum: u64,
    /// How often the window became zero. A window that is zero from the beginning counts once.
    pub closings: u64,
    /// How long the window was zero, up to the instant `since`.
    closed: Duration,
    /// Whether the windows are scaled.
    pub scaled: bool,
    /// The latest window.
    now: u32,
    /// When the latest window was first advertised.
    since: Time,
    /// The integral of the window over the time up to the instant `since`, in octets times ns.
    area: u128,
    /// The same integral, but of the largest window up to each instant.
    area_max: u128,
}

packed_value!(Windows {
    count,
    zeros,
    max,
    min,
    sum,
    closings,
    closed,
    scaled,
    now,
    since,
    area,
    area_max
});

impl Windows {
    /// Takes `many` packets with the flags and the window of `packet`. A new window counts from the
    /// instant `at` on. `shift` is the window scale shift, or `None` if the capture does not show
    /// that windows are scaled.
    #[inline]
    pub fn take(&mut self, at: Time, packet: &impl CapturedTcp, shift: Option<u8>, many: u64) {
        let flags = packet.flags();
        let (syn, ack) = (flags.has(Flags::SYN), flags.has(Flags::ACK));
        let tells = !flags.has(Flags::RST) && (syn || ack);
        let Some(advertised) = packet.advertised().filter(|_| tells) else {
            return;
        };
        let shift = shift.filter(|_| !syn);
        let window = u32::from(advertised) << shift.unwrap_or(0);
        if shift.is_some() && !self.scaled {
            *self = Self { scaled: true, zeros: self.zeros, ..Self::default() };
        }
        if self.scaled && syn {
            return;
        }
        if window != self.now || self.count == 0 {
            self.change(at, window);
        }
        self.count += many;
        self.sum += u64::from(window) * many;
        self.zeros += if ack && window == 0 { many } else { 0 };
        self.max = self.max.max(window);
        if window > 0 && (self.min == 0 || window < self.min) {
            self.min = window;
        }
    }

    /// Notes that the window has the value `window` from the instant `at` on.
    fn change(&mut self, at: Time, window: u32) {
        let span = u128::from(at.saturating_since(self.since).as_nanos());
        let span = if self.count == 0 { 0 } else { span };
        // Before the first window above zero, the largest window is not known. This first window
        // counts as the largest.
        let most = if self.max == 0 { window } else { self.max };
        if self.now == 0 && self.count > 0 {
            self.closed = self.closed + at.saturating_since(self.since);
        }
        self.closings += u64::from(window == 0 && (self.now > 0 || self.count == 0));
        self.area += u128::from(self.now) * span;
        self.area_max += u128::from(most) * span;
        (self.now, self.since) = (window, self.since.max(at));
    }

    /// The mean window over the time from the instant `first` to the instant `last`, in octets. The
    /// second value is this mean divided by the mean that the window would have if it never shrank.
    /// Both values are zero if all windows are zero.
    pub fn over_time(mut self, first: Time, last: Time) -> Option<(f64, f64)> {
        let span = last.saturating_since(first).as_nanos();
        self.change(last, self.now);
        let share = |most| if most == 0 { 0.0 } else { self.area as f64 / most as f64 };
        let known = self.count > 0 && span > 0 && (self.area_max > 0 || self.max == 0);
        known.then(|| (self.area as f64 / span as f64, share(self.area_max)))
    }

    /// How long the window was zero up to the instant `last`.
    pub fn closed(mut self, last: Time) -> Duration {
        self.change(last, self.now);
        self.closed
    }

    /// The mean window.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}
