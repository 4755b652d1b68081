//! Receives many packets into buffers that are prepared once and reused. At a socket, this takes
//! one system call (`recvmmsg`).

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// The maximum number of packets in a batch.
pub const BATCH: usize = 64;

/// The number of octets for the control message of a packet: a timestamp with its header.
const CONTROL_BYTES: usize = 64;

/// The memory for one packet's control messages, aligned as `cmsghdr` must be.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct BatchControl([u8; CONTROL_BYTES]);

/// The buffers for the packets of one call.
pub struct Batch {
    rooms: Vec<Vec<u8>>,
    controls: Vec<BatchControl>,
    /// `places` points into `rooms`, and `messages` points into `places` and `controls`. None of
    /// this memory moves.
    places: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    /// The length and the timestamp of each received packet.
    got: Vec<(usize, Option<u64>)>,
}

/// A packet that was received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The kernel's timestamp, in nanoseconds since 1970, if there is one.
    pub unix_ns: Option<u64>,
    /// The packet's octets, cut to the size of the buffer.
    pub bytes: &'a [u8],
}

impl Batch {
    /// Creates a batch for packets of at most `room_bytes` octets.
    pub fn new(room_bytes: usize) -> Self {
        let mut rooms = vec![vec![0; room_bytes]; BATCH];
        let mut controls = vec![BatchControl([0; CONTROL_BYTES]); BATCH];
        let place = |room: &mut Vec<u8>| libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        let mut places: Vec<libc::iovec> = rooms.iter_mut().map(place).collect();
        let message = |(place, control): (&mut libc::iovec, &mut BatchControl)| {
            // SAFETY: zeros are a valid `mmsghdr`.
            let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
            message.msg_hdr.msg_iov = place;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
            message
        };
        let messages = places.iter_mut().zip(&mut controls).map(message).collect();
        Self { rooms, controls, places, messages, got: Vec::with_capacity(BATCH) }
    }

    /// Receives the packets that wait at a socket, and does not wait for more. Returns whether the
    /// batch is full. If so, more packets may wait.
    ///
    /// # Errors
    /// When the kernel refuses. If no packet waits, this is not an error.
    pub fn receive(&mut self, fd: BorrowedFd<'_>) -> io::Result<bool> {
        // The last call overwrote the lengths of the control messages.
        for (message, control) in self.messages.iter_mut().zip(&mut self.controls) {
            message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        self.got.clear();
        // SAFETY: every pointer in `messages` leads to memory of the stated size. `self` owns this
        // memory, and nothing else uses it during the call. The vectors and the rooms have not been
        // resized since the pointers were taken. Only `exchange` replaces a room, and it takes the
        // pointers again.
        let count = unsafe {
            let (fd, flags) = (fd.as_raw_fd(), libc::MSG_DONTWAIT);
            libc::recvmmsg(fd, self.messages.as_mut_ptr(), BATCH as u32, flags, ptr::null_mut())
        };
        let Ok(count) = usize::try_from(count) else {
            return nothing(io::Error::last_os_error());
        };
        for message in &self.messages[..count] {
            let length = (message.msg_len as usize).min(self.rooms[0].len());
            self.got.push((length, stamp(&message.msg_hdr)));
        }
        Ok(count == BATCH)
    }

    /// Reads the packets that wait at a device that returns one packet per call. Returns whether
    /// the batch is full.
    ///
    /// # Errors
    /// When the kernel refuses. If no packet waits, this is not an error.
    pub fn read(&mut self, fd: BorrowedFd<'_>) -> io::Result<bool> {
        self.got.clear();
        for room in &mut self.rooms {
            match rustix::io::read(fd, &mut room[..]) {
                Ok(length) => self.got.push((length, None)),
                Err(error) => return nothing(error.into()),
            }
        }
        Ok(true)
    }

    /// The maximum number of octets of a packet.
    pub fn room_bytes(&self) -> usize {
        self.rooms[0].len()
    }

    /// The number of packets that the last call received.
    pub fn len(&self) -> usize {
        self.got.len()
    }

    /// Whether the last call received no packet.
    pub fn is_empty(&self) -> bool {
        self.got.is_empty()
    }

    /// Returns packet `index` of the packets that the last call received.
    ///
    /// # Panics
    /// When the last call received fewer packets.
    pub fn packet(&self, index: usize) -> Received<'_> {
        let (length, unix_ns) = self.got[index];
        Received { unix_ns, bytes: &self.rooms[index][..length] }
    }

    /// Returns all packets that the last call received.
    pub fn received(&self) -> impl Iterator<Item = Received<'_>> {
        (0..self.len()).map(|index| self.packet(index))
    }

    /// Exchanges the buffer of a packet, with its contents, for another buffer of the same size.
    ///
    /// # Panics
    /// When the other buffer has another size.
    pub fn exchange(&mut self, index: usize, room: &mut Vec<u8>) {
        assert_eq!(room.len(), self.rooms[index].len(), "all buffers have the same size");
        mem::swap(&mut self.rooms[index], room);
        self.places[index].iov_base = self.rooms[index].as_mut_ptr().cast();
    }
}

/// Returns `false` if the error only says that nothing waits.
fn nothing(error: io::Error) -> io::Result<bool> {
    if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) }
}

/// The timestamp of a packet (`SO_TIMESTAMPNS`).
fn stamp(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel wrote `msg_controllen` octets of messages at `msg_control`. The macros
    // stay within these octets. The timestamp is read unaligned.
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
