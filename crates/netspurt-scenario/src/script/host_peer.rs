//! How a [`SocketHost`] learns that its peer cannot be reached: keep-alive probes and ICMP reports.

use netspurt::tcp::TcpState;
use netspurt::units::Time;

use super::host::{Role, SocketHost};
use super::keep_alive::{KeepAliveStep, QuietPeer};
use super::unreachable::Unreachable;

impl SocketHost {
    /// Called when ICMP reports that a packet did not arrive (`tcp_v4_err`). The report can end a
    /// handshake. A passive opener then returns to LISTEN, and no call returns the error. An open
    /// connection continues (RFC 1122 §4.2.3.9). `SO_ERROR` returns the error. If the connection
    /// times out later, other calls also return it.
    ///
    /// departs: RFC 6069 - a report does not undo the timer's backoff.
    pub(super) fn take_unreachable(&mut self, now: Time, message: &Unreachable) {
        let active = self.sockets.values().any(|socket| socket.role == Role::Connected);
        let ends = match self.connection.state() {
            TcpState::Closed | TcpState::Listen | TcpState::TimeWait => return,
            TcpState::SynSent => true,
            TcpState::SynReceived => active || message.code.ends_handshakes(),
            _ => false,
        };
        if !self.connection.has_out(message.seq) {
            return;
        }
        if ends && !active {
            self.begin(now, false);
            return self.connection.listen();
        }
        self.errors.reported = Some(message.code.errno());
        if ends {
            self.errors.ended_handshake = true;
            self.connection.give_up(now);
        }
    }

    /// Does the step that the keep-alive timer requires.
    pub(super) fn keep_peer_alive(&mut self, now: Time) {
        if self.keep_alive.due().is_none_or(|due| due > now) {
            return;
        }
        let info = self.connection.info().filter(|_| self.was_established());
        let Some(info) = info else { return self.keep_alive.begin() };
        let peer = QuietPeer {
            since: self.clocks.quiet_since(),
            is_busy: info.outstanding.segs > 0 || info.unsent > 0,
            user_timeout: self.clocks.user_timeout(),
        };
        match self.keep_alive.fire(now, &peer, self.config.timer_clock) {
            KeepAliveStep::Wait => {}
            KeepAliveStep::Probe => self.connection.probe_peer(now, &mut self.events),
            KeepAliveStep::GiveUp => self.connection.break_off(now, &mut self.events),
        }
    }
}
