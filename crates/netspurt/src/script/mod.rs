//! Scripts test a connection packet by packet, in the notation of packetdrill.
//!
//! [`Script::parse`] reads a script from text, and [`run`] plays it against any [`Subject`] in
//! virtual time: it makes the socket calls, injects the remote end's packets, and compares what the
//! connection sends. A difference is a [`ScriptFailure`]. [`SocketHost`] is the subject that has our
//! own connection. `docs/scripts.md` explains the notation and lists what is not supported.

mod assertion;
mod assertion_text;
mod call;
mod call_text;
mod compare;
mod cursor;
mod document;
mod error;
mod event_time;
mod host;
mod host_calls;
#[cfg(test)]
mod host_tests;
mod info;
mod names;
mod numbers;
mod packet;
mod packet_text;
mod parse;
mod runner;
mod subject;
mod switches;
mod tcp_info;
#[cfg(test)]
mod tests;
mod transcript;

pub use assertion::{Assertion, AssertionMessage, EvaluationError, Expression, Operator};
pub use call::{
    Call, CallOutcome, Expected, Fd, IoctlRequest, MessageFlags, OptionValue, Shutdown,
    SocketOption, status,
};
pub use compare::Difference;
pub use document::{Script, ScriptAction, ScriptEvent, ScriptOptions, SwitchSetting};
pub use error::ScriptError;
pub use event_time::EventTime;
pub use host::SocketHost;
pub use info::{Field, Info};
pub use packet::{EcnMark, PacketOptions, ScriptPacket};
pub use runner::run;
pub use subject::{CallResult, Subject};
pub use transcript::{FailureKind, ScriptFailure, TranscriptEntry};
