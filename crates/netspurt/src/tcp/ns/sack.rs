//! Sack1: a count of what is in the pipe, and a scoreboard of what arrived.

use crate::segment::Cause;

use super::{Ack, Action, Context, DUP_THRESH, NsSender};
use crate::ranges::Ranges;

/// What the receiver reported, and how far the holes have been resent.
#[derive(Debug, Default)]
pub(super) struct SackBoard {
    arrived: Ranges,
    /// Holes below this were resent in this recovery; 0 for none.
    resent: u64,
    pub(super) in_recovery: bool,
    /// Duplicates mean nothing between a timeout and the next new ACK.
    after_timeout: bool,
    pipe_segs: i64,
}

impl SackBoard {
    fn clear(&mut self) {
        self.arrived.clear();
        self.resent = 0;
    }

    /// Takes in the blocks of an ACK; whether they say anything new.
    fn update(&mut self, moved: bool, una: u64, ack: &Ack<'_>) -> bool {
        let total = self.arrived.total();
        self.arrived.remove_below(una);
        for (left, right) in ack.ranges(una) {
            self.arrived.insert(left.max(una), right.max(una));
        }
        self.arrived.total() != total || moved && !self.arrived.is_empty()
    }

    /// The first octet not reported below the highest reported one, and not yet resent.
    fn next_hole(&self, una: u64) -> Option<u64> {
        let from = self.resent.max(una);
        let hole = self.arrived.holding(from).map_or(from, |range| range.1);
        (hole < self.arrived.top()?).then_some(hole)
    }
}

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
            self.sack.resent = self.tx.una + self.tx.smss();
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
            self.action = Action::Exited;
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
                    self.sack.resent = hole + smss;
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
