//! Finds out which capabilities this machine has, such as namespaces and raw sockets. It tries each
//! capability. The attempts leave no trace.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::thread;

use rustix::net::{AddressFamily, SocketType, ipproto, socket};
use rustix::process::{Resource, getrlimit};

use crate::sys::{self, TUN_NODE};

/// A capability that a machine may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The name of the capability.
    pub name: &'static str,
    /// Whether the machine has the capability.
    pub available: bool,
    /// What the attempt found, or what is missing.
    pub found: String,
    /// The use of the capability.
    pub purpose: &'static str,
}

/// The capabilities of this machine that concern the commands `netspurt live`, `netspurt probe` and
/// `netspurt poll`.
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
        bpf(),
    ]
}

fn kernel() -> Capability {
    let uname = rustix::system::uname();
    let system = uname.sysname().to_string_lossy();
    Capability {
        name: "kernel",
        available: system == "Linux",
        found: format!("{system} {}", uname.release().to_string_lossy()),
        purpose: "live runs need Linux; simulations do not",
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

/// Returns the likeliest reason why the kernel refused a namespace.
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
            (Err(_), Ok(_)) => "datagram".to_owned(),
            (Err(_), Err(error)) => {
                format!(
                    "{error}; sysctl net.ipv4.ping_group_range sets the groups that may open ICMP sockets"
                )
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
            Err(error) => format!("{error}; inside a namespace they are allowed"),
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
            Err(error) => format!("{error}; inside a namespace they are allowed"),
        },
        purpose: "captures of `netspurt poll` on this machine's own interfaces",
    }
}

fn tun() -> Capability {
    let tried = OpenOptions::new().read(true).write(true).open(TUN_NODE);
    Capability {
        name: "TUN",
        available: tried.is_ok(),
        found: match tried {
            Ok(_) => format!("{TUN_NODE} opens"),
            Err(error) => no_tun(&error),
        },
        purpose: "live runs with --wire tun; veth devices do not need it",
    }
}

/// Says why the device node of TUN does not open.
fn no_tun(error: &io::Error) -> String {
    match (error.kind(), fs::metadata(TUN_NODE)) {
        (io::ErrorKind::NotFound, _) => {
            format!(
                "{TUN_NODE} is not there: the kernel has no TUN, or the container has no such node"
            )
        }
        (io::ErrorKind::PermissionDenied, Ok(node)) => {
            let (mode, owner) = (node.mode() & 0o777, node.uid());
            format!("{TUN_NODE} has mode {mode:o} and belongs to user {owner}: {error}")
        }
        _ => format!("{TUN_NODE}: {error}"),
    }
}

/// Tries real-time scheduling on a separate thread, which ends after the attempt.
fn real_time_scheduling() -> Capability {
    let tried = thread::scope(|scope| scope.spawn(|| sys::set_real_time(1)).join());
    let tried = tried.unwrap_or_else(|_| Err(io::Error::other("the attempt failed")));
    let limit = match getrlimit(Resource::Rtprio).current {
        None => "none".to_owned(),
        Some(limit) => limit.to_string(),
    };
    Capability {
        name: "real-time scheduling",
        available: tried.is_ok(),
        found: match tried {
            Ok(()) => "SCHED_FIFO is allowed".to_owned(),
            Err(error) => {
                let user = rustix::process::geteuid().as_raw();
                format!("SCHED_FIFO: {error}; rtprio limit {limit}, user id {user}")
            }
        },
        purpose: "live runs that stay on time while the machine is busy",
    }
}

fn bpf() -> Capability {
    const SWITCH: &str = "/proc/sys/kernel/unprivileged_bpf_disabled";
    let tried = sys::try_bpf();
    let switch = fs::read_to_string(SWITCH).unwrap_or_default();
    Capability {
        name: "BPF",
        available: tried.is_ok(),
        found: match tried {
            Ok(()) => "a map could be made".to_owned(),
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
                "the kernel was built without it".to_owned()
            }
            Err(error) => match switch.trim() {
                "" | "0" => error.to_string(),
                set => format!("{error}; sysctl kernel.unprivileged_bpf_disabled is {set}"),
            },
        },
        purpose: "not needed: netspurt observes the kernel's TCP through TCP_INFO",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each entry names a capability and lists words that its text `found` may contain. The first
    /// list is for machines that have the capability, and the second list is for machines that do
    /// not have it.
    const FOUND_TEXTS: [(&str, &[&str], &[&str]); 8] = [
        ("kernel", &["Linux "], &[]),
        (
            "user and network namespaces",
            &["a namespace could be made"],
            &["switched off: sysctl ", "restricted: sysctl ", "refused by the kernel", "`unshare`"],
        ),
        ("ICMP sockets", &["raw", "datagram"], &["sysctl net.ipv4.ping_group_range"]),
        ("raw sockets", &["allowed here"], &["; inside a namespace they are allowed"]),
        (
            "packet sockets here",
            &["allowed outside of a namespace"],
            &["; inside a namespace they are allowed"],
        ),
        ("TUN", &["/dev/net/tun opens"], &["/dev/net/tun"]),
        ("real-time scheduling", &["SCHED_FIFO is allowed"], &["SCHED_FIFO: "]),
        ("BPF", &["a map could be made"], &["os error", "built without it"]),
    ];

    #[test]
    fn each_capability_reports_what_was_found_or_what_is_missing() {
        let all = all();
        let names: Vec<&str> = all.iter().map(|capability| capability.name).collect();
        assert_eq!(names, FOUND_TEXTS.map(|(name, ..)| name));
        for (capability, (name, there, missing)) in all.iter().zip(FOUND_TEXTS) {
            let Capability { available, found, purpose, .. } = capability;
            let parts = if *available { there } else { missing };
            assert!(parts.iter().any(|part| found.contains(part)), "{name}: {found}");
            assert!(!purpose.is_empty(), "{name}");
        }
    }

    #[test]
    fn repeated_attempts_give_the_same_result() {
        assert_eq!(all(), all());
    }

    #[test]
    fn a_device_node_that_does_not_open_is_reported_with_the_reason() {
        let missing = no_tun(&io::ErrorKind::NotFound.into());
        assert!(missing.contains("is not there"), "{missing}");
        assert!(missing.contains("the container has no such node"), "{missing}");
        let busy = io::Error::from_raw_os_error(libc::EBUSY);
        assert_eq!(no_tun(&busy), format!("{TUN_NODE}: {busy}"));
        let denied = no_tun(&io::ErrorKind::PermissionDenied.into());
        let message = match fs::metadata(TUN_NODE) {
            Ok(node) => format!("{TUN_NODE} has mode {:o} and", node.mode() & 0o777),
            Err(_) => format!("{TUN_NODE}: "),
        };
        assert!(denied.starts_with(&message), "{denied}");
    }
}
