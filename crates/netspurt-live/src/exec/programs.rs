//! The programs that a run starts, and the data that two processes of netspurt, the holder and
//! init, need to start them.

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
    /// A shell command that is started at the second end, before the program at the first end is
    /// started.
    pub server: Option<String>,
}

/// The data that the holder and init need to start the programs.
pub(super) struct ProgramsOrder<'a> {
    pub(super) programs: &'a Programs,
    pub(super) hosts: &'a [KernelHost; 2],
    /// The address of the second end. The program at the first end gets this address.
    pub(super) peer: IpAddr,
    /// The file that the programs see as `/etc/hosts`.
    pub(super) hosts_file: PathBuf,
    /// The file that gets the output of the server.
    pub(super) output: PathBuf,
}
