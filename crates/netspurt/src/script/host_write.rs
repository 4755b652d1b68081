//! Writing to a [`SocketHost`]'s sockets.

use crate::tcp::TcpState;
use crate::units::Time;

use super::call::{Fd, MessageFlags};
use super::host::{Role, SocketHost, SocketState};
use super::host_calls::{failed, returned};
use super::subject::CallResult;

impl SocketHost {
    pub(super) fn write(
        &mut self,
        now: Time,
        fd: Fd,
        socket: SocketState,
        bytes: u32,
        flags: MessageFlags,
    ) -> CallResult {
        if let Some(error) = self.take_error() {
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
        let result = self.fill(now, bytes.into(), at_once, flags.more);
        if flags.end_of_record {
            self.connection.end_record();
        }
        if let Some(send) = self.send.as_mut().filter(|_| flags.end_of_record) {
            send.close_chunk();
        }
        if !corked {
            self.connection.set_cork(now, false, &mut self.events);
        }
        result
    }

    /// Gives the connection as much of `wanted` as the send buffer takes. What is taken last is
    /// pushed, unless `more` will follow.
    fn fill(&mut self, now: Time, wanted: u64, at_once: bool, more: bool) -> CallResult {
        let number = |bytes: u64| returned(i64::try_from(bytes).unwrap_or(i64::MAX));
        if self.send.is_none() {
            self.connection.write(now, wanted, &mut self.events);
            return number(wanted);
        }
        // A writer that waits is woken when a third of the buffer is free.
        if self.done > 0 && self.send.as_ref().is_some_and(|send| send.is_awaited) {
            return CallResult::Blocks;
        }
        while self.done < wanted {
            let progress = self.progress();
            let send = self.send.as_mut().expect("checked above");
            let part = send.next_part(wanted - self.done, &progress);
            if part == 0 {
                send.is_awaited = true;
                return match self.done {
                    0 if at_once => failed("EAGAIN"),
                    written if at_once => number(written),
                    _ => CallResult::Blocks,
                };
            }
            let taken = send.take(part, &progress);
            self.done += part;
            let ends = self.done == wanted;
            let is_last = ends || send.next_part(wanted - self.done, &progress) == 0;
            let ends_write = is_last && !(ends && more);
            if ends_write {
                send.push();
            }
            let pushed = taken.pushed || ends_write;
            self.connection.write_part(now, part, taken.starts, pushed, &mut self.events);
        }
        number(wanted)
    }
}
