//! Reno, a sender of the network simulator ns-2: a loss halves cwnd, and duplicate ACKs inflate
//! cwnd until the next new ACK.

use crate::segment::Cause;

use super::{Ack, Context, CwndAction, DUP_THRESH, NsSender};

impl NsSender {
    pub(super) fn reno_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if ack.ack > self.last {
            self.end_inflation();
            self.acked_in_order(ack, cx);
        } else if ack.ack == self.last {
            let is_repeat = self.action == CwndAction::DupAck;
            self.duplicate(is_repeat, cx);
        }
        if self.dupacks == 0 || self.dupacks >= DUP_THRESH {
            self.send_in_window(u64::MAX, cx);
        }
    }

    pub(super) fn end_inflation(&mut self) {
        if self.action == CwndAction::DupAck {
            self.action = CwndAction::Exited;
        }
        self.inflation_segs = 0;
    }

    /// Processes a duplicate ACK in reno and newreno. With `is_repeat`, the third duplicate ACK
    /// starts a repair even if [`may_repair`](Self::may_repair) is false.
    pub(super) fn duplicate(&mut self, is_repeat: bool, cx: &mut Context<'_>) {
        self.count_duplicate();
        if self.dupacks < DUP_THRESH {
            self.limited_transmit(cx);
        } else if self.dupacks > DUP_THRESH {
            if self.action == CwndAction::DupAck {
                self.inflation_segs += 1;
            }
        } else if is_repeat || self.may_repair() {
            self.begin_repair(cx);
            self.cut_to_half();
            self.send(self.tx.una, Cause::Fast, cx);
            self.inflation_segs = u64::from(DUP_THRESH);
        }
    }
}
