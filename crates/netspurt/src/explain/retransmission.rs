//! A retransmission in a capture: its cause, the verdict on it, and the evidence for the verdict.

use crate::segment::{Cause, CauseCode};
use crate::units::{Duration, Time};

use super::rule::CauseRule;

/// Whether a retransmission was needed, as far as a capture can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// The capture does not show whether the retransmission was needed.
    #[default]
    Unknown,
    /// No earlier transmission of the octets arrived in full.
    Needed,
    /// An earlier transmission of the octets had arrived, or arrived later.
    Spurious,
}

impl Verdict {
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 3] = ["unknown", "needed", "spurious"];
}

/// The evidence for a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum VerdictEvidence {
    /// No evidence was seen.
    #[default]
    None,
    /// A D-SACK block reported the octets as duplicates (RFC 2883 §4).
    DSack,
    /// The echoed timestamp of an acknowledgment shows which transmission arrived (RFC 3522 §3.2).
    Echo,
    /// The acknowledgment of the octets came too soon to answer the retransmission.
    Timing,
    /// The octets were acknowledged, the connection uses SACK, and no D-SACK block reported them.
    NoDSack,
    /// The octets had been acknowledged before the retransmission.
    Acknowledged,
    /// A duplicate acknowledgment followed, because the retransmission arrived as a duplicate (RFC
    /// 5681 §4.2). This counts only if the receiver was not seen to send D-SACK blocks.
    DuplicateAck,
    /// The capture was taken at the receiver and shows whether an earlier transmission had arrived.
    AtReceiver,
    /// One acknowledgment covered more than two segments, or more than one if the receiver
    /// acknowledges each segment. It also covered more octets than this receiver ever acknowledged
    /// at once while nothing was missing. So another segment filled a hole (octets that were
    /// missing below octets that had arrived, RFC 5681 §4.2). An earlier transmission of the
    /// retransmitted octets had arrived above this hole.
    Jump,
    /// SACK blocks had reported the octets before the retransmission.
    Reported,
    /// The capture was taken at the receiver. An earlier transmission had come to the receiver's
    /// host, and the receiver's packets show that the host dropped it.
    Dropped,
}

impl VerdictEvidence {
    /// Whether this evidence is a report of the receiver that another transmission had arrived.
    /// Such evidence is certain wherever the capture was taken, unless the network duplicates
    /// packets.
    pub const fn is_certain(self) -> bool {
        matches!(self, Self::DSack | Self::Acknowledged | Self::Reported)
    }

    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 11] = [
        "none",
        "d-sack",
        "echoed-stamp",
        "ack-timing",
        "no-d-sack",
        "acknowledged-before",
        "duplicate-ack",
        "at-receiver",
        "ack-jump",
        "reported-before",
        "dropped-by-host",
    ];
}

/// A retransmission.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExplainedRetransmission {
    /// When the retransmission was captured.
    pub at: Time,
    /// The first octet of the retransmission, in the direction's sequence space.
    pub left: u64,
    /// The octet after the last octet of the retransmission.
    pub right: u64,
    /// The time since the last transmission of the octets. Zero if this is not known.
    pub gap: Duration,
    /// Why the retransmission was sent. An empty code means that the cause is not known.
    pub cause: CauseCode,
    /// The rule that gave the cause.
    pub rule: CauseRule,
    /// The probability that the cause is right, from 0 to 1.
    pub cause_confidence: f32,
    /// The verdict: whether the retransmission was needed.
    pub verdict: Verdict,
    /// The probability that the verdict is right, from 0 to 1.
    pub verdict_confidence: f32,
    /// The evidence for the verdict.
    pub evidence: VerdictEvidence,
    /// The time from the retransmission to the first acknowledgment that covers it. Zero unless
    /// this acknowledgment decided the verdict.
    pub answered_in: Duration,
    /// Whether the original is missing from the capture. In a capture at the receiver: whether the
    /// original of any octet is missing.
    pub original_missing: bool,
    /// Whether nothing shows the order of sending: the segment has no timestamp, and IP
    /// identifications do not show that it is a later transmission. If the capture has no earlier
    /// transmission of the octets, this segment may itself be the original, which arrived late.
    pub unordered: bool,
    /// Whether the segment has a FIN and no data.
    pub bare_fin: bool,
    /// Whether the original came to the capture after this retransmission, which had overtaken it.
    pub original_late: bool,
    /// Whether the receiver's host dropped the earlier transmissions. A capture at the receiver has
    /// these transmissions, and the receiver's packets show that the host dropped them.
    pub discarded: bool,
    /// The sender's smoothed round trip when the retransmission was captured. Zero if it is not
    /// known.
    pub srtt: Duration,
    /// The size of the largest segment that was acknowledged before the retransmission, in sequence
    /// numbers.
    pub acked_bytes_max: u32,
    /// Whether a timeout may have begun the series of retransmissions to which this retransmission
    /// belongs. A capture at the receiver may not show this timeout.
    pub maybe_after_timeout: bool,
    /// Whether the sender's pause before this segment may be a round trip or a timeout. This is so
    /// if the capture may have been taken beside the receiver, and does not show how long packets
    /// take to the sender and back. In addition, the original was not captured, and the pause was
    /// shorter than [`INITIAL_RTO`](Self::INITIAL_RTO).
    pub pause_unclear: bool,
    /// Whether the retransmission has the flow label of the packet before it.
    pub label_kept: bool,
}

impl ExplainedRetransmission {
    /// The timer before a round trip is known (RFC 6298 §2.1).
    pub const INITIAL_RTO: Duration = Duration::from_secs(1);

    /// Whether the retransmission timer sent the segment. The timers of SYNs and probes do not
    /// count.
    pub fn is_timeout(&self) -> bool {
        self.cause.get() == Some(Cause::Rto)
    }

    /// Notes that the sender changes its flow label when a retransmission timer fires. If the
    /// retransmission is a lone segment with the label of the packet before it, no timer sent it,
    /// so it is a tail loss probe. Returns whether it is such a probe.
    pub fn tell_by_label(&mut self) -> bool {
        let lone = matches!(
            self.rule,
            CauseRule::LoneByTime
                | CauseRule::LoneByHabit
                | CauseRule::LoneByHost
                | CauseRule::LoneByWindow
        );
        let told = self.label_kept && lone;
        if told {
            (self.cause, self.rule) = (Some(Cause::Tlp).into(), CauseRule::FlowLabel);
        }
        told
    }
}
