//! What an acknowledgment brings: octets, round trips, news of what arrived.

use crate::congestion::{AckInfo, RateSample};
use crate::sample::{RttSample, SampleSource};
use crate::segment::{Flags, SackBlock, Segment};
use crate::units::{Duration, Time};

use super::super::transmit::Context;
use super::Tcb;
use super::board::Sent;
use super::config::{Restart, Sampling};
use super::receive::AckNeed;
use super::repair::{Frto, Phase};

/// What one ACK brought.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Octets newly acknowledged in order.
    pub(super) acked: u64,
    /// Octets newly reported by SACK.
    pub(super) sacked: u64,
    /// Octets newly known to have arrived, those included that duplicate ACKs stood for before.
    pub(super) delivered: u64,
    /// The same in segments.
    delivered_segs: u64,
    /// Octets that duplicate ACKs stood for before this ACK.
    pub(super) stood_for: u64,
    /// When the oldest segment left that it newly reports by SACK, of those sent once.
    sacked_oldest: Option<Time>,
    /// When the oldest segment that it newly covers last left, of those sent again; only
    /// where nobody minds that the ACK may answer another copy.
    resent_oldest: Option<Time>,
    /// It covers, in order or by SACK, something sent once only and before repair began.
    pub(super) covers_original: bool,
    /// A duplicate the receiver reports.
    pub(super) dsack: Option<(u64, u64)>,
    /// A duplicate ACK in the sense of RFC 5681 §2, or of RFC 6675 §2 where SACK is on.
    pub(super) duplicate: bool,
    /// The time stamp it echoes.
    pub(super) echo: Option<u32>,
}

impl News {
    /// The ACK newly covers `sent`; `point` ends what was outstanding when repair began.
    fn cover(&mut self, sent: &Sent, point: u64) {
        self.covers_original |= sent.times == 1 && sent.end() <= point;
        self.delivered_segs += 1;
    }
}

impl Tcb {
    /// Takes the acknowledgment of a segment in; whether the segment is to be taken further.
    pub(super) fn on_ack(&mut self, segment: &Segment, cx: &mut Context<'_>) -> bool {
        let ack = self.octet(segment.ack);
        if ack == self.una && self.board.is_empty() && segment.sack_count() == 0 {
            // Data for an end that has nothing outstanding: of news there is the window at most.
            self.hear(segment, ack);
            return true;
        }
        // The octet of a window probe may be acknowledged without having been counted as sent.
        let probed = u64::from(self.persist_backoff > 0 && self.board.is_empty());
        if ack > self.nxt + probed.min(self.unsent()) {
            // RFC 9293 §3.10.7.4: it acknowledges what was never sent.
            self.rx.need = AckNeed::Now;
            return false;
        }
        if ack < self.una {
            return self.on_old_ack(segment, ack, cx);
        }
        let plain = self.is_plain(segment, ack);
        self.nxt = self.nxt.max(ack);
        let window_moved = self.hear(segment, ack);
        if plain {
            self.on_plain_ack(segment, ack, cx);
            return true;
        }
        let pipe_before = self.pipe();
        let mut news = self.take_news(segment, ack, cx.now);
        news.duplicate = self.is_duplicate(segment, &news, window_moved);
        self.measure(&news, cx);
        self.take_duplicate_report(&news);
        if news.acked > 0 {
            self.on_progress(cx.now);
        } else if self.config.linux_rules && self.reports_older_than_head(&news) {
            self.restart_timer(cx.now);
        }
        self.judge_probe(segment, &news, cx);
        let lost_before = self.board.lost();
        if segment.flags.has(Flags::ECE) && self.agreed.ecn {
            self.on_mark_echo(cx);
        }
        self.react(&news, cx);
        let lost = self.board.lost().saturating_sub(lost_before);
        self.steer(&news, pipe_before, lost, cx);
        self.moved |= news.acked > 0;
        true
    }

    /// Whether an ACK of new octets only moves things on: nothing is being repaired or doubted. It
    /// is by far the most common one; what it would bring to the rest of this file is known.
    pub(super) fn is_plain(&self, segment: &Segment, ack: u64) -> bool {
        let marked = segment.flags.has(Flags::ECE) && self.agreed.ecn;
        ack > self.una
            && ack <= self.nxt
            && self.repair.phase == Phase::Open
            && self.repair.frto == Frto::Off
            && self.una >= self.repair.resent_end
            && self.board.is_quiet()
            && !self.board.is_empty()
            && self.probe.end_seq.is_none()
            && segment.sack_count() == 0
            && !self.delivery.is_sampled
            && !marked
    }

    /// What such an ACK does: as the general way would, each segment it covers having gone out
    /// once.
    #[inline]
    pub(super) fn on_plain_ack(&mut self, segment: &Segment, ack: u64, cx: &mut Context<'_>) {
        let (pipe_before, acked) = (self.pipe(), ack - self.una);
        let echo = self.echo(segment);
        let mut news = News { acked, delivered: acked, echo, ..News::default() };
        let each = self.config.sampling == Sampling::EachSegment;
        let (rack, min_rtt, timed) = (&mut self.rack, self.min_rtt, &mut self.covered_once);
        timed.clear();
        self.board.ack_quiet(ack, |sent| {
            timed.push(sent.at, each);
            rack.arrived(sent, cx.now, min_rtt, false);
            news.delivered_segs += 1;
        });
        self.una = ack;
        self.measure(&news, cx);
        self.on_progress(cx.now);
        self.repair.on_plain_ack();
        self.deadlines.reorder = Time::NEVER;
        let info = self.ack_info(&news, pipe_before, 0, cx.now);
        self.congestion.on_ack(&info, &mut self.window);
        self.moved = true;
    }

    /// Whether blocks report what left before the head last did: in Linux that moves the timer
    /// (`tcp_clean_rtx_queue`), as the head's last copy may be on its way still.
    fn reports_older_than_head(&self, news: &News) -> bool {
        let head = self.board.front().map(|head| head.at);
        news.sacked_oldest.is_some_and(|sent| head.is_some_and(|head| sent < head))
    }

    /// New octets were acknowledged: resends are counted anew, and the timers run from here.
    fn on_progress(&mut self, now: Time) {
        self.retries = 0;
        if core::mem::take(&mut self.persist_backoff) > 0 {
            // A probe was taken: the next wait is the first again.
            self.deadlines.persist = Time::NEVER;
        }
        if !self.keeps_timer() {
            self.restart_timer(now);
        }
        self.restart_sfr(now);
    }

    /// The time stamp that `segment` echoes.
    fn echo(&self, segment: &Segment) -> Option<u32> {
        segment.timestamps().filter(|_| self.agreed.timestamps).map(|stamps| stamps.ecr)
    }

    /// An ACK that a later one overtook: of it, blocks alone are news. One older than any window
    /// is not the peer's (RFC 5961 §5.2).
    fn on_old_ack(&mut self, segment: &Segment, ack: u64, cx: &mut Context<'_>) -> bool {
        if ack + self.peer_window_max < self.una {
            self.rx.need = AckNeed::Now;
            return false;
        }
        if self.uses_sack() && !segment.sack().is_empty() && !self.board.is_empty() {
            let (pipe_before, lost_before) = (self.pipe(), self.board.lost());
            let mut news = self.take_news(segment, ack, cx.now);
            news.duplicate = news.sacked > 0;
            self.take_duplicate_report(&news);
            self.react(&news, cx);
            let lost = self.board.lost().saturating_sub(lost_before);
            self.steer(&news, pipe_before, lost, cx);
        }
        true
    }

    /// The peer is there: takes its window; whether that changed.
    #[inline]
    pub(super) fn hear(&mut self, segment: &Segment, ack: u64) -> bool {
        let moved = self.update_window(segment, ack);
        self.probes_unanswered = 0;
        if self.peer_window == 0 {
            // RFC 9293 §3.8.6.1: who acknowledges with a closed window is still there.
            self.retries = 0;
        }
        moved
    }

    /// Takes the peer's window; whether it changed (RFC 9293 §3.10.7.4).
    #[inline]
    fn update_window(&mut self, segment: &Segment, ack: u64) -> bool {
        let seq = self.rx.octet(segment.seq);
        if (seq, ack) < self.window_told {
            return false;
        }
        self.window_told = (seq, ack);
        let window = u64::from(segment.window) << self.agreed.peer_shift;
        let moved = window != self.peer_window;
        self.peer_window = window;
        self.peer_window_max = self.peer_window_max.max(window);
        moved
    }

    fn take_news(&mut self, segment: &Segment, ack: u64, now: Time) -> News {
        let acked = ack.saturating_sub(self.una);
        let echo = self.echo(segment);
        let stood_for = if self.uses_sack() { 0 } else { self.repair.dup_bytes };
        let mut news = News { acked, echo, stood_for, ..News::default() };
        // The echo of a copy sent before this one tells that this one was not needed (RFC 8985
        // §6.2 step 2). Only of what is acknowledged in order: what lies beyond a hole is never
        // echoed (RFC 7323 §4.3). Linux does not ask at all.
        let asks = !self.config.linux_rules;
        let early =
            |sent: &Sent| asks && echo.is_some_and(|echo| is_before(echo, Self::stamp(sent.at)));
        let (mut reported_before, point, karn) = (0, self.repair_point(), self.config.karn);
        let each = self.config.sampling == Sampling::EachSegment;
        let (rack, min_rtt, timed) = (&mut self.rack, self.min_rtt, &mut self.covered_once);
        let delivery = &mut self.delivery;
        timed.clear();
        delivery.begin_ack();
        self.board.ack(ack, |sent, snapshot| {
            if sent.sacked {
                reported_before += sent.len();
                return;
            }
            news.cover(sent, point);
            snapshot.into_iter().for_each(|snapshot| delivery.see(sent, snapshot));
            if sent.times == 1 {
                timed.push(sent.at, each);
            } else if !karn {
                news.resent_oldest.get_or_insert(sent.at);
            }
            rack.arrived(sent, now, min_rtt, early(sent));
        });
        self.una = self.una.max(ack);
        let blocks = self.blocks(segment, ack, &mut news);
        let (board, rack, delivery) = (&mut self.board, &mut self.rack, &mut self.delivery);
        let sacked_before = board.sacked();
        for (left, right) in blocks.into_iter().flatten() {
            board.sack(left, right, |sent, snapshot| {
                news.cover(sent, point);
                snapshot.into_iter().for_each(|snapshot| delivery.see(sent, snapshot));
                if sent.times == 1 {
                    news.sacked_oldest.get_or_insert(sent.at);
                }
                rack.arrived(sent, now, min_rtt, false);
            });
        }
        news.sacked = board.sacked() - sacked_before;
        news.delivered = news.acked - reported_before + news.sacked;
        news
    }

    /// The blocks that report arrivals, in ascending order; a report of a duplicate is noted
    /// (RFC 2883 §4: a first block below the ACK, or within the second).
    fn blocks(&self, segment: &Segment, ack: u64, news: &mut News) -> [Option<(u64, u64)>; 3] {
        let mut found = [None; 3];
        if !self.agreed.sack || segment.sack_count() == 0 {
            return found;
        }
        let range = |block: &SackBlock| (self.octet(block.left), self.octet(block.right));
        let all = segment.sack();
        for (place, block) in all.iter().enumerate() {
            let (left, right) = range(block);
            if left >= right || right > self.nxt {
                continue;
            }
            let within = |outer: &SackBlock| {
                let outer = range(outer);
                left >= outer.0 && right <= outer.1
            };
            if place == 0 && (right <= ack || all.get(1).is_some_and(within)) {
                news.dsack = Some((left, right));
            } else if left >= self.una && self.uses_sack() {
                found[place] = Some((left, right));
            }
        }
        found.sort_unstable();
        found
    }

    /// RFC 5681 §2, or with SACK an ACK that reports something new (RFC 6675 §2).
    fn is_duplicate(&self, segment: &Segment, news: &News, window_moved: bool) -> bool {
        if self.una >= self.nxt || news.acked > 0 {
            return false;
        }
        if self.uses_sack() {
            return news.sacked > 0;
        }
        segment.seq_len() == 0 && !window_moved && news.dsack.is_none()
    }

    /// Hands round trips to the estimator, as the sampling has it.
    #[inline]
    fn measure(&mut self, news: &News, cx: &mut Context<'_>) {
        let newest = self.covered_once.newest.or(news.sacked_oldest);
        if let Some(sent) = newest {
            self.take_exact_rtt(cx.now.saturating_since(sent));
        }
        // Linux's round takes an ACK beyond what was out when it began (`rtt_seq`).
        let beyond = u64::from(self.config.linux_rules);
        if self.una >= self.round_end + beyond {
            self.round_end = self.nxt.max(self.una + 1);
            self.round += 1;
        }
        let timed = self.timed.take_if(|timed| timed.end <= self.una).map(|timed| timed.at);
        let sent = match self.config.sampling {
            Sampling::OnePerRtt => timed,
            Sampling::EachAck => self.sent_once(news).or(news.resent_oldest),
            Sampling::EachAckOrEcho => match self.sent_once(news).or(news.resent_oldest) {
                None if news.acked > 0 => return self.measure_doubtful(news, cx),
                once => once,
            },
            Sampling::EachSegment if self.covered_once.oldest.is_some() => {
                return self.measure_each(news, cx);
            }
            Sampling::EachSegment => news.resent_oldest,
            Sampling::Timestamps if news.acked > 0 => return self.measure_echo(news, cx),
            Sampling::Timestamps => None,
        };
        match sent {
            Some(sent) => {
                let trip = self.trip(sent, 1, news.acked);
                self.timer.sample(trip, cx);
            }
            None if news.acked > 0 => self.timer.progress(timed.is_some()),
            None => {}
        }
    }

    /// When the oldest segment left that an ACK newly covers, of those sent once.
    fn sent_once(&self, news: &News) -> Option<Time> {
        self.covered_once.oldest.or(news.sacked_oldest)
    }

    /// Nothing the ACK covers went out just once: the echo tells which copy it answers.
    fn measure_doubtful(&mut self, news: &News, cx: &mut Context<'_>) {
        let Some(rtt) = self.doubtful_echo(news.echo, cx.now) else {
            return self.timer.progress(false);
        };
        self.take_exact_rtt(rtt);
        let trip = self.echoed_trip(rtt, news.acked, cx.now);
        self.timer.sample(trip, cx);
    }

    fn measure_each(&mut self, news: &News, cx: &mut Context<'_>) {
        for place in 0..self.covered_once.each.len() {
            let trip = self.trip(self.covered_once.each[place], 1, news.acked);
            self.timer.sample(trip, cx);
        }
    }

    /// A sample from the echo of a time stamp (RFC 7323 §4.1): unambiguous even where segments
    /// went out twice.
    fn measure_echo(&mut self, news: &News, cx: &mut Context<'_>) {
        let trip = match news.echo.filter(|echo| *echo > 0) {
            Some(echo) => self.echoed_trip(since_stamp(echo, cx.now), news.acked, cx.now),
            None => match self.covered_once.oldest {
                Some(sent) => self.trip(sent, 1, news.acked),
                None => return self.timer.progress(false),
            },
        };
        self.timer.sample(trip, cx);
    }

    /// The round trip that the echo of a stamp tells where Linux asks it.
    pub(super) fn doubtful_echo(&self, echo: Option<u32>, now: Time) -> Option<Duration> {
        let asked = self.config.sampling == Sampling::EachAckOrEcho && self.agreed.timestamps;
        let echo = echo.filter(|echo| asked && *echo > 0)?;
        Some(since_stamp(echo, now).max(Duration::from_millis(1)))
    }

    /// A round trip that an echo tells, which is of one copy only.
    pub(super) fn echoed_trip(&self, rtt: Duration, acked: u64, now: Time) -> RttSample {
        let sent = now.as_nanos().saturating_sub(rtt.as_nanos());
        let trip = self.trip(Time::from_nanos(sent), 1, acked);
        RttSample { source: SampleSource::Echo, ..trip }
    }

    /// The round trip of a segment that left at `sent` for the last of its `times`.
    pub(super) fn trip(&self, sent: Time, times: u8, acked: u64) -> RttSample {
        let source = match self.config.sampling {
            Sampling::OnePerRtt => SampleSource::TimedSegment,
            _ => SampleSource::EachSegment,
        };
        RttSample {
            sent,
            ambiguous: times > 1 && self.config.karn,
            source,
            acked_bytes: acked,
            flight_bytes: self.flight(),
            smss_bytes: u32::try_from(self.smss).unwrap_or(u32::MAX),
            resends: times.saturating_sub(1),
            round: self.round,
            ..RttSample::default()
        }
    }

    /// A round trip to the nanosecond, from a segment that went out once.
    pub(super) fn take_exact_rtt(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt * 7 / 8 + rtt / 8));
    }

    /// The timer after an ACK of new data (RFC 6298 §5.2, 5.3).
    pub(super) fn restart_timer(&mut self, now: Time) {
        let Some(oldest) = self.board.front().map(|oldest| oldest.at) else {
            return self.timer.stop();
        };
        let few = self.board.len() < 4 && self.unsent() == 0;
        let from_oldest = match self.config.restart {
            Restart::OnAck => false,
            Restart::PerSegment => true,
            Restart::Rfc7765 => few,
        };
        self.arm_timer_from(if from_oldest { oldest } else { now }, now);
    }

    /// What the congestion law is told of an ACK.
    pub(super) fn ack_info(
        &mut self,
        news: &News,
        pipe_before: u64,
        lost: u64,
        now: Time,
    ) -> AckInfo {
        let rate: Option<RateSample> = self.delivery.sample(now, news.delivered);
        let newest = self.covered_once.newest.or(news.sacked_oldest);
        let rtt = newest.map(|sent| now.saturating_since(sent));
        AckInfo {
            now,
            smss: self.smss,
            acked_bytes: self.counted(news.acked, news.delivered_segs),
            delivered_bytes: self.counted(news.delivered, news.delivered_segs),
            lost_bytes: lost,
            pipe_before,
            pipe: self.pipe(),
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            una: self.una,
            nxt: self.nxt,
            window_limited: if self.config.linux_rules {
                self.uses_window()
            } else {
                self.una - news.acked < self.limited_until
            },
            in_recovery: self.repair.phase.is_repairing(),
            after_timeout: self.repair.phase == Phase::Loss,
            rate,
        }
    }

    /// Octets of `segs` segments as the window counts them: in Linux, which counts segments, a
    /// short one for a whole.
    fn counted(&self, octets: u64, segs: u64) -> u64 {
        if self.config.linux_rules { segs * self.smss } else { octets }
    }
}

/// What has passed since the clock of the time stamps option read `echo`.
fn since_stamp(echo: u32, now: Time) -> Duration {
    Duration::from_millis(u64::from(Tcb::stamp(now).wrapping_sub(echo)))
}

/// Whether a 32-bit stamp is older than another (RFC 7323 §5.2).
pub(super) fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}
