//! Detects which outstanding segments of a sender are lost.

use crate::packed::packed;
use crate::segment::Cause;
use crate::units::{Duration, Time};

use super::config::{Recovery, RfcConfig};
use super::info::OutstandingInfo;
use super::meter::RttMeter;
use super::news::News;
use super::rack::{Rack, RackInputs};
use super::repair::{Phase, Repair};
use super::scoreboard::Scoreboard;
use super::send_window::SendWindow;
use super::sent_segment::SentSegment;

/// Loss detection: the outstanding segments, what ACKs say about them, and the rules by which some
/// of them count as lost.
#[derive(Debug, Default)]
pub(super) struct LossDetector {
    pub(super) scoreboard: Scoreboard,
    pub(super) rack: Rack,
    /// Whether SACK reports the segments that arrived above the cumulative ACK.
    pub(super) uses_sack: bool,
    /// The number of consecutive duplicate ACKs.
    pub(super) dupacks: u32,
    /// Without SACK: the number of octets whose arrival the duplicate ACKs indicate.
    pub(super) dup_bytes: u64,
    /// New octets that were sent in [`Phase::Disorder`], for example on duplicate ACKs (RFC 3042).
    /// A cut (a reduction of ssthresh because of congestion) does not count them.
    pub(super) limited: u64,
    /// Without SACK: the number of duplicate ACKs that indicates a loss, if reordering has changed
    /// it (`tp->reordering`).
    pub(super) reordered_thresh: Option<u32>,
}

packed!(LossDetector {
    scoreboard,
    rack,
    uses_sack,
    dupacks,
    dup_bytes,
    limited,
    reordered_thresh
});

/// The maximum number of duplicate ACKs that indicates a loss (`tcp_max_reordering`).
const REORDERED_THRESH_MAX: u64 = 300;

/// What loss detection needs in addition to its own state.
pub(super) struct LossContext<'a> {
    pub(super) now: Time,
    pub(super) window: &'a SendWindow,
    pub(super) meter: &'a RttMeter,
    pub(super) config: &'a RfcConfig,
    /// The number of outstanding retransmissions that the scoreboard does not count. The number is
    /// 1 if the tail loss probe is a retransmission and the rule `probes_are_uncounted` is on.
    /// Otherwise it is 0.
    pub(super) uncounted_copies: u64,
}

impl LossDetector {
    /// Returns the outstanding octets as cwnd counts them. With the switch `whole_segments`, a
    /// short segment counts as a full segment.
    #[inline]
    pub(super) fn counted_flight(&self, window: &SendWindow, config: &RfcConfig) -> u64 {
        if config.cwnd_rules.whole_segments {
            self.scoreboard.len() as u64 * window.smss
        } else {
            window.flight()
        }
    }

    /// The estimate of octets in the network: the outstanding octets, minus the octets that arrived
    /// or are lost, plus retransmissions (RFC 6675 §4). Without SACK, each duplicate ACK counts as
    /// the arrival of a segment.
    #[inline]
    pub(super) fn pipe(&self, window: &SendWindow, config: &RfcConfig) -> u64 {
        let in_network = if config.cwnd_rules.whole_segments {
            self.scoreboard.segs_in_network() * window.smss
        } else {
            let gone = self.scoreboard.sacked() + self.scoreboard.lost();
            let all = window.flight() + self.scoreboard.retransmitted();
            debug_assert!(all >= gone, "of {all} octets sent, {gone} arrived or were lost");
            all - gone
        };
        // Each duplicate ACK counts as the arrival of a segment that is neither lost nor known to
        // have arrived.
        in_network.saturating_sub(self.dup_bytes)
    }

    /// Returns the outstanding octets from which a cut is computed. Octets sent by Limited Transmit
    /// do not count.
    pub(super) fn flight_to_cut(&self, window: &SendWindow) -> u64 {
        window.flight().saturating_sub(self.limited)
    }

    /// Sets the fields `dupacks`, `dup_bytes` and `limited` to zero on an ACK of new octets when no
    /// loss was suspected.
    #[inline]
    pub(super) fn on_calm_ack(&mut self) {
        (self.dupacks, self.dup_bytes, self.limited) = (0, 0, 0);
    }

    /// Sets the count of duplicate ACKs to zero.
    pub(super) fn forget_duplicates(&mut self) {
        (self.dupacks, self.dup_bytes) = (0, 0);
    }

    /// Counts duplicate ACKs. Without SACK, each duplicate ACK counts as the arrival of a segment.
    /// In recovery, an ACK of new octets reduces `dup_bytes` by the acknowledged octets minus one
    /// segment (RFC 6582 §3.2). Outside recovery, an ACK of new octets sets `dup_bytes` to zero. It
    /// also sets `dupacks` to zero, unless SACK still reports segments.
    pub(super) fn count_duplicates(&mut self, news: &News, scene: &LossContext<'_>, phase: Phase) {
        let &LossContext { window, config, .. } = scene;
        let whole_segments = config.cwnd_rules.whole_segments;
        if news.duplicate {
            self.dupacks += 1;
            if self.follows_reordering(config) {
                self.dup_bytes += window.smss;
                self.limit_duplicates(0, window);
            } else if !self.uses_sack {
                let dup_bytes_max = if whole_segments {
                    self.scoreboard.segs_not_lost() * window.smss
                } else {
                    window.flight().saturating_sub(self.scoreboard.lost())
                };
                self.dup_bytes = (self.dup_bytes + window.smss).min(dup_bytes_max);
            }
        } else if news.acked > 0 {
            let acked = if whole_segments { news.delivered_segs * window.smss } else { news.acked };
            self.dup_bytes = self.dup_bytes.saturating_sub(acked.saturating_sub(window.smss));
            if self.follows_reordering(config) {
                self.limit_duplicates(news.delivered_segs, window);
            }
            let repairing = phase == Phase::Recovery;
            let dup_bytes_max = self.counted_flight(window, config);
            self.dup_bytes = if repairing { self.dup_bytes.min(dup_bytes_max) } else { 0 };
            if !(repairing || self.uses_sack && self.scoreboard.sacked() > 0) {
                self.dupacks = 0;
            }
            self.limited = 0;
        }
    }

    /// Whether reordering changes the number of duplicate ACKs that indicates a loss.
    fn follows_reordering(&self, config: &RfcConfig) -> bool {
        !self.uses_sack && config.spurious_rules.sets_dup_thresh
    }

    /// Limits the number of duplicate ACKs to the number of outstanding segments that may have
    /// arrived. At least one outstanding segment has not arrived. If there are more duplicate ACKs
    /// than this limit, the path reorders or duplicates. Then the number of duplicate ACKs that
    /// indicates a loss becomes the number of outstanding segments, including the `acked_segs`
    /// segments that this ACK acknowledges (`tcp_check_reno_reordering`).
    fn limit_duplicates(&mut self, acked_segs: u64, window: &SendWindow) {
        let segs = self.scoreboard.len() as u64;
        let duplicates_max = self.scoreboard.segs_not_lost().min(segs.saturating_sub(1));
        if window.segs(self.dup_bytes) > duplicates_max {
            self.dup_bytes = duplicates_max * window.smss;
            self.set_thresh(segs + acked_segs);
            self.rack.reordering_seen = self.rack.reordering_seen.saturating_add(1);
        }
    }

    /// Sets the number of duplicate ACKs that indicates a loss.
    fn set_thresh(&mut self, segs: u64) {
        self.reordered_thresh = u32::try_from(segs.min(REORDERED_THRESH_MAX)).ok();
    }

    /// Notes a timeout when no repair was in progress. If the duplicate ACKs or SACK reports so far
    /// would indicate a loss on a path without reordering, the reordering was overestimated
    /// (`tcp_enter_loss`).
    pub(super) fn doubt_reordering(&mut self, scene: &LossContext<'_>) {
        let usual = scene.config.dup_thresh;
        if self.uses_sack && self.scoreboard.sacked_segs() >= usual.into() {
            self.rack.reordered_segs = self.rack.reordered_segs.min(usual.into());
        }
        let follows = self.follows_reordering(scene.config);
        if follows && scene.window.segs(self.dup_bytes) >= usual.into() {
            self.reordered_thresh = self.reordered_thresh.map(|thresh| thresh.min(usual));
        }
    }

    /// Whether segments seem to have arrived out of order.
    pub(super) fn sees_disorder(&self) -> bool {
        self.dupacks > 0 || self.scoreboard.sacked() > 0
    }

    /// Notes that the segment that begins at the octet `left` arrived after later segments.
    pub(super) fn note_reordering(&mut self, left: u64, window: &SendWindow) {
        let una = (self.scoreboard.sacked() == 0).then_some(window.una);
        self.rack.note_reordering(left, una, window.smss);
    }

    /// Handles the report that the octets `left..right` are a duplicate. Returns how many segments
    /// were retransmitted spuriously, according to this report. If the octets are acknowledged, all
    /// their segments count; otherwise only the segments that were retransmitted count. Also
    /// returns the first octet of a retransmitted segment that an earlier SACK block had reported.
    /// This segment arrived after later segments (`tcp_sacktag_one`).
    pub(super) fn duplicated(
        &self,
        (left, right): (u64, u64),
        window: &SendWindow,
    ) -> (u32, Option<u64>) {
        if right <= window.una {
            return (u32::try_from(window.segs(right - left)).unwrap_or(u32::MAX), None);
        }
        let first = self.scoreboard.place_of(left);
        let within = self.scoreboard.iter().skip(first).take_while(|sent| sent.end() <= right);
        let (mut number, mut late) = (0, None);
        for copy in within.filter(|sent| sent.seq >= left && sent.times > 1) {
            number += 1;
            late = late.or(copy.sacked.then_some(copy.seq));
        }
        (number, late)
    }

    /// Notes that a partial ACK answers the original of the segment that begins at the octet
    /// `left`. So this original arrived after later segments (`tcp_try_undo_partial`).
    pub(super) fn note_late_original(&mut self, left: u64, scene: &LossContext<'_>) {
        self.note_reordering(left, scene.window);
        let segs = scene.window.segs(scene.window.una - left);
        if self.follows_reordering(scene.config) && segs > self.dup_thresh(scene).into() {
            self.set_thresh(segs);
        }
    }

    /// Without SACK, marks the head (the first outstanding segment) as lost, because a partial ACK
    /// arrived (RFC 6582 §3.2 step 3). Returns whether a segment was marked.
    pub(super) fn on_partial_ack(&mut self) -> bool {
        let found = !self.uses_sack && !self.scoreboard.is_empty();
        if found {
            self.scoreboard.mark_lost(0, Cause::Fast);
        }
        found
    }

    /// The outstanding segments, for reports.
    pub(super) fn outstanding_info(&self, window: &SendWindow) -> OutstandingInfo {
        let count = |what: fn(&SentSegment) -> bool| {
            self.scoreboard.iter().filter(|sent| what(sent)).count() as u64
        };
        OutstandingInfo {
            segs: self.scoreboard.len() as u64,
            packets: count(|sent| !sent.goes_on()),
            data_bytes: window.sent() - window.acknowledged(),
            sacked_segs: count(|sent| sent.sacked) + window.segs(self.dup_bytes),
            lost_segs: count(|sent| sent.lost.is_some()),
            retransmitted_segs: count(|sent| sent.retransmitted),
        }
    }

    /// Marks segments as lost, by the rules of the configured [`Recovery`]. Returns the time after
    /// which RACK must look again, or `None` if RACK need not look again.
    pub(super) fn detect(&mut self, repair: &Repair, scene: &LossContext<'_>) -> Option<Duration> {
        let repairing = repair.phase.is_repairing();
        if !self.uses_sack {
            if !repairing {
                self.detect_by_duplicates(repair.recover, scene);
            }
            return None;
        }
        match scene.config.recovery {
            Recovery::Rack => return self.detect_by_time(repairing, scene),
            Recovery::Fack => self.detect_by_forward_ack(repairing, scene),
            _ => self.detect_by_blocks(repairing, scene),
        }
        None
    }

    /// Marks the head as lost after enough duplicate ACKs, usually three (RFC 5681 §3.2). `recover`
    /// is the end of the octets that were outstanding when the last repair began. Except in Reno,
    /// the head is not marked before these octets are acknowledged. So duplicate ACKs mark at most
    /// one segment of each window of data as lost (RFC 6582 §3.2 step 1).
    ///
    /// departs: RFC 5681 §3.2 - after a timeout, duplicate ACKs are no sign of a loss until all
    /// data that was outstanding is acknowledged, in Reno as well; the retransmissions themselves
    /// cause such duplicates.
    fn detect_by_duplicates(&mut self, recover: u64, scene: &LossContext<'_>) {
        let once = scene.config.recovery != Recovery::Reno;
        let older = once && scene.window.una < recover;
        let duplicates = if self.follows_reordering(scene.config) {
            scene.window.segs(self.dup_bytes)
        } else {
            self.dupacks.into()
        };
        let enough = duplicates >= self.dup_thresh(scene).into();
        if enough && !older && !self.scoreboard.is_empty() {
            self.scoreboard.mark_lost(0, Cause::Fast);
        }
    }

    /// The number of duplicate ACKs that indicates a loss. With the switch `early_retransmit`, the
    /// number is smaller if fewer duplicate ACKs can arrive (RFC 5827 §3).
    fn dup_thresh(&self, scene: &LossContext<'_>) -> u32 {
        let usual = self.reordered_thresh.unwrap_or(scene.config.dup_thresh);
        let limited_segs = scene.window.segs(self.limited);
        let segs = (self.scoreboard.len() as u64).saturating_sub(limited_segs);
        if scene.config.early_retransmit && segs < 4 && !scene.window.has_new_data() {
            usual.min(u32::try_from(segs.saturating_sub(1)).unwrap_or(usual).max(1))
        } else {
            usual
        }
    }

    /// Marks lost segments by IsLost of RFC 6675 §4. A segment is lost if enough separate ranges of
    /// octets (`runs`), or enough octets in all, were reported above this segment. Outside a
    /// repair, the head is also marked after enough duplicate ACKs.
    fn detect_by_blocks(&mut self, repairing: bool, scene: &LossContext<'_>) {
        let thresh = self.dup_thresh(scene);
        let enough = u64::from(thresh.saturating_sub(1)) * scene.window.smss;
        let (mut runs, mut octets, mut edge) = (0, 0, 0);
        for (left, right) in self.scoreboard.arrived().iter().rev() {
            runs += 1;
            octets += right - left;
            if runs >= thresh || octets > enough {
                edge = left;
                break;
            }
        }
        self.mark_lost_below(edge, !repairing);
        let head_missing = self.scoreboard.front().is_some_and(|head| head.lost.is_none());
        if !repairing && self.dupacks >= thresh && head_missing {
            self.scoreboard.mark_lost(0, Cause::Fast);
        }
    }

    /// The forward ACK is the octet after the highest octet that SACK has reported. Marks
    /// everything below the forward ACK as lost in three cases: the forward ACK is far enough ahead
    /// of the cumulative ACK (Mathis and Mahdavi 1996, §3), there are enough duplicate ACKs, or a
    /// repair is in progress.
    fn detect_by_forward_ack(&mut self, repairing: bool, scene: &LossContext<'_>) {
        let Some(fack) = self.scoreboard.fack() else { return };
        let ahead = fack.saturating_sub(scene.window.una);
        let thresh = self.dup_thresh(scene);
        let overtaken_by_many = ahead > u64::from(thresh) * scene.window.smss;
        if repairing || overtaken_by_many || self.dupacks >= thresh {
            self.mark_lost_below(fack, !repairing);
        }
    }

    /// Marks the segments that start below `edge` as lost. The flag `starts` says whether the first
    /// of these segments starts a repair.
    fn mark_lost_below(&mut self, edge: u64, mut starts: bool) {
        self.scoreboard.mark_lost_below(edge, || {
            if core::mem::take(&mut starts) { Cause::Fast } else { Cause::SackRecovery }
        });
    }

    /// What RACK needs to decide which segments are late (and count as lost). `None` before the
    /// first round trip.
    fn rack_inputs(&self, scene: &LossContext<'_>, repairing: bool) -> Option<RackInputs> {
        let min_rtt = scene.meter.min_rtt?;
        let srtt = scene.meter.srtt.unwrap_or(min_rtt);
        let eager = repairing || self.scoreboard.sacked_segs() >= u64::from(self.dup_thresh(scene));
        let window_percent = scene.config.reorder_window_percent;
        let reads_clock = scene.config.rack_rules.clock_read_again;
        Some(RackInputs { now: scene.now, min_rtt, srtt, window_percent, eager, reads_clock })
    }

    /// Marks late segments as lost (RFC 8985 §6.2 step 5). Segments that are not late yet are
    /// checked again when they become late.
    fn detect_by_time(&mut self, repairing: bool, scene: &LossContext<'_>) -> Option<Duration> {
        let head = self.scoreboard.front();
        if self.scoreboard.is_orderly() && head.is_none_or(|head| self.rack.is_younger(head)) {
            // All outstanding segments were sent after the segments that have arrived.
            return None;
        }
        let with = self.rack_inputs(scene, repairing)?;
        self.rack.detect(&mut self.scoreboard, &with)
    }

    /// After a timeout, marks all outstanding segments as lost, except segments that SACK reported.
    /// With RACK, marks only the head and the segments that were sent long enough ago. The other
    /// segments may still be on their way (RFC 8985 §6.3). If SACK had reported the head, no report
    /// counts any more. With the switch `reneging_hurries`, RACK then also marks all segments.
    pub(super) fn on_timeout(&mut self, scene: &LossContext<'_>) {
        self.forget_duplicates();
        self.limited = 0;
        let reneged = self.scoreboard.front().is_some_and(|head| head.sacked);
        if reneged {
            // RFC 2018 §8: the receiver may have discarded the segment.
            self.scoreboard.forget_sacks();
        }
        let all = reneged && scene.config.timer_rules.reneging_hurries;
        let by_time = self.uses_sack && scene.config.recovery == Recovery::Rack && !all;
        match self.rack_inputs(scene, false).filter(|_| by_time) {
            Some(with) => self.lose_late(self.rack.late(&with), scene.now),
            None => self.scoreboard.mark_all_lost(Cause::GoBackN),
        }
    }

    /// Marks the head as lost, and all segments that were sent at least the time `late` ago.
    fn lose_late(&mut self, late: Duration, now: Time) {
        for place in 0..self.scoreboard.len() {
            if place == 0 || self.scoreboard.get(place).at + late <= now {
                self.scoreboard.mark_lost(place, Cause::GoBackN);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::CwndRules;

    /// A sender that has sent ten segments of 1000 octets, one in each millisecond, from octet 0
    /// on.
    struct Bench {
        window: SendWindow,
        meter: RttMeter,
        repair: Repair,
        config: RfcConfig,
        loss: LossDetector,
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn bench(recovery: Recovery) -> Bench {
        let config = RfcConfig { recovery, ..RfcConfig::rfc_2026() };
        let mut window = SendWindow::new(&config);
        (window.smss, window.nxt, window.end) = (1000, 10_000, 10_000);
        let mut loss = LossDetector { uses_sack: recovery.needs_sack(), ..Default::default() };
        (0..10).for_each(|n| {
            loss.scoreboard.push(SentSegment::first(n * 1000, 1000, at(n)), true, None)
        });
        let rtt = Some(Duration::from_millis(100));
        let mut meter = RttMeter::default();
        (meter.min_rtt, meter.srtt) = (rtt, rtt);
        Bench { window, meter, repair: Repair::default(), config, loss }
    }

    impl Bench {
        /// Notes a SACK report of the octets `left..right` at `now`.
        fn sack(&mut self, left: u64, right: u64, now: Time) {
            let (rack, min_rtt) = (&mut self.loss.rack, self.meter.min_rtt);
            self.loss.scoreboard.sack(left, right, |sent, _| {
                rack.arrived(sent, now, min_rtt, false);
            });
        }

        /// Counts the duplicate ACKs that `news` reports, in this `phase`.
        fn take(&mut self, news: &News, phase: Phase) {
            let Bench { window, meter, config, loss, .. } = self;
            loss.count_duplicates(
                news,
                &LossContext { now: at(100), window, meter, config, uncounted_copies: 0 },
                phase,
            );
        }

        /// Returns the first octets of the lost segments, and when RACK looks again.
        fn detect(&mut self, now: Time) -> (Vec<u64>, Option<Duration>) {
            let Bench { window, meter, repair, config, loss } = self;
            let wait = loss
                .detect(repair, &LossContext { now, window, meter, config, uncounted_copies: 0 });
            let lost =
                loss.scoreboard.iter().filter(|sent| sent.lost.is_some()).map(|sent| sent.seq);
            (lost.collect(), wait)
        }

        fn pipe(&self) -> u64 {
            self.loss.pipe(&self.window, &self.config)
        }
    }

    /// Linux: `tcp_enter_loss`.
    #[test]
    fn a_timeout_after_three_reports_lowers_the_estimate_of_reordering_to_three() {
        for (reports, reordered) in [(2, 5), (3, 3)] {
            let mut bench = bench(Recovery::Rack);
            bench.loss.rack.reordered_segs = 5;
            bench.sack(10_000 - reports * 1000, 10_000, at(109));
            let Bench { window, meter, config, loss, .. } = &mut bench;
            let now = at(300);
            loss.doubt_reordering(&LossContext { now, window, meter, config, uncounted_copies: 0 });
            assert_eq!(loss.rack.reordered_segs, reordered, "{reports}");
        }
    }

    /// RFC 5681 §3.2: the third duplicate ACK shows a loss, and each one counts as the arrival of a
    /// segment.
    #[test]
    fn three_duplicate_acks_mark_the_head_as_lost() {
        let mut bench = bench(Recovery::NewReno);
        let duplicate = News { duplicate: true, ..News::default() };
        for pipe in [9000, 8000] {
            bench.take(&duplicate, Phase::Open);
            assert_eq!((bench.detect(at(100)).0, bench.pipe()), (vec![], pipe));
        }
        bench.take(&duplicate, Phase::Disorder);
        assert_eq!((bench.detect(at(100)).0, bench.pipe()), (vec![0], 6000));
    }

    /// RFC 6582 §3.2 step 1: the acknowledgment must cover more than `recover`.
    #[test]
    fn duplicate_acks_from_an_earlier_repair_do_not_indicate_a_loss() {
        let mut bench = bench(Recovery::NewReno);
        (bench.loss.dupacks, bench.repair.recover) = (5, 1);
        assert_eq!(bench.detect(at(100)).0, [] as [u64; 0]);
        bench.repair.recover = 0;
        assert_eq!(bench.detect(at(100)).0, [0]);
    }

    /// RFC 6675 §4, IsLost: a segment is lost if DupThresh discontiguous runs, or more than
    /// (DupThresh - 1) * SMSS octets, are reported above it.
    #[test]
    fn a_segment_is_lost_if_enough_runs_or_octets_above_it_are_reported() {
        let mut runs = bench(Recovery::Sack);
        runs.sack(2000, 3000, at(100));
        runs.sack(4000, 5000, at(100));
        assert_eq!(runs.detect(at(100)).0, [] as [u64; 0]);
        runs.sack(6000, 7000, at(100));
        assert_eq!(runs.detect(at(100)).0, [0, 1000]);
        let mut octets = bench(Recovery::Sack);
        octets.sack(3000, 6000, at(100));
        assert_eq!(octets.detect(at(100)).0, [0, 1000, 2000]);
    }

    /// Mathis and Mahdavi 1996, §3: the condition is snd.fack - snd.una > 3 * MSS.
    #[test]
    fn if_the_forward_ack_is_far_enough_ahead_the_segments_below_it_are_lost() {
        let mut bench = bench(Recovery::Fack);
        bench.sack(2000, 3000, at(100));
        assert_eq!(bench.detect(at(100)).0, [] as [u64; 0]);
        bench.sack(3000, 4000, at(100));
        assert_eq!(bench.detect(at(100)).0, [0, 1000]);
    }

    /// RFC 8985 §6.2: rack.rtt is 98 ms, and the reordering window is a quarter of the minimum
    /// round trip.
    #[test]
    fn rack_marks_late_segments_as_lost_and_checks_the_other_segments_again() {
        let mut bench = bench(Recovery::Rack);
        bench.sack(2000, 3000, at(100));
        let (lost, wait) = bench.detect(at(100));
        assert_eq!((lost, wait), (vec![], Some(Duration::from_millis(24))));
        assert_eq!(bench.detect(at(123)), (vec![0], Some(Duration::from_millis(1))));
        assert_eq!(bench.detect(at(124)), (vec![0, 1000], None));
    }

    /// RFC 8985 §6.3: after a timeout the head counts as lost. Each segment that was sent long
    /// enough ago also counts as lost.
    #[test]
    fn after_a_timeout_rack_does_not_mark_segments_that_may_be_on_their_way() {
        let lost_at = |recovery, now| {
            let mut bench = bench(recovery);
            bench.sack(9000, 10_000, at(109));
            let Bench { window, meter, config, loss, .. } = &mut bench;
            loss.on_timeout(&LossContext { now, window, meter, config, uncounted_copies: 0 });
            loss.scoreboard.lost()
        };
        assert_eq!(lost_at(Recovery::Rack, at(110)), 1000);
        assert_eq!(lost_at(Recovery::Rack, at(128)), 4000);
        assert_eq!(lost_at(Recovery::Sack, at(110)), 9000);
    }

    /// If cwnd counts segments, a segment of half the MSS fills as much of cwnd as a full segment.
    #[test]
    fn if_cwnd_counts_segments_the_pipe_counts_segments_too() {
        let pipe = |rules| {
            let mut bench = bench(Recovery::Sack);
            bench.config.cwnd_rules = rules;
            bench.window.smss = 2000;
            bench.sack(8000, 10_000, at(109));
            bench.loss.scoreboard.mark_lost(0, Cause::Fast);
            bench.loss.scoreboard.mark_lost(1, Cause::Fast);
            bench.loss.scoreboard.retransmit(0, (at(110), true), true, None);
            bench.pipe()
        };
        assert_eq!((pipe(CwndRules::RFC), pipe(CwndRules::LINUX)), (7000, 14_000));
    }

    /// RFC 5827 §3.1: ER_thresh is one less than the number of outstanding segments.
    #[test]
    fn with_few_outstanding_segments_fewer_duplicate_acks_indicate_a_loss() {
        let mut bench = bench(Recovery::NewReno);
        bench.config.early_retransmit = true;
        bench.loss.scoreboard.ack(7000, |_, _| ());
        bench.window.una = 7000;
        bench.loss.dupacks = 1;
        assert_eq!(bench.detect(at(100)).0, [] as [u64; 0]);
        bench.loss.dupacks = 2;
        assert_eq!(bench.detect(at(100)).0, [7000]);
    }
}
