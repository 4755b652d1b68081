//! RACK: a segment counts as lost when a segment that was sent sufficiently later has arrived (RFC
//! 8985 §6). The *reordering window* says how much later.

use crate::packed::{packed, packed_value};
use crate::segment::Cause;
use crate::units::{Duration, Time};

use super::scoreboard::Scoreboard;
use super::sent_segment::SentSegment;

/// After this many recoveries without the report of a duplicate, the reordering window shrinks
/// again (RFC 8985 §6.2 step 4, "16 loss recoveries").
const PERSISTENCE: u8 = 16;

/// Of consecutive arrived segments, loss detection checks this many one by one, and skips the other
/// segments in one step.
const STEPS: u32 = 4;

/// The unit of Linux's clock for sending times.
const CLOCK_UNIT: Duration = Duration::from_micros(1);

/// The order in which segments were sent: by the instant of sending, then by the turn (how often
/// the clock was read earlier at the same instant), then by the end of the segment. Without the
/// switch `clock_read_again` the clock is read for each segment.
///
/// departs: RFC 8985 §6.2 - of several segments that were sent at one instant, the newest is the
/// segment that was sent last, and not the segment with the highest octet. Simulated time stands
/// still between transmissions; a sender's clock does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SentOrder {
    at: Time,
    turn: u32,
    end: u64,
}

packed_value!(SentOrder { at, turn, end });

impl SentOrder {
    #[inline]
    fn of(sent: &SentSegment) -> Self {
        Self { at: sent.at, turn: sent.turn(), end: sent.end() }
    }
}

/// RACK's state for a connection.
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// The segment that was sent last, of all segments known to have arrived.
    newest: SentOrder,
    /// The round trip of the segment whose arrival RACK noted last (`RACK.rtt`).
    rtt: Duration,
    /// When the segment that gave `rtt` was sent, and its turn.
    timed: (Time, u32),
    /// Whether RACK has got a round trip since it last looked for losses, or an undo has restored
    /// cwnd since RACK looked.
    pub(super) has_news: bool,
    /// The octet after the highest octet that is known to have arrived.
    pub(super) fack: u64,
    /// The number of times that reordering was seen.
    pub(super) reordering_seen: u32,
    /// The maximum number of segments by which a segment was overtaken.
    pub(super) reordered_segs: u64,
    /// The multiplier of the reordering window (§6.2 step 4).
    reo_wnd_mult: u64,
    /// The number of recoveries until the multiplier returns to 1.
    persist: u8,
    /// The next octet to send when the multiplier last grew. The multiplier grows at most once in a
    /// round trip.
    dsack_round: Option<u64>,
    /// With the switch `reports_need_reordering`: whether the report of a duplicate waits until an
    /// ACK newly covers a segment.
    pub(super) report_waits: bool,
    /// With the switch `reports_need_reordering`: when the multiplier last grew.
    grew: Option<Time>,
}

packed!(Rack {
    newest,
    rtt,
    timed,
    has_news,
    fack,
    reordering_seen,
    reordered_segs,
    reo_wnd_mult,
    persist,
    dsack_round,
    report_waits,
    grew
});

/// What the reordering window depends on in addition to RACK's own state.
pub(super) struct RackInputs {
    pub(super) now: Time,
    pub(super) min_rtt: Duration,
    pub(super) srtt: Duration,
    /// The reordering window in hundredths of the minimum round trip, before it grows.
    pub(super) window_percent: u32,
    /// Whether recovery is in progress, or SACK reports enough segments to start recovery.
    pub(super) eager: bool,
    /// Whether segments that were sent at one instant may have different sending times
    /// (`clock_read_again`).
    pub(super) reads_clock: bool,
}

impl Rack {
    /// Whether later segments overtook the segment `sent`, whose arrival an ACK has just shown.
    /// `fack` is the octet after the highest octet that was known to have arrived before this ACK.
    /// A segment that was sent more than once does not count as overtaken.
    pub(super) fn is_overtaken(sent: &SentSegment, fack: u64) -> bool {
        sent.end() <= fack && sent.times == 1
    }

    /// Notes that an ACK shows for the first time that the segment `sent` has arrived (§6.2 steps 2
    /// and 3). The flag `early` says whether the ACK echoes the timestamp of an earlier
    /// transmission of this segment. A retransmission does not count if `early` is true, or if it
    /// was sent less than a minimum round trip ago.
    pub(super) fn arrived(
        &mut self,
        sent: &SentSegment,
        now: Time,
        min_rtt: Option<Duration>,
        early: bool,
    ) {
        self.fack = self.fack.max(sent.end());
        let rtt = now.saturating_since(sent.at);
        let too_short = min_rtt.is_some_and(|least| rtt < least);
        if sent.times > 1 && (early || too_short) {
            return;
        }
        (self.rtt, self.timed) = (rtt, (sent.at, sent.turn()));
        self.has_news = true;
        self.newest = self.newest.max(SentOrder::of(sent));
    }

    /// Notes that the segment that begins at the octet `left` arrived after later segments. If no
    /// segment above the oldest octet that is not acknowledged has arrived, `una` is this octet,
    /// and the later segments lie between the octets `left` and `una`. Otherwise `una` is `None`.
    pub(super) fn note_reordering(&mut self, left: u64, una: Option<u64>, smss: u64) {
        self.reordering_seen = self.reordering_seen.saturating_add(1);
        let segs = una.unwrap_or(self.fack).saturating_sub(left).div_ceil(smss.max(1));
        self.reordered_segs = self.reordered_segs.max(segs);
    }

    /// Whether a segment was overtaken by more than `segs` segments.
    pub(super) fn is_reordered_beyond(&self, segs: u32) -> bool {
        self.reordered_segs > u64::from(segs)
    }

    /// Enlarges the reordering window, because a reported duplicate shows that the window was too
    /// small (§6.2 step 4).
    pub(super) fn on_dsack(&mut self, una: u64, nxt: u64) {
        if self.dsack_round.is_none_or(|round| una >= round) {
            self.dsack_round = Some(nxt);
            self.grow();
        }
    }

    /// Enlarges the reordering window as Linux does, because a duplicate was reported. The report
    /// waits for an ACK that newly covers a segment. `newest_sent` is when the newest segment that
    /// the present ACK newly covers was sent. If this segment was sent before the window last grew,
    /// no round trip has passed, and the report is ignored (`tcp_rack_update_reo_wnd`).
    pub(super) fn take_waiting_report(&mut self, newest_sent: Option<Time>, now: Time) {
        if let Some(sent) = newest_sent.filter(|_| self.report_waits) {
            self.report_waits = false;
            if self.grew.is_none_or(|grew| sent >= grew) {
                self.grew = Some(now);
                self.grow();
            }
        }
    }

    fn grow(&mut self) {
        self.reo_wnd_mult = self.reo_wnd_mult.max(1) + 1;
        self.persist = PERSISTENCE;
    }

    /// Counts an ended recovery. After enough recoveries, the reordering window shrinks again.
    pub(super) fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Whether the segment `sent` left after the newest segment known to have arrived
    /// (`RACK_sent_after`).
    pub(super) fn is_younger(&self, sent: &SentSegment) -> bool {
        SentOrder::of(sent) > self.newest
    }

    /// The reordering window: how much longer than one round trip RACK waits for a segment (§6.2
    /// step 4).
    fn window(&self, with: &RackInputs) -> Duration {
        if self.reordering_seen == 0 && with.eager {
            return Duration::ZERO;
        }
        let percent = u64::from(with.window_percent) * self.reo_wnd_mult.max(1);
        (with.min_rtt * percent / 100).min(with.srtt)
    }

    /// The time from the transmission of a segment until it counts as late, if it has not arrived.
    pub(super) fn late(&self, with: &RackInputs) -> Duration {
        self.rtt + self.window(with)
    }

    /// Whether the segment `sent` left at the same instant as the segment that gave RACK its round
    /// trip, but after the clock was read again.
    fn was_sent_just_after(&self, sent: &SentSegment) -> bool {
        sent.at == self.timed.0 && sent.turn() > self.timed.1
    }

    /// Marks late segments as lost (§6.2 step 5). The other segments that were sent before the
    /// newest arrived segment are not late yet. Returns how long it takes until all of these
    /// segments are late.
    pub(super) fn detect(
        &self,
        scoreboard: &mut Scoreboard,
        with: &RackInputs,
    ) -> Option<Duration> {
        let late = self.late(with);
        let mut wait: Option<Duration> = None;
        let (mut place, mut run) = (0, 0);
        while place < scoreboard.len() {
            let sent = scoreboard.get(place);
            if sent.sacked {
                // The loop skips the first arrived segments of a run one by one, and the rest of
                // the run in one step.
                run += 1;
                place = if run < STEPS { place + 1 } else { scoreboard.after_run(sent.seq) };
                continue;
            }
            let sent = *sent;
            run = 0;
            place += 1;
            let younger = self.is_younger(&sent);
            if younger && sent.times == 1 {
                // Every original above this segment was also sent after the newest arrived segment.
                break;
            }
            let waits = sent.lost.is_some() && !sent.retransmitted;
            if younger || waits || scoreboard.is_spared(&sent) {
                continue;
            }
            let due = sent.at + late;
            let was_sent_later = with.reads_clock && self.was_sent_just_after(&sent);
            let due = if due == with.now && was_sent_later { due + CLOCK_UNIT } else { due };
            if due <= with.now {
                scoreboard.mark_lost(place - 1, Cause::Rack);
            } else {
                let remaining = due - with.now;
                wait = Some(wait.map_or(remaining, |longest: Duration| longest.max(remaining)));
            }
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux (`tcp_rack_update_reo_wnd`): the window grows only on an ACK that delivers a segment,
    /// and at most once in a round trip.
    #[test]
    fn a_waiting_report_widens_the_reordering_window_when_a_newer_segment_arrives() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut rack = Rack { report_waits: true, ..Rack::default() };
        rack.take_waiting_report(None, at(100));
        assert!(rack.report_waits && rack.reo_wnd_mult == 0);
        rack.take_waiting_report(Some(at(10)), at(110));
        assert_eq!((rack.report_waits, rack.reo_wnd_mult), (false, 2));
        rack.report_waits = true;
        rack.take_waiting_report(Some(at(109)), at(120));
        assert_eq!((rack.report_waits, rack.reo_wnd_mult), (false, 2), "no round trip has passed");
        rack.report_waits = true;
        rack.take_waiting_report(Some(at(110)), at(210));
        assert_eq!(rack.reo_wnd_mult, 3);
    }

    /// Linux: `tcp_mstamp_refresh`. The segment that gave RACK its round trip left at the same
    /// instant as three other segments. The clock was read again before the last two of these
    /// segments.
    #[test]
    fn rack_waits_longer_for_segments_that_were_sent_after_another_clock_reading() {
        let detect = |reads_clock| {
            let at = |ms| Time::ZERO + Duration::from_millis(ms);
            let (mut rack, mut scoreboard) = (Rack::default(), Scoreboard::default());
            for (n, reads) in [(0, true), (1, false), (2, true), (3, false)] {
                scoreboard.push(SentSegment::first(n * 1000, 1000, at(0)), reads, None);
            }
            let min_rtt = Duration::from_millis(100);
            for seq in [3000, 0] {
                scoreboard.sack(seq, seq + 1000, |sent, _| {
                    rack.arrived(sent, at(100), None, false);
                });
            }
            let with = RackInputs {
                now: at(100),
                min_rtt,
                srtt: min_rtt,
                window_percent: 25,
                eager: true,
                reads_clock,
            };
            let wait = rack.detect(&mut scoreboard, &with);
            (scoreboard.lost(), wait)
        };
        assert_eq!(detect(false), (2000, None));
        assert_eq!(detect(true), (1000, Some(Duration::from_micros(1))));
    }

    /// RFC 8985 §6.2 step 5: a segment is late when RACK.rtt plus reo_wnd have passed since it was
    /// sent. The timer runs for exactly the rest of this time.
    #[test]
    fn the_timer_of_rack_fires_exactly_when_a_segment_becomes_late() {
        let at = |ns| Time::ZERO + Duration::from_nanos(ns);
        let (mut rack, mut scoreboard) = (Rack::default(), Scoreboard::default());
        for (n, sent) in [(0, 0), (1, 300)] {
            scoreboard.push(SentSegment::first(n * 1000, 1000, at(sent)), true, None);
        }
        let rtt = Duration::from_millis(100);
        scoreboard.sack(1000, 2000, |sent, _| rack.arrived(sent, at(300) + rtt, None, false));
        rack.reordering_seen = 1;
        let reads_clock = false;
        let now = at(125_000_000 - 200);
        let with = RackInputs {
            now,
            min_rtt: rtt,
            srtt: rtt,
            window_percent: 25,
            eager: false,
            reads_clock,
        };
        assert_eq!(rack.detect(&mut scoreboard, &with), Some(Duration::from_nanos(200)));
    }
}
