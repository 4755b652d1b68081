//! The windows that one side advertises.

use crate::packed::packed_value;
use crate::segment::Flags;
use crate::wire::CapturedTcp;

/// The windows that one side advertises, in octets.
///
/// They are scaled if both SYNs were captured and both offer to scale (RFC 7323 §2.2). Then the
/// windows of the SYNs do not count, because they are not scaled. Packets with RST do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// The number of advertised windows.
    pub count: u64,
    /// The number of zero windows on segments with ACK.
    pub zeros: u64,
    /// The largest window.
    pub max: u32,
    /// The smallest window above zero; zero if there is none.
    pub min: u32,
    /// The sum of all windows.
    pub sum: u64,
    /// Whether the windows are scaled.
    pub scaled: bool,
}

packed_value!(Windows { count, zeros, max, min, sum, scaled });

impl Windows {
    /// Takes `many` packets of the side with the flags and the window of `packet`. `shift` is the
    /// shift in use, if there is one.
    #[inline]
    pub fn take(&mut self, packet: &impl CapturedTcp, shift: Option<u8>, many: u64) {
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
        self.count += many;
        self.sum += u64::from(window) * many;
        self.zeros += if ack && window == 0 { many } else { 0 };
        self.max = self.max.max(window);
        if window > 0 && (self.min == 0 || window < self.min) {
            self.min = window;
        }
    }

    /// The mean window.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}
