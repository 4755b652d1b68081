//! Foreign retransmission timers: the code of their algorithm is not in this crate, but for example
//! in a Python file.

use core::fmt;

use crate::foreign::{Origin, Seam};

use super::estimator::RtoEstimator;
use super::keys::{Constant, Contradiction, Keys};

/// A foreign algorithm with its constants.
pub trait ForeignTimer: fmt::Debug + Send + Sync {
    /// The origin of the algorithm.
    fn origin(&self) -> &Origin;

    /// Makes a timer of the algorithm that has seen no sample.
    fn build(&self) -> Box<dyn RtoEstimator>;
}

/// Finds foreign timers by the texts that name them, such as `timer.py:Peak`.
pub static FOREIGN_TIMERS: Seam<dyn ForeignTimer> = Seam::new();

/// A foreign timer, as an algorithm that a scenario can choose. Two foreign timers are equal if the
/// same text names them.
#[derive(Clone, Copy)]
pub struct ForeignConfig(&'static dyn ForeignTimer);

impl ForeignConfig {
    /// The configuration of `timer`.
    pub fn of(timer: &'static dyn ForeignTimer) -> Self {
        Self(timer)
    }

    /// The text that names the timer.
    pub fn text(&self) -> &'static str {
        &self.0.origin().text
    }

    /// The origin of the algorithm.
    pub fn origin(&self) -> &'static Origin {
        self.0.origin()
    }

    /// Makes a timer of the algorithm that has seen no sample.
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

/// A foreign algorithm keeps its constants itself, so this list of constants is empty.
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
