//! The rules by which causes are inferred.

/// A rule that gave a cause. How often each is right is measured on captures with known truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CauseRule {
    /// None applies.
    #[default]
    None,
    /// It carries a SYN.
    Syn,
    /// An acknowledgement that reports a hole came right before.
    Reported,
    /// A hole is reported, and a reordering timer may have fired.
    Reordering,
    /// It belongs to the repair of the holes of one window.
    InRecovery,
    /// It was lost again, which later arrivals show.
    LostAgain,
    /// Nothing came for as long as a timeout takes, and the first octets missing left.
    Silence,
    /// The head left for the second time in a repair, and nothing shows that the first was lost.
    HeadAgain,
    /// The head left once more after a timeout.
    Backoff,
    /// It follows a timeout that called everything outstanding lost.
    AfterTimeout,
    /// The last segment left after two round trips of silence.
    Tail,
    /// The only segment left after a silence: a probe or a timeout, from what the sender does
    /// elsewhere.
    LoneByHabit,
    /// The same, from the time alone.
    LoneByTime,
    /// The same, from the wait before the next retransmission.
    LoneByBackoff,
    /// The same, from what the sender sent when it was acknowledged.
    LoneByWindow,
    /// The same, from what other connections of the sender's host show.
    LoneByHost,
    /// The flow label changed, which only a timeout does; or it did not.
    FlowLabel,
    /// A sender that repairs a window in order after a fast retransmit (Tahoe).
    InOrder,
    /// It came with an acknowledgement that does not explain it.
    Guess,
}

impl CauseRule {
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 19] = [
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
    ];

    /// The probability that its cause is right, for a capture at the sender or between the ends.
    /// Fitted: see `docs/captures.md`.
    const RIGHT: [f32; 19] = [
        0.0, 0.99, 0.99, 0.985, 0.997, 0.97, 0.985, 0.92, 0.985, 0.995, 0.97, 0.9, 0.75, 0.96, 0.9,
        0.9, 0.99, 0.9, 0.9,
    ];

    /// The same for a capture at the receiver, which does not see when the sender's timer fires and
    /// what was lost on the path. Fitted likewise.
    const RIGHT_FAR: [f32; 19] = [
        0.0, 0.98, 0.87, 0.92, 0.74, 0.6, 0.77, 0.5, 0.6, 0.88, 0.6, 0.3, 0.75, 0.6, 0.5, 0.6,
        0.97, 0.8, 0.48,
    ];

    /// The probability that a cause is right that it gives; `at_receiver` says where the capture was
    /// taken.
    pub const fn confidence(self, at_receiver: bool) -> f32 {
        let of = if at_receiver { Self::RIGHT_FAR } else { Self::RIGHT };
        of[self as usize]
    }
}
