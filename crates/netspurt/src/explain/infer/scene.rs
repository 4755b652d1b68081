//! What a sender knew when it sent octets again.

use crate::units::{Duration, Time};

use super::flow_label::LabelHint;

/// A retransmission in its circumstances, as far as a capture shows them.
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
    /// Whether that was a retransmission.
    pub sent_again: bool,
    /// Since the retransmission timer must have been restarted (RFC 6298 §5.3): the last
    /// acknowledgement of new octets, or the last transmission of the head.
    pub waited: Duration,
    /// Since the last acknowledgement of new octets.
    pub since_una: Duration,
    /// Since the last acknowledgement that told the sender anything.
    pub lag: Duration,
    /// Since the sender sent or heard anything.
    pub quiet: Duration,
    /// The round trip and its variation.
    pub rtt: Duration,
    /// See [`rtt`](Self::rtt).
    pub rttvar: Duration,
    /// The least round trip.
    pub rtt_min: Duration,
    /// Whether a SACK block reports octets above it.
    pub hole: bool,
    /// Duplicate ACKs in a row.
    pub dup_acks: u32,
    /// Whether it follows the retransmission before it without a gap, and nothing was acknowledged
    /// since.
    pub follows: bool,
    /// Whether something that was sent later than its last transmission has arrived (RFC 8985 §6.2).
    pub overtaken: bool,
    /// How much later than its last transmission the newest of what has arrived was sent.
    pub proven_for: Option<Duration>,
    /// Whether the connection uses SACK; `None` if options were not captured.
    pub sack: Option<bool>,
    /// Whether the last new segment left after a silence, as a probe with new octets does (RFC 8985
    /// §7.3).
    pub may_be_probed: bool,
    /// Whether it was acknowledged before, as far as the capture shows, and comes behind the
    /// retransmission before it, sooner than any timer.
    pub trails: bool,
    /// Since a segment that came alone after a silence; `None` if there was none of late.
    pub since_lone: Option<Duration>,
    /// What its flow label tells.
    pub label: LabelHint,
}

impl SenderScene {
    /// Hosts and captures are late by this much.
    const SLACK: Duration = Duration::from_millis(5);
    /// The least floor of any timer that is widespread: `TCP_RTO_MIN_US` and similar settings reach
    /// some tens of milliseconds; defaults are 200 ms and more.
    pub const FLOOR: Duration = Duration::from_millis(40);

    /// Whether an acknowledgement may have triggered it.
    pub fn is_clocked(&self) -> bool {
        self.lag <= Self::SLACK.max(self.rtt / 8)
    }

    /// Whether it was sent when a reordering timer that an acknowledgement started may fire: at most
    /// a round trip after it (RFC 8985 §6.2).
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

    /// Whether it is the first segment that the sender misses an acknowledgement of.
    pub fn is_head(&self) -> bool {
        self.left <= self.head
    }

    /// Whether it is the last one sent.
    pub fn is_tail(&self) -> bool {
        self.right >= self.highest
    }

    /// Acknowledgements that call for a retransmission: a hole below SACKed octets, or three
    /// duplicates (RFC 5681 §3.2, RFC 6675 §4).
    pub fn is_reported(&self) -> bool {
        self.hole || self.dup_acks >= 3
    }
}
