//! Tests of scenarios with a link that fragments or drops large datagrams.

use proptest::prelude::*;

use netspurt::record::{Data, Table};
use netspurt::results::Results;
use netspurt_scenario::scenario::Scenario;

/// A chain of three links. The second link has an MTU of 576 octets, unless a test changes it.
const CHAIN: &str = r#"
stop = "100 s"
[links]
one   = { between = ["a", "b"], rate = "1 Mbit/s", delay = "10 ms" }
two   = { between = ["b", "c"], rate = "64 kbit/s", delay = "20 ms", mtu = "576 B" }
three = { between = ["c", "d"], rate = "unlimited", delay = "5 ms" }
[flows.f]
from = "a"
to = "d"
send = "9 segments"
profile = "reno-2005"
tcp = { packet_size = "1500 B" }
[record]
spy = ["a", "c", "d"]
"#;

fn scenario(values: &[(&str, &str)]) -> Scenario {
    Scenario::parse("chain.toml", CHAIN).unwrap().with(values).unwrap()
}

/// The results of [`CHAIN`] with these settings.
fn run(values: &[(&str, &str)]) -> Results {
    let mut run = scenario(values).simulate();
    run.advance_to(run.stop());
    run.finish()
}

fn table<'a>(results: &'a Results, name: &str) -> &'a Table {
    results.table(name).expect(name)
}

/// The whole numbers in the column `name`.
fn numbers(table: &Table, name: &str) -> Vec<i64> {
    match table.column(name).expect(name) {
        Data::I64(values) => values.clone(),
        Data::U16(values) => values.iter().map(|value| i64::from(*value)).collect(),
        Data::U32(values) => values.iter().map(|value| i64::from(*value)).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

/// The whole numbers in the column `name`, some of which may be missing.
fn optional(table: &Table, name: &str) -> Vec<Option<i64>> {
    match table.column(name).expect(name) {
        Data::OptionalI64(values) => values.iter().collect(),
        Data::MissingI64(count) => vec![None; *count],
        other => panic!("{name}: {other:?}"),
    }
}

/// The texts in the column `name`.
fn texts(table: &Table, name: &str) -> Vec<String> {
    match table.column(name).expect(name) {
        Data::Tag { codes, texts } => {
            codes.iter().map(|code| texts[usize::from(*code)].to_owned()).collect()
        }
        Data::Text { codes, texts } => {
            codes.iter().map(|code| texts[*code as usize].clone()).collect()
        }
        other => panic!("{name}: {other:?}"),
    }
}

/// Returns how many octets a link with the MTU `mtu` carries for a datagram of `size` octets (RFC
/// 791). Each fragment has a header.
fn carried(size: i64, mtu: i64) -> i64 {
    let room = (mtu - 20) / 8 * 8;
    if size <= mtu { size } else { size + 20 * ((size - 20 + room - 1) / room - 1) }
}

#[test]
fn a_link_carries_every_octet_of_every_fragment_and_no_more() {
    let results = run(&[]);
    let segments = table(&results, "segments");
    let (nodes, ways) = (texts(segments, "node"), texts(segments, "way"));
    let sizes = numbers(segments, "size_bytes");
    let left = (0..sizes.len()).filter(|row| nodes[*row] == "a" && ways[*row] == "out");
    let expected: i64 = left.map(|row| carried(sizes[row], 576)).sum();
    // Links are in the order of the file, each with a row for forward and one for reverse. So row 2
    // is the forward direction of the second link.
    assert_eq!(numbers(table(&results, "links"), "carried_bytes")[2], expected);
    assert_eq!(numbers(table(&results, "flows"), "delivered_bytes"), [9 * 1460]);
    assert_eq!(numbers(table(&results, "flows"), "retransmissions"), [0]);
}

#[test]
fn only_the_first_fragment_shows_the_kind_of_its_segment() {
    let results = run(&[]);
    let segments = table(&results, "segments");
    let (nodes, kinds) = (texts(segments, "node"), texts(segments, "kind"));
    let (lengths, offsets) = (numbers(segments, "len_bytes"), optional(segments, "offset_bytes"));
    let at = |node: &str, kind: &str| -> Vec<Option<i64>> {
        let rows = (0..lengths.len()).filter(|row| nodes[*row] == node && kinds[*row] == kind);
        rows.map(|row| offsets[row]).collect()
    };
    assert_eq!(at("a", "data"), vec![None; 9], "at the sender's node, datagrams are still whole");
    assert_eq!(at("d", "data"), vec![Some(0); 9]);
    assert_eq!(at("d", "fragment"), [Some(552), Some(1104)].repeat(9));
    assert_eq!(at("c", "fragment").len(), 18);
    assert_eq!(at("a", "dupack"), [], "no ACK of data counts as a duplicate ACK");
}

#[test]
fn if_one_fragment_is_lost_the_whole_datagram_is_lost() {
    // Frame 1 is the SYN, frame 2 is the first fragment of the first datagram, and frame 3 is its
    // second fragment.
    let loss = "[{ nth = [3] }, \"none\"]";
    let results = run(&[("links.two.loss", loss), ("reassembly.timer", "65 s")]);
    let drops = table(&results, "drops");
    assert_eq!(texts(drops, "reason"), ["loss", "reassembly"]);
    assert_eq!(texts(drops, "link"), ["two", ""]);
    assert_eq!(texts(drops, "link_direction"), ["forward", ""]);
    assert_eq!(texts(drops, "kind"), ["fragment", "data"]);
    // Two fragments arrived. They have 552 and 376 octets of the datagram's payload.
    assert_eq!(numbers(drops, "size_bytes"), [572, 20 + 552 + 376]);
    let [lost, given_up] = numbers(drops, "t_ns")[..] else { panic!("two rows") };
    // The timer starts when the first fragment arrives. This fragment left 71.5 ms before the
    // second fragment was lost, and took 25 ms to arrive.
    assert_eq!(given_up - lost, 65_000_000_000 - 71_500_000 + 25_000_000);
    let flows = table(&results, "flows");
    assert_eq!(numbers(flows, "retransmissions"), [1]);
    assert_eq!(
        numbers(flows, "spurious"),
        [0],
        "two of three fragments do not complete the segment"
    );
    assert_eq!(numbers(flows, "delivered_bytes"), [9 * 1460]);
}

#[test]
fn all_fragments_of_a_retransmission_are_spurious_if_the_original_was_reassembled() {
    // The first packet in the reverse direction is the answer to the SYN. The second packet is the
    // ACK of all data. The third packet is the FIN with the same ACK number. The second and the
    // third packet are lost.
    let values = [
        ("flows.f.send", "1460 B"),
        ("links.two.loss", "[\"none\", { nth = [2, 3] }]"),
        ("record.spy", "[\"d\"]"),
    ];
    let results = run(&values);
    let flows = table(&results, "flows");
    assert_eq!((numbers(flows, "retransmissions"), numbers(flows, "spurious")), (vec![1], vec![1]));
    let segments = table(&results, "segments");
    let Some(Data::Bool(spurious)) = segments.column("spurious") else { panic!("no verdicts") };
    assert_eq!(spurious.iter().filter(|verdict| **verdict).count(), 3);
}

#[test]
fn a_link_that_does_not_fragment_drops_large_segments() {
    let results = run(&[("links.two.too_big", "drop")]);
    let drops = table(&results, "drops");
    assert!(texts(drops, "reason").iter().all(|reason| reason == "too-big"));
    assert!(drops.rows() > 3, "the sender retransmits the segments, and the link drops them again");
    assert_eq!(numbers(table(&results, "flows"), "delivered_bytes"), [0]);
    assert_eq!(numbers(table(&results, "links"), "dropped")[2], drops.rows() as i64);
}

#[test]
fn an_echo_probe_takes_the_time_of_all_fragments_in_both_directions() {
    let text = r#"
        stop = "100 s"
        links = { line = { between = ["a", "b"], rate = "64 kbit/s", delay = "20 ms", mtu = "128 B" } }
        [echo_probes.v]
        from = "a"
        to = "b"
        lengths = ["40 B", "256 B"]
        count = 3
        processing = "3 ms"
    "#;
    let mut run = Scenario::parse("v.toml", text).unwrap().simulate();
    run.advance_to(run.stop());
    let results = run.finish();
    let echo_probes = table(&results, "echo_probes");
    // An octet takes 125 µs. The 236 octets of payload are in three fragments, so there are two
    // additional headers of 20 octets.
    assert_eq!(optional(echo_probes, "rtt_ns"), [53, 117, 53].map(|ms| Some(ms * 1_000_000)));
    assert_eq!(numbers(echo_probes, "t_ns"), [0, 53_000_000, 170_000_000]);
    assert_eq!(numbers(echo_probes, "size_bytes"), [40, 256, 40]);
    assert_eq!(numbers(echo_probes, "number"), [1, 2, 3]);
    assert_eq!(table(&results, "flows").rows(), 0);
    assert_eq!(numbers(table(&results, "rtt"), "rtt_ns").len(), 3);
    let kinds = texts(table(&results, "segments"), "kind");
    // Requests are not fragmented when they leave. The reply to the second request arrives in three
    // fragments.
    let expected = "request reply request reply fragment fragment request reply";
    assert_eq!(kinds.join(" "), expected);
}

#[test]
fn an_echo_probe_without_a_reply_in_time_counts_as_lost() {
    let text = r#"
        stop = "100 s"
        [links.line]
        between = ["a", "b"]
        rate = "64 kbit/s"
        delay = "20 ms"
        order = "overtaking"
        loss = [{ packets = [2] }, "none"]
        reorder = ["none", { packets = [3], by = "31 s" }]
        duplicate = ["none", { packets = [4], after = "1 s" }]
        [echo_probes.v]
        from = "a"
        to = "b"
        lengths = ["40 B"]
        count = 1000
        gap = "10 s"
    "#;
    let mut run = Scenario::parse("v.toml", text).unwrap().simulate();
    run.advance_to(run.stop());
    let results = run.finish();
    let echo_probes = table(&results, "echo_probes");
    let ms = 1_000_000;
    // A round trip takes 50 ms. The second request is lost, the third reply is late, and the fourth
    // reply comes twice.
    let sent = [0, 10_050, 50_050, 90_050].map(|t| t * ms);
    assert_eq!(numbers(echo_probes, "t_ns"), sent);
    assert_eq!(optional(echo_probes, "rtt_ns"), [Some(50 * ms), None, None, Some(50 * ms)]);
    assert_eq!(echo_probes.column("lost"), Some(&Data::Bool(vec![false, true, true, false])));
    assert_eq!(optional(echo_probes, "late_ns"), [None, None, Some(31_050 * ms), None]);
    assert_eq!(numbers(echo_probes, "duplicates"), [0, 0, 0, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn fragmentation_changes_no_flow_if_transmission_takes_no_time(
        mtus in proptest::collection::vec(68..3000_u32, 3),
        size in 100..9000_u32,
        sack in any::<bool>(),
    ) {
        let size = format!("{size} B");
        let profile = if sack { "rfc-2026" } else { "reno-1998" };
        let base = [
            ("links.one.rate", "unlimited"),
            ("links.two.rate", "unlimited"),
            ("links.two.mtu", "65535 B"),
            ("flows.f.send", "100 kB"),
            ("flows.f.profile", profile),
            ("flows.f.tcp.packet_size", &size),
            ("record.tables", "[]"),
        ];
        let limits: Vec<String> = mtus.iter().map(|mtu| format!("{mtu} B")).collect();
        let narrow = [
            ("links.one.mtu", &*limits[0]),
            ("links.two.mtu", &*limits[1]),
            ("links.three.mtu", &*limits[2]),
        ];
        let [wide, narrow] = [run(&base), run(&[&base[..], &narrow].concat())];
        prop_assert_eq!(narrow.flows_digest(), wide.flows_digest());
        prop_assert_eq!(numbers(table(&wide, "flows"), "delivered_bytes"), [100_000]);
    }
}
