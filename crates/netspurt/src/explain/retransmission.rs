//! A retransmission in a capture: its cause, the verdict on it, and the evidence.

use crate::segment::{Cause, CauseCode};
use crate::units::{Duration, Time};

use super::rule::CauseRule;

/// Whether a retransmission was needed, as far as a capture can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// It cannot be known from this capture.
    #[default]
    Unknown,
    /// No earlier copy arrived in full.
    Needed,
    /// An earlier copy had arrived, or arrived later.
    Spurious,
}

impl Verdict {
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 3] = ["unknown", "needed", "spurious"];
}

/// What a verdict or a cause rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum VerdictEvidence {
    /// Nothing was seen that decides.
    #[default]
    None,
    /// A D-SACK block reported the octets as duplicates (RFC 2883 §4).
    DSack,
    /// An acknowledgment echoed a time stamp older than the retransmission's (RFC 3522 §3.2).
    Echo,
    /// An acknowledgment came sooner than the path's shortest round trip allows.
    Timing,
    /// The octets were acknowledged, and no D-SACK followed from a receiver that sends them.
    NoDSack,
    /// The octets had been acknowledged before they were sent again.
    Acknowledged,
    /// A duplicate acknowledgment followed a round trip later, as a duplicate segment calls for
    /// (RFC 5681 §4.2), where the connection does not use SACK.
    DuplicateAck,
    /// The capture was taken at the receiver, and shows whether an earlier copy had arrived.
    AtReceiver,
    /// One acknowledgment covered more than the two segments that it may wait for (RFC 5681 §4.2),
    /// so an earlier copy had arrived.
    Jump,
    /// SACK blocks had reported the octets before they were sent again.
    Reported,
}

impl VerdictEvidence {
    /// Whether the receiver itself told that another copy arrived. That holds wherever the capture
    /// was taken.
    pub const fn is_surely_known(self) -> bool {
        matches!(self, Self::DSack | Self::Acknowledged | Self::Reported)
    }

    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 10] = [
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
    ];
}

/// A retransmission.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExplainedRetransmission {
    /// When it was captured.
    pub at: Time,
    /// Its first octet, counted from the SYN.
    pub left: u64,
    /// The octet after its last.
    pub right: u64,
    /// Time since the octets were captured last; zero if they were not.
    pub gap: Duration,
    /// Why it was sent; no code stands for *unknown*.
    pub cause: CauseCode,
    /// The rule that gave the cause.
    pub rule: CauseRule,
    /// The probability that the cause is right, from 0 to 1.
    pub cause_confidence: f32,
    /// Whether it was needed.
    pub verdict: Verdict,
    /// The probability that the verdict is right, from 0 to 1.
    pub verdict_confidence: f32,
    /// What the verdict rests on.
    pub evidence: VerdictEvidence,
    /// Whether the original is missing from the capture.
    pub original_missing: bool,
    /// Whether neither IP identifications nor time stamps show that this is a later transmission.
    /// If the capture lacks the original, this may be the original, which came late.
    pub unordered: bool,
    /// Whether a timeout may have begun the repair to which this segment belongs. A capture at the
    /// receiver may not show that timeout.
    pub maybe_after_timeout: bool,
}

impl ExplainedRetransmission {
    /// Whether the retransmission timer sent it. The timers of SYNs and probes do not count.
    pub fn is_timeout(&self) -> bool {
        self.cause.get() == Some(Cause::Rto)
    }
}
