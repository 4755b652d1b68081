//! Makes captures of arbitrary segments and fuzzes the code that explains captures. The sequence
//! numbers of the segments are near each other and near 2^32, where they wrap to 0. So there are
//! retransmissions, holes, duplicates and wraps. Some packets are ICMP messages that report that a
//! segment was too big.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt::explain::{Explainer, RowLayout};
use netspurt::segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};
use netspurt::wire::{CaptureReader, Packet, PcapngWriter, encode};

fuzz_target!(|octets: &[u8]| {
    let file = capture(octets);
    let mut explainer = Explainer::default().with_transcript(None);
    let mut rows = Explainer::default();
    let mut reader = CaptureReader::new(&file[..]).expect("the file is well formed");
    while let Ok(Some(packet)) = reader.next_packet() {
        explainer.take(&packet);
        rows.take(&packet);
    }
    for layout in ["netspurt", "tcptrace-W"] {
        let layout: RowLayout = layout.parse().expect("a layout has this name");
        let _ = rows.rows(layout, true, None);
    }
    let found = explainer.finish();
    if let Some(transcript) = &found.transcript {
        transcript.tables(&found.connections, found.start);
    }
    let connections = found.connections.len();
    let tables = found.connections.into_tables();
    let spent =
        tables.iter().find(|table| table.name == "spent").expect("there is a table `spent`");
    assert_eq!(spent.rows(), connections);
});

/// Makes a capture. Each group of twelve octets becomes a packet.
fn capture(octets: &[u8]) -> Vec<u8> {
    let mut file =
        PcapngWriter::new(Vec::new(), "fuzz", "netspurt").expect("writing to memory cannot fail");
    let mut unix_ns = 1_000_000_000_000;
    let mut bytes = Vec::new();
    for chunk in octets.as_chunks::<12>().0 {
        let (wait, ports, segment) = packet(*chunk);
        unix_ns += wait;
        let ends = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
        let [a, b] = [(ends[0], 4000 + ports.1), (ends[1], 80)];
        let (from, to) = if ports.0 { (a, b) } else { (b, a) };
        let [source, destination] = [from, to].map(std::net::SocketAddr::from);
        bytes.clear();
        let ip_id = u16::from(chunk[11]);
        encode(&Packet { source, destination, ip_id, segment, payload: None }, &mut bytes);
        if chunk[1] & 64 != 0 {
            bytes = too_big(&bytes);
        }
        file.packet(unix_ns, &bytes, None).expect("writing to memory cannot fail");
    }
    file.finish().expect("writing to memory cannot fail")
}

/// Returns the ICMP message in which a router reports that the packet `dropped` was too big.
fn too_big(dropped: &[u8]) -> Vec<u8> {
    let ip_header = [0x45, 0, 0, 56, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 9];
    let icmp_header = [3, 4, 0, 0, 0, 0, 2, 64];
    [&ip_header, &dropped[12..16], &icmp_header[..], &dropped[..28]].concat()
}

/// Makes a packet from twelve octets. Returns three values. The first value is the number of
/// nanoseconds since the previous packet. The second value has two parts: whether the first host is
/// the sender, and the number of the connection. The third value is the segment.
fn packet(octets: [u8; 12]) -> (u64, (bool, u16), Segment) {
    let [wait, who, flags, seq, ack, len, window, left, right, val, ecr, _] = octets;
    let number = |octet: u8| (u32::MAX - 40_000).wrapping_add(u32::from(octet) * 500);
    let mut segment = Segment {
        seq: number(seq),
        ack: number(ack),
        len: u16::from(len) * 50 * u16::from(flags & 2 == 0),
        window: u16::from(window) << 4,
        flags: Flags(flags),
        ..Segment::default()
    };
    if who & 4 != 0 {
        segment.set_timestamps(Timestamps { val: val.into(), ecr: ecr.into() });
    }
    if segment.flags.has(Flags::SYN) {
        let window_scale = (who & 8 != 0).then_some(window);
        segment.set_syn_options(SynOptions { mss: Some(1460), window_scale, sack: who & 16 != 0 });
    } else if who & 32 != 0 {
        let mut blocks = SackBlocks::default();
        blocks.add(SackBlock { left: number(left), right: number(right) });
        segment.set_sack(&blocks);
    }
    segment.size_bytes = 60 + segment.len;
    ((1 << (wait % 40)) - 1, (who & 1 != 0, u16::from(who & 2)), segment)
}
