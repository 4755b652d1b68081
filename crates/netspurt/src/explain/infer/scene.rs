//! What a sender knew when it sent octets again.

use crate::units::{Duration, Time};

use super::flow_label::LabelHint;

/// How the octets of a retransmission lie beside those that were reported, acknowledged or sent
/// again before.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScenePlace {
    /// Whether SACK blocks that the sender knew had reported all its octets.
    pub reported: bool,
    /// Whether the capture was taken away from the sender, so that reports that it shows may be lost
    /// before the sender.
    pub afar: bool,
    /// Whether it lies behind the previous retransmission, and SACK blocks had reported all octets
    /// between the two.
    pub skips: bool,
    /// Whether it begins below the end of the previous retransmission.
    pub returns: bool,
    /// Whether its octets had been acknowledged in the capture.
    pub acknowledged: bool,
    /// Whether it follows the previous retransmission without a gap, and nothing was acknowledged
    /// in between.
    pub follows: bool,
    /// Whether it had been acknowledged in the capture, its octets lie above those of the previous
    /// retransmission, and it came sooner after that than any timer fires.
    pub trails: bool,
}

/// A retransmission and its circumstances, as far as a capture shows them.
#[derive(Clone, Copy, Debug)]
pub struct SenderScene {
    /// When it was captured.
    pub at: Time,
    /// Its first octet.
    pub left: u64,
    /// The octet after its last.
    pub right: u64,
    /// The first octet not acknowledged, and not reported by a SACK block either.
    pub head: u64,
    /// The octet after the highest sent.
    pub highest: u64,
    /// When its octets were sent last; `None` if that was not captured.
    pub last_sent: Option<Time>,
    /// Whether that last transmission was a retransmission.
    pub sent_again: bool,
    /// The time since the latest restart of the retransmission timer (RFC 6298 §5.3): since the
    /// last acknowledgment of new octets, or the last transmission of the head.
    pub waited: Duration,
    /// The time since the last acknowledgment of new octets.
    pub since_una: Duration,
    /// The time since the last acknowledgment that told the sender something.
    pub lag: Duration,
    /// The time since the sender last sent or heard anything.
    pub quiet: Duration,
    /// The smoothed round trip and its variation.
    pub rtt: Duration,
    /// See [`rtt`](Self::rtt).
    pub rttvar: Duration,
    /// The shortest round trip.
    pub rtt_min: Duration,
    /// Whether a SACK block reports octets above this segment.
    pub hole: bool,
    /// Duplicate ACKs in a row.
    pub dup_acks: u32,
    /// Whether something that was sent later than its last transmission has arrived (RFC 8985 §6.2).
    pub overtaken: bool,
    /// The time from its last transmission to the sending of the newest octets that have arrived.
    pub proven_for: Option<Duration>,
    /// Whether the connection uses SACK; `None` if options were not captured.
    pub sack: Option<bool>,
    /// Whether the last new segment left after a silence, as a probe with new octets does (RFC 8985
    /// §7.3).
    pub may_be_probed: bool,
    /// The time since a segment that came alone after a silence. `None` if the last silence had no
    /// such segment.
    pub since_lone: Option<Duration>,
    /// Its octets beside those that were reported, acknowledged or sent again before.
    pub place: ScenePlace,
    /// What its flow label tells.
    pub label: LabelHint,
}

impl SenderScene {
    /// The delay that hosts and captures may add.
    pub const SLACK: Duration = Duration::from_millis(5);
    /// The lowest floor of the timers in common use. `TCP_RTO_MIN_US` and similar settings go down
    /// to some tens of milliseconds; defaults are 200 ms and more.
    pub const FLOOR: Duration = Duration::from_millis(40);

    /// Whether an acknowledgment may have triggered the retransmission.
    pub fn is_clocked(&self) -> bool {
        self.lag <= Self::SLACK.max(self.rtt / 8)
    }

    /// Whether a reordering timer may have sent it. Such a timer fires at most a round trip after
    /// the acknowledgment that started it (RFC 8985 §6.2).
    pub fn is_within_reordering(&self) -> bool {
        self.lag <= self.rtt_min / 4 + Self::SLACK * 2
    }

    /// The shortest retransmission timeout that a sender with these round trips may have: RFC 6298
    /// §2.3 without its floor.
    pub fn shortest_rto(&self) -> Duration {
        self.rtt + (self.rttvar * 2).max(Self::FLOOR)
    }

    /// Whether the retransmission timer can have expired.
    pub fn may_be_expired(&self) -> bool {
        self.waited >= self.shortest_rto()
    }

    /// Whether neither side sent anything for so long that no acknowledgment triggered it.
    pub fn is_silent(&self) -> bool {
        self.quiet >= (self.rtt_min * 3).max(Self::FLOOR)
    }

    /// Whether it is the first segment that is neither acknowledged nor reported.
    pub fn is_head(&self) -> bool {
        self.left <= self.head
    }

    /// Whether it is the last one sent.
    pub fn is_tail(&self) -> bool {
        self.right >= self.highest
    }

    /// Whether the third duplicate ACK or a later one came immediately before.
    pub fn is_reported_now(&self) -> bool {
        self.dup_acks >= 3 && self.is_clocked()
    }

    /// Whether acknowledgments call for a retransmission: they report a hole below SACKed octets,
    /// or three of them are duplicates (RFC 5681 §3.2, RFC 6675 §4).
    pub fn is_reported(&self) -> bool {
        self.hole || self.dup_acks >= 3
    }
}
