//! The work of a connection at its deadlines.

use crate::rto::TimeoutKind;
use crate::units::Time;

use super::super::transmit::Context;
use super::deadlines::Due;
use super::due::Persisted;
use super::sender::Timeout;
use super::state::{Failure, State};
use super::tcb::Tcb;

impl Tcb {
    /// Does what is due at `now`, one thing at a time.
    pub(in crate::tcp) fn on_deadline(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        self.account_for(now);
        if self.rx.deadline <= now {
            self.rx.ack_delay.on_wait_over(self.tx.timer.rto());
            self.send_ack(cx);
        } else if let Some(due) = self.tx.deadlines.due(now) {
            self.on_due(due, cx);
        } else if self.linger <= now {
            self.end();
        } else if self.tx.timer.deadline() <= now {
            self.on_timeout(cx);
        }
        if self.state.may_send() {
            self.tx.look_at_hold(now);
        }
        self.report(cx);
    }

    /// Something beside the retransmission timer is due.
    fn on_due(&mut self, due: Due, cx: &mut Context<'_>) {
        match due {
            Due::Pace => {
                self.tx.deadlines.pace = Time::NEVER;
                self.output(cx);
            }
            Due::Reorder => {
                self.tx.on_reorder_timer(cx.now);
                self.output(cx);
            }
            Due::TailProbe => {
                let probe = self.tx.send_tail_probe(cx.now);
                self.depart(probe, cx);
            }
            Due::Sfr => {
                let head = self.tx.send_sfr(cx.now);
                self.depart(head, cx);
            }
            Due::Persist => match self.tx.persist(cx.now) {
                Persisted::Send(octets) => self.depart(Some(octets), cx),
                Persisted::Probe => self.send_window_probe(cx),
                Persisted::GiveUp => self.fail(Failure::TimedOut),
            },
        }
    }

    /// The retransmission timer fired.
    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        let kind = match self.state {
            State::SynSent => TimeoutKind::Syn,
            State::SynReceived => TimeoutKind::SynAck,
            _ => TimeoutKind::Rto,
        };
        match self.tx.on_timeout(kind, cx) {
            Timeout::Idle => {}
            Timeout::GiveUp => self.fail(Failure::TimedOut),
            Timeout::Opening => self.retransmit_syn(cx),
            Timeout::Repair => {
                self.output(cx);
                self.tx.arm_timer(cx.now);
            }
        }
    }
}
