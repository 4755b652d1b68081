//! Tahoe, a sender of the network simulator ns-2: the third duplicate ACK restarts slow start from
//! one segment.

use crate::segment::Cause;

use super::{Ack, Context, DUP_THRESH, NsSender};

impl NsSender {
    pub(super) fn tahoe_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if ack.ack > self.last {
            self.acked_in_order(ack, cx);
        } else if ack.ack == self.last {
            self.count_duplicate();
            if self.dupacks < DUP_THRESH {
                self.limited_transmit(cx);
            } else if self.dupacks == DUP_THRESH && self.may_repair() {
                self.begin_repair(cx);
                self.cut_to_one();
                self.tx.nxt = self.tx.una;
                self.retransmission_cause = Cause::Fast;
            }
        }
        // Every ACK may release segments, even a duplicate or an old ACK.
        self.send_in_window(u64::MAX, cx);
    }
}
