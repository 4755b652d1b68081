//! Ends the connection of a [`SocketHost`] with `close` or `shutdown`, or replaces a connection in
//! TIME-WAIT by a new connection. Names such as `inet_shutdown` are names in Linux's sources.

use netspurt::event::Events;
use netspurt::segment::Segment;
use netspurt::tcp::{Connection, TcpState};
use netspurt::units::{Duration, Time};

use super::call::{Fd, Shutdown};
use super::host::{Role, SocketHost, SocketState};
use super::host_calls::{failed, is_over, returned};
use super::notices::Notices;
use super::subject::CallResult;

impl SocketHost {
    /// Whether a socket of the connection is open.
    pub(super) fn is_open(&self) -> bool {
        let open =
            |socket: &SocketState| socket.role == Role::Connected && socket.closes_until.is_none();
        self.sockets.values().any(open)
    }

    /// Closes a socket. If data is unread, the connection sends an RST (RFC 9293 §3.6.1). With
    /// `SO_LINGER` and a time of 0, the connection also sends an RST. With a longer time, the call
    /// waits until all data and the FIN are acknowledged, or until this time is over
    /// (`sk_stream_wait_close`).
    pub(super) fn close(&mut self, now: Time, fd: Fd, socket: SocketState) -> CallResult {
        let mut until = socket.closes_until;
        match socket.role {
            _ if until.is_some() => {}
            Role::Connected if socket.linger == Some(0) || self.connection.unread() > 0 => {
                self.connection.abort(now, &mut self.events);
            }
            Role::Connected => {
                self.connection.close(now, &mut self.events);
                until = socket.linger.map(|seconds| now + Duration::from_secs(seconds.into()));
            }
            Role::Listening { accepted: false } => {
                leave_unaccepted(&mut self.connection, now, &mut self.events)
            }
            _ => {}
        }
        let closed = [TcpState::FinWait2, TcpState::TimeWait, TcpState::Closed];
        if until.is_some_and(|until| now < until) && !closed.contains(&self.connection.state()) {
            self.sockets.insert(fd, SocketState { closes_until: until, ..socket });
            return CallResult::Blocks;
        }
        self.sockets.remove(&fd);
        if socket.role == Role::Connected {
            self.notices = Notices::default();
        }
        self.watch_orphan(now);
        returned(0)
    }

    /// Closes one or both directions of a socket (`inet_shutdown`). In SYN-SENT, the call ends the
    /// attempt to open the connection. A listening socket that is shut down for reading stops
    /// listening.
    pub(super) fn shutdown(
        &mut self,
        now: Time,
        fd: Fd,
        socket: SocketState,
        how: Shutdown,
    ) -> CallResult {
        let (reads, writes) = (how != Shutdown::Write, how != Shutdown::Read);
        match socket.role {
            Role::Listening { .. } if !reads => return returned(0),
            Role::Listening { accepted } => {
                if !accepted {
                    leave_unaccepted(&mut self.connection, now, &mut self.events);
                }
                return self.keep(fd, SocketState { role: Role::Disconnected, ..socket });
            }
            Role::Connected if self.connection.state() == TcpState::SynSent => {
                self.connection.reset_by_peer(now);
                return self.keep(fd, SocketState { role: Role::Disconnected, ..socket });
            }
            Role::Connected if !is_over(&self.connection) => {}
            _ => return failed("ENOTCONN"),
        }
        if writes {
            self.connection.close(now, &mut self.events);
        }
        let (read_shut, write_shut) = (socket.read_shut || reads, socket.write_shut || writes);
        self.keep(fd, SocketState { read_shut, write_shut, ..socket })
    }

    /// If the connection is in FIN-WAIT-2 and has no open socket, starts its wait for the peer's
    /// FIN. With a negative `TCP_LINGER2`, ends such a connection immediately.
    pub(super) fn watch_orphan(&mut self, now: Time) {
        let waits = self.connection.state() == TcpState::FinWait2 && !self.is_open();
        let rto = self.connection.info().map_or(Duration::ZERO, |info| info.rto.rto);
        if self.orphan.watch(waits, rto, now, self.config.timer_clock) {
            self.connection.abort(now, &mut self.events);
        }
    }

    /// Replaces a connection in TIME-WAIT by a new connection, if the segment asks for a new
    /// connection and a socket listens.
    pub(super) fn replace_time_wait(&mut self, now: Time, segment: &Segment) {
        let listening = |socket: &SocketState| socket.role.listens();
        let listener = self.sockets.iter().find(|(_, socket)| listening(socket));
        let Some(fd) = listener.map(|(fd, _)| *fd) else { return };
        if let Some(iss) = self.connection.successor(segment) {
            self.config.iss = iss;
            self.begin(now, false);
            self.connection.listen();
            if let Some(socket) = self.sockets.get_mut(&fd) {
                socket.role = Role::Listening { accepted: false };
            }
        }
    }
}

/// Ends a connection that no application will accept. If a peer has already begun to open the
/// connection, the peer gets an RST (`inet_csk_listen_stop`).
fn leave_unaccepted(connection: &mut Connection, now: Time, events: &mut Events<Segment>) {
    match connection.state() {
        TcpState::Listen => connection.close(now, events),
        _ => connection.abort(now, events),
    }
}
