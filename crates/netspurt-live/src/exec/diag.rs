//! Asks the kernel about the TCP connections of other processes (`sock_diag`).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use crate::kernel::TcpInfo;

/// A socket that asks the kernel of one host about connections.
#[derive(Debug)]
pub struct Diag {
    socket: OwnedFd,
}

/// The number of octets of a netlink header.
const HEADER: usize = 16;
/// The number of octets of `struct inet_diag_msg`.
const ANSWER: usize = 72;

impl Diag {
    /// Opens a socket that asks the kernel of the calling thread's host.
    ///
    /// # Errors
    /// When the kernel does not provide `sock_diag`.
    pub fn open() -> io::Result<Self> {
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, kind, flags, Some(netlink::SOCK_DIAG))?;
        Ok(Self { socket })
    }

    /// Returns the kernel's information on the connection from `own` to `peer`. `None` if the
    /// kernel knows no such connection, or cannot be asked.
    pub fn ask(&self, own: SocketAddr, peer: SocketAddr) -> Option<TcpInfo> {
        rustix::net::send(&self.socket, &request(own, peer), SendFlags::empty()).ok()?;
        let mut answer = [0; 2048];
        let (length, _) = rustix::net::recv(&self.socket, &mut answer, RecvFlags::empty()).ok()?;
        info(answer.get(..length)?)
    }
}

/// The type of questions and answers about connections (`SOCK_DIAG_BY_FAMILY`).
const BY_FAMILY: u16 = 20;

/// Makes a question about one connection (`struct inet_diag_req_v2`).
fn request(own: SocketAddr, peer: SocketAddr) -> Vec<u8> {
    const INFO: u8 = 1 << (TCP_INFO - 1);
    let mut octets = Vec::with_capacity(72);
    octets.extend(72_u32.to_ne_bytes());
    octets.extend(BY_FAMILY.to_ne_bytes());
    octets.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    octets.extend([0; 8]);
    octets.extend([libc::AF_INET as u8, libc::IPPROTO_TCP as u8, INFO, 0]);
    octets.extend(u32::MAX.to_ne_bytes());
    octets.extend(own.port().to_be_bytes());
    octets.extend(peer.port().to_be_bytes());
    for address in [own, peer] {
        match address.ip() {
            IpAddr::V4(address) => {
                octets.extend(address.octets());
                octets.extend([0; 12]);
            }
            IpAddr::V6(address) => octets.extend(address.octets()),
        }
    }
    // Device number 0 means any device. A cookie whose bits are all one means no cookie.
    octets.extend([0; 4]);
    octets.extend([0xff; 8]);
    octets
}

/// The kind of the attribute whose value is a `struct tcp_info`.
const TCP_INFO: u8 = 2;

/// Reads the state of a connection from an answer of the kernel. `None` if the answer does not
/// contain the complete state, or if the RTO in it is zero. Until the handshake is complete, the
/// kernel reports only zeros for the accepting end.
fn info(answer: &[u8]) -> Option<TcpInfo> {
    let kind = answer.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]))?;
    if kind != BY_FAMILY {
        return None;
    }
    let mut rest = answer.get(HEADER + ANSWER..)?;
    while let Some(head) = rest.first_chunk::<4>() {
        let [a, b, c, d] = *head;
        let (length, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
        let body = rest.get(4..length)?;
        if kind == u16::from(TCP_INFO) {
            return TcpInfo::read(body).filter(|info| !info.rto.is_zero());
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_and_malformed_answers_are_ignored() {
        let mut answer = vec![0; HEADER + ANSWER];
        answer[4] = 20;
        answer.extend([3, 0, 9, 0, 0, 0, 0, 0]);
        assert_eq!(info(&answer), None, "an attribute shorter than its head");
        let mut tcp_info = vec![0_u8; 248];
        tcp_info[8..12].copy_from_slice(&200_000_u32.to_ne_bytes());
        tcp_info[80..84].copy_from_slice(&10_u32.to_ne_bytes());
        let mut answer = answer[..HEADER + ANSWER].to_vec();
        answer.extend(252_u16.to_ne_bytes());
        answer.extend(2_u16.to_ne_bytes());
        answer.extend(&tcp_info);
        assert_eq!(info(&answer).unwrap().cwnd, 10);
        for length in 0..answer.len() {
            assert_eq!(info(&answer[..length]), None);
        }
    }

    /// Makes an answer of the kind `kind` with these attributes.
    fn answer(kind: u16, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut answer = vec![0; HEADER + ANSWER];
        answer[4..6].copy_from_slice(&kind.to_ne_bytes());
        for (kind, body) in attributes {
            answer.extend((4 + body.len() as u16).to_ne_bytes());
            answer.extend(kind.to_ne_bytes());
            answer.extend(*body);
            answer.resize(answer.len().next_multiple_of(4), 0);
        }
        answer
    }

    #[test]
    fn the_state_is_found_among_other_attributes_but_not_in_error_messages() {
        let mut state = [0; 104];
        state[1] = TcpInfo::LOSS;
        state[8..12].copy_from_slice(&200_000_u32.to_ne_bytes());
        state[80..84].copy_from_slice(&33_u32.to_ne_bytes());
        for (what, answer, cwnd) in [
            ("alone", answer(20, &[(2, &state)]), Some(33)),
            ("the last attribute", answer(20, &[(4, b"reno\0"), (8, &[0]), (2, &state)]), Some(33)),
            ("no state", answer(20, &[(4, b"reno\0")]), None),
            ("before the handshake is complete", answer(20, &[(2, &[0; 104])]), None),
            ("too short", answer(20, &[(2, &state[..83])]), None),
            ("in an error message", answer(2, &[(2, &state)]), None),
        ] {
            assert_eq!(info(&answer).map(|info| info.cwnd), cwnd, "{what}");
        }
        assert!(info(&answer(20, &[(2, &state)])).unwrap().in_loss());
    }

    #[test]
    fn a_request_has_both_sockets_in_network_byte_order() {
        let (own, peer) = ("10.0.0.1:4000".parse().unwrap(), "10.0.0.2:80".parse().unwrap());
        let octets = request(own, peer);
        assert_eq!((octets.len(), &octets[..4]), (72, &72_u32.to_ne_bytes()[..]));
        assert_eq!(octets[16..19], [2, 6, 2], "IPv4, TCP, and its information");
        assert_eq!(octets[24..28], [0x0f, 0xa0, 0, 80]);
        assert_eq!((&octets[28..32], &octets[44..48]), (&[10, 0, 0, 1][..], &[10, 0, 0, 2][..]));
        assert_eq!(octets[64..], [0xff; 8], "no cookie");
        let six = |socket: &str| socket.parse().unwrap();
        let octets = request(six("[::1]:1"), six("[::2]:2"));
        assert_eq!((octets.len(), octets[43], octets[59]), (72, 1, 2));
    }
}
