//! Tests that the explanation of a flight (successive segments) does not depend on whether its
//! segments are processed together or one by one. It does not depend on a transcript (a copy of the
//! captured packets) either.

use proptest::prelude::*;

use super::super::Disorder;
use super::{Explainer, Explanation, read_all, read_one_by_one};
use crate::ids::Side;
use crate::segment::{Flags, SackBlock, SackBlocks, Segment, Timestamps};
use crate::wire::{Packet, PcapngWriter, encode};

/// What one side does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Sends new segments, one directly after the other. The values are their number, their length,
    /// and whether they have PSH.
    Flight(u32, u16, bool),
    /// Sends old octets again in segments of 1000 octets. The first number is the distance from the
    /// first of these octets to the next new octet, in thousands of octets. The second number is
    /// the number of segments. If it is greater than the first number, the last segments carry new
    /// octets.
    Again(u32, u32),
    /// Leaves out a number of segments of 1000 octets, as if the capture had lost them.
    Skip(u32),
    /// Acknowledges the octets of the peer, except the last ones. The first number says how many
    /// thousand octets are not acknowledged. If the second number is not zero, a SACK block reports
    /// this number of thousand octets, after a hole of 1000 octets.
    Ack(u32, u32),
    /// Changes the window to a new value.
    Window(u16),
    /// Sends nothing for a number of milliseconds.
    Wait(u32),
    /// Sends a FIN.
    Fin,
}

/// A random step.
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..30_u32, prop_oneof![Just(1000_u16), Just(1), 1..1448_u16], any::<bool>())
            .prop_map(|(many, len, push)| Step::Flight(many, len, push)),
        1 => (1..9_u32, 1..5_u32).prop_map(|(back, many)| Step::Again(back, many)),
        1 => (1..3_u32).prop_map(Step::Skip),
        4 => (0..6_u32, 0..3_u32).prop_map(|(less, sack)| Step::Ack(less, sack)),
        1 => prop_oneof![Just(0_u16), Just(40), any::<u16>()].prop_map(Step::Window),
        1 => (1..900_u32).prop_map(Step::Wait),
        1 => Just(Step::Fin),
    ]
}

/// The state of one end of the connection.
#[derive(Clone, Copy, Debug)]
struct End {
    /// The sequence number of the next new octet.
    next: u32,
    /// The acknowledgment number that this end sends.
    acked: u32,
    window: u16,
    /// The last IP identification.
    id: u16,
}

/// The packets that the steps in the list `steps` make. Each step says whether the second side
/// acts, and what the side does. Each packet has its time in nanoseconds, the side that sends it,
/// its IP identification and its segment. Sequence numbers begin with the number `begin`. Two
/// packets are at least `pace` nanoseconds apart. `stamped` says whether the packets have
/// timestamps.
fn packets(
    steps: &[(bool, Step)],
    (begin, pace): (u32, u64),
    stamped: bool,
) -> Vec<(u64, Side, u16, Segment)> {
    let (mut ns, mut all) = (0, Vec::new());
    let end = |next, window| End { next, acked: begin, window, id: 7 };
    let mut ends = [end(begin, 900), end(begin, 60_000)];
    for (from_second, step) in steps {
        let side = if *from_second { Side::To } else { Side::From };
        let peer = ends[side.peer().index()];
        let end = &mut ends[side.index()];
        let mut send = |end: &mut End, seq: u32, len: u16, more: Flags, sack: Option<SackBlock>| {
            ns += pace + u64::from(seq % 5) * 700;
            end.id = end.id.wrapping_add(1);
            let flags = Flags::ACK.with(more);
            let (ack, window) = (end.acked, end.window);
            let mut one = Segment { seq, ack, len, window, flags, ..Segment::default() };
            one.size_bytes = 52 + len;
            if stamped {
                one.set_timestamps(Timestamps { val: (ns / 1_000_000) as u32, ecr: end.acked });
            }
            if let Some(block) = sack {
                let mut blocks = SackBlocks::default();
                blocks.add(block);
                one.set_sack(&blocks);
            }
            all.push((ns, side, end.id, one));
        };
        match *step {
            Step::Flight(many, len, push) => {
                let more = if push { Flags::PSH } else { Flags::ACK };
                for _ in 0..many {
                    send(end, end.next, len, more, None);
                    end.next = end.next.wrapping_add(len.into());
                }
            }
            Step::Again(back, many) => {
                let seq = end.next.wrapping_sub(back * 1000);
                for place in 0..many {
                    send(end, seq.wrapping_add(place * 1000), 1000, Flags::PSH, None);
                }
                let right = seq.wrapping_add(many * 1000);
                if many > back {
                    end.next = right;
                }
            }
            Step::Skip(many) => end.next = end.next.wrapping_add(many * 1000),
            Step::Ack(less, sack) => {
                end.acked = peer.next.wrapping_sub(less * 1000);
                let right = end.acked.wrapping_add((1 + sack) * 1000);
                let block = SackBlock { left: end.acked.wrapping_add(1000), right };
                send(end, end.next, 0, Flags::ACK, (sack > 0).then_some(block));
            }
            Step::Window(window) => end.window = window,
            Step::Wait(ms) => ns += u64::from(ms) * 1_000_000,
            Step::Fin => {
                send(end, end.next, 0, Flags::FIN, None);
                end.next = end.next.wrapping_add(1);
            }
        }
    }
    all
}

/// The capture file of these packets. `six` says whether they are IPv6 packets.
fn capture(packets: &[(u64, Side, u16, Segment)], six: bool) -> Vec<u8> {
    let texts =
        if six { ["[2001:db8::1]:9", "[2001:db8::2]:80"] } else { ["10.0.0.1:9", "10.0.0.2:80"] };
    let ends = texts.map(|end| end.parse().unwrap());
    let mut file = PcapngWriter::new(Vec::new(), "here", "netspurt").unwrap();
    let mut bytes = Vec::new();
    for &(ns, side, ip_id, segment) in packets {
        let (source, destination) = (ends[side.index()], ends[side.peer().index()]);
        encode(&Packet { source, destination, ip_id, segment, payload: None }, &mut bytes);
        file.packet(1_000_000_000 + ns, &bytes, None).unwrap();
    }
    file.finish().unwrap()
}

proptest! {
    /// A transcript must not change the explanation.
    #[test]
    fn flights_are_explained_in_the_same_way_if_segments_are_processed_one_by_one(
        steps in prop::collection::vec((any::<bool>(), step()), 0..60),
        begin: u32, stamped: bool, six: bool, pace in prop::sample::select(vec![9_000, 109_000_u64]),
    ) {
        let packets = packets(&steps, (begin, pace), stamped);
        let capture = capture(&packets, six);
        let one_by_one = read_one_by_one(&capture);
        let together = read_all(&capture, Explainer::default());
        let transcribed = read_all(&capture, Explainer::default().with_transcript(None));
        // If the explainer notices that packets are out of order, it sorts the later packets. It
        // notices this only among segments that are explained together. So such cases are left out.
        let ordered = |found: &Explanation| found.notes.disorder == Disorder::default();
        if !ordered(&together) || !ordered(&one_by_one) {
            return Ok(());
        }
        let text = |found: Explanation| format!("{:#?}", (found.passed, found.notes, found.connections));
        let together = text(together);
        prop_assert_eq!(&together, &text(one_by_one));
        prop_assert_eq!(&together, &text(transcribed));
    }
}
