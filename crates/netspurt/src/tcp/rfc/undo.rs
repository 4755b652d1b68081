//! Resends that prove needless, and what is restored then.

use crate::segment::Cause;

use super::super::transmit::Context;
use super::Tcb;
use super::ack::{News, is_before};
use super::config::Undo;
use super::repair::{Frto, Phase};

impl Tcb {
    /// A segment that ends at `end` went out again: kept for the proofs that it need not have.
    /// Only of the oldest outstanding, sent again for the first time, will the next ACK's echo
    /// tell which copy it answers: then `stamp` is its own.
    pub(super) fn note_resend(&mut self, end: u64, cause: Cause, stamp: Option<u32>) {
        self.repair.resent_end = self.repair.resent_end.max(end);
        if let Some(prior) = &mut self.repair.prior
            && cause != Cause::Tlp
        {
            if !prior.resent {
                prior.first_stamp = stamp;
            }
            prior.unreported += 1;
            prior.resent = true;
            prior.end = prior.end.max(end);
        }
    }

    /// Looks whether the ACK proves the last resends needless.
    pub(super) fn watch_for_spurious(&mut self, news: &News, cx: &mut Context<'_>) {
        let by_stamp = news.acked > 0 && self.proved_by_stamp(news);
        let by_frto = self.step_frto(news);
        let by_reports = self.config.dsack_undo && core::mem::take(&mut self.repair.all_reported);
        if by_stamp || by_frto || by_reports {
            self.undo(news, cx);
        }
    }

    /// The first ACK after the first resend echoes an older stamp: it answers the original
    /// (RFC 3522 §3.2).
    fn proved_by_stamp(&mut self, news: &News) -> bool {
        let Some(prior) = &mut self.repair.prior else { return false };
        let Some(stamp) = prior.first_stamp.take() else { return false };
        self.config.eifel && news.echo.is_some_and(|echo| echo > 0 && is_before(echo, stamp))
    }

    /// RFC 5682: after a timeout, ACKs of octets that were never sent again tell that the
    /// originals are arriving. Without SACK it takes two that move the window (§2.1); with SACK
    /// one that covers such an octet, in order or not, behind the first that moves it (§3.1):
    /// that one may cover what had arrived before the timeout and whose ACK was lost.
    fn step_frto(&mut self, news: &News) -> bool {
        let step = self.repair.frto;
        if step == Frto::Off {
            return false;
        }
        if self.una >= self.repair_point() {
            // All is acknowledged at once: nothing can be told.
            self.repair.frto = Frto::Off;
            return false;
        }
        let (spurious, genuine) = if self.uses_sack() {
            let may_tell = step == Frto::SentNew || self.config.frto_at_once;
            (may_tell && news.covers_original, step == Frto::SentNew && news.sacked > 0)
        } else {
            (step == Frto::SentNew && news.acked > 0, news.duplicate)
        };
        let new_data = self.unsent() > 0 && self.peer_window > self.flight();
        if spurious || genuine || news.acked > 0 && !new_data {
            self.repair.frto = Frto::Off;
        } else if news.acked > 0 {
            self.repair.frto = Frto::SentNew;
        }
        spurious
    }

    /// A duplicate is reported: of a probe, of a resend, or of a link's making. Only one of what
    /// the repair sent again counts against it, and none once a link was seen to make them.
    pub(super) fn take_duplicate_report(&mut self, news: &News) {
        let Some((left, right)) = news.dsack else { return };
        self.rack.on_dsack(self.una, self.nxt);
        self.repair.path_duplicates |= left >= self.repair.resent_end;
        let Some(prior) = &mut self.repair.prior else { return };
        let own = left >= prior.una && right <= prior.end && !self.repair.path_duplicates;
        if own && prior.unreported > 0 {
            prior.unreported -= 1;
            self.repair.all_reported = prior.unreported == 0 && prior.resent;
        }
    }

    /// Takes the cut back (RFC 4015 §3), and the opinion that anything is lost.
    pub(super) fn undo(&mut self, news: &News, cx: &mut Context<'_>) {
        let Some(prior) = self.repair.prior.take() else { return };
        self.repair.frto = Frto::Off;
        if self.repair.phase.is_repairing() {
            self.board.lose_nothing();
            self.repair.clear();
            let disorder = self.board.sacked() > 0;
            self.repair.phase = if disorder { Phase::Disorder } else { Phase::Open };
        }
        match self.config.undo {
            Undo::Rfc4015 => {
                let burst = self.config.initial_window(self.smss) * self.smss;
                let cwnd = self.pipe() + news.acked.min(burst);
                self.window.cwnd = self.window.cwnd.max(cwnd);
                self.window.ssthresh = prior.pipe;
            }
            Undo::Prior => {
                self.window.cwnd = self.window.cwnd.max(prior.window.cwnd);
                self.window.ssthresh = self.window.ssthresh.max(prior.window.ssthresh);
            }
        }
        // RFC 4015 §3.2 has counted what this ACK covers.
        self.repair.settled = self.config.undo == Undo::Rfc4015;
        self.congestion.on_undo(cx.now, &mut self.window);
        if prior.was_timeout {
            self.timer.spurious(cx);
            self.restart_timer(cx.now);
        }
        self.count.undone += 1;
    }
}
