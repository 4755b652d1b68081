//! Namespaces for one run: hosts of the kernel's own, each behind a wire whose other end is here.
//!
//! Everything belongs to one process and has no name outside of it, so the kernel takes it all
//! back when that process ends, however it ends. Nothing here touches a network that was there
//! before.

mod netlink;
mod port;
mod wiring;

use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice};
use rustix::process::{Pid, Signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::sys::{self, Unshared};
use netlink::Netlink;
pub use netlink::RouteHints;
pub use port::Port;
pub use wiring::{Wire, Wiring};

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
fn asked(what: impl Into<String>) -> impl FnOnce(io::Error) -> SandboxError {
    let what = what.into();
    move |error| SandboxError::Refused { what, error }
}

/// A host of the kernel's.
#[derive(Clone, Debug, Default)]
pub struct HostPlan {
    /// Its address.
    pub address: Option<IpAddr>,
    /// The one other address it knows.
    pub peer: Option<IpAddr>,
    /// Octets of the largest packet it sends.
    pub mtu: u16,
    /// What the route to the peer tells TCP.
    pub hints: RouteHints,
    /// Values under `/proc/sys/net/ipv4`.
    pub sysctls: Vec<(&'static str, String)>,
    /// What its wire is made of.
    pub wiring: Wiring,
}

/// The namespaces of one run.
#[derive(Debug)]
pub struct Sandbox {
    netlink: Netlink,
    hosts: u32,
}

impl Sandbox {
    /// Moves this process, which has one thread, into namespaces of its own: root into a network
    /// namespace, anyone else into a user namespace, too.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn enter() -> Result<Self, SandboxError> {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let alone = if user.is_root() { sys::unshare(Unshared::Network) } else { Err(denied()) };
        if alone.is_err() {
            let refused =
                |error| SandboxError::NoNamespaces { error, why: crate::capability::refusal() };
            sys::unshare(Unshared::UserAndNetwork).map_err(refused)?;
            let map = |file: &str, text: String| {
                fs::write(format!("/proc/self/{file}"), text)
                    .map_err(asked(format!("/proc/self/{file}")))
            };
            map("setgroups", "deny".into())?;
            map("uid_map", format!("0 {} 1", user.as_raw()))?;
            map("gid_map", format!("0 {} 1", group.as_raw()))?;
        }
        let netlink =
            Netlink::open().map_err(asked("a connection to the network's configuration"))?;
        Ok(Self { netlink, hosts: 0 })
    }

    /// Adds a host.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add_host(&mut self, plan: &HostPlan) -> Result<Host, SandboxError> {
        let namespace = new_namespace().map_err(asked("a network namespace for a host"))?;
        let port = match plan.wiring.wire {
            Wire::Veth => self.pair(plan, namespace.as_fd())?,
            Wire::Tun => {
                let make = || Port::tun(Host::DEVICE, plan.wiring.offload, plan.mtu);
                within(namespace.as_fd(), make)?.map_err(asked(NO_TUN))?
            }
        };
        let host = Host { namespace, port };
        host.within(|| configure(plan))??;
        Ok(host)
    }

    /// A pair of devices, one in a host's `namespace`, and the port on the one that is here.
    fn pair(&mut self, plan: &HostPlan, namespace: BorrowedFd<'_>) -> Result<Port, SandboxError> {
        let name = format!("host{}", self.hosts);
        self.hosts += 1;
        let (here, there) = (name.as_str(), Host::DEVICE);
        let wire = netlink::Wire { here, there, namespace, mtu: plan.mtu };
        self.netlink.add_wire(&wire).map_err(asked("a pair of veth devices"))?;
        let device = device(here, plan.wiring.offload)?;
        self.netlink.switch_on(device).map_err(asked("switching a device on"))?;
        // Of a device that is off, a socket would first report that.
        Port::open(device, plan.wiring.offload, plan.mtu).map_err(asked("a socket of packets"))
    }
}

/// What is said with the reason why there is no TUN device.
const NO_TUN: &str = "TUN, /dev/net/tun (veth devices, the default, need no node)";

fn denied() -> io::Error {
    io::ErrorKind::PermissionDenied.into()
}

/// A new network namespace, held by the file alone.
fn new_namespace() -> io::Result<File> {
    let make = || {
        sys::unshare(Unshared::Network)?;
        File::open("/proc/thread-self/ns/net")
    };
    thread::scope(|scope| scope.spawn(make).join()).unwrap_or_else(|_| Err(lost_thread()))
}

fn lost_thread() -> io::Error {
    io::Error::other("a thread ended before its time")
}

/// What a device does in place of TCP, and of who sends packets, one by one.
const OFFLOADS: [(&str, u32); 6] = [
    ("checksums checked by the device", 0x15),
    ("checksums made by the device", 0x17),
    ("scattered packets", 0x19),
    ("segmentation by the device", 0x1f),
    ("late segmentation", 0x24),
    ("coalescing", 0x2c),
];

/// The number of the device called `name`. Without `offload` all its help is switched off, so
/// that what crosses it is what would cross a wire; coalescing always is.
fn device(name: &str, offload: bool) -> Result<u32, SandboxError> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)
        .map_err(|error| asked("a socket")(error.into()))?;
    let switched = if offload { &OFFLOADS[OFFLOADS.len() - 1..] } else { &OFFLOADS[..] };
    for (what, command) in switched {
        sys::set_device_value(socket.as_fd(), name, *command, 0)
            .map_err(asked(format!("switching off {what}")))?;
    }
    netdevice::name_to_index(&socket, name)
        .map_err(|error| asked("a device's number")(error.into()))
}

/// The number of a host's device, made ready.
fn hosts_device(plan: &HostPlan) -> Result<u32, SandboxError> {
    if plan.wiring.wire == Wire::Veth {
        return device(Host::DEVICE, plan.wiring.offload);
    }
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let told = |error: rustix::io::Errno| asked("a device's number")(error.into());
    let socket =
        rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).map_err(told)?;
    sys::set_mtu(socket.as_fd(), Host::DEVICE, plan.mtu).map_err(asked("a device's MTU"))?;
    netdevice::name_to_index(&socket, Host::DEVICE).map_err(told)
}

/// Sets a host up, from inside.
fn configure(plan: &HostPlan) -> Result<(), SandboxError> {
    const LOOPBACK: u32 = 1;
    let device = hosts_device(plan)?;
    be_quiet(plan.address.is_some_and(|address| address.is_ipv6()))?;
    for (name, value) in &plan.sysctls {
        let told = asked(format!("net.ipv4.{name} = {value}"));
        fs::write(format!("/proc/sys/net/ipv4/{name}"), value).map_err(told)?;
    }
    let mut netlink = Netlink::open().map_err(asked("a connection to a host's configuration"))?;
    netlink.switch_on(LOOPBACK).map_err(asked("switching loopback on"))?;
    netlink.switch_on(device).map_err(asked("switching a host's device on"))?;
    if let Some(address) = plan.address {
        netlink.add_address(device, address).map_err(asked("a host's address"))?;
    }
    if let Some(peer) = plan.peer {
        netlink.add_route(device, peer, plan.hints).map_err(asked("a host's route"))?;
    }
    Ok(())
}

/// Nothing of IPv6 speaks of its own accord: it is off, or asks for no router and makes up no
/// address.
fn be_quiet(with_ipv6: bool) -> Result<(), SandboxError> {
    let wanted: &[(&str, &str)] = if with_ipv6 {
        // 1 makes up none.
        &[("addr_gen_mode", "1"), ("accept_ra", "0"), ("router_solicitations", "0")]
    } else {
        &[("disable_ipv6", "1")]
    };
    let device = if with_ipv6 { Host::DEVICE } else { "all" };
    for (name, value) in wanted {
        let set = fs::write(format!("/proc/sys/net/ipv6/conf/{device}/{name}"), value);
        if let Err(error) = set
            && (with_ipv6 || error.kind() != io::ErrorKind::NotFound)
        {
            return Err(asked(format!("net.ipv6.conf.{device}.{name} = {value}"))(error));
        }
    }
    Ok(())
}

/// A host of the kernel's, in a network namespace of its own that ends with this.
#[derive(Debug)]
pub struct Host {
    namespace: File,
    /// The other end of its wire.
    pub port: Port,
}

impl Host {
    /// What its one device is called.
    pub const DEVICE: &str = "eth0";

    /// Does something in its namespace, on a thread of its own. Sockets stay where they were made.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> Result<T, SandboxError> {
        within(self.namespace.as_fd(), act)
    }
}

/// Does something in a network namespace, on a thread of its own.
fn within<T: Send>(
    namespace: BorrowedFd<'_>,
    act: impl FnOnce() -> T + Send,
) -> Result<T, SandboxError> {
    let enter = |namespace: BorrowedFd<'_>| {
        move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))
    };
    let inside = move || enter(namespace).map(|()| act());
    let done = thread::scope(|scope| scope.spawn(inside).join());
    let done = done.map_err(|_| lost_thread()).and_then(|done| done.map_err(io::Error::from));
    done.map_err(asked("entering a host's namespace"))
}

/// Lets this process end with the one numbered `parent`, which started it.
///
/// # Errors
/// When that one has ended already.
pub fn end_with(parent: u32) -> Result<(), SandboxError> {
    let told = |error: rustix::io::Errno| asked("ending with who started this")(error.into());
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(told)?;
    let now = rustix::process::getppid().map(Pid::as_raw_nonzero);
    if now.is_some_and(|now| now.get().cast_unsigned() == parent) {
        return Ok(());
    }
    Err(SandboxError::Orphaned)
}
