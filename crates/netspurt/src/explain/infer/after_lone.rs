//! Watches what a sender sends after its only outstanding segment (a *lone* segment) was
//! retransmitted and acknowledged. The segments that follow may show whether a timeout or a tail
//! loss probe was the cause.

use crate::segment::{Cause, Flags};
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

/// A segment of new octets.
#[derive(Clone, Copy, Debug)]
pub struct FreshSegment {
    /// When the segment was captured.
    pub at: Time,
    /// The number of octets of the segment.
    pub bytes: u64,
    /// The payload size of the largest segment so far, in octets.
    pub smss_bytes: u64,
    /// Whether the segment has the flag CWR.
    pub cwr: bool,
}

/// The congestion window after the retransmission of a lone segment.
///
/// After a timeout, cwnd is one segment. It becomes two segments when this segment is acknowledged
/// (RFC 5681 §3.1). After a probe that repaired a loss, cwnd is half of its earlier value or more
/// (RFC 8985 §7.4.2).
///
/// With ECN, the first new octets after a reduction of cwnd carry CWR (RFC 3168 §6.1.2). A timeout
/// reduces cwnd at once. A probe reduces cwnd later, when octets after the probe are acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct AfterLone {
    /// The number of the retransmission of the lone segment.
    pub number: usize,
    /// The octet after the last octet of the retransmission.
    right: u64,
    /// The octet after the highest octet that was sent when the retransmission was acknowledged.
    /// `None` before its acknowledgment.
    from: Option<u64>,
    /// The number of new octets sent after the acknowledgment of the retransmission, until the
    /// first of these octets was acknowledged.
    sent_bytes: u64,
    /// Whether the last segment of the new octets was full, so the application may have had more
    /// data.
    full: bool,
    /// When the first of the new octets was acknowledged.
    ended: Option<Time>,
    /// Whether the acknowledgment at the instant `ended` came with data. If so, the application may
    /// decide how much is sent next.
    app_limited: bool,
    /// Whether cwnd may have been reduced for another reason than the retransmission of the lone
    /// segment.
    reduced_otherwise: bool,
}

impl AfterLone {
    /// If a sender sends `WIDE` segments in a round trip, its cwnd was more than one segment in the
    /// previous round trip. One acknowledgment adds at most two segments (RFC 3465 §2.2).
    const WIDE: u64 = 4;
    /// Within the time `AT_ONCE` after an acknowledgment, a sender sends the segments that the
    /// acknowledgment allows.
    const AT_ONCE: Duration = Duration::from_millis(2);

    /// Begins with retransmission `number`, which ends before octet `right`. If `only` is true, no
    /// other segment was retransmitted between this retransmission and the previous transmission of
    /// its octets.
    pub fn of(number: usize, right: u64, only: bool) -> Self {
        Self {
            number,
            right,
            from: None,
            sent_bytes: 0,
            full: false,
            ended: None,
            app_limited: false,
            reduced_otherwise: !only,
        }
    }

    /// Takes a segment of new octets. `was_wide` says whether, at some time, twice
    /// [`WIDE`](Self::WIDE) segments were outstanding. Returns the cause of the retransmission of
    /// the lone segment, if this segment shows it.
    pub fn sending(&mut self, fresh: &FreshSegment, was_wide: bool) -> Option<Cause> {
        self.from?;
        if fresh.cwr && !self.reduced_otherwise && (self.ended.is_some() || self.sent_bytes == 0) {
            return Some(if self.ended.is_some() { Cause::Tlp } else { Cause::Rto });
        }
        if let Some(ended) = self.ended {
            let at_once = fresh.at.saturating_since(ended) <= Self::AT_ONCE && !self.app_limited;
            let two = fresh.smss_bytes + 1..=fresh.smss_bytes * 2;
            let narrow = two.contains(&self.sent_bytes) && self.full;
            return (at_once && narrow && was_wide).then_some(Cause::Rto);
        }
        self.sent_bytes += fresh.bytes;
        self.full = fresh.smss_bytes > 0 && fresh.bytes.is_multiple_of(fresh.smss_bytes);
        (self.sent_bytes > fresh.smss_bytes * (Self::WIDE - 1)).then_some(Cause::Tlp)
    }

    /// Whether the watch is over after [`sending`](Self::sending) took a segment. If so, later
    /// segments do not show the cause.
    pub fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// Takes the acknowledgment `ack` at the instant `at`. It acknowledges the octets below `una`.
    /// `highest` is the octet after the highest octet sent.
    pub fn acknowledged(&mut self, at: Time, una: u64, highest: u64, ack: &impl CapturedTcp) {
        self.reduced_otherwise |= ack.flags().has(Flags::ECE);
        match self.from {
            None if una >= self.right => self.from = Some(highest),
            Some(from) if una > from && self.ended.is_none() => {
                (self.ended, self.app_limited) = (Some(at), ack.len() > 0);
            }
            _ => {}
        }
    }

    /// Whether `bytes` outstanding octets are at least twice [`WIDE`](Self::WIDE) segments.
    pub const fn is_wide(bytes: u64, smss_bytes: u64) -> bool {
        bytes >= smss_bytes * Self::WIDE * 2 && smss_bytes > 0
    }
}
