//! Processes an acknowledgment that arrives at a sender: acknowledged octets, round trips, SACK
//! reports. [`News`] has what the acknowledgment reports for the first time.

use crate::congestion::AckInfo;
use crate::seq::is_before;
use crate::units::Time;

use super::super::context::Context;
use super::config::Undo;
use super::news::{AckSegment, News, Reports};
use super::rack::Rack;
use super::recovery::{LossRecovery, Reaction};
use super::repair::{Phase, by_partial_acks};
use super::sender::RfcSender;
use super::sent_segment::SentSegment;
use super::stamps::stamp;
use super::tail_probe::TailProbe;

/// The state of the sender before it acts upon an ACK.
pub(super) struct Before {
    /// The octets in the network before the ACK arrived.
    pub(super) pipe: u64,
    /// The lost octets that were not retransmitted yet, before the sender reacted to the ACK. After
    /// the reaction there are more such octets if the ACK shows that a segment or its
    /// retransmission is lost.
    pub(super) waiting: u64,
}

impl RfcSender {
    /// Handles an acknowledgment. Returns true if the caller must also handle the rest of the
    /// segment. Returns false if the acknowledgment is not acceptable: then the caller ignores the
    /// rest of the segment, and may answer with a challenge ACK.
    pub(super) fn on_ack(&mut self, ack: &AckSegment<'_>, cx: &mut Context<'_>) -> bool {
        let (octet, reports) = (ack.ack, ack.segment.sack_count() > 0);
        let nothing_out = self.recovery.loss.scoreboard.is_empty();
        if octet == self.window.una && nothing_out && !reports {
            // Nothing is outstanding, so only the window of this ACK may be new to the sending
            // half.
            self.update_peer_window(ack.seq, octet, ack.window);
            self.restart_persist();
            return true;
        }
        // An ACK may cover the octet of a window probe, although this octet does not count as sent.
        let probed = u64::from(self.persist.backoff > 0 && nothing_out);
        if octet > self.window.nxt + probed.min(self.window.unsent()) {
            // RFC 9293 §3.10.7.4: the segment acknowledges octets that were never sent.
            return false;
        }
        if octet < self.window.una {
            return self.on_old_ack(ack, cx);
        }
        let calm = self.is_calm(octet) && !reports && !ack.marked;
        self.window.nxt = self.window.nxt.max(octet);
        let window_moved = self.update_peer_window(ack.seq, octet, ack.window);
        if calm {
            self.on_calm_ack(octet, ack.echo, cx);
        } else {
            self.on_doubtful_ack(ack, window_moved, cx);
        }
        true
    }

    /// True for an ACK of new octets that arrives while no repair is in progress and no
    /// retransmission can be due. False from the sending of a tail loss probe until an ACK shows
    /// its result, and while the rate of delivery is sampled. The caller checks that the ACK has no
    /// SACK blocks and no congestion mark. ACKs that pass all these checks are by far the most
    /// common. Most of this file has no effect for them.
    #[inline]
    pub(super) fn is_calm(&self, ack: u64) -> bool {
        ack > self.window.una
            && ack <= self.window.nxt
            && self.recovery.is_calm(self.window.una)
            && !self.recovery.loss.scoreboard.is_empty()
            && !self.tail_probe.is_out()
            && !self.delivery.is_sampled
    }

    /// Handles an ACK for which [`is_calm`](Self::is_calm) is true, with the same effect as
    /// [`on_doubtful_ack`](Self::on_doubtful_ack). Each segment that the ACK covers was sent once.
    /// The function is inlined, because most ACKs are of this kind.
    #[inline(always)]
    pub(super) fn on_calm_ack(&mut self, ack: u64, echo: Option<u32>, cx: &mut Context<'_>) {
        let (pipe, acked) = (self.pipe(), ack - self.window.una);
        let mut news = News { acked, delivered: acked, echo, ..News::default() };
        let Self { recovery, meter, config, .. } = self;
        let (loss, min_rtt) = (&mut recovery.loss, meter.min_rtt);
        let rack = &mut loss.rack;
        meter.begin_ack();
        loss.scoreboard.ack_quiet(ack, |sent| {
            meter.cover(sent.at, config);
            rack.arrived(sent, cx.now, min_rtt, false);
            news.delivered_segs += 1;
        });
        self.count.delivered_segments += news.delivered_segs;
        self.window.una = ack;
        self.measure(&news, cx);
        self.on_progress(cx.now);
        self.recovery.loss.on_calm_ack();
        self.recovery.repair.settled = false;
        self.timers.stop_reordering();
        let info = self.ack_info(&news, &Before { pipe, waiting: 0 }, cx.now);
        self.recovery.cwnd.take_ack(&info);
        self.moved = true;
    }

    /// Handles an ACK for which [`is_calm`](Self::is_calm) is false, or which has SACK blocks or a
    /// congestion mark. The ACK may show losses, duplicates or spurious retransmissions.
    fn on_doubtful_ack(&mut self, ack: &AckSegment<'_>, moved: bool, cx: &mut Context<'_>) {
        let pipe = self.pipe();
        let nothing_out = self.recovery.loss.scoreboard.is_empty();
        let mut news = self.take_news(ack, cx.now);
        let by_sack = self.recovery.loss.uses_sack;
        news.duplicate = self.window.flight() > 0
            && news.is_duplicate(ack.segment, by_sack, moved)
            && !self.recovery.ignores_duplicates(&self.window, &self.config);
        self.measure(&news, cx);
        self.take_duplicate_report(&news);
        self.recovery.loss.rack.take_waiting_report(news.newest_sent, cx.now);
        if news.acked > 0 {
            self.on_progress(cx.now);
        } else if self.config.timer_rules.old_reports_restart {
            self.on_old_reports(&news, cx.now);
        }
        self.judge_probe(ack, &news, cx.now);
        let before = Before { pipe, waiting: self.recovery.loss.scoreboard.waiting() };
        if ack.marked {
            if self.config.spurious_rules.marks_keep_cuts {
                self.recovery.spurious.forget_window();
            }
            self.recover(cx.now, LossRecovery::on_mark_echo);
        }
        if self.recovery.suspects_reneging(&news, &self.config) {
            self.timers.fire_soon_for_reneging(self.meter.srtt, cx.now);
        } else {
            self.react(&news, cx);
        }
        // The mark may not have reduced cwnd above, because a repair was in progress. This ACK may
        // have ended the repair.
        if ack.marked && self.config.cwnd_rules.last_repair_ack_cuts {
            self.recover(cx.now, LossRecovery::on_mark_echo);
        }
        if !nothing_out || !self.config.spurious_rules.old_acks_report {
            self.steer(&news, &before, cx.now);
        }
        self.moved |= news.acked > 0;
    }

    /// Handles an ACK below `una` (the oldest octet that is not acknowledged). A later ACK has
    /// overtaken this ACK, so only its SACK blocks are new. Returns false if the ACK lies more than
    /// the peer's largest window below `una`, because then the ACK does not come from the peer (RFC
    /// 5961 §5.2).
    fn on_old_ack(&mut self, ack: &AckSegment<'_>, cx: &mut Context<'_>) -> bool {
        if self.window.is_too_old(ack.ack) {
            return false;
        }
        let reports = self.recovery.loss.uses_sack && !ack.segment.sack().is_empty();
        let counts =
            self.config.spurious_rules.old_acks_report || !self.recovery.loss.scoreboard.is_empty();
        if reports && counts {
            let before = self.before();
            let mut news = self.take_news(ack, cx.now);
            news.duplicate = news.sacked > 0;
            self.take_duplicate_report(&news);
            self.react(&news, cx);
            if !self.config.spurious_rules.old_acks_report {
                self.steer(&news, &before, cx.now);
            }
        }
        true
    }

    /// Records that the peer is alive, and reads its window. Returns whether the window changed or
    /// may have changed.
    #[inline]
    pub(super) fn update_peer_window(&mut self, seq: u64, ack: u64, window: u64) -> bool {
        let smss = self.window.smss;
        let moved = self.window.update(seq, ack, window);
        self.recovery.cwnd.follow_smss(smss, self.window.smss);
        self.persist.on_segment_from_peer();
        if self.window.peer() == 0 {
            // RFC 9293 §3.8.6.1: a peer that acknowledges with a closed window is alive, so
            // timeouts do not end the connection.
            self.timers.forget_retries();
        }
        moved
    }

    /// Updates the scoreboard. Returns what the ACK newly covers, in order and by its SACK blocks.
    fn take_news(&mut self, ack: &AckSegment<'_>, now: Time) -> News {
        let acked = ack.ack.saturating_sub(self.window.una);
        let dup_bytes = if self.recovery.loss.uses_sack { 0 } else { self.recovery.loss.dup_bytes };
        let rack = &self.recovery.loss.rack;
        let reordered = rack.reordering_seen > 0;
        let (delivered, echo) = (acked, ack.echo);
        let mut news = News { acked, delivered, echo, dup_bytes, reordered, ..News::default() };
        let fack = rack.fack;
        self.meter.begin_ack();
        self.delivery.begin_ack();
        if self.config.rack_rules.reports_first {
            self.take_reports(ack, &mut news, now);
            self.take_acknowledged(ack, fack, &mut news, now);
        } else {
            self.take_acknowledged(ack, fack, &mut news, now);
            self.take_reports(ack, &mut news, now);
        }
        news.delivered += news.sacked;
        news.count_in(&mut self.count, &self.window, &self.config, ack.marked);
        news
    }

    /// Handles the octets that the ACK covers in order. `fack` is the octet after the highest octet
    /// that was known to have arrived before this ACK.
    fn take_acknowledged(&mut self, ack: &AckSegment<'_>, fack: u64, news: &mut News, now: Time) {
        // If the ACK echoes a timestamp from before the last transmission of a segment, this
        // transmission was not needed (RFC 8985 §6.2 step 2). This rule holds only for octets that
        // are acknowledged in order, because the timestamps of octets beyond a hole (a range of
        // octets that has not arrived) are never echoed (RFC 7323 §4.3).
        let echo = ack.echo.filter(|_| self.config.rack_checks_echo);
        let early = |sent: &SentSegment| echo.is_some_and(|echo| is_before(echo, stamp(sent.at)));
        let (point, mut overtaken) = (self.recovery.repair.point, None);
        let Self { recovery, meter, delivery, config, window, .. } = self;
        let loss = &mut recovery.loss;
        let (scoreboard, rack, min_rtt) = (&mut loss.scoreboard, &mut loss.rack, meter.min_rtt);
        scoreboard.ack(ack.ack, |sent, snapshot| {
            news.covers_copy |= sent.times > 1;
            if sent.sacked {
                // SACK had already reported these octets.
                news.delivered -= sent.len();
                return;
            }
            news.cover(sent, point);
            snapshot.into_iter().for_each(|snapshot| delivery.see(sent, snapshot));
            if sent.times == 1 {
                meter.cover(sent.at, config);
            } else if !config.karn {
                news.retransmitted_oldest.get_or_insert(sent.at);
            }
            if Rack::is_overtaken(sent, fack) {
                overtaken.get_or_insert(sent.seq);
            }
            rack.arrived(sent, now, min_rtt, early(sent));
        });
        window.una = window.una.max(ack.ack);
        if let Some(left) = overtaken {
            loss.note_reordering(left, window);
        }
    }

    /// Handles the octets that the ACK reports by its SACK blocks.
    fn take_reports(&mut self, ack: &AckSegment<'_>, news: &mut News, now: Time) {
        let (point, mut overtaken) = (self.recovery.repair.point, None);
        let Self { recovery, meter, delivery, window, count, config, .. } = self;
        let (loss, min_rtt) = (&mut recovery.loss, meter.min_rtt);
        let mut reports = Reports::default();
        if ack.has_sack && ack.segment.sack_count() > 0 {
            reports = Reports::read(ack.segment, ack.ack, window);
        }
        if let Some(range) = reports.duplicate {
            news.take_duplicate(range, count, window, config);
        }
        if let Some(range) = news.dsack {
            let late;
            (news.duplicated_copies, late) = loss.duplicated(range, window);
            overtaken = late.filter(|_| config.spurious_rules.teaches_reordering);
        }
        let (scoreboard, rack) = (&mut loss.scoreboard, &mut loss.rack);
        let sacked_before = scoreboard.sacked();
        let arrived = reports.arrived.into_iter().flatten();
        for (left, right) in arrived.filter(|_| loss.uses_sack) {
            scoreboard.sack(left, right, |sent, snapshot| {
                news.cover(sent, point);
                snapshot.into_iter().for_each(|snapshot| delivery.see(sent, snapshot));
                if sent.times == 1 {
                    news.sacked_oldest.get_or_insert(sent.at);
                }
                if Rack::is_overtaken(sent, rack.fack) {
                    overtaken = Some(overtaken.map_or(sent.seq, |left| left.min(sent.seq)));
                }
                rack.arrived(sent, now, min_rtt, false);
            });
        }
        if let Some(left) = overtaken {
            loss.note_reordering(left, window);
        }
        news.sacked = loss.scoreboard.sacked() - sacked_before;
    }

    /// Gives round trips to the retransmission timer.
    #[inline]
    fn measure(&mut self, news: &News, cx: &mut Context<'_>) {
        self.meter.measure(news, &self.window, &self.config, &mut self.timers.retransmission, cx);
    }

    /// Notes that new octets were acknowledged. Sets the count of timeouts to zero, and restarts
    /// the timers. During a repair, a partial ACK may leave the retransmission timer as it is.
    fn on_progress(&mut self, now: Time) {
        self.timers.forget_retries();
        if self.persist.reset() {
            // The peer accepted a window probe, so the wait between window probes starts from its
            // first value again.
            self.timers.stop_persist();
        }
        let by_partial_acks = by_partial_acks(self.config.recovery, self.recovery.loss.uses_sack);
        if !self.recovery.repair.keeps_timer(self.window.una, by_partial_acks) {
            self.restart_timer(now);
        }
        self.restart_super_fast(now);
    }

    /// The head is the first outstanding segment. Restarts the timer if a SACK block of the ACK
    /// newly reports a segment that was sent only once, and that was sent before the last
    /// transmission of the head. The head may then still be on its way.
    fn on_old_reports(&mut self, news: &News, now: Time) {
        let head = self.recovery.loss.scoreboard.front().map(|head| head.at);
        if news.sacked_oldest.is_some_and(|sent| head.is_some_and(|head| sent < head)) {
            self.restart_timer(now);
        }
    }

    /// Handles the report of a duplicate. The duplicate may be a tail loss probe, another
    /// retransmission, or a copy that a link made.
    fn take_duplicate_report(&mut self, news: &News) {
        let Some(range) = news.dsack else { return };
        let rack = &mut self.recovery.loss.rack;
        if !self.config.rack_rules.reports_need_reordering {
            rack.on_dsack(self.window.una, self.window.nxt);
        } else if news.reordered && !self.tail_probe.ended_at(range.1) {
            rack.report_waits = true;
        }
        let spurious = &mut self.recovery.spurious;
        if self.config.spurious_rules.reports_need_copies {
            spurious.take_copies_report(range.1, news.duplicated_copies);
        } else {
            spurious.take_report(range);
        }
    }

    /// Returns the present state of the sender.
    pub(super) fn before(&self) -> Before {
        Before { pipe: self.pipe(), waiting: self.recovery.loss.scoreboard.waiting() }
    }

    /// Reacts to what an ACK reports for the first time.
    fn react(&mut self, news: &News, cx: &mut Context<'_>) {
        let reaction = self.recover(cx.now, |recovery, scene| recovery.react(news, scene));
        self.follow(&reaction, cx.now);
        if let Some(prior) = reaction.undone {
            if prior.was_timeout {
                self.adapt_timer(news, cx);
            }
            self.count.undone += 1;
        }
    }

    /// Adapts the timer after the ACK proved the timeout spurious (RFC 4015 §3.2). If only
    /// cwnd and ssthresh are restored, as in Linux, the timer does not adapt.
    fn adapt_timer(&mut self, news: &News, cx: &mut Context<'_>) {
        if self.config.undo == Undo::Rfc4015 {
            let sample = self.meter.doubtful_trip(news, &self.window, &self.config, cx.now);
            self.timers.retransmission.spurious(sample, cx);
            self.restart_timer(cx.now);
        }
    }

    /// Adapts other parts to the `reaction` of recovery: RACK's timer, the count of fast
    /// retransmits, the tail loss probe, and the timed segment (the segment whose round trip is
    /// measured).
    pub(super) fn follow(&mut self, reaction: &Reaction, now: Time) {
        self.timers.look_again(reaction.next_look, now);
        if reaction.began {
            self.count.fast_retransmits += 1;
            // A repair has begun, so the probe is no longer judged (RFC 8985 §7.4.2).
            self.tail_probe = TailProbe::default();
            self.meter.stop_timing();
        }
    }

    /// Judges by an ACK whether the tail loss probe repaired a loss. If the probe did so, reduces
    /// cwnd.
    fn judge_probe(&mut self, ack: &AckSegment<'_>, news: &News, now: Time) {
        if self.tail_probe.repaired_a_loss(ack, news) {
            let flight = self.window.flight() + news.acked;
            self.recover(now, |recovery, scene| recovery.on_loss_repaired_by_probe(flight, scene));
        }
    }

    /// Sets cwnd after an ACK, by recovery or by the congestion control algorithm.
    pub(super) fn steer(&mut self, news: &News, before: &Before, now: Time) {
        let info = self.ack_info(news, before, now);
        self.recover(now, |recovery, scene| recovery.steer(news, info, scene));
    }

    /// Returns what the congestion control algorithm learns of an ACK.
    fn ack_info(&mut self, news: &News, before: &Before, now: Time) -> AckInfo {
        let rate = self.delivery.sample(now, news.delivered);
        let rules = &self.config.cwnd_rules;
        let smss = self.window.smss;
        // If cwnd counts whole segments, a short segment counts as a full segment.
        let counted =
            |octets| if rules.whole_segments { news.delivered_segs * smss } else { octets };
        AckInfo {
            now,
            smss,
            acked_bytes: counted(news.acked),
            delivered_bytes: counted(news.delivered),
            lost_bytes: self.recovery.loss.scoreboard.waiting().saturating_sub(before.waiting),
            pipe_before: before.pipe,
            pipe: self.pipe(),
            rtt: self.meter.newest_rtt(news, &self.config, now),
            srtt: self.meter.srtt,
            min_rtt: self.meter.min_rtt,
            una: self.window.una,
            nxt: self.window.nxt,
            window_limited: self.recovery.cwnd.earns_growth(self.window.una - news.acked, rules),
            in_recovery: self.recovery.repair.phase.is_repairing(),
            after_timeout: self.recovery.repair.phase == Phase::Loss,
            rate,
        }
    }
}
