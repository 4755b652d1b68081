//! Tests of reading pcap and pcapng files.

use std::io;

use proptest::prelude::*;

use super::buffer::ROOM;
use super::*;
use crate::wire::PcapngWriter;

/// The kind of block that describes an interface.
const INTERFACE: u32 = 1;

/// The time of the first packet in most files, in nanoseconds since 1970.
const AT: i64 = 1_700_000_000_123_456_000;

/// The lowest `octets` octets of `value`, with the highest octet first if `big` is true.
fn number(value: u32, octets: usize, big: bool) -> Vec<u8> {
    let all = value.to_be_bytes();
    let mut bytes = all[4 - octets..].to_vec();
    if !big {
        bytes.reverse();
    }
    bytes
}

/// Makes a pcap file of raw IP packets, which are one microsecond apart.
fn pcap(big: bool, nanoseconds: bool, packets: &[&[u8]]) -> Vec<u8> {
    let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file: Vec<u8> = Vec::new();
    for (value, octets) in [(magic, 4), (2, 2), (4, 2), (0, 4), (0, 4), (65_535, 4), (101, 4)] {
        file.extend(number(value, octets, big));
    }
    for (n, packet) in (0..).zip(packets) {
        let below = if nanoseconds { 123_456_000 + 1000 * n } else { 123_456 + n };
        let length = u32::try_from(packet.len()).unwrap();
        for value in [1_700_000_000, below, length, length + 9] {
            file.extend(number(value, 4, big));
        }
        file.extend_from_slice(packet);
    }
    file
}

/// Makes a block of a pcapng file.
fn block(kind: u32, body: &[u8], big: bool) -> Vec<u8> {
    let length = number(u32::try_from(body.len() + AROUND).unwrap(), 4, big);
    [&number(kind, 4, big), &length, body, &length].concat()
}

/// Makes a pcapng file with the same packets as [`pcap`]. Its timestamps count `rate` units per
/// second. The option `if_tsresol`, which gives this rate, has the value `resolution`. The option
/// `if_tsoffset` adds 1,000,000,000 s to all timestamps.
fn pcapng(big: bool, resolution: u8, rate: u64, packets: &[&[u8]]) -> Vec<u8> {
    let n = |value, octets| number(value, octets, big);
    let order = [n(0x1a2b_3c4d, 4), n(1, 2), n(0, 2), n(u32::MAX, 4), n(u32::MAX, 4)].concat();
    let offset = if big { [n(0, 4), n(1_000_000_000, 4)] } else { [n(1_000_000_000, 4), n(0, 4)] };
    let options = [
        [n(9, 2), n(1, 2), vec![resolution, 0, 0, 0]].concat(),
        [n(14, 2), n(8, 2), offset.concat()].concat(),
        n(0, 4),
    ];
    let interface = [n(101, 2), n(0, 2), n(0, 4), options.concat()].concat();
    let mut file = block(0x0a0d_0d0a, &order, big);
    file.extend(block(INTERFACE, &interface, big));
    // A block with names of addresses is skipped, like any other unknown block.
    file.extend(block(4, &[7; 40], big));
    for (count, packet) in (0..).zip(packets) {
        let ns = u128::from(700_000_000_123_456_000_u64 + 1000 * count);
        let stamp = u64::try_from(ns * u128::from(rate) / 1_000_000_000).unwrap();
        let halves = [stamp >> 32, stamp & 0xffff_ffff].map(|half| u32::try_from(half).unwrap());
        let length = n(u32::try_from(packet.len()).unwrap(), 4);
        let padding = vec![0; packet.len().next_multiple_of(4) - packet.len()];
        let parts = [n(0, 4), n(halves[0], 4), n(halves[1], 4), length.clone(), length];
        file.extend(block(6, &[parts.concat(), packet.to_vec(), padding].concat(), big));
    }
    file
}

/// Returns the packets that a reader finds, and the error that ended the reading.
fn all(source: impl Read) -> (Vec<(i64, Vec<u8>)>, Option<CaptureFault>) {
    let mut found = Vec::new();
    let mut reader = match CaptureReader::new(source) {
        Ok(reader) => reader,
        Err(fault) => return (found, Some(fault)),
    };
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => found.push((packet.unix_ns, packet.bytes.to_vec())),
            Ok(None) => return (found, None),
            Err(fault) => {
                assert!(
                    reader.next_packet().unwrap().is_none(),
                    "after an error no more packets are read"
                );
                return (found, Some(fault));
            }
        }
        assert!(reader.buffer.octets.len() <= 2 * MOST + ROOM);
    }
}

/// A source that returns a few octets at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(self.1);
        self.0.read(&mut out[..most])
    }
}

#[test]
fn packets_are_the_same_in_every_format_and_byte_order() {
    let packets = [&[0x45, 1, 2][..], &[], &[0x60; 2000]];
    let expected: Vec<_> =
        (0..).zip(packets).map(|(n, packet)| (AT + 1000 * n, packet.to_vec())).collect();
    for big in [false, true] {
        for file in [
            pcap(big, false, &packets),
            pcap(big, true, &packets),
            pcapng(big, 9, 1_000_000_000, &packets),
            pcapng(big, 6, 1_000_000, &packets),
            pcapng(big, 7, 10_000_000, &packets),
        ] {
            assert!(is_capture(&file));
            let (found, fault) = all(&file[..]);
            assert!(fault.is_none(), "{fault:?}");
            assert_eq!(found, expected);
            assert_eq!(all(Trickle(&file, 7)).0, expected);
        }
        // A microsecond is not a whole number of units of 2⁻³⁰ s.
        let (found, _) = all(&pcapng(big, 0x80 | 30, 1 << 30, &packets)[..]);
        assert!(found.iter().zip(&expected).all(|(a, b)| b.0 - a.0 <= 1 && a.1 == b.1));
    }
}

#[test]
fn packets_before_a_cut_are_read_wherever_the_cut_is() {
    let packets = [&[0x45, 1, 2, 3][..], &[0x45; 20]];
    let files = [
        (pcap(false, false, &packets), vec![24, 44, 80]),
        (pcapng(true, 9, 1_000_000_000, &packets), vec![28, 72, 124, 160, 212]),
    ];
    for (file, boundaries) in files {
        for end in 4..=file.len() {
            let (found, fault) = all(&file[..end]);
            assert_eq!(fault.is_none(), boundaries.contains(&end), "{end}: {fault:?}");
            assert!(fault.is_none_or(|fault| matches!(fault.what, CaptureTrouble::Cut(_))));
            let last = [&boundaries[boundaries.len() - 2], boundaries.last().unwrap()];
            assert_eq!(found.len(), last.iter().filter(|boundary| **boundary <= &end).count());
        }
        assert!(matches!(all(&file[..3]).1.unwrap().what, CaptureTrouble::Unknown));
        assert!(matches!(all(&file[..0]).1.unwrap().what, CaptureTrouble::Empty));
    }
}

/// Blocks that are skipped may be longer than the buffer.
#[test]
fn a_long_block_of_another_kind_is_skipped() {
    let mut file = pcapng(true, 9, 1_000_000_000, &[]);
    file.extend(block(10, &vec![7; 3 * MOST], true));
    let length = file.len();
    file.extend(block(4, &[7; 40], true));
    assert!(all(&file[..]).1.is_none());
    assert!(matches!(all(&file[..length - 1]).1.unwrap().what, CaptureTrouble::Cut("a block")));
}

#[test]
fn a_fault_is_reported_with_its_octet_and_its_packet() {
    let good = pcapng(false, 9, 1_000_000_000, &[&[0x45, 0, 0, 20], &[0x45, 0, 0, 20]]);
    let fault = |at: usize, octet: u8| {
        let mut bad = good.clone();
        bad[at] = octet;
        all(&bad[..]).1.unwrap().to_string()
    };
    let malformed = |why: &str, at: usize, packet: usize| {
        format!("malformed block: {why}, at octet {at}, before packet {packet}")
    };
    assert_eq!(fault(8, 9), malformed("its byte order is not recognised", 0, 1));
    assert_eq!(fault(4, 30), malformed("its length is below 12 or not a multiple of 4", 0, 1));
    assert_eq!(fault(12, 3), "version 3.0 of pcapng is not known, at octet 0, before packet 1");
    assert_eq!(fault(32, 52 + 4), malformed("its two lengths differ", 28, 1));
    // The lengths before and after a block must be equal, even if the block is skipped.
    assert_eq!(fault(28 + 44 + 48, 48), malformed("its two lengths differ", 28 + 44, 1));
    assert_eq!(fault(28 + 18, 200), malformed("an option extends beyond the block", 28, 1));
    assert_eq!(fault(28 + 20, 99), malformed("the unit of timestamps is too small", 28, 1));
    let packet = good.len() - 36;
    let missing = "the packet belongs to an interface that the section does not describe";
    assert_eq!(fault(packet + 8, 1), malformed(missing, packet, 2));
    assert_eq!(fault(packet + 20, 5), malformed("a packet is longer than its block", packet, 2));
    assert_eq!(fault(packet + 7, 1), malformed("it has more than 2 MiB", packet, 2));
    assert_eq!(all(&b"GET / HTTP/1.1"[..]).1.unwrap().to_string(), "neither pcap nor pcapng");
    let mut long = pcap(false, false, &[&[], &[]]);
    long[24 + 16 + 10] = 17;
    assert_eq!(
        all(&long[..]).1.unwrap().to_string(),
        "a packet has 1114112 captured octets, more than any packet can have, at octet 40, before \
         packet 2"
    );
    long[4] = 9;
    assert_eq!(
        all(&long[..]).1.unwrap().to_string(),
        "version 9.4 of pcap is not known, at octet 0, before packet 1"
    );
}

#[test]
fn a_long_file_of_short_packets_takes_bounded_memory() {
    let file = pcap(false, false, &[&[0x45; 1000]]);
    let (header, record) = file.split_at(24);
    let records = record.repeat(1000);
    let mut endless: Box<dyn Read> = Box::new(header);
    for _ in 0..40 {
        endless = Box::new(endless.chain(&records[..]));
    }
    let mut reader = CaptureReader::new(endless).unwrap();
    let mut count = 0;
    while reader.next_packet().unwrap().is_some() {
        count += 1;
    }
    assert_eq!((count, reader.packets()), (40_000, 40_000));
    assert_eq!((reader.buffer.octets.len(), reader.octets()), (ROOM, 24 + 40_640_000));
}

#[test]
fn packets_that_the_pcapng_writer_wrote_are_read_back() {
    let mut file = PcapngWriter::new(Vec::new(), "a", "netspurt").unwrap();
    file.packet(7, &[0x45, 9], Some("a comment")).unwrap();
    file.packet(1 << 62, &[0x60], None).unwrap();
    let (found, fault) = all(&file.finish().unwrap()[..]);
    assert!(fault.is_none());
    assert_eq!(found, [(7, vec![0x45, 9]), (1 << 62, vec![0x60])]);
}

#[test]
fn a_packet_that_is_cut_keeps_its_length_on_the_wire() {
    let mut file = PcapngWriter::cutting(Vec::new(), "a", "netspurt", Some(4)).unwrap();
    file.packet(7, &[0x45; 9], None).unwrap();
    file.packet(8, &[0x45; 3], None).unwrap();
    let octets = file.finish().unwrap();
    let mut reader = CaptureReader::new(&octets[..]).unwrap();
    let first = reader.next_packet().unwrap().unwrap();
    assert_eq!((first.bytes, first.original_bytes), (&[0x45; 4][..], 9));
    let second = reader.next_packet().unwrap().unwrap();
    assert_eq!((second.bytes, second.original_bytes), (&[0x45; 3][..], 3));
}

/// The block that begins a section.
fn section(big: bool) -> Vec<u8> {
    let n = |value, octets| number(value, octets, big);
    let body = [n(0x1a2b_3c4d, 4), n(1, 2), n(0, 2), n(u32::MAX, 4), n(u32::MAX, 4)].concat();
    block(0x0a0d_0d0a, &body, big)
}

/// The description of an interface with timestamps in microseconds.
fn interface(link: u32, snap: u32, big: bool) -> Vec<u8> {
    let body = [number(link, 2, big), number(0, 2, big), number(snap, 4, big)].concat();
    block(INTERFACE, &body, big)
}

/// A block of `kind` whose body has these `words` and then `octets`.
fn words(kind: u32, words: &[u32], octets: &[u8], big: bool) -> Vec<u8> {
    let mut body: Vec<u8> = words.iter().flat_map(|word| number(*word, 4, big)).collect();
    body.extend_from_slice(octets);
    body.resize(body.len().next_multiple_of(4), 0);
    block(kind, &body, big)
}

/// The fields of a packet that the tests compare: its time, whether the packet has a time of its
/// own, its interface, its link type, its captured length and its original length.
type PacketFields = (i64, bool, u32, u16, usize, u32);

/// The fields of each packet in `file`.
fn fields(file: &[u8]) -> Vec<PacketFields> {
    let mut reader = CaptureReader::new(file).unwrap();
    let mut fields = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        let CapturedPacket { unix_ns, timed, interface, link, original_bytes, bytes } = packet;
        fields.push((unix_ns, timed, interface, link.0, bytes.len(), original_bytes));
    }
    fields
}

#[test]
fn each_packet_gets_the_link_type_of_its_interface() {
    for big in [false, true] {
        // The obsolete block has the number of the interface and the number of drops in one word.
        let halves = if big { 1 << 16 | 9 } else { 9 << 16 | 1 };
        let file = [
            section(big),
            interface(101, 0, big),
            interface(1, 3, big),
            words(3, &[5], &[7; 5], big),
            words(6, &[1, 0, 2_000_000, 4, 1500], &[7; 4], big),
            words(3, &[5], &[7; 5], big),
            words(2, &[halves, 0, 3_000_000, 6, 6], &[7; 6], big),
            // Another section, in the other byte order, counts its interfaces from 0 again.
            section(!big),
            interface(113, 3, !big),
            words(3, &[50], &[7; 3], !big),
        ];
        const SECOND: i64 = 1_000_000_000;
        assert_eq!(
            fields(&file.concat()),
            [
                (0, false, 0, 101, 5, 5),
                (2 * SECOND, true, 1, 1, 4, 1500),
                (2 * SECOND, false, 0, 101, 5, 5),
                (3 * SECOND, true, 1, 1, 6, 6),
                (3 * SECOND, false, 0, 113, 3, 50),
            ]
        );
    }
}

#[test]
fn a_packet_with_an_impossible_time_gets_the_time_of_the_previous_packet() {
    let file = [
        section(true),
        interface(101, 0, true),
        words(6, &[0, 0, 7, 1, 1], &[0x45], true),
        words(6, &[0, u32::MAX, 7, 1, 1], &[0x45], true),
    ];
    assert_eq!(fields(&file.concat()), [(7000, true, 0, 101, 1, 1), (7000, false, 0, 101, 1, 1)]);
}

/// Options 5 and 7 of the statistics contain the drops. A program may write the statistics of an
/// interface more than once, but only the last statistics count.
#[test]
fn drops_that_a_capture_reports_are_summed_over_its_interfaces_and_sections() {
    let statistics = |interface: u32, drops: [u32; 2]| {
        let option = |code: u32, value| [code << 16 | 8, 0, value];
        let options = [option(5, drops[0]), option(7, drops[1])].concat();
        words(5, &[&[interface, 0, 0], &options[..], &[0]].concat(), &[], true)
    };
    let one = [section(true), interface(1, 0, true), interface(1, 0, true)].concat();
    let parts = [
        one.clone(),
        statistics(0, [1, 2]),
        statistics(0, [10, 20]),
        statistics(1, [100, 200]),
        one.clone(),
        statistics(1, [1000, 2000]),
    ];
    let file = parts.concat();
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    assert!(reader.next_packet().unwrap().is_none());
    assert_eq!(reader.drops(), Some(CaptureDrops { interface: 1110, system: 2220 }));
    let mut reader = CaptureReader::new(&one[..]).unwrap();
    assert!(reader.next_packet().unwrap().is_none());
    assert_eq!(reader.drops(), None);
}

#[test]
fn old_versions_of_pcap_and_kuznetzovs_variant_are_read() {
    // Version 2.2 has the original length first. In version 2.3, the smaller length is the captured
    // length.
    for (minor, lengths) in [(4, [4, 60]), (2, [60, 4]), (3, [60, 4]), (3, [4, 60])] {
        for big in [false, true] {
            let n = |value, octets| number(value, octets, big);
            let head = [n(0xa1b2_c3d4, 4), n(2, 2), n(minor, 2), vec![0; 12], n(1, 4)].concat();
            let record = [n(1, 4), n(2, 4), n(lengths[0], 4), n(lengths[1], 4)].concat();
            let file = [head, record, vec![7; 4]].concat();
            assert_eq!(fields(&file), [(1_000_002_000, true, 0, 1, 4, 60)]);
        }
    }
    // In Kuznetzov's variant of pcap, an interface, a protocol and a kind follow the lengths.
    let n = |value, octets| number(value, octets, true);
    let head = [n(0xa1b2_cd34, 4), n(2, 2), n(4, 2), vec![0; 12], n(1, 4)].concat();
    let record = [n(1, 4), n(2, 4), n(4, 4), n(60, 4), vec![9; 8], vec![7; 4]].concat();
    let file = [head, record.clone(), record].concat();
    assert_eq!(fields(&file), [(1_000_002_000, true, 0, 1, 4, 60); 2]);
}

#[test]
fn the_upper_16_bits_of_a_link_type_are_ignored() {
    let mut file = pcap(false, false, &[&[0x45]]);
    file[23] = 0x14;
    assert_eq!(fields(&file)[0].3, 101);
}

#[test]
fn the_original_length_is_at_least_the_captured_length() {
    let mut file = pcap(false, false, &[&[0x45; 20]]);
    file[36] = 3;
    assert_eq!(fields(&file)[0].5, 20);
}

#[test]
fn the_length_of_a_captured_ip_packet_excludes_the_link_header() {
    let bytes = [&[0; 12][..], &[8, 0, 0x45, 0]].concat();
    let link = LinkType(1);
    let packet = CapturedPacket {
        unix_ns: 0,
        timed: true,
        link,
        interface: 0,
        original_bytes: 70_014,
        bytes: &bytes,
    };
    let ip = CapturedIp { bytes: &[0x45, 0], original_bytes: 70_000 };
    assert_eq!(packet.captured_ip(), Some(ip));
    assert_eq!(CapturedPacket { link: LinkType(147), ..packet }.captured_ip(), None);
}

#[test]
fn compressed_captures_are_read_up_to_where_they_are_cut_off() {
    let packets: Vec<Vec<u8>> =
        (0..200_u8).map(|n| (0..200).map(|at: u8| at.wrapping_mul(n)).collect()).collect();
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let file = pcap(false, false, &packets);
    let mut packed = Vec::new();
    let level = flate2::Compression::fast();
    flate2::read::GzEncoder::new(&file[..], level).read_to_end(&mut packed).unwrap();
    let read = |packed: &[u8]| {
        let mut reader = CaptureReader::unpacking(packed).unwrap();
        loop {
            match reader.next_packet() {
                Ok(Some(_)) => {}
                Ok(None) => return (reader.packets(), None),
                Err(fault) => return (reader.packets(), Some(fault)),
            }
        }
    };
    assert!(read(&packed).1.is_none());
    assert_eq!(read(&packed).0, 200);
    let (count, fault) = read(&packed[..packed.len() - 20]);
    let fault = fault.unwrap();
    // The offset points to the packet that is not whole.
    assert_eq!((fault.packets, fault.offset), (count, 24 + 216 * count));
    assert!(fault.to_string().contains("cannot be read: gzip: "), "{fault}");
    assert!((1..200).contains(&count));
    assert!(CaptureReader::unpacking(&b"no capture"[..]).is_err());
}

proptest! {
    #[test]
    fn hostile_octets_cause_no_panic(
        big: bool, ng: bool, at in 0_usize..300, octets: [u8; 4], end in 0_usize..400
    ) {
        let packets = [&[0x45; 40][..], &[0x60; 44]];
        let mut file = if ng { pcapng(big, 9, 1_000_000_000, &packets) } else { pcap(big, true, &packets) };
        let place = at % (file.len() - 4);
        file[place..place + 4].copy_from_slice(&octets);
        file.truncate(end);
        prop_assert!(all(&file[..]).0.len() <= 20);
    }

    #[test]
    fn any_octets_after_a_magic_number_are_read_without_a_panic(
        bytes: Vec<u8>, magic in 0_usize..5
    ) {
        let magics: [&[u8]; 5] = [
            &[0xa1, 0xb2, 0xc3, 0xd4], &[0xd4, 0xc3, 0xb2, 0xa1], &[0xa1, 0xb2, 0x3c, 0x4d],
            &[0x0a, 0x0d, 0x0d, 0x0a], &[],
        ];
        all(&[magics[magic], &bytes].concat()[..]);
    }
}
