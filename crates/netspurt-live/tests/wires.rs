//! Tests of runs on veth and on TUN devices, with and without segmentation offload. A link loses,
//! drops or delivers each segment alone, even if a device takes many segments in one packet.

mod worker;

use netspurt::event::{Event, Wanted};
use netspurt::ids::EndId;
use netspurt::path::{Departure, Path};
use netspurt::record::{Data, Recorder, Table};
use netspurt::segment::{Flags, Segment};
use netspurt::units::{Duration, Time};
use netspurt::wire::{Packet, encode};
use netspurt_live::labels::Labels;
use netspurt_live::offload::{SegmentRun, Shape, complete, header_bytes};
use netspurt_scenario::scenario::Scenario;
use worker::{Folder, finish, real_time, start_on};

const LOSSY: &str = r#"
stop = "4 s"
seed = 7
[links]
wire = { between = ["a", "b"], rate = "50 Mbit/s", delay = "5 ms", queue = "80 packets", loss = [{ probability = 0.02 }, "none"] }
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "linux-default"
send     = "1500 kB"
"#;

/// The sum of a column of whole numbers.
fn sum(table: &Table, name: &str) -> i64 {
    let Some(Data::I64(values)) = table.column(name) else { panic!("{name}") };
    values.iter().sum()
}

/// Checks a run in which the links lose packets, but TCP still delivers all data. `wiring` has the
/// kind of the devices, and whether they use segmentation offload. If `user` is given, the run
/// belongs to the user with this number.
fn a_lossy_run(wiring: (&str, bool), user: Option<u32>) {
    real_time(|| {
        let folder = Folder::new();
        let started = std::panic::catch_unwind(|| start_on(wiring, LOSSY, &folder.0, user));
        let Ok(child) = started else {
            return eprintln!("SKIPPED: user {user:?} may not read the program");
        };
        let Some(()) = finish(child) else { return };
        let report = folder.report();
        assert_eq!(report["wire"], wiring.0);
        assert_eq!(report["offload"], wiring.1);
        assert_eq!(report["replayed"]["same"], true, "{report:#}");
        assert!(report["replayed"]["drops"].as_u64().unwrap() >= 5, "{report:#}");
        for what in ["strange", "damaged", "missed", "refused"] {
            assert_eq!(report["packets"][what], 0, "{what}: {report:#}");
        }
        let delivered = sum(&folder.table("flows"), "delivered_bytes");
        assert_eq!(delivered, 1_500_000, "{report:#}");
        let largest = match folder.table("segments").column("size_bytes") {
            Some(Data::U16(sizes)) => sizes.iter().copied().max().unwrap(),
            _ => panic!("sizes"),
        };
        assert_eq!(largest, 1500, "the kernel's large packets are cut into segments");
    });
}

#[test]
fn links_treat_each_segment_alone_on_veth_devices_with_offload() {
    a_lossy_run(("veth", true), None);
}

#[test]
fn a_run_works_on_tun_devices() {
    a_lossy_run(("tun", false), None);
}

#[test]
fn links_treat_each_segment_alone_on_tun_devices_with_offload() {
    a_lossy_run(("tun", true), None);
}

#[test]
fn an_ordinary_user_can_use_offload_and_tun_devices() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: only root can become another user");
    }
    a_lossy_run(("veth", true), Some(65_534));
    a_lossy_run(("tun", false), Some(65_534));
}

#[test]
fn a_capture_of_a_run_with_offload_has_complete_checksums() {
    real_time(|| {
        let folder = Folder::new();
        let text = format!("{LOSSY}[record]\nsnap = \"65535 B\"\n");
        let Some(()) = finish(start_on(("veth", true), &text, &folder.0, None)) else { return };
        let file = std::fs::read(folder.0.join("a.pcapng")).unwrap();
        let (mut at, mut count) = (0, 0);
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        while at < file.len() {
            // A block of type 6 is an enhanced packet block.
            if word(at) == 6 {
                let packet = &file[at + 28..at + 28 + word(at + 20)];
                let read = netspurt::wire::decode(packet, netspurt::wire::Checks::Whole);
                assert!(read.is_ok(), "packet {count}: {read:?}");
                count += 1;
            }
            at += word(at + 4);
        }
        // If the machine is late, the run may stop before all data has arrived.
        assert!(count > 100, "the capture has only {count} packets");
    });
}

/// Makes a packet in the form in which TCP passes it to a device. The packet carries the `len`
/// octets of content that follow the first `before` octets.
fn large(before: u32, len: u16) -> Vec<u8> {
    let seq = 1 + before;
    let segment = Segment { seq, len, flags: Flags::ACK.with(Flags::PSH), ..Segment::default() };
    let (source, destination) =
        ("10.0.0.1:10000".parse().unwrap(), "10.0.0.2:5001".parse().unwrap());
    let payload = Some(netspurt_live::content::octets(before.into(), len.into()));
    let mut bytes = Vec::new();
    encode(&Packet { source, destination, ip_id: 1, segment, payload }, &mut bytes);
    bytes
}

/// Passes `arrivals` through the links. Returns the departures and the drops.
fn fate(arrivals: &[(Time, Segment)]) -> (Vec<Departure>, Table) {
    let scenario = Scenario::parse("here", LOSSY).unwrap();
    let network = scenario.network();
    let mut recorder = Recorder::new(network.names.clone());
    let mut path = Path::new(network);
    let mut watch = |event: &Event<Segment>| recorder.take(event);
    let mut left = Vec::new();
    for (at, segment) in arrivals {
        path.enter(*at, *segment, &mut watch);
        left.extend(path.departures());
    }
    path.advance(Time::ZERO + Duration::from_secs(100), &mut watch);
    left.extend(path.departures());
    let wanted = Wanted { drops: true, ..Wanted::default() };
    let drops = recorder.finish_wanted(&[], wanted).find(|table| table.name == "drops").unwrap();
    (left, drops)
}

#[test]
fn links_treat_segments_of_large_packets_like_single_segments() {
    const SIZE: u16 = 1448;
    let (mut together, mut single) = (Labels::new(), Labels::new());
    let (mut once, mut each) = (Vec::new(), Vec::new());
    let mut before = 0;
    for n in 0..300_u32 {
        let at = Time::ZERO + Duration::from_micros(1500) * n.into();
        let len = 1 + (n * 7919 % 40_000) as u16;
        let packet = large(before, len);
        before += u32::from(len);
        let headers = header_bytes(&packet).unwrap();
        let mut out = Vec::new();
        let shape = Shape { segment_bytes: SIZE, partial: true, foreign: false };
        together.read_all(EndId::at(0), (&packet, shape), || None, &mut out);
        let count = out.len();
        once.extend(out.into_iter().map(|segment| (at, segment)));
        for first in 0..count {
            let run = SegmentRun { packet: &packet, headers, segment_bytes: SIZE, first, count: 1 };
            let mut own = Vec::new();
            run.write_headers(false, &mut own);
            own.extend_from_slice(&packet[run.payload()]);
            complete(&mut own);
            each.push((at, single.read(EndId::at(0), &own, || None).unwrap()));
        }
    }
    assert_eq!((together.strange, together.damaged, single.damaged), (0, 0, 0));
    assert_eq!(once, each);
    let ((left, drops), again) = (fate(&once), fate(&each));
    assert_eq!((&left, &drops), (&again.0, &again.1));
    assert!(drops.rows() > 100 && left.len() > 1000, "{} dropped", drops.rows());
}
