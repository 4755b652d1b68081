//! Scripts: a connection's story word for word, in the notation of packetdrill.
//!
//! A [`Script`] is read from text, and [`run`] plays it against any [`Subject`]: it makes the
//! socket calls, sends the remote end's packets, and compares what the connection sends, in
//! virtual time. A connection that tells another story is answered with a [`Failure`]. [`Host`]
//! is the subject that has our own connection. The notation, and what of it is not supported:
//! `docs/scripts.md`.

mod assertion;
mod assertion_text;
mod call;
mod call_text;
mod compare;
mod cursor;
mod document;
mod error;
mod host;
mod host_calls;
#[cfg(test)]
mod host_tests;
mod info;
mod moment;
mod numbers;
mod packet;
mod packet_text;
mod parse;
mod runner;
mod story;
mod subject;
mod switches;
mod tell;
#[cfg(test)]
mod tests;

pub use assertion::{Assertion, EvaluationError, Expression, Message, Operator};
pub use call::{
    Call, Expected, Fd, IoctlRequest, MessageFlags, OptionValue, Outcome, Shutdown, SocketOption,
    status,
};
pub use compare::Difference;
pub use document::{Action, Event, Options, Script, Setting};
pub use error::ScriptError;
pub use host::Host;
pub use info::{Field, Info};
pub use moment::Moment;
pub use packet::{EcnMark, Packet, PacketOptions};
pub use runner::run;
pub use story::{Entry, Failure, FailureKind};
pub use subject::{CallResult, Subject};
