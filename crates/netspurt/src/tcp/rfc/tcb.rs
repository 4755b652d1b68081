//! One end of a connection: its state, its two halves, and the application's calls.

use std::sync::Arc;

use crate::event::{CwndState, What};
use crate::units::Time;

use super::super::receiver::ReceiveCount;
use super::super::transmit::{Context, SendCount};
use super::account::SendTimes;
use super::config::RfcConfig;
use super::deadlines::is_idle;
use super::header::HeaderState;
use super::receive::RfcReceiver;
use super::sender::RfcSender;
use super::state::{Failure, State};

/// One end of a connection (a "transmission control block", RFC 9293 §3.3.1).
#[derive(Debug)]
pub(in crate::tcp) struct Tcb {
    pub(super) config: Arc<RfcConfig>,
    pub(super) state: State,
    failure: Option<Failure>,
    /// Whether it began by listening.
    pub(super) passive: bool,
    pub(super) header: HeaderState,
    pub(super) tx: RfcSender,
    pub(super) rx: RfcReceiver,
    /// The end of TIME-WAIT.
    pub(super) linger: Time,
    /// The congestion state as last reported.
    reported: Option<CwndState>,
}

impl Tcb {
    pub(in crate::tcp) fn new(config: &Arc<RfcConfig>) -> Self {
        Self {
            config: Arc::clone(config),
            state: State::Closed,
            failure: None,
            passive: false,
            header: HeaderState::default(),
            tx: RfcSender::new(config),
            rx: RfcReceiver::new(config),
            linger: Time::NEVER,
            reported: None,
        }
    }

    pub(in crate::tcp) fn state(&self) -> State {
        self.state
    }

    pub(in crate::tcp) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Octets of data acknowledged.
    pub(in crate::tcp) fn acknowledged(&self) -> u64 {
        self.tx.window.acknowledged()
    }

    /// Octets of data written and not acknowledged.
    pub(in crate::tcp) fn unacknowledged(&self) -> u64 {
        self.tx.window.unacknowledged()
    }

    /// What the sending half did.
    pub(in crate::tcp) fn sent(&self) -> SendCount {
        self.tx.count
    }

    /// What its time went into, up to the last step.
    pub(in crate::tcp) fn times(&self) -> SendTimes {
        self.tx.times()
    }

    /// What the receiving half took in.
    pub(in crate::tcp) fn received(&self) -> ReceiveCount {
        self.rx.count
    }

    /// Octets that arrived in order and were not read.
    pub(in crate::tcp) fn unread(&self) -> u64 {
        self.rx.unread()
    }

    /// Whether the peer will send no more, and all it sent was delivered.
    pub(in crate::tcp) fn peer_closed(&self) -> bool {
        self.rx.is_closed()
    }

    /// The earliest instant at which something falls due.
    pub(in crate::tcp) fn next_deadline(&self) -> Time {
        self.tx.next_deadline().min(self.rx.deadline).min(self.linger)
    }

    /// Whether all that is left to do is to end TIME-WAIT.
    pub(in crate::tcp) fn only_lingers(&self) -> bool {
        self.linger < Time::NEVER && self.next_deadline() == self.linger
    }

    /// Opens the connection (RFC 9293 §3.10.1, active).
    pub(in crate::tcp) fn open(&mut self, cx: &mut Context<'_>) {
        if matches!(self.state, State::Closed | State::Listen) && !self.is_over() {
            self.state = State::SynSent;
            self.passive = false;
            self.send_syn(None, cx);
        }
    }

    /// Waits for a peer (RFC 9293 §3.10.1, passive).
    pub(in crate::tcp) fn listen(&mut self) {
        if self.state == State::Closed && !self.is_over() {
            self.state = State::Listen;
            self.passive = true;
        }
    }

    /// Returns to LISTEN as if nothing had come; what was sent stays counted.
    pub(super) fn listen_again(&mut self) {
        let mut fresh = Self::new(&self.config);
        fresh.header.sent = self.header.sent;
        fresh.tx.count = self.tx.count;
        fresh.rx.reads_at_once = self.rx.reads_at_once;
        *self = fresh;
        self.listen();
    }

    /// Whether the connection was opened or attempted and has ended.
    fn is_over(&self) -> bool {
        self.state == State::Closed && (self.tx.window.nxt > 0 || self.failure.is_some())
    }

    /// Takes `octets` more to send; opens the connection where nobody did. One that is over takes
    /// none.
    pub(in crate::tcp) fn write(&mut self, octets: u64, cx: &mut Context<'_>) {
        if self.tx.window.closing || self.is_over() {
            return;
        }
        self.account_for(cx.now);
        self.tx.window.end = self.tx.window.end.saturating_add(octets);
        self.open(cx);
        self.output(cx);
        self.report(cx);
    }

    /// The application takes `octets` of what arrived.
    pub(in crate::tcp) fn read(&mut self, octets: u64, cx: &mut Context<'_>) {
        if self.rx.read(octets) && self.state.is_synchronised() {
            self.send_ack(cx);
        }
    }

    /// Whether short segments wait for the ACK of what is outstanding.
    pub(in crate::tcp) fn set_nagle(&mut self, nagle: bool, cx: &mut Context<'_>) {
        self.account_for(cx.now);
        self.tx.window.nagle = nagle;
        self.output(cx);
    }

    /// Whether short segments wait for more, whatever is outstanding.
    pub(in crate::tcp) fn set_cork(&mut self, corked: bool, cx: &mut Context<'_>) {
        self.account_for(cx.now);
        self.tx.window.corked = corked;
        self.output(cx);
    }

    /// Whether the next segments are acknowledged at once; what is owed leaves then.
    pub(in crate::tcp) fn set_quick_acks(&mut self, quick: bool, cx: &mut Context<'_>) {
        self.rx.ack_delay.set_quick(quick);
        if quick && !is_idle(self.rx.deadline) {
            self.send_ack(cx);
        }
    }

    /// Whether data is read as it comes, or waits for [`read`](Self::read).
    pub(in crate::tcp) fn set_reads_at_once(&mut self, at_once: bool) {
        self.rx.reads_at_once = at_once;
    }

    /// No more will be written (RFC 9293 §3.10.4).
    ///
    /// departs: RFC 9293 §3.10.4 - a CLOSE in SYN-SENT still sends what was written before.
    pub(in crate::tcp) fn close(&mut self, cx: &mut Context<'_>) {
        if self.tx.window.closing {
            return;
        }
        self.account_for(cx.now);
        match self.state {
            State::SynSent if self.tx.window.end > 1 => self.tx.window.closing = true,
            State::Closed | State::Listen | State::SynSent => self.end(),
            _ => {
                self.tx.window.closing = true;
                self.output(cx);
                self.report(cx);
            }
        }
    }

    /// Ends the connection at once (RFC 9293 §3.10.5).
    pub(in crate::tcp) fn abort(&mut self, cx: &mut Context<'_>) {
        if self.state.is_synchronised() && self.state != State::TimeWait
            || self.state == State::SynReceived
        {
            self.send_reset(cx);
        }
        self.end();
    }

    /// The connection is over.
    pub(super) fn end(&mut self) {
        self.state = State::Closed;
        self.tx.stop();
        self.rx.deadline = Time::NEVER;
        self.linger = Time::NEVER;
    }

    /// It is over because something failed.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.end();
    }

    /// Accounts for the sender's time since the last step.
    #[inline]
    pub(super) fn account_for(&mut self, now: Time) {
        self.tx.account_for(now, self.state != State::Closed);
    }

    /// Reports the congestion state where it changed, and somebody wants to know.
    #[inline]
    pub(super) fn report(&mut self, cx: &mut Context<'_>) {
        if cx.events.wanted().cwnd && self.state.is_synchronised() {
            self.report_change(cx);
        }
    }

    fn report_change(&mut self, cx: &mut Context<'_>) {
        let state = CwndState {
            cwnd_bytes: self.tx.cwnd.window.cwnd,
            ssthresh_bytes: self.tx.cwnd.window.ssthresh,
            flight_bytes: self.tx.window.flight(),
            dupacks: self.tx.loss.dupacks,
            in_recovery: self.tx.repair.phase.is_repairing(),
        };
        if self.reported != Some(state) {
            self.reported = Some(state);
            cx.events.report(cx.now, What::Cwnd { end: cx.end, state });
        }
    }
}
