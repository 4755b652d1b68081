//! Tests of the driver, which carries packets over emulated links between two hosts. Each host is
//! the far end of a socket pair. Links work in logical time, so no test depends on how much real
//! time passes.

use std::os::unix::net::UnixDatagram;

use netspurt::event::{DropReason, Way};
use netspurt::ids::Side;
use netspurt::segment::{Flags, Part};
use netspurt::wire::{Checks, Packet, decode, encode};
use netspurt_scenario::scenario::Scenario;

use super::*;
use crate::content;
use crate::sandbox::{Wire, Wiring};

/// An instant far beyond the end of each run in these tests.
const STOP: Time = Time::from_nanos(60_000_000_000);

const FROM: EndId = EndId::at(0);
const TO: EndId = EndId::at(1);

/// Makes a packet from the end on `side`. The packet has the payload of an end whose initial
/// sequence number is 0.
fn packet(side: Side, segment: Segment) -> Vec<u8> {
    let ends = ["10.0.0.1:10000", "10.0.0.2:5001"].map(|end| end.parse().unwrap());
    let (source, destination) = (ends[side.index()], ends[side.peer().index()]);
    let first = u64::from(segment.seq.saturating_sub(1));
    let payload = Some(content::octets(first, segment.len.into()));
    let mut octets = Vec::new();
    encode(&Packet { source, destination, ip_id: 1, segment, payload }, &mut octets);
    octets
}

fn syn() -> Vec<u8> {
    packet(Side::From, Segment { flags: Flags::SYN, ..Segment::default() })
}

/// Makes data packet `number`, counted from 0. Each packet carries 500 octets of payload.
fn data(number: u32) -> Vec<u8> {
    let flags = Flags::ACK;
    packet(Side::From, Segment { seq: 1 + 500 * number, len: 500, flags, ..Segment::default() })
}

/// An observer that records deliveries, captured and encoded packets, and the number of drops. It
/// ends the run when as many packets as `wanted` says were delivered.
#[derive(Default)]
struct Seen {
    captures: bool,
    wanted: usize,
    delivered: Vec<Segment>,
    dropped: usize,
    octets: Vec<Vec<u8>>,
    encoded: Vec<Segment>,
}

impl Watch for Seen {
    fn event(&mut self, event: &Event<Segment>, octets: Option<&[u8]>) {
        self.dropped += usize::from(matches!(event.what, What::Dropped { .. }));
        self.octets.extend(octets.map(<[u8]>::to_vec));
    }

    fn captures(&self) -> bool {
        self.captures
    }

    fn label(
        &mut self,
        labels: &mut Labels,
        from: EndId,
        packet: (&[u8], Shape),
        out: &mut Vec<Segment>,
    ) {
        labels.read_all(from, packet, || None, out);
    }

    fn encode(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        self.encoded.push(*segment);
        out.extend(packet(segment.source().side(), *segment));
    }

    fn delivered(&mut self, _due: Time, segment: &Segment) {
        self.delivered.push(*segment);
    }

    fn goes_on(&mut self, _now: Time) -> bool {
        self.delivered.len() < self.wanted
    }
}

/// Makes a network with one transfer of the kernel's TCP over one link. The text `link` has further
/// keys of this link.
fn network(link: &str) -> netspurt::plan::Network {
    let text = format!(
        r#"
stop = "10 min"
[links]
wire = {{ between = ["a", "b"], rate = "1 Gbit/s", delay = "10 us", {link} }}
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "reno-2005"
[record]
spy = ["a"]
"#
    );
    Scenario::parse("here", &text).unwrap().network()
}

/// A table of devices as the kernel writes it. The only device in the table has dropped no packet.
const NONE_MISSED: &str = "  eth0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

/// Sends the packets in the list `waiting` from the first host, and runs the driver until the
/// observer `seen` ends the run. Returns the log, and the socket of the second host.
fn driven(link: &str, waiting: &[Vec<u8>], seen: &mut Seen) -> (Log, UnixDatagram) {
    let wiring = Wiring { wire: Wire::Tun, offload: false };
    let [(near, from), (far, to)] = [(); 2].map(|()| PacketPort::paired(wiring, 1500, NONE_MISSED));
    for octets in waiting {
        from.send(octets).unwrap();
    }
    let ports = vec![(FROM, near), (TO, far)];
    let driver = Driver::new(WallClock::start(), Path::new(network(link)), ports);
    let (_, log) = driver.run(STOP, seen).unwrap();
    (log, to)
}

/// Returns the packets that reached a host.
fn reached(host: &UnixDatagram) -> Vec<Vec<u8>> {
    let mut room = vec![0; 4096];
    let mut all = Vec::new();
    while let Ok(length) = host.recv(&mut room) {
        all.push(room[..length].to_vec());
    }
    all
}

#[test]
fn packets_cross_the_path_unchanged_and_are_logged() {
    let waiting = [syn(), data(0), data(1)];
    let mut seen = Seen { wanted: 3, ..Seen::default() };
    let (log, host) = driven("", &waiting, &mut seen);
    assert_eq!(reached(&host), waiting, "packets keep their order");
    let ids = |all: &[Segment]| all.iter().map(|segment| segment.id).collect::<Vec<_>>();
    let entered: Vec<_> = log.arrivals.iter().map(|arrival| arrival.segment).collect();
    assert_eq!(ids(&entered), [0, 1, 2].map(|number| TransmissionId::of_packet(FROM, number)));
    assert_eq!(ids(&seen.delivered), ids(&entered));
    for (arrival, delivery) in log.arrivals.iter().zip(&log.deliveries) {
        assert_eq!((delivery.id, delivery.end), (arrival.segment.id, TO));
        assert!(arrival.stamped <= arrival.at && arrival.at < delivery.due);
        assert!(delivery.due <= delivery.actual, "no delivery is early");
    }
    assert!(log.deliveries.is_sorted_by_key(|delivery| delivery.due));
    assert_eq!((log.refused, log.missed, log.strange, log.damaged), (0, 0, 0, 0));
}

#[test]
fn a_packet_that_a_link_destroys_does_not_reach_the_host() {
    let waiting = [syn(), data(0), data(1)];
    let mut seen = Seen { wanted: 2, ..Seen::default() };
    let (log, host) = driven(r#"loss = [{ nth = [2] }, "none"]"#, &waiting, &mut seen);
    assert_eq!(reached(&host), [syn(), data(1)]);
    assert_eq!((log.arrivals.len(), log.deliveries.len(), seen.dropped), (3, 2, 1));
}

#[test]
fn the_observer_gets_only_the_fragment_that_completes_a_packet() {
    let waiting = [syn(), data(0), data(1)];
    let mut seen = Seen { wanted: 3, ..Seen::default() };
    let (log, host) = driven(r#"mtu = "300 B""#, &waiting, &mut seen);
    assert_eq!((reached(&host).len(), log.deliveries.len()), (5, 5));
    let delivered: Vec<_> =
        seen.delivered.iter().map(|segment| (segment.len, segment.part.more_follow())).collect();
    assert_eq!(delivered, [(0, false), (500, false), (500, false)]);
}

#[test]
fn unreadable_packets_and_packets_with_wrong_content_are_counted_separately() {
    let mut damaged = packet(Side::From, Segment { seq: 1, flags: Flags::ACK, ..<_>::default() });
    damaged.truncate(39);
    let mut wrong = data(0);
    // This packet has the octets of the first segment and the sequence number of the second. Its
    // checksum is correct.
    let seq = Segment { seq: 501, len: 500, flags: Flags::ACK, ..Segment::default() };
    let [source, destination] = ["10.0.0.1:10000", "10.0.0.2:5001"].map(|end| end.parse().unwrap());
    let payload = Some(content::octets(0, 500));
    encode(&Packet { source, destination, ip_id: 1, segment: seq, payload }, &mut wrong);
    let mut seen = Seen { wanted: 2, ..Seen::default() };
    let (log, host) = driven("", &[syn(), damaged, wrong.clone()], &mut seen);
    assert_eq!(reached(&host), [syn(), wrong], "a packet with wrong content is still delivered");
    assert_eq!((log.strange, log.damaged), (1, 1));
}

#[test]
fn a_capture_has_the_octets_of_the_packets() {
    let mut seen = Seen { wanted: 2, captures: true, ..Seen::default() };
    driven("", &[syn(), data(0)], &mut seen);
    assert_eq!(seen.octets, [syn(), data(0)]);
    assert!(seen.encoded.is_empty(), "the packet's own octets are captured");
}

#[test]
fn a_run_without_hosts_ends_when_the_observer_ends_it() {
    let mut seen = Seen::default();
    let driver = Driver::new(WallClock::start(), Path::new(network("")), Vec::new());
    let (path, log) = driver.run(STOP, &mut seen).unwrap();
    assert!(path.now() < STOP);
    assert!(log.arrivals.is_empty() && log.deliveries.is_empty());
}

#[test]
fn flows_of_programs_use_the_packet_ports_of_their_first_flow() {
    let first = FlowId(3);
    for (programs, flow, home_flow) in
        [(None, 7, 7), (Some(first), 2, 2), (Some(first), 3, 3), (Some(first), 7, 3)]
    {
        for side in Side::BOTH {
            let expected = FlowId(home_flow).end(side);
            assert_eq!(home(programs, FlowId(flow).end(side)), expected, "{programs:?} {flow}");
        }
    }
}

/// A store with one packet that is on the path. The packet's bytes are `octets`, and its segment
/// has the id `id`.
fn holding(octets: &[u8], id: TransmissionId) -> Hold {
    let wiring = Wiring { wire: Wire::Tun, offload: false };
    let (port, far) = PacketPort::paired(wiring, 1500, "");
    far.send(octets).unwrap();
    let (mut hold, mut batch) = (Hold::default(), Batch::new(port.room_bytes()));
    port.receive(&mut batch).unwrap();
    hold.take(&mut batch, 0, 0, Shape::WHOLE, (id, 1));
    hold
}

/// Returns the first packet of data as a segment.
fn labelled() -> Segment {
    Labels::new().read(FROM, &data(0), || None).unwrap()
}

#[test]
fn a_packet_is_written_with_its_congestion_mark_and_fragments_are_written_one_by_one() {
    let whole = labelled();
    let (hold, labels) = (holding(&data(0), whole.id), Labels::new());
    let mut seen = Seen::default();
    let mut written = |segment: &Segment| {
        let mut out = b"what was there".to_vec();
        write_whole(&hold, &labels, segment, &mut seen, &mut out);
        out
    };
    assert_eq!(written(&whole), data(0));
    let marked = written(&Segment { ecn: Ecn::CE, ..whole });
    let read = decode(&marked, Checks::Whole).unwrap();
    assert_eq!((read.segment.ecn, read.payload.len()), (Ecn::CE, 500));
    let mut part_of = |mut segment: Segment, offset: u32, more: bool, octets: u16| {
        (segment.part, segment.size_bytes) = (Part::new(offset, more), 20 + octets);
        written(&segment)
    };
    let parts = [part_of(whole, 0, true, 256), part_of(whole, 256, false, 264)];
    assert_eq!([parts[0].len(), parts[1].len()], [276, 284]);
    assert_eq!(
        [&parts[0][20..], &parts[1][20..]].concat(),
        data(0)[20..],
        "the fragments carry all octets"
    );
    assert_eq!(
        (parts[0][6] & 0x20, parts[1][6] & 0x20),
        (0x20, 0),
        "only the first has More Fragments"
    );
}

#[test]
fn packets_of_the_simulator_get_the_sequence_numbers_of_the_host() {
    let mut labels = Labels::new();
    let isn = 70_000;
    let syn = Segment { seq: isn, flags: Flags::SYN, ..Segment::default() };
    labels.read(FROM, &packet(Side::From, syn), || None).unwrap();
    let id = TransmissionId::of_packet(TO, 0);
    let answer = Segment { id, dest: FROM, ack: 1, flags: Flags::ACK, ..Segment::default() };
    let (mut seen, mut out) = (Seen::default(), vec![1; 9]);
    write_whole(&Hold::default(), &labels, &answer, &mut seen, &mut out);
    assert_eq!(decode(&out, Checks::Whole).unwrap().segment.ack, isn + 1);
    assert_eq!(seen.encoded.len(), 1);
}

#[test]
fn octets_are_kept_until_the_packet_is_dropped() {
    let frame = labelled();
    let (mut hold, labels) = (holding(&data(0), frame.id), Labels::new());
    let mut seen = Seen { captures: true, ..Seen::default() };
    let at = Time::ZERO;
    let passes = What::Seen { node: 0, way: Way::Out, frame };
    let queued = What::Queue { link: 0, packets: 1, bytes: 540 };
    let dropped = What::Dropped { link: Some(0), reason: DropReason::QueueFull, frame };
    for (what, held, octets) in [(passes, true, 1), (queued, true, 1), (dropped, false, 1)] {
        forward_event(&mut hold, &labels, &Event { at, what }, &mut seen);
        assert_eq!(hold.handle(frame.id).is_some(), held, "{what:?}");
        assert_eq!(seen.octets.len(), octets, "{what:?}");
    }
    assert_eq!((seen.octets, seen.dropped), (vec![data(0)], 1));
}
