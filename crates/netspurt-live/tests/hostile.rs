//! Tests that no packet from the wire causes a panic, and that every packet is carried or counted.

use netspurt::event::Event;
use netspurt::ids::{FlowId, Side};
use netspurt::path::Path;
use netspurt::record::Recorder;
use netspurt::rng::Stream;
use netspurt::segment::{Flags, Segment};
use netspurt::units::{Duration, Time};
use netspurt::wire::{Packet, encode};
use netspurt_live::labels::Labels;
use netspurt_scenario::scenario::Scenario;

const SCENARIO: &str = r#"
stop = "1000 s"
[links]
wire = { between = ["a", "b"], rate = "1 Gbit/s", delay = "1 ms", queue = { codel = { ecn = true, limit = "100 packets" } }, mtu = "576 B" }
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "linux-default"
[record]
spy = ["a", "b"]
"#;

/// Makes a packet with random fields. In about two of three packets, some octets are then changed
/// or cut off.
fn packet(random: &mut Stream) -> Vec<u8> {
    let mut below = |n: u64| random.bits() % n;
    let segment = Segment {
        seq: below(1 << 32) as u32,
        ack: below(1 << 32) as u32,
        len: below(1400) as u16,
        window: below(1 << 16) as u16,
        flags: Flags(below(256) as u8),
        ..Segment::default()
    };
    let (source, destination) =
        ("10.0.0.1:10000".parse().unwrap(), "10.0.0.2:5001".parse().unwrap());
    let mut bytes = Vec::new();
    encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut bytes);
    match below(3) {
        0 => {}
        1 => bytes.truncate(below(bytes.len() as u64) as usize),
        _ => {
            for _ in 0..=below(8) {
                let at = below(bytes.len() as u64) as usize;
                bytes[at] = below(256) as u8;
            }
        }
    }
    bytes
}

#[test]
fn ten_thousand_hostile_packets_are_carried_or_counted() {
    let scenario = Scenario::parse("here", SCENARIO).unwrap();
    let network = scenario.network();
    let mut recorder = Recorder::new(network.names.clone());
    let mut path = Path::new(network);
    let mut labels = Labels::new();
    let mut random = Stream::named(1, "hostile");
    let mut watch = |event: &Event<Segment>| recorder.take(event);
    let (mut carried, mut left) = (0_u64, 0);
    for n in 0..10_000_u64 {
        let bytes = packet(&mut random);
        let end = FlowId(0).end(Side::BOTH[usize::from(n % 2 == 1)]);
        let Some(segment) = labels.read(end, &bytes, || None) else {
            continue;
        };
        carried += 1;
        path.enter(Time::ZERO + Duration::from_micros(20) * n, segment, &mut watch);
        left += path.departures().len();
    }
    path.advance(Time::ZERO + Duration::from_secs(10), &mut watch);
    left += path.departures().len();
    path.settle(&mut watch);
    assert_eq!(carried + labels.strange, 10_000);
    assert!(
        carried > 3000 && labels.strange > 3000,
        "carried packets: {carried}, strange packets: {}",
        labels.strange
    );
    assert!(left >= 1000, "only {left} packets left the path");
    let tables = recorder.finish(&[]);
    assert!(tables[0].rows() as u64 >= carried);
}
