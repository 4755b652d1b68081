//! Slow start: how a window opens at first, and algorithms that end slow start before a loss.

mod growth;
mod hystart;
mod hystart_pp;

use crate::packed::{Packed, packed};

use super::{AckInfo, Congestion, Window};

pub use growth::NO_ABC_LIMIT;
pub use hystart::HyStartConfig;
pub use hystart_pp::HyStartPpConfig;

use growth::growth;
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
    /// HyStart++, the exit algorithm that stands in an RFC.
    fn default() -> Self {
        SlowStartExit::HyStartPlusPlus(HyStartPpConfig::default())
    }
}

#[derive(Debug)]
enum Exit {
    None,
    HyStart(HyStart),
    HyStartPp(HyStartPp),
}

/// Which exit it is, the configuration fixes.
impl Packed for Exit {
    fn pack(&self, into: &mut Vec<u8>) {
        match self {
            Exit::None => {}
            Exit::HyStart(exit) => exit.pack(into),
            Exit::HyStartPp(exit) => exit.pack(into),
        }
    }

    fn unpack(&mut self, from: &mut &[u8]) {
        match self {
            Exit::None => {}
            Exit::HyStart(exit) => exit.unpack(from),
            Exit::HyStartPp(exit) => exit.unpack(from),
        }
    }
}

/// Slow start of one connection.
#[derive(Debug)]
pub(super) struct SlowStart {
    /// *L* of RFC 3465 §2.2; 1 comes to counting ACKs (RFC 5681, equation 2).
    limit_segs: u32,
    exit: Exit,
}

packed!(SlowStart { exit } keeps { limit_segs });

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
            Exit::HyStartPp(algorithm) if window.ssthresh >= Window::NO_THRESHOLD => {
                return algorithm.on_ack(ack, window);
            }
            Exit::HyStart(algorithm) => algorithm.on_ack(ack, window),
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
        if let (Exit::HyStart(algorithm), Congestion::Timeout) = (&mut self.exit, kind) {
            algorithm.start_again();
        }
    }
}
