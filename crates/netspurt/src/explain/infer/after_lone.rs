//! What a sender sends after its only outstanding segment was retransmitted and acknowledged.

use crate::segment::{Cause, Flags};
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

/// A segment with octets that were not sent before.
#[derive(Clone, Copy, Debug)]
pub struct FreshSegment {
    /// When it was captured.
    pub at: Time,
    /// Its octets.
    pub bytes: u64,
    /// Octets of the largest segment so far.
    pub smss_bytes: u64,
    /// Whether it has the flag CWR.
    pub cwr: bool,
}

/// The congestion window after the repair of a lone segment.
///
/// After a timeout cwnd is one segment, and two when that segment is acknowledged (RFC 5681 §3.1).
/// After a probe that repaired a loss it is half of its earlier value or more (RFC 8985 §7.4.2).
///
/// With ECN the first new octets after cwnd was reduced carry CWR (RFC 3168 §6.1.2). A timeout
/// reduces cwnd at once. A probe reduces it when octets after the probe are acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct AfterLone {
    /// The number of the retransmission.
    pub number: usize,
    /// The octet after the last one of the retransmission.
    right: u64,
    /// The octet after the last one that had been sent when the retransmission was acknowledged.
    /// `None` before that.
    from: Option<u64>,
    /// Octets sent since then, before any of them was acknowledged.
    sent_bytes: u64,
    /// Whether the last of these segments was a full one, so that there was more to send.
    full: bool,
    /// When the first of these octets was acknowledged.
    ended: Option<Time>,
    /// Whether the application may decide how much is sent next, because that acknowledgment came
    /// with data.
    app_limited: bool,
    /// Whether cwnd may have been reduced for another reason.
    reduced_otherwise: bool,
}

impl AfterLone {
    /// Four segments in a round trip are more than a sender sends whose cwnd was one segment a
    /// round trip ago (RFC 3465 §2.1 adds at most two for one acknowledgment).
    const WIDE: u64 = 4;
    /// Segments that an acknowledgment allows are sent within this time.
    const AT_ONCE: Duration = Duration::from_millis(2);

    /// Begins with retransmission `number`, which ends at `right`. `only` says whether nothing else
    /// was sent again since its octets were sent first.
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

    /// Takes a segment of new octets. `was_wide` says whether the sender had twice
    /// [`WIDE`](Self::WIDE) segments outstanding at some time. Returns the cause of the lone
    /// retransmission once it is clear.
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

    /// Whether nothing more can be learnt from a segment at `at`.
    pub fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// Notes that `ack` came at `at`: octets up to `una` are acknowledged, and `highest` is the octet
    /// after the last one sent.
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
