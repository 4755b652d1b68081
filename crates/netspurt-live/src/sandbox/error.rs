//! Errors in making a sandbox or a host in it.

use std::io;

/// Why there is no sandbox, or no host in it.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel gives no namespaces.
    #[error("no namespaces for a run: {error} ({why})")]
    NoNamespaces {
        /// What it said.
        error: io::Error,
        /// The likeliest reason.
        why: String,
    },
    /// Who started this process has ended.
    #[error("who started this run has ended")]
    Orphaned,
    /// The kernel refuses something inside.
    #[error("{what}: {error}")]
    Refused {
        /// What was asked for.
        what: String,
        /// What it said.
        error: io::Error,
    },
}

/// Says what was asked for beside what the kernel said.
pub(super) fn asked(what: impl Into<String>) -> impl FnOnce(io::Error) -> SandboxError {
    let what = what.into();
    move |error| SandboxError::Refused { what, error }
}
