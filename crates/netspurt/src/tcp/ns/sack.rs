//! Sack1: a count of the packets in the pipe, and a scoreboard.

use crate::segment::Cause;

use super::{Ack, Context, CwndAction, DUP_THRESH, NsSender};

impl NsSender {
    pub(super) fn sack_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.sack.in_recovery {
            self.sack_in_recovery(ack, cx);
            return self.sack_send(cx);
        }
        if ack.ack > self.last {
            self.new_ack(ack.ack, cx);
            self.open_window();
            self.sack.clear();
            self.sack.after_timeout = false;
        } else if ack.ack == self.last && !self.sack.after_timeout {
            self.sack_duplicate(ack, cx);
        }
        if self.dupacks == 0 {
            self.sack_send(cx);
        }
    }

    fn sack_duplicate(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if !self.sack.update(false, self.tx.una, ack) {
            return;
        }
        self.dupacks += 1;
        if self.dupacks < DUP_THRESH {
            self.limited_transmit(cx);
        } else if self.dupacks == DUP_THRESH && self.may_repair() {
            self.begin_repair(cx);
            let outstanding = self.tx.segs(self.tx.max - self.tx.una);
            self.sack.pipe_segs = outstanding.cast_signed() - i64::from(DUP_THRESH);
            self.sack.retransmitted = self.tx.una + self.tx.smss();
            self.cut_to_half();
            self.tx.send(self.last, Some(Cause::Fast), cx);
            self.sack.in_recovery = true;
        }
    }

    fn sack_in_recovery(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.sack.pipe_segs -= 1;
        if ack.ack >= self.recover {
            self.recover = 1 + self.tx.smss();
            self.sack.in_recovery = false;
            self.action = CwndAction::Exited;
            self.new_ack(ack.ack, cx);
            self.sack.clear();
        } else if ack.ack > self.tx.una {
            self.tx.una = ack.ack;
            self.sack.update(true, self.tx.una, ack);
            self.sack.pipe_segs -= 1;
            self.restart_timer(ack.ack, cx);
            self.tx.timer.progress(true);
        } else if self.sack.update(false, self.tx.una, ack) {
            self.dupacks += 1;
        }
    }

    /// What the timeout of sack1 does before the common part.
    pub(super) fn sack_before_timeout(&mut self) {
        self.dupacks = 0;
        self.sack.in_recovery = false;
        self.sack.after_timeout = true;
        self.last = self.last.max(self.tx.una);
        self.sack.clear();
    }

    /// Sends holes first, then new data: while the pipe is below the window in recovery, within
    /// the window otherwise.
    pub(super) fn sack_send(&mut self, cx: &mut Context<'_>) {
        let smss = self.tx.smss();
        let edge = |from: u64, segs: u64| from + segs * smss;
        loop {
            let window = self.whole_window_segs();
            let room = if self.sack.in_recovery {
                self.sack.pipe_segs < super::whole(self.cwnd_segs).cast_signed()
            } else {
                self.tx.nxt < edge(self.last, window)
            };
            if !room {
                break;
            }
            let seq = match self.sack.next_hole(self.tx.una) {
                Some(hole) => {
                    if self.recover <= 1 + smss || !self.in_receive_window(hole) {
                        break;
                    }
                    self.sack.retransmitted = hole + smss;
                    hole
                }
                None if self.tx.nxt >= self.tx.end => break,
                None if self.sack.in_recovery && self.in_receive_window(self.tx.nxt)
                    || !self.sack.in_recovery && self.tx.nxt < edge(self.tx.una, window) =>
                {
                    self.tx.nxt
                }
                None => break,
            };
            if seq == self.tx.nxt {
                self.send_next(cx);
            } else {
                self.tx.send(seq, Some(Cause::SackRecovery), cx);
                self.tx.nxt = self.tx.nxt.max((seq + smss).min(self.tx.end));
            }
            self.sack.pipe_segs += 1;
        }
    }
}
