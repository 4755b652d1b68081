//! Tests of flows of requests and replies.

use netspurt::ids::Direction;
use netspurt::record::{Data, Table};
use netspurt::wire::CaptureReader;

use super::*;

/// A flow `web` with three requests over one link with a round trip of 20 ms.
const WEB: &str = r#"
stop  = "20 min"
links = { wire = { between = ["client", "server"], rate = "unlimited", delay = "10 ms" } }
[flows.web]
from    = "client"
to      = "server"
profile = "rfc-2026"
send    = "200 B"
app     = { requests = 3, reply = "1000 B", think = "50 ms", serve = "5 ms" }
"#;

/// The results of [`WEB`] with these settings.
fn results(values: &[(&str, &str)]) -> Results {
    run(&Scenario::parse("web.toml", WEB).unwrap().with(values).unwrap())
}

/// The whole numbers in the column `name`; -1 stands for a missing value.
fn whole(table: &Table, name: &str) -> Vec<i64> {
    match table.column(name) {
        Some(Data::I64(all)) => all.clone(),
        Some(Data::OptionalI64(all)) => all.iter().map(|value| value.unwrap_or(-1)).collect(),
        Some(Data::U32(all)) => all.iter().map(|value| (*value).into()).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

/// The column `flow`, which has the names of flows.
fn names(table: &Table) -> Vec<String> {
    let Some(Data::Text { codes, texts }) = table.column("flow") else { panic!("no names") };
    codes.iter().map(|code| texts[*code as usize].clone()).collect()
}

fn directions(table: &Table) -> Vec<&'static str> {
    let Some(Data::Tag { codes, texts }) = table.column("direction") else { panic!("none") };
    codes.iter().map(|code| texts[usize::from(*code)]).collect()
}

/// Returns the column `name` in whole milliseconds. The values in the table are nanoseconds.
fn ms(table: &Table, name: &str) -> Vec<i64> {
    whole(table, name).into_iter().map(|ns| ns / 1_000_000).collect()
}

/// SYN and SYN-ACK together take 20 ms, a request 10 ms, the service 5 ms, and a reply 10 ms. The
/// think time of 50 ms follows.
#[test]
fn each_request_waits_for_the_reply_to_the_previous_request() {
    let results = results(&[]);
    let requests = results.table("requests").unwrap();
    assert_eq!(names(requests), ["web"; 3]);
    assert_eq!(whole(requests, "number"), [1, 2, 3]);
    assert_eq!(ms(requests, "t_ns"), [0, 45 + 50, 95 + 25 + 50]);
    assert_eq!(ms(requests, "complete_ns"), [45, 25, 25]);
    assert_eq!(ms(requests, "first_ns"), [45, 25, 25]);
    let flows = results.table("flows").unwrap();
    assert_eq!(names(flows), ["web"; 2]);
    assert_eq!(directions(flows), Direction::NAMES);
    assert_eq!(whole(flows, "delivered_bytes"), [600, 3000]);
    assert_eq!(
        ms(flows, "finished_ns"),
        [195, 205],
        "at 195 ms the client has read the last reply; at 205 ms it is acknowledged"
    );
    assert_eq!(ms(flows, "start_ns"), [0, 35]);
}

/// With a pause, the connection is open before the first request, so the request's time does not
/// include the handshake.
#[test]
fn after_a_pause_the_time_of_the_first_request_does_not_include_the_handshake() {
    let results = results(&[("flows.web.pause", "1 s")]);
    let requests = results.table("requests").unwrap();
    assert_eq!(ms(requests, "t_ns")[0], 1020);
    assert_eq!(ms(requests, "complete_ns"), [25; 3]);
}

#[test]
fn a_reply_of_several_rounds_takes_several_round_trips_from_its_first_to_its_last_octet() {
    // The reply has 69 full segments. A short last segment would wait for the ACK of all segments
    // before it (Nagle).
    let results = results(&[("flows.web.app.reply", "99912 B"), ("flows.web.app.requests", "1")]);
    let requests = results.table("requests").unwrap();
    assert_eq!(ms(requests, "first_ns"), [45]);
    // The first round has ten segments, the second round twenty, and the third round the rest. So
    // the last octet arrives two round trips after the first octet.
    assert_eq!(ms(requests, "complete_ns"), [85]);
}

#[test]
fn every_reply_arrives_once_and_complete_despite_losses() {
    for profile in ["ns-2", "reno-1998", "reno-2005", "rfc-2026", "plain", "linux-6"] {
        for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
            let results = results(&[
                ("flows.web.profile", profile),
                ("flows.web.send", "5 kB"),
                ("flows.web.app.reply", "30 kB"),
                ("flows.web.app.requests", "20"),
                ("links.wire.rate", "2 Mbit/s"),
                ("links.wire.queue", "20 packets"),
                ("links.wire.loss", "{ probability = 0.05 }"),
                ("seed", seed),
            ]);
            let requests = results.table("requests").unwrap();
            assert_eq!(requests.rows(), 20, "{profile}, seed {seed}");
            assert!(
                whole(requests, "complete_ns").iter().all(|ns| *ns > 0),
                "{profile}, seed {seed}"
            );
            let flows = results.table("flows").unwrap();
            assert_eq!(
                whole(flows, "delivered_bytes"),
                [100_000, 600_000],
                "{profile}, seed {seed}"
            );
            assert_eq!(whole(flows, "acked_bytes"), [100_000, 600_000], "{profile}, seed {seed}");
        }
    }
}

#[test]
fn the_states_of_both_ends_of_a_flow_of_requests_are_recorded_separately() {
    let results = results(&[]);
    let cwnd = results.table("cwnd").unwrap();
    for name in Direction::NAMES {
        for table in [cwnd, results.table("rtt").unwrap(), results.table("rto").unwrap()] {
            assert!(
                directions(table).contains(&name),
                "the direction {name} in the table {}",
                table.name
            );
        }
    }
    let text = WEB.replace("app ", "# app ").replace("200 B", "3000 B");
    let bulk = run(&Scenario::parse("bulk.toml", &text).unwrap());
    assert_eq!(bulk.table("flows").unwrap().rows(), 1);
    assert!(bulk.table("requests").is_none());
}

#[test]
fn a_flow_of_requests_gives_the_same_run_if_all_defaults_are_written_out() {
    let text = WEB.replace(", think = \"50 ms\", serve = \"5 ms\"", "");
    let scenario = Scenario::parse("web.toml", &text).unwrap();
    let resolved = scenario.resolved();
    assert!(resolved.contains("think = \"0 s\""), "{resolved}");
    let again = Scenario::parse("resolved", &resolved).unwrap();
    assert_eq!(again.resolved(), resolved);
    assert_eq!(run(&again).digest(), run(&scenario).digest());
    let capture = run(&scenario).write_capture(0, Vec::new());
    assert!(capture.is_ok());
}

#[test]
fn captures_keep_128_octets_of_each_packet_or_the_number_that_the_scenario_sets() {
    let most = |record: &str| {
        let scenario = Scenario::parse("web.toml", &format!("{WEB}\n{record}")).unwrap();
        let file = run(&scenario).write_capture(0, Vec::new()).unwrap();
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        let mut most = (0, 0);
        while let Some(packet) = reader.next_packet().unwrap() {
            most = most.max((packet.bytes.len(), packet.original_bytes));
        }
        most
    };
    let (all, wire) = most("[record]\nsnap = \"65535 B\"");
    assert!(all == wire as usize && wire > 128, "{wire}");
    assert_eq!(most(""), (128, wire));
    assert_eq!(most("[record]\nsnap = \"60 B\""), (60, wire));
    for snap in ["39 B", "66 kB"] {
        let text = format!("{WEB}\n[record]\nsnap = \"{snap}\"");
        let error = Scenario::parse("web.toml", &text).expect_err(snap).to_string();
        assert!(error.contains("write a size from 40 B to 65535 B"), "{error}");
    }
}

#[test]
fn each_mistake_about_requests_is_reported_with_its_fix() {
    for [from, to, says, fix] in [
        ["send    = \"200 B\"", "", "a request cannot be unlimited", "as in `send = \"200 B\"`"],
        ["\"1000 B\"", "\"0 B\"", "the reply is empty", "such as `20 kB`"],
        ["\"1000 B\"", "\"1000000 TB\"", "", ""],
        ["reply = \"1000 B\", ", "", "the key `reply` is missing", "add `reply"],
        ["requests = 3", "requests = 0", "`0` is out of range", "1 to 100000"],
        ["think =", "thinks =", "unknown key `thinks`", "did you mean `think`?"],
        ["app     = {", "app = \"request\" #", "`request` is not known here", "or a table"],
    ] {
        assert!(WEB.contains(from), "{from}");
        let error = Scenario::parse("web.toml", &WEB.replace(from, to)).expect_err(to).to_string();
        assert!(error.contains(says) && error.contains(fix), "{to}: {error}");
    }
}

/// Each message begins a new packet. So the number of a packet depends on where messages begin, and
/// not only on the octets before the packet.
#[test]
fn the_numbers_of_packets_continue_from_message_to_message() {
    // A reply of 20 kB has 14 packets, and the last of them has 1176 octets.
    let base = [
        ("flows.web.app.reply", "20 kB"),
        ("flows.web.app.requests", "5"),
        ("flows.web.tcp.nagle", "false"),
        ("links.wire.rate", "8 Mbit/s"),
    ];
    let lossless = results(&base);
    let segments = lossless.table("segments").unwrap();
    let (directions, len) = (directions(segments), small(segments, "len_bytes"));
    let numbers: Vec<i64> = whole(segments, "packet");
    let replies = (0..len.len()).filter(|row| directions[*row] == "reverse" && len[*row] > 0);
    let mut numbers: Vec<i64> = replies.map(|row| numbers[row]).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers, (1..=70).collect::<Vec<i64>>());
    for (way, number, seq) in [(1, 14, 18_825), (1, 15, 20_001), (1, 70, 98_825), (0, 3, 401)] {
        let mut ways = ["\"none\"".to_owned(), "\"none\"".to_owned()];
        ways[way] = format!("{{ packets = [{number}] }}");
        let loss = format!("[{}]", ways.join(", "));
        let mut values = base.to_vec();
        values.push(("links.wire.loss", &loss));
        let results = results(&values);
        let drops = results.table("drops").unwrap();
        assert_eq!(drops.rows(), 1, "{loss}");
        let id = unsigned(drops, "id")[0];
        let segments = results.table("segments").unwrap();
        let row = unsigned(segments, "id").iter().position(|own| *own == id).unwrap();
        assert_eq!(whole(segments, "seq")[row], seq, "{loss}");
        assert_eq!(whole(drops, "packet"), [number], "{loss}");
    }
}

fn unsigned(table: &Table, name: &str) -> Vec<u64> {
    let Some(Data::U64(all)) = table.column(name) else { panic!("{name}") };
    all.clone()
}

fn small(table: &Table, name: &str) -> Vec<u16> {
    let Some(Data::U16(all)) = table.column(name) else { panic!("{name}") };
    all.clone()
}
