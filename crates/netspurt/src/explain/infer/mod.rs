//! Infers from captured packets why a retransmission was sent (its cause), and whether it was
//! needed or spurious (the verdict).

mod after_lone;
mod flow_label;
mod habits;
mod lately;
mod order;
mod path;
mod phase;
mod probing;
mod recent_news;
mod report;
mod sack_use;
mod scene;
mod syn_style;
mod timer_grid;
mod too_big;
mod traits;
mod trouble;
mod verdict;
mod waking;

pub use after_lone::{AfterLone, FreshSegment};
pub use flow_label::{FlowLabels, LabelHint};
pub use habits::{AckHabits, Habits, LateBy, LatePackets};
pub use lately::Lately;
pub use order::{Age, SendingOrder, StampTicks};
pub use path::{PathTimes, Vantage};
pub use phase::Inferred;
pub use probing::{BeforeProbe, is_bare_fin};
pub use report::InferenceReport;
pub use sack_use::SackUse;
pub use scene::{AcksOnTheirWay, DuplicatesSoFar, ScenePlace, SenderScene};
pub use syn_style::is_linux;
pub use timer_grid::TimerGrid;
pub use traits::Traits;
pub use trouble::SenderTrouble;
pub use verdict::{Arrived, SentStamp};
pub use waking::Waking;
