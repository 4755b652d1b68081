//! Whether retransmissions were needed.

use std::collections::VecDeque;

use crate::units::{Duration, Time};

use super::super::retransmission::{Verdict, VerdictEvidence};

/// A retransmission that is watched until its octets are acknowledged, and then for a while.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The number of the retransmission.
    pub number: usize,
    /// Its first octet.
    pub left: u64,
    /// The octet after its last.
    pub right: u64,
    /// When it was captured.
    pub at: Time,
    /// Its time stamp.
    pub val: Option<u32>,
    /// Whether it carries a SYN.
    pub syn: bool,
    /// The oldest stamp whose echo shows that an earlier copy arrived.
    pub oldest_val: u32,
    /// Whether a D-SACK block counted for it.
    pub reported: bool,
    /// Whether it filled the receiver's first hole, unless an earlier copy did.
    pub filled: bool,
}

/// The verdict on a retransmission and its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The number of the retransmission.
    pub number: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict rests on.
    pub evidence: VerdictEvidence,
}

/// What the watch needs to know about an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// When it was captured.
    pub at: Time,
    /// The first octet not acknowledged before it, and after it.
    pub una: (u64, u64),
    /// The time stamp that it echoes.
    pub echo: Option<u32>,
    /// The least round trip from the capture to the receiver.
    pub far: Option<Duration>,
    /// The sender's smoothed round trip and twice its variation.
    pub round: Duration,
    /// The octets of two full segments: a receiver acknowledges no fewer (RFC 5681 §4.2).
    pub two_segments: u64,
    /// The most octets that the receiver acknowledged at once while nothing was missing.
    pub at_once_bytes: u64,
    /// Whether the connection uses SACK.
    pub sack: bool,
}

/// The retransmissions of one direction that are watched.
#[derive(Clone, Debug, Default)]
pub struct VerdictWatch {
    /// Retransmissions that are not acknowledged, in the order in which they were sent.
    open: VecDeque<Watched>,
    /// Retransmissions that are acknowledged. D-SACK blocks may still report them.
    past: VecDeque<Watched>,
}

impl VerdictWatch {
    /// The most retransmissions of each kind that are watched.
    const MOST: usize = 1 << 10;

    /// Watches a retransmission that was sent.
    pub fn left(&mut self, one: Watched) {
        self.open.push_back(one);
        if self.open.len() > Self::MOST {
            self.open.pop_front();
        }
    }

    /// Watches a retransmission whose octets had been acknowledged before it was sent.
    pub fn left_in_vain(&mut self, one: Watched) {
        self.retire(one);
    }

    fn retire(&mut self, one: Watched) {
        self.past.push_back(one);
        if self.past.len() > Self::MOST {
            self.past.pop_front();
        }
    }

    /// Whether no retransmission is outstanding.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a retransmission of all octets of `left..right` was captured lately.
    pub fn knows(&self, left: u64, right: u64) -> bool {
        let mut all = self.open.iter().rev().chain(self.past.iter().rev());
        all.any(|one| one.left <= left && right <= one.right)
    }

    /// When the octet `left` was last sent again.
    pub fn last_sent(&self, left: u64) -> Option<Time> {
        let one = self.open.iter().rev().find(|one| one.left <= left && left < one.right)?;
        Some(one.at)
    }

    /// Takes an acknowledgment. `covers` says whether its number or its SACK blocks cover octets.
    pub fn arrived(
        &mut self,
        ack: &Arrived,
        covers: impl Fn(u64, u64) -> bool,
        decided: &mut Vec<Decision>,
    ) {
        let head_sent = self.last_sent(ack.una.0);
        let mut place = 0;
        while let Some(one) = self.open.get(place).copied() {
            if covers(one.left, one.right) {
                decided.extend(Self::decide(&one, ack, head_sent));
                self.open.remove(place);
                let filled = ack.una.0 == one.left && one.left < ack.una.1;
                self.retire(Watched { filled, ..one });
            } else {
                place += 1;
            }
        }
    }

    /// Decides on `one` by the first acknowledgment that covers it. The octet that the receiver
    /// waited for before was sent again last at `head_sent`. `None` if the acknowledgment does
    /// not tell.
    fn decide(one: &Watched, ack: &Arrived, head_sent: Option<Time>) -> Option<Decision> {
        if one.reported {
            return None;
        }
        let decision = |verdict, evidence| Some(Decision { number: one.number, verdict, evidence });
        let since = ack.at.saturating_since(one.at);
        let too_soon = ack.far.is_some_and(|far| since < far * 3 / 4);
        // Its first octet was the next one that the receiver waited for. So the acknowledgment
        // echoes the time stamp of the copy that arrived (RFC 7323 §4.3).
        let filled = ack.una.0 == one.left && one.left < ack.una.1;
        if let (true, Some(echo), Some(val)) = (filled, ack.echo, one.val) {
            let older = echo.wrapping_sub(val).cast_signed() < 0;
            if !older && one.syn {
                // A SYN-ACK echoes the newest SYN.
                return None;
            }
            if !older {
                return decision(Verdict::Needed, VerdictEvidence::Echo);
            }
            if echo.wrapping_sub(one.oldest_val).cast_signed() >= 0 {
                return decision(Verdict::Spurious, VerdictEvidence::Echo);
            }
        }
        if too_soon {
            return decision(Verdict::Spurious, VerdictEvidence::Timing);
        }
        // Without SACK the copy that filled the gap may be older than any that was seen to be sent.
        let behind = !ack.sack || head_sent.is_none_or(|sent| sent < one.at);
        if behind && Self::jumped(one, ack) {
            return decision(Verdict::Spurious, VerdictEvidence::Jump);
        }
        decision(Verdict::Needed, VerdictEvidence::None)
    }

    /// Whether `ack` covers `one` behind more octets than a receiver acknowledges at once. Then a
    /// segment filled a gap, and the rest had arrived before.
    ///
    /// If the acknowledgment came long after `one`, then `one` may have filled its own gap, and
    /// the acknowledgment that told so may have been lost. With SACK each such acknowledgment
    /// tells it again, so that losses of several are the rule in an outage: there a round trip is
    /// the limit. Without SACK `one` arrives close behind what filled the gap.
    fn jumped(one: &Watched, ack: &Arrived) -> bool {
        let since = ack.at.saturating_since(one.at);
        let near = |far: Duration| since < if ack.sack { far } else { ack.round.max(far) * 3 / 2 };
        let more = ack.una.1.saturating_sub(ack.una.0) > ack.at_once_bytes.max(ack.two_segments);
        more && one.right > ack.una.0 + ack.two_segments
            && ack.una.1 >= one.right
            && ack.far.is_some_and(near)
    }

    /// Takes a duplicate acknowledgment of a connection without SACK. It may answer a
    /// retransmission that was acknowledged meanwhile and arrived as a duplicate, a round trip
    /// after it was sent.
    pub fn duplicate_answered(&mut self, at: Time, far: Duration) -> Option<Decision> {
        let fits = |one: &&mut Watched| {
            let since = at.saturating_since(one.at);
            !one.reported && since >= far * 7 / 8 && since <= far * 3 / 2
        };
        let lately = self.past.iter_mut().rev().take(64).filter(fits);
        // What filled a hole had not arrived before, as a rule.
        let one = lately.reduce(|one, older| if older.filled && !one.filled { one } else { older });
        let one = one?;
        one.reported = true;
        Some(Decision {
            number: one.number,
            verdict: Verdict::Spurious,
            evidence: VerdictEvidence::DuplicateAck,
        })
    }

    /// Takes a D-SACK block that reports that `left..right` arrived twice. It counts for the last
    /// retransmission of these octets for which no earlier block counted: that one arrived after
    /// another copy (RFC 2883 §4).
    pub fn reported(&mut self, left: u64, right: u64) -> Option<Decision> {
        let hit = |one: &&mut Watched| !one.reported && one.left < right && left < one.right;
        let open = self.open.iter_mut().rev().find(hit);
        let one = open.or_else(|| self.past.iter_mut().rev().find(hit))?;
        one.reported = true;
        Some(Decision {
            number: one.number,
            verdict: Verdict::Spurious,
            evidence: VerdictEvidence::DSack,
        })
    }
}
