//! Writes data to the sockets of a [`SocketHost`]. The octets of a call are written in parts. A
//! part fits into one chunk, which is one buffer of Linux's send queue (`sk_buff`).

use netspurt::tcp::{Leaving, TcpState, WrittenPart};
use netspurt::units::Time;

use super::call::Fd;
use super::host::{Role, SocketHost, SocketState};
use super::host_calls::{failed, returned};
use super::message_flags::MessageFlags;
use super::notices::NoticeOptions;
use super::send_buffer::SendProgress;
use super::subject::CallResult;
use super::zero_copy::part_of;

/// The octets that a call writes.
struct Writing<'a> {
    /// The lengths of the call's buffers.
    pieces: &'a [u32],
    /// The sum of these lengths.
    wanted: u64,
    flags: MessageFlags,
    notices: NoticeOptions,
}

fn number(bytes: u64) -> CallResult {
    returned(i64::try_from(bytes).unwrap_or(i64::MAX))
}

impl SocketHost {
    /// Writes the octets of a call. `pieces` has the lengths of the call's buffers.
    pub(super) fn write(
        &mut self,
        now: Time,
        fd: Fd,
        socket: SocketState,
        (pieces, flags): (&[u32], MessageFlags),
    ) -> CallResult {
        if let Some(error) = self.take_error(socket) {
            return failed(error);
        }
        if socket.role != Role::Connected || socket.write_shut {
            return failed("EPIPE");
        }
        match self.connection.state() {
            TcpState::SynSent | TcpState::SynReceived if socket.nonblocking || flags.dont_wait => {
                return failed("EAGAIN");
            }
            TcpState::SynSent | TcpState::SynReceived => return CallResult::Blocks,
            TcpState::Established | TcpState::CloseWait => {}
            _ => return failed("EPIPE"),
        }
        self.sockets.insert(fd, SocketState { announced: true, ..socket });
        let corked = socket.cork || flags.more;
        self.more_follows = flags.more && !socket.cork;
        if corked {
            self.connection.set_cork(now, true, &mut self.events);
        }
        let at_once = socket.nonblocking || flags.dont_wait;
        let wanted = pieces.iter().copied().map(u64::from).sum();
        let writing = Writing { pieces, wanted, flags, notices: socket.notices };
        let result = writing.fill(self, now, at_once);
        if flags.end_of_record {
            close_chunk(self);
        }
        if !corked {
            self.connection.set_cork(now, false, &mut self.events);
        }
        result
    }
}

impl Writing<'_> {
    /// Whether the host sends from the application's buffers without a copy. It does so only if
    /// both the socket and the call ask for it.
    fn is_zero_copy(&self) -> bool {
        self.flags.zero_copy && self.notices.zero_copy
    }

    /// Passes as many octets of a call to the connection as the send buffer accepts.
    fn fill(&self, host: &mut SocketHost, now: Time, at_once: bool) -> CallResult {
        // A call that waits after its first part continues only when the buffer is writable again
        // (`is_writable`).
        if host.done > 0 && host.send.as_ref().is_some_and(|send| send.is_awaited) {
            return CallResult::Blocks;
        }
        while host.done < self.wanted {
            let progress = host.progress();
            let part = self.next_part(host, &progress);
            if !part.is_empty() {
                self.give(host, now, &part, &progress);
                continue;
            }
            if let Some(send) = &mut host.send {
                send.is_awaited = true;
            }
            return match host.done {
                _ if !at_once => CallResult::Blocks,
                0 => failed("EAGAIN"),
                written => {
                    let has_left = progress.sent == progress.written;
                    host.notices.on_written(progress.written, has_left, self.notices);
                    number(written)
                }
            };
        }
        if self.wanted > 0 {
            let written = host.progress().written;
            host.notices.on_written(written, false, self.notices);
        }
        number(self.wanted)
    }

    /// Returns the lengths of the next part of a call. If the octets are copied, there is one
    /// length for the whole part. Otherwise each buffer has its own length. If nothing fits, there
    /// is no length.
    fn next_part(&self, host: &mut SocketHost, progress: &SendProgress) -> Vec<u64> {
        let is_zero_copy = self.is_zero_copy();
        if joins(host, progress) && host.notices.calls.is_chunk_full(is_zero_copy) {
            close_chunk(host);
        }
        let remaining = self.wanted - host.done;
        let octets =
            host.send.as_ref().map_or(remaining, |send| send.next_part(remaining, progress));
        if !is_zero_copy || octets == 0 {
            return vec![octets; usize::from(octets > 0)];
        }
        let fragments = host.notices.calls.fragments_left(!joins(host, progress));
        part_of(self.pieces, host.done, octets, fragments)
    }

    /// Passes a part of a call to the connection. A part is the last part if it ends the call, or
    /// if the send buffer accepts no more. The end of the last part gets PSH, except if this part
    /// ends a call with `MSG_MORE` (more data follows). The end of any part gets PSH if the send
    /// buffer says so (`PartTaken::pushed`). If a part does not end the call, its end also gets PSH
    /// if the part's chunk has too many fragments for more octets (`is_chunk_full`).
    ///
    /// After the last part, or after a part with a forced PSH (`PartTaken::forced`), all data may
    /// leave. After any other part, one packet may leave if the part fills the first chunk with
    /// unsent data; otherwise nothing leaves. Without a send buffer, the end of each part gets PSH,
    /// and all data may leave.
    fn give(&self, host: &mut SocketHost, now: Time, part: &[u64], progress: &SendProgress) {
        let (from, octets) = (progress.written, part.iter().sum::<u64>());
        let is_zero_copy = self.is_zero_copy();
        if is_zero_copy && host.done == 0 {
            let tail_waits = progress.sent < progress.written;
            host.notices.calls.begin(from, self.wanted, tail_waits);
        }
        let is_first = host.done == 0;
        host.done += octets;
        let (ends, left) = (host.done == self.wanted, self.wanted - host.done);
        let (mut starts, mut pushed) = (!joins(host, progress), true);
        let mut joins_in_connection = true;
        let mut leaving = Leaving::All;
        if let Some(send) = &mut host.send {
            let taken = send.take(octets, is_first, progress);
            let is_last = ends || send.next_part(left, progress) == 0;
            let ends_write = is_last && !(ends && self.flags.more);
            (starts, pushed) = (taken.starts, taken.pushed || ends_write);
            joins_in_connection = !starts;
            leaving = match taken {
                _ if is_last || taken.forced => Leaving::All,
                _ if taken.fills_head => Leaving::Packet,
                _ => Leaving::Nothing,
            };
            if ends_write {
                send.push();
            }
        }
        let range = (from, from + octets);
        let pieces = Some(part).filter(|_| is_zero_copy);
        host.notices.on_part(range, progress.sent, starts, pieces);
        pushed |= !ends && host.notices.calls.is_chunk_full(is_zero_copy);
        let part = WrittenPart { octets, starts: !joins_in_connection, pushed, leaving };
        host.connection.write_part(now, &part, &mut host.events);
    }
}

/// Ends the last chunk: octets that are written later do not share a segment with the earlier
/// octets.
fn close_chunk(host: &mut SocketHost) {
    host.connection.end_record();
    let written = host.progress().written;
    host.notices.close_chunk(written);
    if let Some(send) = &mut host.send {
        send.close_chunk();
    }
}

/// Whether the next written octets join the last chunk.
fn joins(host: &SocketHost, progress: &SendProgress) -> bool {
    match &host.send {
        Some(send) => send.tail_filled(progress).is_some(),
        None => progress.sent < progress.written && host.notices.chunk_is_open(progress.written),
    }
}
