//! Assigns packets to connections. The packets come from programs, such as curl and a server, or
//! from a population. A population is many connections of one kind. Each connection has a flow of
//! its own in the tables.

use netspurt::ids::Side;
use netspurt::observe::{Arrivals, Brought, EndPair, Flows, Lifetimes, Passing};
use netspurt::record::{Column, Data, Table};
use netspurt::segment::{Flags, Segment};
use netspurt::units::Time;
use netspurt::wire::{IpHead, TcpHead};

/// The observed facts about a connection.
#[derive(Clone, Debug)]
struct SeenConnection {
    /// The ports at the two hosts.
    ports: [u16; 2],
    /// The side that opened the connection.
    opener: Side,
    /// When the opener's first packet entered the path.
    opened: Option<Time>,
    /// When the opener's last SYN entered the path.
    syn: Option<Time>,
    /// When each side's first octets entered the path.
    began: [Option<Time>; 2],
    /// The octets that reached each side.
    arrived: [Arrivals; 2],
    /// When new octets last arrived in order at each side.
    grew: [Option<Time>; 2],
    /// When the first octets reached each side.
    first: [Option<Time>; 2],
    /// When the FIN of each side reached the other side.
    closed: [Option<Time>; 2],
    /// When a packet of the connection last left the path. Before any packet has left, this is the
    /// time at which the first packet was seen.
    last: Time,
}

/// The connections between two hosts, in the order in which they were seen.
#[derive(Debug)]
pub struct Connections {
    flows: Flows<()>,
    seen: Vec<SeenConnection>,
    connections_max: usize,
    /// The number of packets that belong to no connection with a flow of its own.
    pub others: u64,
}

/// Reads the facts about a connection from the headers of a packet that was seen at the instant
/// `at`. `None` if the octets are not the beginning of a TCP segment in IPv4, or the packet is a
/// fragment.
fn passing(octets: &[u8], at: Time) -> Option<Passing> {
    let ip = IpHead::of(octets).filter(|ip| matches!(ip, IpHead::V4(_)) && ip.part().is_whole())?;
    let (_, tcp) = TcpHead::behind_ip(octets)?;
    let ends = EndPair::new(ip.numbers(), tcp.port_pair(), false);
    Some(Passing { at, ends, flags: tcp.flags(), seq: tcp.seq(), ack: tcp.ack() })
}

impl Connections {
    /// Starts without connections. Only the first `connections_max` connections get a flow of their
    /// own.
    pub fn new(connections_max: usize) -> Self {
        let flows = Flows::new(Lifetimes::default());
        Self { flows, seen: Vec::new(), connections_max, others: 0 }
    }

    /// The number of connections that have a flow of their own.
    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// The ports of the connection numbered `place` at the two hosts.
    pub fn ports(&self, place: usize) -> [u16; 2] {
        self.seen[place].ports
    }

    /// The numbers of the connections whose last packet left the path at the instant `since` or
    /// later. If no packet of a connection has left yet, the time at which the connection's first
    /// packet was seen counts instead.
    pub fn recently_active(&self, since: Time) -> impl Iterator<Item = usize> {
        let recently_active = move |(_, seen): &(usize, &SeenConnection)| seen.last >= since;
        self.seen.iter().enumerate().filter(recently_active).map(|(place, _)| place)
    }

    /// Returns the number of the connection to which a packet belongs; numbers count from 0. The
    /// host on `side` sent the packet at about the time `now`. Returns `None` if the packet belongs
    /// to no connection with a flow of its own.
    pub fn of(&mut self, side: Side, octets: &[u8], now: Time) -> Option<usize> {
        let place = passing(octets, now).and_then(|packet| self.place(side, &packet));
        self.others += u64::from(place.is_none());
        place
    }

    fn place(&mut self, side: Side, packet: &Passing) -> Option<usize> {
        let (sighting, ()) = self.flows.sight(packet);
        // `take_retired` returns the connections that have ended. They are not needed, because the
        // field `seen` keeps the facts about them.
        self.flows.take_retired().for_each(drop);
        let place =
            usize::try_from(sighting.number).ok().filter(|place| *place < self.connections_max)?;
        if sighting.born {
            let [from, to] = packet.ends.sockets().map(|end| end.port());
            let opens = sighting.side == Side::From;
            self.seen.push(SeenConnection {
                ports: if side == Side::From { [from, to] } else { [to, from] },
                opener: if opens { side } else { side.peer() },
                opened: None,
                syn: None,
                began: [None; 2],
                arrived: Default::default(),
                grew: [None; 2],
                first: [None; 2],
                closed: [None; 2],
                last: packet.at,
            });
        }
        Some(place)
    }

    /// Records that a segment of the connection numbered `place` entered the path at the instant
    /// `at`. The host on `side` sent the segment.
    pub fn entered(&mut self, place: usize, side: Side, at: Time, segment: &Segment) {
        let Some(seen) = self.seen.get_mut(place) else { return };
        if side == seen.opener {
            seen.opened.get_or_insert(at);
            if segment.flags.has(Flags::SYN) {
                seen.syn = Some(at);
            }
        }
        if segment.len > 0 {
            seen.began[side.index()].get_or_insert(at);
        }
    }

    /// Records that a segment of the connection numbered `place` reached the host on `side` at the
    /// instant `at`.
    pub fn reached(&mut self, place: usize, side: Side, at: Time, segment: &Segment) {
        let Some(seen) = self.seen.get_mut(place) else { return };
        seen.last = at;
        if segment.len > 0 {
            seen.first[side.index()].get_or_insert(at);
            if seen.arrived[side.index()].take(segment) == Brought::InOrder {
                seen.grew[side.index()] = Some(at);
            }
        }
        if segment.flags.has(Flags::FIN) {
            seen.closed[side.peer().index()].get_or_insert(at);
        }
    }
}

/// Two counts of a connection, each for both sides: the octets that reached the side, and the
/// segments that the shim of the side retransmitted. A shim is a retransmission timer at the edge
/// of a host.
pub type Counts = [[u64; 2]; 2];

/// Makes the table `connections`: one row for each connection, in the order in which the
/// connections were seen. The flows of the connections are called `name.0`, `name.1`, and so on.
pub fn connections_table(name: &str, all: &Connections, counts: &[Counts]) -> Table {
    let nanos = |at: Time| at.as_nanos().cast_signed();
    let optional = |of: &dyn Fn(&SeenConnection) -> Option<Time>| {
        Data::OptionalI64(all.seen.iter().map(|seen| of(seen).map(nanos)).collect())
    };
    let port =
        |side: usize| Data::I64(all.seen.iter().map(|seen| i64::from(seen.ports[side])).collect());
    let count = |what: usize, side: usize| {
        Data::I64(counts.iter().map(|counts| counts[what][side].cast_signed()).collect())
    };
    let flows = (0..all.seen.len()).map(|number| format!("{name}.{number}")).collect();
    let codes = (0_u32..).take(all.seen.len()).collect();
    let closed = |seen: &SeenConnection| Some(seen.closed[0]?.max(seen.closed[1]?));
    let columns = vec![
        Column::new("flow", Data::Text { codes, texts: flows }),
        Column::new(
            "opened_by_to",
            Data::Bool(all.seen.iter().map(|s| s.opener == Side::To).collect()),
        ),
        Column::new("from_port", port(0)),
        Column::new("to_port", port(1)),
        Column::new("opened_ns", optional(&|seen| seen.opened)),
        Column::new("syn_ns", optional(&|seen| seen.syn)),
        Column::new("asked_ns", optional(&|seen| seen.began[seen.opener.index()])),
        Column::new("began_ns", optional(&|seen| seen.began[seen.opener.peer().index()])),
        Column::new("answered_ns", optional(&|seen| seen.first[seen.opener.index()])),
        Column::new("complete_ns", optional(&|seen| seen.grew[seen.opener.index()])),
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

    /// Makes a packet from port `from` to port `to`.
    fn packet(from: u16, to: u16, seq: u32, flags: Flags) -> Vec<u8> {
        // Every SYN that gets a SYN-ACK has the sequence number 7, so the ACK number is always 8.
        let segment = Segment { seq, ack: 8, flags, ..Segment::default() };
        // The second host listens. Only its ports are below 1000.
        let address = |port: u16| if port < 1000 { [10, 0, 0, 2] } else { [10, 0, 0, 1] };
        let [source, destination] = [from, to].map(|port| (address(port), port).into());
        let mut octets = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut octets);
        octets
    }

    #[test]
    fn a_syn_with_a_new_sequence_number_opens_a_new_connection() {
        let mut all = Connections::new(3);
        let mut of = |side, octets: &[u8]| all.of(side, octets, Time::ZERO);
        let syn = packet(4000, 80, 7, Flags::SYN);
        assert_eq!(of(Side::From, &syn), Some(0));
        assert_eq!(
            of(Side::From, &syn),
            Some(0),
            "a retransmitted SYN belongs to the same connection"
        );
        assert_eq!(of(Side::To, &packet(80, 4000, 9, Flags::SYN.with(Flags::ACK))), Some(0));
        assert_eq!(of(Side::From, &packet(4001, 80, 7, Flags::SYN)), Some(1));
        assert_eq!(of(Side::From, &packet(4000, 80, 8, Flags::SYN)), Some(2));
        assert_eq!(of(Side::To, &packet(80, 4000, 9, Flags::ACK)), Some(2));
        assert_eq!(
            of(Side::From, &packet(4003, 80, 1, Flags::SYN)),
            None,
            "the limit of three connections is reached"
        );
        assert_eq!((all.count(), all.others), (3, 1));
    }

    proptest! {
        #[test]
        fn any_octets_belong_to_a_connection_or_are_counted(octets: Vec<u8>, side in 0_usize..2) {
            let mut all = Connections::new(2);
            let place = all.of(Side::BOTH[side], &octets, Time::ZERO);
            prop_assert_eq!(all.others, u64::from(place.is_none()));
        }
    }
}
