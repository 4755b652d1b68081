use super::*;
use crate::units::Time;

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

fn slip(from: &str, to: &str) -> ScenarioError {
    assert!(CHAIN.contains(from), "{from}");
    Scenario::parse("x.toml", &CHAIN.replace(from, to)).expect_err(to)
}

fn run(scenario: &Scenario) -> Results {
    let mut run = scenario.simulate();
    run.advance_to(run.stop());
    run.finish()
}

fn chain() -> Scenario {
    Scenario::parse("x.toml", CHAIN).unwrap()
}

#[test]
fn an_unknown_key_is_shown_where_it_stands_with_the_nearest_known_one() {
    let error = slip("recovery =", "recovry =");
    assert_eq!(
        error.to_string(),
        "unknown key `recovry`\n    --> x.toml:10:10\n 10 | tcp  = { recovry = \"reno\" }\
         \n    |          ^^^^^^^ did you mean `recovery`?"
    );
    assert_eq!(error.key, "flows.x.tcp.recovry");
}

/// What is replaced by what, and what the error and its fix say.
type Slip = [&'static str; 4];

const SLIPS: &[Slip] = &[
    ["\"9600 bit/s\"", "9600", "`9600` has no unit", "write `9600 bit/s`"],
    ["\"9600 bit/s\"", "\"9600 bps\"", "not a bit rate", "write `9600 bit/s`"],
    ["\"9600 bit/s\"", "\"0 bit/s\"", "not a bit rate", "a rate above zero, or `unlimited`"],
    ["\"9600 bit/s\"", "\"-5 bit/s\"", "not a bit rate", "a rate above zero, or `unlimited`"],
    ["\"9600 bit/s\"", "\"9600 ms\"", "not a bit rate", "one of the units bit/s"],
    ["\"9600 bit/s\"", "true", "wrong type: boolean", "a bit rate in quotes"],
    ["stop = \"10 s\"", "stop = \"10 s\"\nseed = \"x\"", "wrong type", "a whole number"],
    ["\"3 packets\"", "\"0 packets\"", "a queue for nothing", "1 packet"],
    ["\"3 packets\"", "\"3\"", "`3` has no unit", "write `3 packets`"],
    ["\"3 packets\"", "\"3 KB\"", "not a size in bytes", "write `3 kB`"],
    ["[\"b\", \"c\"]", "[\"b\", \"b\"]", "joins `b` to itself", "two nodes"],
    ["between = [\"b\", \"c\"], ", "", "joins no nodes", "add `between"],
    ["to   = \"c\"", "to   = \"d\"", "no link leads to a node `d`", "did you mean"],
    ["to   = \"c\"", "to   = \"a\"", "ends where it starts", "another node"],
    ["\"reno\"", "\"renno\"", "`renno` is not known here", "did you mean `reno`?"],
    ["send = \"20 segments\"", "start = \"10 s\"", "starts when the run has ended", "stop"],
    ["\"20 segments\"", "\"0 B\"", "sends nothing", "at least"],
    ["stop = \"10 s\"", "stop = \"0 s\"", "ends at once", "above zero"],
    ["stop = \"10 s\"", "", "the key `stop` is missing", "add `stop = ...`"],
    ["rate = \"10 Mbit/s\"", "reorder = 1, rate = \"1 bit/s\"", "wrong type", ""],
    [
        "queue = \"3 packets\"",
        "reorder = { nth = [1], by = \"1 s\" }",
        "reorders nothing",
        "add `order = \"overtaking\"`",
    ],
    ["queue = \"3 packets\"", "loss = { probability = 1.5 }", "1.5 is not a prob", "from 0 to 1"],
    ["queue = \"3 packets\"", "loss = { packets = [0] }", "out of range", "from 1"],
    ["queue = \"3 packets\"", "loss = {}", "names no packets", "write \"none\""],
    ["tcp  = {", "tcp  = { clock = { tick = \"1 ms\", phase = \"2 ms\" }, ", "phase", "tick"],
    ["tcp  = {", "tcp  = { packet_size = \"40 B\", ", "no packet is 40 B long", "41 B"],
    ["tcp  = {", "tcp  = { initial_window = \"0 segments\", ", "sends nothing", "1 segment"],
    ["tcp  = {", "tcp  = { initial_window = \"4 packets\", ", "segments", "`4 segments`"],
    ["tcp  = {", "record = { spy = [\"a\"] }\ntcp  = {", "unknown key `record`", "known here"],
];

/// The same of managed queues.
const SLIPS_OF_LAWS: &[Slip] = &[
    ["\"3 packets\"", "{ codle = {} }", "unknown key `codle`", "did you mean `codel`?"],
    ["\"3 packets\"", "{}", "obeys one law", "`fq-codel`"],
    ["\"3 packets\"", "{ red = {}, pie = {} }", "obeys one law", "one of"],
    ["\"3 packets\"", "{ codel = { limit = \"0 B\" } }", "a queue for nothing", "1 packet"],
    ["\"3 packets\"", "{ codel = { interval = \"0 s\" } }", "no time at all", "above zero"],
    ["\"3 packets\"", "{ red = { min_th = \"5 kB\" } }", "in one unit", "both in bytes"],
    ["\"3 packets\"", "{ red = { max_th = \"5 packets\" } }", "not above `min_th`", "between"],
    ["\"3 packets\"", "{ red = { wq = 2 } }", "2 is not a probability", "0 to 1"],
    ["\"3 packets\"", "{ fq-codel = { flows = 0 } }", "0 queues are none", "from 1"],
    ["\"3 packets\"", "{ fq-codel = { quantum = \"0 B\" } }", "no packet is 0 B long", "1 B"],
    ["\"3 packets\"", "{ pie = { alpha = -1 } }", "-1 is no gain", "zero or more"],
    ["\"3 packets\"", "{ pie = { t_update = \"0 s\" } }", "no time at all", "above zero"],
];

const SLIPS_OF_SIZE: &[Slip] = &[
    ["delay = \"150 ms\"", "delay = { timeline = [] }", "at least one point", "as in [["],
    ["stop = \"10 s\"", "stop = \"99999999999 h\"", "not a time", "at most `99999 h`"],
    ["stop = \"10 s\"", "stop = \"10 s\"\nseed = -1", "out of range", "from 0 to 2^63 - 1"],
    ["to   = \"c\"", "to   = \"c\"\ncount = 4294967296", "out of range", "from 1 to 100000"],
    ["to   = \"c\"", "to   = \"c\"\ncount = 0", "out of range", "from 1 to 100000"],
    ["\"9600 bit/s\"", "\"18446744073709551615 bit/s\"", "not a bit rate", "at most `9"],
    ["tcp  = {", "tcp  = { initial_window = \"99999999999 segments\", ", "too large", "at most"],
    ["tcp  = {", "tcp  = { receive_window = \"4294967295 segments\", ", "too large", "1000000"],
    [
        "tcp  = {",
        "tcp  = { packet_size = \"60 kB\", receive_window = \"20000 segments\", ",
        "more than 2^30 octets",
        "at most `17907 segments`",
    ],
    ["\"3 packets\"", "\"10 B\"", "no room for a packet of 1000 B", "at least `1000 B`"],
    ["\"reno\"", "5", "`5` is no word", "\"newreno\""],
    ["[links]", "[path]\nnodes = []\nlinks = []\n[links]", "at least two nodes", "as in"],
    ["[links]", "[dumbbell]\npairs = 4294967295\n[links]", "out of range", "to 100000"],
];

/// The same of links with a limit, and of hosts that put together what they cut.
const SLIPS_OF_MTU: &[Slip] = &[
    ["queue = \"3 packets\"", "mtu = \"67 B\"", "takes 67 B at most", "68 B to 65535 B"],
    ["queue = \"3 packets\"", "mtu = [\"1500 B\", \"66 kB\"]", "66 kB at most", "68 B"],
    ["queue = \"3 packets\"", "mtu = 576", "`576` has no unit", "write `576 B`"],
    ["queue = \"3 packets\"", "too_big = \"drop\"", "nothing is too big", "add `mtu`"],
    ["\"3 packets\"", "\"571 B\", mtu = \"576 B\"", "no room for a packet of 572 B", "`572 B`"],
    [
        "stop = \"10 s\"",
        "stop = \"10 s\"\nreassembly = { timer = \"0 s\" }",
        "no time to wait",
        "above zero",
    ],
];

#[test]
fn each_slip_names_the_key_the_value_and_the_fix() {
    for [from, to, message, fix] in
        SLIPS.iter().chain(SLIPS_OF_SIZE).chain(SLIPS_OF_LAWS).chain(SLIPS_OF_MTU)
    {
        let error = slip(from, to);
        assert!(error.message.contains(message), "{to}: {error}");
        assert!(error.fix.contains(fix), "{to}: {error}");
        assert!(error.place.is_some() && !error.key.is_empty() || to.is_empty(), "{to}: {error}");
    }
}

#[test]
fn a_route_that_takes_no_time_would_never_end() {
    let text = CHAIN.replace("10 Mbit/s", "unlimited").replace("9600 bit/s", "unlimited");
    assert!(Scenario::parse("x.toml", &text).is_ok(), "150 ms are enough");
    for standstill in [
        text.replace("150 ms", "0 ms"),
        // From 5 s on, whatever was before.
        text.replace("\"150 ms\"", "{ timeline = [[\"0 s\", \"10 ms\"], [\"5 s\", \"0 s\"]] }"),
        // 8000 bits in less than 10^-9 s.
        text.replace("150 ms", "0 ms").replace("unlimited", "900000 Tbit/s"),
    ] {
        let error = Scenario::parse("x.toml", &standstill).unwrap_err();
        assert!(error.message.contains("takes no time"), "{error}");
    }
    // A packet there takes 8 ns, an ACK back a third of one.
    let fast = text.replace("150 ms", "0 ms").replace("unlimited", "1 Tbit/s");
    assert!(Scenario::parse("x.toml", &fast).is_ok());
}

#[test]
fn a_network_in_two_parts_has_no_route() {
    let error = slip("between = [\"b\", \"c\"]", "between = [\"d\", \"c\"]");
    assert_eq!(error.message, "no route from `a` to `c`");
    assert_eq!(error.fix, "no chain of links joins them");
}

#[test]
fn a_file_that_is_none_says_so() {
    let message = |text: &str| Scenario::parse("x.toml", text).unwrap_err().to_string();
    assert!(message("").starts_with("the scenario is empty\n   --> x.toml"));
    assert!(message("stop = ").starts_with("not TOML"), "{}", message("stop = "));
    assert!(message("stop = \"1 s\"").contains("has no links"));
    assert!(message("stop = \"1 s\"\n[flows]").contains("has no links"));
}

#[test]
fn a_value_set_from_outside_is_blamed_where_it_was_set() {
    let set = |path, value| chain().with(&[(path, value)]);
    let slower = set("links.modem.rate", "2400 bit/s").unwrap();
    assert!(slower.resolved().contains("2400 bit/s"));
    let error = set("links.modem.rate", "0 bit/s").unwrap_err();
    assert!(error.to_string().contains("x.toml with links.modem.rate = 0 bit/s"), "{error}");
    assert_eq!((&*error.key, &*error.value), ("links.modem.rate", "0 bit/s"));
    let error = set("flows.x.tpc.recovery", "tahoe").unwrap_err();
    assert!(error.to_string().contains("unknown key `tpc`"), "{error}");
    // A mistake in the file itself is still shown in the file.
    let error = Scenario::parse("x.toml", CHAIN).unwrap();
    let error = error.with(&[("seed", "3"), ("flows.x.to", "nowhere")]).unwrap_err();
    assert!(error.message.contains("`nowhere`"), "{error}");
}

#[test]
fn the_resolved_scenario_is_the_same_scenario() {
    let text = chain().resolved();
    let again = Scenario::parse("resolved", &text).unwrap();
    assert_eq!(again.resolved(), text);
    assert_eq!(run(&again).digest(), run(&chain()).digest());
    for spelt_out in ["receive_window", "phase", "framing", "tables", "spy", "seed", "profile"] {
        assert!(text.contains(spelt_out), "{spelt_out} is missing in\n{text}");
    }
}

#[test]
fn short_forms_are_the_links_they_stand_for() {
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
fn how_often_a_run_is_stopped_on_its_way_changes_nothing() {
    let scenario = chain();
    let mut stepped = scenario.simulate();
    for step in 1..200 {
        stepped.advance_to(Time::from_nanos(step * 50_000_001));
    }
    assert_eq!(stepped.finish().digest(), run(&scenario).digest());
}

#[test]
fn a_group_of_flows_takes_the_hosts_that_i_names() {
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
    let names: Vec<&str> = results.names().flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["f.0", "f.1", "f.2"]);
    let Some(crate::record::Data::OptionalI64(ends)) =
        results.table("flows").unwrap().column("finished_ns")
    else {
        panic!("no ends")
    };
    assert!(ends.iter().all(Option::is_some));
    let error = Scenario::parse("x", &text.replace("count = 3", "count = 4")).unwrap_err();
    assert!(error.message.contains("`west3`"), "{error}");
}

#[test]
fn the_schema_knows_every_key_of_the_starting_point() {
    let schema = schema().to_string();
    for key in
        ["between", "initial_window", "limited_transmit", "spy", "timeline", "stop", "fq-codel"]
    {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
}

#[test]
fn a_managed_queue_is_spelt_out_and_runs_the_same_again() {
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
    let laws = [
        ("{ red = {} }", "[links.modem.queue.red]", "wq = 0.002"),
        ("{ codel = { limit = \"9 packets\" } }", "interval = \"100 ms\"", "limit = \"9 packets\""),
        ("{ fq-codel = {} }", "quantum = \"1514 B\"", "flows = 1024"),
        ("{ pie = { ecn = true } }", "max_burst = \"150 ms\"", "mark_ecnth = 0.1"),
    ];
    let mut digests = vec![with("\"1000 packets\"").1];
    for (queue, one, other) in laws {
        let (resolved, digest) = with(queue);
        assert!(resolved.contains(one) && resolved.contains(other), "{resolved}");
        digests.push(digest);
    }
    // A modem of 9600 bit/s is slow enough for CoDel and PIE to act within ten seconds.
    assert_ne!(digests[0], digests[2]);
    let both = with("[{ codel = {} }, \"3 packets\"]").0;
    assert!(both.contains("target") && both.contains("\"3 packets\""), "{both}");
}

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

fn setting(values: &[(&str, &str)]) -> String {
    let scenario = Scenario::parse("x.toml", DUMBBELL).unwrap();
    scenario.with(values).expect_err(&format!("{values:?}")).to_string()
}

#[test]
fn a_name_that_only_the_setting_has_is_the_settings_mistake() {
    assert_eq!(
        setting(&[("flows.blk.tcp.recovery", "sack")]),
        "no flow `blk`\n   --> x.toml with flows.blk.tcp.recovery = sack\
         \n    = did you mean `bulk`?"
    );
    assert!(setting(&[("flows.x.send", "1 segment")]).ends_with("the file has bulk, short"));
    assert!(setting(&[("links.x.rate", "1 Mbit/s")]).starts_with("no link `x`"));
    // A flow that is set as a whole is one.
    let scenario = Scenario::parse("x.toml", DUMBBELL).unwrap();
    let whole = [("flows.x.from", "west1"), ("flows.x.to", "east1")];
    assert!(scenario.with(&whole).is_ok());
}

#[test]
fn the_links_of_a_short_form_are_set_where_it_says_what_they_are_like() {
    for key in ["rate", "delay"] {
        let told = setting(&[(&format!("links.bottleneck.{key}"), "1 s")]);
        if key == "delay" {
            assert!(told.starts_with("`[dumbbell]` draws the link `bottleneck`"), "{told}");
            assert!(told.ends_with("write `dumbbell.bottleneck.delay`"), "{told}");
        }
    }
    let told = setting(&[("links.bottleneck.rate", "2 Mbit/s")]);
    assert!(told.ends_with("write `dumbbell.bottleneck.rate`"), "{told}");
    let told = setting(&[("links.west1.queue", "5 packets")]);
    assert!(told.ends_with("write `dumbbell.access.queue`"), "{told}");
    let chain = r#"
        stop = "9 s"
        path = { nodes = ["a", "b"], links = [{ rate = "1 Mbit/s" }] }
        flows = { x = { from = "a", to = "b" } }
    "#;
    let chain = Scenario::parse("x.toml", chain).unwrap();
    let told = chain.with(&[("links.a-b.rate", "2 Mbit/s")]).unwrap_err().to_string();
    assert!(told.starts_with("`[path]` draws the link `a-b`"), "{told}");
    assert!(told.contains("its entry 1 in the file"), "{told}");
}

#[test]
fn a_flow_that_starts_too_late_is_named_with_its_time_and_what_makes_it_late() {
    let told = setting(&[("flows.short.every", "4 s")]);
    assert!(told.starts_with("`short.1` would start at 6 s"), "{told}");
    assert!(told.contains("with flows.short.every = 4 s"), "{told}");
    let told = setting(&[("stop", "3 s")]);
    assert!(told.starts_with("`short.1` would start at 3 s"), "{told}");
    assert!(told.contains("with stop = 3 s"), "{told}");
    // Pairs for 20 flows, which the count then asks too much of.
    let told = setting(&[("dumbbell.pairs", "20"), ("flows.short.count", "20")]);
    assert!(told.contains("with flows.short.count = 20"), "{told}");
    assert!(told.ends_with("room for 3 of the 20 before the `stop` of 5 s"), "{told}");
    let text = DUMBBELL.replace("every = \"1 s\"", "every = \"4 s\"");
    let error = Scenario::parse("x.toml", &text).unwrap_err();
    assert_eq!(error.key, "flows.short.every");
    assert_eq!(error.place.unwrap().text, "every = \"4 s\"");
    let told = setting(&[("flows.bulk.start", "5 s")]);
    assert!(told.starts_with("`bulk` starts when the run has ended"), "{told}");
}

#[test]
fn all_names_at_the_least_distance_are_suggested() {
    let told = setting(&[("flows.bulk.from", "weast0")]);
    assert!(told.ends_with("did you mean `west0` or `east0`?"), "{told}");
}

#[test]
fn a_text_without_quotes_is_told_to_be_put_in_quotes() {
    for (from, to, fix) in [
        ("\"reno\"", "reno", "write `\"reno\"`"),
        ("\"reno\"", "tahoe", "write `\"tahoe\"`"),
        ("\"reno\"", "fack", "write `\"fack\"`"),
        ("\"reno\"", "newreno", "write `\"newreno\"`"),
        ("\"9600 bit/s\"", "9600 bit/s", "write `\"9600 bit/s\"`"),
        ("stop = \"10 s\"", "stop = 10 s # long", "write `\"10 s\"`"),
    ] {
        let error = slip(from, to);
        assert_eq!(error.message, "not TOML: a text without quotes", "{to}: {error}");
        assert_eq!(error.fix, fix);
        assert!(error.place.is_some());
    }
    for none in ["stop = ", "stop = \"1 s", "stop \"1 s\"", "[links"] {
        let error = Scenario::parse("x.toml", none).unwrap_err();
        assert!(!error.message.contains("without quotes"), "{none}: {error}");
    }
}

#[test]
fn a_timer_that_runs_out_with_nothing_outstanding_is_no_timeout() {
    for recovery in ["tahoe", "reno", "newreno", "sack", "fack"] {
        let values = [("flows.x.tcp.recovery", recovery), ("stop", "100 s")];
        let results = run(&chain().with(&values).unwrap());
        let column = |table: &str, name| results.table(table).unwrap().column(name).cloned();
        let Some(crate::record::Data::Bool(fired)) = column("rto", "fired") else { panic!() };
        let Some(crate::record::Data::I64(timeouts)) = column("flows", "timeouts") else {
            panic!()
        };
        let Some(crate::record::Data::OptionalI64(ends)) = column("flows", "finished_ns") else {
            panic!()
        };
        assert!(ends[0].is_some_and(|end| end < 50_000_000_000), "{recovery}: the rest is idle");
        assert_eq!(fired.iter().filter(|f| **f).count() as i64, timeouts[0], "{recovery}");
    }
}

#[test]
fn the_table_of_links_counts_what_was_sent_by_the_end_and_no_more() {
    for stop in ["1 s", "7 s", "10 s"] {
        let results = run(&chain().with(&[("stop", stop), ("flows.x.send", "unlimited")]).unwrap());
        let number = |name: &str| match results.table("links").unwrap().column(name) {
            Some(crate::record::Data::I64(values)) => values.clone(),
            _ => panic!("no {name}"),
        };
        // Links in the order of the file, each there and back: the modem's way there is third.
        let nanos = i128::from(results.stop().as_nanos());
        let bits = i128::from(number("carried_bytes")[2]) * 8;
        assert!(bits * 1_000_000_000 <= 9600 * nanos, "{bits} bits by {stop}");
        let full = 8 * (number("carried_bytes")[2] + 1000) as i128;
        assert!(full * 1_000_000_000 > 9600 * (nanos - 1_000_000_000), "busy all the time");
        assert_eq!(number("carried")[2] * 1000, number("carried_bytes")[2]);
    }
}

#[test]
fn tahoe_is_never_in_recovery() {
    let set = |recovery| run(&chain().with(&[("flows.x.tcp.recovery", recovery)]).unwrap());
    let ever = |results: Results| match results.table("cwnd").unwrap().column("in_recovery") {
        Some(crate::record::Data::Bool(flags)) => flags.iter().any(|flag| *flag),
        _ => panic!("no column"),
    };
    let repairs =
        |results: &Results| match results.table("flows").unwrap().column("fast_retransmits") {
            Some(crate::record::Data::I64(values)) => values[0],
            _ => panic!("no column"),
        };
    assert!(repairs(&set("tahoe")) > 0, "it had cause");
    assert!(!ever(set("tahoe")));
    assert!(ever(set("reno")));
}

#[test]
fn every_profile_is_spelt_out_and_means_the_same_again() {
    for profile in ["ns-2", "reno-1998", "reno-2005", "rfc-2026", "linux-6"] {
        let scenario = chain().with(&[("flows.x.tcp", "{}"), ("flows.x.profile", profile)]);
        let scenario = scenario.unwrap();
        let resolved = scenario.resolved();
        let again = Scenario::parse("resolved", &resolved).unwrap();
        assert_eq!(again.resolved(), resolved);
        assert_eq!(run(&again).digest(), run(&scenario).digest(), "{profile}");
    }
}

#[test]
fn no_table_tells_what_happens_after_the_end() {
    let busy = CHAIN.replace("queue = \"3 packets\"", "loss = { probability = 0.5 }");
    for stop in ["700 ms", "3 s", "10 s"] {
        let scenario = Scenario::parse("x.toml", &busy).unwrap();
        let results = run(&scenario.with(&[("stop", stop)]).unwrap());
        let end = results.stop().as_nanos().cast_signed();
        let mut rows = 0;
        for table in results.tables() {
            if let Some(crate::record::Data::I64(times)) = table.column("t_ns") {
                assert!(times.iter().all(|t| *t <= end), "{} after {stop}", table.name);
                rows += times.len();
            }
        }
        assert!(rows > 0);
        let Some(crate::record::Data::I64(lost)) = results.table("links").unwrap().column("lost")
        else {
            panic!("no column")
        };
        let drops = results.table("drops").unwrap().rows();
        assert_eq!(usize::try_from(lost.iter().sum::<i64>()).unwrap(), drops, "{stop}");
    }
}

#[test]
fn a_switch_of_another_profile_is_an_error_that_says_so() {
    let told = |values: &[(&str, &str)]| chain().with(values).unwrap_err().to_string();
    let ns = told(&[("flows.x.tcp.tlp", "true")]);
    assert!(ns.starts_with("ns-2's senders have no `tlp`"), "{ns}");
    let rfc = told(&[("flows.x.tcp", "{ bugfix = true }"), ("flows.x.profile", "rfc-2026")]);
    assert!(rfc.starts_with("`bugfix` is a switch of ns-2's senders"), "{rfc}");
    let bbr = "{ congestion = \"bbr\", abc_limit = \"2 segments\" }";
    let bbr = told(&[("flows.x.tcp", bbr), ("flows.x.profile", "rfc-2026")]);
    assert!(bbr.starts_with("BBR has a start-up of its own"), "{bbr}");
}

const VOLLEYS: &str = r#"
stop = "10 s"
links = { line = { between = ["a", "b"], rate = "64 kbit/s" } }
[volleys.v]
from = "a"
to = "b"
lengths = ["40 B", "256 B"]
count = 4
"#;

#[test]
fn each_slip_of_volleys_names_the_key_and_the_fix() {
    let cases = [
        ("[\"40 B\", \"256 B\"]", "[]", "no length at all", "at least one"),
        ("[\"40 B\", \"256 B\"]", "[\"27 B\"]", "no request is 27 B long", "28 B"),
        ("[\"40 B\", \"256 B\"]", "\"40 B\"", "wrong type", "a list or a table"),
        (
            "[\"40 B\", \"256 B\"]",
            "{ from = \"50 B\", to = \"40 B\" }",
            "without lengths",
            "`from` at most `to`",
        ),
        (
            "[\"40 B\", \"256 B\"]",
            "{ from = \"40 B\", to = \"50 B\", rule = \"radnom\" }",
            "`radnom` is not known",
            "did you mean `random`",
        ),
        ("count = 4", "count = 0", "out of range", "from 1 to 1000000"),
        ("count = 4", "", "`count` is missing", "add `count"),
        ("count = 4", "count = 4\ntimeout = \"0 s\"", "no time for an answer", "above zero"),
        ("count = 4", "count = 4\nstart = \"10 s\"", "when the run has ended", "before"),
        ("to = \"b\"", "to = \"c\"", "a node `c`", "did you mean"),
        ("to = \"b\"", "to = \"a\"", "ends where it starts", "another node"),
    ];
    for (from, to, message, fix) in cases {
        assert!(VOLLEYS.contains(from), "{from}");
        let error = Scenario::parse("x.toml", &VOLLEYS.replace(from, to)).expect_err(to);
        assert!(error.message.contains(message), "{to}: {error}");
        assert!(error.fix.contains(fix), "{to}: {error}");
        assert!(error.key.starts_with("volleys.v"), "{to}: {error}");
    }
    let nothing = VOLLEYS.split("[volleys").next().unwrap();
    let error = Scenario::parse("x.toml", nothing).unwrap_err();
    assert!(error.message == "nothing flows" && error.fix.contains("[volleys.name]"), "{error}");
    let twice = VOLLEYS.to_owned() + "[flows.v]\nfrom = \"a\"\nto = \"b\"\n";
    let error = Scenario::parse("x.toml", &twice).unwrap_err();
    assert!(error.message.contains("a flow is called `v`, too"), "{error}");
    let scenario = Scenario::parse("x.toml", VOLLEYS).unwrap();
    let error = scenario.with(&[("volleys.w.gap", "1 s")]).unwrap_err();
    assert!(error.message.contains("no volleys `w`") && error.fix.contains('v'), "{error}");
}

#[test]
fn volleys_and_limits_are_spelt_out_and_run_the_same_again() {
    let lengths = "{ from = \"40 B\", to = \"256 B\", rule = \"random\" }";
    let scenario = Scenario::parse("x.toml", VOLLEYS).unwrap();
    let values = [
        ("volleys.v.lengths", lengths),
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
    assert_ne!(run(&other).digest(), run(&scenario).digest(), "the draws are the seed's");
}

#[test]
fn what_is_set_below_a_key_is_blamed_with_its_key_and_value() {
    let text = CHAIN
        .replace("queue = \"3 packets\"", "loss = { probability = 0.1 }, order = \"overtaking\"")
        .replace("tcp  = {", "tcp  = { clock = { tick = \"10 ms\" }, rto = { max = \"60 s\" }, ");
    let scenario = Scenario::parse("in.toml", &text).unwrap();
    for (key, value, says) in [
        ("links.modem.loss.probability", "3", "not a probability"),
        ("links.modem.loss.packets", "[1, 0]", "out of range"),
        ("flows.x.tcp.rto.min", "61 s", "the least timer, 61 s, is above"),
        ("flows.x.tcp.rto.initial", "0 s", "fires at once"),
        ("flows.x.tcp.clock.tick", "0 s", "a tick of nothing"),
        ("flows.x.tcp.clock.phase", "11 ms", "not within the tick"),
        ("links.modem.framing.overhead", "70000 B", "no line frames"),
        ("links.modem.framing.bits_per_octet", "0", "out of range"),
        ("links.lan.reorder.by", "5 ms", "reorders nothing"),
        ("flows.x.tcp.clock.tick.x", "5", "`flows.x.tcp.clock.tick` is not a table"),
        ("links.\"modem\".rate", "0 bit/s", "above zero"),
        ("links.modem.rate.x", "5", "`links.modem.rate` is not a table"),
        ("links..rate", "5", "not a path"),
        ("seed", "9223372036854775808", "too large"),
        ("links.modem.between", "[\"b\", \"d\"]", "no link leads to a node `c`"),
    ] {
        let error = scenario.with(&[(key, value)]).expect_err(key);
        let told = error.to_string();
        assert!(told.contains(&format!("--> in.toml with {key} = {value}")), "{told}");
        assert_eq!((&*error.key, &*error.value), (key, value), "{told}");
        assert!(told.contains(says) && !error.fix.is_empty(), "{told}");
    }
}

/// Key, and what is marked, of the mistake in `text`.
fn marked(text: &str) -> (String, String) {
    let error = Scenario::parse("x.toml", text).expect_err(text);
    let place = error.place.clone().unwrap_or_else(|| panic!("no place: {error}"));
    let mark = place.text.chars().skip(place.column - 1).take(place.width).collect();
    assert!(!error.fix.is_empty(), "{error}");
    (error.key, mark)
}

const LISTS: &str = r#"
        stop = "9 s"
        [path]
        nodes = ["a", "b", "c"]
        [[path.links]]
        rate = "1 Mbit/s"
        [[path.links]]
        rate = "2 Mbit/s" # here
        delay = ["1 ms",
            { timeline = [["0 s", "1 ms"],
              ["5 s", "2 ms"]] }]
        [[routes]]
        from = "a"
        to = "c"
        via = ["b"]
        [[routes]]
        from = "c" # second
        to = "a"
        via = ["b"]
        [flows.x]
        from = "a"
        to = "c"
        [record]
        spy = ["a", "b"]
"#;

#[test]
fn a_mistake_in_a_list_is_marked_at_its_entry() {
    assert!(Scenario::parse("x.toml", LISTS).is_ok());
    for (from, to, key, mark) in [
        ("\"2 Mbit/s\" # here", "\"0 bit/s\"", "path.links[1].rate", "\"0 bit/s\""),
        ("# here", "\nqueu = 1", "path.links[1].queu", "queu"),
        (
            "# here",
            "\nqueue = [\"2 packets\",\n\"0 packets\"]",
            "path.links[1].queue[1]",
            "\"0 packets\"",
        ),
        ("rate = \"2 Mbit/s\" # here", "", "path.links[1]", "[[path.links]]"),
        (
            "\"2 Mbit/s\" # here",
            "[\"9600 bit/s\",\n\"0 bit/s\"]",
            "path.links[1].rate[1]",
            "\"0 bit/s\"",
        ),
        ("\"2 ms\"", "\"2\"", "path.links[1].delay[1].timeline[1][1]", "\"2\""),
        ("[\"5 s\", \"2 ms\"]", "[\"5 s\"]", "path.links[1].delay[1].timeline[1]", "[\"5 s\"]"),
        (
            "[\"0 s\", \"1 ms\"]",
            "[\"7 s\", \"1 ms\"]",
            "path.links[1].delay[1].timeline[1]",
            "[\"5 s\", \"2 ms\"]",
        ),
        ("\"c\" # second", "\"z\"", "routes[1].from", "\"z\""),
        ("\"c\" # second", "\"b\"", "routes[1].via[0]", "\"b\""),
        (
            "# here",
            "\nreorder = { nth = [1], by = \"1 s\" }",
            "path.links[1].reorder",
            "{ nth = [1], by = \"1 s\" }",
        ),
        ("spy = [\"a\", \"b\"]", "spy = [\"a\", \"z\"]", "record.spy[1]", "\"z\""),
        (
            "nodes = [\"a\", \"b\", \"c\"]",
            "nodes = [\"a\", \"b\", \"a\"]",
            "path.nodes[2]",
            "\"a\"",
        ),
        ("[[routes]]\n        from = \"a\"", "[[routes]]\nfrm = \"a\"", "routes[0].frm", "frm"),
    ] {
        assert!(LISTS.contains(from), "{from}");
        let found = marked(&LISTS.replacen(from, to, 1));
        assert_eq!(found, (key.to_owned(), mark.to_owned()));
    }
}

#[test]
fn names_are_there_fit_in_a_line_and_belong_to_one_flow() {
    let second = "[flows.\"y.0\"]\nfrom = \"a\"\nto = \"c\"\n[flows.y]\ncount = 2\nfrom";
    let two = CHAIN.replace("[flows.x]\nfrom", second);
    let (key, mark) = marked(&two);
    assert_eq!((&*key, &*mark), ("flows.\"y.0\"", "\"y.0\""));
    for fine in [("y.0", "y.2"), ("y.0", "y.00"), ("count = 2", "count = 1"), ("y.0", "z.0")] {
        let text = two.replacen(fine.0, fine.1, 1);
        assert!(Scenario::parse("x.toml", &text).is_ok(), "{text}");
    }
    for (from, to, says) in [
        ("[flows.x]", "[flows.\"x\\ny\"]", "the flow \"x\\ny\" has a name that does not fit"),
        ("[flows.x]", "[flows.\"\"]", "a flow without a name"),
        ("lan  ", "\"\"", "a link without a name"),
        ("[\"b\", \"c\"]", "[\"b\", \"\"]", "a node without a name"),
    ] {
        let error = slip(from, to);
        assert!(error.message.starts_with(says) && error.place.is_some(), "{error}");
    }
}

/// A link that corrupts one packet in a hundred, and is never full.
#[test]
fn a_remedy_for_corruption_loss_can_be_compared() {
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
    let seconds = |law: &str| {
        let run = run(&scenario.with(&[("flows.x.tcp.congestion", law)]).unwrap());
        match run.table("flows").unwrap().column("finished_ns") {
            Some(crate::record::Data::OptionalI64(ends)) => {
                ends[0].expect("an end") / 1_000_000_000
            }
            _ => panic!("no column"),
        }
    };
    let (reno, westwood) = (seconds("reno"), seconds("westwood"));
    assert!(3 * westwood < 2 * reno, "westwood {westwood} s, reno {reno} s");
}
