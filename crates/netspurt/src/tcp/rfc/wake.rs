//! Carries out the work of a connection when one of its deadlines is reached.

use crate::rto::TimeoutKind;

use super::super::context::Context;
use super::due::{Persisted, Timeout};
use super::merged::take_merged;
use super::send_timers::Due;
use super::state::{Failure, TcpState};
use super::tcb::Tcb;

impl Tcb {
    /// Carries out one action that is due at `cx.now`. If several actions are due, the order of the
    /// branches in the code decides which action comes first.
    pub(in crate::tcp) fn on_deadline(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        self.account_for(now);
        if self.merging.deadline() <= now {
            take_merged(self, cx);
        } else if self.rx.deadline <= now {
            self.rx.on_wait_over(self.tx.timers.retransmission.rto());
            self.send_ack(cx);
        } else if let Some(due) = self.tx.timers.due(now) {
            self.on_due(due, cx);
        } else if self.life.deadline() <= now {
            self.end();
        } else if self.tx.timers.retransmission.deadline() <= now {
            self.on_timeout(cx);
        }
        if self.life.state().may_send() {
            self.tx.update_hold(now);
        }
        self.report(cx);
    }

    /// Carries out the work of a timer other than the retransmission timer.
    fn on_due(&mut self, due: Due, cx: &mut Context<'_>) {
        match due {
            Due::Pace => {
                self.tx.timers.pace(None);
                self.output(cx);
            }
            Due::Reordering => {
                self.tx.on_reorder_timer(cx.now);
                if !self.config.rack_timer_delivers {
                    return self.output(cx);
                }
                while let Some(copy) = self.tx.next(true, cx.now) {
                    self.depart(Some(copy), cx);
                }
            }
            Due::TailProbe => {
                let probe = self.tx.send_tail_probe(cx.now);
                self.depart(probe, cx);
            }
            Due::SuperFast => {
                let head = self.tx.send_super_fast(cx.now);
                self.depart(head, cx);
            }
            Due::Persist => match self.tx.persist(cx.now) {
                Persisted::Send(octets) => self.depart(Some(octets), cx),
                Persisted::Probe => self.send_window_probe(cx),
                Persisted::Refused => {}
                Persisted::GiveUp => self.fail(Failure::TimedOut),
            },
        }
    }

    /// Carries out the work of the retransmission timer.
    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        let kind = match self.life.state() {
            TcpState::SynSent => TimeoutKind::Syn,
            TcpState::SynReceived => TimeoutKind::SynAck,
            _ => TimeoutKind::Rto,
        };
        match self.tx.on_timeout(kind, cx) {
            Timeout::Idle => {}
            Timeout::GiveUp => self.fail(Failure::TimedOut),
            Timeout::Opening => self.retransmit_syn(cx),
            Timeout::Repair => {
                self.output(cx);
                self.tx.timers.arm(&self.tx.recovery.loss.scoreboard, cx.now);
            }
        }
    }
}
