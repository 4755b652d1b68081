//! Pairs the segments of two captures if one of the captures holds several segments in one packet.
//!
//! If a host has segmentation offload, its network card or driver divides a sent packet after the
//! packet was captured, or joins received packets before the capture. The captured packet is then
//! as long as several segments. A segment of the other capture is a part of this packet if the
//! octets of the segment lie in the packet, and the IPv4 identification of the segment fits. The
//! parts of a packet have consecutive identifications. Suppose that all parts have the length L,
//! and that a part's identification is higher by n than the packet's. Then the part begins n · L
//! octets after the beginning of the packet.

use std::collections::HashMap;
use std::net::SocketAddr;

use netspurt::observe::Sequence;
use netspurt::ranges::Ranges;

use super::pair::{FoundPair, Pair};

/// All packets have fewer octets than this number, because the length of a packet has 16 bits.
const LONGEST: u64 = 1 << 16;

/// The payload of a packet that only one capture has.
struct Payload {
    /// The packet's index among all packets.
    place: usize,
    left: u64,
    right: u64,
    ip_id: u16,
    at: i64,
    /// The octets that the other capture has in packets of their own.
    parts: Ranges,
}

impl Payload {
    /// Whether the payload `part` is a part of this packet.
    fn has(&self, part: &Self) -> bool {
        let behind = part.left.saturating_sub(self.left);
        let number = u64::from(part.ip_id.wrapping_sub(self.ip_id));
        let fits = match number {
            // In a capture without identifications, all identifications are 0.
            0 => behind == 0 || self.ip_id == 0,
            _ => behind > 0 && behind.is_multiple_of(number),
        };
        let within = self.left <= part.left && part.right <= self.right;
        within && fits && !self.parts.holds(part.left, part.left + 1)
    }

    /// Returns the octets that the other capture does not have in packets of their own.
    fn rest(&self) -> Ranges {
        let mut rest = Ranges::default();
        rest.insert(self.left, self.right);
        self.parts.iter().for_each(|(left, right)| rest.remove(left, right));
        rest
    }
}

/// Divides packets that hold several segments, as far as the other capture has these segments. Each
/// of these segments then has the times of both captures. What remains of a packet has the time of
/// one capture.
pub(super) fn divide(mut found: Vec<FoundPair>) -> Vec<Pair> {
    let mut directions: HashMap<[SocketAddr; 2], Vec<usize>> = HashMap::new();
    for (place, one) in found.iter().enumerate().filter(|(_, one)| one.pair.len > 0) {
        directions.entry([one.pair.from, one.pair.to]).or_default().push(place);
    }
    let mut rests = HashMap::new();
    for places in directions.values() {
        divide_direction(places, &mut found, &mut rests);
    }
    let all = found.into_iter().enumerate();
    all.flat_map(|(place, one)| rests.remove(&place).unwrap_or_else(|| vec![one.pair])).collect()
}

/// Does the same as [`divide`] for the packets of one direction. The list `places` says where these
/// packets are in the list `found`. The map `rests` gets what remains of each divided packet. The
/// key is the packet's index.
fn divide_direction(
    places: &[usize],
    found: &mut [FoundPair],
    rests: &mut HashMap<usize, Vec<Pair>>,
) {
    let longest = |capture: usize| {
        let seen = places.iter().map(|place| &found[*place].pair);
        seen.filter(|pair| pair.seen_ns[capture].is_some()).map(|pair| pair.len).max().unwrap_or(0)
    };
    let full = longest(0).min(longest(1));
    for capture in [0, 1] {
        let mut wholes = payloads(places, found, capture);
        wholes.retain(|whole| whole.right - whole.left > u64::from(full));
        wholes.sort_by_key(|whole| whole.left);
        for part in payloads(places, found, 1 - capture) {
            if let Some(whole) = whole_of(&part, &mut wholes) {
                whole.parts.insert(part.left, part.right);
                found[part.place].pair.seen_ns[capture] = Some(whole.at);
            }
        }
        if wholes.iter().any(|whole| !whole.parts.is_empty()) {
            rests.extend(wholes.iter().map(|whole| {
                let pair = found[whole.place].pair;
                let rest = whole.rest();
                let rest = rest.iter().map(|(left, right)| Pair {
                    seq: pair.seq.wrapping_add((left - whole.left) as u32),
                    len: (right - left) as u32,
                    segments: ((right - left) as u32).div_ceil(full),
                    copies: [0; 2],
                    ..pair
                });
                (whole.place, rest.collect())
            }));
        }
    }
}

/// Returns the payloads of those packets at `places` that only one capture has. The argument
/// `capture` is the index of this capture.
fn payloads(places: &[usize], found: &[FoundPair], capture: usize) -> Vec<Payload> {
    let mut payloads = Vec::new();
    let Some(mut sequence) = places.first().map(|place| Sequence::midway(found[*place].pair.seq))
    else {
        return payloads;
    };
    for place in places {
        let FoundPair { pair, ip_id } = found[*place];
        let Some(at) = pair.seen_ns[capture] else { continue };
        let left = sequence.octet(pair.seq);
        let right = left + u64::from(pair.len);
        sequence = sequence.sent_to(sequence.highest().max(right));
        if pair.seen_ns[1 - capture].is_none() {
            let parts = Ranges::default();
            payloads.push(Payload { place: *place, left, right, ip_id, at, parts });
        }
    }
    payloads
}

/// Returns the first packet of the list `wholes` that contains `part`. The list is sorted by the
/// packets' first octets.
fn whole_of<'a>(part: &Payload, wholes: &'a mut [Payload]) -> Option<&'a mut Payload> {
    /// The maximum number of packets that are searched. A packet is seldom sent this many times.
    const MOST: usize = 256;
    let first = wholes.partition_point(|whole| whole.left + LONGEST <= part.left);
    wholes[first..].iter_mut().take(MOST).find(|whole| whole.has(part))
}
