//! The rules by which causes are inferred.

/// The rule that gave a cause. Captures whose true causes are known show how often each rule is
/// right.
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
    /// A hole is reported, and a reordering timer may have fired.
    Reordering,
    /// The segment belongs to the repair of the holes of one window.
    InRecovery,
    /// The segment was retransmitted once more within a repair. In most cases segments that were sent
    /// after the retransmission before have arrived, so that one was lost.
    LostAgain,
    /// No acknowledgment came for a long time, in most cases as long as a timeout takes, and then
    /// the first missing octets were sent.
    Silence,
    /// A repair sent the head for the second time. Nothing shows that the first retransmission was
    /// lost, or this was shown so long ago that the repair did not wait for it.
    HeadAgain,
    /// The head was sent once more after a timeout.
    Backoff,
    /// The segment follows a timeout that marked everything outstanding as lost.
    AfterTimeout,
    /// The last segment, which is not the head, was retransmitted although no hole is reported.
    Tail,
    /// The only outstanding segment was sent again after a silence. What the sender does elsewhere
    /// shows whether a probe or a timeout sent it.
    LoneByHabit,
    /// As [`LoneByHabit`](Self::LoneByHabit), but only the length of the silence shows it.
    LoneByTime,
    /// As [`LoneByHabit`](Self::LoneByHabit), but the wait before the next retransmission shows it.
    LoneByBackoff,
    /// As [`LoneByHabit`](Self::LoneByHabit), but what the sender sent after the acknowledgment
    /// shows it.
    LoneByWindow,
    /// As [`LoneByHabit`](Self::LoneByHabit), but other connections of the sender's host show it.
    LoneByHost,
    /// The flow label shows it. A timeout usually changes the label.
    FlowLabel,
    /// The sender repairs a whole window in order after a fast retransmit (Tahoe).
    InOrder,
    /// The segment followed an acknowledgment that does not explain it.
    Guess,
    /// SACK blocks had already reported these octets or later octets of the same repair. A sender that
    /// uses SACK would not have sent them, so this one sends everything again from the first missing
    /// octet.
    ReportedBefore,
}

impl CauseRule {
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 20] = [
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
        "flow-label",
        "in-order",
        "guess",
        "reported-before",
    ];

    /// The probability that each rule's cause is right, for a capture at the sender or between the
    /// ends. The values are fitted; see `docs/captures.md`.
    const RIGHT: [f32; 20] = [
        0.0, 0.99, 0.99, 0.985, 0.997, 0.97, 0.985, 0.92, 0.985, 0.995, 0.97, 0.9, 0.75, 0.96, 0.9,
        0.9, 0.99, 0.9, 0.9, 0.99,
    ];

    /// The same probabilities for a capture at the receiver, which shows neither when the sender's
    /// timer fires nor what was lost on the path. They are fitted in the same way.
    const RIGHT_FAR: [f32; 20] = [
        0.0, 0.98, 0.87, 0.92, 0.74, 0.6, 0.77, 0.5, 0.6, 0.88, 0.6, 0.3, 0.75, 0.6, 0.5, 0.6,
        0.97, 0.8, 0.48, 0.9,
    ];

    /// The probability that a cause from this rule is right. `at_receiver` says whether the capture
    /// was taken at the receiver.
    pub const fn confidence(self, at_receiver: bool) -> f32 {
        let of = if at_receiver { Self::RIGHT_FAR } else { Self::RIGHT };
        of[self as usize]
    }
}
