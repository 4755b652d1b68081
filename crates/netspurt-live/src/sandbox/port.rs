//! The end of a host's wire that is here: packets in and out.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::sys::{self, Batch};

/// A socket of packets, bound to a device.
#[derive(Debug)]
pub struct Port {
    socket: OwnedFd,
    device: u32,
}

/// Octets that may wait at a port.
const ROOM: i32 = 16 << 20;

impl Port {
    /// Opens one on the device numbered `device`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn open(device: u32) -> io::Result<Self> {
        const IGNORE_OUTGOING: i32 = 23;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::PACKET, SocketType::DGRAM, flags, None)?;
        let set = |level, name, value| sys::set_option(socket.as_fd(), level, name, value);
        set(libc::SOL_PACKET, IGNORE_OUTGOING, 1)?;
        set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        for (forced, asked) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            set(libc::SOL_SOCKET, forced, ROOM).or_else(|_| set(libc::SOL_SOCKET, asked, ROOM))?;
        }
        sys::bind_packets(socket.as_fd(), device)?;
        Ok(Self { socket, device })
    }

    /// Takes what waits into `batch`; whether more may wait.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn receive(&self, batch: &mut Batch) -> io::Result<bool> {
        batch.receive(self.socket.as_fd())
    }

    /// Sends packets; how many the kernel took.
    ///
    /// # Errors
    /// When it took none.
    pub fn send(&self, packets: &[&[u8]]) -> io::Result<usize> {
        sys::send_batch(self.socket.as_fd(), self.device, packets)
    }

    /// Packets that found no room here since this was last asked.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn missed(&self) -> io::Result<u32> {
        // `struct tpacket_stats`: packets, drops.
        let mut counts = [0; 8];
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        sys::read_option(self.socket.as_fd(), level, name, &mut counts)?;
        let [.., a, b, c, d] = counts;
        Ok(u32::from_ne_bytes([a, b, c, d]))
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
