//! Tests of two things that are made from the segments that a node of a run sees: tables and
//! captures.

use proptest::prelude::*;

use super::*;
use crate::event::{Event, Way, What};
use crate::ids::{EndId, TransmissionId};
use crate::ip::fragments;
use crate::segment::{Cause, Ecn, Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};
use crate::units::Time;
use crate::wire::{Checks, Fault, decode, header_bytes};

const SMSS: u16 = 1000;
/// The two ends of the only flow. Segments to the listener come from the opener.
const OPENER: EndId = EndId::at(0);
const LISTENER: EndId = EndId::at(1);

/// The names of a run with two nodes and one flow.
fn names() -> Names {
    let flow = FlowProperties {
        from: 0,
        to: 1,
        smss: SMSS,
        echo_probes: false,
        answers: false,
        messages: [None; 2],
        ipv6: false,
        population: false,
    };
    Names::new(vec!["a".into(), "b".into()], Vec::new(), [("f".into(), flow)])
}

/// Makes the tables of a run in which node 0 sees `segments`, one in each microsecond.
fn record(segments: &[Segment]) -> Vec<Table> {
    let mut recorder = Recorder::new(names());
    for (frame, n) in segments.iter().copied().zip(1..) {
        let way = if frame.dest == LISTENER { Way::Out } else { Way::In };
        let what = What::Seen { node: 0, way, frame };
        recorder.take(&Event { at: Time::from_nanos(n * 1000), what });
    }
    recorder.finish(&[])
}

/// The table called `name`.
fn table<'a>(tables: &'a [Table], name: &str) -> &'a Table {
    tables.iter().find(|table| table.name == name).unwrap()
}

/// The values of a column of texts.
fn texts(table: &Table, column: &str) -> Vec<&'static str> {
    let Some(Data::Tag { codes, texts }) = table.column(column) else {
        panic!("the column has no tags")
    };
    codes.iter().map(|code| texts[usize::from(*code)]).collect()
}

/// The values of a column of numbers.
fn longs(table: &Table, column: &str) -> Vec<i64> {
    let Some(Data::I64(values)) = table.column(column) else { panic!("the column has no numbers") };
    values.clone()
}

/// The values of a column of numbers, some of which may be absent.
fn optional(table: &Table, column: &str) -> Vec<Option<i64>> {
    let Some(Data::OptionalI64(values)) = table.column(column) else {
        panic!("the column has no optional numbers")
    };
    values.iter().collect()
}

/// A segment without data to the end `dest`.
fn sent(dest: EndId, flags: Flags, seq: u32, ack: u32) -> Segment {
    Segment {
        dest,
        flags,
        seq,
        ack,
        window: 500,
        id: TransmissionId::from_bits(7),
        ..Segment::default()
    }
}

/// A segment with `len` octets of data to the end `dest`.
fn data(dest: EndId, seq: u32, len: u16) -> Segment {
    Segment { len, ..sent(dest, Flags::ACK, seq, 1) }
}

/// An ACK from the listener to the opener.
fn ack(ack: u32) -> Segment {
    sent(OPENER, Flags::ACK, 1, ack)
}

/// The kinds of `segments` in the table `segments`.
fn kinds(segments: &[Segment]) -> Vec<&'static str> {
    texts(table(&record(segments), "segments"), "kind")
}

#[test]
fn a_connection_is_recorded_from_its_handshake_to_its_last_segment() {
    let syn = Segment { window: 65_535, ..sent(LISTENER, Flags::SYN, 0, 0) };
    let retransmitted = Segment { cause: Some(Cause::Syn).into(), ..syn };
    let seen = [
        syn,
        retransmitted,
        Segment { window: 65_535, ..sent(OPENER, Flags::SYN.with(Flags::ACK), 0, 1) },
        sent(LISTENER, Flags::ACK, 1, 1),
        data(LISTENER, 1, SMSS),
        ack(1001),
        Segment { flags: Flags::ACK.with(Flags::FIN), ..data(LISTENER, 1001, 500) },
        sent(OPENER, Flags::ACK.with(Flags::FIN), 1, 1502),
        sent(LISTENER, Flags::ACK, 1502, 2),
        sent(OPENER, Flags::RST, 2, 0),
    ];
    let tables = record(&seen);
    let segments = table(&tables, "segments");
    let expected = ["syn", "syn", "syn", "ack", "data", "ack", "data", "fin", "ack", "rst"];
    assert_eq!(texts(segments, "kind"), expected);
    // The sequence number of the FIN is not data, so the ACK 1502 still covers packet 2.
    assert_eq!(longs(segments, "packet"), [0, 0, 0, 0, 1, 1, 2, 2, 0, 0]);
    assert_eq!(longs(segments, "seq"), [0, 0, 0, 1, 1, 1, 1001, 1, 1502, 2]);
    assert_eq!(texts(segments, "cause")[..3], ["", "syn", ""]);
    let Some(Data::U16(flags)) = segments.column("flags") else {
        panic!("the column has no flags")
    };
    assert_eq!(flags[..], [2, 2, 18, 16, 16, 16, 17, 17, 16, 4]);
    assert_eq!(table(&tables, "syns").rows(), 3);
}

#[test]
fn an_ack_of_a_fin_on_a_full_packet_covers_no_further_packet() {
    let fin = Segment { flags: Flags::ACK.with(Flags::FIN), ..data(LISTENER, 1, SMSS) };
    let tables = record(&[fin, ack(1002)]);
    assert_eq!(longs(table(&tables, "segments"), "packet"), [1, 1]);
}

#[test]
fn a_duplicate_ack_repeats_the_number_and_the_window_and_carries_no_data() {
    // RFC 5681 §2: a duplicate ACK has no data, its SYN and FIN bits are off, and it repeats the
    // largest acknowledgment number and the window.
    let update = Segment { window: 501, ..ack(2001) };
    let fin = sent(OPENER, Flags::ACK.with(Flags::FIN), 1, 2001);
    let seen = [ack(2001), ack(2001), update, update, ack(1001), data(OPENER, 1, 10), fin];
    let expected = ["ack", "dupack", "ack", "dupack", "old-ack", "data", "fin"];
    assert_eq!(kinds(&seen), expected);
    // A sender of ns-2 has no handshake by default. Without a handshake, data starts at 1, so an
    // ACK of 1 covers no data.
    assert_eq!(kinds(&[ack(1), ack(1)]), ["dupack", "dupack"]);
    // An ACK of 1 after a SYN-ACK covers no data. The window of a SYN-ACK is not scaled, so the
    // recorder does not compare this window with later ones.
    let syn = Segment { window: 9, ..sent(OPENER, Flags::SYN.with(Flags::ACK), 0, 1) };
    assert_eq!(kinds(&[syn, ack(1)]), ["syn", "dupack"]);
}

#[test]
fn the_two_directions_of_a_flow_are_counted_separately() {
    let seen = [
        data(LISTENER, 1, SMSS),
        ack(1001),
        data(OPENER, 1, 10),
        sent(LISTENER, Flags::ACK, 1001, 11),
        ack(1001),
    ];
    assert_eq!(kinds(&seen), ["data", "ack", "data", "ack", "dupack"]);
}

#[test]
fn an_ack_repeated_after_a_late_syn_is_still_a_duplicate() {
    let syn = sent(LISTENER, Flags::SYN, 0, 0);
    let third = sent(LISTENER, Flags::ACK, 1, 1);
    assert_eq!(kinds(&[syn, third, syn, third]), ["syn", "ack", "syn", "dupack"]);
}

#[test]
fn sequence_numbers_in_the_table_do_not_wrap_at_four_gigabytes() {
    let seen = [1, 0x7000_0000, 0xe000_0000, 0x4000_0000].map(|seq| data(LISTENER, seq, SMSS));
    let tables = record(&seen);
    let expected = [1, 0x7000_0000, 0xe000_0000, 0x1_4000_0000];
    assert_eq!(longs(table(&tables, "segments"), "seq"), expected);
}

#[test]
fn timestamps_and_ecn_and_the_options_of_syns_have_columns() {
    let mut syn = sent(LISTENER, Flags::SYN.with(Flags::ECE).with(Flags::CWR), 0, 0);
    syn.set_syn_options(SynOptions { mss: Some(1460), window_scale: None, sack: true });
    let mut marked = Segment { ecn: Ecn::CE, ..data(LISTENER, 1, SMSS) };
    marked.set_timestamps(Timestamps { val: u32::MAX, ecr: 5 });
    let tables = record(&[syn, marked]);
    let segments = table(&tables, "segments");
    assert_eq!(texts(segments, "ecn"), ["not-ect", "ce"]);
    assert_eq!(optional(segments, "ts_val"), [None, Some(u32::MAX.into())]);
    assert_eq!(optional(segments, "ts_ecr"), [None, Some(5)]);
    let syns = table(&tables, "syns");
    assert_eq!((longs(syns, "t_ns"), syns.rows()), (vec![1000], 1));
    assert_eq!(optional(syns, "mss"), [Some(1460)]);
    assert_eq!(optional(syns, "window_scale"), [None]);
    assert_eq!(syns.column("sack_permitted"), Some(&Data::Bool(vec![true])));
}

#[test]
fn a_column_without_values_stores_only_its_number_of_rows() {
    let [two, one] = [2, 1].map(|count| record(&vec![ack(1); count]));
    assert_eq!(table(&two, "segments").column("ts_val"), Some(&Data::MissingI64(2)));
    assert!(write_table(table(&two, "segments"), &mut Vec::new()).is_ok());
    let column = |count| [Table::new("t", vec![Column::new("c", Data::MissingI64(count))])];
    assert_ne!(digest(&column(2)), digest(&column(1)));
    assert_ne!(digest(&two), digest(&one));
}

/// Returns the packets in a pcapng file that this crate wrote.
fn packets(file: &[u8]) -> Vec<&[u8]> {
    let word = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap()) as usize;
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        if word(at) == 6 {
            found.push(&file[at + 28..][..word(at + 20)]);
        }
        at += word(at + 4);
    }
    found
}

/// Random segments.
fn segments() -> impl Strategy<Value = Segment> {
    let head = (any::<bool>(), any::<u8>(), 0..4_u8, any::<u16>(), 0..2000_u16, 1..100_000_u32);
    let stamps = proptest::option::of((any::<u32>(), any::<u32>()));
    let syn =
        (proptest::option::of(any::<u16>()), proptest::option::of(any::<u8>()), any::<bool>());
    (head, stamps, syn, 0..=3_u32).prop_map(|(head, stamps, (mss, window_scale, sack), count)| {
        let (forward, flags, ecn, window, len, seq) = head;
        let (dest, flags) = (if forward { LISTENER } else { OPENER }, Flags(flags));
        let mut frame = Segment { len, window, ..sent(dest, flags, seq, seq / 2) };
        frame.id = TransmissionId::new(frame.source(), 1);
        frame.ecn = Ecn::from_bits(ecn);
        if let Some((val, ecr)) = stamps {
            frame.set_timestamps(Timestamps { val, ecr });
        }
        if flags.has(Flags::SYN) {
            frame.set_syn_options(SynOptions { mss, window_scale, sack });
        } else {
            let mut blocks = SackBlocks::default();
            (1..=count).for_each(|n| blocks.add(SackBlock { left: seq + n, right: seq + n * 9 }));
            frame.set_sack(&blocks);
        }
        frame.size_bytes = header_bytes(&frame) + len;
        frame
    })
}

/// Writes the capture of node 0 of a simulation from the tables.
fn capture(tables: &[Table], names: &Names) -> Vec<u8> {
    capture_of(tables, names, false)
}

/// Writes the capture of node 0 from the tables.
fn capture_of(tables: &[Table], names: &Names, real_hosts: bool) -> Vec<u8> {
    let [segments, sack_blocks, syns] =
        ["segments", "sack_blocks", "syns"].map(|name| table(tables, name));
    let seen_tables = SeenTables { segments, sack_blocks, syns, real_hosts };
    write_capture(seen_tables, names, 0, None, Vec::new()).unwrap()
}

/// Reassembles a datagram: the header of its first packet, and the payloads of all packets.
fn joined(packets: &[&[u8]]) -> Vec<u8> {
    let mut whole = packets[0].to_vec();
    for (place, packet) in packets.iter().enumerate() {
        let word = u16::from_be_bytes([packet[6], packet[7]]);
        assert_eq!(
            word & 0x2000 != 0,
            place + 1 < packets.len(),
            "all fragments except the last have the more-fragments flag"
        );
        let at = 20 + usize::from(word & 0x1fff) * 8;
        whole.truncate(at);
        assert_eq!(whole.len(), at, "a fragment begins where the one before it ends");
        whole.extend_from_slice(&packet[20..]);
    }
    let length = u16::try_from(whole.len()).unwrap();
    whole[2..4].copy_from_slice(&length.to_be_bytes());
    whole[6..8].fill(0);
    whole
}

#[test]
fn ip_identifications_are_consecutive_for_packets_of_simulated_and_of_real_hosts() {
    let ids_of = |ids: &[TransmissionId], real_hosts| {
        let segment = |id: &TransmissionId| Segment { id: *id, ..sent(LISTENER, Flags::ACK, 1, 1) };
        let tables = record(&ids.iter().map(segment).collect::<Vec<_>>());
        let file = capture_of(&tables, &names(), real_hosts);
        let id_of = |packet: &[u8]| u16::from_be_bytes([packet[4], packet[5]]);
        packets(&file).into_iter().map(id_of).collect::<Vec<_>>()
    };
    let simulated = [300, 301, 65_537].map(|count| TransmissionId::new(OPENER, count));
    assert_eq!(ids_of(&simulated, false), [300, 301, 1]);
    let [packet, next, later] =
        [300, 301, 65_537].map(|number| TransmissionId::of_packet(OPENER, number));
    // A copy has the identification of its packet.
    assert_eq!(ids_of(&[packet, packet.copy(1), next, later], true), [300, 300, 301, 1]);
}

#[test]
fn echo_probes_are_requests_and_replies_in_tables_and_captures() {
    let ask = |dest: EndId, number: u32| {
        let id = TransmissionId::new(dest.peer(), number.into());
        let mut frame = Segment { id, dest, seq: number, len: 100, ..Segment::default() };
        frame.size_bytes = 128;
        frame.set_echo();
        frame
    };
    let parts: Vec<Segment> = fragments(ask(OPENER, 2), 68).collect();
    let seen = [&[ask(LISTENER, 1), ask(OPENER, 1), ask(LISTENER, 2)], &parts[..]].concat();
    let tables = record(&seen);
    let segments = table(&tables, "segments");
    let kinds = ["request", "reply", "request", "reply", "fragment", "fragment"];
    assert_eq!(texts(segments, "kind"), kinds);
    assert_eq!(longs(segments, "packet"), [1, 1, 2, 2, 2, 2]);
    let offsets = [None, None, None, Some(0), Some(48), Some(96)];
    assert_eq!(optional(segments, "offset_bytes"), offsets);
    let flow = FlowProperties { echo_probes: true, ..names().flows[0] };
    let names = Names::new(names().nodes.to_vec(), Vec::new(), [("f".into(), flow)]);
    let file = capture(&tables, &names);
    let packets = packets(&file);
    let head = |packet: &[u8]| (packet.len(), packet[9], packet[20], packet[26..28].to_vec());
    assert_eq!(head(packets[0]), (128, 1, 8, vec![0, 1]));
    assert_eq!(head(packets[1]), (128, 1, 0, vec![0, 1]));
    let sizes: Vec<usize> = packets[3..].iter().map(|packet| packet.len()).collect();
    assert_eq!(sizes, [68, 68, 32]);
    // The type, the code and the identifier are 0 and the sequence number is 2, so the checksum is
    // the ones' complement of 2.
    let whole = joined(&packets[3..]);
    assert_eq!(whole[20..28], [0, 0, 0xff, 0xfd, 0, 0, 0, 2]);
    assert_eq!(whole[28..], [0; 100]);
}

proptest! {
    #[test]
    fn fragments_in_a_capture_reassemble_to_the_segment(frame in segments(), mtu in 68..600_u32) {
        let seen: Vec<Segment> = fragments(frame, mtu).collect();
        let file = capture(&record(&seen), &names());
        let packets = packets(&file);
        prop_assert_eq!(packets.len(), seen.len());
        for (packet, part) in packets.iter().zip(&seen) {
            prop_assert_eq!(packet.len(), usize::from(part.size_bytes));
            let decoded = decode(packet, Checks::Whole);
            let fault = decoded.err().map(|error| error.what);
            // The checksum of the IP header is correct, so the only possible fault is that the
            // packet is a fragment.
            prop_assert_eq!(fault.is_some(), seen.len() > 1);
            prop_assert!(fault.is_none_or(|fault| fault == Fault::Fragment));
        }
        let whole = joined(&packets);
        let read = decode(&whole, Checks::Captured).unwrap();
        prop_assert_eq!(read.segment, Segment { id: TransmissionId::default(), dest: EndId::default(), ..frame });
        prop_assert!(!String::from_utf8_lossy(&file).contains("The links counted"));
    }

    #[test]
    fn a_capture_holds_the_segments_that_were_seen(
        seen in proptest::collection::vec(segments(), 0..20)
    ) {
        let tables = record(&seen);
        let file = capture(&tables, &names());
        let packets = packets(&file);
        prop_assert_eq!(packets.len(), seen.len());
        for (packet, frame) in packets.into_iter().zip(&seen) {
            let read = decode(packet, Checks::Whole).unwrap();
            let on_the_wire = Segment { id: TransmissionId::default(), dest: EndId::default(), ..*frame };
            prop_assert_eq!(read.segment, on_the_wire);
            prop_assert_eq!(read.source.port() == 5001, frame.dest == OPENER);
        }
        // Each packet in the file has the size that the links counted, so no packet has a comment
        // with another size.
        prop_assert!(!String::from_utf8_lossy(&file).contains("The links counted"));
        let [segments, sack_blocks, syns] =
            ["segments", "sack_blocks", "syns"].map(|name| table(&tables, name));
        let seen_tables = SeenTables { segments, sack_blocks, syns, real_hosts: false };
        let other = write_capture(seen_tables, &names(), 1, None, Vec::new()).unwrap();
        prop_assert_eq!(self::packets(&other).len(), 0);
    }
}

/// For each of `values`, whether it exists.
fn existence(values: &[Option<i64>]) -> Existence {
    let mut exist = Existence::default();
    values.iter().for_each(|value| exist.push(value.is_some()));
    exist
}

/// A column of each narrow kind (which takes little memory), all made from `values`.
fn narrow_columns(values: &[Option<i64>]) -> Vec<NarrowColumn> {
    let filled = || values.iter().map(|value| value.unwrap_or_default().cast_unsigned());
    let existing = || values.iter().flatten();
    vec![
        NarrowColumn::U64(filled().collect()),
        NarrowColumn::U32(filled().map(|number| number & u64::from(u32::MAX)).collect()),
        NarrowColumn::I64(filled().collect()),
        NarrowColumn::OptionalI64(
            existing().map(|number| number.cast_unsigned()).collect(),
            existence(values),
        ),
        NarrowColumn::OptionalF64(
            existing().map(|number| *number as f64).collect(),
            existence(values),
        ),
    ]
}

/// A table of these columns, with the names c0, c1 and so on.
fn numbered(columns: impl IntoIterator<Item = Data>) -> Table {
    let named = (0..).zip(columns).map(|(n, data)| Column::new(format!("c{n}"), data));
    Table::new("t", named.collect())
}

/// The Parquet file of a table.
fn file_of(table: &Table) -> Vec<u8> {
    let mut file = Vec::new();
    write_table(table, &mut file).unwrap();
    file
}

proptest! {
    /// The numbers have one to eight octets, and some are negative or absent.
    #[test]
    fn a_narrow_column_has_the_file_the_digest_and_the_rows_of_the_wide_column(
        rows in prop::collection::vec((any::<i64>(), 0_u32..64, prop::bool::weighted(0.8)), 1..90),
        picked in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let values: Vec<Option<i64>> =
            rows.iter().map(|(number, shift, there)| there.then_some(number >> shift)).collect();
        let narrow = narrow_columns(&values);
        prop_assert_eq!(narrow[3].wide(), Data::OptionalI64(values.clone().into()));
        let picked: Vec<usize> = picked.iter().map(|one| one.index(values.len())).collect();
        let wide = numbered(narrow.iter().map(NarrowColumn::wide));
        let narrow = numbered(narrow.into_iter().map(Data::Narrow));
        prop_assert_eq!(narrow.rows(), values.len());
        prop_assert_eq!(digest([&narrow]), digest([&wide]));
        prop_assert_eq!(file_of(&narrow), file_of(&wide));
        let [narrow, wide] = [narrow, wide].map(|table| table.with_rows(&picked, |_| true));
        prop_assert_eq!(narrow.rows(), picked.len());
        prop_assert_eq!(digest([&narrow]), digest([&wide]));
    }
}

#[test]
fn each_narrow_number_takes_as_many_octets_as_the_largest_one() {
    let octets = |largest: u64| match NarrowNumbers::from_iter([0, largest, 0]).stored() {
        StoredNumbers::Zeros { count, .. } => (0, *count),
        StoredNumbers::One(all) => (1, all.len()),
        StoredNumbers::Two(all) => (2, all.len()),
        StoredNumbers::Four(all) => (4, all.len()),
        StoredNumbers::Eight(all) => (8, all.len()),
    };
    let limits = [0, 1, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, u64::MAX];
    assert_eq!(limits.map(octets), [0, 1, 1, 2, 2, 4, 4, 8, 8].map(|octets| (octets, 3)));
}
