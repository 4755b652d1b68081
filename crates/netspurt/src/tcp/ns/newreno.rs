//! Newreno, a sender of the network simulator ns-2: on each partial ACK, the sender repairs one
//! more loss (RFC 2582).

use crate::segment::Cause;

use super::{Ack, Context, CwndAction, DUP_THRESH, NsSender};

/// The maximum number of segments that newreno sends within its window on one ACK while three or
/// more duplicate ACKs are counted (`MAXBURST`). The retransmission of a loss on this ACK does not
/// count.
const RECOVERY_BURST: u64 = 2;

impl NsSender {
    pub(super) fn newreno_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if ack.ack > self.last {
            if ack.ack < self.recover && self.action == CwndAction::DupAck {
                self.partial_ack(ack.ack, cx);
            } else {
                self.full_ack(ack, cx);
            }
        } else if ack.ack == self.last {
            let is_repeat = self.dupacks + 1 == DUP_THRESH && self.repairs_again();
            self.duplicate(is_repeat, cx);
        }
        if self.dupacks == 0 {
            self.send_in_window(u64::MAX, cx);
        } else if self.dupacks >= DUP_THRESH {
            self.send_in_window(RECOVERY_BURST, cx);
        }
    }

    fn full_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.inflation_segs > 0 {
            self.end_inflation();
            if self.config.newreno.exit_fix {
                let outstanding = self.tx.segs(self.tx.max.saturating_sub(ack.ack)) + 1;
                let segs = u64::from(self.ssthresh_segs).min(outstanding);
                self.cwnd_segs = f64::from(u32::try_from(segs).unwrap_or(u32::MAX));
            }
        }
        self.first_partial = false;
        self.acked_in_order(ack, cx);
    }

    /// Whether the third duplicate ACK starts a repair although the switch `bugfix` would forbid
    /// it.
    fn repairs_again(&self) -> bool {
        let rules = &self.config.newreno;
        let moved = || self.tx.segs(self.tx.una - self.previous_una);
        let acked_last = || (self.tx.una > 1).then(|| self.tx.start_of(self.tx.una));
        rules.less_careful && self.tx.una == self.recover
            || rules.bugfix_ts && acked_last().is_some_and(|seq| self.stamps.echoes_last_of(seq))
            || rules.bugfix_ack && self.cwnd_segs > 1.0 && moved() <= u64::from(DUP_THRESH)
    }

    /// Processes a partial ACK: after this ACK, some losses of the window are still unrepaired. The
    /// count of duplicate ACKs does not change.
    fn partial_ack(&mut self, ack: u64, cx: &mut Context<'_>) {
        let rules = self.config.newreno;
        if !rules.impatient || !self.first_partial {
            self.restart_timer(ack, cx);
            self.first_partial = true;
        }
        if rules.deflates {
            self.deflate(self.tx.segs(ack - self.last));
        } else {
            self.inflation_segs = 0;
        }
        self.last = ack;
        self.tx.una = ack;
        self.tx.nxt = self.tx.nxt.max(ack);
        self.tx.stop_timing_covered(ack);
        self.send(ack, Cause::Fast, cx);
    }

    /// Reduces the inflated cwnd by the number of acknowledged segments minus one, because one
    /// segment is sent. cwnd itself remains at least one segment.
    #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^53 segments")]
    fn deflate(&mut self, acked: u64) {
        if self.inflation_segs > acked {
            self.inflation_segs -= acked - 1;
        } else {
            self.cwnd_segs -= (acked - self.inflation_segs) as f64;
            self.inflation_segs = 1;
        }
        self.cwnd_segs = self.cwnd_segs.max(1.0);
    }
}
