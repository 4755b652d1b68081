//! Finds connections that have other addresses in a second capture.
//!
//! An address translator (RFC 3022) between two capture points gives packets other addresses and
//! ports, but leaves their sequence numbers. The first sequence number of a connection is random.
//! So two SYNs with equal sequence numbers belong to the same connection.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use super::pair::SeenSegment;

/// The ends of a packet: its source and its destination.
pub(super) type PacketEnds = [SocketAddr; 2];

/// Returns the ends that a translator changed. The keys of the result are the ends of packets in
/// the second capture, and the values are the ends of the same packets in the first capture.
///
/// A connection of one capture is compared only if the other capture has no packets with the same
/// ends. If two connections of one capture have equal first sequence numbers, both are left out.
pub(super) fn translated(
    first: &[SeenSegment],
    second: &[SeenSegment],
) -> HashMap<PacketEnds, PacketEnds> {
    let known = [first, second].map(|seen| seen.iter().map(ends).collect::<HashSet<_>>());
    let alone = |seen: &[SeenSegment], other: &HashSet<PacketEnds>| {
        let is_alone =
            |ends: PacketEnds| !other.contains(&ends) && !other.contains(&[ends[1], ends[0]]);
        let mut syns: HashMap<u32, Option<PacketEnds>> = HashMap::new();
        for one in seen.iter().filter(|one| one.found.pair.opens && is_alone(ends(one))) {
            let known = syns.entry(one.found.pair.seq).or_insert(Some(ends(one)));
            *known = known.filter(|known| *known == ends(one));
        }
        syns
    };
    let (in_first, in_second) = (alone(first, &known[1]), alone(second, &known[0]));
    let mut translated = HashMap::new();
    for (number, there) in in_second {
        if let (Some([from, to]), Some(Some(here))) = (there, in_first.get(&number)) {
            translated.insert([from, to], *here);
            translated.insert([to, from], [here[1], here[0]]);
        }
    }
    translated
}

fn ends(one: &SeenSegment) -> PacketEnds {
    [one.found.pair.from, one.found.pair.to]
}
