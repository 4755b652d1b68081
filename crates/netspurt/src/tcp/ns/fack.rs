//! Fack (forward acknowledgment), a sender of the network simulator ns-2. The sender computes the
//! outstanding data from `forward`, the octet after the highest octet known to have arrived.

use crate::sample::{RttSample, SampleSource};
use crate::segment::Cause;

use super::{Ack, Context, CwndAction, DUP_THRESH, NsSender};

impl NsSender {
    pub(super) fn fack_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.fack.in_recovery {
            self.fack_in_recovery(ack, cx);
            return self.fack_send(cx);
        }
        if ack.ack > self.last && ack.blocks.is_empty() {
            self.new_ack(ack, cx);
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
                // `recover` becomes the end of the next packet to be sent (`recover_ = t_seqno_`).
                self.recover = self.tx.nxt + self.tx.smss();
                self.action = CwndAction::DupAck;
                self.tx.count.fast_retransmits += 1;
                self.cut_to_one();
                self.tx.timer.arm(cx.now);
                self.tx.stop_timing();
                self.fack.in_recovery = true;
                self.fack_retransmit(self.last, Cause::Fast, cx);
            }
        }
        if self.dupacks == 0 {
            self.fack_send(cx);
        }
    }

    /// Moves `una` (the oldest octet that is not acknowledged), restarts the timer and takes the
    /// sample of the round trip. In recovery, the sender calls this method on each ACK. Outside of
    /// recovery, it calls this method on duplicate ACKs, and on new ACKs with SACK blocks. The
    /// sample is taken even if the segment was retransmitted, because fack does not follow Karn's
    /// rule.
    fn fack_old_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        let acked = ack.ack.saturating_sub(self.tx.una);
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
        // As in ns-2, an ACK that arrives out of order is also processed, and moves the field
        // `last` (the number of the last ACK) back.
        self.fack_old_ack(ack, cx);
        self.advance_forward(ack);
        self.fack.update(self.tx.una, ack);
        self.open_window();
        if ack.blocks.is_empty() && self.last >= self.recover {
            self.fack.in_recovery = false;
            self.fack.clear();
            self.fack.stopped = false;
            self.dupacks = 0;
            self.action = CwndAction::Exited;
        }
    }

    fn fack_retransmit(&mut self, seq: u64, cause: Cause, cx: &mut Context<'_>) {
        self.fack.retransmitted.push_back((seq, self.tx.nxt));
        self.send(seq, cause, cx);
    }

    pub(super) fn fack_send(&mut self, cx: &mut Context<'_>) {
        let smss = self.tx.smss();
        while !self.fack.stopped {
            let edge = self.fack.forward + self.whole_window_segs() * smss;
            if self.tx.nxt + self.fack.retransmitted.len() as u64 * smss >= edge {
                break;
            }
            if let Some(hole) = self.fack.next_hole(self.tx.una, smss) {
                self.fack_retransmit(hole, Cause::SackRecovery, cx);
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
        if self.tx.outstanding() {
            self.fack.stopped = false;
            self.last = self.last.max(self.tx.una);
            self.cut_to_one();
            self.fack.clear();
            self.back_off(cx);
            self.tx.timer.arm(cx.now);
            self.tx.stop_timing();
            self.action = CwndAction::Timeout;
            self.fack.forward = self.last;
            self.tx.nxt = self.last;
            self.retransmission_cause = self.tx.cause_after_timeout();
        } else {
            self.cwnd_segs = f64::from(self.config.initial_window_segs);
            self.tx.timer.stop();
        }
        self.fack_send(cx);
    }
}
