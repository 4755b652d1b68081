//! Scripts test a connection packet by packet, in the notation of packetdrill.
//!
//! [`Script::parse`] reads a script from text, and [`run`] plays it against any [`Subject`] in
//! virtual time. The function [`run`] makes the socket calls, injects the remote end's packets, and
//! compares what the connection sends with the script. A difference is a [`ScriptFailure`].
//! [`SocketHost`] is the subject that runs netspurt's own TCP. `docs/scripts.md` explains the
//! notation and lists what is not supported.

mod arguments;
mod assertion;
mod call;
mod call_text;
mod change;
mod clocks;
mod command_text;
mod compare;
mod control_text;
mod cursor;
mod deferral;
mod dialect;
mod document;
mod error;
mod error_numbers;
mod error_queue;
mod event_time;
mod expression_text;
mod host;
mod host_calls;
mod host_close;
mod host_files;
mod host_notices;
mod host_options;
mod host_peer;
mod host_poll;
#[cfg(test)]
mod host_tests;
mod host_write;
mod info;
mod interest;
mod joined;
mod keep_alive;
mod message_flags;
mod message_text;
mod names;
mod notice;
#[cfg(test)]
mod notice_tests;
mod notices;
mod numbers;
mod option_text;
mod orphan;
mod packet;
mod packet_text;
#[cfg(test)]
mod packetdrill_tests;
mod parse;
mod readiness;
mod refused;
mod runner;
mod send_buffer;
mod shell;
mod socket_errors;
#[cfg(test)]
mod socket_tests;
mod stamping;
mod statement;
mod statement_text;
mod structure;
mod subject;
mod switches;
mod sysctl;
mod tcp_info;
#[cfg(test)]
mod tests;
mod transcript;
mod unreachable;
mod zero_copy;
mod zero_files;

pub use assertion::{
    Assertion, AssertionMessage, EvaluationError, Expression, Extreme, Operator, Scope, Variables,
};
pub use call::{
    Call, CallOutcome, EpollOperation, Expected, Fd, IoctlRequest, OptionValue, Shutdown,
    SocketOption, Wait, status,
};
pub use change::{Change, HostChange, SwitchSetting};
pub use compare::Difference;
pub use dialect::{ScriptDialect, Tolerance};
pub use document::{Script, ScriptAction, ScriptEvent, ScriptOptions};
pub use error::ScriptError;
pub use event_time::EventTime;
pub use host::SocketHost;
pub use info::{Info, InfoField};
pub use message_flags::MessageFlags;
pub use notice::{NoticeKind, SocketNotice, StampEvent};
pub use packet::{EcnMark, PacketOptions, ScriptPacket};
pub use readiness::Readiness;
pub use runner::run;
pub use statement::Statement;
pub use subject::{CallResult, Subject};
pub use transcript::{FailureKind, ScriptFailure, TranscriptEntry};
pub use unreachable::{Unreachable, UnreachableCode};
