//! The error queue of a socket: notices that wait for `recvmsg` with `MSG_ERRQUEUE`. A notice
//! reports that calls are completed, or what happened to a sent octet.

use std::collections::VecDeque;

use netspurt::units::Time;

use super::notice::NoticeKind;

/// A notice that waits to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitingNotice {
    pub(super) kind: NoticeKind,
    /// The instant of the event that the notice reports.
    pub(super) at: Time,
    /// Whether the notice carries the packet that it reports.
    pub(super) has_packet: bool,
}

/// The notices of a socket, the oldest first. Linux drops a notice for which the receive buffer has
/// no room. Here no notice is dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorQueue {
    waiting: VecDeque<WaitingNotice>,
}

impl ErrorQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a notice. Calls with `MSG_ZEROCOPY` are numbered. The newest waiting notice may report
    /// such calls as completed up to number n. If the new notice reports completed calls from n + 1
    /// on, both notices become one notice (`skb_zerocopy_notify_extend` in Linux).
    pub(super) fn add(&mut self, notice: WaitingNotice) {
        if let NoticeKind::Completed { first, last, .. } = notice.kind
            && let Some(tail) = self.waiting.back_mut()
            && let NoticeKind::Completed { last: before, .. } = &mut tail.kind
            && before.checked_add(1) == Some(first)
        {
            *before = last;
            return;
        }
        self.waiting.push_back(notice);
    }

    /// Removes and returns the oldest notice.
    pub(super) fn take(&mut self) -> Option<WaitingNotice> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::StampEvent;

    fn notice(kind: NoticeKind) -> WaitingNotice {
        WaitingNotice { kind, at: Time::ZERO, has_packet: false }
    }

    fn completed(first: u32, last: u32) -> NoticeKind {
        NoticeKind::Completed { first, last, copied: true }
    }

    #[test]
    fn a_notice_about_the_next_calls_joins_the_newest_notice() {
        let mut queue = ErrorQueue::default();
        let stamp = NoticeKind::Stamped { event: StampEvent::Acknowledged, key: 0 };
        for kind in [completed(2, 3), completed(0, 0), completed(1, 1), stamp, completed(2, 2)] {
            queue.add(notice(kind));
        }
        let all: Vec<NoticeKind> =
            core::iter::from_fn(|| queue.take()).map(|waiting| waiting.kind).collect();
        assert_eq!(all, [completed(2, 3), completed(0, 1), stamp, completed(2, 2)]);
        assert!(queue.is_empty());
    }
}
