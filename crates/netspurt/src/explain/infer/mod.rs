//! From packets to causes and verdicts.

mod order;
mod path;
mod phase;
mod rule;
mod scene;
mod trouble;
mod verdict;

pub use order::{Age, SendingOrder};
pub use path::{PathTimes, Vantage};
pub use phase::{Inferred, Machine, Phase};
pub use rule::Rule;
pub use scene::Scene;
pub use trouble::{Found, Trouble};
pub use verdict::Arrived;
