//! Tests of whole scenarios: how they are read, written out and run.

mod bounds;
mod foreign;
mod kernel;
mod link_changes;
mod mistakes;
mod populations;
mod requests;
mod slots;
mod sweeps;
mod switches;

use netspurt::record::Data;
use netspurt::results::Results;
use netspurt::units::Time;

use super::*;

/// Two links from node `a` over `b` to `c`, and a flow `x` from `a` to `c`. Most tests change a
/// part of this text.
const CHAIN: &str = r#"
stop = "10 s"
[links]
lan   = { between = ["a", "b"], rate = "10 Mbit/s" }
modem = { between = ["b", "c"], rate = "9600 bit/s", delay = "150 ms", queue = "3 packets" }
[flows.x]
from = "a"
to   = "c"
send = "20 segments"
tcp  = { recovery = "reno" }
"#;

/// The error for [`CHAIN`] with the text `to` in place of the text `from`.
fn error_of(from: &str, to: &str) -> ScenarioError {
    assert!(CHAIN.contains(from), "{from}");
    Scenario::parse("x.toml", &CHAIN.replace(from, to)).expect_err(to)
}

/// Simulates the scenario to its end.
fn run(scenario: &Scenario) -> Results {
    let mut run = scenario.simulate();
    run.advance_to(run.stop());
    run.finish()
}

fn chain() -> Scenario {
    Scenario::parse("x.toml", CHAIN).unwrap()
}

#[test]
fn reading_a_resolved_scenario_gives_the_same_text_and_the_same_results() {
    let text = chain().resolved();
    let again = Scenario::parse("resolved", &text).unwrap();
    assert_eq!(again.resolved(), text);
    assert_eq!(run(&again).digest(), run(&chain()).digest());
    for spelt_out in ["receive_window", "phase", "framing", "tables", "spy", "seed", "profile"] {
        assert!(text.contains(spelt_out), "{spelt_out} is missing in\n{text}");
    }
}

#[test]
fn a_short_form_has_the_same_result_as_its_links_written_out() {
    let links = r#"
        stop = "9 s"
        [links]
        "a-b" = { between = ["a", "b"], rate = "1 Mbit/s", loss = { probability = 0.1 } }
        "b-c" = { between = ["b", "c"], rate = "90 kbit/s", queue = "5 packets" }
        [flows.x]
        from = "a"
        to = "c"
    "#;
    let path = r#"
        stop = "9 s"
        [path]
        nodes = ["a", "b", "c"]
        links = [
            { rate = "1 Mbit/s", loss = { probability = 0.1 } },
            { rate = "90 kbit/s", queue = "5 packets" },
        ]
        [flows.x]
        from = "a"
        to = "c"
    "#;
    let digest = |text| run(&Scenario::parse("x", text).unwrap()).digest();
    assert_eq!(digest(links), digest(path));
}

#[test]
fn recording_changes_no_flow() {
    let base = "stop = \"20 s\"\n".to_owned() + &CHAIN.replace("stop = \"10 s\"", "");
    let lossy = base.replace("queue = \"3 packets\"", "loss = { probability = 0.05 }");
    let scenario = Scenario::parse("x", &lossy).unwrap();
    let silent = scenario.with(&[("record.tables", "[]")]).unwrap();
    let [all, none] = [run(&scenario), run(&silent)];
    assert_eq!(all.flows_digest(), none.flows_digest());
    assert!(all.table("segments").is_some() && none.table("segments").is_none());
}

#[test]
fn stopping_and_continuing_a_run_changes_nothing() {
    let scenario = chain();
    let mut stepped = scenario.simulate();
    for step in 1..200 {
        stepped.advance_to(Time::from_nanos(step * 50_000_001));
    }
    assert_eq!(stepped.finish().digest(), run(&scenario).digest());
}

#[test]
fn the_placeholder_i_stands_for_the_number_of_a_flow_in_its_group() {
    let text = r#"
        stop = "2 s"
        [dumbbell]
        pairs = 3
        access = { rate = "10 Mbit/s" }
        bottleneck = { rate = "1 Mbit/s" }
        [flows.f]
        from = "west{i}"
        to = "east{i}"
        count = 3
        every = "10 ms"
        send = "2 segments"
    "#;
    let results = run(&Scenario::parse("x", text).unwrap());
    let names: Vec<&str> = results.names().flow_names.iter().map(String::as_str).collect();
    assert_eq!(names, ["f.0", "f.1", "f.2"]);
    let Some(Data::OptionalI64(ends)) = results.table("flows").unwrap().column("finished_ns")
    else {
        panic!("no ends")
    };
    assert!(ends.exist().iter().all(|exists| *exists));
    let error = Scenario::parse("x", &text.replace("count = 3", "count = 4")).unwrap_err();
    assert!(error.message.contains("`west3`"), "{error}");
}

#[test]
fn the_schema_has_the_keys_of_links_and_flows_and_queues_and_records() {
    let schema = schema().to_string();
    for key in
        ["between", "initial_window", "limited_transmit", "spy", "timeline", "stop", "fq-codel"]
    {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
}

#[test]
fn a_queue_with_an_aqm_is_written_and_read_back_with_the_same_results() {
    let with = |queue: &str| {
        let text = CHAIN.replace("\"3 packets\"", queue).replace("20 segments", "unlimited");
        let scenario = Scenario::parse("x.toml", &text).unwrap();
        let resolved = scenario.resolved();
        let again = Scenario::parse("resolved", &resolved).unwrap();
        assert_eq!(again.resolved(), resolved);
        let results = run(&scenario);
        assert_eq!(run(&again).digest(), results.digest());
        (resolved, results.flows_digest())
    };
    let algorithms = [
        ("{ red = {} }", "[links.modem.queue.red]", "wq = 0.002"),
        ("{ codel = { limit = \"9 packets\" } }", "interval = \"100 ms\"", "limit = \"9 packets\""),
        ("{ fq-codel = {} }", "quantum = \"1514 B\"", "flows = 1024"),
        ("{ pie = { ecn = true } }", "max_burst = \"150 ms\"", "mark_ecnth = 0.1"),
    ];
    let mut digests = vec![with("\"1000 packets\"").1];
    for (queue, one, other) in algorithms {
        let (resolved, digest) = with(queue);
        assert!(resolved.contains(one) && resolved.contains(other), "{resolved}");
        digests.push(digest);
    }
    // A modem of 9600 bit/s is slow enough for CoDel to act within ten seconds.
    assert_ne!(digests[0], digests[2]);
    let both = with("[{ codel = {} }, \"3 packets\"]").0;
    assert!(both.contains("target") && both.contains("\"3 packets\""), "{both}");
}

/// Two pairs of hosts with a bottleneck between them. There is one flow, and a group of two flows.
const DUMBBELL: &str = r#"
stop = "5 s"
[dumbbell]
pairs = 2
access = { rate = "10 Mbit/s" }
bottleneck = { rate = "1 Mbit/s" }
[flows.bulk]
from = "west0"
to = "east0"
[flows.short]
from = "west{i}"
to = "east{i}"
start = "2 s"
count = 2
every = "1 s"
send = "5 segments"
"#;

#[test]
fn a_timer_that_expires_with_nothing_outstanding_is_not_a_timeout() {
    for recovery in ["tahoe", "reno", "newreno", "sack", "fack"] {
        let values = [("flows.x.tcp.recovery", recovery), ("stop", "100 s")];
        let results = run(&chain().with(&values).unwrap());
        let column = |table: &str, name| results.table(table).unwrap().column(name).cloned();
        let Some(Data::Bool(fired)) = column("rto", "fired") else { panic!() };
        let Some(Data::I64(timeouts)) = column("flows", "timeouts") else { panic!() };
        let Some(Data::OptionalI64(ends)) = column("flows", "finished_ns") else { panic!() };
        assert!(
            ends.at(0).is_some_and(|end| end < 50_000_000_000),
            "{recovery}: the transfer must end before the run, so that the connection is idle"
        );
        assert_eq!(fired.iter().filter(|f| **f).count() as i64, timeouts[0], "{recovery}");
    }
}

#[test]
fn the_table_of_links_counts_only_packets_that_were_sent_before_the_end() {
    for stop in ["1 s", "7 s", "10 s"] {
        let results = run(&chain().with(&[("stop", stop), ("flows.x.send", "unlimited")]).unwrap());
        let number = |name: &str| match results.table("links").unwrap().column(name) {
            Some(Data::I64(values)) => values.clone(),
            _ => panic!("no {name}"),
        };
        // Links are in the order of the file, each with a row for forward and one for reverse. So
        // row 2, counted from 0, is the modem's forward direction.
        let nanos = i128::from(results.stop().as_nanos());
        let bits = i128::from(number("carried_bytes")[2]) * 8;
        assert!(bits * 1_000_000_000 <= 9600 * nanos, "the link carried {bits} bits by {stop}");
        let full = 8 * (number("carried_bytes")[2] + 1000) as i128;
        assert!(
            full * 1_000_000_000 > 9600 * (nanos - 1_000_000_000),
            "the modem was not busy all the time"
        );
        assert_eq!(number("carried")[2] * 1000, number("carried_bytes")[2]);
    }
}

#[test]
fn tahoe_is_never_in_recovery() {
    let set = |recovery| run(&chain().with(&[("flows.x.tcp.recovery", recovery)]).unwrap());
    let was_in_recovery =
        |results: Results| match results.table("cwnd").unwrap().column("in_recovery") {
            Some(Data::Bool(flags)) => flags.iter().any(|flag| *flag),
            _ => panic!("no column"),
        };
    let fast_retransmits =
        |results: &Results| match results.table("flows").unwrap().column("fast_retransmits") {
            Some(Data::I64(values)) => values[0],
            _ => panic!("no column"),
        };
    assert!(fast_retransmits(&set("tahoe")) > 0, "packets were lost");
    assert!(!was_in_recovery(set("tahoe")));
    assert!(was_in_recovery(set("reno")));
}

#[test]
fn every_simulated_profile_is_written_out_and_read_back_with_the_same_meaning() {
    for profile in ["ns-2", "reno-1998", "reno-2005", "rfc-2026", "plain", "linux-6"] {
        let scenario = chain().with(&[("flows.x.tcp", "{}"), ("flows.x.profile", profile)]);
        let scenario = scenario.unwrap();
        let resolved = scenario.resolved();
        let again = Scenario::parse("resolved", &resolved).unwrap();
        assert_eq!(again.resolved(), resolved);
        assert_eq!(run(&again).digest(), run(&scenario).digest(), "{profile}");
    }
}

#[test]
fn no_table_has_events_after_the_end() {
    let busy = CHAIN.replace("queue = \"3 packets\"", "loss = { probability = 0.5 }");
    for stop in ["700 ms", "3 s", "10 s"] {
        let scenario = Scenario::parse("x.toml", &busy).unwrap();
        let results = run(&scenario.with(&[("stop", stop)]).unwrap());
        let end = results.stop().as_nanos().cast_signed();
        let mut rows = 0;
        for table in results.tables() {
            if let Some(Data::I64(times)) = table.column("t_ns") {
                assert!(times.iter().all(|t| *t <= end), "{} after {stop}", table.name);
                rows += times.len();
            }
        }
        assert!(rows > 0);
        let Some(Data::I64(lost)) = results.table("links").unwrap().column("lost") else {
            panic!("no column")
        };
        let drops = results.table("drops").unwrap().rows();
        assert_eq!(usize::try_from(lost.iter().sum::<i64>()).unwrap(), drops, "{stop}");
    }
}

/// Four echo probes over one link.
const ECHO_PROBES: &str = r#"
stop = "10 s"
links = { line = { between = ["a", "b"], rate = "64 kbit/s" } }
[echo_probes.v]
from = "a"
to = "b"
lengths = ["40 B", "256 B"]
count = 4
"#;

#[test]
fn echo_probes_and_mtus_are_written_and_read_back_with_the_same_results() {
    let lengths = "{ from = \"40 B\", to = \"256 B\", rule = \"random\" }";
    let scenario = Scenario::parse("x.toml", ECHO_PROBES).unwrap();
    let values = [
        ("echo_probes.v.lengths", lengths),
        ("links.line.mtu", "[\"68 B\", \"100 B\"]"),
        ("links.line.too_big", "[\"fragment\", \"drop\"]"),
    ];
    let scenario = scenario.with(&values).unwrap();
    let resolved = scenario.resolved();
    for part in ["step = \"1 B\"", "timeout = \"30 s\"", "timer = \"60 s\"", "\"68 B\"", "drop"] {
        assert!(resolved.contains(part), "{part}: {resolved}");
    }
    let again = Scenario::parse("resolved", &resolved).unwrap();
    assert_eq!(again.resolved(), resolved);
    assert_eq!(run(&again).digest(), run(&scenario).digest());
    let other = scenario.with(&[("seed", "2")]).unwrap();
    assert_ne!(run(&other).digest(), run(&scenario).digest(), "the seed decides the draws");
}

/// The link loses one packet of data in a hundred, and its queue is never full.
#[test]
fn westwood_is_faster_than_reno_over_a_link_that_loses_packets_at_random() {
    let text = r#"
        stop = "300 s"
        path = { nodes = ["a", "b"], links = [
          { rate = "10 Mbit/s", delay = "50 ms", loss = [{ probability = 0.01 }, "none"] }] }
        [flows.x]
        from = "a"
        to = "b"
        profile = "rfc-2026"
        send = "5 MB"
    "#;
    let scenario = Scenario::parse("x.toml", text).unwrap();
    let seconds = |algorithm: &str| {
        let run = run(&scenario.with(&[("flows.x.tcp.congestion", algorithm)]).unwrap());
        match run.table("flows").unwrap().column("finished_ns") {
            Some(Data::OptionalI64(ends)) => ends.at(0).expect("an end") / 1_000_000_000,
            _ => panic!("no column"),
        }
    };
    let (reno, westwood) = (seconds("reno"), seconds("westwood"));
    assert!(3 * westwood < 2 * reno, "westwood {westwood} s, reno {reno} s");
}

/// Returns a whole number from the table `flows`: the value of the first flow in the column `name`.
fn number(results: &Results, name: &str) -> i64 {
    match results.table("flows").unwrap().column(name) {
        Some(Data::OptionalI64(values)) => values.at(0).expect("a number"),
        Some(Data::I64(values)) => values[0],
        _ => panic!("no {name}"),
    }
}

/// One transfer over one link with a round trip of 100 ms.
const TRANSFER: &str = r#"
    stop = "400 s"
    [links.l]
    between = ["a", "b"]
    rate = "100 Mbit/s"
    delay = "50 ms"
    [flows.f]
    from = "a"
    to = "b"
    send = "1000 kB"
    profile = "rfc-2026"
"#;

/// A receive window of 20 000 octets has room for 13 full segments and a part of another. The
/// sender waits for room for a full segment (silly window syndrome avoidance, RFC 9293 §3.8.6.2.1).
#[test]
fn rwnd_limits_a_sender_that_waits_for_room_for_a_full_segment() {
    let tcp = "{ receive_buffer = \"20000 B\", acks = \"every segment\" }";
    let scenario = Scenario::parse("x.toml", TRANSFER).unwrap();
    let results = run(&scenario.with(&[("flows.f.tcp", tcp)]).unwrap());
    let (took, held) = (number(&results, "finished_ns"), number(&results, "rwnd_limited_ns"));
    assert!(held * 10 > took * 9, "rwnd limited the sender for {held} ns of {took} ns");
}

/// RFC 6298 §2.1: the first RTO is 1 s.
#[test]
fn the_time_before_a_retransmitted_syn_counts_as_waiting() {
    let scenario = Scenario::parse("x.toml", TRANSFER).unwrap();
    let lost = scenario.with(&[("links.l.loss", "[{ nth = [1] }, \"none\"]")]).unwrap();
    assert_eq!(number(&run(&lost), "waited_ns"), 1_000_000_000);
    let short = lost.with(&[("flows.f.send", "1000 B")]).unwrap();
    assert_eq!(number(&run(&short), "cwnd_limited_ns"), 0, "cwnd does not limit a handshake");
    assert_eq!(number(&run(&scenario), "waited_ns"), 0);
}

/// Ten segments leave at 0.1 s, and their ACKs are lost. At 0.3 s, the tail loss probe sends the
/// eleventh segment, which is the last segment.
#[test]
fn cwnd_no_longer_limits_the_sender_when_a_tail_loss_probe_has_sent_the_last_octets() {
    let scenario = Scenario::parse("x.toml", TRANSFER).unwrap();
    let probed = scenario.with(&[
        ("links.l.rate", "unlimited"),
        ("links.l.loss", "[\"none\", { nth = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11] }]"),
        ("flows.f.send", "15928 B"),
        ("flows.f.tcp", "{ congestion = \"reno\", acks = \"every segment\" }"),
    ]);
    let results = run(&probed.unwrap());
    assert_eq!(number(&results, "cwnd_limited_ns"), 200_000_000);
    assert_eq!(number(&results, "retransmissions"), 0);
}

/// The timer fires at 1.2, 3.2 and 7.2 s. The sender gives up at 15.2 s, and later arrivals change
/// nothing.
#[test]
fn the_repairing_time_of_a_flow_ends_when_the_flow_gives_up() {
    let scenario = Scenario::parse("x.toml", TRANSFER).unwrap();
    let from_third: Vec<String> = (3..100).map(|nth: u32| nth.to_string()).collect();
    let loss = format!("[{{ nth = [{}] }}, \"none\"]", from_third.join(", "));
    let slow = "{ timeline = [[\"0 s\", \"50 ms\"], [\"1 s\", \"30 s\"]], between = \"step\" }";
    let dead = scenario.with(&[
        ("links.l.rate", "unlimited"),
        ("links.l.order", "overtaking"),
        ("links.l.delay", &format!("[\"50 ms\", {slow}]")),
        ("links.l.loss", &loss),
        ("flows.f.send", "100 B"),
        ("flows.f.app", "{ reply = \"1000 B\", requests = 2 }"),
        ("flows.f.tcp", "{ retries = 3, tlp = false, nagle = false }"),
    ]);
    assert_eq!(number(&run(&dead.unwrap()), "repairing_ns"), 14_000_000_000);
}

/// The first RTO is 1 s. The timer fires again 2 s later, and the sender gives up another 4 s
/// later.
#[test]
fn a_senders_last_timeout_has_a_row_but_no_retransmission_and_no_waiting_time() {
    let scenario = Scenario::parse("x.toml", TRANSFER).unwrap();
    let dead = scenario.with(&[
        ("links.l.loss", "[{ probability = 1.0 }, \"none\"]"),
        ("flows.f.tcp", "{ syn_retries = 2 }"),
        ("record.tables", "[\"rto\"]"),
    ]);
    let results = run(&dead.unwrap());
    let rto = results.table("rto").unwrap();
    let (Some(Data::I64(at)), Some(Data::Bool(fired))) = (rto.column("t_ns"), rto.column("fired"))
    else {
        panic!("{rto:?}")
    };
    let fired: Vec<i64> = at.iter().zip(fired).filter(|(_, it)| **it).map(|(at, _)| *at).collect();
    assert_eq!(fired, [1_000_000_000, 3_000_000_000, 7_000_000_000]);
    assert_eq!(number(&results, "timeouts"), 3);
    assert_eq!(number(&results, "waited_ns"), 3_000_000_000);
}

#[test]
fn the_table_of_flows_reports_a_flow_that_gave_up() {
    let scenario = Scenario::parse("x.toml", TRANSFER).unwrap();
    let dead = scenario.with(&[
        ("links.l.loss", "[{ probability = 1.0 }, \"none\"]"),
        ("flows.f.tcp", "{ syn_retries = 2 }"),
    ]);
    for (scenario, says) in [(&scenario, ""), (&dead.unwrap(), "timed-out")] {
        let results = run(scenario);
        match results.table("flows").unwrap().column("failure") {
            Some(Data::Tag { codes, texts }) => {
                assert_eq!(texts[usize::from(codes[0])], says);
            }
            _ => panic!("no column"),
        }
    }
}

#[test]
fn if_a_key_is_missing_at_the_top_of_the_file_the_error_shows_no_line() {
    for first in ["title = \"x\"\n", "[record]\n"] {
        let error = Scenario::parse("x.toml", first).unwrap_err();
        let fix = "add `stop = ...` before the first table";
        let text = format!("the key `stop` is missing\n   --> x.toml\n    = {fix}");
        assert_eq!(error.to_string(), text);
    }
}
