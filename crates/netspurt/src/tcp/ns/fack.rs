//! Fack: what is outstanding is told by the highest octet that is known to have arrived.

use std::collections::VecDeque;

use crate::sample::{RttSample, SampleSource};
use crate::segment::Cause;

use super::{Ack, Action, Context, DUP_THRESH, NsSender};
use crate::ranges::Ranges;

/// What the receiver reported, and what was resent since.
#[derive(Debug)]
pub(super) struct FackBoard {
    arrived: Ranges,
    /// Resent and not known to have arrived: where it starts, and `nxt` when it was resent.
    resent: VecDeque<(u64, u64)>,
    /// The octet after the highest known to have arrived.
    forward: u64,
    pub(super) in_recovery: bool,
    /// A resend was lost again: nothing goes out until a timeout or the end of recovery.
    stopped: bool,
}

impl FackBoard {
    pub(super) fn new(una: u64) -> Self {
        Self {
            arrived: Ranges::default(),
            resent: VecDeque::new(),
            forward: una,
            in_recovery: false,
            stopped: false,
        }
    }

    fn clear(&mut self) {
        self.arrived.clear();
        self.resent.clear();
    }

    /// Takes in an ACK up to `una` and its blocks. A resend counts as lost again once a block
    /// ends beyond what was next to send when it went out.
    fn update(&mut self, una: u64, ack: &Ack<'_>) {
        self.arrived.remove_below(una);
        for (left, right) in ack.ranges(una) {
            self.arrived.insert(left.max(una), right.max(una));
        }
        let top = ack.ranges(una).map(|(_, right)| right).max().unwrap_or(0);
        let arrived = &self.arrived;
        self.resent.retain(|(seq, _)| *seq >= una && arrived.holding(*seq).is_none());
        let outstanding = self.resent.len();
        self.resent.retain(|(_, nxt)| top <= *nxt);
        self.stopped |= self.resent.len() < outstanding;
    }

    /// The first octet below the forward ACK that neither arrived nor was resent.
    fn next_hole(&self, una: u64, smss: u64) -> Option<u64> {
        let top = self.arrived.top()?;
        let mut at = una;
        while at < top {
            if let Some((_, right)) = self.arrived.holding(at) {
                at = right;
            } else if self.resent.iter().any(|(seq, _)| *seq == at) {
                at += smss;
            } else {
                return Some(at);
            }
        }
        None
    }
}

impl NsSender {
    pub(super) fn fack_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.fack.in_recovery {
            self.fack_in_recovery(ack, cx);
            return self.fack_send(cx);
        }
        if ack.ack > self.last && ack.blocks.is_empty() {
            self.new_ack(ack.ack, cx);
            self.open_window();
            self.fack.forward = self.last;
            self.fack.stopped = false;
            self.fack.clear();
        } else if ack.ack >= self.last {
            self.fack_old_ack(ack, cx);
            self.fack.update(self.tx.una, ack);
            self.advance_forward(ack);
            let above = self.tx.segs(self.fack.forward - self.last).saturating_sub(1);
            self.dupacks = u32::try_from(above).unwrap_or(u32::MAX);
            if self.dupacks >= DUP_THRESH {
                // Up to and including what is next to send (`recover_ = t_seqno_`).
                self.recover = self.tx.nxt + self.tx.smss();
                self.action = Action::DupAck;
                self.tx.count.fast_retransmits += 1;
                self.cut_to_one();
                self.tx.timer.arm(cx.now);
                self.tx.stop_timing();
                self.fack.in_recovery = true;
                self.fack_resend(self.last, Cause::Fast, cx);
            }
        }
        if self.dupacks == 0 {
            self.fack_send(cx);
        }
    }

    /// Progress, the timer and a sample, on every ACK: fack has no Karn rule.
    fn fack_old_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        let acked = ack.ack - self.tx.una.min(ack.ack);
        self.last = ack.ack;
        self.tx.una = self.tx.una.max(ack.ack);
        self.fack.forward = self.fack.forward.max(self.last);
        self.tx.nxt = self.tx.nxt.max(self.last);
        self.restart_timer(ack.ack, cx);
        self.tx.stop_timing_covered(ack.ack);
        let sample = self.tx.label(ack.ack, acked);
        let sample = RttSample { sent: ack.echo, source: SampleSource::Echo, ..sample };
        self.tx.timer.sample(sample, cx);
    }

    fn advance_forward(&mut self, ack: &Ack<'_>) {
        let top = ack.ranges(self.tx.una).map(|(_, right)| right).max().unwrap_or(0);
        self.fack.forward = self.fack.forward.max(top);
        self.tx.nxt = self.tx.nxt.max(self.fack.forward);
    }

    fn fack_in_recovery(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if ack.ack >= self.last {
            self.fack_old_ack(ack, cx);
        }
        self.advance_forward(ack);
        self.fack.update(self.tx.una, ack);
        self.open_window();
        if ack.blocks.is_empty() && self.last >= self.recover {
            self.fack.in_recovery = false;
            self.fack.clear();
            self.fack.stopped = false;
            self.dupacks = 0;
            self.action = Action::Exited;
        }
    }

    fn fack_resend(&mut self, seq: u64, cause: Cause, cx: &mut Context<'_>) {
        self.fack.resent.push_back((seq, self.tx.nxt));
        self.tx.send(seq, Some(cause), cx);
    }

    pub(super) fn fack_send(&mut self, cx: &mut Context<'_>) {
        let smss = self.tx.smss();
        while !self.fack.stopped {
            let edge = self.fack.forward + self.whole_window_segs() * smss;
            if self.tx.nxt + self.fack.resent.len() as u64 * smss >= edge {
                break;
            }
            if let Some(hole) = self.fack.next_hole(self.last, smss) {
                self.fack_resend(hole, Cause::SackRecovery, cx);
            } else if self.tx.nxt >= self.tx.end
                || self.fack.in_recovery && !self.in_receive_window(self.tx.nxt)
            {
                break;
            } else {
                self.send_next(cx);
            }
        }
    }

    pub(super) fn fack_timeout(&mut self, cx: &mut Context<'_>) {
        self.forget_initial_window();
        if self.tx.outstanding() {
            self.fack.stopped = false;
            self.last = self.last.max(self.tx.una);
            self.cut_to_one();
            self.fack.clear();
            self.back_off(cx);
            self.tx.timer.arm(cx.now);
            self.tx.stop_timing();
            self.action = Action::Timeout;
            self.fack.forward = self.last;
            self.tx.nxt = self.last;
            self.resend_cause = Cause::Rto;
        } else {
            self.cwnd_segs = f64::from(self.initial_window_segs);
            self.tx.timer.arm(cx.now);
        }
        self.fack_send(cx);
    }
}
