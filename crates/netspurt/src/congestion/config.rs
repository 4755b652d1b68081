//! The congestion control algorithms by name.

use super::bbr::{Bbr, BbrConfig};
use super::control::CongestionControl;
use super::cubic::{Cubic, CubicConfig};
use super::reno::{Reno, RenoConfig};
use super::westwood::{Westwood, WestwoodConfig};

/// Which algorithm, with its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CongestionConfig {
    /// Reno with appropriate byte counting.
    Reno(RenoConfig),
    /// CUBIC.
    Cubic(CubicConfig),
    /// BBR, version 1.
    Bbr(BbrConfig),
    /// Westwood+.
    Westwood(WestwoodConfig),
}

impl CongestionConfig {
    /// The algorithm at the start of a connection.
    pub fn build(&self) -> Box<dyn CongestionControl> {
        match self {
            CongestionConfig::Reno(config) => Box::new(Reno::new(*config)),
            CongestionConfig::Cubic(config) => Box::new(Cubic::new(*config)),
            CongestionConfig::Bbr(config) => Box::new(Bbr::new(*config)),
            CongestionConfig::Westwood(config) => Box::new(Westwood::new(*config)),
        }
    }

    /// What tables and scenarios call it.
    pub const fn name(&self) -> &'static str {
        match self {
            CongestionConfig::Reno(_) => "reno",
            CongestionConfig::Cubic(_) => "cubic",
            CongestionConfig::Bbr(_) => "bbr",
            CongestionConfig::Westwood(_) => "westwood",
        }
    }
}
