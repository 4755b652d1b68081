//! Captures explained: what each connection did, and why each segment was retransmitted.
//!
//! An [`Explainer`] takes packets in the order of a capture and follows their connections. For each
//! direction, it keeps [`Statistics`]. For each retransmission, it keeps an
//! [`ExplainedRetransmission`] with the cause, a verdict (needed, spurious or unknown) and the
//! evidence. The explainer uses only the packets. It does not use what a simulation knows, or the
//! counters of a kernel.

mod afar;
mod captured_direction;
mod capturing_host;
mod ceilings_table;
mod columns;
mod connection;
mod connections_table;
mod continuing;
mod copy_finder;
mod csv;
mod delay_changes_table;
mod disorder;
mod ended;
mod ended_connections;
mod ended_direction;
mod explainer;
mod floors;
mod habits_table;
mod handshake;
mod hosts;
mod infer;
mod joined;
mod kept;
mod layout;
mod limits;
mod notes;
mod other_segments;
mod packed_directions;
mod packing_chunks;
mod passed_acks;
mod pending;
mod probed_octet;
mod reordering;
mod retransmission;
mod retransmissions_table;
mod round_trips_table;
mod row_columns;
mod rows;
mod rule;
mod sender;
mod shared_state;
mod silence;
mod spent;
mod statistics;
mod steady_table;
mod stray_packets;
mod tables;
mod tcptrace;
#[cfg(test)]
mod tests;
mod transcript;
mod unanswered;
mod waits;

pub use captured_direction::CapturedDirection;
pub use capturing_host::CapturingHost;
pub use columns::{COLUMNS, ColumnCell, ConnectionRow};
pub use connection::CapturedConnection;
pub use copy_finder::CopyWatch;
pub use disorder::Disorder;
pub use ended::{EndedConnection, Ending};
pub use ended_connections::EndedConnections;
pub use ended_direction::EndedDirection;
pub use explainer::{Explainer, Explanation, Passed};
pub use floors::{BeforeWait, EndedBy, FLOORS, NearTrip, OtherFloors, TimerWait};
pub use infer::{AckHabits, Habits, LatePackets, StampTicks, TimerGrid, Traits, Vantage};
pub use joined::JoinedCaptures;
pub use kept::CapturedSegment;
pub use layout::RowLayout;
pub use limits::{AckForLimits, Limits};
pub use notes::CaptureNotes;
pub use packing_chunks::PackingChunks;
pub use retransmission::{ExplainedRetransmission, Verdict, VerdictEvidence};
pub use rule::CauseRule;
pub use sender::{AckedTail, LastAcked, Sender};
pub use shared_state::SharedState;
pub use spent::{SentData, Stops, TimeSpent, WaitingFor};
pub use statistics::{
    CeilingSeries, ChangeSums, Copies, Course, DataCounts, DelayChanges, DuplicateAcks,
    FirstFlight, FlightCeiling, FlightSize, Offers, PacketStatistics, PacketTimes, Repairs,
    RoundTripStatistics, Spread, Statistics, SteadyCourse, Windows,
};
pub use tcptrace::Owin;
pub use transcript::Transcript;
