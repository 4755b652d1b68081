//! Selects a congestion control algorithm by its name.

use crate::clock::Clock;
use crate::foreign::ForeignError;

use super::bbr::{Bbr, BbrConfig};
use super::control::CongestionControl;
use super::cubic::{Cubic, CubicConfig, WholeCubic};
use super::foreign::{FOREIGN_CONGESTION, ForeignCongestionConfig};
use super::reno::{Reno, RenoConfig};
use super::westwood::{Westwood, WestwoodConfig};

/// A congestion control algorithm with its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CongestionConfig {
    /// Reno, by default with appropriate byte counting (RFC 3465).
    Reno(RenoConfig),
    /// CUBIC.
    Cubic(CubicConfig),
    /// BBR, version 1.
    Bbr(BbrConfig),
    /// Westwood+.
    Westwood(WestwoodConfig),
    /// An algorithm whose code is not in this crate, but for example in a Python file.
    Foreign(ForeignCongestionConfig),
}

impl CongestionConfig {
    /// Makes the algorithm for the start of a connection.
    pub fn build(&self) -> Box<dyn CongestionControl> {
        match self {
            CongestionConfig::Reno(config) => Box::new(Reno::new(*config)),
            CongestionConfig::Cubic(config) if config.whole_segments => {
                Box::new(WholeCubic::new(*config))
            }
            CongestionConfig::Cubic(config) => Box::new(Cubic::new(*config)),
            CongestionConfig::Bbr(config) => Box::new(Bbr::new(*config)),
            CongestionConfig::Westwood(config) => Box::new(Westwood::new(*config)),
            CongestionConfig::Foreign(config) => config.build(),
        }
    }

    /// The same algorithm for a sender that paces: [`SlowStartExit::paced`] changes the algorithm
    /// that may end slow start. BBR and foreign algorithms do not change.
    #[must_use]
    pub fn paced(mut self) -> Self {
        match &mut self {
            Self::Reno(reno) | Self::Westwood(WestwoodConfig { reno }) => {
                reno.slow_start_exit = reno.slow_start_exit.paced();
            }
            Self::Cubic(cubic) => cubic.slow_start_exit = cubic.slow_start_exit.paced(),
            Self::Bbr(_) | Self::Foreign(_) => {}
        }
        self
    }

    /// The same algorithm for a host with this clock. Only CUBIC in whole segments counts jiffies,
    /// the ticks of Linux's clock.
    #[must_use]
    pub fn on_clock(mut self, clock: Clock) -> Self {
        if let Self::Cubic(cubic) = &mut self {
            cubic.jiffy_phase = clock.jiffy_phase();
        }
        self
    }

    /// The name of the algorithm in tables and scenarios. For a foreign algorithm, it is the whole
    /// text by which a scenario names the algorithm.
    pub fn name(&self) -> &'static str {
        match self {
            CongestionConfig::Reno(_) => "reno",
            CongestionConfig::Cubic(_) => "cubic",
            CongestionConfig::Bbr(_) => "bbr",
            CongestionConfig::Westwood(_) => "westwood",
            CongestionConfig::Foreign(config) => config.text(),
        }
    }

    /// The algorithm of this crate called `name`, with its default constants. The result is `None`
    /// if this crate has no algorithm of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "reno" => Some(Self::Reno(RenoConfig::default())),
            "cubic" => Some(Self::Cubic(CubicConfig::default())),
            "bbr" => Some(Self::Bbr(BbrConfig::default())),
            "westwood" => Some(Self::Westwood(WestwoodConfig::default())),
            _ => None,
        }
    }

    /// The foreign algorithm that `text` names. The result is `None` if `text` does not name a
    /// foreign algorithm.
    ///
    /// # Errors
    /// When `text` is written like the name of a foreign algorithm, but no such algorithm is found.
    pub fn foreign(text: &str) -> Option<Result<Self, ForeignError>> {
        let text = Some(text.trim()).filter(|text| Self::named(text).is_none())?;
        let found = FOREIGN_CONGESTION.find(text)?;
        Some(found.map(|algorithm| Self::Foreign(ForeignCongestionConfig::of(algorithm))))
    }
}
