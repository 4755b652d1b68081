//! From packets to causes and verdicts.

mod after_lone;
mod flow_label;
mod habits;
mod order;
mod path;
mod phase;
mod report;
mod sack_use;
mod scene;
mod trouble;
mod verdict;

pub use after_lone::{AfterLone, FreshSegment};
pub use flow_label::{FlowLabels, LabelHint};
pub use habits::{AckHabits, Habits};
pub use order::{Age, SendingOrder};
pub use path::{PathTimes, Vantage};
pub use phase::{Inferred, Traits};
pub use report::InferenceReport;
pub use sack_use::SackUse;
pub use scene::SenderScene;
pub use trouble::SenderTrouble;
pub use verdict::Arrived;
