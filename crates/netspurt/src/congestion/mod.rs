//! Congestion control algorithms, which set the size of cwnd and its growth.
//!
//! An algorithm does not know how losses are found or repaired. The sender reports the octets that
//! an ACK acknowledged. The sender also reports congestion, usually once for each window of data.
//! One trait serves two kinds of algorithms. Most algorithms compute how much cwnd grows, and to
//! what value congestion reduces ssthresh. For them, the sender sets cwnd during loss recovery (RFC
//! 9937). An algorithm that [owns cwnd](CongestionControl::owns_window), as BBR does, also gets the
//! ACKs of a recovery, and then sets cwnd itself.

mod bbr;
mod config;
mod control;
mod cubic;
mod foreign;
mod reno;
mod slow_start;
mod westwood;
mod window;

pub use bbr::{Bbr, BbrConfig};
pub use config::CongestionConfig;
pub use control::{AckInfo, Congestion, CongestionControl, RateSample};
pub use cubic::{Cubic, CubicConfig};
pub use foreign::{FOREIGN_CONGESTION, ForeignCongestion, ForeignCongestionConfig};
pub use reno::{Reno, RenoConfig};
pub use slow_start::{HyStartConfig, HyStartPpConfig, NO_ABC_LIMIT, SlowStartExit};
pub use westwood::{Westwood, WestwoodConfig};
pub use window::Window;
