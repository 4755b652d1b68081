//! What shell commands of a script change.

use core::fmt;

/// A switch and its value, written in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSetting {
    /// The switch, as in `rto.min`.
    pub path: String,
    /// The value, as in `"1 s"` with its quotes.
    pub value: String,
    /// The line of the script that sets it; 0 if it comes from elsewhere.
    pub line: usize,
}

/// A change of the connection or of what is around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A switch of the connection.
    Switch(SwitchSetting),
    /// Something that no switch sets.
    Host(HostChange),
}

/// A change of the host or of its link that no switch makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostChange {
    /// `tcp_wmem`: the size of a send buffer, and how large it may grow by itself, in bytes.
    SendBuffer {
        /// The size at first.
        first: u64,
        /// The largest size.
        most: u64,
    },
    /// `tcp_notsent_lowat`: a socket takes more data only while fewer bytes than these are unsent.
    UnsentMax(u64),
    /// `tcp_ecn=2`: only the peer may ask for ECN.
    EcnIfAsked(bool),
    /// `tc qdisc … pfifo limit 0`: whether the link's queue drops all that is sent.
    DropsAll(bool),
    /// `dd if=/dev/zero of=PATH`, `rm -f PATH`: a file of zeros, which is on no disk.
    File {
        /// Its path.
        path: String,
        /// Its octets; `None`: it is removed.
        bytes: Option<u64>,
    },
}

impl fmt::Display for HostChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostChange::SendBuffer { first, most } => {
                write!(f, "a send buffer of {first} B, at most {most} B")
            }
            HostChange::UnsentMax(bytes) => write!(f, "at most {bytes} B unsent"),
            HostChange::EcnIfAsked(true) => write!(f, "ECN only where the peer asks for it"),
            HostChange::EcnIfAsked(false) => write!(f, "ECN as the switch says"),
            HostChange::File { path, bytes: Some(bytes) } => {
                write!(f, "a file `{path}` of {bytes} B")
            }
            HostChange::File { path, bytes: None } => write!(f, "no file `{path}`"),
            HostChange::DropsAll(true) => write!(f, "a queue that drops all that is sent"),
            HostChange::DropsAll(false) => write!(f, "a queue that drops nothing"),
        }
    }
}
