//! Finds packets that a capture holds twice. A *copy* is such a packet when it comes a second time.

use std::collections::VecDeque;

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::Sender;

/// The latest packets of a connection, and the rules that recognise copies of them.
///
/// Some captures hold each packet twice or more. Examples are a capture on all interfaces of a
/// router or bridge, a capture from a mirrored port, and two captures that were joined. A copy
/// shows nothing about the sender. A copy is neither a retransmission nor a duplicate ACK.
///
/// A copy has the IP identification and the TCP fields of an earlier packet. Three rules decide
/// whether such a packet is a copy:
///
/// * If a sender numbers its packets, equal identifications prove a copy, because a sender does not
///   use an identification again so soon (RFC 6864 §4.1).
/// * Without identifications, a segment with data, a SYN or a FIN is a copy if no sender would send
///   it again so soon.
/// * Copies are *frequent* if at least a third of all segments, including the copies, are copies.
///   While copies are frequent, any such packet is a copy if it comes soon enough after its
///   original, judged by the times of earlier copies. By this rule alone, a packet never gets more
///   copies than another packet had before.
#[derive(Clone, Debug)]
pub struct CopyFinder {
    latest: [Latest; 2],
    /// The number of segments with data, a SYN or a FIN, without their copies. A segment is counted
    /// when its first copy comes, or when copies should have come but did not.
    segments: u32,
    /// The number of copies of such segments.
    copies: u32,
    /// The largest number of copies that one packet has had.
    most: u32,
    /// The longest time from a packet to its copy.
    pub longest: Duration,
}

/// Finds copies in a connection of which little else is known.
///
/// A [`CopyFinder`] takes much memory, so it is made only when the first copy is found. A packet
/// counts as the first copy if it comes so soon that no sender would repeat the original. The time
/// limit for SYNs is longer than the limit for segments with data. The limit for data is longer if
/// the sender numbers its packets.
///
/// ```
/// use netspurt::explain::CopyWatch;
/// use netspurt::ids::Side;
/// use netspurt::segment::{Flags, Segment};
/// use netspurt::units::{Duration, Time};
/// use netspurt::wire::{Packet, TcpView, encode};
/// let [source, destination] = ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
/// let segment = Segment { flags: Flags::SYN, ..Segment::default() };
/// let mut bytes = Vec::new();
/// encode(&Packet { source, destination, ip_id: 0, segment, payload: None }, &mut bytes);
/// let view = TcpView::of(&bytes, bytes.len()).unwrap();
/// let (mut watch, at) = (CopyWatch::default(), Time::ZERO + Duration::from_secs(1));
/// assert!(!watch.holds(Side::From, at, &view));
/// assert!(watch.holds(Side::From, at + Duration::from_millis(2), &view));
/// ```
#[derive(Clone, Debug, Default)]
pub struct CopyWatch {
    /// The latest segments of each side: the hash, the time and the identification.
    latest: [VecDeque<(u64, Time, u16)>; 2],
    finder: Option<Box<CopyFinder>>,
}

impl CopyWatch {
    /// The number of latest segments of each side that are remembered, to find the first copy.
    const MOST: usize = 8;
    /// The time limit for data if the sender numbers its packets. Without acknowledgments, a sender
    /// repeats data only after the minimum RTO, which is longer than `NUMBERED` in all known
    /// stacks.
    const NUMBERED: Duration = Duration::from_millis(5);

    /// Takes a packet of `side` that was captured at the instant `at`. Returns whether it is a
    /// copy.
    pub fn holds(&mut self, side: Side, at: Time, packet: &impl CapturedTcp) -> bool {
        if let Some(finder) = &mut self.finder {
            return finder.holds(side, at, packet);
        }
        if packet.seq_len() == 0 {
            return false;
        }
        let (own, id, latest) = (hash(packet), packet.ip_id(), &mut self.latest[side.index()]);
        let within = if packet.flags().has(Flags::SYN) {
            Sender::SYN_WAIT
        } else if id != 0 && latest.iter().all(|(hash, _, other)| (*hash == own) == (*other == id))
        {
            Self::NUMBERED
        } else {
            CopyFinder::AT_ONCE
        };
        let same = latest.iter().rev().find(|(hash, ..)| *hash == own);
        let gap = same.map(|(_, original, _)| at.saturating_since(*original));
        if let Some(gap) = gap.filter(|gap| *gap < within) {
            self.finder = Some(Box::new(CopyFinder::of(side, at, packet, gap)));
            self.latest = Default::default();
            return true;
        }
        if latest.len() == Self::MOST {
            latest.pop_front();
        }
        latest.push_back((own, at, id));
        false
    }
}

/// A packet, remembered by its hash.
#[derive(Clone, Copy, Debug)]
struct Taken {
    hash: u64,
    at: Time,
    copies: u32,
    /// Whether the packet has data, a SYN or a FIN.
    segment: bool,
}

/// The latest packets of one side.
#[derive(Clone, Debug, Default)]
struct Latest {
    packets: VecDeque<Taken>,
    /// The number of packets at the front of `packets` that are so old that no copy is expected any
    /// more.
    settled: usize,
    /// The number of segments without copies that were removed from `packets` before they were
    /// counted.
    removed: u32,
    /// The identification of the last packet.
    id: u16,
    /// How often the identification of a packet differed from the previous identification.
    changed: u32,
    /// How often the identification of a packet was the same as the previous identification.
    kept: u32,
}

impl Latest {
    /// The maximum number of packets.
    const MOST: usize = 256;
    /// How long a packet is kept, because its copy may wait in a router's queue.
    const LONGEST: Duration = Duration::from_secs(1);

    /// Whether the identification `id` distinguishes packets.
    fn numbers(&self, id: u16) -> bool {
        id != 0 && self.changed > self.kept * 8
    }

    /// Returns the number of segments that have no copy, are older than the time `within`, and were
    /// not counted by an earlier call. A younger segment may still get its copy.
    fn without_copy(&mut self, at: Time, within: Duration) -> u32 {
        let mut alone = std::mem::take(&mut self.removed);
        while let Some(one) = self.packets.get(self.settled)
            && at.saturating_since(one.at) > within
        {
            alone += u32::from(one.segment && one.copies == 0);
            self.settled += 1;
        }
        alone
    }

    fn add(&mut self, hash: u64, at: Time, id: u16, segment: bool) {
        if !self.packets.is_empty() {
            let count = if id == self.id { &mut self.kept } else { &mut self.changed };
            *count = count.saturating_add(1);
        }
        self.id = id;
        let old = |one: &&Taken| at.saturating_since(one.at) > Self::LONGEST;
        while self.packets.front().filter(old).is_some() || self.packets.len() == Self::MOST {
            let first = self.packets.pop_front();
            if self.settled == 0 {
                let alone = |one: Taken| one.segment && one.copies == 0;
                self.removed += u32::from(first.is_some_and(alone));
            }
            self.settled = self.settled.saturating_sub(1);
        }
        self.packets.push_back(Taken { hash, at, copies: 0, segment });
    }
}

impl CopyFinder {
    /// No sender repeats a segment within the time `AT_ONCE` unless a new ACK comes.
    const AT_ONCE: Duration = Duration::from_micros(100);
    /// If copies are frequent, a packet counts as a copy if it comes soon enough after its
    /// original. The limit is the longer of two times: `SOON`, and twice the longest time from an
    /// earlier packet to its copy.
    const SOON: Duration = Duration::from_millis(5);

    /// Begins with a segment of `side` that is a copy. The original came `gap` before the copy.
    pub fn of(side: Side, at: Time, packet: &impl CapturedTcp, gap: Duration) -> Self {
        // The network may have made one copy in the middle of a connection. So more copies must
        // follow before they count as frequent.
        let segments = if packet.flags().has(Flags::SYN) { 1 } else { 3 };
        let latest = Default::default();
        let mut copy_finder = Self { latest, segments, copies: 1, most: 1, longest: gap };
        let first = &mut copy_finder.latest[side.index()];
        first.add(hash(packet), at, packet.ip_id(), true);
        first.packets[0].copies = 1;
        copy_finder
    }

    /// Takes a packet. Returns whether it is a copy of one of the latest packets.
    pub fn holds(&mut self, side: Side, at: Time, packet: &impl CapturedTcp) -> bool {
        let (hash, segment) = (hash(packet), packet.seq_len() > 0);
        let within = (self.longest * 2).max(Self::SOON);
        let alone = self.latest.iter_mut().map(|latest| latest.without_copy(at, within)).sum();
        self.segments = self.segments.saturating_add(alone);
        let frequent = self.copies.saturating_mul(2) >= self.segments;
        let most = self.most;
        let latest = &mut self.latest[side.index()];
        let numbered = latest.numbers(packet.ip_id());
        let same = latest.packets.iter_mut().rev().filter(|one| one.hash == hash).find(|one| {
            let gap = at.saturating_since(one.at);
            let at_once = segment && gap < Self::AT_ONCE;
            numbered || at_once || frequent && gap < within && one.copies < most
        });
        let Some(one) = same else {
            latest.add(hash, at, packet.ip_id(), segment);
            return false;
        };
        one.copies = one.copies.saturating_add(1);
        self.most = most.max(one.copies);
        self.longest = self.longest.max(at.saturating_since(one.at));
        self.copies = self.copies.saturating_add(u32::from(segment));
        self.segments = self.segments.saturating_add(u32::from(segment && one.copies == 1));
        true
    }
}

/// A hash of the fields by which copies of a packet are recognised. Routers do not change them.
fn hash(packet: &impl CapturedTcp) -> u64 {
    let stamps = packet.timestamps().map_or((0, 0), |stamps| (stamps.val, stamps.ecr));
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let flags = u32::from(packet.flags().0);
    let small = pair(u32::from(packet.ip_id()) << 16 | flags, u32::from(packet.window()));
    let own = [pair(packet.seq(), packet.ack()), pair(stamps.0, stamps.1), small];
    let blocks = packet.sack().iter().map(|block| pair(block.left, block.right));
    let all = own.into_iter().chain([u64::from(packet.len())]).chain(blocks);
    all.fold(0, |hash: u64, part| (hash.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
