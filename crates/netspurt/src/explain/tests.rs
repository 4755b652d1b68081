//! Tests that explain whole captures. They check tables, waits, statistics, and the notes on cut
//! headers. The captures are made up, and most tests list their segments.

mod at_receiver;
mod causes;
mod earlier_connection;
mod first_flight;
mod flights;
mod flow_labels;
mod hostile;
mod limits;
mod marks;
mod odd_captures;
mod other_stacks;
mod out_of_order;
mod outages;
mod repairs;
mod stops;
mod too_big;
mod tunnels;
mod unheard_acks;
mod verdicts;

use crate::record::{Data, Table};
use crate::segment::{Flags, SackBlock, SackBlocks, Segment};
use crate::wire::{CaptureReader, CapturedPacket, Packet, PcapngWriter, encode};

use super::{Explainer, Explanation, WaitingFor};

/// The table called `name`.
fn table(explanation: &Explanation, name: &str) -> Table {
    explanation
        .connections
        .clone()
        .into_tables()
        .into_iter()
        .find(|table| table.name == name)
        .unwrap()
}

/// Makes a capture file. Each segment comes with the index of the side that sent it, and a time in
/// milliseconds.
fn file_of(segments: &[(usize, u64, Segment)]) -> Vec<u8> {
    file_between(["10.0.0.1:4000", "10.0.0.2:80"], segments)
}

/// Like [`file_of`], for a connection between `ends`.
fn file_between(ends: [&str; 2], segments: &[(usize, u64, Segment)]) -> Vec<u8> {
    let ends = ends.map(|end| end.parse().unwrap());
    let mut file = PcapngWriter::new(Vec::new(), "here", "netspurt").unwrap();
    for (side, ms, segment) in segments {
        let [source, destination] = if *side == 0 { ends } else { [ends[1], ends[0]] };
        let mut bytes = Vec::new();
        let packet = Packet { source, destination, ip_id: 1, segment: *segment, payload: None };
        encode(&packet, &mut bytes);
        file.packet(ms * 1_000_000, &bytes, None).unwrap();
    }
    file.finish().unwrap()
}

/// Explains a capture of these segments.
fn explained(segments: &[(usize, u64, Segment)]) -> Explanation {
    read_all(&file_of(segments), Explainer::default())
}

/// Explains all packets of a capture.
fn read_all(capture: &[u8], mut explainer: Explainer) -> Explanation {
    take_all(&mut explainer, capture);
    explainer.finish()
}

/// Lets `explainer` take all packets of a capture.
fn take_all(explainer: &mut Explainer, capture: &[u8]) {
    let mut reader = CaptureReader::new(capture).unwrap();
    while let Some(packet) = reader.next_packet().unwrap() {
        explainer.take(&packet);
    }
}

/// Explains all packets of a capture, one by one. Usually a connection keeps a few segments and
/// processes them together. Here each segment is processed at once.
fn read_one_by_one(capture: &[u8]) -> Explanation {
    let (mut explainer, mut reader) = (Explainer::default(), CaptureReader::new(capture).unwrap());
    while let Some(packet) = reader.next_packet().unwrap() {
        explainer.take(&packet);
        explainer.take_pending();
    }
    explainer.finish()
}

/// A segment with `len` octets of payload from sequence number `seq` on.
fn data(seq: u32, len: u16) -> Segment {
    let size_bytes = len + 40;
    Segment {
        seq,
        len,
        size_bytes,
        ack: 1,
        flags: Flags::ACK,
        window: 65_000,
        ..Segment::default()
    }
}

#[test]
fn a_segment_is_a_retransmission_if_its_octets_were_seen_before() {
    let found = explained(&[(0, 0, data(1, 100)), (0, 5, data(101, 100)), (0, 300, data(1, 100))]);
    assert_eq!((found.passed.tcp, found.connections.len()), (3, 1));
    assert_eq!(table(&found, "retransmissions").rows(), 1);
}

/// The SYN is sent again after 3 s, although its SYN-ACK was captured. The second SYN-ACK answers
/// the second SYN at once, so it waited for no timer.
#[test]
fn a_repeated_syn_waited_for_a_timer_but_its_answer_did_not() {
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let syn_ack = Segment { flags: Flags::SYN.with(Flags::ACK), ack: 1, ..Segment::default() };
    let ack = Segment { flags: Flags::ACK, seq: 1, ack: 1, ..Segment::default() };
    let packets =
        [(0, 0, syn), (1, 1, syn_ack), (0, 3000, syn), (1, 3001, syn_ack), (0, 3002, ack)];
    let found = explained(&packets);
    let again = table(&found, "retransmissions");
    let Data::OptionalI64(gaps) = again.column("gap_ns").unwrap() else {
        panic!("the column has another type")
    };
    assert_eq!(gaps.iter().collect::<Vec<_>>(), [Some(3_000_000_000); 2]);
    let waits = table(&found, "waits");
    assert_eq!(waits.rows(), 1, "one timer fired");
}

/// The capture is beside the receiver. The round trip from there to the sender takes 20 ms. Each
/// segment comes when all octets before it are acknowledged. The first two segments come about a
/// round trip after the previous acknowledgment. So the sender sent them as soon as this
/// acknowledgment came, and its application did not pause. The last segment comes 1000 ms after the
/// previous acknowledgment. So the application paused after this acknowledgment had reached the
/// sender.
#[test]
fn beside_the_receiver_a_round_trip_is_no_pause() {
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let syn_ack = Segment { flags: Flags::SYN.with(Flags::ACK), ack: 1, ..Segment::default() };
    let flags = Flags::ACK;
    let ack = |ack| Segment { flags, seq: 1, ack, window: 5000, ..Segment::default() };
    let found = explained(&[
        (1, 0, syn),
        (0, 20, syn_ack),
        (1, 20, ack(1)),
        (0, 45, data(1, 1000)),
        (1, 45, ack(1001)),
        (0, 67, data(1001, 1000)),
        (1, 67, ack(2001)),
        (0, 1067, data(2001, 1000)),
    ]);
    let spent = found.connections.at(0).spent;
    let ms = |what| spent.of(what).as_nanos() / 1_000_000;
    let waits = [WaitingFor::Handshake, WaitingFor::CongestionWindow, WaitingFor::Application];
    assert_eq!(waits.map(ms), [20, 25 + 22 + 20, 980]);
}

/// Explains a capture of a SYN, an acknowledgment with a SACK block, and a segment with data. The
/// capture kept `snap` octets of each packet.
fn cut_to(snap: usize) -> Explanation {
    let mut ack = Segment { ack: 1, flags: Flags::ACK, ..Segment::default() };
    let mut blocks = SackBlocks::default();
    blocks.add(SackBlock { left: 101, right: 201 });
    ack.set_sack(&blocks);
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let bytes = file_of(&[(0, 0, syn), (1, 5, ack), (0, 6, data(1, 100))]);
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let mut explainer = Explainer::default();
    while let Some(packet) = reader.next_packet().unwrap() {
        let bytes = &packet.bytes[..snap.min(packet.bytes.len())];
        explainer.take(&CapturedPacket { bytes, ..packet });
    }
    explainer.finish()
}

#[test]
fn cut_headers_are_noted_but_cut_payload_is_not() {
    for (snap, cut) in [(128, 0), (60, 0), (45, 1), (38, 3), (20, 3)] {
        let found = cut_to(snap);
        assert_eq!(found.notes.cut, cut, "{snap}");
        let said = found.notes.lines().iter().any(|line| line.contains("cut the TCP headers of"));
        assert_eq!(said, cut > 0, "{snap}");
    }
}

mod statistics {
    use super::*;
    use crate::explain::{EndedConnection, RowLayout, Statistics};
    use crate::ids::Side;
    use crate::segment::{SynOptions, Timestamps};
    use crate::units::Duration;

    const SYN_ACK: Flags = Flags(0x12);
    const FIN_ACK: Flags = Flags(0x11);

    /// The first connection of a capture of these segments.
    fn only(segments: &[(usize, u64, Segment)]) -> EndedConnection {
        explained(segments).connections.at(0)
    }

    /// The statistics of the direction in which the initiator sends.
    fn forward(segments: &[(usize, u64, Segment)]) -> Statistics {
        only(segments).direction(Side::From).unwrap().statistics.clone()
    }

    /// An acknowledgment of all octets before octet `number`.
    fn ack(number: u32) -> Segment {
        let window = 9000;
        Segment {
            seq: 1,
            ack: number,
            window,
            size_bytes: 40,
            flags: Flags::ACK,
            ..Segment::default()
        }
    }

    /// A SYN or SYN-ACK that offers the window scale shift `shift`.
    fn syn(flags: Flags, shift: Option<u8>) -> Segment {
        let mut segment = Segment { flags, ack: 1, size_bytes: 48, window: 5000, ..ack(1) };
        segment.seq = 0;
        segment.set_syn_options(SynOptions { window_scale: shift, ..SynOptions::default() });
        segment
    }

    /// The SYN and the SYN-ACK of a handshake, with the window scale shifts that they offer.
    fn shake(shifts: [Option<u8>; 2]) -> [(usize, u64, Segment); 2] {
        [(0, 0, syn(Flags::SYN, shifts[0])), (1, 40, syn(SYN_ACK, shifts[1]))]
    }

    fn ms(ns: Option<u64>) -> Option<u64> {
        ns.map(|ns| ns / 1_000_000)
    }

    #[test]
    fn a_segment_that_fills_a_hole_is_no_retransmission() {
        let found =
            forward(&[(0, 0, data(1, 100)), (0, 1, data(201, 100)), (0, 2, data(101, 100))]);
        let data = found.data;
        assert_eq!((data.out_of_order, data.retransmissions, data.unique_bytes), (1, 0, 300));
    }

    #[test]
    fn octets_that_come_twice_count_once_as_unique() {
        let found = forward(&[(0, 0, data(1, 100)), (0, 5, data(51, 100)), (0, 9, data(1, 150))]);
        let data = found.data;
        assert_eq!((data.unique_bytes, data.bytes), (150, 350));
        assert_eq!((data.retransmissions, data.retransmitted_bytes), (2, 200));
    }

    #[test]
    fn only_a_segment_that_was_sent_once_gives_a_round_trip() {
        let found = forward(&[
            (0, 0, data(1, 100)),
            (0, 10, data(101, 100)),
            (1, 30, ack(101)),
            (0, 300, data(101, 100)),
            (1, 330, ack(201)),
            (0, 400, data(201, 50)),
            (0, 401, data(251, 100)),
            (1, 421, ack(351)),
        ]);
        let trips = found.round_trips;
        assert_eq!((trips.all.count(), trips.cumulative), (2, 1));
        assert_eq!([ms(trips.all.min_ns()), ms(trips.all.max_ns())], [Some(20), Some(30)]);
        let repairs = found.repairs.unwrap();
        assert_eq!(
            ms(repairs.ambiguous.max_ns()),
            Some(30),
            "the time since the last transmission"
        );
        assert_eq!((repairs.of_one_max, ms(repairs.gaps.max_ns())), (1, Some(290)));
    }

    #[test]
    fn an_acknowledgment_that_waited_for_a_repair_ends_no_round_trip() {
        let found = forward(&[
            (0, 0, data(1, 100)),
            (0, 1, data(101, 100)),
            (0, 200, data(1, 100)),
            (1, 240, ack(201)),
        ]);
        assert_eq!((found.round_trips.all.count(), found.round_trips.post_loss), (0, 1));
    }

    #[test]
    fn a_segment_with_retransmitted_parts_counts_as_one_retransmission() {
        let found = forward(&[
            (0, 0, data(1, 1000)),
            (0, 1, data(1001, 100)),
            (0, 300, data(1, 400)),
            (0, 310, data(401, 400)),
            (1, 340, ack(801)),
            (1, 350, ack(1101)),
        ]);
        let trips = found.round_trips;
        assert_eq!((trips.all.count(), trips.cumulative, trips.post_loss), (0, 1, 1));
        let repairs = found.repairs.unwrap();
        assert_eq!((repairs.of_one_max, ms(repairs.gaps.min_ns())), (1, Some(300)));
    }

    #[test]
    fn full_size_samples_come_from_segments_with_the_largest_payload() {
        let mut segments = shake([None, None]).to_vec();
        let fin = Segment { flags: FIN_ACK, ..data(351, 0) };
        segments.extend([
            (0, 41, data(1, 50)),
            (1, 61, ack(51)),
            (0, 70, data(51, 300)),
            (1, 100, ack(351)),
            (0, 110, fin),
            (1, 150, ack(352)),
        ]);
        let found = forward(&segments);
        assert_eq!(ms(found.handshake_ns()), Some(40));
        let full = found.round_trips.full_size;
        assert_eq!((full.count(), ms(full.min_ns())), (1, Some(30)));
        assert_eq!((found.stream_bytes(), found.missing_bytes()), (Some(350), Some(0)));
    }

    #[test]
    fn duplicate_acks_repeat_the_number_and_the_window_while_data_is_outstanding() {
        let repeated = [3, 4, 5, 6].map(|at| (1, at, ack(1)));
        let first = (0, 0, data(1, 0));
        let mut segments = vec![first, (1, 0, ack(1)), (1, 1, ack(1)), (0, 2, data(1, 100))];
        segments.extend(repeated);
        let found = forward(&segments).duplicate_acks;
        assert_eq!(
            (found.count, found.triples),
            (4, 1),
            "an ACK while nothing is outstanding is no duplicate"
        );
        segments[5].2.window = 9;
        assert_eq!(forward(&segments).duplicate_acks.triples, 0);
    }

    /// If windows are scaled, the window of a SYN-ACK has another unit than the later windows. So
    /// an ACK with the same number in its window does not repeat the window of the SYN-ACK.
    #[test]
    fn the_first_ack_after_the_handshake_may_repeat_the_syn_ack() {
        let duplicates = |shifts| {
            let mut segments = shake(shifts).to_vec();
            let window = segments[1].2.window;
            segments.push((0, 41, data(1, 100)));
            segments.extend([50, 51, 52].map(|at| (1, at, Segment { window, ..ack(1) })));
            let found = forward(&segments).duplicate_acks;
            (found.count, found.triples)
        };
        assert_eq!(duplicates([None, None]), (3, 1));
        assert_eq!(duplicates([Some(3), Some(0)]), (2, 0));
    }

    #[test]
    fn windows_of_syns_do_not_count_if_both_syns_offer_scaling() {
        let rest = |shifts| {
            let mut segments = shake(shifts).to_vec();
            segments.push((0, 41, Segment { window: 100, ..ack(1) }));
            segments.push((0, 42, Segment { window: 0, ..ack(1) }));
            forward(&segments).windows
        };
        let scaled = rest([Some(3), Some(0)]);
        assert_eq!((scaled.max, scaled.min, scaled.count, scaled.zeros), (800, 800, 2, 1));
        let plain = rest([Some(3), None]);
        assert_eq!((plain.max, plain.min, plain.count, plain.scaled), (5000, 100, 3, false));
    }

    #[test]
    fn a_window_probe_is_data_that_is_sent_into_a_closed_window() {
        let found = forward(&[
            (0, 0, data(1, 100)),
            (1, 1, Segment { window: 50, ..ack(1) }),
            (1, 2, Segment { window: 0, ..ack(101) }),
            (0, 300, data(101, 1)),
            (0, 900, data(101, 1)),
            (1, 950, Segment { window: 500, ..ack(101) }),
            (0, 951, data(101, 100)),
        ]);
        let counts = found.data;
        let probes = (counts.window_probes, counts.window_probe_bytes);
        assert_eq!((probes, counts.retransmissions), ((2, 2), 0));
        assert_eq!(found.repairs, None);
    }

    #[test]
    fn the_mean_flight_size_counts_octets_until_they_are_acknowledged() {
        let found = only(&[(0, 0, data(1, 100)), (1, 10, ack(101)), (0, 40, data(101, 100))]);
        let flight = found.direction(Side::From).unwrap().statistics.flight;
        assert_eq!((flight.max, flight.count), (100, 2));
        assert_eq!(flight.mean_over_time(found.first(), found.last()), Some(25.0));
    }

    #[test]
    fn the_first_sack_block_reports_a_duplicate_if_it_lies_below_the_acknowledgment() {
        let with = |blocks: &[(u32, u32)]| {
            let mut all = SackBlocks::default();
            for &(left, right) in blocks {
                all.add(SackBlock { left, right });
            }
            let mut segment = ack(500);
            segment.set_sack(&all);
            forward(&[(0, 0, segment)]).packets
        };
        for (blocks, dsacks) in
            [(&[(300, 400)][..], 1), (&[(700, 800), (600, 900)], 1), (&[(600, 700)], 0)]
        {
            assert_eq!((with(blocks).sack_acks, with(blocks).dsacks), (1, dsacks), "{blocks:?}");
        }
    }

    #[test]
    fn the_initial_window_ends_with_the_first_acknowledgment_of_data() {
        let mut segments = shake([None, None]).to_vec();
        segments.extend([(0, 41, data(1, 100)), (0, 42, data(101, 100)), (0, 43, data(1, 100))]);
        segments.extend([(1, 80, ack(101)), (0, 81, data(201, 100))]);
        let data = forward(&segments).data;
        assert_eq!((data.initial_window_bytes, data.initial_window_packets), (200, 2));
    }

    /// The segments of a closed connection. One of them was retransmitted.
    fn closed() -> Vec<(usize, u64, Segment)> {
        let fin = |segment| Segment { flags: FIN_ACK, ..segment };
        let mut segments = shake([Some(1), Some(2)]).to_vec();
        segments.extend([
            (0, 41, data(1, 100)),
            (0, 45, data(1, 100)),
            (1, 80, ack(101)),
            (0, 90, fin(data(101, 0))),
            (1, 130, fin(ack(102))),
            (0, 131, Segment { ack: 2, ..data(102, 0) }),
        ]);
        segments
    }

    /// Eight packets of another connection, after three seconds. When the explainer takes them, it
    /// also packs the connection of [`closed`].
    fn others() -> Vec<u8> {
        let packet = |n: u32| (0, 3000 + u64::from(n), data(1 + 100 * n, 100));
        file_between(["10.0.0.9:1", "10.0.0.2:80"], &[0, 1, 2, 3, 4, 5, 6, 7].map(packet))
    }

    /// A closed connection is packed into octets after a second, and unpacked for a late packet.
    #[test]
    fn statistics_of_a_packed_connection_are_unpacked_unchanged() {
        let first = file_of(&closed());
        let late = Segment { ack: 2, ..data(102, 0) };
        // Returns the statistics as text, without times. Two late packets come at the millisecond
        // `late_ms`: before the connection is packed, or after that.
        let text = |late_ms| {
            let (first, others) = (first.clone(), others());
            let last = file_of(&[(0, late_ms, late), (0, late_ms, late)]);
            let files = if late_ms < 3000 { [first, last, others] } else { [first, others, last] };
            let mut explainer = Explainer::default();
            files.iter().for_each(|file| take_all(&mut explainer, file));
            let explanation = explainer.finish();
            let connection = explanation.connections.at(0);
            let text = format!(
                "{:?}",
                connection.directions.map(|direction| direction.unwrap().statistics)
            );
            text.split("times:").next().unwrap().to_owned()
        };
        assert_eq!(text(131), text(5000));
    }

    /// The connection of [`closed`]. The explainer packed it after a second, and then it got the
    /// packets `late`.
    fn rested(late: &[(usize, u64, Segment)]) -> EndedConnection {
        let mut explainer = Explainer::default();
        let files = [file_of(&closed()), others(), file_of(late)];
        files.iter().for_each(|file| take_all(&mut explainer, file));
        explainer.finish().connections.at(0)
    }

    /// After the connection was packed, a FIN comes again. The habits are the observed behaviour of
    /// sender, receiver and path.
    #[test]
    fn a_packed_connection_keeps_its_habits_after_a_late_packet() {
        let habits = |late: &[(usize, u64, Segment)]| {
            let connection = rested(late);
            let direction = connection.direction(Side::From).unwrap();
            (direction.habits.clone().unwrap(), direction.retransmissions.len())
        };
        let (before, one) = habits(&[]);
        let (after, two) = habits(&[(0, 5000, Segment { ack: 2, flags: FIN_ACK, ..data(101, 0) })]);
        assert_eq!((one, two), (1, 2));
        assert!(before.acks.acks > 0 && before.far.is_some());
        assert_eq!((before.acks, before.near), (after.acks, after.near));
        assert_eq!((before.far, before.vantage), (after.far, after.vantage));
    }

    /// The FIN was sent at 90 ms, and was acknowledged before the connection was packed.
    #[test]
    fn a_packed_connection_knows_when_its_last_segment_was_sent() {
        let connection = rested(&[(0, 5000, Segment { ack: 2, flags: FIN_ACK, ..data(101, 0) })]);
        let direction = connection.direction(Side::From).unwrap();
        let waited = direction.settled_waits().last().unwrap().0.waited;
        let gap = direction.retransmissions.last().unwrap().gap;
        assert_eq!((gap, waited), (Duration::from_millis(4910), gap));
    }

    /// If packets are cut after 68 octets, the timestamp of a SYN is cut off, but the timestamps of
    /// data are not. The ticks of the sender's clock count from the first captured timestamp.
    #[test]
    fn a_timestamp_clock_is_measured_from_the_first_captured_timestamp() {
        let at = |n: u32| 100 + 10 * u64::from(n);
        let stamped = |seq: u32, ms: u64| {
            let mut segment = data(seq, 10);
            segment.set_timestamps(Timestamps { val: 5000 + ms as u32, ecr: 1 });
            segment
        };
        let mut segments = shake([None, None]).to_vec();
        segments.extend((0..60).map(|n| (0, at(n), stamped(1 + 10 * n, at(n)))));
        segments.push((0, 2000, stamped(1, 2000)));
        let connection = explained(&segments).connections.at(0);
        let habits = connection.direction(Side::From).unwrap().habits.clone().unwrap();
        let clock = habits.stamps.unwrap();
        assert_eq!((clock.step, clock.ticks), (Duration::from_millis(1), 1900));
    }

    /// After the connection was packed, a late ACK comes. The connection waited for an application
    /// until then.
    #[test]
    fn a_packed_connection_keeps_its_waits_after_a_late_packet() {
        let spent = |late: &[(usize, u64, Segment)]| {
            let spent = rested(late).spent;
            WaitingFor::ALL.map(|what| spent.of(what))
        };
        let before = spent(&[]);
        let after = spent(&[(0, 5000, Segment { ack: 2, ..data(102, 0) })]);
        let [handshake, application, ..] = before;
        assert!(!handshake.is_zero());
        assert!(before.iter().filter(|span| !span.is_zero()).count() > 1, "{before:?}");
        assert!(after[1] > application + Duration::from_secs(4), "{after:?}");
        for (what, name) in WaitingFor::NAMES.into_iter().enumerate().filter(|(n, _)| *n != 1) {
            assert_eq!(before[what], after[what], "{name}");
        }
    }

    #[test]
    fn each_csv_row_has_as_many_cells_as_the_heading() {
        for layout in ["netspurt", "tcptrace", "tcptrace-W"] {
            let layout: RowLayout = layout.parse().unwrap();
            let heading = String::from_utf8(layout.heading(false).unwrap()).unwrap();
            let mut reader = Explainer::default();
            let file = file_of(&[(0, 0, data(1, 9)), (1, 9, ack(10))]);
            take_all(&mut reader, &file);
            let rows = String::from_utf8(reader.rows(layout, true, None).unwrap()).unwrap();
            let cells = |line: &str| line.split(',').count();
            let columns = cells(heading.lines().next().unwrap());
            assert!(rows.lines().count() > 0);
            assert!(rows.lines().all(|row| cells(row) == columns), "{layout:?}");
            if layout == RowLayout::Tcptrace(crate::explain::Owin::Without) {
                assert_eq!(columns, 140);
            }
        }
    }

    #[test]
    fn one_value_has_a_mean_but_no_standard_deviation() {
        let mut spread = crate::explain::Spread::default();
        spread.add(Duration::from_millis(5));
        assert_eq!((spread.deviation_ns(), spread.mean_ns()), (None, Some(5e6)));
    }
}
