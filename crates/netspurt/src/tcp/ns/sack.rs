//! Sack1, a sender of the network simulator ns-2. The sender counts the packets in the network (the
//! pipe), and keeps a scoreboard.

use crate::segment::Cause;

use super::{Ack, Context, CwndAction, DUP_THRESH, NsSender};

impl NsSender {
    pub(super) fn sack_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.sack.in_recovery {
            self.sack_in_recovery(ack, cx);
            return self.sack_send(cx);
        }
        if ack.ack > self.last {
            self.sack.first_partial = false;
            self.acked_in_order(ack, cx);
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
        let news = self.sack.update(false, self.tx.una, ack);
        if news {
            self.sack_news(cx);
        }
        self.frto_on_blocks(news, ack);
    }

    fn sack_news(&mut self, cx: &mut Context<'_>) {
        self.dupacks += 1;
        if self.dupacks < DUP_THRESH {
            self.limited_transmit(cx);
        } else if self.dupacks == DUP_THRESH && self.may_repair() {
            self.begin_repair(cx);
            let outstanding = self.tx.segs(self.tx.max - self.tx.una);
            self.sack.pipe_segs = outstanding.cast_signed() - i64::from(DUP_THRESH);
            self.sack.retransmitted = self.tx.una + self.tx.smss();
            self.cut_to_half();
            self.send(self.last, Cause::Fast, cx);
            self.sack.in_recovery = true;
        }
    }

    fn sack_in_recovery(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.sack.pipe_segs -= 1;
        if ack.ack >= self.recover {
            self.recover = self.tx.second();
            self.sack.in_recovery = false;
            self.action = CwndAction::Exited;
            self.new_ack(ack, cx);
            self.sack.clear();
        } else if ack.ack > self.tx.una {
            self.tx.una = ack.ack;
            self.sack.update(true, self.tx.una, ack);
            self.sack_partial_ack(ack.ack, cx);
        } else if self.sack.update(false, self.tx.una, ack) {
            self.dupacks += 1;
        }
    }

    /// Processes a partial ACK: after this ACK, some losses of the window are still unrepaired. The
    /// ACK takes two packets out of the pipe. With the switch `partial_ack_sends` the sender also
    /// sends two packets, and only the first partial ACK of a recovery restarts the timer.
    fn sack_partial_ack(&mut self, ack: u64, cx: &mut Context<'_>) {
        let sends = self.config.partial_ack_sends;
        if sends {
            self.send_next_holes(cx);
            self.sack.pipe_segs += 1;
        } else {
            self.sack.pipe_segs -= 1;
        }
        if !sends || !self.sack.first_partial {
            self.restart_timer(ack, cx);
            self.tx.timer.progress(true);
            self.sack.first_partial = true;
        }
    }

    /// Sends the next two packets that no SACK block has reported. This method sends no packet
    /// twice.
    fn send_next_holes(&mut self, cx: &mut Context<'_>) {
        self.sack.next_hole = self.sack.next_hole.max(self.tx.una);
        for _ in 0..2 {
            let seq = self.sack.after_block(self.sack.next_hole);
            self.tx.nxt = self.tx.nxt.max(seq);
            self.send(seq, Cause::SackRecovery, cx);
            self.sack.next_hole = seq + self.tx.smss();
            self.sack.retransmitted = self.sack.retransmitted.max(self.sack.next_hole);
        }
    }

    /// Carries out sack1's own part of a timeout. The part that all senders share comes after this
    /// part. Returns whether the timeout ends a repair.
    pub(super) fn sack_before_timeout(&mut self) -> bool {
        self.dupacks = 0;
        let repairing = core::mem::take(&mut self.sack.in_recovery);
        self.sack.after_timeout = true;
        self.last = self.last.max(self.tx.una);
        self.sack.clear();
        repairing
    }

    /// Sends lost packets (holes) first, then new data. In recovery, the sender sends while the
    /// pipe is below cwnd. Otherwise it sends within the window.
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
            let seq = match self.sack.hole_to_send(self.tx.una) {
                Some(hole) => {
                    if self.recover <= self.tx.second() || !self.in_receive_window(hole) {
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
                self.send(seq, Cause::SackRecovery, cx);
                self.tx.nxt = self.tx.nxt.max((seq + smss).min(self.tx.end));
            }
            self.sack.pipe_segs += 1;
        }
    }
}
