//! Calls with `MSG_ZEROCOPY`: their numbers, and when they are completed. With this flag, the host
//! sends from the application's buffers without a copy. A call is completed when its buffers are
//! free again.
//!
//! Linux numbers the calls of a socket from 0. A *chunk* is one buffer of Linux's send queue
//! (`sk_buff`). When a call begins, some octets of the last chunk may be unsent, and the last
//! octets of this chunk may belong to the previous call. If both are true, both calls are completed
//! together (`msg_zerocopy_realloc` in Linux). The limit is `TOGETHER_BYTES`: calls that have more
//! octets in total are not completed together. The buffers of calls are free when all chunks with
//! octets of these calls are acknowledged. The last of these chunks may also have octets of other
//! writes. Offsets count written octets from 0.

use std::collections::VecDeque;

/// The maximum number of octets of calls that are completed together. A single call may have more.
const TOGETHER_BYTES: u64 = 1 << 19;

/// The maximum number of fragments of a chunk (`MAX_SKB_FRAGS`).
const FRAGMENTS_MAX: u64 = 17;
/// The maximum number of octets of a fragment: a page of memory.
const FRAGMENT_BYTES: u64 = 4096;

/// Calls that are completed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenCalls {
    /// The number of the first call.
    pub(super) first: u32,
    /// The number of the last call.
    pub(super) last: u32,
    /// Whether the device copied octets of the calls. In a script, the device copies all octets
    /// that it sends.
    pub(super) copied: bool,
    /// The number of octets that these calls asked to send.
    bytes: u64,
    /// The offset at which the first call begins.
    start: u64,
    /// The end of the chunk with the last octets of these calls.
    pub(super) end: u64,
}

/// The calls of a connection that are not completed.
#[derive(Clone, Debug, Default)]
pub(super) struct ZeroCopyCalls {
    /// The number of the next call.
    next: u32,
    open: VecDeque<OpenCalls>,
    /// The number of fragments of the last chunk.
    fragments: u64,
    /// Whether the octets of the last fragment were copied.
    ends_copied: bool,
}

impl ZeroCopyCalls {
    /// Called when a call of `bytes` octets begins at offset `at`. `tail_waits` says whether the
    /// last chunk has unsent octets.
    pub(super) fn begin(&mut self, at: u64, bytes: u64, tail_waits: bool) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let tail = self.open.back_mut().filter(|open| tail_waits && open.end == at);
        if let Some(open) = tail.filter(|open| open.bytes + bytes <= TOGETHER_BYTES) {
            (open.last, open.bytes) = (number, open.bytes + bytes);
            return;
        }
        let (first, last, copied) = (number, number, false);
        self.open.push_back(OpenCalls { first, last, copied, bytes, start: at, end: at });
    }

    /// Called when the octets from the offset `from` up to the offset `to` were written. `starts`
    /// says whether the octets start a new chunk; otherwise they join the last chunk. `call` is
    /// `None` if the write copied the octets. Otherwise it says how many of these octets come
    /// from each buffer of the call.
    pub(super) fn on_part(&mut self, (from, to): (u64, u64), starts: bool, call: Option<&[u64]>) {
        if let Some(open) = self.open.back_mut()
            && open.end == from
            && (call.is_some() || !starts)
        {
            open.end = to;
        }
        if starts {
            (self.fragments, self.ends_copied) = (0, false);
        }
        match call {
            Some(pieces) => {
                self.fragments +=
                    pieces.iter().map(|piece| piece.div_ceil(FRAGMENT_BYTES)).sum::<u64>();
            }
            None => self.fragments += u64::from(!self.ends_copied),
        }
        self.ends_copied = call.is_none();
    }

    /// Returns how many more fragments the chunk of the next octets may have. This is the last
    /// chunk or, if the octets start a chunk, a new chunk.
    pub(super) fn fragments_left(&self, starts: bool) -> u64 {
        FRAGMENTS_MAX.saturating_sub(if starts { 0 } else { self.fragments })
    }

    /// Whether the last chunk accepts no more octets, because it has its maximum number of
    /// fragments. If the octets of its last fragment were copied, more copied octets may still join
    /// this fragment. `zero_copy` is true if the next octets are not copied.
    pub(super) fn is_chunk_full(&self, zero_copy: bool) -> bool {
        self.fragments >= FRAGMENTS_MAX && (zero_copy || !self.ends_copied)
    }

    /// Called when the octets from `start` up to `end` reached the device, which copies them.
    pub(super) fn on_packet(&mut self, start: u64, end: u64) {
        for open in self.open.iter_mut().filter(|open| open.start < end && open.end > start) {
            open.copied = true;
        }
    }

    /// Returns the end of the oldest calls that are not completed.
    pub(super) fn first_end(&self) -> Option<u64> {
        self.open.front().map(|open| open.end)
    }

    /// Removes and returns the oldest calls.
    pub(super) fn take_first(&mut self) -> Option<OpenCalls> {
        self.open.pop_front()
    }

    /// Removes and returns all calls, because the connection failed. The octets before `sent` were
    /// sent. Linux first completes the calls of which no octet was sent.
    pub(super) fn take_all(&mut self, sent: u64) -> Vec<OpenCalls> {
        let out = self.open.partition_point(|open| open.start < sent);
        let mut all: Vec<OpenCalls> = self.open.drain(out..).collect();
        all.extend(self.open.drain(..));
        all
    }
}

/// Returns how many octets to take next from each buffer. `pieces` has the lengths of the buffers,
/// and their first `done` octets are already taken. The function takes as many as possible, but at
/// most `octets` octets in at most `fragments` fragments. It leaves out buffers that give no
/// octets.
pub(super) fn part_of(pieces: &[u32], done: u64, octets: u64, fragments: u64) -> Vec<u64> {
    let (mut skipped, mut octets, mut fragments) = (done, octets, fragments);
    let mut part = Vec::new();
    for piece in pieces {
        let left = u64::from(*piece).saturating_sub(skipped);
        skipped = skipped.saturating_sub((*piece).into());
        let taken = left.min(octets).min(fragments.saturating_mul(FRAGMENT_BYTES));
        if taken > 0 {
            part.push(taken);
        }
        octets -= taken;
        fragments = fragments.saturating_sub(taken.div_ceil(FRAGMENT_BYTES));
        if octets == 0 || fragments == 0 {
            break;
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(open: &OpenCalls) -> (u32, u32, bool) {
        (open.first, open.last, open.copied)
    }

    #[test]
    fn calls_that_share_an_unsent_chunk_are_completed_together() {
        let mut calls = ZeroCopyCalls::default();
        calls.begin(0, 500, false);
        calls.on_part((0, 500), true, Some(&[500]));
        calls.begin(500, 300, false);
        calls.on_part((500, 800), true, Some(&[300]));
        calls.begin(800, 300, true);
        calls.on_part((800, 1100), false, Some(&[300]));
        calls.on_part((1100, 1200), false, None);
        calls.on_packet(0, 600);
        assert_eq!(calls.first_end(), Some(500));
        assert_eq!(calls.take_first().as_ref().map(numbers), Some((0, 0, true)));
        assert_eq!(
            calls.first_end(),
            Some(1200),
            "the copied octets in the chunk must be acknowledged first"
        );
        assert_eq!(calls.take_first().as_ref().map(numbers), Some((1, 2, true)));
        assert_eq!(calls.take_first(), None);
    }

    #[test]
    fn a_failure_completes_the_unsent_calls_first() {
        let mut calls = ZeroCopyCalls::default();
        for at in [0, 1000, 2000] {
            calls.begin(at, 1000, false);
            calls.on_part((at, at + 1000), true, Some(&[1000]));
        }
        calls.on_packet(0, 2000);
        let all: Vec<_> = calls.take_all(2000).iter().map(numbers).collect();
        assert_eq!(all, [(2, 2, false), (0, 0, true), (1, 1, true)]);
    }

    #[test]
    fn a_chunk_has_at_most_17_fragments() {
        assert_eq!(part_of(&[1; 18], 0, 100, 17), [1; 17]);
        assert_eq!(part_of(&[1; 18], 17, 100, 17), [1]);
        assert_eq!(part_of(&[9000, 10], 0, 8000, 17), [8000]);
        assert_eq!(part_of(&[9000, 10], 8000, 8000, 17), [1000, 10]);
        assert_eq!(part_of(&[9000, 10], 0, 9010, 2), [8192]);
        let mut calls = ZeroCopyCalls::default();
        calls.on_part((0, 100), true, None);
        assert_eq!((calls.fragments_left(false), calls.fragments_left(true)), (16, 17));
        calls.on_part((100, 9100), false, Some(&[9000]));
        assert_eq!(calls.fragments_left(false), 13);
        calls.on_part((9100, 9113), false, Some(&[1; 13]));
        assert!(calls.is_chunk_full(true) && calls.is_chunk_full(false));
    }
}
