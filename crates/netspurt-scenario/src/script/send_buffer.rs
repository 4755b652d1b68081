//! The send buffer of a socket, counted as Linux counts it.
//!
//! Linux keeps written data in chunks (`sk_buff`). A chunk accepts data until it has a maximum
//! number of bytes, its goal. The send buffer counts its data and the bookkeeping of its chunks and
//! packets. When this sum reaches the size of the buffer, the buffer is full. Until then, the
//! buffer accepts whole new chunks, so it can hold more bytes than its size. The rules come from
//! Linux's functions `tcp_sendmsg_locked`, `sk_stream_is_writeable` and `tcp_sndbuf_expand`.
//! Offsets count written bytes from 0.

use std::collections::VecDeque;

/// The bytes of bookkeeping for each chunk that has unsent data, and for each outstanding packet.
/// In Linux, each such chunk and each such packet is an `sk_buff`.
const CHUNK_BYTES: u64 = 832;
/// The maximum payload of a chunk: 64 KiB less the room for headers (`sk_gso_max_size`).
const GOAL_MAX: u64 = 65_536 - 1 - 320;
/// If the largest window that the peer has advertised is above this number of bytes, half of that
/// window limits the goal of a chunk. Otherwise, the whole window limits the goal
/// (`TCP_MSS_DEFAULT`).
const DEFAULT_MSS: u64 = 536;
/// Linux's `TCP_INIT_CWND`.
const INITIAL_WINDOW_SEGS: u64 = 10;
/// The minimum size that `SO_SNDBUF` sets (`SOCK_MIN_SNDBUF`).
const SIZE_MIN: u64 = 4608;
/// The largest size that `SO_SNDBUF` sets. In Linux, the largest size is twice the sysctl
/// `wmem_max`, and usually smaller than this constant.
const SIZE_MAX: u64 = 1 << 25;

/// The state of the connection on which the decisions of the send buffer depend.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendProgress {
    /// The number of acknowledged bytes.
    pub(super) acked: u64,
    /// The number of written bytes.
    pub(super) written: u64,
    /// The number of bytes that were sent at least once.
    pub(super) sent: u64,
    /// The payload of a full segment.
    pub(super) smss: u64,
    /// The largest window that the peer ever offered.
    pub(super) peer_window_max: u64,
    /// cwnd in segments, rounded down.
    pub(super) cwnd_segs: u64,
    /// The pipe in segments, rounded up.
    pub(super) flight_segs: u64,
    /// The number of outstanding packets. The sent part of a chunk is one packet or several
    /// packets.
    pub(super) packets: u64,
}

/// A chunk of the written data: the bytes from the offset `start` up to the offset `end`.
#[derive(Clone, Copy, Debug)]
struct SendChunk {
    start: u64,
    end: u64,
    /// Whether the chunk accepts no more data, because of `MSG_EOR` or because it has its maximum
    /// number of fragments.
    closed: bool,
    /// Whether the end of the chunk has PSH. If more data of the same call joins the chunk, PSH
    /// moves to the new end. If data of another call joins the chunk, PSH is removed.
    pushed: bool,
}

/// What happened when the buffer accepted one part of a call's data.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartTaken {
    /// Whether the part started a chunk.
    pub(super) starts: bool,
    /// Whether the end of the part has PSH.
    pub(super) pushed: bool,
    /// Whether the end of the part just got PSH because of Linux's rule `forced_push`. The rule
    /// applies if the part fills its chunk, and more than half of the peer's largest window was
    /// written since the last push.
    pub(super) forced: bool,
    /// Whether the part fills the chunk from which the next data is sent.
    pub(super) fills_head: bool,
}

/// The send buffer of a socket.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    size: u64,
    /// The maximum size to which the buffer may grow; `None` if `SO_SNDBUF` has fixed its size.
    grows_to: Option<u64>,
    /// If at least this number of bytes are unsent, the buffer accepts no further chunk.
    unsent_max: u64,
    chunks: VecDeque<SendChunk>,
    /// The offset after all written data.
    end: u64,
    /// The offset after the data that was pushed last.
    pushed: u64,
    /// Whether a call waits for room (`SOCK_NOSPACE`).
    pub(super) is_awaited: bool,
}

impl SendBuffer {
    /// A buffer of `size` bytes that may grow, at most to `size_max`.
    pub(super) fn new(size: u64, size_max: u64) -> Self {
        Self {
            size,
            grows_to: Some(size_max),
            unsent_max: u64::MAX,
            chunks: VecDeque::new(),
            end: 0,
            pushed: 0,
            is_awaited: false,
        }
    }

    /// Sets `SO_SNDBUF`: the size becomes twice `bytes`, but at least [`SIZE_MIN`] and at most
    /// [`SIZE_MAX`]. The buffer no longer grows.
    pub(super) fn fix(&mut self, bytes: u64) {
        self.size = (2 * bytes).clamp(SIZE_MIN, SIZE_MAX);
        self.grows_to = None;
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Sets `TCP_NOTSENT_LOWAT`.
    pub(super) fn set_unsent_max(&mut self, bytes: u64) {
        self.unsent_max = bytes;
    }

    /// Returns the bytes that the buffer holds, with bookkeeping (`sk_wmem_queued`).
    pub(super) fn queued(&self, now: &SendProgress) -> u64 {
        let sent_chunks = self.chunks.partition_point(|chunk| chunk.end <= now.sent);
        let waiting = u64::try_from(self.chunks.len() - sent_chunks).unwrap_or(u64::MAX);
        self.end - now.acked.min(self.end) + (now.packets + waiting).saturating_mul(CHUNK_BYTES)
    }

    /// A call wants to write `wanted` bytes. Returns how many of these bytes the buffer accepts as
    /// the next part of the call. A part that joins the last chunk is accepted even if the buffer
    /// is full. A part that starts a new chunk is accepted only if the buffer is not full. If no
    /// part is accepted, the result is 0. The caller must [`take`](Self::take) each part before it
    /// asks for the next part.
    pub(super) fn next_part(&self, wanted: u64, now: &SendProgress) -> u64 {
        let goal = goal(now);
        match self.tail_filled(now) {
            Some(filled) => wanted.min(goal - filled),
            None if self.has_room(now) => wanted.min(goal),
            None => 0,
        }
    }

    /// Returns the number of unsent bytes in the last chunk; `None` if this chunk accepts no more
    /// data.
    pub(super) fn tail_filled(&self, now: &SendProgress) -> Option<u64> {
        let tail = self.chunks.back().filter(|tail| !tail.closed && tail.end > now.sent)?;
        Some(tail.end - tail.start.max(now.sent)).filter(|filled| *filled < goal(now))
    }

    /// Accepts a part of a call. `first` says whether this part is the first part of the call. The
    /// part joins the last chunk if that chunk accepts more data.
    pub(super) fn take(&mut self, part: u64, first: bool, now: &SendProgress) -> PartTaken {
        let goal = goal(now);
        let start = self.end;
        self.end += part;
        self.forget(now.acked);
        let starts = self.tail_filled(now).is_none();
        match self.chunks.back_mut().filter(|_| !starts) {
            Some(tail) => (tail.end, tail.pushed) = (self.end, tail.pushed && !first),
            None => {
                let (end, closed, pushed) = (self.end, false, false);
                self.chunks.push_back(SendChunk { start, end, closed, pushed });
            }
        }
        let tail = self.chunks.back();
        let full = tail.is_some_and(|tail| tail.end - tail.start.max(now.sent) >= goal);
        let forced = full && self.end > self.pushed + now.peer_window_max / 2;
        let fills_head = full && tail.is_some_and(|tail| tail.start <= now.sent);
        if forced {
            self.push();
        }
        let pushed = self.chunks.back().is_some_and(|tail| tail.pushed);
        PartTaken { starts, pushed, forced, fills_head }
    }

    /// Removes the chunks that are acknowledged.
    fn forget(&mut self, acked: u64) {
        let gone = self.chunks.partition_point(|chunk| chunk.end <= acked);
        self.chunks.drain(..gone);
    }

    /// Sets PSH at the end of the data written so far (`tcp_mark_push`).
    pub(super) fn push(&mut self) {
        self.pushed = self.end;
        if let Some(tail) = self.chunks.back_mut() {
            tail.pushed = true;
        }
    }

    /// Closes the last chunk: it accepts no more data.
    pub(super) fn close_chunk(&mut self) {
        if let Some(tail) = self.chunks.back_mut() {
            tail.closed = true;
        }
    }

    /// True if the buffer accepts another chunk (`sk_stream_memory_free`).
    fn has_room(&self, now: &SendProgress) -> bool {
        self.queued(now) < self.size && self.end - now.sent.min(self.end) < self.unsent_max
    }

    /// Whether the buffer reports that it is writable. Two conditions must hold: at least a third
    /// of the buffer is free, and the unsent bytes are fewer than half of their maximum
    /// (`__sk_stream_is_writeable`).
    pub(super) fn is_writable(&self, now: &SendProgress) -> bool {
        let queued = self.queued(now);
        let unsent = self.end - now.sent.min(self.end);
        let free = self.size.saturating_sub(queued);
        queued <= self.size
            && free >= queued / 2
            && queued < self.size
            && unsent.saturating_mul(2) < self.unsent_max
    }

    /// Called when a segment arrived. Returns whether a call that waits for room is woken
    /// (`tcp_check_space`).
    pub(super) fn check_space(&mut self, now: &SendProgress) -> bool {
        self.forget(now.acked);
        if !self.is_awaited {
            return false;
        }
        if let Some(most) = self.grows_to
            && now.flight_segs < now.cwnd_segs
        {
            self.size = self.size.max(wanted_size(now).min(most));
        }
        let writable = self.is_writable(now);
        self.is_awaited = !writable;
        writable
    }

    /// Called when the handshake is over. Unless `SO_SNDBUF` has fixed the size, the buffer grows
    /// to its [`wanted_size`], but not beyond its maximum (`tcp_init_buffer_space`).
    pub(super) fn open(&mut self, now: &SendProgress) {
        if let Some(most) = self.grows_to {
            self.size = self.size.max(wanted_size(now).min(most));
        }
    }
}

/// Returns the goal of a chunk in bytes. The goal is a number of whole segments, and at least one
/// segment. These segments must fit into [`GOAL_MAX`] and into half of the peer's largest window. A
/// largest window of at most 536 bytes is not halved. A largest window of 0 sets no limit
/// (`tcp_bound_to_half_wnd`).
fn goal(now: &SendProgress) -> u64 {
    let half = match now.peer_window_max {
        0 => GOAL_MAX,
        window @ ..=DEFAULT_MSS => window.max(48),
        window => window / 2,
    };
    let smss = now.smss.max(1);
    (GOAL_MAX.min(half) / smss).max(1) * smss
}

/// Returns the size that has room for twice cwnd, with each segment in a chunk of its own. A cwnd
/// of fewer than 10 segments counts as 10 segments (`tcp_sndbuf_expand`).
fn wanted_size(now: &SendProgress) -> u64 {
    let segment = (now.smss + 320 + 320).next_power_of_two() + 256;
    2 * now.cwnd_segs.max(INITIAL_WINDOW_SEGS) * segment
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes this number of bytes, `wanted`, while the connection sends nothing. Returns the
    /// number of bytes that the buffer accepted.
    fn write(buffer: &mut SendBuffer, mut wanted: u64, now: &SendProgress) -> u64 {
        let mut taken = 0;
        loop {
            match buffer.next_part(wanted, now) {
                0 => return taken,
                part => {
                    buffer.take(part, true, now);
                    (wanted, taken) = (wanted - part, taken + part);
                }
            }
        }
    }

    /// A connection with segments of 1000 bytes, before it has sent anything.
    fn at_start() -> SendProgress {
        SendProgress {
            smss: 1000,
            peer_window_max: 32_896,
            cwnd_segs: 10,
            ..SendProgress::default()
        }
    }

    #[test]
    fn a_buffer_takes_another_chunk_if_it_holds_less_than_its_size() {
        // Three chunks need 48 000 bytes for data and 2496 bytes for bookkeeping.
        let mut buffer = SendBuffer::new(50_497, 50_497);
        assert_eq!(write(&mut buffer, 59_000, &at_start()), 59_000);
        let mut small = SendBuffer::new(50_496, 50_496);
        assert_eq!(write(&mut small, 90_000, &at_start()), 48_000);
        assert_eq!(small.queued(&at_start()), 50_496);
        assert!(!small.is_writable(&at_start()));
        let sent = SendProgress { acked: 17_000, sent: 48_000, packets: 16, ..at_start() };
        assert_eq!(small.queued(&sent), 31_000 + 16 * CHUNK_BYTES);
        assert!(!small.is_writable(&sent));
        assert!(small.is_writable(&SendProgress { packets: 1, ..sent }));
    }

    #[test]
    fn a_buffer_is_writable_if_at_least_a_third_of_it_is_free() {
        let mut buffer = SendBuffer::new(50_496, 50_496);
        write(&mut buffer, 90_000, &at_start());
        // One packet is left in the buffer, so 832 bytes of bookkeeping are added to the bytes that
        // are not acknowledged. A third of the size is 16,832.
        let free_after = |acked| {
            let now = SendProgress { acked, sent: 48_000, packets: 1, ..at_start() };
            (buffer.size() - buffer.queued(&now), buffer.is_writable(&now))
        };
        assert_eq!(free_after(15_167), (16_831, false));
        assert_eq!(free_after(15_168), (16_832, true));
    }

    #[test]
    fn a_chunk_starts_only_while_the_unsent_bytes_are_below_the_limit() {
        let mut buffer = SendBuffer::new(200_000, 200_000);
        buffer.set_unsent_max(4000);
        assert_eq!(write(&mut buffer, 59_000, &at_start()), 16_000);
        let sent = SendProgress { sent: 14_000, ..at_start() };
        assert!(!buffer.is_writable(&sent));
        assert!(buffer.is_writable(&SendProgress { sent: 14_001, ..sent }));
    }

    #[test]
    fn the_option_so_sndbuf_fixes_the_size_at_twice_its_value_but_at_least_4608_bytes() {
        let mut buffer = SendBuffer::new(16_384, 4 << 20);
        buffer.open(&at_start());
        assert_eq!(buffer.size(), 2 * 10 * (2048 + 256));
        buffer.fix(21_000);
        buffer.open(&SendProgress { cwnd_segs: 100, ..at_start() });
        assert_eq!(buffer.size(), 42_000);
        buffer.fix(1);
        assert_eq!(buffer.size(), 4608);
    }

    #[test]
    fn a_closed_chunk_accepts_no_more_data() {
        let mut buffer = SendBuffer::new(50_000, 50_000);
        buffer.take(400, true, &at_start());
        buffer.close_chunk();
        buffer.take(400, true, &at_start());
        assert_eq!(buffer.queued(&at_start()), 800 + 2 * CHUNK_BYTES);
    }
}
