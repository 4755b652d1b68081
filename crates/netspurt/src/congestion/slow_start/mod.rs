//! Slow start: the growth of cwnd below the threshold, and algorithms that end it before a loss.

mod growth;
mod hystart;
mod hystart_pp;

use crate::packed::{Packed, packed};

use crate::units::Time;

use super::{AckInfo, Window};

pub use growth::NO_ABC_LIMIT;
pub use hystart::HyStartConfig;
pub use hystart_pp::HyStartPpConfig;

use growth::growth;
use hystart::HyStart;
use hystart_pp::HyStartPp;

/// The algorithm that may end slow start before a loss or a mark.
///
/// ```
/// use netspurt::congestion::{HyStartPpConfig, SlowStartExit};
/// let unpaced = HyStartPpConfig::default();
/// assert_eq!(SlowStartExit::default(), SlowStartExit::HyStartPlusPlus(unpaced));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartExit {
    /// None: slow start continues to the threshold, or until congestion (RFC 5681 §3.1).
    None,
    /// HyStart as in Linux.
    HyStart(HyStartConfig),
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus(HyStartPpConfig),
}

impl SlowStartExit {
    /// The same algorithm for a sender that paces. HyStart then allows trains of ACKs that last for
    /// a whole round trip, as in Linux. HyStart++ then does not limit how far one ACK opens cwnd
    /// (RFC 9406 §4.2).
    #[must_use]
    pub fn paced(self) -> Self {
        match self {
            Self::None => self,
            Self::HyStart(config) => Self::HyStart(HyStartConfig { paced: true, ..config }),
            Self::HyStartPlusPlus(config) => {
                Self::HyStartPlusPlus(HyStartPpConfig { limit_segs: None, ..config })
            }
        }
    }
}

impl Default for SlowStartExit {
    /// Returns HyStart++, because it is the exit algorithm that an RFC defines.
    fn default() -> Self {
        SlowStartExit::HyStartPlusPlus(HyStartPpConfig::default())
    }
}

/// The state of the algorithm that may end slow start before a loss or a mark.
#[derive(Debug)]
enum Exit {
    None,
    HyStart(HyStart),
    HyStartPp(HyStartPp),
}

/// The configuration says which algorithm ends slow start, so only the state of this algorithm is
/// packed.
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
    /// *L* of RFC 3465 §2.2: an ACK increases cwnd by at most this number of segments. With a value
    /// of 1, cwnd grows by equation 2 of RFC 5681. HyStart++ has its own limit in the first slow
    /// start.
    limit_segs: u32,
    exit: Exit,
}

packed!(SlowStart { exit } keeps { limit_segs });

impl SlowStart {
    /// Makes a slow start in which each ACK opens cwnd by at most `limit_segs` segments.
    pub(super) fn new(limit_segs: u32, exit: SlowStartExit) -> Self {
        let exit = match exit {
            SlowStartExit::None => Exit::None,
            SlowStartExit::HyStart(config) => Exit::HyStart(HyStart::new(config)),
            SlowStartExit::HyStartPlusPlus(config) => Exit::HyStartPp(HyStartPp::new(config)),
        };
        Self { limit_segs, exit }
    }

    /// Processes an ACK that arrives while cwnd is below ssthresh. Opens cwnd, or ends slow start
    /// by setting ssthresh to cwnd, or does both.
    pub(super) fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        match &mut self.exit {
            // RFC 9406 §4.3: HyStart++ is for the first slow start. Later slow starts end at a
            // threshold that is already known.
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

    /// Notes a timeout at the instant `now`, when octets up to `nxt` are outstanding.
    pub(super) fn on_timeout(&mut self, now: Time, nxt: u64) {
        if let Exit::HyStart(algorithm) = &mut self.exit {
            algorithm.start_again(now, nxt);
        }
    }
}
