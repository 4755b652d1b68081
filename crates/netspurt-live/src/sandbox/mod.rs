//! The namespaces of one run. Each host on the kernel's TCP has a namespace with one device besides
//! loopback. If this is a veth device, the run's own namespace has the other device of the pair.
//!
//! All namespaces and devices belong to one process and have no name outside of it. So the kernel
//! removes the namespaces and devices when that process ends in any way. This module does not touch
//! any existing network.

mod device;
mod error;
mod host;
mod netlink;
mod port;
mod wiring;

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use rustix::process::{Pid, Signal};

use crate::sys::{self, Unshared};
pub use error::SandboxError;
pub use host::{HostPlan, KernelHost, Namespace};
pub use netlink::RouteHints;
pub use port::PacketPort;
pub use wiring::{Wire, Wiring};

use device::device;
use error::failed_at;
use host::{configure, lost_thread, within};
use netlink::Netlink;

/// The namespaces of one run.
#[derive(Debug)]
pub struct Sandbox {
    netlink: Netlink,
    hosts: u32,
}

impl Sandbox {
    /// Moves this process into new namespaces. If root owns the process and the kernel allows it,
    /// the process gets only a network namespace. Otherwise the process gets a user namespace and a
    /// network namespace. The process must have only one thread.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn enter() -> Result<Self, SandboxError> {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let unshared = if user.is_root() { sys::unshare(Unshared::Network) } else { Err(denied()) };
        if unshared.is_err() {
            let refused =
                |error| SandboxError::NoNamespaces { error, why: crate::capability::refusal() };
            sys::unshare(Unshared::UserAndNetwork).map_err(refused)?;
            let map = |file: &str, text: String| {
                fs::write(format!("/proc/self/{file}"), text)
                    .map_err(failed_at(format!("writing /proc/self/{file}")))
            };
            map("setgroups", "deny".into())?;
            map("uid_map", format!("0 {} 1", user.as_raw()))?;
            map("gid_map", format!("0 {} 1", group.as_raw()))?;
        }
        let netlink = Netlink::open()
            .map_err(failed_at("opening a connection to the network's configuration"))?;
        Ok(Self { netlink, hosts: 0 })
    }

    /// Adds a host.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add_host(&mut self, plan: &HostPlan) -> Result<KernelHost, SandboxError> {
        let namespace =
            new_namespace().map_err(failed_at("making a network namespace for a host"))?;
        let port = match plan.wiring.wire {
            Wire::Veth => self.pair(plan, namespace.as_fd())?,
            Wire::Tun => {
                let make = || PacketPort::tun(KernelHost::DEVICE, plan.wiring.offload, plan.mtu);
                within(namespace.as_fd(), make)?.map_err(failed_at(NO_TUN))?
            }
        };
        let host = KernelHost { namespace: Namespace(namespace), port };
        host.within(|| configure(plan))??;
        Ok(host)
    }

    /// Makes a pair of devices, one in the run's namespace and one in a host's `namespace`. Returns
    /// the port on the device in the run's namespace.
    fn pair(
        &mut self,
        plan: &HostPlan,
        namespace: BorrowedFd<'_>,
    ) -> Result<PacketPort, SandboxError> {
        let name = format!("host{}", self.hosts);
        self.hosts += 1;
        let (device_name, host_device_name) = (name.as_str(), KernelHost::DEVICE);
        let wire = netlink::VethPair { device_name, host_device_name, namespace, mtu: plan.mtu };
        self.netlink.add_wire(&wire).map_err(failed_at("making a pair of veth devices"))?;
        let device = device(device_name, plan.wiring.offload)?;
        self.netlink.switch_on(device).map_err(failed_at("switching a device on"))?;
        // The device must be on before the socket opens. Otherwise the first report of the socket
        // would be that the device is off.
        PacketPort::open(device, plan.wiring.offload, plan.mtu)
            .map_err(failed_at("opening a packet socket"))
    }
}

/// An error message begins with this text if no TUN device can be made.
const NO_TUN: &str = "making a TUN device (veth devices, the default, do not need /dev/net/tun)";

fn denied() -> io::Error {
    io::ErrorKind::PermissionDenied.into()
}

/// Creates a network namespace that exists as long as the returned file is open.
fn new_namespace() -> io::Result<File> {
    let make = || {
        sys::unshare(Unshared::Network)?;
        File::open("/proc/thread-self/ns/net")
    };
    thread::scope(|scope| scope.spawn(make).join()).unwrap_or_else(|_| Err(lost_thread()))
}

/// Makes this process end when the process `parent`, which started it, ends.
///
/// # Errors
/// When `parent` has already ended, or the kernel refuses.
pub fn end_with(parent: u32) -> Result<(), SandboxError> {
    let into_error = |error: rustix::io::Errno| {
        failed_at("ending with the process that started this one")(error.into())
    };
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(into_error)?;
    let now = rustix::process::getppid().map(Pid::as_raw_nonzero);
    if now.is_some_and(|now| now.get().cast_unsigned() == parent) {
        return Ok(());
    }
    Err(SandboxError::Orphaned)
}
