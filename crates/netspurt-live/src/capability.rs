//! What this machine can do, found out by trying without leaving a trace.

use std::fs::{self, OpenOptions};
use std::process::{Command, Stdio};

use rustix::net::{AddressFamily, SocketType, ipproto, socket};
use rustix::process::{Resource, getrlimit};

/// One thing a machine can or cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// What it is called.
    pub name: &'static str,
    /// Whether it is there.
    pub available: bool,
    /// What was found, or what is missing.
    pub found: String,
    /// What it is good for.
    pub purpose: &'static str,
}

/// Everything worth knowing before real clocks and wires are used.
///
/// ```
/// let all = netspurt_live::capability::all();
/// assert!(all.iter().any(|capability| capability.name == "kernel"));
/// ```
pub fn all() -> Vec<Capability> {
    vec![
        kernel(),
        user_namespaces(),
        icmp_sockets(),
        raw_sockets(),
        packet_sockets(),
        tun(),
        real_time_scheduling(),
    ]
}

fn kernel() -> Capability {
    let uname = rustix::system::uname();
    let system = uname.sysname().to_string_lossy();
    Capability {
        name: "kernel",
        available: system == "Linux",
        found: format!("{system} {}", uname.release().to_string_lossy()),
        purpose: "live runs need Linux; simulation needs nothing",
    }
}

fn user_namespaces() -> Capability {
    let tried = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let found = match &tried {
        Ok(status) if status.success() => "a namespace could be made".to_owned(),
        Ok(_) => refusal(),
        Err(_) => "`unshare` (util-linux) is not installed".to_owned(),
    };
    Capability {
        name: "user and network namespaces",
        available: tried.is_ok_and(|status| status.success()),
        found,
        purpose: "live runs without root",
    }
}

/// The likeliest reason for a refused namespace.
pub(crate) fn refusal() -> String {
    let is = |path: &str, value: &str| {
        fs::read_to_string(path).is_ok_and(|content| content.trim() == value)
    };
    if is("/proc/sys/user/max_user_namespaces", "0") {
        "switched off: sysctl user.max_user_namespaces is 0".to_owned()
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "switched off: sysctl kernel.unprivileged_userns_clone is 0".to_owned()
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "restricted: sysctl kernel.apparmor_restrict_unprivileged_userns is 1".to_owned()
    } else {
        "refused by the kernel".to_owned()
    }
}

fn icmp_sockets() -> Capability {
    let tried = |kind| socket(AddressFamily::INET, kind, Some(ipproto::ICMP));
    let (raw, datagram) = (tried(SocketType::RAW), tried(SocketType::DGRAM));
    Capability {
        name: "ICMP sockets",
        available: raw.is_ok() || datagram.is_ok(),
        found: match (raw, datagram) {
            (Ok(_), _) => "raw".to_owned(),
            (Err(_), Ok(_)) => "by datagrams".to_owned(),
            (Err(_), Err(error)) => {
                format!("{error}: sysctl net.ipv4.ping_group_range lets a group have them")
            }
        },
        purpose: "`netspurt probe` with ICMP echoes",
    }
}

fn raw_sockets() -> Capability {
    let tried = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::TCP));
    Capability {
        name: "raw sockets",
        available: tried.is_ok(),
        found: match tried {
            Ok(_) => "allowed here".to_owned(),
            Err(error) => format!("{error}; inside a namespace they are"),
        },
        purpose: "`netspurt probe --kind tcp`",
    }
}

fn packet_sockets() -> Capability {
    let tried = socket(AddressFamily::PACKET, SocketType::RAW, None);
    Capability {
        name: "packet sockets here",
        available: tried.is_ok(),
        found: match tried {
            Ok(_) => "allowed outside of a namespace".to_owned(),
            Err(error) => format!("{error}; inside a namespace they are"),
        },
        purpose: "captures of `netspurt poll` on this machine's own interfaces",
    }
}

fn tun() -> Capability {
    const DEVICE: &str = "/dev/net/tun";
    let tried = OpenOptions::new().read(true).write(true).open(DEVICE);
    Capability {
        name: "TUN",
        available: tried.is_ok(),
        found: match tried {
            Ok(_) => format!("{DEVICE} opens"),
            Err(error) => format!("{DEVICE}: {error}"),
        },
        purpose: "not used yet; a second way to put packets on an emulated path",
    }
}

fn real_time_scheduling() -> Capability {
    let limit = getrlimit(Resource::Rtprio).current;
    let allowed = rustix::process::geteuid().is_root() || limit.is_none_or(|limit| limit > 0);
    Capability {
        name: "real-time scheduling",
        available: allowed,
        found: match limit {
            None => "no limit".to_owned(),
            Some(limit) => {
                format!("rtprio limit {limit}, user id {}", rustix::process::geteuid().as_raw())
            }
        },
        purpose: "live runs that stay on time while the machine is busy",
    }
}
