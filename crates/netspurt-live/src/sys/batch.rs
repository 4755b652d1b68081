//! Receives many packets in one call (`recvmmsg`), into buffers that are prepared once and reused.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Packets in a batch.
pub const BATCH: usize = 64;

/// Octets of what the kernel says beside a packet: a time stamp, with its header.
const BESIDE: usize = 64;

/// One packet's place beside its octets, aligned as `cmsghdr` must be.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct BatchControl([u8; BESIDE]);

/// Room for the packets of one call.
pub struct Batch {
    rooms: Vec<Vec<u8>>,
    beside: Vec<BatchControl>,
    /// Lead to `rooms` and `beside`, which stay where they are on the heap.
    places: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    /// Octets and stamp of each packet received.
    got: Vec<(usize, Option<u64>)>,
}

/// A packet that was received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The kernel's stamp, in nanoseconds since 1970, where it set one.
    pub unix_ns: Option<u64>,
    /// What came, cut off where the room ended.
    pub bytes: &'a [u8],
}

impl Batch {
    /// A batch of packets of `room_bytes` octets at most.
    pub fn new(room_bytes: usize) -> Self {
        let mut rooms = vec![vec![0; room_bytes]; BATCH];
        let mut beside = vec![BatchControl([0; BESIDE]); BATCH];
        let place = |room: &mut Vec<u8>| libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        let mut places: Vec<libc::iovec> = rooms.iter_mut().map(place).collect();
        let message = |(place, beside): (&mut libc::iovec, &mut BatchControl)| {
            // SAFETY: zeros are a valid `mmsghdr`.
            let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
            message.msg_hdr.msg_iov = place;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = beside.0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = BESIDE as _;
            message
        };
        let messages = places.iter_mut().zip(&mut beside).map(message).collect();
        Self { rooms, beside, places, messages, got: Vec::with_capacity(BATCH) }
    }

    /// Takes what waits at a socket, without waiting for more; whether the batch was filled, so
    /// that more may wait.
    ///
    /// # Errors
    /// When the kernel refuses; that nothing waits is no error.
    pub fn receive(&mut self, fd: BorrowedFd<'_>) -> io::Result<bool> {
        // The kernel wrote how much of it there was.
        for (message, beside) in self.messages.iter_mut().zip(&mut self.beside) {
            message.msg_hdr.msg_control = beside.0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = BESIDE as _;
        }
        self.got.clear();
        // SAFETY: every pointer in `messages` leads to memory of the stated size that `self` owns
        // and that nothing else touches during the call; neither the vectors nor the rooms have
        // been resized since the pointers were taken, but by `exchange`, which takes them anew.
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

    /// Takes what waits at a device that gives one packet a call; whether the batch was filled.
    ///
    /// # Errors
    /// When the kernel refuses; that nothing waits is no error.
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

    /// Octets of a packet at most.
    pub fn room_bytes(&self) -> usize {
        self.rooms[0].len()
    }

    /// How many packets the last call took.
    pub fn len(&self) -> usize {
        self.got.len()
    }

    /// Whether it took none.
    pub fn is_empty(&self) -> bool {
        self.got.is_empty()
    }

    /// One of them.
    ///
    /// # Panics
    /// When there were not so many.
    pub fn packet(&self, index: usize) -> Received<'_> {
        let (length, unix_ns) = self.got[index];
        Received { unix_ns, bytes: &self.rooms[index][..length] }
    }

    /// All that the last call took.
    pub fn received(&self) -> impl Iterator<Item = Received<'_>> {
        (0..self.len()).map(|index| self.packet(index))
    }

    /// Exchanges the room of a packet, with all that is in it, for another of the same size.
    ///
    /// # Panics
    /// When it is of another size.
    pub fn exchange(&mut self, index: usize, room: &mut Vec<u8>) {
        assert_eq!(room.len(), self.rooms[index].len(), "all rooms are of one size");
        mem::swap(&mut self.rooms[index], room);
        self.places[index].iov_base = self.rooms[index].as_mut_ptr().cast();
    }
}

/// That nothing waits is no error.
fn nothing(error: io::Error) -> io::Result<bool> {
    if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) }
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
