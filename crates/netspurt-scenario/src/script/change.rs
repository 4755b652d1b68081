//! The changes that shell commands of a script make. A switch is a named setting of TCP. Names such
//! as `tcp_wmem` are sysctls of Linux. A script is a test in packetdrill's notation.

use core::fmt;

use netspurt::units::Duration;

use crate::scenario::LiveSwitch;

/// A switch and its value, written in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSetting {
    /// The switch, as in `rto.min`.
    pub path: String,
    /// The value, as in `"1 s"` with its quotes.
    pub value: String,
    /// The line of the script that sets the switch. A setting that is not in a script has line 0.
    pub line: usize,
}

/// A change of the connection, its host or its link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A switch of the connection.
    Switch(SwitchSetting),
    /// A change of the host or its link, or of a switch during the connection.
    Host(HostChange),
}

/// A change of the host or of its link that no switch can make, or a change of a switch during the
/// connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostChange {
    /// `tcp_wmem`: the size of a send buffer, and how large it may grow by itself, in bytes.
    SendBuffer {
        /// The initial size.
        first: u64,
        /// The largest size.
        most: u64,
    },
    /// `tcp_notsent_lowat`: if at least this number of bytes are unsent, a send buffer begins no
    /// further chunk. A chunk is one `sk_buff` of Linux.
    UnsentMax(u64),
    /// `tcp_fin_timeout`: how long a closed socket waits in FIN-WAIT-2 for the peer's FIN.
    OrphanTime(Duration),
    /// A new value of a switch of the connection.
    Live(LiveSwitch),
    /// `tcp_ecn=2`: whether ECN is used only if the peer asks for it.
    EcnIfAsked(bool),
    /// `tc qdisc … pfifo limit 0`: whether the host's queue drops everything that is sent.
    DropsAll(bool),
    /// `dd if=/dev/zero of=PATH`, `rm -f PATH`: a file of zeros that exists only in the script.
    File {
        /// The path of the file.
        path: String,
        /// The number of octets of the file; `None` if the file is removed.
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
            HostChange::OrphanTime(time) => write!(f, "{time} in FIN-WAIT-2 without a socket"),
            HostChange::Live(switch) => write!(f, "{switch}"),
            HostChange::EcnIfAsked(true) => write!(f, "ECN only where the peer asks for it"),
            HostChange::EcnIfAsked(false) => write!(f, "ECN as the switch `ecn` says"),
            HostChange::File { path, bytes: Some(bytes) } => {
                write!(f, "a file `{path}` of {bytes} B")
            }
            HostChange::File { path, bytes: None } => write!(f, "no file `{path}`"),
            HostChange::DropsAll(true) => write!(f, "a queue that drops all that is sent"),
            HostChange::DropsAll(false) => write!(f, "a queue that drops nothing"),
        }
    }
}
