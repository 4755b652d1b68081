//! Why there was no live run.

use std::io;

use crate::sandbox::SandboxError;

/// Why there was no live run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// No namespaces, or something in them.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A socket of a flow.
    #[error("flow `{flow}`: {error}")]
    Socket {
        /// The flow.
        flow: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// A file, or a port of the emulated path.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The flow of programs without any, or programs without that flow.
    #[error("{0}")]
    Programs(&'static str),
    /// More rows than `record.rows` allows.
    #[error("{0}")]
    Overfull(String),
    /// Nothing here is the kernel's.
    #[error("no flow has an end of the kernel's: add `endpoint = \"kernel\"` to one")]
    NothingReal,
}
