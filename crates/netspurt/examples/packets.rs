//! Writes random segments as packets to a pcapng file that other programs can read: `packets COUNT
//! SEED > FILE`.
//!
//! The comment of each packet lists the values that a reader must find in the packet.

use std::fmt::Write as _;
use std::io::{BufWriter, stdout};

use netspurt::rng::Stream;
use netspurt::segment::{Ecn, Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};
use netspurt::wire::{Packet, PcapngWriter, encode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let mut number = || {
        words
            .next()
            .ok_or("usage: packets COUNT SEED > FILE")?
            .parse::<u64>()
            .map_err(Box::<dyn std::error::Error>::from)
    };
    let (count, seed) = (number()?, number()?);
    let mut random = Stream::named(seed, "packets");
    let mut file = PcapngWriter::new(BufWriter::new(stdout().lock()), "random", "netspurt")?;
    let mut bytes = Vec::new();
    for n in 0..count {
        let segment = segment(&mut random);
        let (source, destination) = if random.chance(0.5) {
            (format!("10.0.0.1:{}", 10_000 + n), "10.0.0.2:5001")
        } else {
            (format!("[2001:db8::1]:{}", 10_000 + n), "[2001:db8::2]:5001")
        };
        let payload: Vec<u8> = (0..segment.len).map(|_| random.bits() as u8).collect();
        let [source, destination] = [&*source, destination].map(|end| end.parse());
        let (source, destination) = (source?, destination?);
        let payload = random.chance(0.5).then_some(&payload[..]);
        encode(&Packet { source, destination, ip_id: n as u16, segment, payload }, &mut bytes);
        file.packet(1_000_000_000 + n * 1_000_000, &bytes, Some(&expected(&segment)))?;
    }
    file.finish()?;
    Ok(())
}

/// Makes a random segment. One segment in four is a SYN, and all flags except URG are random.
fn segment(random: &mut Stream) -> Segment {
    let mut segment = Segment {
        seq: random.bits() as u32,
        ack: random.bits() as u32,
        window: random.bits() as u16,
        len: if random.chance(0.5) { random.bits() as u16 % 1400 } else { 0 },
        flags: Flags(random.bits() as u8 & !Flags::URG.0 & !Flags::SYN.0),
        ecn: Ecn::from_bits(random.bits() as u8),
        ..Segment::default()
    };
    if random.chance(0.5) {
        let [val, ecr] = [random.bits() as u32, random.bits() as u32];
        segment.set_timestamps(Timestamps { val, ecr });
    }
    if random.chance(0.25) {
        segment.flags = segment.flags.with(Flags::SYN);
        segment.set_syn_options(SynOptions {
            mss: random.chance(0.7).then_some(random.bits() as u16),
            window_scale: random.chance(0.7).then_some(random.bits() as u8 % 15),
            sack: random.chance(0.7),
        });
    } else {
        let mut blocks = SackBlocks::default();
        // The blocks are above the acknowledgment. A block below it would be a D-SACK (RFC 2883).
        for n in 1..=random.bits() as u32 % 4 {
            let left = segment.ack.wrapping_add(n * 10_000);
            blocks.add(SackBlock { left, right: left.wrapping_add(1448) });
        }
        segment.set_sack(&blocks);
    }
    segment
}

/// Returns the values that a reader must find in the packet of `segment`, with `;` between them.
/// The text of a missing value is empty.
fn expected(segment: &Segment) -> String {
    let optional = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
    let SynOptions { mss, window_scale, sack } = segment.syn_options();
    let stamps = segment.timestamps();
    let list = |edge: fn(&SackBlock) -> u32| {
        segment.sack().iter().map(edge).map(|edge| edge.to_string()).collect::<Vec<_>>().join(",")
    };
    let mut expected = String::new();
    let head = [segment.seq, segment.ack, segment.len.into(), segment.window.into()];
    let last = [u32::from(segment.flags.0), segment.ecn.bits().into()];
    for value in head.into_iter().chain(last) {
        let _ = write!(expected, "{value};");
    }
    let present = [
        optional(stamps.map(|stamps| stamps.val.into())),
        optional(stamps.map(|stamps| stamps.ecr.into())),
        optional(mss.map(u64::from)),
        optional(window_scale.map(u64::from)),
        optional(sack.then_some(4)),
        list(|block| block.left),
        list(|block| block.right),
    ];
    expected + &present.join(";")
}
