//! The settings of TCP that have only a few values: the word and the meaning of each value.

use netspurt::clock::Clock;
use netspurt::tcp::{Recovery, Restart, Sampling, SfrResponse, Undo};

use super::kind::Word;

/// A setting with a few values, each of which has a word.
pub trait Words: Copy + PartialEq + 'static {
    /// Each value, its word and its meaning.
    const WORDS: &'static [(Self, &'static str, &'static str)];

    /// Returns the word of the value.
    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(known, ..)| *known == self);
        found.expect("every setting has a word").1
    }

    /// Returns the value with the word `word`, if there is one.
    fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known, _)| *known == word).map(|(setting, ..)| *setting)
    }
}

/// The words of a setting.
pub fn words<T: Words>() -> Vec<Word> {
    T::WORDS.iter().map(|(_, word, doc)| Word { word, doc }).collect()
}

/// The names of clocks.
pub fn clock_words() -> Vec<Word> {
    Clock::NAMED.iter().map(|(word, _, doc)| Word { word, doc }).collect()
}

impl Words for Recovery {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Recovery::Tahoe, "tahoe", "fast retransmit, then slow start from one segment"),
        (Recovery::Reno, "reno", "fast recovery until the next new ACK (RFC 2001)"),
        (
            Recovery::NewReno,
            "newreno",
            "fast recovery through partial ACKs (RFC 6582, in `ns-2` RFC 2582)",
        ),
        (
            Recovery::Sack,
            "sack",
            "a scoreboard and a pipe estimate (RFC 6675, in `ns-2` its sender sack1)",
        ),
        (Recovery::Fack, "fack", "forward acknowledgment (Mathis and Mahdavi 1996)"),
        (Recovery::Rack, "rack", "RACK, which finds losses by time (RFC 8985, not in `ns-2`)"),
    ];
}

impl Words for Undo {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (
            Undo::Rfc4015,
            "rfc4015",
            "ssthresh becomes the larger of FlightSize and ssthresh before the cut. cwnd is raised to \
             pipe plus the octets that the ACK acknowledges, at most the initial window. After a \
             spurious timeout the timer also adapts (RFC 4015)",
        ),
        (Undo::Prior, "prior", "cwnd and ssthresh are restored, as in Linux"),
    ];
}

impl Words for SfrResponse {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (SfrResponse::None, "none", "nothing"),
        (SfrResponse::Halve, "halve", "the effect of a loss that duplicate ACKs show"),
        (SfrResponse::Reset, "reset", "the effect of a timeout, without the backoff"),
    ];
}

impl Words for Sampling {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (
            Sampling::OnePerRtt,
            "one-per-rtt",
            "the round trip of one segment at a time (RFC 6298 §3)",
        ),
        (
            Sampling::EachAck,
            "each-ack",
            "the round trip of the oldest segment that an ACK newly covers",
        ),
        (
            Sampling::EachAckOrEcho,
            "each-ack-or-echo",
            "as `each-ack`, but by the echoed timestamp if an ACK acknowledges anything that was \
             retransmitted, as in Linux",
        ),
        (
            Sampling::EachSegment,
            "each-segment",
            "the round trips of all segments that an ACK newly covers (Allman and Paxson 1999)",
        ),
        (
            Sampling::Timestamps,
            "timestamps",
            "by the echoed timestamp of each ACK of new octets (RFC 7323 §4)",
        ),
    ];
}

impl Words for Restart {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Restart::OnAck, "on-ack", "it restarts (RFC 6298 §5.3)"),
        (
            Restart::PerSegment,
            "per-segment",
            "it counts from the last transmission of the oldest outstanding segment",
        ),
        (
            Restart::Rfc7765,
            "rfc7765",
            "as `per-segment` while few segments are outstanding, otherwise as `on-ack` (RFC 7765)",
        ),
    ];
}
