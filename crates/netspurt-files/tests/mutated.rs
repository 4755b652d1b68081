//! Tests of damaged files. One test makes 10 000 files from good captures, with a few changes in
//! each file. Every file is read to its end, or up to a fault whose place is reported. The other
//! test reads damaged Parquet files.

use std::fs;
use std::path::Path;

use netspurt::explain::Explainer;
use netspurt::rng::Stream;
use netspurt::segment::{Flags, SackBlock, SackBlocks, Segment, Timestamps};
use netspurt::wire::{
    CaptureReader, CaptureTrouble, Datagrams, Packet, PcapngWriter, TcpView, cut, encode,
};
use netspurt_files::recordings::read;

/// The number of damaged files that are made.
const FILES: usize = 10_000;
/// Longer captures are cut to this number of octets.
const LONGEST: usize = 6000;

/// Draws a number below the limit `below`, which must not be zero.
fn pick(stream: &mut Stream, below: usize) -> usize {
    usize::try_from(stream.bits() % below as u64).unwrap()
}

/// Makes the packets of a connection, with options, retransmissions and, over IPv4, fragments.
fn conversation(six: bool) -> Vec<Vec<u8>> {
    let ends = match six {
        false => ["10.0.0.1:5001", "10.0.0.2:80"],
        true => ["[2001:db8::1]:5001", "[2001:db8::2]:80"],
    };
    let [from, to] = ends.map(|end| end.parse().unwrap());
    let mut sack = SackBlocks::default();
    sack.add(SackBlock { left: 201, right: 301 });
    (0..12_u16)
        .flat_map(|n| {
            let (source, destination) = if n % 3 == 2 { (to, from) } else { (from, to) };
            let mut segment = Segment { seq: 1 + 100 * u32::from(n / 2), ..Segment::default() };
            segment.flags = if n == 0 { Flags::SYN } else { Flags::ACK };
            segment.len = if n % 3 == 2 || n == 0 { 0 } else { 100 };
            segment.set_timestamps(Timestamps { val: n.into(), ecr: 1 });
            if n % 3 == 2 {
                segment.set_sack(&sack);
            }
            let mut whole = Vec::new();
            encode(&Packet { source, destination, ip_id: n, segment, payload: None }, &mut whole);
            let fragments = [0..64, 64..200].map(|range| {
                let mut part = Vec::new();
                if !six && n == 7 {
                    cut(&whole, range, &mut part);
                }
                part
            });
            [vec![whole], fragments.into_iter().filter(|part| !part.is_empty()).collect()].concat()
        })
        .collect()
}

/// Makes a pcap file with the link type `link`. `header` precedes each packet.
fn pcap(link: u32, header: &[u8], packets: &[Vec<u8>]) -> Vec<u8> {
    let head = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65_535, link];
    let mut file: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (n, packet) in (0..).zip(packets) {
        let length = u32::try_from(header.len() + packet.len()).unwrap();
        let record = [n / 4, n % 4 * 250_000, length, length];
        file.extend(record.iter().flat_map(|word: &u32| word.to_le_bytes()));
        file.extend([header, packet].concat());
    }
    file
}

/// Returns the first [`LONGEST`] octets of captures without faults. Some captures are made here.
/// Others are in `../shared/traces`, if this folder exists beside the repository.
fn captures() -> Vec<Vec<u8>> {
    let (four, six) = (conversation(false), conversation(true));
    let mut block = PcapngWriter::new(Vec::new(), "a", "netspurt").unwrap();
    for (n, packet) in (0..).zip(four.iter().chain(&six)) {
        block.packet(n * 1_000_000, packet, Some("a comment")).unwrap();
    }
    let frame = [0; 12];
    let mut all = vec![
        block.finish().unwrap(),
        pcap(1, &[&frame[..], &[8, 0]].concat(), &four),
        pcap(1, &[&frame[..], &[0x81, 0, 0, 5, 0x86, 0xdd]].concat(), &six),
        pcap(1, &[&frame[..], &[0x88, 0x64, 0x11, 0, 0, 9, 0, 50, 0, 0x21]].concat(), &four),
        pcap(1, &[&frame[..], &[0x88, 0x47, 0, 1, 0x41, 64]].concat(), &four),
        pcap(113, &[&[0; 14][..], &[8, 0]].concat(), &four),
        pcap(276, &[&[0x86, 0xdd][..], &[0; 18]].concat(), &six),
        pcap(239, &[2, 0, 0, 1, 8, 0, 1, 0, 8, 0, 0, 0, 0, 1, 9, 0], &four),
        pcap(10, &[&[0x50][..], &frame, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat(), &four),
        pcap(0, &[2, 0, 0, 0], &four),
    ];
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    match fs::read_dir(shared.join("public")) {
        Ok(files) => {
            let mut names: Vec<_> = files.map(|file| file.unwrap().path()).collect();
            names.sort();
            all.extend(names.iter().map(|name| fs::read(name).unwrap()));
        }
        Err(_) => eprintln!(
            "the captures of ../shared/traces are left out: no such folder beside the repository"
        ),
    }
    all.iter_mut().for_each(|file| file.truncate(LONGEST));
    all
}

/// Changes `file` one to six times: changes octets or bits, writes extreme numbers, inserts or
/// removes octets, or cuts off the rest of the file.
fn mutate(file: &mut Vec<u8>, stream: &mut Stream) {
    const LIMITS: [[u8; 4]; 6] =
        [[0; 4], [0xff; 4], [0, 0, 0, 0x80], [0x7f, 0xff, 0xff, 0xff], [1, 0, 0, 0], [0, 0, 16, 0]];
    for _ in 0..=pick(stream, 6) {
        if file.len() < 8 {
            return;
        }
        // On average, at least half of the changes begin in the first 120 octets, which hold the
        // first headers.
        let room = if stream.chance(0.5) { file.len().min(120) } else { file.len() };
        let at = pick(stream, room - 4);
        match pick(stream, 6) {
            0 => file[at] = stream.bits() as u8,
            1 => file[at] ^= 1 << pick(stream, 8),
            2 => file[at..at + 4].copy_from_slice(&LIMITS[pick(stream, LIMITS.len())]),
            3 => file.truncate(at + 4),
            4 => drop(file.drain(at..at + 1 + pick(stream, 4))),
            _ => drop(file.splice(at..at, LIMITS[pick(stream, LIMITS.len())])),
        }
    }
}

/// The numbers of files by the result of reading, and the numbers of packets and segments that were
/// read.
#[derive(Debug, Default)]
struct Outcomes {
    whole: u32,
    cut: u32,
    faults: u32,
    not_captures: u32,
    packets: u64,
    segments: u64,
}

/// Reads `file` and explains its packets. If there is a fault, checks that the fault names its
/// place.
fn examine(file: &[u8], outcomes: &mut Outcomes) {
    let mut reader = match CaptureReader::new(file) {
        Ok(reader) => reader,
        Err(fault) => {
            assert_eq!((fault.offset, fault.packets), (0, 0));
            outcomes.not_captures += 1;
            return;
        }
    };
    let (mut datagrams, mut explainer) = (Datagrams::default(), Explainer::default());
    let mut logging = Explainer::default().with_transcript(None);
    let fault = loop {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break None,
            Err(fault) => break Some(fault),
        };
        outcomes.packets += 1;
        explainer.take(&packet);
        logging.take(&packet);
        let ip = packet.captured_ip().and_then(|ip| datagrams.take(packet.unix_ns, ip));
        let view = ip.and_then(|ip| TcpView::of(ip.bytes, ip.original_bytes as usize).ok());
        outcomes.segments += u64::from(view.is_some());
    };
    // A second explainer, which keeps a transcript of the packets, must give the same results.
    let [plain, logged] = [explainer.finish(), logging.finish()];
    assert_eq!((plain.passed, plain.notes), (logged.passed, logged.notes));
    assert_eq!(format!("{:?}", plain.connections), format!("{:?}", logged.connections));
    match fault {
        None => {
            assert_eq!(reader.octets(), file.len() as u64);
            outcomes.whole += 1;
        }
        Some(fault) => {
            assert!(fault.offset <= file.len() as u64 && fault.packets == reader.packets());
            let text = fault.to_string();
            assert!(text.contains(&format!("at octet {}", fault.offset)), "{text}");
            match fault.what {
                CaptureTrouble::Cut(_) => outcomes.cut += 1,
                _ => outcomes.faults += 1,
            }
        }
    }
}

#[test]
fn no_changed_capture_makes_a_reader_panic() {
    let captures = captures();
    let mut outcomes = Outcomes::default();
    for number in 0..FILES {
        let mut stream = Stream::named(number as u64, "mutated captures");
        let mut file = captures[number % captures.len()].clone();
        mutate(&mut file, &mut stream);
        examine(&file, &mut outcomes);
        if number % 20 == 0 {
            // The reader of delays guesses the format from the contents.
            let _ = read("mutated", &file);
        }
    }
    // Each outcome occurs in at least 1 % of the files, and many packets are still read.
    let Outcomes { whole, cut, faults, not_captures, packets, segments } = outcomes;
    assert_eq!((whole + cut + faults + not_captures) as usize, FILES);
    let shares = [whole, cut, faults, not_captures].map(|count| count as usize * 100 / FILES);
    assert!(shares.iter().all(|share| *share >= 1), "{shares:?} % of the files");
    assert!(packets > 3 * FILES as u64 && segments > packets / 4, "{packets} {segments}");
}

/// Two Parquet files that a fuzz target found, in hexadecimal digits. Each file has a list that
/// claims to hold up to 2^63 booleans, and the decoder skipped them one by one. In the second file,
/// the list is in a field whose type differs from its definition. The decoder reads this field by
/// the definition, and so meets the list. A check that reads the field by the type in the file
/// would not notice the list.
const ENDLESS: [&str; 2] = [
    "\
    000c0cfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff43df4\
    f4f476767689898b89898976112c7676767676767676767676767676767676767676767676767676\
    767676767600003000000050415231",
    "\
    02fefd0200f4f42c02fefd0202c502020200f425f63ff4f4fcf406f4110b0b0ac752360b0ba7ff00\
    b8e4f4121212121212121212121212127a05093100000050415231",
];

#[test]
fn a_parquet_file_with_an_endless_list_is_refused_as_damaged() {
    for digits in ENDLESS {
        let octet = |n: usize| u8::from_str_radix(&digits[n..n + 2], 16).unwrap();
        let file: Vec<u8> = (0..digits.len()).step_by(2).map(octet).collect();
        assert!(netspurt_files::tables::read_table_bytes("x", file.clone()).is_err());
        let error =
            netspurt_files::recordings::read("x", &[b"PAR1", &file[..]].concat()).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
    }
}
