//! Tests, over loopback, of the sockets of the kernel's TCP: their options, their addresses, and
//! the information that they give.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use netspurt::plan::{KernelProfile, KernelTcp};
use netspurt::units::Duration;
use netspurt_live::kernel::{TcpInfo, open};
use rustix::net::{getsockname, sockopt};

/// The configuration of the profile `reno-2005`.
const TCP: fn() -> KernelTcp = || KernelTcp::of(KernelProfile::Reno2005);

/// A socket at a free port of loopback.
fn local(tcp: &KernelTcp, listens: bool) -> (OwnedFd, SocketAddr) {
    let socket = open(tcp, "127.0.0.1:0".parse().unwrap(), listens).unwrap();
    let address = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap();
    (socket, address)
}

#[test]
fn a_socket_has_the_options_that_its_switches_require() {
    for (nagle, window_scaling) in [(true, true), (true, false), (false, true), (false, false)] {
        let tcp = KernelTcp { nagle, window_scaling, ..TCP() };
        let (socket, address) = local(&tcp, false);
        assert_ne!(address.port(), 0, "the socket is bound");
        assert_eq!(sockopt::tcp_nodelay(&socket).unwrap(), !nagle);
        // The kernel doubles the given size, for its own needs.
        let room = sockopt::socket_recv_buffer_size(&socket).unwrap();
        assert_eq!(room == 2 * 65_535, !window_scaling, "{room} octets");
        assert!(rustix::fs::fcntl_getfl(&socket).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
        assert!(!sockopt::socket_acceptconn(&socket).unwrap());
    }
}

#[test]
fn only_the_passive_end_listens() {
    let (listener, address) = local(&TCP(), true);
    assert!(sockopt::socket_acceptconn(&listener).unwrap());
    assert!(TcpStream::connect(address).is_ok());
    let (_socket, address) = local(&TCP(), false);
    let refused = TcpStream::connect(address).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn the_error_names_a_congestion_control_that_the_kernel_lacks() {
    let tcp = KernelTcp { congestion: "no-such", ..TCP() };
    let error = open(&tcp, "127.0.0.1:0".parse().unwrap(), false).unwrap_err();
    assert!(error.to_string().starts_with("tcp.congestion = \"no-such\": "), "{error}");
}

#[test]
fn an_address_of_another_machine_cannot_be_bound() {
    let error = open(&TCP(), "192.0.2.1:0".parse().unwrap(), true).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrNotAvailable);
}

#[test]
fn the_kernel_gives_information_on_an_open_connection() {
    let (_listener, address) = local(&TCP(), true);
    let stream = TcpStream::connect(address).unwrap();
    let info = TcpInfo::of(stream.as_fd()).unwrap();
    assert!(!info.in_loss() && !info.in_recovery(), "{info:?}");
    assert_eq!((info.backoff, info.timeouts, info.unacked, info.rack), (0, 0, 0, false));
    assert!(info.smss > 500 && info.cwnd >= 2, "{info:?}");
    assert!(info.rto >= Duration::from_millis(1), "{info:?}");
}

#[test]
fn a_udp_socket_gives_no_information_on_tcp() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(TcpInfo::of(socket.as_fd()).is_err());
}
