//! The notices that enter the error queue of a socket, where `recvmsg` reads them. They report on
//! octets of the socket's connection.

use netspurt::units::Time;

use super::error_queue::{ErrorQueue, WaitingNotice};
use super::notice::{NoticeKind, StampEvent};
use super::stamping::{StampRequests, Stamping};
use super::zero_copy::{OpenCalls, ZeroCopyCalls};

/// The options of a socket that ask for notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NoticeOptions {
    /// `SO_ZEROCOPY`: the flag `MSG_ZEROCOPY` of a call has an effect.
    pub(super) zero_copy: bool,
    /// `SO_TIMESTAMPING`.
    pub(super) stamping: Stamping,
}

/// The error queue of a connection, and the notices that will enter it. Offsets count written
/// octets from 0. A chunk is the written data in one buffer of Linux's send queue (`sk_buff`).
#[derive(Debug, Default)]
pub(super) struct Notices {
    pub(super) queue: ErrorQueue,
    pub(super) calls: ZeroCopyCalls,
    pub(super) stamps: StampRequests,
    /// The options that the listening socket had when the handshake was over.
    pub(super) inherited: NoticeOptions,
    /// The beginning of the unsent part of the last written chunk.
    chunk: u64,
    /// The end of a chunk that accepts no more octets.
    closed: Option<u64>,
}

impl Notices {
    /// Whether the chunk that ends at `written` accepts more octets. The answer is valid only if
    /// there is no send buffer.
    pub(super) fn chunk_is_open(&self, written: u64) -> bool {
        self.closed != Some(written)
    }

    /// Records that the chunk that ends at `written` accepts no more octets.
    pub(super) fn close_chunk(&mut self, written: u64) {
        self.closed = Some(written);
    }

    /// Called when the octets from the offset `from` up to the offset `to` were written. At that
    /// time, the octets before `sent` were already sent. `starts` says whether the written octets
    /// start a chunk; otherwise they join the last chunk. If the octets are not copied, `pieces`
    /// has the lengths of their buffers.
    pub(super) fn on_part(
        &mut self,
        (from, to): (u64, u64),
        sent: u64,
        starts: bool,
        pieces: Option<&[u64]>,
    ) {
        self.chunk = if starts { from } else { self.chunk.max(sent) };
        self.calls.on_part((from, to), starts, pieces);
    }

    /// Called when a write ended at offset `end`. Linux stores the request for timestamps only now.
    /// `has_left` says whether all written octets had left before this moment. If so, the request
    /// is too late for the first packets with these octets.
    pub(super) fn on_written(&mut self, end: u64, has_left: bool, options: NoticeOptions) {
        self.stamps.ask(end, self.chunk, options.stamping, has_left);
    }

    /// Called when a packet with the octets from `start` up to `end` left. `drops` says whether the
    /// host's queue dropped the packet. Returns whether there are new notices.
    pub(super) fn on_packet(
        &mut self,
        (start, end): (u64, u64),
        at: Time,
        options: NoticeOptions,
        drops: bool,
    ) -> bool {
        if !drops {
            self.calls.on_packet(start, end);
        }
        let stamps = self.stamps.on_packet(start, end, drops);
        for (octet, event) in &stamps {
            self.stamp(*octet, *event, at, options);
        }
        !stamps.is_empty()
    }

    /// Called when all octets before `acked` are acknowledged. Returns whether there are new
    /// notices. A notice with the timestamp of an octet comes before the notice that completes the
    /// call with this octet.
    pub(super) fn on_acked(&mut self, acked: u64, at: Time, options: NoticeOptions) -> bool {
        let mut news = false;
        loop {
            let completed = self.calls.first_end().filter(|end| *end <= acked);
            if let Some((octet, stamped)) = self.stamps.take_acked(completed.unwrap_or(acked)) {
                if stamped {
                    self.stamp(octet, StampEvent::Acknowledged, at, options);
                    news = true;
                }
            } else if completed.is_some() {
                let calls = self.calls.take_first();
                news |= calls.is_some_and(|calls| self.complete(&calls, at));
            } else {
                return news;
            }
        }
    }

    /// Called when the connection failed. The octets before `sent` were sent. Returns whether there
    /// are new notices.
    pub(super) fn on_failure(&mut self, sent: u64, at: Time) -> bool {
        self.stamps.clear();
        let calls = self.calls.take_all(sent);
        calls.iter().fold(false, |news, calls| self.complete(calls, at) | news)
    }

    fn stamp(&mut self, octet: u64, event: StampEvent, at: Time, options: NoticeOptions) {
        let key = if options.stamping.counts() { self.stamps.key(octet) } else { 0 };
        let kind = NoticeKind::Stamped { event, key };
        let has_packet = !options.stamping.leaves_packet_out();
        self.queue.add(WaitingNotice { kind, at, has_packet });
    }

    fn complete(&mut self, calls: &OpenCalls, at: Time) -> bool {
        let &OpenCalls { first, last, copied, .. } = calls;
        let kind = NoticeKind::Completed { first, last, copied };
        self.queue.add(WaitingNotice { kind, at, has_packet: false });
        true
    }
}
