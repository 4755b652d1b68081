//! The changes that shell commands of a script make.

use core::fmt;

use netspurt::tcp::RfcConfig;
use netspurt::units::Duration;

/// A switch and its value, written in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSetting {
    /// The switch, as in `rto.min`.
    pub path: String,
    /// The value, as in `"1 s"` with its quotes.
    pub value: String,
    /// The line of the script that sets the switch; 0 if the setting is not in a script.
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

/// A switch whose change affects an open connection immediately. Linux reads the sysctl of such a
/// switch each time that it needs the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveSetting {
    /// `frto`.
    Frto(bool),
    /// `tlp`.
    Tlp(bool),
    /// `dsack`.
    Dsack(bool),
    /// `cwnd.idle_restart`.
    IdleRestart(bool),
    /// `retries`.
    Retries(u32),
    /// `send.packet_segs_min`.
    PacketSegsMin(u32),
}

impl LiveSetting {
    /// Returns the setting as a live setting; `None` if it does not affect an open connection.
    pub(super) fn of(set: &SwitchSetting) -> Option<Self> {
        let flag = || set.value.parse().ok();
        let number = || set.value.parse().ok();
        match set.path.as_str() {
            "frto" => flag().map(Self::Frto),
            "tlp" => flag().map(Self::Tlp),
            "dsack" => flag().map(Self::Dsack),
            "cwnd.idle_restart" => flag().map(Self::IdleRestart),
            "retries" => number().map(Self::Retries),
            "send.packet_segs_min" => number().map(Self::PacketSegsMin),
            _ => None,
        }
    }

    /// Applies the setting.
    pub(super) fn apply(self, config: &mut RfcConfig) {
        match self {
            Self::Frto(on) => config.frto = on,
            Self::Tlp(on) => config.tlp = on,
            Self::Dsack(on) => config.dsack = on,
            Self::IdleRestart(on) => config.cwnd_rules.idle_restart = on,
            Self::Retries(count) => config.retries = count,
            Self::PacketSegsMin(segs) => config.send_rules.packet_segs_min = segs.max(1),
        }
    }
}

impl fmt::Display for LiveSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frto(on) => write!(f, "frto = {on}"),
            Self::Tlp(on) => write!(f, "tlp = {on}"),
            Self::Dsack(on) => write!(f, "dsack = {on}"),
            Self::IdleRestart(on) => write!(f, "cwnd.idle_restart = {on}"),
            Self::Retries(count) => write!(f, "retries = {count}"),
            Self::PacketSegsMin(segs) => write!(f, "send.packet_segs_min = {segs}"),
        }
    }
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
    /// `tcp_notsent_lowat`: a socket accepts more data only while fewer bytes than this are unsent.
    UnsentMax(u64),
    /// `tcp_fin_timeout`: how long a closed socket waits in FIN-WAIT-2 for the peer's FIN.
    OrphanTime(Duration),
    /// A switch whose change affects an open connection immediately.
    Live(LiveSetting),
    /// `tcp_ecn=2`: whether ECN is used only if the peer asks for it.
    EcnIfAsked(bool),
    /// `tc qdisc … pfifo limit 0`: whether the link's queue drops everything that is sent.
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
            HostChange::Live(setting) => write!(f, "{setting}"),
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
