//! The run's side of a host's device. It receives the host's packets and sends packets to the host.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::wiring::{Wire, Wiring};
use crate::offload::{PREFIX_BYTES_MAX, Shape, VIRTIO_BYTES};
use crate::sys::{self, Batch, Outbox, OutgoingPacket};

/// A port that receives and sends the packets of a device.
#[derive(Debug)]
pub struct PacketPort {
    wiring: Wiring,
    end: PortEnd,
    /// The number of octets of the largest packet that needs no segmentation.
    mtu: u16,
}

#[derive(Debug)]
enum PortEnd {
    /// A packet socket that is bound to a device.
    Socket { socket: OwnedFd, device: u32 },
    /// The file of a TUN device, and the file in which the kernel counts the device's packets.
    Tun { file: OwnedFd, counts: File },
}

/// A packet socket has a buffer for received packets, and a buffer for packets to be sent. This is
/// the requested size of each buffer, in octets.
const ROOM: i32 = 16 << 20;

/// The number of octets of an Ethernet header.
const ETHERNET: usize = 14;

impl PacketPort {
    /// Opens a port on the device numbered `device`, which is one of a pair of veth devices.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn open(device: u32, offload: bool, mtu: u16) -> io::Result<Self> {
        const IGNORE_OUTGOING: i32 = 23;
        const VIRTIO_HEADER: i32 = 15;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // The kernel puts a `virtio_net_hdr` before a packet only if the packet has its link
        // header.
        let kind = if offload { SocketType::RAW } else { SocketType::DGRAM };
        let socket = rustix::net::socket_with(AddressFamily::PACKET, kind, flags, None)?;
        let set = |level, name, value| sys::set_option(socket.as_fd(), level, name, value);
        set(libc::SOL_PACKET, IGNORE_OUTGOING, 1)?;
        set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        if offload {
            set(libc::SOL_PACKET, VIRTIO_HEADER, 1)?;
        }
        for (forced, unforced) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            set(libc::SOL_SOCKET, forced, ROOM)
                .or_else(|_| set(libc::SOL_SOCKET, unforced, ROOM))?;
        }
        sys::bind_packets(socket.as_fd(), device)?;
        let wiring = Wiring { wire: Wire::Veth, offload };
        Ok(Self { wiring, end: PortEnd::Socket { socket, device }, mtu })
    }

    /// Creates a TUN device `name` in the calling thread's namespace.
    ///
    /// # Errors
    /// When the device node of TUN may not be opened, the kernel refuses the device, or the
    /// kernel's table of devices cannot be opened.
    pub fn tun(name: &str, offload: bool, mtu: u16) -> io::Result<Self> {
        let file = sys::open_tun(name, offload)?;
        let counts = File::open("/proc/thread-self/net/dev")?;
        let wiring = Wiring { wire: Wire::Tun, offload };
        Ok(Self { wiring, end: PortEnd::Tun { file, counts }, mtu })
    }

    /// Makes the kernel add a timestamp to each packet that arrives. A TUN device has no
    /// timestamps.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn stamp(&self) -> io::Result<()> {
        match &self.end {
            PortEnd::Socket { socket, .. } => {
                sys::set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
            }
            PortEnd::Tun { .. } => Ok(()),
        }
    }

    /// The number of octets before a packet's IP header.
    pub const fn prefix_bytes(&self) -> usize {
        match (self.wiring.offload, self.wiring.wire) {
            (false, _) => 0,
            (true, Wire::Tun) => VIRTIO_BYTES,
            (true, Wire::Veth) => VIRTIO_BYTES + ETHERNET,
        }
    }

    /// The size, in octets, of a buffer that has room for any packet that may arrive.
    pub fn room_bytes(&self) -> usize {
        if self.wiring.offload { PREFIX_BYTES_MAX + (1 << 16) } else { usize::from(self.mtu) + 64 }
    }

    /// Receives waiting packets into `batch`. Returns whether more packets may wait.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn receive(&self, batch: &mut Batch) -> io::Result<bool> {
        match &self.end {
            PortEnd::Socket { socket, .. } => batch.receive(socket.as_fd()),
            PortEnd::Tun { file, .. } => batch.read(file.as_fd()),
        }
    }

    /// Returns the shape of a received packet, and the offset of its IP header. The shape says
    /// which work on the packet the kernel left to the device.
    pub fn shape(&self, received: &[u8]) -> (Shape, usize) {
        let shape = if self.wiring.offload { Shape::read(received) } else { Shape::WHOLE };
        (shape, self.prefix_bytes().min(received.len()))
    }

    /// Writes the octets that precede a packet into the buffer `prefix`. These octets depend on the
    /// packet's shape and headers. Returns the number of these octets.
    pub fn write_prefix(
        &self,
        shape: Shape,
        headers: &[u8],
        prefix: &mut [u8; PREFIX_BYTES_MAX],
    ) -> usize {
        if !self.wiring.offload {
            return 0;
        }
        let ahead = self.prefix_bytes() - VIRTIO_BYTES;
        prefix[..VIRTIO_BYTES].copy_from_slice(&shape.virtio(headers, ahead));
        if self.wiring.wire == Wire::Veth {
            let six = headers.first().is_some_and(|octet| octet >> 4 == 6);
            let kind: [u8; 2] = if six { [0x86, 0xdd] } else { [8, 0] };
            let ethernet = &mut prefix[VIRTIO_BYTES..];
            ethernet[..6].copy_from_slice(&sys::HOST_STATION);
            // The link address of the source differs from the host's only in the last octet.
            ethernet[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
            ethernet[12..14].copy_from_slice(&kind);
        }
        self.prefix_bytes()
    }

    /// Sends packets. Returns how many the kernel accepted.
    ///
    /// # Errors
    /// When the kernel accepted no packet.
    pub fn send(&self, outbox: &mut Outbox, packets: &[OutgoingPacket<'_>]) -> io::Result<usize> {
        match &self.end {
            PortEnd::Socket { socket, device } => outbox.send(socket.as_fd(), *device, packets),
            PortEnd::Tun { file, .. } => outbox.write(file.as_fd(), packets),
        }
    }

    /// Returns the number of packets that the port lost because it had no room. A packet socket
    /// counts since the last call, and a TUN device since it was created.
    ///
    /// # Errors
    /// When the kernel refuses, or the kernel's table of devices has no counts of the TUN device.
    pub fn missed(&self) -> io::Result<u32> {
        let socket = match &self.end {
            PortEnd::Socket { socket, .. } => socket,
            PortEnd::Tun { counts, .. } => return dropped(counts),
        };
        // The kernel writes a `struct tpacket_stats`: the numbers of packets and of drops.
        let mut counts = [0; 8];
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        sys::read_option(socket.as_fd(), level, name, &mut counts)?;
        let [.., a, b, c, d] = counts;
        Ok(u32::from_ne_bytes([a, b, c, d]))
    }
}

#[cfg(test)]
impl PacketPort {
    /// Creates a port whose packets are the datagrams of a socket pair, and returns it with the
    /// other socket. The port reads `table` in place of the kernel's table of devices.
    pub(crate) fn paired(
        wiring: Wiring,
        mtu: u16,
        table: &str,
    ) -> (Self, std::os::unix::net::UnixDatagram) {
        let (near, far) = std::os::unix::net::UnixDatagram::pair().expect("a pair of sockets");
        near.set_nonblocking(true)
            .and(far.set_nonblocking(true))
            .expect("sockets that return immediately");
        let counts = rustix::fs::memfd_create("counts", rustix::fs::MemfdFlags::CLOEXEC);
        let counts = File::from(counts.expect("a file in memory"));
        counts.write_all_at(table.as_bytes(), 0).expect("room in memory");
        (Self { wiring, end: PortEnd::Tun { file: near.into(), counts }, mtu }, far)
    }
}

/// Reads from the kernel's table of devices how many packets the host's only device dropped because
/// its queue was full.
fn dropped(counts: &File) -> io::Result<u32> {
    let mut text = [0; 4096];
    let length = counts.read_at(&mut text, 0)?;
    let text = String::from_utf8_lossy(&text[..length]).into_owned();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("eth0:"));
    // The line has eight numbers on received packets, then octets, packets, errors and drops of
    // sent packets.
    let count = line.and_then(|line| line.split_whitespace().nth(11));
    count
        .and_then(|count| count.parse().ok())
        .ok_or_else(|| io::Error::other("the kernel's table of devices has no counts of eth0"))
}

impl AsFd for PacketPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.end {
            PortEnd::Socket { socket, .. } => socket.as_fd(),
            PortEnd::Tun { file, .. } => file.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt::segment::Segment;
    use netspurt::wire::{Packet, encode};

    const TUN: Wiring = Wiring { wire: Wire::Tun, offload: false };

    fn packet(six: bool) -> Vec<u8> {
        let ends = if six { ["[::1]:1", "[::2]:2"] } else { ["10.0.0.1:1", "10.0.0.2:2"] };
        let [source, destination] = ends.map(|end| end.parse().unwrap());
        let segment = Segment { len: 3000, ..Segment::default() };
        let mut octets = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut octets);
        octets
    }

    #[test]
    fn the_prefix_of_a_packet_depends_on_the_wire() {
        let shape = Shape { segment_bytes: 1000, partial: true, foreign: false };
        for (wire, offload, octets) in [
            (Wire::Tun, false, 0),
            (Wire::Veth, false, 0),
            (Wire::Tun, true, 10),
            (Wire::Veth, true, 24),
        ] {
            let (port, _far) = PacketPort::paired(Wiring { wire, offload }, 1500, "");
            assert_eq!(port.prefix_bytes(), octets, "{wire:?}");
            for (six, kind, headers) in [(false, [8, 0], 40), (true, [0x86, 0xdd], 60)] {
                let packet = packet(six);
                let mut prefix = [0; PREFIX_BYTES_MAX];
                assert_eq!(port.write_prefix(shape, &packet[..headers], &mut prefix), octets);
                let received = [&prefix[..octets], &packet].concat();
                let expected = if offload { shape } else { Shape::WHOLE };
                assert_eq!(port.shape(&received), (expected, octets));
                if octets == 24 {
                    assert_eq!(prefix[10..16], sys::HOST_STATION);
                    assert_ne!(prefix[16..22], sys::HOST_STATION);
                    assert_eq!(prefix[22..24], kind, "IPv6: {six}");
                }
            }
        }
    }

    #[test]
    fn a_packet_shorter_than_its_prefix_has_no_contents() {
        let (port, _far) = PacketPort::paired(Wiring { offload: true, ..TUN }, 1500, "");
        for length in 0..10 {
            assert_eq!(port.shape(&vec![1; length]), (Shape::WHOLE, length));
        }
    }

    #[test]
    fn a_buffer_has_room_for_the_largest_packet_of_a_device() {
        for (mtu, offload, room_min) in
            [(576, false, 576), (9000, false, 9000), (576, true, 65_535)]
        {
            let (port, _far) = PacketPort::paired(Wiring { offload, ..TUN }, mtu, "");
            assert!(port.room_bytes() >= room_min + port.prefix_bytes(), "{mtu}");
        }
    }

    #[test]
    fn the_drops_of_a_full_device_are_read_from_the_table_of_devices() {
        const HEAD: &str = "Inter-|   Receive      |  Transmit\n face |bytes    packets\n";
        for (row, missed) in [
            ("  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", Some(12)),
            ("    lo: 1 2 3 4 5 6 7 8 9 10 11 7 13\n  eth0: 0 0 0 0 0 0 0 0 0 0 0 0\n", Some(0)),
            ("eth0:1 2 3 4 5 6 7 8 9 10 11 4294967295\n", Some(u32::MAX)),
            ("  eth1: 1 2 3 4 5 6 7 8 9 10 11 12\n", None),
            ("  eth0: 1 2 3 4 5 6 7 8 9 10 11\n", None),
            ("  eth0: 1 2 3 4 5 6 7 8 9 10 11 many\n", None),
            ("", None),
        ] {
            let (port, _far) = PacketPort::paired(TUN, 1500, &format!("{HEAD}{row}"));
            assert_eq!(port.missed().ok(), missed, "{row}");
        }
    }

    #[test]
    fn a_port_sends_and_receives_whole_packets() {
        let (port, far) = PacketPort::paired(TUN, 5000, "");
        port.stamp().unwrap();
        let mut batch = Batch::new(port.room_bytes());
        assert!(!port.receive(&mut batch).unwrap() && batch.is_empty());
        for six in [false, true] {
            far.send(&packet(six)).unwrap();
        }
        assert!(!port.receive(&mut batch).unwrap(), "no more packets may wait");
        let got: Vec<_> = batch.received().map(|got| (got.unix_ns, got.bytes.to_vec())).collect();
        assert_eq!(
            got,
            [(None, packet(false)), (None, packet(true))],
            "packets of a TUN device have no timestamps"
        );
        let whole = packet(false);
        let (head, body) = whole.split_at(40);
        let packets = [
            OutgoingPacket { prefix: &[], head: &whole, body: &[] },
            OutgoingPacket { prefix: &[9; 10], head, body },
        ];
        assert_eq!(port.send(&mut Outbox::default(), &packets).unwrap(), 2);
        let mut room = vec![0; 5000];
        let mut next = || {
            let length = far.recv(&mut room).unwrap();
            room[..length].to_vec()
        };
        assert_eq!(next(), whole);
        assert_eq!(next(), [&[9; 10][..], &whole].concat());
        drop(far);
        assert!(port.send(&mut Outbox::default(), &packets).is_err(), "the other end is closed");
    }
}
