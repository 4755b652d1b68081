//! Foreign congestion control algorithms: their code is not in this crate, but for example in a
//! Python file.

use core::fmt;

use crate::foreign::{Origin, Seam};

use super::control::CongestionControl;

/// A foreign algorithm with its constants.
pub trait ForeignCongestion: fmt::Debug + Send + Sync {
    /// The origin of the algorithm.
    fn origin(&self) -> &Origin;

    /// Makes the algorithm for the start of a connection.
    fn build(&self) -> Box<dyn CongestionControl>;
}

/// Finds foreign congestion control algorithms by the texts that name them.
pub static FOREIGN_CONGESTION: Seam<dyn ForeignCongestion> = Seam::new();

/// A foreign algorithm. Two configurations are equal if the texts of their origins are equal.
#[derive(Clone, Copy)]
pub struct ForeignCongestionConfig(&'static dyn ForeignCongestion);

impl ForeignCongestionConfig {
    /// The configuration of `algorithm`.
    pub fn of(algorithm: &'static dyn ForeignCongestion) -> Self {
        Self(algorithm)
    }

    /// The text that names the algorithm.
    pub fn text(&self) -> &'static str {
        &self.0.origin().text
    }

    /// The origin of the algorithm.
    pub fn origin(&self) -> &'static Origin {
        self.0.origin()
    }

    /// Makes the algorithm for the start of a connection.
    pub(super) fn build(self) -> Box<dyn CongestionControl> {
        self.0.build()
    }
}

impl fmt::Debug for ForeignCongestionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignCongestionConfig").field(&self.text()).finish()
    }
}

impl PartialEq for ForeignCongestionConfig {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}
