//! Tests of runs with programs such as curl: to which connection each packet belongs, and when the
//! run ends.

use std::fs::File;
use std::io::{Write, pipe};
use std::os::fd::OwnedFd;

use netspurt::ids::{EndId, FlowId, Side};
use netspurt::segment::{Cause, Flags, Segment};
use netspurt_live::exec::{ProgramsEnding, ProgramsWatch};
use netspurt_live::labels::Labels;
use netspurt_live::offload::Shape;

use super::common::{ms, packet_between};

/// The first flow of programs. Packets that belong to no connection have this flow.
const FIRST: FlowId = FlowId(3);
const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);

/// Makes an observer of programs with at most `most` connections, and the labels that the observer
/// uses. The observer has no socket to ask the kernels of the two hosts, so it learns nothing from
/// these kernels.
fn watched(most: usize) -> (ProgramsWatch, Labels) {
    let addresses = ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().unwrap());
    let labels = Labels::new().foreign_from(Some(FIRST));
    (ProgramsWatch::new(FIRST, most, addresses, [None, None], true), labels)
}

/// A packet of the host on `side` between a client's port and port 80 of the second host.
fn octets(side: Side, port: u16, segment: Segment) -> Vec<u8> {
    let ends = [format!("10.0.0.1:{port}"), "10.0.0.2:80".to_owned()];
    packet_between(&ends[side.index()], &ends[side.peer().index()], segment)
}

/// The segments of a packet that the host on `side` sent, with their flow, id and cause (their
/// labels).
fn labelled(
    (watch, labels): &mut (ProgramsWatch, Labels),
    side: Side,
    octets: &[u8],
    shape: Shape,
) -> Vec<Segment> {
    let mut out = Vec::new();
    watch.label(labels, FIRST.end(side), (octets, shape), &mut out);
    out
}

/// The only segment of a packet that the host on `side` sent, with its labels.
fn one(all: &mut (ProgramsWatch, Labels), side: Side, port: u16, segment: Segment) -> Segment {
    let [only] = labelled(all, side, &octets(side, port, segment), Shape::WHOLE)[..] else {
        panic!("the packet has one segment")
    };
    only
}

fn with(seq: u32, ack: u32, flags: Flags) -> Segment {
    Segment { seq, ack, flags, ..Segment::default() }
}

#[test]
fn each_connection_has_its_own_flow_and_its_own_sequence_numbers() {
    let mut all = watched(4);
    for (place, port) in [(1, 4000), (2, 4001)] {
        let flow = FlowId(FIRST.0 + place);
        let (mine, theirs) = (1000 * place, u32::MAX - place);
        let syn = one(&mut all, Side::From, port, with(mine, 0, Flags::SYN));
        assert_eq!((syn.source(), syn.dest), (flow.end(Side::From), flow.end(Side::To)));
        assert_eq!((syn.seq, syn.id.packet()), (0, 0));
        let answer = one(&mut all, Side::To, port, with(theirs, mine + 1, SYN_ACK));
        assert_eq!((answer.source(), answer.seq, answer.ack), (flow.end(Side::To), 0, 1));
    }
    let data = Segment { len: 100, ..with(1001, u32::MAX, Flags::ACK) };
    let data = one(&mut all, Side::From, 4000, data);
    assert_eq!((data.flow(), data.seq, data.ack), (FlowId(FIRST.0 + 1), 1, 1));
    assert_eq!((all.0.connections.count(), all.0.others, all.1.strange), (2, 0, 0));
}

#[test]
fn packets_that_belong_to_no_connection_get_the_first_flow_of_programs() {
    let mut all = watched(1);
    one(&mut all, Side::From, 4000, with(7, 0, Flags::SYN));
    let mut datagram = octets(Side::From, 4000, Segment { len: 30, ..Segment::default() });
    datagram[9] = 17;
    let mut damaged = octets(Side::From, 4000, Segment { len: 30, ..with(8, 0, Flags::ACK) });
    damaged[45] ^= 1;
    let beyond = octets(Side::To, 4001, with(7, 0, Flags::SYN));
    for (number, (what, side, octets)) in [
        ("a datagram", Side::From, datagram),
        ("a segment that is damaged", Side::From, damaged),
        ("a connection beyond the limit", Side::To, beyond),
    ]
    .into_iter()
    .enumerate()
    {
        let [carried] = labelled(&mut all, side, &octets, Shape::WHOLE)[..] else {
            panic!("{what} is carried")
        };
        assert!(carried.is_other(), "{what}");
        assert_eq!((carried.source(), carried.dest.flow()), (FIRST.end(side), FIRST), "{what}");
        assert_eq!(usize::from(carried.size_bytes), octets.len(), "{what}");
        assert_eq!((all.0.others, all.1.strange), (number as u64 + 1, 0), "{what}");
    }
}

#[test]
fn only_complete_ipv4_packets_are_forwarded_and_all_other_packets_count_as_strange() {
    let mut all = watched(1);
    let six = packet_between("[::1]:4000", "[::2]:80", with(7, 0, Flags::SYN));
    let short = octets(Side::From, 4000, with(7, 0, Flags::SYN))[..19].to_vec();
    for (strange, octets) in [six, short, Vec::new()].into_iter().enumerate() {
        assert!(labelled(&mut all, Side::From, &octets, Shape::WHOLE).is_empty());
        assert_eq!((all.0.others, all.1.strange), (0, strange as u64 + 1));
    }
}

#[test]
fn a_large_packet_of_a_program_is_split_into_all_its_segments() {
    let mut all = watched(1);
    one(&mut all, Side::From, 4000, with(7, 0, Flags::SYN));
    let large = octets(Side::From, 4000, Segment { len: 2500, ..with(8, 0, Flags::ACK) });
    let shape = Shape { segment_bytes: 1000, partial: true, foreign: false };
    let lengths: Vec<u16> =
        labelled(&mut all, Side::From, &large, shape).iter().map(|segment| segment.len).collect();
    assert_eq!(lengths, [1000, 1000, 500]);
    // The kernel's state is not known, so the test expects the cause of a timeout.
    let again = labelled(&mut all, Side::From, &large, shape);
    assert!(again.iter().all(|segment| segment.cause.get() == Some(Cause::Rto)));
    assert_eq!(all.1.damaged, 0, "the content that programs write is not checked");
}

#[test]
fn only_flows_after_the_first_flow_of_programs_are_connections_of_programs() {
    let (watch, _) = watched(2);
    for (flow, place) in [(0, None), (2, None), (3, None), (4, Some(0)), (5, Some(1))] {
        assert_eq!(watch.place_of(FlowId(flow)), place, "flow {flow}");
    }
    assert!(!watch.can_ask(), "no kernel reports anything");
}

#[test]
fn a_delivery_makes_a_connection_recently_active() {
    let mut all = watched(2);
    all.0.advance_clock(ms(40));
    let syn = one(&mut all, Side::From, 4000, with(7, 0, Flags::SYN));
    let recently_active =
        |watch: &ProgramsWatch, since: u64| watch.connections.recently_active(ms(since)).count();
    assert_eq!((recently_active(&all.0, 40), recently_active(&all.0, 41)), (1, 0));
    all.0.delivered(ms(90), &syn);
    assert_eq!((recently_active(&all.0, 90), recently_active(&all.0, 91)), (1, 0));
    // The first flow of programs and the flows before it are not connections of programs.
    all.0.delivered(ms(500), &Segment { dest: FIRST.end(Side::To), ..syn });
    all.0.delivered(ms(500), &Segment { dest: EndId::at(0), ..syn });
    assert_eq!(recently_active(&all.0, 91), 0);
    all.0.advance_clock(ms(100));
    assert!(all.0.polls.is_empty(), "no kernel can be asked about a connection");
}

/// A [`ProgramsEnding`], and the end of its pipe to which init writes. In a run, init is the
/// process that starts the programs. It reports how the program at the first end (the command)
/// ended.
fn ending() -> (ProgramsEnding, File) {
    let (reader, writer) = pipe().unwrap();
    (ProgramsEnding::new(OwnedFd::from(reader)), File::from(OwnedFd::from(writer)))
}

#[test]
fn a_run_ends_300_ms_after_the_command_has_ended() {
    let (mut ending, mut init) = ending();
    for at in [0, 10, 5000] {
        assert!(!ending.over(ms(at)), "the command runs at {at} ms");
    }
    init.write_all(&0_i32.to_ne_bytes()).unwrap();
    for (at, over) in [(6000, false), (6299, false), (6300, true), (7000, true)] {
        assert_eq!(ending.over(ms(at)), over, "at {at} ms");
    }
}

#[test]
fn a_run_ends_300_ms_after_init_is_gone() {
    let (mut ending, init) = ending();
    assert!(!ending.over(ms(1)));
    drop(init);
    assert!(!ending.over(ms(2)));
    assert!(ending.over(ms(302)));
}
