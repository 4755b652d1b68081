//! Captures the packets between this host and one address.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use netspurt::units::{Duration, Time};
use netspurt::wire::{IpHead, PcapngWriter, TCP, TcpHead};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};

use super::route::route_to;
use super::{ProbeError, tried};
use crate::kernel::timespec;
use crate::sys::{self, Batch};
use crate::wall::WallClock;

/// The size of the socket's receive buffer in octets.
const ROOM: i32 = 8 << 20;
/// The number of octets of the longest packet.
const PACKET: usize = 1 << 16;

/// The time for which a capture continues after the order to end it, because the last packets of a
/// connection may still be on their way.
const LINGER: Duration = Duration::from_millis(50);

/// Captures the packets between this host and `peer` into a new file, until the descriptor `halt`
/// becomes readable. Returns the number of packets. Calls `ready` when the capture has begun.
///
/// # Errors
/// When packet sockets are not allowed or cannot be set up, when the file exists or cannot be
/// written, when `ready` fails, or when packets cannot be read.
pub fn capture(
    peer: SocketAddr,
    path: &Path,
    halt: BorrowedFd<'_>,
    ready: impl FnOnce() -> io::Result<()>,
) -> Result<u64, ProbeError> {
    let device = route_to(peer.ip()).unwrap_or_default().device.unwrap_or_else(|| "lo".into());
    let socket = open(&device)?;
    let failed = || tried(format!("{}", path.display()));
    let file = BufWriter::new(File::create_new(path).map_err(failed())?);
    let made_by = concat!("netspurt ", env!("CARGO_PKG_VERSION"));
    let mut file = PcapngWriter::new(file, &device, made_by).map_err(failed())?;
    ready().map_err(tried("writing to the standard output"))?;
    let (mut batch, mut count) = (Batch::new(PACKET), 0);
    let (clock, mut end) = (WallClock::start(), Time::NEVER);
    while clock.now() < end {
        batch.receive(socket.as_fd()).map_err(tried("receiving from a packet socket"))?;
        let waits = batch.received().next().is_none();
        for got in batch.received().filter(|got| is_of(peer, got.bytes)) {
            file.packet(got.unix_ns.unwrap_or(0), got.bytes, None).map_err(failed())?;
            count += 1;
        }
        let is_ending = end < Time::NEVER;
        let mut fds = [PollFd::new(&socket, PollFlags::IN), PollFd::new(&halt, PollFlags::IN)];
        let watched = if is_ending { &mut fds[..1] } else { &mut fds[..] };
        let left = if waits { end.saturating_since(clock.now()) } else { Duration::ZERO };
        let wait = (is_ending || !waits).then(|| timespec(left));
        // An interrupted wait is not an error, because the loop only tries to receive again.
        let _ = poll(watched, wait.as_ref());
        if !is_ending && !fds[1].revents().is_empty() {
            end = clock.now() + LINGER;
        }
    }
    file.finish().map_err(failed())?;
    Ok(count)
}

/// Opens a packet socket on a device.
fn open(device: &str) -> Result<OwnedFd, ProbeError> {
    const IGNORE_OUTGOING: i32 = 23;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        socket_with(AddressFamily::PACKET, SocketType::DGRAM, flags, None).map_err(|error| {
            ProbeError::Forbidden {
                what: "a packet socket, which captures need,",
                error: error.into(),
                fix: "leave captures out, or run netspurt as root or with cap_net_raw",
            }
        })?;
    let set_up = || -> io::Result<()> {
        let set = |level, name, value| sys::set_option(socket.as_fd(), level, name, value);
        if device == "lo" {
            // On loopback, the socket would see every packet twice, going out and coming in.
            set(libc::SOL_PACKET, IGNORE_OUTGOING, 1)?;
        }
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        let forced = set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, ROOM);
        forced.or_else(|_| set(libc::SOL_SOCKET, libc::SO_RCVBUF, ROOM))?;
        sys::bind_packets(socket.as_fd(), netdevice::name_to_index(&socket, device)?)
    };
    set_up().map_err(tried(format!("setting up the capture of {device}")))?;
    Ok(socket)
}

/// Whether a packet is to or from `peer`. If the port of `peer` is not 0, a TCP packet must have
/// this port at the side of `peer`. A fragment without the TCP header has no port, so only its
/// addresses count.
fn is_of(peer: SocketAddr, packet: &[u8]) -> bool {
    let Some(ip) = IpHead::of(packet) else { return false };
    let there = ip.addresses().map(|address| address == peer.ip());
    if ip.payload().0 != TCP || peer.port() == 0 || ip.part().offset_bytes() > 0 {
        return there != [false; 2];
    }
    let Some((_, tcp)) = TcpHead::behind_ip(packet) else { return false };
    (0..2).any(|end| there[end] && tcp.ports()[end] == peer.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tcp_packets_to_another_port_of_the_peer_are_not_captured() {
        let peer = "10.0.0.2:80".parse().unwrap();
        let mut packet = vec![0; 40];
        (packet[0], packet[9]) = (0x45, 6);
        packet[12..16].copy_from_slice(&[10, 0, 0, 1]);
        packet[16..20].copy_from_slice(&[10, 0, 0, 2]);
        packet[22..24].copy_from_slice(&80_u16.to_be_bytes());
        assert!(is_of(peer, &packet));
        packet[23] = 81;
        assert!(!is_of(peer, &packet));
        packet[7] = 5;
        assert!(is_of(peer, &packet), "a later fragment has no port");
        packet[7] = 0;
        packet[9] = 1;
        assert!(is_of(peer, &packet), "an ICMP packet has no port");
    }

    proptest! {
        #[test]
        fn arbitrary_octets_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = is_of("10.0.0.2:80".parse().unwrap(), &bytes);
            let _ = is_of("[::1]:80".parse().unwrap(), &bytes);
        }
    }

    #[test]
    fn without_a_port_all_packets_of_the_peer_are_captured() {
        let packet = |from: [u8; 4], to: [u8; 4], protocol: u8| {
            let mut packet = vec![0; 40];
            (packet[0], packet[9]) = (0x45, protocol);
            packet[12..16].copy_from_slice(&from);
            packet[16..20].copy_from_slice(&to);
            packet
        };
        let (here, there, other) = ([10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3]);
        for protocol in [1, 6, 17] {
            for (from, to, counts) in
                [(here, there, true), (there, here, true), (here, other, false)]
            {
                let packet = packet(from, to, protocol);
                assert_eq!(is_of("10.0.0.2:0".parse().unwrap(), &packet), counts, "{protocol}");
            }
        }
        // The port must be the peer's, not the other end's.
        let mut answer = packet(there, here, 6);
        answer[22..24].copy_from_slice(&80_u16.to_be_bytes());
        assert!(!is_of("10.0.0.2:80".parse().unwrap(), &answer));
        answer[20..24].rotate_left(2);
        assert!(is_of("10.0.0.2:80".parse().unwrap(), &answer));
        assert!(
            !is_of("10.0.0.2:80".parse().unwrap(), &answer[..30]),
            "its TCP header is cut short"
        );
    }
}
