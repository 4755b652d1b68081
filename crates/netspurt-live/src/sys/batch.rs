//! Many packets in one call (`recvmmsg`, `sendmmsg`).

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::device_address;

/// Packets in a batch.
const BATCH: usize = 64;

/// Octets of a packet: the longest there is.
const ROOM: usize = 1 << 16;

/// Octets of what the kernel says beside a packet: a time stamp, with its header.
const BESIDE: usize = 64;

/// One packet's place beside its octets, aligned as `cmsghdr` must be.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Beside([u8; BESIDE]);

/// Room for the packets of one call.
pub struct Batch {
    rooms: Vec<u8>,
    beside: Vec<Beside>,
    /// Octets and stamp of each packet received.
    got: Vec<(usize, Option<u64>)>,
}

/// A packet that was received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The kernel's stamp, in nanoseconds since 1970, where it set one.
    pub unix_ns: Option<u64>,
    /// The packet, from its IP header on.
    pub bytes: &'a [u8],
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            rooms: vec![0; BATCH * ROOM],
            beside: vec![Beside([0; BESIDE]); BATCH],
            got: Vec::with_capacity(BATCH),
        }
    }
}

impl Batch {
    /// Takes what waits at a socket, without waiting for more; whether the batch was filled, so
    /// that more may wait.
    ///
    /// # Errors
    /// When the kernel refuses; that nothing waits is no error.
    pub fn receive(&mut self, fd: BorrowedFd<'_>) -> io::Result<bool> {
        self.got.clear();
        let (mut places, mut messages) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        for room in self.rooms.chunks_exact_mut(ROOM) {
            places.push(libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: ROOM });
        }
        for (place, beside) in places.iter_mut().zip(&mut self.beside) {
            // SAFETY: zeros are a valid `mmsghdr`.
            let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
            message.msg_hdr.msg_iov = place;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = beside.0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = BESIDE as _;
            messages.push(message);
        }
        // SAFETY: every pointer in `messages` leads to memory of the stated size that `self` or
        // `places` own, and that nothing else touches during the call.
        let count = unsafe {
            let (fd, flags) = (fd.as_raw_fd(), libc::MSG_DONTWAIT);
            libc::recvmmsg(fd, messages.as_mut_ptr(), BATCH as u32, flags, ptr::null_mut())
        };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) };
        };
        for message in &messages[..count] {
            let length = (message.msg_len as usize).min(ROOM);
            self.got.push((length, stamp(&message.msg_hdr)));
        }
        Ok(count == BATCH)
    }

    /// What the last call received, in order.
    pub fn received(&self) -> impl Iterator<Item = Received<'_>> {
        let rooms = self.rooms.chunks_exact(ROOM);
        rooms.zip(&self.got).map(|(room, (length, unix_ns))| Received {
            unix_ns: *unix_ns,
            bytes: &room[..*length],
        })
    }
}

/// The time stamp beside a packet (`SO_TIMESTAMPNS`).
fn stamp(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel wrote `msg_controllen` octets of messages at `msg_control`, which the
    // macros walk; the stamp is read without regard to its alignment.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(header);
        while !at.is_null() {
            if (*at).cmsg_level == libc::SOL_SOCKET && (*at).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time: libc::timespec = ptr::read_unaligned(libc::CMSG_DATA(at).cast());
                let seconds = u64::try_from(time.tv_sec).ok()?;
                return Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?);
            }
            at = libc::CMSG_NXTHDR(header, at);
        }
    }
    None
}

/// Sends packets out of the device numbered `device`, all or as many as the kernel takes; how
/// many it took.
///
/// # Errors
/// When it takes none.
pub fn send_batch(fd: BorrowedFd<'_>, device: u32, packets: &[&[u8]]) -> io::Result<usize> {
    let packets = &packets[..packets.len().min(BATCH)];
    let addresses: Vec<libc::sockaddr_ll> = packets
        .iter()
        .map(|packet| {
            let six = packet.first().is_some_and(|octet| octet >> 4 == 6);
            let protocol = if six { libc::ETH_P_IPV6 } else { libc::ETH_P_IP };
            device_address(device, protocol as u16)
        })
        .collect();
    let mut places: Vec<libc::iovec> = packets
        .iter()
        .map(|packet| libc::iovec {
            iov_base: packet.as_ptr().cast_mut().cast(),
            iov_len: packet.len(),
        })
        .collect();
    let mut messages = Vec::with_capacity(packets.len());
    for (place, address) in places.iter_mut().zip(&addresses) {
        // SAFETY: zeros are a valid `mmsghdr`.
        let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
        message.msg_hdr.msg_name = ptr::from_ref(address).cast_mut().cast();
        message.msg_hdr.msg_namelen = mem::size_of_val(address) as u32;
        message.msg_hdr.msg_iov = place;
        message.msg_hdr.msg_iovlen = 1;
        messages.push(message);
    }
    // SAFETY: every pointer in `messages` leads to memory of the stated size that outlives the
    // call, and sending only reads it.
    let count = unsafe {
        let length = messages.len() as u32;
        libc::sendmmsg(fd.as_raw_fd(), messages.as_mut_ptr(), length, libc::MSG_DONTWAIT)
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}
