//! The errors that can occur when a sandbox, or a host in it, is made.

use std::io;

/// Why a sandbox, or a host in it, could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel does not provide namespaces.
    #[error("no namespaces for a run: {error} ({why})")]
    NoNamespaces {
        /// The error that the kernel reported.
        error: io::Error,
        /// The likeliest reason.
        why: String,
    },
    /// The process that started this process has ended.
    #[error("the process that started this run has ended")]
    Orphaned,
    /// The kernel refuses a request.
    #[error("{what}: {error}")]
    Refused {
        /// The step that the kernel refused.
        what: String,
        /// The error that the kernel reported.
        error: io::Error,
    },
}

/// Adds the step that failed to the kernel's error.
pub(super) fn failed_at(what: impl Into<String>) -> impl FnOnce(io::Error) -> SandboxError {
    let what = what.into();
    move |error| SandboxError::Refused { what, error }
}
