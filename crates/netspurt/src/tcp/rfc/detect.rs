//! Which outstanding segments are lost.

use crate::segment::Cause;
use crate::units::{Duration, Time};

use super::super::config::Recovery;
use super::super::transmit::Context;
use super::Tcb;
use super::rack::Circumstances;
use super::repair::Phase;

impl Tcb {
    /// Marks what the connection's rule calls lost.
    pub(super) fn detect(&mut self, cx: &Context<'_>) {
        if !self.uses_sack() {
            return self.detect_by_duplicates();
        }
        match self.config.recovery {
            Recovery::Rack => self.detect_by_time(cx.now),
            Recovery::Fack => self.detect_by_forward_ack(),
            _ => self.detect_by_blocks(),
        }
    }

    /// The third duplicate tells that the head is lost (RFC 5681 §3.2), once for each window
    /// (RFC 6582 §3.2 step 1).
    ///
    /// departs: RFC 5681 §3.2 - after a timeout Reno, too, takes no duplicates for a loss until
    /// all that was outstanding is acknowledged; the resends themselves cause such duplicates.
    fn detect_by_duplicates(&mut self) {
        let repairing = self.repair.phase.is_repairing();
        let once = self.config.recovery != Recovery::Reno;
        let older = once && self.una < self.repair.recover;
        if !repairing
            && self.repair.dupacks >= self.dup_thresh()
            && !older
            && !self.board.is_empty()
        {
            self.board.lose(0, Cause::Fast);
        }
    }

    /// As many duplicates as tell a loss; fewer where fewer can come (RFC 5827 §3).
    fn dup_thresh(&self) -> u32 {
        let usual = self.config.dup_thresh;
        let segs = (self.board.len() as u64).saturating_sub(self.segs(self.repair.limited));
        let nothing_new = self.unsent() == 0 || self.peer_window <= self.flight();
        if self.config.early_retransmit && segs < 4 && nothing_new {
            usual.min(u32::try_from(segs.saturating_sub(1)).unwrap_or(usual).max(1))
        } else {
            usual
        }
    }

    /// IsLost of RFC 6675 §4: enough runs, or enough octets, were reported above.
    fn detect_by_blocks(&mut self) {
        let thresh = self.dup_thresh();
        let enough = u64::from(thresh.saturating_sub(1)) * self.smss;
        let (mut runs, mut octets, mut edge) = (0, 0, 0);
        for (left, right) in self.board.arrived().iter().rev() {
            runs += 1;
            octets += right - left;
            if runs >= thresh || octets > enough {
                edge = left;
                break;
            }
        }
        let first = self.repair.phase != Phase::Recovery;
        self.lose_below(edge, first);
        let head_missing = self.board.front().is_some_and(|head| head.lost.is_none());
        if first
            && self.repair.phase != Phase::Loss
            && self.repair.dupacks >= thresh
            && head_missing
        {
            self.board.lose(0, Cause::Fast);
        }
    }

    /// Everything below the forward ACK is lost once it is far enough ahead (Mathis and Mahdavi
    /// 1996, §3).
    fn detect_by_forward_ack(&mut self) {
        let Some(fack) = self.board.fack() else { return };
        let ahead = fack.saturating_sub(self.una);
        let thresh = self.dup_thresh();
        let repairing = self.repair.phase.is_repairing();
        if repairing || ahead > u64::from(thresh) * self.smss || self.repair.dupacks >= thresh {
            self.lose_below(fack, !repairing);
        }
    }

    fn lose_below(&mut self, edge: u64, starts: bool) {
        let mut starts = starts && self.repair.phase != Phase::Loss;
        self.board.lose_below(edge, || {
            if core::mem::take(&mut starts) { Cause::Fast } else { Cause::SackRecovery }
        });
    }

    /// What RACK judges by, once there is a round trip.
    fn circumstances(&self, now: Time, repairing: bool) -> Option<Circumstances> {
        let min_rtt = self.min_rtt?;
        let srtt = self.srtt.unwrap_or(min_rtt);
        let eager = repairing || self.board.sacked_segs() >= self.dup_thresh() as usize;
        let window_percent = self.config.reorder_window_percent;
        Some(Circumstances { now, min_rtt, srtt, window_percent, eager })
    }

    /// A timeout under RACK: the head is lost, and what left long enough ago; the rest may be on
    /// its way (RFC 8985 §6.3).
    pub(super) fn lose_on_timeout(&mut self, now: Time) {
        let Some(with) = self.circumstances(now, false) else {
            return self.board.lose_all(Cause::GoBackN);
        };
        let late = self.rack.late(&with);
        for place in 0..self.board.len() {
            if place == 0 || self.board.get(place).at + late <= now {
                self.board.lose(place, Cause::GoBackN);
            }
        }
    }

    /// RFC 8985 §6.2 step 5; what is not late yet will be looked at again when it is.
    fn detect_by_time(&mut self, now: Time) {
        if self.board.is_orderly() {
            // Everything outstanding left after what has arrived.
            self.deadlines.reorder = Time::NEVER;
            return;
        }
        let repairing = self.repair.phase.is_repairing();
        let Some(with) = self.circumstances(now, repairing) else { return };
        let wait: Option<Duration> = self.rack.detect(&mut self.board, &with);
        let due = |wait| self.config.timer_clock.expiry(now, wait + self.config.timer_slack);
        self.deadlines.reorder = wait.map_or(Time::NEVER, due);
        if wait.is_some() {
            // RFC 8985 §8: one of the two timers at a time.
            self.deadlines.tlp = Time::NEVER;
        }
    }
}
