//! The programs that a run starts, and the information that their processes need.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sandbox::KernelHost;

/// The programs to run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// The program at the first end and its arguments.
    pub command: Vec<String>,
    /// A shell command for the second end, which is started first.
    pub server: Option<String>,
}

/// The data that the processes of the programs need.
pub(super) struct ProgramsOrder<'a> {
    pub(super) programs: &'a Programs,
    pub(super) hosts: &'a [KernelHost; 2],
    pub(super) peer: IpAddr,
    pub(super) hosts_file: PathBuf,
    pub(super) output: PathBuf,
}
