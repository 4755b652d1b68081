//! The sockets at the ends of flows.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use netspurt::scenario::KernelTcp;
use rustix::net::sockopt::{set_socket_reuseaddr, set_tcp_congestion, set_tcp_nodelay};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use crate::sys;

/// Opens a socket in the calling thread's namespace, bound to `address`; one that `listens` for a
/// connection does so.
///
/// # Errors
/// When the kernel refuses, an algorithm of the congestion window that it does not have included.
pub fn open(tcp: &KernelTcp, address: SocketAddr, listens: bool) -> io::Result<OwnedFd> {
    const ONE_CONNECTION: i32 = 1;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    set_socket_reuseaddr(&socket, true)?;
    set_tcp_congestion(&socket, tcp.congestion).map_err(|error| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("congestion = {:?}: {error}", tcp.congestion))
    })?;
    set_tcp_nodelay(&socket, !tcp.nagle)?;
    if !tcp.window_scaling {
        // What 16 bits can say; the kernel doubles the number for its own needs.
        sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, 65_535)?;
    }
    bind(&socket, &address)?;
    if listens {
        listen(&socket, ONE_CONNECTION)?;
    }
    Ok(socket)
}
