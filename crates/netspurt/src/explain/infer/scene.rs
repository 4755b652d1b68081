//! The circumstances of a retransmission, as the sender knew them.
//!
//! An acknowledgment has *news* if it covers new octets, is a duplicate, or has SACK blocks. The
//! *head* is the first octet that is neither acknowledged nor reported by a SACK block.

use crate::segment::Cause;
use crate::units::{Duration, Time};

use super::flow_label::LabelHint;
use super::syn_style::ProbesBySyn;

/// The duplicate ACKs since new octets were acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct DuplicatesSoFar {
    /// The number of these ACKs.
    pub count: u32,
    /// The number of these ACKs that left the window unchanged. An ACK that changes the window is
    /// no duplicate ACK for a sender (RFC 5681 §2).
    pub same_window: u32,
    /// The number of ACKs in a row that left the window unchanged. A segment with data, or with
    /// another window, ends the row.
    pub row: u32,
}

/// Where the octets of a retransmission lie, compared with octets that were reported, acknowledged
/// or sent again before.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScenePlace {
    /// Whether SACK blocks had reported all octets of the retransmission. Only blocks that may have
    /// reached the sender count.
    pub reported: bool,
    /// The shortest time from the capture to the sender and back.
    pub near: Duration,
    /// Whether this retransmission lies above the previous one, and all octets between them had
    /// been acknowledged or reported by SACK blocks.
    pub skips_reported: bool,
    /// Whether this retransmission begins below the end of the previous retransmission.
    pub begins_below_previous: bool,
    /// Whether the octets of the retransmission had been acknowledged in the capture.
    pub acknowledged: bool,
    /// Whether the octets of the retransmission were sent before in several segments, or some of
    /// them are new. Linux joins small segments when the retransmission timer fires. Stacks made
    /// from 4.4BSD then also add new octets. A tail loss probe repeats only the last segment.
    pub joins: bool,
    /// Whether the retransmission is the last outstanding segment, but lacks up to 40 octets at the
    /// end of that segment. The payload of a segment is shorter if the TCP header has more options.
    pub shortens_tail: bool,
    /// Whether three conditions hold. First, this retransmission follows the previous one without a
    /// gap, and both together are longer than a full segment. Second, it was sent less than the shortest round trip after the previous one. Third, no
    /// acknowledgment with news triggered it. That is so in three cases: no such acknowledgment came
    /// between these retransmissions; none reached the sender between them (`same_trigger`); or, far
    /// from the sender, the retransmission begins more than a segment above all acknowledged octets.
    /// After a longer time, an acknowledgment that the capture missed may have triggered this
    /// retransmission. If the capture is known to miss packets, there is a further condition (see
    /// `SenderTrouble::follows`).
    pub follows: bool,
    /// Far from the sender: whether no acknowledgment with news reached the sender between the
    /// previous retransmission and this one, as far as the capture shows. One may have passed the
    /// capture.
    pub same_trigger: bool,
    /// Whether this retransmission follows the previous one without a gap, and was sent at nearly
    /// the same time. Such retransmissions are a *burst*. In Linux, a piece of the send buffer may
    /// hold several segments. While its send buffer is full, Linux does not split a piece, and
    /// repeats all of it, even if the receiver has reported a part of it. A piece holds at most
    /// half of the largest window (`tcp_bound_to_half_wnd`) or 64 KiB. So this field is false for
    /// the part of a burst beyond the length of a piece.
    pub in_burst: bool,
    /// Whether two conditions hold. First, the retransmission is a later part of a burst that is
    /// longer than a piece. Second, SACK blocks had reported an earlier part of this burst.
    pub burst_repeats_reported: bool,
    /// Whether three conditions hold. First, the octets of this retransmission had been
    /// acknowledged in the capture. Second, these octets lie above the previous retransmission.
    /// Third, this retransmission came so soon after the previous one that no timer can have fired.
    pub soon_after_previous: bool,
}

impl ScenePlace {
    /// The maximum time between two successive segments that a host sends from one piece of its
    /// send buffer.
    pub const BURST: Duration = Duration::from_micros(50);
}

/// A retransmission and its circumstances, as far as a capture shows them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderScene {
    /// When the retransmission was captured.
    pub at: Time,
    /// The first octet of the retransmission.
    pub left: u64,
    /// The octet after the last octet of the retransmission.
    pub right: u64,
    /// The first octet that is neither acknowledged nor reported by a SACK block.
    pub head: u64,
    /// The octet after the highest octet that was sent.
    pub highest: u64,
    /// When the octets were last sent before this retransmission. `None` if this was not captured.
    pub last_sent: Option<Time>,
    /// Whether the transmission at `last_sent` was also a retransmission.
    pub sent_again: bool,
    /// The time since the last restart of the retransmission timer (RFC 6298 §5.3). The timer
    /// restarts when new octets are acknowledged, and when the head is sent.
    pub waited: Duration,
    /// The time since the sender got the last acknowledgment of new octets.
    pub since_una: Duration,
    /// The time since the sender got the last acknowledgment with news.
    pub lag: Duration,
    /// The time since the later of two events: the sender's last segment that occupies sequence
    /// numbers, and the last acknowledgment with news.
    pub quiet: Duration,
    /// The smoothed round trip. Zero if no round trip is known.
    pub rtt: Duration,
    /// The smoothed variation of the round trip.
    pub rttvar: Duration,
    /// The shortest round trip.
    pub rtt_min: Duration,
    /// Whether a SACK block reports octets above the first octet of the retransmission.
    pub hole: bool,
    /// The duplicate ACKs that came before the retransmission.
    pub duplicates: DuplicatesSoFar,
    /// What the capture shows about acknowledgments on their way to the sender.
    pub acks: AcksOnTheirWay,
    /// Whether any octets sent after `last_sent` have arrived (RFC 8985 §6.2).
    pub overtaken: bool,
    /// The time from `last_sent` to the sending of the newest octets that have arrived.
    pub proven_for: Option<Duration>,
    /// Whether the connection uses SACK. `None` if the capture does not show it.
    pub sack: Option<bool>,
    /// Whether the sender sends tail loss probes, as far as its SYN shows it.
    pub probing: ProbesBySyn,
    /// Whether the last new segment may be a probe with new octets, because the sender sent it
    /// after a silence (RFC 8985 §7.3).
    pub may_be_probed: bool,
    /// The time since the first segment after the last long silence. `None` unless this segment
    /// came alone: no other segment followed it within half a round trip.
    pub since_lone: Option<Duration>,
    /// Where the octets of the retransmission lie among the other octets of the direction.
    pub place: ScenePlace,
    /// What the flow label of the retransmission shows.
    pub label: LabelHint,
}

/// What the capture shows about acknowledgments that may not have reached the sender yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct AcksOnTheirWay {
    /// Whether two conditions hold. First, the capture has acknowledgments of the retransmitted
    /// octets that had not reached the sender. Second, no duplicate ACK or SACK block came
    /// recently.
    pub untold: bool,
    /// Whether the capture shows which acknowledgments had reached the sender. False if several
    /// acknowledgments of the retransmitted octets, or of octets above them, passed before the
    /// retransmission.
    pub known: bool,
}

impl ScenePlace {
    /// Whether the capture is so far from the sender that the path may lose acknowledgments between
    /// them.
    pub fn is_afar(&self) -> bool {
        self.near > SenderScene::SLACK
    }
}

impl SenderScene {
    /// The longest time by which a host or a capture is assumed to delay a packet.
    pub const SLACK: Duration = Duration::from_millis(5);
    /// The maximum lateness of a reordering timer. Linux sets this timer two ticks later
    /// (`TCP_TIMEOUT_MIN`), and it fires up to one tick after the time that was set. A tick takes 4
    /// ms if there are 250 ticks a second, so the timer is at most 12 ms late. The rest is a
    /// margin.
    pub const REORDERING_LATE: Duration = Duration::from_millis(15);
    /// The time in which a sender beside the capture answers an acknowledgment.
    pub const ANSWER: Duration = Duration::from_millis(1);
    /// The lowest floor (minimum RTO) of the timers in common use. By default, floors are 200 ms or
    /// more. But `TCP_RTO_MIN_US` and similar settings lower them to some tens of milliseconds.
    pub const FLOOR: Duration = Duration::from_millis(40);
    /// Most timers add at least 200 ms to srtt (Linux: `TCP_RTO_MIN`). `USUAL_FLOOR` is 10 ms less,
    /// as a margin.
    pub const USUAL_FLOOR: Duration = Duration::from_millis(190);

    /// Whether an acknowledgment may have triggered the retransmission.
    pub fn is_clocked(&self) -> bool {
        self.is_at_once(self.lag)
    }

    /// Whether a retransmission counts as immediate if `after` is the time since its trigger.
    pub fn is_at_once(&self, after: Duration) -> bool {
        after <= Self::SLACK.max(self.rtt / 8)
    }

    /// The time since the last transmission. The smoothed round trip if it is not known.
    pub fn age(&self) -> Duration {
        self.last_sent.map_or(self.rtt, |sent| self.at.saturating_since(sent))
    }

    /// Whether the sender would have answered the last acknowledgment with news before the
    /// retransmission. If the capture is not beside the sender, the time on the way varies.
    pub fn is_unprompted(&self) -> bool {
        self.lag > Self::ANSWER.max(self.place.near)
    }

    /// Whether a reordering timer may have sent the retransmission (RFC 8985 §6.2). This timer
    /// usually fires a quarter of a round trip after the acknowledgment that started it.
    pub fn is_within_reordering(&self) -> bool {
        self.lag <= self.rtt_min / 4 + Self::REORDERING_LATE
    }

    /// Whether a reordering timer may have sent the retransmission, if the sender has made this
    /// timer as long as possible. The timer waits for at most a whole round trip (RFC 8985 §6.2).
    pub fn is_within_longest_reordering(&self) -> bool {
        self.rtt.is_zero() || self.lag <= self.rtt + Self::REORDERING_LATE
    }

    /// The shortest RTO that a sender with these round trips may have. It exceeds srtt by two
    /// rttvar or by [`FLOOR`](Self::FLOOR), whichever is longer. Two rttvar are less than the four
    /// rttvar of RFC 6298 §2.3, so the result is a lower bound. If no round trip is known, only the
    /// usual minimum of timers counts.
    pub fn shortest_rto(&self) -> Duration {
        if self.rtt.is_zero() {
            return Self::USUAL_FLOOR;
        }
        self.rtt + (self.rttvar * 2).max(Self::FLOOR)
    }

    /// Whether the retransmission timer may have expired.
    pub fn may_be_expired(&self) -> bool {
        self.waited >= self.shortest_rto()
    }

    /// Whether the retransmission timer sent the retransmission. The caller has checked that
    /// acknowledgments report no loss and that the sender repairs nothing. `expired` says whether
    /// this timer has expired. If the capture may hide SACK blocks, duplicate ACKs may have
    /// reported a loss in such blocks. Then a reordering timer may have sent the retransmission.
    pub fn expired_untold(&self, expired: bool) -> bool {
        let clocked = self.is_clocked();
        if self.sack.is_none() && self.duplicates.count > 0 {
            let late = !self.place.is_afar() && !self.is_within_longest_reordering();
            return !clocked && (late || expired && !self.is_at_reordering_timer());
        }
        let trip = if self.rtt.is_zero() { self.shortest_rto() } else { self.rtt };
        expired || self.waited >= trip && !clocked
    }

    /// Whether the silence before the retransmission was so long that no acknowledgment can have
    /// triggered it.
    pub fn is_silent(&self) -> bool {
        let floor = if self.rtt_min.is_zero() { Self::USUAL_FLOOR } else { Self::FLOOR };
        self.quiet >= (self.rtt_min * 3).max(floor)
    }

    /// Whether a timer sent the retransmission, because no acknowledgment can have triggered it.
    /// There are two conditions. First, acknowledgments report no loss, or only one or two
    /// duplicate ACKs came, and the sender would have reacted to these earlier. Second, at least a
    /// round trip has passed since the octets before the retransmission were acknowledged.
    pub fn is_unreported(&self) -> bool {
        let few = self.duplicates.count < 3 && !self.hole && self.sack.is_some();
        few && !self.is_clocked()
            && !self.is_within_reordering()
            && !self.rtt_min.is_zero()
            && self.since_una >= self.rtt_min
    }

    /// Whether the retransmission begins at the head or below it.
    pub fn is_head(&self) -> bool {
        self.left <= self.head
    }

    /// Whether the retransmission has the highest octet that was sent, or would have this octet if
    /// its header had fewer options.
    pub fn is_tail(&self) -> bool {
        self.right >= self.highest || self.place.shortens_tail
    }

    /// Whether there is an indication of a loss: a duplicate ACK with an unchanged window, or a SACK
    /// block above the first octet of the retransmission.
    pub fn has_loss_indication(&self) -> bool {
        self.duplicates.same_window > 0 || self.hole
    }

    /// Whether the sender uses SACK and is beside the capture, and there is no indication of a loss.
    /// In a recovery, Linux also repairs octets on a partial ACK (`tcp_fastretrans_alert`). So the
    /// result is false if the sender's SYN may be Linux's.
    pub fn lacks_loss_indication(&self) -> bool {
        let beside = self.sack == Some(true) && !self.place.is_afar();
        beside && !self.has_loss_indication() && !self.probing.may_be_linux()
    }

    /// Whether the third or a later duplicate ACK came immediately before the retransmission.
    pub fn is_reported_now(&self) -> bool {
        self.duplicates.count >= 3 && self.is_clocked()
    }

    /// Whether the sender does not use SACK, and the third duplicate ACK came just before the
    /// retransmission. It does not matter whether the previous fast retransmit was sent shortly
    /// before, because some senders soon begin another one.
    pub fn is_third_duplicate(&self) -> bool {
        self.sack == Some(false) && self.duplicates.count == 3 && self.lag <= Self::ANSWER
    }

    /// Whether the third duplicate ACK of a new row came just before the retransmission. In 4.4BSD
    /// and in stacks like it, a segment with data or with another window ends a row of duplicate
    /// ACKs. The third ACK of the next row triggers another fast retransmit.
    pub fn is_third_in_row(&self) -> bool {
        self.duplicates.row == 3 && self.duplicates.count > 3 && self.lag <= Self::ANSWER
    }

    /// Whether acknowledgments report a loss: SACK blocks report octets above the retransmission
    /// (RFC 6675 §4), or three duplicate ACKs came (RFC 5681 §3.2). If the sender uses SACK and the
    /// capture is near it, duplicate ACKs alone do not count, because they answer copies that the
    /// network made.
    pub fn is_reported(&self) -> bool {
        self.hole || self.duplicates.count >= 3 && (self.sack != Some(true) || self.place.is_afar())
    }

    /// The most likely cause of a repair that duplicate ACKs or SACK blocks trigger.
    pub fn repair_cause(&self, clocked: bool) -> Cause {
        match self.sack {
            Some(false) | None if !self.hole => Cause::Fast,
            _ if clocked => Cause::SackRecovery,
            _ => Cause::Rack,
        }
    }

    /// Whether the timer of a sender without SACK sent the head. The third duplicate ACK triggers a
    /// fast retransmit at once. If later duplicate ACKs come before the head is sent, the timer
    /// sent the head.
    pub fn is_overdue(&self) -> bool {
        let usual = self.rtt + Self::USUAL_FLOOR;
        self.sack == Some(false) && self.duplicates.count > 5 && self.waited >= usual
    }

    /// Whether an acknowledgment that reported a loss may have triggered the retransmission, although
    /// it passed the capture long before. A queue between the sender and a capture far away delays
    /// all packets. If the sender's packets come without a pause, or within half a round trip after
    /// the report of a hole, no timer of the sender is likely to have sent the retransmission.
    pub fn may_be_delayed(&self) -> bool {
        let flows = self.is_at_once(self.quiet) || self.hole && self.lag <= self.rtt / 2;
        self.place.is_afar() && !self.sent_again && flows
    }

    /// Whether the retransmission was sent just when a reordering timer fires (RFC 8985 §6.2). The
    /// timer fires a quarter of the shortest round trip after the acknowledgment that started it.
    pub fn is_at_reordering_timer(&self) -> bool {
        let timer = self.rtt_min / 4;
        self.lag + Self::SLACK >= timer && self.lag <= timer + Self::REORDERING_LATE
    }
}
