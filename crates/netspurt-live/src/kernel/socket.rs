//! Opens the sockets at the ends of flows, and sets their options.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use netspurt::plan::KernelTcp;
use rustix::net::sockopt::{set_socket_reuseaddr, set_tcp_congestion, set_tcp_nodelay};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use crate::sys;

/// Limits the receive window of a socket to `bytes` octets.
///
/// When the first full segment arrives, Linux computes how much buffer the payload needs, and then
/// changes the limit. Therefore, the limit must be set again before each read.
///
/// # Errors
/// When the kernel refuses.
pub fn clamp(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)
}

/// The limit before the first read is `bytes` minus two segments. The limit is at least two
/// segments, but never more than `bytes`. At the first full segment, the window grows by two
/// segments before the limit is set again.
fn at_first(bytes: u32, smss: u16) -> u32 {
    let grows = 2 * u32::from(smss);
    bytes.saturating_sub(grows).max(grows.min(bytes))
}

/// Makes the error for a socket that does not get the congestion control algorithm called `name`.
fn of_congestion(name: &str, error: &io::Error) -> io::Error {
    let (why, remedy) = match error.kind() {
        io::ErrorKind::NotFound => {
            ("this kernel has no such algorithm", format!("load `tcp_{name}`"))
        }
        io::ErrorKind::PermissionDenied => {
            ("this kernel lets only root choose it", format!("add `{name}` to {ALGORITHMS}"))
        }
        _ => return io::Error::new(error.kind(), format!("tcp.congestion = {name:?}: {error}")),
    };
    let has = fs::read_to_string(ALGORITHMS).unwrap_or_default();
    let fix = format!("name one of `{}`, or have root {remedy}", has.trim());
    io::Error::new(error.kind(), format!("tcp.congestion = {name:?}: {why}: {fix}"))
}

/// The file with the congestion control algorithms that every user may choose.
const ALGORITHMS: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Opens a socket in the calling thread's namespace and binds it to `address`. If `listens` is
/// true, the socket waits for one connection.
///
/// # Errors
/// When the kernel refuses, for example because it lacks the congestion control algorithm.
pub fn open(tcp: &KernelTcp, address: SocketAddr, listens: bool) -> io::Result<OwnedFd> {
    open_for(tcp, address, listens.then_some(1))
}

/// Opens a socket like [`open`]. With a `backlog`, the socket listens, and up to `backlog`
/// connections may wait to be accepted.
///
/// # Errors
/// When the kernel refuses.
pub fn open_for(tcp: &KernelTcp, address: SocketAddr, backlog: Option<i32>) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    set_socket_reuseaddr(&socket, true)?;
    set_tcp_congestion(&socket, tcp.congestion)
        .map_err(|error| of_congestion(tcp.congestion, &error.into()))?;
    set_tcp_nodelay(&socket, !tcp.nagle)?;
    if !tcp.window_scaling {
        // This is the largest window that 16 bits can state. The kernel doubles this size, to have
        // room for its own bookkeeping.
        sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, 65_535)?;
    }
    if let Some(bytes) = tcp.receive_buffer_bytes {
        clamp(socket.as_fd(), at_first(bytes, tcp.smss()))?;
    }
    bind(&socket, &address)?;
    if let Some(backlog) = backlog {
        listen(&socket, backlog)?;
    }
    Ok(socket)
}
