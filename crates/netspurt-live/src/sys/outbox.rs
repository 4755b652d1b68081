//! Sends many packets. At a socket, this takes one system call (`sendmmsg`). Each packet may
//! consist of several pieces of memory.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::batch::BATCH;
use super::device_address;

/// A packet to be sent.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingPacket<'a> {
    /// The octets that the device needs before a packet; often there are none.
    pub prefix: &'a [u8],
    /// The packet, or its headers.
    pub head: &'a [u8],
    /// The octets that follow the headers.
    pub body: &'a [u8],
}

/// The number of pieces of a packet.
const PIECES: usize = 3;

/// The memory that describes the packets of one call to the kernel.
pub struct Outbox {
    /// The link addresses to which packets of IPv4 and of IPv6 go.
    link_addresses: [libc::sockaddr_ll; 2],
    places: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

impl Default for Outbox {
    fn default() -> Self {
        let link_addresses = [libc::ETH_P_IP, libc::ETH_P_IPV6].map(|protocol| {
            let protocol = u16::try_from(protocol).expect("protocols of Ethernet have 16 bits");
            device_address(0, protocol)
        });
        let messages = Vec::with_capacity(BATCH);
        Self { link_addresses, places: Vec::with_capacity(PIECES * BATCH), messages }
    }
}

impl Outbox {
    /// Sends at most 64 packets through the device numbered `device`. Returns how many the kernel
    /// accepted.
    ///
    /// # Errors
    /// When the kernel accepts no packet.
    pub fn send(
        &mut self,
        fd: BorrowedFd<'_>,
        device: u32,
        packets: &[OutgoingPacket<'_>],
    ) -> io::Result<usize> {
        self.link_addresses.iter_mut().for_each(|to| to.sll_ifindex = device.cast_signed());
        self.places.clear();
        self.messages.clear();
        let packets = &packets[..packets.len().min(BATCH)];
        self.places.extend(packets.iter().flat_map(pieces));
        for (packet, places) in packets.iter().zip(self.places.chunks_exact_mut(PIECES)) {
            let six = packet.head.first().is_some_and(|octet| octet >> 4 == 6);
            let to = &raw const self.link_addresses[usize::from(six)];
            // SAFETY: zeros are a valid `mmsghdr`.
            let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
            message.msg_hdr.msg_name = to.cast_mut().cast();
            message.msg_hdr.msg_namelen = mem::size_of_val(&self.link_addresses[0]) as u32;
            // The kernel is fastest if a packet is in one piece. So a packet without a body has no
            // empty pieces.
            let (first, count) = match (packet.prefix.is_empty(), packet.body.is_empty()) {
                (true, true) => (1, 1),
                (false, true) => (0, 2),
                _ => (0, PIECES),
            };
            message.msg_hdr.msg_iov = places[first..].as_mut_ptr();
            message.msg_hdr.msg_iovlen = count as _;
            self.messages.push(message);
        }
        // SAFETY: every pointer in `messages` leads to memory of the stated size that outlives the
        // call. The pieces outlive the call because `packets` borrows them. `sendmmsg` only reads
        // the pieces.
        let count = unsafe {
            let (messages, length) = (self.messages.as_mut_ptr(), self.messages.len() as u32);
            libc::sendmmsg(fd.as_raw_fd(), messages, length, libc::MSG_DONTWAIT)
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Writes packets to a device that accepts one packet per call. Returns how many packets the
    /// device accepted.
    ///
    /// # Errors
    /// When the kernel accepts no packet.
    pub fn write(
        &mut self,
        fd: BorrowedFd<'_>,
        packets: &[OutgoingPacket<'_>],
    ) -> io::Result<usize> {
        for (done, packet) in packets.iter().enumerate() {
            if packet.prefix.is_empty() && packet.body.is_empty() {
                match rustix::io::write(fd, packet.head) {
                    Ok(_) => continue,
                    Err(error) => return if done > 0 { Ok(done) } else { Err(error.into()) },
                }
            }
            let places = pieces(packet);
            // SAFETY: the places point to memory that `packets` borrows. The call only reads this
            // memory.
            let count =
                unsafe { libc::writev(fd.as_raw_fd(), places.as_ptr(), PIECES as libc::c_int) };
            if count < 0 {
                return if done > 0 { Ok(done) } else { Err(io::Error::last_os_error()) };
            }
        }
        Ok(packets.len())
    }
}

/// The places of a packet's pieces in memory.
fn pieces(packet: &OutgoingPacket<'_>) -> [libc::iovec; PIECES] {
    [packet.prefix, packet.head, packet.body].map(|piece| {
        let base = if piece.is_empty() { ptr::null() } else { piece.as_ptr() };
        libc::iovec { iov_base: base.cast_mut().cast(), iov_len: piece.len() }
    })
}
