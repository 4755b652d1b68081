//! A host on the kernel's TCP: its namespace, its device, its addresses and its routes.

use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::device::device;
use super::error::{SandboxError, failed_at};
use super::netlink::{Netlink, RouteHints};
use super::port::PacketPort;
use super::wiring::{Wire, Wiring};
use crate::sys;

/// The configuration of a host that runs the kernel's TCP.
#[derive(Clone, Debug, Default)]
pub struct HostPlan {
    /// The address of the host.
    pub address: Option<IpAddr>,
    /// The address of the only other host to which this host has a route.
    pub peer: Option<IpAddr>,
    /// The number of octets of the largest packet that the host sends.
    pub mtu: u16,
    /// The settings for TCP on the route to the peer.
    pub hints: RouteHints,
    /// The names of settings under `/proc/sys/net/ipv4`, each with its value.
    pub sysctls: Vec<(&'static str, String)>,
    /// The devices that connect the host to the run.
    pub wiring: Wiring,
}

/// A host that runs the kernel's TCP, in a network namespace of its own. The namespace ends when
/// this value is dropped and neither a process nor an open socket uses the namespace.
#[derive(Debug)]
pub struct KernelHost {
    /// The namespace of the host.
    pub namespace: Namespace,
    /// The port at the other end of the wire that begins at the host.
    pub port: PacketPort,
}

/// A network namespace, which exists at least as long as this value.
#[derive(Debug)]
pub struct Namespace(pub(super) File);

impl Namespace {
    /// Calls the function `act` in the namespace, on a new thread.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> Result<T, SandboxError> {
        within(self.0.as_fd(), act)
    }
}

impl KernelHost {
    /// The name of a host's only device besides loopback.
    pub const DEVICE: &str = "eth0";

    /// Opens a port at the host's end of the wire, for traffic that the kernel's TCP does not send.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn port_inside(&self, mtu: u16) -> Result<PacketPort, SandboxError> {
        self.within(|| {
            PacketPort::open(device(KernelHost::DEVICE, true)?, false, mtu)
                .map_err(failed_at("opening a packet socket"))
        })?
    }

    /// Calls the function `act` in the host's namespace, on a new thread. Sockets stay in the
    /// namespace in which they were made.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> Result<T, SandboxError> {
        self.namespace.within(act)
    }
}

/// Calls the function `act` in a network namespace, on a new thread.
pub(super) fn within<T: Send>(
    namespace: BorrowedFd<'_>,
    act: impl FnOnce() -> T + Send,
) -> Result<T, SandboxError> {
    let enter = |namespace: BorrowedFd<'_>| {
        move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))
    };
    let inside = move || enter(namespace).map(|()| act());
    let done = thread::scope(|scope| scope.spawn(inside).join());
    let done = done.map_err(|_| lost_thread()).and_then(|done| done.map_err(io::Error::from));
    done.map_err(failed_at("entering a host's namespace"))
}

/// Prepares a host's device and returns its number.
fn hosts_device(plan: &HostPlan) -> Result<u32, SandboxError> {
    if plan.wiring.wire == Wire::Veth {
        return device(KernelHost::DEVICE, plan.wiring.offload);
    }
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let into_error =
        |error: rustix::io::Errno| failed_at("looking up a device's number")(error.into());
    let socket =
        rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).map_err(into_error)?;
    sys::set_mtu(socket.as_fd(), KernelHost::DEVICE, plan.mtu)
        .map_err(failed_at("setting a device's MTU"))?;
    netdevice::name_to_index(&socket, KernelHost::DEVICE).map_err(into_error)
}

/// Configures a host, from inside its namespace.
pub(super) fn configure(plan: &HostPlan) -> Result<(), SandboxError> {
    const LOOPBACK: u32 = 1;
    let device = hosts_device(plan)?;
    prevent_ipv6_packets(plan.address.is_some_and(|address| address.is_ipv6()))?;
    for (name, value) in &plan.sysctls {
        let into_error = failed_at(format!("setting net.ipv4.{name} = {value}"));
        fs::write(format!("/proc/sys/net/ipv4/{name}"), value).map_err(into_error)?;
    }
    let mut netlink =
        Netlink::open().map_err(failed_at("opening a connection to a host's configuration"))?;
    netlink.switch_on(LOOPBACK).map_err(failed_at("switching loopback on"))?;
    netlink.switch_on(device).map_err(failed_at("switching a host's device on"))?;
    if let Some(address) = plan.address {
        netlink.add_address(device, address).map_err(failed_at("giving a host its address"))?;
    }
    if let Some(peer) = plan.peer {
        netlink.add_route(device, peer, plan.hints).map_err(failed_at("adding a host's route"))?;
    }
    Ok(())
}

/// Makes sure that the host sends no IPv6 packets by itself. If the host has no IPv6 address, IPv6
/// is switched off. Otherwise the host neither solicits routers nor generates addresses.
fn prevent_ipv6_packets(with_ipv6: bool) -> Result<(), SandboxError> {
    let wanted: &[(&str, &str)] = if with_ipv6 {
        // If `addr_gen_mode` is 1, the kernel generates no addresses.
        &[("addr_gen_mode", "1"), ("accept_ra", "0"), ("router_solicitations", "0")]
    } else {
        &[("disable_ipv6", "1")]
    };
    let device = if with_ipv6 { KernelHost::DEVICE } else { "all" };
    for (name, value) in wanted {
        let set = fs::write(format!("/proc/sys/net/ipv6/conf/{device}/{name}"), value);
        if let Err(error) = set
            && (with_ipv6 || error.kind() != io::ErrorKind::NotFound)
        {
            return Err(failed_at(format!("setting net.ipv6.conf.{device}.{name} = {value}"))(
                error,
            ));
        }
    }
    Ok(())
}

pub(super) fn lost_thread() -> io::Error {
    io::Error::other("a thread ended unexpectedly")
}
