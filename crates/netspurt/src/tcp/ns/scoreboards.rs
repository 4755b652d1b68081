//! The scoreboards of sack1 and fack, the senders of the network simulator ns-2 that use SACK. A
//! hole is a range of octets that SACK has not reported, below octets that it has reported.

use std::collections::VecDeque;

use super::ack::Ack;
use crate::ranges::Ranges;

/// The scoreboard of sack1: the SACK reports of the receiver, and how far the holes were
/// retransmitted.
#[derive(Debug, Default)]
pub(super) struct SackScoreboard {
    pub(super) arrived: Ranges,
    /// The octet below which the holes were retransmitted in this recovery. If no hole was
    /// retransmitted, the field is 0.
    pub(super) retransmitted: u64,
    pub(super) in_recovery: bool,
    /// Whether duplicate ACKs are ignored, because no new ACK has come since a timeout.
    pub(super) after_timeout: bool,
    pub(super) pipe_segs: i64,
    /// Whether a partial ACK came since the last new ACK outside of recovery.
    pub(super) first_partial: bool,
    /// The first octet that the sender may send on the next partial ACK (`next_pkt_`).
    pub(super) next_hole: u64,
}

impl SackScoreboard {
    pub(super) fn clear(&mut self) {
        self.arrived.clear();
        self.retransmitted = 0;
    }

    /// Reads the SACK blocks of an ACK. Returns whether they report anything new. `una` is the
    /// oldest octet that is not acknowledged, and the flag `moved` says whether the ACK moved this
    /// octet. If the ACK moved this octet, all reports above `una` count as new.
    pub(super) fn update(&mut self, moved: bool, una: u64, ack: &Ack<'_>) -> bool {
        let total = self.arrived.total();
        self.arrived.remove_below(una);
        for (left, right) in ack.ranges(una) {
            self.arrived.insert(left.max(una), right.max(una));
        }
        self.arrived.total() != total || moved && !self.arrived.is_empty()
    }

    /// The first octet that was neither reported nor retransmitted. The result is `None` if no
    /// octet above this octet was reported.
    pub(super) fn hole_to_send(&self, una: u64) -> Option<u64> {
        let hole = self.after_block(self.retransmitted.max(una));
        (hole < self.arrived.top()?).then_some(hole)
    }

    /// The first octet at or above the octet `from` that was not reported.
    pub(super) fn after_block(&self, from: u64) -> u64 {
        self.arrived.holding(from).map_or(from, |range| range.1)
    }
}

/// The scoreboard of fack: the SACK reports of the receiver, and the outstanding retransmissions.
#[derive(Debug)]
pub(super) struct FackScoreboard {
    pub(super) arrived: Ranges,
    /// Retransmissions not known to have arrived. For each one: its first octet, and the value of
    /// `nxt` (the next octet to send) when the retransmission was sent.
    pub(super) retransmitted: VecDeque<(u64, u64)>,
    /// The octet after the highest octet known to have arrived.
    pub(super) forward: u64,
    pub(super) in_recovery: bool,
    /// Whether a retransmission was lost, so that no segment leaves until a timeout or the end of
    /// recovery.
    pub(super) stopped: bool,
}

impl FackScoreboard {
    pub(super) fn new(una: u64) -> Self {
        Self {
            arrived: Ranges::default(),
            retransmitted: VecDeque::new(),
            forward: una,
            in_recovery: false,
            stopped: false,
        }
    }

    pub(super) fn clear(&mut self) {
        self.arrived.clear();
        self.retransmitted.clear();
    }

    /// Processes an ACK of the octets below `una`, with its SACK blocks. A retransmission counts as
    /// lost when a block ends beyond the value of `nxt` that was stored with the retransmission.
    pub(super) fn update(&mut self, una: u64, ack: &Ack<'_>) {
        self.arrived.remove_below(una);
        for (left, right) in ack.ranges(una) {
            self.arrived.insert(left.max(una), right.max(una));
        }
        let top = ack.ranges(una).map(|(_, right)| right).max().unwrap_or(0);
        let arrived = &self.arrived;
        self.retransmitted.retain(|(seq, _)| *seq >= una && arrived.holding(*seq).is_none());
        let outstanding = self.retransmitted.len();
        self.retransmitted.retain(|(_, nxt)| top <= *nxt);
        self.stopped |= self.retransmitted.len() < outstanding;
    }

    /// The first octet that neither arrived nor was retransmitted. The result is `None` if no octet
    /// above this octet was reported.
    pub(super) fn next_hole(&self, una: u64, smss: u64) -> Option<u64> {
        let top = self.arrived.top()?;
        let mut at = una;
        while at < top {
            if let Some((_, right)) = self.arrived.holding(at) {
                at = right;
            } else if self.retransmitted.iter().any(|(seq, _)| *seq == at) {
                at += smss;
            } else {
                return Some(at);
            }
        }
        None
    }
}
