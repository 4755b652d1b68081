//! The sockets that an epoll watches, and the events for which it watches each of them.
//! `epoll_create` makes an epoll.

use std::collections::BTreeMap;

use super::call::Fd;
use super::readiness::Readiness;

/// The sockets of an epoll.
pub(super) type Epoll = BTreeMap<Fd, Interest>;

/// The events for which a socket is watched, and whether there is something new to report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interest {
    /// The events. They include errors and hang-ups. After a one-shot watch has reported an event, there
    /// are no events.
    pub(super) events: Readiness,
    pub(super) has_news: bool,
}

impl Interest {
    /// The bits that say how events are reported. All other bits are events.
    const MANNER: u32 = Readiness::EXCLUSIVE.0 | Readiness::ONCE.0 | Readiness::EDGE.0;

    /// A watch for `events`, errors and hang-ups. The first `epoll_wait` checks the socket, even if
    /// nothing has happened since the watch was made.
    pub(super) fn new(events: Readiness) -> Self {
        Self { events: events | Readiness::ERROR | Readiness::HANG_UP, has_news: true }
    }

    /// True if the watch can report events.
    pub(super) fn is_armed(&self) -> bool {
        self.events.0 & !Self::MANNER != 0
    }

    /// Makes the watch report no event until `EPOLL_CTL_MOD`.
    pub(super) fn disarm(&mut self) {
        self.events = self.events.and(Readiness(Self::MANNER));
    }

    /// Whether these events may be combined with `EPOLLEXCLUSIVE`.
    pub(super) fn may_be_exclusive(events: Readiness) -> bool {
        let fit = Readiness::IN | Readiness::OUT | Readiness::ERROR | Readiness::HANG_UP;
        events.0 & !(fit.0 | Readiness::EDGE.0 | Readiness::EXCLUSIVE.0) == 0
    }
}
