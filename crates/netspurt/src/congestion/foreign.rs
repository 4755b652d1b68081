//! Congestion control algorithms that are not the core's.

use core::fmt;

use crate::foreign::{Origin, Seam};

use super::control::CongestionControl;

/// An algorithm with its constants, found outside of the core.
pub trait ForeignCongestion: fmt::Debug + Send + Sync {
    /// Where it comes from.
    fn origin(&self) -> &Origin;

    /// The algorithm at the start of a connection.
    fn build(&self) -> Box<dyn CongestionControl>;
}

/// Where congestion control algorithms come in.
pub static FOREIGN_CONGESTION: Seam<dyn ForeignCongestion> = Seam::new();

/// An algorithm of another language, by its text.
#[derive(Clone, Copy)]
pub struct ForeignCongestionConfig(&'static dyn ForeignCongestion);

impl ForeignCongestionConfig {
    /// The algorithm.
    pub fn of(algorithm: &'static dyn ForeignCongestion) -> Self {
        Self(algorithm)
    }

    /// The text that names it.
    pub fn text(&self) -> &'static str {
        &self.0.origin().text
    }

    /// Where it comes from.
    pub fn origin(&self) -> &'static Origin {
        self.0.origin()
    }

    /// The algorithm at the start of a connection.
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
