//! Timers whose algorithm is not the core's.

use core::fmt;

use crate::foreign::{Origin, Seam};

use super::estimator::RtoEstimator;
use super::keys::{Constant, Contradiction, Keys};

/// An algorithm with its constants, found outside of the core.
pub trait ForeignTimer: fmt::Debug + Send + Sync {
    /// Where it comes from.
    fn origin(&self) -> &Origin;

    /// A timer under it that has seen nothing yet.
    fn build(&self) -> Box<dyn RtoEstimator>;
}

/// Where timers come in.
pub static FOREIGN_TIMERS: Seam<dyn ForeignTimer> = Seam::new();

/// A timer of another language, by its text.
#[derive(Clone, Copy)]
pub struct ForeignConfig(&'static dyn ForeignTimer);

impl ForeignConfig {
    /// The timer.
    pub fn of(timer: &'static dyn ForeignTimer) -> Self {
        Self(timer)
    }

    /// The text that names it.
    pub fn text(&self) -> &'static str {
        &self.0.origin().text
    }

    /// Where it comes from.
    pub fn origin(&self) -> &'static Origin {
        self.0.origin()
    }

    /// A timer under it that has seen nothing yet.
    pub(super) fn build(self) -> Box<dyn RtoEstimator> {
        self.0.build()
    }
}

impl fmt::Debug for ForeignConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignConfig").field(&self.text()).finish()
    }
}

impl PartialEq for ForeignConfig {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

/// Its constants are its own: nobody else reads or sets them.
impl Keys for ForeignConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        Vec::new()
    }

    fn bounds(&self) -> [Option<&'static str>; 3] {
        [None; 3]
    }

    fn check(&self) -> Result<(), Contradiction> {
        Ok(())
    }
}
