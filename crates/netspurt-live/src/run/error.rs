//! The errors that stop a live run or keep it from starting.

use std::io;

use crate::sandbox::SandboxError;

/// Why a live run did not start or was stopped.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Namespaces are not available, or something in them failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A socket of a flow failed.
    #[error("flow `{flow}`: {error}")]
    Socket {
        /// The name of the flow.
        flow: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// A file, a process, or a port of the emulated path failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A flow needs programs, but none were given; or programs were given, but no flow needs them.
    #[error("{0}")]
    Programs(&'static str),
    /// The run recorded more rows than `record.rows` allows.
    #[error("{0}")]
    Overfull(String),
    /// No flow has an end on the kernel's TCP. The text is the path of an `endpoint` key that
    /// `--set` can change.
    #[error(
        "no flow has an end on the kernel's TCP: add `endpoint = \"kernel\"` to a flow, or use \
         `--set {0}=kernel`"
    )]
    NothingReal(String),
}
