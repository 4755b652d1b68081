//! Finds proofs that retransmissions were spurious: by timestamps, by F-RTO, and by D-SACK (reports
//! of duplicates).

use crate::congestion::Window;
use crate::packed::{packed, packed_value, packed_variants};
use crate::segment::Cause;
use crate::seq::is_before;

use super::news::News;

/// The state of F-RTO, which watches the first ACKs after a timeout (RFC 5682 §2.1, §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Frto {
    /// F-RTO does not watch.
    #[default]
    Off,
    /// A timeout retransmits the first outstanding segment, and the sender waits for the first ACK
    /// (step 2).
    Retransmitted,
    /// The first ACK acknowledged new octets, and new data was sent. The second ACK decides (step
    /// 3).
    SentNew,
}

packed_variants!(Frto { Off, Retransmitted, SentNew });

/// The state that is needed to undo the last cut (a reduction of ssthresh because of congestion).
#[derive(Clone, Copy, Debug)]
pub(super) struct Prior {
    /// cwnd and ssthresh before the cut.
    pub(super) window: Window,
    /// RFC 4015's `pipe_prev`: the larger of FlightSize and ssthresh before the cut, in octets.
    pub(super) pipe: u64,
    /// Whether a timeout caused the cut.
    pub(super) was_timeout: bool,
    /// The oldest octet that was not acknowledged at the cut. Only duplicates of octets from `una`
    /// to `end` count.
    una: u64,
    /// The octet after the highest octet that was retransmitted after the cut.
    end: u64,
    /// The timestamp of the first retransmission (RFC 3522 §3.2, `RetransmitTS`), if it can show
    /// which transmission of a segment an ACK answers.
    first_stamp: Option<u32>,
    /// Whether a segment was retransmitted since the cut.
    retransmitted: bool,
    /// The number of retransmissions that are not yet reported as duplicates. The number includes
    /// retransmissions that were outstanding at the cut, because their reports come after the cut
    /// (`tcp_init_undo`). `None` if there was no retransmission.
    unreported: Option<u32>,
}

packed_value!(Prior {
    window,
    pipe,
    was_timeout,
    una,
    end,
    first_stamp,
    retransmitted,
    unreported
});

impl Prior {
    /// Makes the state before a cut of the window `window`. `flight` octets are outstanding, and
    /// `una` is the first of these octets.
    pub(super) fn new(window: Window, flight: u64, una: u64, was_timeout: bool) -> Self {
        Self {
            window,
            pipe: flight.max(window.ssthresh),
            was_timeout,
            una,
            end: una,
            first_stamp: None,
            retransmitted: false,
            unreported: None,
        }
    }

    /// Counts reports that a retransmission was a duplicate; `reports` is their number.
    fn count_reports(&mut self, reports: u32) {
        self.unreported = self.unreported.map(|rest| rest.saturating_sub(reports));
    }
}

/// The watch for proofs that the last retransmissions were spurious.
#[derive(Debug, Default)]
pub(super) struct SpuriousWatch {
    frto: Frto,
    prior: Option<Prior>,
    /// The octet after the highest octet that was ever retransmitted.
    retransmitted_end: u64,
    /// True if the receiver reported a duplicate of octets above `retransmitted_end`, which were
    /// sent only once. In this case the path duplicates segments, and reports of duplicates prove
    /// nothing.
    path_duplicates: bool,
    /// The timestamp of the first retransmission of the repair, even if it cannot show which
    /// transmission of a segment an ACK answers (Linux's `retrans_stamp`). If retransmissions are
    /// outstanding when a new repair begins, or if the oldest segment was retransmitted, the
    /// timestamp of the earlier repair remains.
    repair_stamp: Option<u32>,
}

packed!(SpuriousWatch { frto, prior, retransmitted_end, path_duplicates, repair_stamp });

/// What F-RTO needs in addition to what an ACK reports ([`News`]).
pub(super) struct FrtoInputs {
    /// Whether all octets that were outstanding at the timeout are acknowledged.
    pub(super) is_over: bool,
    pub(super) uses_sack: bool,
    /// With SACK, whether the first ACK already decides.
    pub(super) at_once: bool,
    /// True if there are new octets for which the peer has room.
    pub(super) has_new_data: bool,
}

impl SpuriousWatch {
    /// True if no octet at or above `una` (the oldest octet that is not acknowledged) was ever
    /// retransmitted, and F-RTO is off.
    #[inline]
    pub(super) fn is_quiet(&self, una: u64) -> bool {
        self.frto == Frto::Off && una >= self.retransmitted_end
    }

    /// Whether F-RTO is off, so that it ignores the next ACK.
    #[inline]
    pub(super) fn is_frto_off(&self) -> bool {
        self.frto == Frto::Off
    }

    /// Whether F-RTO needs new data to be sent before retransmissions.
    pub(super) fn wants_new_data(&self) -> bool {
        self.frto == Frto::SentNew
    }

    /// Ends F-RTO, because no new data can be sent.
    pub(super) fn stop_watching(&mut self) {
        self.frto = Frto::Off;
    }

    /// Notes that `copies` retransmissions were outstanding when the last cut was made.
    pub(super) fn await_reports(&mut self, copies: u64) {
        if let Some(prior) = &mut self.prior {
            prior.unreported = u32::try_from(copies).ok().filter(|copies| *copies > 0);
            prior.end = if copies > 0 { self.retransmitted_end } else { prior.una };
        }
    }

    /// Stores the state from before a cut. The flag `has_copies` says whether retransmissions are
    /// outstanding, or the oldest segment was retransmitted.
    pub(super) fn on_cut(&mut self, prior: Prior, has_copies: bool) {
        self.prior = Some(prior);
        self.repair_stamp = self.repair_stamp.filter(|_| has_copies);
    }

    /// Forgets cwnd and ssthresh from before the last cut, so that `Undo::Prior` does not restore
    /// them even if the cut proves spurious.
    pub(super) fn forget_window(&mut self) {
        if let Some(prior) = &mut self.prior {
            prior.window = Window { cwnd: 0, ssthresh: 0 };
        }
    }

    /// Starts or stops F-RTO after a timeout. The flag `watches` says whether F-RTO watches the
    /// next ACKs.
    pub(super) fn on_timeout(&mut self, watches: bool) {
        self.frto = if watches { Frto::Retransmitted } else { Frto::Off };
    }

    /// Stops F-RTO, because a repair is over.
    pub(super) fn stop_frto(&mut self) {
        self.frto = Frto::Off;
    }

    /// Whether the last cut can still be undone.
    pub(super) fn has_prior(&self) -> bool {
        self.prior.is_some()
    }

    /// Removes and returns the state before the cut that is to be undone.
    pub(super) fn take_prior(&mut self) -> Option<Prior> {
        let prior = self.prior.take();
        if prior.is_some() {
            self.frto = Frto::Off;
        }
        prior
    }

    /// Notes that a segment that ends at the octet `end` was retransmitted with the timestamp
    /// `stamp`. The flag `tells` says whether the next ACK's echo shows which transmission of the
    /// segment the ACK answers. The echo shows this only for the first retransmission of the oldest
    /// outstanding segment.
    pub(super) fn on_retransmitted(&mut self, end: u64, cause: Cause, stamp: u32, tells: bool) {
        self.retransmitted_end = self.retransmitted_end.max(end);
        if let Some(prior) = &mut self.prior
            && cause != Cause::Tlp
        {
            if !prior.retransmitted {
                prior.first_stamp = tells.then_some(stamp);
            }
            self.repair_stamp.get_or_insert(stamp);
            prior.retransmitted = true;
            prior.unreported = Some(prior.unreported.unwrap_or(0) + 1);
            prior.end = prior.end.max(end);
        }
    }

    /// Whether the first ACK after the first retransmission echoes an older timestamp, and so
    /// answers the original (RFC 3522 §3.2).
    pub(super) fn is_proved_by_stamp(&mut self, echo: Option<u32>) -> bool {
        let Some(prior) = &mut self.prior else { return false };
        let Some(stamp) = prior.first_stamp.take() else { return false };
        echo.is_some_and(|echo| echo > 0 && is_before(echo, stamp))
    }

    /// Whether an ACK echoes a timestamp older than the first retransmission of the repair. Then a
    /// segment was late and not lost.
    pub(super) fn shows_delay(&self, echo: Option<u32>) -> bool {
        let stamp = self.repair_stamp.filter(|_| self.prior.is_some());
        stamp.is_some_and(|stamp| echo.is_some_and(|echo| echo > 0 && is_before(echo, stamp)))
    }

    /// Whether the receiver has reported every retransmission as a duplicate (RFC 3708 §3): those
    /// that were outstanding at the cut, and those that were sent after the cut. The flag `early`
    /// says whether the reports also prove a cut spurious before this cut has led to a
    /// retransmission.
    pub(super) fn is_proved_by_reports(&self, early: bool) -> bool {
        let proves = |prior: &Prior| prior.unreported == Some(0) && (early || prior.retransmitted);
        self.prior.as_ref().is_some_and(proves)
    }

    /// Whether an ACK proves the timeout spurious by F-RTO. RFC 5682: after a timeout, ACKs of
    /// octets that were never retransmitted show that the originals are arriving. Without SACK, two
    /// ACKs that move `una` are needed (§2.1). With SACK, an ACK must cover, in order or by SACK, a
    /// segment that was never retransmitted (§3.1). The first ACK that moves `una` does not count,
    /// because its octets may have arrived before the timeout, and their first ACK may have been
    /// lost. With `at_once`, as in Linux, even the first ACK counts.
    pub(super) fn is_proved_by_frto(&mut self, news: &News, with: &FrtoInputs) -> bool {
        let step = self.frto;
        if step == Frto::Off {
            return false;
        }
        if with.is_over {
            // This ACK covers all octets that were outstanding. In Linux, it may prove the timeout
            // spurious. In the RFC, it shows nothing.
            self.frto = Frto::Off;
            return with.uses_sack && with.at_once && news.covers_original;
        }
        let second = step == Frto::SentNew;
        let (spurious, genuine) = if with.uses_sack {
            ((second || with.at_once) && news.covers_original, second && news.sacked > 0)
        } else {
            (second && news.acked > 0, news.duplicate)
        };
        if spurious || genuine || news.acked > 0 && !with.has_new_data {
            self.frto = Frto::Off;
        } else if news.acked > 0 {
            self.frto = Frto::SentNew;
        }
        spurious
    }

    /// Handles the report of a duplicate. The duplicate is a retransmission, or a copy that a link
    /// made. The duplicate counts as a spurious retransmission only if its octets lie between `una`
    /// at the cut and the highest octet that was retransmitted after the cut. After a report has
    /// shown that a link makes duplicates, no duplicate counts.
    pub(super) fn take_report(&mut self, (left, right): (u64, u64)) {
        self.path_duplicates |= left >= self.retransmitted_end;
        let Some(prior) = &mut self.prior else { return };
        let own = left >= prior.una && right <= prior.end && !self.path_duplicates;
        prior.count_reports(own.into());
    }

    /// Handles the report that `copies` retransmitted segments, which end at the octet `right` or
    /// before it, were duplicates. These duplicates count if this octet is above `una` at the cut
    /// (`tcp_check_dsack`).
    pub(super) fn take_copies_report(&mut self, right: u64, copies: u32) {
        if let Some(prior) = self.prior.as_mut().filter(|prior| right > prior.una) {
            prior.count_reports(copies);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the watch after a cut at octet 1000 and the retransmissions of the segments that end
    /// at the octets `ends`.
    fn after_cut(ends: &[u64]) -> SpuriousWatch {
        let mut watch = SpuriousWatch::default();
        let window = Window { cwnd: 10_000, ssthresh: 4000 };
        watch.on_cut(Prior::new(window, 8000, 1000, true), false);
        ends.iter().for_each(|end| watch.on_retransmitted(*end, Cause::Rto, 70, true));
        watch
    }

    /// What F-RTO gets after a timeout while new data can be sent. Not all octets are acknowledged.
    fn frto_inputs(uses_sack: bool) -> FrtoInputs {
        FrtoInputs { is_over: false, uses_sack, at_once: false, has_new_data: true }
    }

    /// RFC 3522 §3.2 step 4: the echo is smaller than RetransmitTS.
    #[test]
    fn an_older_echo_proves_the_retransmission_spurious_only_in_the_first_ack() {
        let mut watch = after_cut(&[2000]);
        assert!(watch.is_proved_by_stamp(Some(69)));
        assert!(!watch.is_proved_by_stamp(Some(69)), "only the first ACK decides");
        assert!(!after_cut(&[2000]).is_proved_by_stamp(Some(70)));
        assert!(!after_cut(&[2000]).is_proved_by_stamp(None));
    }

    #[test]
    fn an_echo_older_than_the_first_retransmission_proves_that_a_segment_was_late() {
        let watch = after_cut(&[2000]);
        assert!((0..2).all(|_| watch.shows_delay(Some(69))));
        assert!(!watch.shows_delay(Some(70)) && !watch.shows_delay(Some(0)));
        assert!(!after_cut(&[]).shows_delay(Some(69)), "nothing was retransmitted");
    }

    /// RFC 3708 §3: all retransmissions of the window must be reported.
    #[test]
    fn reports_of_every_retransmission_prove_the_repair_spurious() {
        let mut watch = after_cut(&[2000, 3000]);
        watch.take_report((1000, 2000));
        assert!(!watch.is_proved_by_reports(false));
        watch.take_report((2000, 3000));
        assert!(watch.is_proved_by_reports(false));
        watch.take_prior();
        assert!(!watch.is_proved_by_reports(false), "the cut is undone");
    }

    /// Linux: `tcp_init_undo` starts the count of retransmissions again at each cut, and each later
    /// retransmission counts.
    #[test]
    fn reports_of_earlier_retransmissions_do_not_undo_a_new_cut() {
        let window = Window { cwnd: 10_000, ssthresh: 4000 };
        let mut watch = after_cut(&[2000]);
        watch.take_report((1000, 2000));
        watch.on_cut(Prior::new(window, 8000, 2000, false), false);
        assert!(!watch.is_proved_by_reports(false));
        let mut watch = after_cut(&[2000]);
        watch.take_report((1000, 2000));
        watch.on_retransmitted(3000, Cause::SackRecovery, 71, false);
        assert!(!watch.is_proved_by_reports(false));
    }

    #[test]
    fn reports_of_duplicates_prove_nothing_on_a_path_that_duplicates_segments() {
        let mut watch = after_cut(&[2000]);
        watch.take_report((5000, 6000));
        watch.take_report((1000, 2000));
        assert!(!watch.is_proved_by_reports(false));
    }

    /// Linux: `tcp_init_undo` counts the retransmissions that are outstanding at the cut, because
    /// their reports come after the cut.
    #[test]
    fn the_proof_also_needs_reports_of_retransmissions_outstanding_at_the_cut() {
        let mut watch = after_cut(&[2000, 3000]);
        let window = Window { cwnd: 10_000, ssthresh: 4000 };
        watch.on_cut(Prior::new(window, 8000, 1000, false), true);
        watch.await_reports(2);
        watch.on_retransmitted(4000, Cause::SackRecovery, 71, false);
        for right in [2000, 3000] {
            watch.take_report((right - 1000, right));
            assert!(!watch.is_proved_by_reports(false), "{right}");
        }
        watch.take_report((3000, 4000));
        assert!(watch.is_proved_by_reports(false));
    }

    /// RFC 3708 §3: a report of an earlier retransmission says nothing about the segment for which
    /// the cut was made. In Linux, the cut is undone (`tcp_may_undo`).
    #[test]
    fn in_linux_reports_of_earlier_retransmissions_also_prove_a_cut_spurious() {
        let mut watch = after_cut(&[3000]);
        let window = Window { cwnd: 10_000, ssthresh: 4000 };
        watch.on_cut(Prior::new(window, 8000, 1000, false), true);
        watch.await_reports(1);
        watch.take_report((2000, 3000));
        assert_eq!([false, true].map(|early| watch.is_proved_by_reports(early)), [false, true]);
        watch.on_retransmitted(2000, Cause::SackRecovery, 71, true);
        watch.take_report((1000, 2000));
        assert!(watch.is_proved_by_reports(false));
    }

    /// Linux: `tcp_check_dsack` counts each report of octets above `una` at the cut, even after the
    /// report of a duplicate that the path made.
    #[test]
    fn in_linux_a_report_counts_if_its_octets_lie_above_una_at_the_cut() {
        let mut watch = after_cut(&[2000, 3000]);
        watch.take_copies_report(1000, 1);
        assert_eq!(watch.prior.and_then(|prior| prior.unreported), Some(2));
        watch.take_copies_report(9000, 1);
        watch.take_copies_report(3000, 1);
        assert!(watch.is_proved_by_reports(false));
    }

    /// Linux: `tcp_retrans_stamp_cleanup` keeps the timestamp of the first retransmission while
    /// retransmissions are outstanding.
    #[test]
    fn the_timestamp_of_an_earlier_repair_counts_while_its_retransmissions_are_outstanding() {
        let window = Window { cwnd: 10_000, ssthresh: 4000 };
        let after_second_cut = |has_copies| {
            let mut watch = after_cut(&[2000]);
            watch.on_cut(Prior::new(window, 8000, 1000, false), has_copies);
            watch.on_retransmitted(3000, Cause::SackRecovery, 90, false);
            watch
        };
        assert!(!after_second_cut(true).shows_delay(Some(80)));
        assert!(after_second_cut(false).shows_delay(Some(80)));
    }

    /// RFC 5682 §2.1: two ACKs that move `una` prove the timeout spurious. A duplicate ACK
    /// shows that the loss was genuine.
    #[test]
    fn without_sack_two_acks_that_move_una_prove_the_timeout_spurious() {
        let moves = News { acked: 1000, ..News::default() };
        let duplicate = News { duplicate: true, ..News::default() };
        let (mut watch, with) = (after_cut(&[2000]), frto_inputs(false));
        watch.on_timeout(true);
        assert!(!watch.is_proved_by_frto(&moves, &with) && watch.wants_new_data());
        assert!(watch.is_proved_by_frto(&moves, &with) && watch.is_frto_off());
        watch.on_timeout(true);
        assert!(!watch.is_proved_by_frto(&duplicate, &with) && watch.is_frto_off());
    }

    /// RFC 5682 §3.1 steps 2 and 3. Linux already decides with the first ACK.
    #[test]
    fn with_sack_a_later_ack_of_an_original_proves_the_timeout_spurious() {
        let original = News { acked: 1000, covers_original: true, ..News::default() };
        let mut watch = after_cut(&[2000]);
        watch.on_timeout(true);
        assert!(!watch.is_proved_by_frto(&original, &frto_inputs(true)));
        assert!(watch.is_proved_by_frto(&original, &frto_inputs(true)));
        watch.on_timeout(true);
        let at_once = FrtoInputs { at_once: true, ..frto_inputs(true) };
        assert!(watch.is_proved_by_frto(&original, &at_once));
    }

    #[test]
    fn an_ack_of_all_octets_proves_a_timeout_spurious_only_in_linux() {
        let original = News { acked: 1000, covers_original: true, ..News::default() };
        let over = FrtoInputs { is_over: true, ..frto_inputs(true) };
        let proves = |at_once, news: &News| {
            let mut watch = after_cut(&[2000]);
            watch.on_timeout(true);
            watch.is_proved_by_frto(news, &FrtoInputs { at_once, ..over })
        };
        assert!(proves(true, &original) && !proves(false, &original));
        assert!(!proves(true, &News { covers_original: false, ..original }));
    }

    #[test]
    fn frto_decides_nothing_without_a_second_ack_or_new_data() {
        let moves = News { acked: 1000, ..News::default() };
        let over = FrtoInputs { is_over: true, ..frto_inputs(false) };
        let empty = FrtoInputs { has_new_data: false, ..frto_inputs(false) };
        for with in [over, empty] {
            let mut watch = after_cut(&[2000]);
            watch.on_timeout(true);
            assert!(!watch.is_proved_by_frto(&moves, &with) && watch.is_frto_off());
        }
    }
}
