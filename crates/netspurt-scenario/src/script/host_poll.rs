//! Carries out `poll` and `epoll` on a [`SocketHost`]'s sockets. An epoll, which `epoll_create`
//! makes, watches sockets for events.

use std::collections::BTreeMap;

use netspurt::tcp::TcpState;

use super::call::{Call, CallOutcome, EpollOperation, Fd, OptionValue, Wait};
use super::host::{Role, SocketHost, SocketState};
use super::host_calls::{failed, is_over, returned};
use super::interest::{Epoll, Interest};
use super::readiness::Readiness;
use super::subject::CallResult;

/// The part of the connection's state whose changes are reported to the epolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signs {
    pub(super) established: bool,
    unread: u64,
    peer_closed: bool,
    over: bool,
}

impl SocketHost {
    /// Returns the part of the state whose changes are reported to the epolls.
    pub(super) fn signs(&self) -> Signs {
        Signs {
            established: self.was_established(),
            unread: self.connection.unread(),
            peer_closed: self.connection.peer_closed(),
            over: self.connection.state() == TcpState::Closed,
        }
    }

    /// Marks the epoll watches that have something new to report. The value `before` is the state
    /// that the connection had before its latest change. `has_room` says whether a call that waited
    /// for room in the send buffer can continue.
    pub(super) fn wake_epolls(&mut self, before: &Signs, has_room: bool) {
        let after = self.signs();
        let arrived = after.unread > before.unread || after.peer_closed != before.peer_closed;
        let changed = after.established != before.established || after.over != before.over;
        let mut news = Readiness::default();
        if arrived || changed {
            news = news | Readiness::IN | Readiness::PEER_CLOSED;
        }
        if has_room || changed {
            news = news | Readiness::OUT;
        }
        for watch in self.epolls.values_mut().flat_map(BTreeMap::values_mut) {
            watch.has_news |= !watch.events.and(news).is_empty() || changed;
        }
    }

    /// Returns the events for which a socket is ready (`tcp_poll`).
    fn readiness(&mut self, socket: SocketState) -> Readiness {
        let mut ready = Readiness::default();
        if let Role::Listening { accepted } = socket.role {
            return if !accepted && self.was_ever_open { Readiness::IN } else { ready };
        }
        let over = is_over(&self.connection);
        let ended = over && socket.role == Role::Connected;
        let peer_closed = self.connection.peer_closed() || socket.read_shut || ended;
        if peer_closed {
            ready = ready | Readiness::PEER_CLOSED | Readiness::IN;
        }
        if over || peer_closed && socket.write_shut {
            ready = ready | Readiness::HANG_UP;
        }
        let has_notice = socket.role == Role::Connected && !self.notices.queue.is_empty();
        let failed = self.errors.is_waiting(self.connection.failure());
        if failed && !socket.role.is_fresh() || has_notice {
            ready = ready | Readiness::ERROR;
        }
        if self.connection.unread() > 0 {
            ready = ready | Readiness::IN;
        }
        if self.was_established() && (socket.write_shut || has_room(self)) || over {
            ready = ready | Readiness::OUT;
        }
        ready
    }

    pub(super) fn poll_sockets(&mut self, entries: &[(Fd, Readiness)], wait: Wait) -> CallResult {
        let mut found = Vec::new();
        for (fd, asked) in entries {
            let Some(socket) = self.sockets.get(fd).copied() else { return failed("EBADF") };
            let always = Readiness::ERROR | Readiness::HANG_UP;
            found.push((*fd, self.readiness(socket).and(*asked | always)));
        }
        let count = found.iter().filter(|(_, ready)| !ready.is_empty()).count();
        if count == 0 && wait != Wait::Millis(0) {
            return CallResult::Blocks;
        }
        reported(count, found)
    }

    pub(super) fn epoll_create(&mut self, number: Option<Fd>) -> CallResult {
        let fd = self.new_fd(number);
        self.epolls.insert(fd, Epoll::new());
        returned(fd.into())
    }

    pub(super) fn epoll_control(
        &mut self,
        fd: Fd,
        operation: EpollOperation,
        socket: Fd,
        events: Readiness,
    ) -> CallResult {
        let known = self.sockets.contains_key(&socket);
        let Some(epoll) = self.epolls.get_mut(&fd).filter(|_| known) else {
            return failed("EBADF");
        };
        let exclusive = |events: Readiness| events.has(Readiness::EXCLUSIVE);
        let was_exclusive = epoll.get(&socket).is_some_and(|watch| exclusive(watch.events));
        match (operation, epoll.contains_key(&socket)) {
            (EpollOperation::Add, _)
                if exclusive(events) && !Interest::may_be_exclusive(events) =>
            {
                return failed("EINVAL");
            }
            (EpollOperation::Modify, true) if exclusive(events) || was_exclusive => {
                return failed("EINVAL");
            }
            (EpollOperation::Add, true) => return failed("EEXIST"),
            (EpollOperation::Modify | EpollOperation::Remove, false) => return failed("ENOENT"),
            (EpollOperation::Remove, true) => {
                epoll.remove(&socket);
            }
            (EpollOperation::Add | EpollOperation::Modify, _) => {
                epoll.insert(socket, Interest::new(events));
            }
        }
        returned(0)
    }

    pub(super) fn epoll_wait(&mut self, fd: Fd, events_max: u32, wait: Wait) -> CallResult {
        let Some(mut epoll) = self.epolls.remove(&fd) else { return failed("EBADF") };
        let mut found = Vec::new();
        for (fd, watch) in &mut epoll {
            let watched = self.sockets.get(fd).copied();
            let has_news = watch.has_news && watch.is_armed() && found.len() < events_max as usize;
            let Some(socket) = watched.filter(|_| has_news) else { continue };
            let ready = self.readiness(socket).and(watch.events);
            watch.has_news = !ready.is_empty() && !watch.events.has(Readiness::EDGE);
            if !ready.is_empty() {
                found.push((*fd, ready));
            }
            if !ready.is_empty() && watch.events.has(Readiness::ONCE) {
                watch.disarm();
            }
        }
        self.epolls.insert(fd, epoll);
        if found.is_empty() && wait != Wait::Millis(0) {
            return CallResult::Blocks;
        }
        reported(found.len(), found)
    }

    /// The result of a call whose wait is over: `poll` and `epoll_wait` report no ready socket, and
    /// `close` returns 0.
    pub(super) fn nothing_ready(&self, call: &Call) -> CallOutcome {
        let found = match call {
            Call::Poll { entries, .. } => {
                entries.iter().map(|(fd, _)| (*fd, Readiness::default())).collect()
            }
            _ => Vec::new(),
        };
        CallOutcome { out: Some(OptionValue::Ready(found)), ..CallOutcome::returned(0) }
    }
}

/// Returns whether the send buffer reports that it is writable. If not, the send buffer records
/// that a call waits for room.
fn has_room(host: &mut SocketHost) -> bool {
    let progress = host.progress();
    let Some(send) = &mut host.send else { return true };
    let writable = send.is_writable(&progress);
    send.is_awaited |= !writable;
    writable
}

fn reported(count: usize, found: Vec<(Fd, Readiness)>) -> CallResult {
    let value = i64::try_from(count).unwrap_or(i64::MAX);
    let out = Some(OptionValue::Ready(found));
    CallResult::Returned(CallOutcome { out, ..CallOutcome::returned(value) })
}
