//! Slow start: how a window opens at first, and laws that end it before anything is lost.

mod hystart;
mod hystart_pp;

use super::{AckInfo, Congestion, Window};

pub use hystart::HyStartConfig;
pub use hystart_pp::HyStartPpConfig;

use hystart::HyStart;
use hystart_pp::HyStartPp;

/// What may end slow start beside a loss or a mark.
///
/// ```
/// use netspurt::congestion::{HyStartPpConfig, SlowStartExit};
/// let unpaced = HyStartPpConfig::default();
/// assert_eq!(SlowStartExit::default(), SlowStartExit::HyStartPlusPlus(unpaced));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartExit {
    /// Nothing: it goes on until the threshold, or congestion (RFC 5681 §3.1).
    None,
    /// HyStart as Linux has it.
    HyStart(HyStartConfig),
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus(HyStartPpConfig),
}

impl Default for SlowStartExit {
    /// HyStart++, the exit law that stands in an RFC.
    fn default() -> Self {
        SlowStartExit::HyStartPlusPlus(HyStartPpConfig::default())
    }
}

/// From so many segments on an ACK's growth is not limited: all it acknowledges counts, after a
/// timeout, too, but no further than the threshold. Linux's slow start.
pub const NO_ABC_LIMIT: u32 = 1_000_000;

/// The octets by which an ACK opens the window, `limit_segs` segments at most.
fn growth(ack: &AckInfo, limit_segs: Option<u32>) -> u64 {
    match limit_segs {
        Some(NO_ABC_LIMIT..) => ack.acked_bytes,
        // RFC 3465 §2.3: the limit is 1 while the repair of a timeout goes on.
        Some(_) if ack.after_timeout => ack.acked_bytes.min(ack.smss),
        Some(limit) => ack.acked_bytes.min(u64::from(limit).saturating_mul(ack.smss)),
        None => ack.acked_bytes,
    }
}

#[derive(Debug)]
enum Exit {
    None,
    HyStart(HyStart),
    HyStartPp(HyStartPp),
}

/// Slow start of one connection.
#[derive(Debug)]
pub(super) struct SlowStart {
    /// *L* of RFC 3465 §2.2; 1 comes to counting ACKs (RFC 5681, equation 2).
    limit_segs: u32,
    exit: Exit,
}

impl SlowStart {
    /// Slow start that opens the window by `limit_segs` segments an ACK at most.
    pub(super) fn new(limit_segs: u32, exit: SlowStartExit) -> Self {
        let exit = match exit {
            SlowStartExit::None => Exit::None,
            SlowStartExit::HyStart(config) => Exit::HyStart(HyStart::new(config)),
            SlowStartExit::HyStartPlusPlus(config) => Exit::HyStartPp(HyStartPp::new(config)),
        };
        Self { limit_segs, exit }
    }

    /// An ACK arrived below the threshold: opens the window, or ends slow start by setting the
    /// threshold to the window.
    pub(super) fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        match &mut self.exit {
            // RFC 9406 §4.3: for the first slow start; later ones end at a threshold that was
            // found out.
            Exit::HyStartPp(law) if window.ssthresh >= Window::NO_THRESHOLD => {
                return law.on_ack(ack, window);
            }
            Exit::HyStart(law) => law.on_ack(ack, window),
            _ => {}
        }
        if ack.window_limited && window.in_slow_start() {
            let grown = window.cwnd.saturating_add(growth(ack, Some(self.limit_segs)));
            let is_limited = self.limit_segs < NO_ABC_LIMIT;
            window.cwnd = if is_limited { grown } else { grown.min(window.ssthresh) };
        }
    }

    /// Congestion met the connection.
    pub(super) fn on_congestion(&mut self, kind: Congestion) {
        if let (Exit::HyStart(law), Congestion::Timeout) = (&mut self.exit, kind) {
            law.start_again();
        }
    }
}
