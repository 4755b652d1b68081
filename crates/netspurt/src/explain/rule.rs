//! The rules that infer the causes of retransmissions.
//!
//! A *hole* is a range of octets that have not arrived, although higher octets have. A *repair* is
//! a series of retransmissions that fills one or more holes. The *head* is the first outstanding
//! octet that no SACK block has reported. A *lone* segment is the only outstanding segment.

/// The rule that gave a cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CauseRule {
    /// No rule applies.
    #[default]
    None,
    /// The segment carries a SYN.
    Syn,
    /// The segment directly follows an acknowledgment that reports a hole.
    Reported,
    /// Acknowledgments report a hole, and a reordering timer may have fired (RFC 8985 §6.2).
    Reordering,
    /// The segment belongs to a repair that has begun already.
    InRecovery,
    /// A repair sent the segment a second time. In most cases, segments that were sent after the
    /// earlier retransmission have arrived, so this earlier retransmission was lost.
    LostAgain,
    /// No acknowledgment came for a long time, in most cases for an RTO. Then the head was sent.
    Silence,
    /// The head was sent a second time during a repair, after a timeout. Acknowledgments did not
    /// trigger it: they did not show that the earlier retransmission of the head was lost, or they
    /// showed this loss too long ago.
    HeadAgain,
    /// The head was sent after a timeout. Then the timer fired again, and sent this retransmission.
    Backoff,
    /// The sender sends all outstanding octets again, in most cases after a timeout.
    AfterTimeout,
    /// The last segment was retransmitted, although no acknowledgment reports a hole. This segment
    /// does not begin at the head.
    Tail,
    /// A lone segment was sent again after a silence. The sender's behaviour in the rest of the
    /// connection shows whether a tail loss probe or a timeout was the cause.
    LoneByHabit,
    /// Like [`LoneByHabit`](Self::LoneByHabit), but only the length of the silence shows the cause.
    LoneByTime,
    /// Like [`LoneByHabit`](Self::LoneByHabit), but the wait before the next retransmission shows
    /// the cause.
    LoneByBackoff,
    /// Like [`LoneByHabit`](Self::LoneByHabit), but the segments that the sender sent after the
    /// acknowledgment of the retransmission show the cause.
    LoneByWindow,
    /// Like [`LoneByHabit`](Self::LoneByHabit), but other connections of the sender's host show the
    /// cause.
    LoneByHost,
    /// Like [`LoneByHabit`](Self::LoneByHabit), but the sender's SYN shows a stack that sends no
    /// tail loss probes.
    LoneBySyn,
    /// The flow label shows the cause, because a timeout changes the label in some stacks.
    FlowLabel,
    /// The sender sends all octets again in order after a fast retransmit, as Tahoe does.
    InOrder,
    /// No other rule explains the segment, so the cause is the most likely one.
    Guess,
    /// In this segment, or later in the same repair, the sender sent octets that SACK blocks had
    /// already reported. A sender that uses SACK does not do this. So this sender sends all octets
    /// again from the head on.
    ReportedBefore,
    /// ICMP reported that a packet of the sender was too big for the path. Then the sender sent
    /// outstanding octets again.
    TooBig,
}

impl CauseRule {
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 22] = [
        "none",
        "syn",
        "reported-hole",
        "reordering-timer",
        "in-recovery",
        "lost-again",
        "silence",
        "head-again",
        "backoff",
        "after-timeout",
        "tail",
        "lone-by-habit",
        "lone-by-time",
        "lone-by-backoff",
        "lone-by-window",
        "lone-by-host",
        "lone-by-syn",
        "flow-label",
        "in-order",
        "guess",
        "reported-before",
        "too-big",
    ];

    /// The probability that each rule's cause is right, for a capture at the sender or between the
    /// ends. The values were fitted to captures whose causes are known (`docs/captures.md`). Only
    /// the values of [`LoneByHost`](Self::LoneByHost) and [`TooBig`](Self::TooBig) are assumed.
    const CONFIDENCE: [f32; 22] = [
        0.0, 0.99, 0.995, 0.99, 0.99, 0.975, 0.99, 0.65, 0.99, 0.995, 0.985, 0.92, 0.75, 0.985,
        0.85, 0.9, 0.98, 0.99, 0.98, 0.98, 0.99, 0.98,
    ];

    /// The same probabilities for a capture at the receiver, which shows neither the sender's
    /// timers nor the losses on the path. They were fitted in the same way.
    const CONFIDENCE_AT_RECEIVER: [f32; 22] = [
        0.0, 0.985, 0.95, 0.98, 0.93, 0.6, 0.945, 0.5, 0.6, 0.93, 0.85, 0.3, 0.75, 0.88, 0.5, 0.6,
        0.88, 0.98, 0.65, 0.48, 0.9, 0.9,
    ];

    /// The probability that a cause from this rule is right. `at_receiver` says whether the capture
    /// was taken at the receiver.
    pub const fn confidence(self, at_receiver: bool) -> f32 {
        let of = if at_receiver { Self::CONFIDENCE_AT_RECEIVER } else { Self::CONFIDENCE };
        of[self as usize]
    }
}
