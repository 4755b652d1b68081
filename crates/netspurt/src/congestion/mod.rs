//! Congestion control algorithms: the size of the window, and how fast it may be filled.
//!
//! An algorithm does not know how losses are found or repaired. The sender tells it what an ACK
//! acknowledged and when a window of data met congestion. There are two kinds behind one trait.
//! Most algorithms only let the window grow and say how far to cut it, and the sender's loss
//! recovery sets the window in between (RFC 9937). An algorithm that [owns the
//! window](CongestionControl::owns_window), as BBR does, is told of all events and decides alone.

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
