//! The module `observe` counts the packets, connections and retransmissions of captures. These
//! tests compare its counts with the counts of other programs. For captures that other people
//! published, the other program is tshark. For captures of the kernel's TCP, the numbers are
//! compared with the kernel's own counters. The captures are in `../shared/traces`, beside the
//! repository.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use netspurt::ids::Side;
use netspurt::observe::{Flows, Lifetimes, Passing, TwoWay};
use netspurt::units::Time;
use netspurt::wire::{CaptureReader, Datagrams, TcpView};

/// Returns the folder of the captures. If the folder does not exist, prints a message and returns
/// `None`.
fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let there = folder.join("README.md").is_file();
    if !there {
        eprintln!("SKIPPED: no ../shared/traces beside the repository");
    }
    there.then_some(folder)
}

/// The counts of a capture.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    packets: u64,
    tcp: u64,
    connections: u64,
    /// The segments that begin below the highest octet seen so far.
    retransmissions: u64,
    /// Whether the file was read to its end without a fault.
    whole: bool,
}

/// Counts the packets of the capture in `file`.
fn count(file: &Path) -> Counts {
    let mut reader = CaptureReader::unpacking(File::open(file).unwrap()).unwrap();
    let mut datagrams = Datagrams::default();
    let mut flows: Flows<TwoWay> = Flows::new(Lifetimes::default());
    let mut counts = Counts { whole: true, ..Counts::default() };
    loop {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(_) => {
                counts.whole = false;
                break;
            }
        };
        counts.packets += 1;
        let ip = packet.captured_ip().and_then(|ip| datagrams.take(packet.unix_ns, ip));
        let view = ip.and_then(|ip| TcpView::of(ip.bytes, ip.original_bytes as usize).ok());
        let Some(view) = view else { continue };
        counts.tcp += 1;
        let at = Time::from_nanos(packet.unix_ns.try_into().unwrap());
        let ends = view.ends.into();
        let (sighting, flow) = flows.sight(&Passing::of(at, ends, &view));
        flow.take(sighting.side, at, &view);
    }
    counts.connections = flows.born();
    for flow in flows.into_all() {
        let ways = Side::BOTH.into_iter().filter_map(|side| flow.state.way(side));
        counts.retransmissions += ways.map(|way| way.retransmissions()).sum::<u64>();
    }
    counts
}

/// Reads a row of the table in the README.md of the captures: the name of a file, the count of its
/// packets, and tshark's counts `tcp` (TCP packets), `conn` (connections), `rtx` (retransmissions)
/// and `ooo` (segments out of order). `None` if the line is no such row.
fn row(line: &str) -> Option<(String, [u64; 5])> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let words: Vec<&str> = cells.get(7)?.split(' ').collect();
    let place_after = |name| words.iter().position(|word| *word == name)?.checked_add(1);
    let number = |name| words.get(place_after(name)?)?.parse().ok();
    let counts =
        [cells[6].parse().ok()?, number("tcp")?, number("conn")?, number("rtx")?, number("ooo")?];
    Some((cells[1].to_owned(), counts))
}

/// tshark calls a retransmission `out of order` if it fills a gap soon after the gap appeared.
/// tcptrace and the kernel count such a segment as a retransmission
/// (`../shared/reference/captures.md` §4).
#[test]
fn packets_connections_and_retransmissions_are_counted_as_tshark_counts_them() {
    let Some(folder) = shared() else { return };
    let table = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut tried = 0;
    for (name, [packets, tcp, connections, rtx, ooo]) in table.lines().filter_map(row) {
        let retransmissions = rtx + ooo;
        let expected = Counts { packets, tcp, connections, retransmissions, whole: true };
        assert_eq!(count(&folder.join("public").join(&name)), expected, "{name}");
        tried += 1;
    }
    assert!(tried >= 20, "only {tried} captures were compared");
}

#[test]
fn the_receivers_capture_counts_all_retransmissions_except_those_of_lost_tails() {
    let Some(folder) = shared() else { return };
    for (case, unseen) in
        [("clean", 0), ("fastrtx", 0), ("random3", 0), ("tail_rto", 1), ("tail_tlp", 1)]
    {
        let folder = folder.join("groundtruth");
        let answers = fs::read_to_string(folder.join(format!("{case}.json"))).unwrap();
        let (sender, _) = answers.split_once("receiver_kernel_counters").unwrap();
        let kernel = sender
            .split_once("TcpRetransSegs\": ")
            .map_or(0, |(_, rest)| rest.split([',', '\n']).next().unwrap().trim().parse().unwrap());
        let [sent, received] =
            ["snd", "rcv"].map(|end| count(&folder.join(format!("{case}.{end}.pcap"))));
        assert_eq!(sent.retransmissions, kernel, "{case}");
        // If the last segment of a flight is lost, the receiver's capture has only the
        // retransmission of this segment, which looks like an original there.
        assert_eq!(received.retransmissions, kernel - unseen, "{case}");
    }
}
