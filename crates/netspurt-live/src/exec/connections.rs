//! Which connection a packet of programs is of: each has a flow of its own in the tables.

use std::collections::HashMap;

use netspurt::ranges::Ranges;
use netspurt::record::{Column, Data, Table};
use netspurt::segment::{Flags, Segment};
use netspurt::seq;
use netspurt::units::Time;

/// A connection that was seen.
#[derive(Clone, Debug)]
struct Seen {
    /// The ports at the two hosts.
    ports: [u16; 2],
    /// The side that opened it, and its SYN's number on the wire.
    opener: usize,
    isn: Option<u32>,
    opened: Option<Time>,
    /// When the last SYN of who opened it entered the path.
    syn: Option<Time>,
    /// When each side's first octets entered the path.
    began: [Option<Time>; 2],
    /// What reached each side.
    arrived: [Ranges; 2],
    /// When octets last reached each side that left no gap before them.
    grew: [Option<Time>; 2],
    /// When the first octets reached each side.
    first: [Option<Time>; 2],
    /// When the FIN of each side reached the other.
    closed: [Option<Time>; 2],
    /// When something of it last left the path.
    last: Time,
}

/// The connections between two hosts, in the order in which they were seen.
#[derive(Debug, Default)]
pub struct Connections {
    known: HashMap<[u16; 2], usize>,
    seen: Vec<Seen>,
    most: usize,
    /// Packets that belong to no connection with a flow of its own.
    pub others: u64,
}

/// What a TCP header in an IPv4 packet says of its connection.
struct Head {
    /// Source and destination.
    ports: [u16; 2],
    seq: u32,
    flags: Flags,
}

impl Head {
    /// `None` of anything but the start of a segment.
    fn of(octets: &[u8]) -> Option<Self> {
        const TCP: u8 = 6;
        let whole = octets.get(6..8).is_some_and(|word| word[0] & 0x3f == 0 && word[1] == 0);
        if octets.first()? >> 4 != 4 || octets.get(9) != Some(&TCP) || !whole {
            return None;
        }
        let tcp = octets.get(usize::from(octets[0] & 0xf) * 4..)?.first_chunk::<20>()?;
        let [a, b, c, d, e, f, g, h, ..] = *tcp;
        Some(Self {
            ports: [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])],
            seq: u32::from_be_bytes([e, f, g, h]),
            flags: Flags(tcp[13]),
        })
    }
}

impl Connections {
    /// For `most` connections at most.
    pub fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// The ports of the one numbered `place` at the two hosts.
    pub fn ports(&self, place: usize) -> [u16; 2] {
        self.seen[place].ports
    }

    /// Those that something left the path of since `since`.
    pub fn lively(&self, since: Time) -> impl Iterator<Item = usize> {
        let lively = move |(_, seen): &(usize, &Seen)| seen.last >= since;
        self.seen.iter().enumerate().filter(lively).map(|(place, _)| place)
    }

    /// The connection that a packet is of, by its number from 0, which the host numbered `side`
    /// sent at about `now`; `None` where it is of none.
    pub fn of(&mut self, side: usize, octets: &[u8], now: Time) -> Option<usize> {
        let place = Head::of(octets).and_then(|head| self.place(side, &head, now));
        self.others += u64::from(place.is_none());
        place
    }

    fn place(&mut self, side: usize, head: &Head, now: Time) -> Option<usize> {
        let ports = if side == 0 { head.ports } else { [head.ports[1], head.ports[0]] };
        let opens = head.flags.has(Flags::SYN) && !head.flags.has(Flags::ACK);
        if let Some(place) = self.known.get(&ports) {
            // The same ports may serve again.
            if !opens || self.seen[*place].isn == Some(head.seq) {
                return Some(*place);
            }
        }
        if self.seen.len() == self.most {
            return None;
        }
        self.known.insert(ports, self.seen.len());
        self.seen.push(Seen {
            ports,
            opener: side,
            isn: opens.then_some(head.seq),
            opened: None,
            syn: None,
            began: [None; 2],
            arrived: Default::default(),
            grew: [None; 2],
            first: [None; 2],
            closed: [None; 2],
            last: now,
        });
        Some(self.seen.len() - 1)
    }

    /// A segment of the connection numbered `place` entered the path at `at`, from the host
    /// numbered `side`.
    pub fn entered(&mut self, place: usize, side: usize, at: Time, segment: &Segment) {
        let Some(seen) = self.seen.get_mut(place) else { return };
        if side == seen.opener {
            seen.opened.get_or_insert(at);
            if segment.flags.has(Flags::SYN) {
                seen.syn = Some(at);
            }
        }
        if segment.len > 0 {
            seen.began[side].get_or_insert(at);
        }
    }

    /// A segment of the connection numbered `place` reached the host numbered `side` at `at`.
    pub fn reached(&mut self, place: usize, side: usize, at: Time, segment: &Segment) {
        let Some(seen) = self.seen.get_mut(place) else { return };
        seen.last = at;
        if segment.len > 0 {
            seen.first[side].get_or_insert(at);
            seen.take(side, at, segment);
        }
        if segment.flags.has(Flags::FIN) {
            seen.closed[side ^ 1].get_or_insert(at);
        }
    }
}

impl Seen {
    fn take(&mut self, side: usize, at: Time, segment: &Segment) {
        let arrived = &mut self.arrived[side];
        let end = |arrived: &Ranges| match arrived.next_from(1) {
            Some((left, right)) if left <= 1 => right,
            _ => 1,
        };
        let before = end(arrived);
        let left = seq::from_wire(seq::SIMULATED_ISN, segment.seq, before);
        arrived.insert(left, left + u64::from(segment.len));
        if end(arrived) > before {
            self.grew[side] = Some(at);
        }
    }
}

/// What is known of a connection besides: octets that reached each side, and what each side's
/// shim sent again.
pub type Counts = [[u64; 2]; 2];

/// The table `connections`: one row for each, in the order in which they were opened, whose flow
/// is called `name.1`, `name.2`, and so on.
pub fn connections_table(name: &str, all: &Connections, counts: &[Counts]) -> Table {
    let nanos = |at: Time| at.as_nanos().cast_signed();
    let optional = |of: &dyn Fn(&Seen) -> Option<Time>| {
        Data::OptionalI64(all.seen.iter().map(|seen| of(seen).map(nanos)).collect())
    };
    let port =
        |side: usize| Data::I64(all.seen.iter().map(|seen| i64::from(seen.ports[side])).collect());
    let count = |what: usize, side: usize| {
        Data::I64(counts.iter().map(|counts| counts[what][side].cast_signed()).collect())
    };
    let flows = (1..=all.seen.len()).map(|number| format!("{name}.{number}")).collect();
    let codes = (0_u32..).take(all.seen.len()).collect();
    let closed = |seen: &Seen| Some(seen.closed[0]?.max(seen.closed[1]?));
    let columns = vec![
        Column::new("flow", Data::Text { codes, texts: flows }),
        Column::new("opened_by_to", Data::Bool(all.seen.iter().map(|s| s.opener == 1).collect())),
        Column::new("from_port", port(0)),
        Column::new("to_port", port(1)),
        Column::new("opened_ns", optional(&|seen| seen.opened)),
        Column::new("syn_ns", optional(&|seen| seen.syn)),
        Column::new("asked_ns", optional(&|seen| seen.began[seen.opener])),
        Column::new("began_ns", optional(&|seen| seen.began[seen.opener ^ 1])),
        Column::new("answered_ns", optional(&|seen| seen.first[seen.opener])),
        Column::new("complete_ns", optional(&|seen| seen.grew[seen.opener])),
        Column::new("closed_ns", optional(&closed)),
        Column::new("from_bytes", count(0, 0)),
        Column::new("to_bytes", count(0, 1)),
        Column::new("from_shim", count(1, 0)),
        Column::new("to_shim", count(1, 1)),
    ];
    Table::new("connections", columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt::wire::{Packet, encode};
    use proptest::prelude::*;

    fn packet(from: u16, to: u16, seq: u32, flags: Flags) -> Vec<u8> {
        let segment = Segment { seq, flags, ..Segment::default() };
        let source = format!("10.0.0.1:{from}").parse().unwrap();
        let destination = format!("10.0.0.2:{to}").parse().unwrap();
        let mut octets = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut octets);
        octets
    }

    #[test]
    fn a_connection_is_its_two_ports_until_another_syn_opens_them_anew() {
        let mut all = Connections::new(3);
        let mut of = |side, octets: &[u8]| all.of(side, octets, Time::ZERO);
        let syn = packet(4000, 80, 7, Flags::SYN);
        assert_eq!(of(0, &syn), Some(0));
        assert_eq!(of(0, &syn), Some(0), "a SYN sent again");
        assert_eq!(of(1, &packet(80, 4000, 9, Flags::SYN.with(Flags::ACK))), Some(0));
        assert_eq!(of(0, &packet(4001, 80, 7, Flags::SYN)), Some(1));
        assert_eq!(of(0, &packet(4000, 80, 8, Flags::SYN)), Some(2));
        assert_eq!(of(1, &packet(80, 4000, 9, Flags::ACK)), Some(2));
        assert_eq!(of(0, &packet(4003, 80, 1, Flags::SYN)), None, "three, and no more");
        assert_eq!((all.count(), all.others), (3, 1));
    }

    proptest! {
        #[test]
        fn any_octets_are_of_a_connection_or_of_none(octets: Vec<u8>, side in 0_usize..2) {
            let mut all = Connections::new(2);
            let place = all.of(side, &octets, Time::ZERO);
            prop_assert_eq!(all.others, u64::from(place.is_none()));
        }
    }
}
