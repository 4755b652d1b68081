//! Newreno: partial ACKs each repair one more loss (RFC 2582's slow-but-steady variant).

use crate::segment::Cause;

use super::{Ack, Context, CwndAction, DUP_THRESH, NsSender};

/// Most segments sent on one ACK while repairing (`MAXBURST` of newreno's send step).
const RECOVERY_BURST: u64 = 2;

impl NsSender {
    pub(super) fn newreno_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if ack.ack > self.last {
            if ack.ack < self.recover && self.action == CwndAction::DupAck {
                self.partial_ack(ack.ack, cx);
            } else {
                if self.inflation_segs > 0 {
                    self.end_inflation();
                }
                self.first_partial = false;
                self.new_ack(ack.ack, cx);
                self.open_window();
            }
        } else if ack.ack == self.last {
            self.duplicate(false, cx);
        }
        if self.dupacks == 0 {
            self.send_in_window(u64::MAX, cx);
        } else if self.dupacks >= DUP_THRESH {
            self.send_in_window(RECOVERY_BURST, cx);
        }
    }

    /// An ACK that leaves losses of the window unrepaired. The timer is restarted by the first
    /// of them only, and the duplicates stay counted.
    #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^53 segments")]
    fn partial_ack(&mut self, ack: u64, cx: &mut Context<'_>) {
        if !self.first_partial {
            self.restart_timer(ack, cx);
            self.first_partial = true;
        }
        let acked = self.tx.segs(ack - self.last);
        if self.inflation_segs > acked {
            self.inflation_segs -= acked - 1;
        } else {
            self.cwnd_segs -= (acked - self.inflation_segs) as f64;
            self.inflation_segs = 1;
        }
        self.cwnd_segs = self.cwnd_segs.max(1.0);
        self.last = ack;
        self.tx.una = ack;
        self.tx.nxt = self.tx.nxt.max(ack);
        self.tx.stop_timing_covered(ack);
        self.tx.send(ack, Some(Cause::Fast), cx);
    }
}
