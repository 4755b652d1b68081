//! Reassembles datagrams from captured fragments.

mod fragment;
mod partial;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use super::{CapturedIp, TCP};
use fragment::{CapturedPart, DatagramKey, Fragment};
use partial::PartialDatagram;

/// How many fragments of TCP were read, and how many datagrams were made of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentCounts {
    /// Fragments of TCP, except malformed ones.
    pub fragments: u64,
    /// Datagrams that were reassembled.
    pub datagrams: u64,
    /// Datagrams that were given up: a fragment was missing for a minute, two fragments
    /// contradicted each other, memory was short, or the datagram was too long.
    pub given_up: u64,
    /// Fragments that were not used: their length, header length or offset is impossible, or their
    /// IPv4 options were not captured in full.
    pub malformed: u64,
}

/// Reassembles captured fragments of TCP over IPv4 and IPv6, and returns each segment when it is
/// complete. The time of a segment is the time of the fragment that completes it, because TCP gets
/// the segment at that time (RFC 791 §3.2).
///
/// Fragments may come in any order. A capture may cut fragments short. A datagram of such fragments
/// is complete if the lengths in their headers cover it. The returned octets end before the first
/// octet that was not captured. A datagram is given up after a minute (RFC 1122 §3.3.2). The memory
/// is at most 4 MiB. If more is needed, the oldest datagrams are given up. A capture that was
/// filtered by ports has only the first fragments, so its fragmented datagrams are never complete.
///
/// ```
/// use netspurt::segment::Segment;
/// use netspurt::wire::{CapturedIp, Datagrams, Packet, cut, encode};
/// let segment = Segment { len: 1000, ..Segment::default() };
/// let [source, destination] = ["10.0.0.1:5001", "10.0.0.2:80"].map(|end| end.parse().unwrap());
/// let (mut whole, mut part) = (Vec::new(), Vec::new());
/// encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut whole);
/// let mut datagrams = Datagrams::default();
/// let mut take = |octets| {
///     cut(&whole, octets, &mut part);
///     let ip = CapturedIp { bytes: &part, original_bytes: part.len() as u32 };
///     datagrams.take(0, ip).map(|datagram| datagram.bytes.len())
/// };
/// assert_eq!((take(0..512), take(512..1020)), (None, Some(1040)));
/// ```
#[derive(Debug, Default)]
pub struct Datagrams {
    /// The incomplete datagrams, each with its number.
    partial: HashMap<DatagramKey, (u64, PartialDatagram)>,
    /// For each incomplete datagram, by its number: the time of its fragment that was read first.
    /// The numbers are in the order in which these fragments were read.
    order: BTreeMap<u64, (i64, DatagramKey)>,
    /// The number of datagrams so far, complete or not.
    begun: u64,
    /// The approximate memory that the incomplete datagrams take, in octets.
    held_bytes: usize,
    /// The octets of the last datagram that was completed.
    whole: Vec<u8>,
    counts: FragmentCounts,
}

impl Datagrams {
    /// The maximum memory for incomplete datagrams, in octets.
    pub const MOST_BYTES: usize = 1 << 22;
    /// The time for which a datagram waits for its fragments, in nanoseconds.
    const TIMER_NS: i64 = 60_000_000_000;

    /// Takes the packet `ip`, which was captured at `unix_ns`. Returns the packet unchanged if it
    /// is not a fragment of TCP. Returns the whole datagram if the packet completes it. Returns
    /// `None` if fragments are still missing, or if the fragment cannot be used.
    #[inline(always)]
    pub fn take<'a>(&'a mut self, unix_ns: i64, ip: CapturedIp<'a>) -> Option<CapturedIp<'a>> {
        match ip.bytes.first_chunk() {
            // An IPv4 packet whose offset is zero, and after which no more fragments follow.
            Some([0x40..=0x4f, _, _, _, _, _, 0 | 0x40, 0]) => Some(ip),
            // An IPv6 packet in which TCP follows the fixed header.
            Some([0x60..=0x6f, _, _, _, _, _, TCP, _]) => Some(ip),
            _ => self.take_other(unix_ns, ip.bytes, ip.original_bytes),
        }
    }

    /// The numbers of fragments and datagrams so far.
    pub fn counts(&self) -> FragmentCounts {
        self.counts
    }

    /// The number of datagrams that still wait for fragments.
    pub fn waiting(&self) -> usize {
        self.partial.len()
    }

    #[inline(never)]
    fn take_other<'a>(
        &'a mut self,
        unix_ns: i64,
        bytes: &'a [u8],
        original_bytes: u32,
    ) -> Option<CapturedIp<'a>> {
        let ip = CapturedIp { bytes, original_bytes };
        match CapturedPart::of(ip) {
            CapturedPart::Other => Some(ip),
            CapturedPart::Malformed => {
                self.counts.malformed += 1;
                None
            }
            CapturedPart::Fragment(fragment) => self.collect(unix_ns, &fragment),
        }
    }

    fn collect(&mut self, unix_ns: i64, fragment: &Fragment<'_>) -> Option<CapturedIp<'_>> {
        self.counts.fragments += 1;
        self.expire(unix_ns);
        let (number, partial) = self.partial.entry(fragment.key).or_insert_with(|| {
            self.begun += 1;
            self.order.insert(self.begun, (unix_ns, fragment.key));
            let partial = PartialDatagram::default();
            self.held_bytes += partial.cost_bytes();
            (self.begun, partial)
        });
        let number = *number;
        self.held_bytes -= partial.cost_bytes();
        let added = partial.add(fragment);
        self.held_bytes += partial.cost_bytes();
        if added.is_err() {
            self.give_up(number);
            return None;
        }
        if !partial.is_whole() {
            while self.held_bytes > Self::MOST_BYTES
                && let Some((oldest, _)) = self.order.first_key_value()
            {
                self.give_up(*oldest);
            }
            return None;
        }
        let length = partial.join(&mut self.whole);
        self.remove(number);
        let Some(original_bytes) = length else {
            self.counts.given_up += 1;
            return None;
        };
        self.counts.datagrams += 1;
        Some(CapturedIp { bytes: &self.whole, original_bytes })
    }

    /// Gives up the datagrams that have waited for too long.
    fn expire(&mut self, unix_ns: i64) {
        while let Some((number, (began_ns, _))) = self.order.first_key_value()
            && unix_ns.saturating_sub(*began_ns) >= Self::TIMER_NS
        {
            self.give_up(*number);
        }
    }

    fn give_up(&mut self, number: u64) {
        self.remove(number);
        self.counts.given_up += 1;
    }

    fn remove(&mut self, number: u64) {
        let gone = self.order.remove(&number).and_then(|(_, key)| self.partial.remove(&key));
        self.held_bytes -= gone.map_or(0, |(_, partial)| partial.cost_bytes());
    }
}
