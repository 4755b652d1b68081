//! The order in which a host sent its packets, as IP identifications and timestamps show it.

use std::cmp::Ordering;

use crate::segment::Flags;
use crate::seq::{compare, compare_ids, is_before};
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::super::kept::{Acknowledged, CapturedSegment};

/// Whether a packet was sent before or after the newest packet of its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// The packet was sent after the newest packet.
    Newer,
    /// The packet was sent before the newest packet, which overtook it.
    Older,
    /// The packet is a copy of an earlier packet. The network or the capture made the copy.
    Copy,
    /// The identifications and timestamps do not show the age of the packet.
    Unknown,
}

/// The clock of a sender's timestamps (RFC 7323 §5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampTicks {
    /// The mean time from one tick to the next.
    pub step: Duration,
    /// The number of ticks from the first timestamp to the newest timestamp.
    pub ticks: u32,
}

impl StampTicks {
    /// The minimum number of ticks for a measurement. With fewer ticks, the unknown parts of the
    /// first and the last tick make the error too large.
    const LEAST: u32 = 50;
}

/// The IP identifications and timestamps of one direction.
///
/// Many stacks number the packets of a connection one by one. Other stacks use one counter for all
/// connections, random numbers, or no numbers (RFC 6864 §4). So the numbers are used only after
/// they were seen to ascend. Timestamps always ascend (RFC 7323 §5.4).
#[derive(Clone, Copy, Debug, Default)]
pub struct SendingOrder {
    /// The newest identification.
    id: u16,
    /// The payload size of the last packet that occupies sequence numbers, in octets.
    bytes: u32,
    /// The number of packets after the last packet that occupies sequence numbers.
    bare: u16,
    /// The number of new segments whose identification was a little above the previous
    /// identification.
    ascended: u16,
    /// The number of all other new segments.
    jumped: u16,
    /// The newest timestamp, and when it was captured.
    stamp: Option<(u32, Time)>,
    /// Whether a retransmission carried the newest timestamp.
    stamp_again: bool,
    /// The first timestamp, and when it was captured.
    first: Option<(u32, Time)>,
    /// Whether a packet was seen.
    seen: bool,
}

impl SendingOrder {
    /// The maximum step from one identification to the next that counts as ascending. Steps may be
    /// large if all connections of a busy host share one counter.
    const STEP: u16 = 1 << 10;
    /// If fewer than `LOST_MIN` packets are missing, they do not count as lost.
    const LOST_MIN: u32 = 4;
    /// The default MSS (RFC 9293 §3.7.1). Most full segments have at least `SMALL_MSS_BYTES`
    /// octets.
    const SMALL_MSS_BYTES: u32 = 536;
    /// The minimum number of ascending steps before identifications are used.
    const STEPS: u16 = 3;
    /// The maximum time between a packet and a copy that the capturing host makes. Without an
    /// acknowledgment, no sender retransmits so soon, because even a tail loss probe (RFC 8985
    /// §7.2) waits at least 2 ms in practice.
    const CAPTURED_TWICE: Duration = Duration::from_micros(100);
    /// A second SYN with the same identification within the time `SYN_TIMER` is a copy, because a
    /// sender waits longer before it retransmits a SYN (RFC 6298 §2.1).
    const SYN_TIMER: Duration = Duration::from_millis(900);

    /// Takes the identification and the timestamp of a packet. `fresh` says whether the packet
    /// carries only new octets.
    #[inline]
    pub fn take(&mut self, at: Time, packet: &impl CapturedTcp, fresh: bool) {
        let step = packet.ip_id().wrapping_sub(self.id);
        let ahead = step < 1 << 15;
        if fresh && self.seen {
            let ascends = (1..=Self::STEP).contains(&step);
            let count = if ascends { &mut self.ascended } else { &mut self.jumped };
            *count = count.saturating_add(1);
        }
        if ahead || !self.ascends() {
            self.id = packet.ip_id();
        }
        (self.bytes, self.bare) = (packet.len(), 0);
        if let Some(stamps) = packet.timestamps() {
            self.first.get_or_insert((stamps.val, at));
            let newer = |(val, _): (u32, Time)| is_before(val, stamps.val);
            if self.stamp.is_none_or(newer) {
                self.stamp = Some((stamps.val, at));
                self.stamp_again = !fresh;
            }
        }
        self.seen = true;
    }

    /// Counts a packet that occupies no sequence numbers, such as an acknowledgment or a
    /// keep-alive.
    #[inline]
    pub fn bare(&mut self) {
        self.bare = self.bare.saturating_add(1);
    }

    /// How many packets the sender sent between the newest packet and `packet`, as identifications
    /// show it. `None` unless two conditions hold: identifications ascend, and the identification
    /// of `packet` is above the newest identification by 1 to [`STEP`](Self::STEP).
    pub fn sent_between(&self, packet: &impl CapturedTcp) -> Option<u16> {
        let step = packet.ip_id().wrapping_sub(self.id);
        (self.ascends() && (1..=Self::STEP).contains(&step)).then(|| step - 1)
    }

    /// Whether several packets that the sender sent between the last packet and `packet` never came
    /// to the capture. A captured packet may be several segments that were joined. Each of these
    /// segments had its own identification, so these identifications do not count as missing.
    pub fn has_lost_before(&self, packet: &impl CapturedTcp) -> bool {
        let joined = self.bytes / Self::SMALL_MSS_BYTES + u32::from(self.bare);
        self.sent_between(packet)
            .is_some_and(|packets| u32::from(packets) >= Self::LOST_MIN + joined)
    }

    /// Whether the timestamp `val` is newer than all earlier timestamps of this direction.
    pub fn is_newer(&self, val: u32) -> bool {
        self.stamp.is_none_or(|(newest, _)| is_before(newest, val))
    }

    /// Whether identifications ascend.
    pub fn ascends(&self) -> bool {
        self.ascended >= Self::STEPS && self.ascended / 8 >= self.jumped
    }

    /// Whether identifications were seen to ascend at least once.
    fn differ(&self) -> bool {
        self.ascended > 0
    }

    /// Returns the age of `packet`. `earlier` has the time, the identification and the timestamp
    /// of the last transmission of its octets. `answered_since` says whether an acknowledgment came
    /// after that transmission.
    pub fn age(
        &self,
        at: Time,
        packet: &impl CapturedTcp,
        earlier: Option<(Time, CapturedSegment)>,
        answered_since: bool,
    ) -> Age {
        let val = packet.timestamps().map(|stamps| stamps.val);
        if let Some((sent, kept)) = earlier
            && self.is_copy(at.saturating_since(sent), packet, kept, answered_since)
        {
            return Age::Copy;
        }
        if self.ascends() {
            return match compare_ids(packet.ip_id(), self.id) {
                Ordering::Equal => Age::Copy,
                Ordering::Greater => Age::Newer,
                Ordering::Less => Age::Older,
            };
        }
        let (Some(val), Some((newest, _))) = (val, self.stamp) else { return Age::Unknown };
        match compare(val, newest) {
            // A segment with the timestamp of a retransmission is itself a retransmission.
            Ordering::Equal if self.stamp_again => Age::Newer,
            Ordering::Equal => Age::Unknown,
            Ordering::Greater => Age::Newer,
            Ordering::Less => Age::Older,
        }
    }

    /// Whether timestamps or identifications show that `packet` was sent after the segment `other`.
    /// False if `other` was sent more than once.
    pub fn was_sent_after(&self, packet: &impl CapturedTcp, other: &Acknowledged) -> bool {
        let by_stamp = packet
            .timestamps()
            .zip(other.kept.ts_val)
            .is_some_and(|(stamps, before)| is_before(before, stamps.val));
        let by_id = self.ascends() && compare_ids(packet.ip_id(), other.kept.ip_id).is_gt();
        other.retransmissions == 0 && (by_stamp || by_id)
    }

    /// Whether identifications show that `packet` was sent after the first transmission of at least
    /// one of the `segs` highest segments. `packet` must be older than the newest packet. Each sent
    /// packet raises the identification. If the newest packet's identification exceeds the
    /// identification of `packet` by less than `segs`, fewer than `segs` packets were sent after
    /// `packet`. So at least one of these segments was sent before `packet`.
    pub fn was_sent_after_some(&self, packet: &impl CapturedTcp, segs: u64) -> bool {
        let sent_since = self.id.wrapping_sub(packet.ip_id());
        self.ascends() && segs < 1 << 15 && u64::from(sent_since) < segs
    }

    /// Compares when `packet` and the earlier packet `kept` were sent. `None` if neither
    /// identifications nor timestamps show this.
    pub fn compared(&self, packet: &impl CapturedTcp, kept: CapturedSegment) -> Option<Ordering> {
        if self.ascends() {
            return Some(compare_ids(packet.ip_id(), kept.ip_id));
        }
        let (stamps, before) = packet.timestamps().zip(kept.ts_val)?;
        Some(compare(stamps.val, before))
    }

    /// Whether `packet` may be a copy of the packet `earlier`, by its identification and timestamp.
    /// If `earlier` is `None`, whether `packet` may be a copy of any earlier packet.
    pub fn may_be_same(&self, packet: &impl CapturedTcp, earlier: Option<CapturedSegment>) -> bool {
        let newer = || packet.timestamps().is_some_and(|stamps| self.is_newer(stamps.val));
        earlier.map_or_else(|| !newer(), |kept| kept == CapturedSegment::of(packet))
    }

    /// Whether `packet` is a copy of the packet `kept`. The packet `kept` was captured earlier than
    /// `packet`, by the time `gap`. `answered_since` says whether an acknowledgment came between
    /// the two packets.
    fn is_copy(
        &self,
        gap: Duration,
        packet: &impl CapturedTcp,
        kept: CapturedSegment,
        answered_since: bool,
    ) -> bool {
        let val = packet.timestamps().map(|stamps| stamps.val);
        if kept.ts_val != val || kept.ip_id != packet.ip_id() {
            return false;
        }
        let opens = packet.flags().has(Flags::SYN) && gap < Self::SYN_TIMER;
        let numbered = (self.differ() || opens) && packet.ip_id() != 0;
        numbered || self.ticks(gap) >= 2 || gap < Self::CAPTURED_TWICE && !answered_since
    }

    /// The clock of the timestamps. `None` if it had too few ticks for a measurement.
    pub fn stamp_ticks(&self) -> Option<StampTicks> {
        let ((first, from), (last, to)) = (self.first?, self.stamp?);
        let ticks = last.wrapping_sub(first);
        let measured = (StampTicks::LEAST..1 << 31).contains(&ticks);
        measured.then(|| StampTicks { step: to.saturating_since(from) / u64::from(ticks), ticks })
    }

    /// The number of ticks of the sender's timestamp clock in the time `gap`. The result is 0 if
    /// the clock is not known.
    fn ticks(&self, gap: Duration) -> u64 {
        let (Some((first, from)), Some((last, to))) = (self.first, self.stamp) else { return 0 };
        let ticks = u64::from(last.wrapping_sub(first));
        let span = to.saturating_since(from).as_nanos();
        if ticks == 0 || span == 0 || ticks > 1 << 31 {
            return 0;
        }
        (u128::from(ticks) * u128::from(gap.as_nanos()) / u128::from(span)) as u64
    }
}
