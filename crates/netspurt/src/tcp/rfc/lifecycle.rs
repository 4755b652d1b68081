//! The states of a TCP connection between its opening and its end.

use crate::packed::packed;
use crate::units::{Duration, Time};

use super::config::RfcConfig;
use super::state::{Failure, TcpState};

/// The life of a connection: its state, how it was opened, why it failed, and when TIME-WAIT ends.
#[derive(Debug)]
pub(in crate::tcp) struct Lifecycle {
    state: TcpState,
    failure: Option<Failure>,
    /// Whether the connection was opened passively.
    passive: bool,
    /// True if the connection was opened actively, if the peer's SYN came, or if a listening end
    /// was closed.
    attempted: bool,
    /// The end of TIME-WAIT.
    time_wait_end: Time,
    /// How long TIME-WAIT lasts.
    time_wait: Duration,
}

packed!(Lifecycle { state, failure, passive, attempted, time_wait_end } keeps { time_wait });

impl Lifecycle {
    pub(super) fn new(config: &RfcConfig) -> Self {
        Self {
            state: TcpState::Closed,
            failure: None,
            passive: false,
            attempted: false,
            time_wait_end: Time::NEVER,
            time_wait: config.time_wait,
        }
    }

    #[inline]
    pub(in crate::tcp) fn state(&self) -> TcpState {
        self.state
    }

    /// The state. If `closing` is true, our FIN counts as sent in ESTABLISHED and CLOSE-WAIT, even
    /// if it waits behind data (RFC 9293 §3.10.4).
    pub(super) fn state_with(&self, closing: bool) -> TcpState {
        if closing { self.state.after_fin_sent() } else { self.state }
    }

    /// Whether the state is CLOSE-WAIT, CLOSING or LAST-ACK: the peer's FIN came, and TIME-WAIT has
    /// not begun.
    pub(super) fn has_peers_fin(&self) -> bool {
        matches!(self.state, TcpState::CloseWait | TcpState::LastAck | TcpState::Closing)
    }

    /// The reason for which the connection failed. The result is `None` if the connection has not
    /// failed.
    pub(in crate::tcp) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Whether the connection was opened passively.
    pub(super) fn is_passive(&self) -> bool {
        self.passive
    }

    /// When TIME-WAIT ends.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.time_wait_end
    }

    /// Whether the connection was opened or attempted, actively or passively, and has ended.
    pub(super) fn is_over(&self) -> bool {
        self.state == TcpState::Closed && (self.attempted || self.failure.is_some())
    }

    /// Opens the connection actively (RFC 9293 §3.10.1) in LISTEN, or in CLOSED if the connection
    /// is not over. Returns whether a SYN must be sent.
    pub(super) fn open(&mut self) -> bool {
        let opens = matches!(self.state, TcpState::Closed | TcpState::Listen) && !self.is_over();
        if opens {
            (self.state, self.passive, self.attempted) = (TcpState::SynSent, false, true);
        }
        opens
    }

    /// Waits until a peer opens the connection (RFC 9293 §3.10.1, passive).
    pub(super) fn listen(&mut self) {
        if self.state == TcpState::Closed && !self.is_over() {
            (self.state, self.passive) = (TcpState::Listen, true);
        }
    }

    /// Moves to SYN-RECEIVED, because the peer's SYN came before our SYN or simultaneously.
    pub(super) fn on_syn(&mut self) {
        (self.state, self.attempted) = (TcpState::SynReceived, true);
    }

    /// Moves to ESTABLISHED, because the peer's SYN came and our SYN is acknowledged.
    pub(super) fn establish(&mut self) {
        self.state = TcpState::Established;
    }

    /// Moves to the next state, because our FIN was sent.
    pub(super) fn on_fin_sent(&mut self) {
        self.state = self.state.after_fin_sent();
    }

    /// Moves to the state `state`. Returns whether the state changed.
    pub(super) fn step_to(&mut self, state: TcpState, now: Time) -> bool {
        let steps = state != self.state;
        self.state = state;
        if steps && state == TcpState::TimeWait {
            self.begin_time_wait(now);
        }
        steps
    }

    /// Begins TIME-WAIT, or begins it again because a late segment came.
    pub(super) fn begin_time_wait(&mut self, now: Time) {
        self.time_wait_end = now + self.time_wait;
    }

    /// Moves to CLOSED, because the connection has ended.
    pub(super) fn end(&mut self) {
        self.attempted |= self.state == TcpState::Listen;
        (self.state, self.time_wait_end) = (TcpState::Closed, Time::NEVER);
    }

    /// Moves to CLOSED because of this failure.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_over_does_not_open_or_listen() {
        let mut life = Lifecycle::new(&RfcConfig::rfc_2026());
        life.end();
        assert!(!life.is_over(), "nothing was attempted");
        assert!(life.open() && !life.open());
        life.end();
        life.listen();
        assert!(life.is_over() && !life.open() && life.state() == TcpState::Closed);
        let mut passive = Lifecycle::new(&RfcConfig::rfc_2026());
        passive.listen();
        passive.end();
        assert!(passive.is_over() && !passive.open(), "a closed listener does not open");
    }

    #[test]
    fn a_listening_end_that_opens_actively_is_not_passive_any_more() {
        let mut life = Lifecycle::new(&RfcConfig::rfc_2026());
        life.listen();
        assert!(life.is_passive() && life.open() && !life.is_passive());
    }

    /// RFC 9293 §3.6.1: TIME-WAIT lasts twice the maximum segment lifetime (MSL), from the last
    /// segment that the peer retransmitted.
    #[test]
    fn time_wait_begins_again_with_each_late_segment() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mut life = Lifecycle::new(&RfcConfig::rfc_2026());
        assert!(
            life.step_to(TcpState::TimeWait, at(1)) && !life.step_to(TcpState::TimeWait, at(2))
        );
        assert_eq!(life.deadline(), at(241));
        life.begin_time_wait(at(10));
        assert_eq!(life.deadline(), at(250));
        life.end();
        assert_eq!((life.state(), life.deadline()), (TcpState::Closed, Time::NEVER));
    }
}
