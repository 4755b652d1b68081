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

#[test]
fn each_slip_names_the_key_the_value_and_the_fix() {
    let cases = [
        ("\"9600 bit/s\"", "9600", "`9600` has no unit", "write `9600 bit/s`"),
        ("\"9600 bit/s\"", "\"9600 bps\"", "not a bit rate", "write `9600 bit/s`"),
        ("\"9600 bit/s\"", "\"0 bit/s\"", "must be above zero", ""),
        ("\"9600 bit/s\"", "\"-5 bit/s\"", "must be zero or more", ""),
        ("\"9600 bit/s\"", "\"9600 ms\"", "not a bit rate", "one of the units bit/s"),
        ("\"9600 bit/s\"", "true", "wrong type: boolean", "a bit rate in quotes"),
        ("stop = \"10 s\"", "stop = \"10 s\"\nseed = \"x\"", "wrong type", "a whole number"),
        ("\"3 packets\"", "\"0 packets\"", "a queue for nothing", "1 packet"),
        ("\"3 packets\"", "\"3\"", "`3` has no unit", "write `3 packets`"),
        ("\"3 packets\"", "\"3 KB\"", "not a size in bytes", "write `3 kB`"),
        ("[\"b\", \"c\"]", "[\"b\", \"b\"]", "joins `b` to itself", "two nodes"),
        ("between = [\"b\", \"c\"], ", "", "joins no nodes", "add `between"),
        ("to   = \"c\"", "to   = \"d\"", "no link leads to a node `d`", "did you mean"),
        ("to   = \"c\"", "to   = \"a\"", "ends where it starts", "another node"),
        ("\"reno\"", "\"renno\"", "`renno` is not known here", "did you mean `reno`?"),
        ("send = \"20 segments\"", "start = \"10 s\"", "starts when the run has ended", "stop"),
        ("\"20 segments\"", "\"0 B\"", "sends nothing", "at least"),
        ("stop = \"10 s\"", "stop = \"0 s\"", "ends at once", "above zero"),
        ("stop = \"10 s\"", "", "the key `stop` is missing", "add `stop = ...`"),
        ("rate = \"10 Mbit/s\"", "reorder = 1, rate = \"1 bit/s\"", "wrong type", ""),
        (
            "queue = \"3 packets\"",
            "reorder = { nth = [1], by = \"1 s\" }",
            "reorders nothing",
            "add `order = \"overtaking\"`",
        ),
        ("queue = \"3 packets\"", "loss = { probability = 1.5 }", "1.5 is not a prob", "0 to 1"),
        ("queue = \"3 packets\"", "loss = { packets = [0] }", "counted from 1", ""),
        ("queue = \"3 packets\"", "loss = {}", "names no packets", "write \"none\""),
        ("tcp  = {", "tcp  = { clock = { tick = \"1 ms\", phase = \"2 ms\" }, ", "phase", "tick"),
        ("tcp  = {", "tcp  = { packet_size = \"40 B\", ", "no packet is 40 B long", "41 B"),
        ("tcp  = {", "tcp  = { initial_window = \"0 segments\", ", "sends nothing", "1 segment"),
        ("tcp  = {", "tcp  = { initial_window = \"4 packets\", ", "segments", "`4 segments`"),
        ("tcp  = {", "record = { spy = [\"a\"] }\ntcp  = {", "unknown key `record`", "known here"),
        ("delay = \"150 ms\"", "delay = { timeline = [] }", "at least one point", ""),
        ("\"3 packets\"", "{ codle = {} }", "unknown key `codle`", "did you mean `codel`?"),
        ("\"3 packets\"", "{}", "obeys one law", "`fq-codel`"),
        ("\"3 packets\"", "{ red = {}, pie = {} }", "obeys one law", "one of"),
        ("\"3 packets\"", "{ codel = { limit = \"0 B\" } }", "a queue for nothing", "1 packet"),
        ("\"3 packets\"", "{ codel = { interval = \"0 s\" } }", "no time at all", "above zero"),
        ("\"3 packets\"", "{ red = { min_th = \"5 kB\" } }", "in one unit", "both in bytes"),
        ("\"3 packets\"", "{ red = { max_th = \"5 packets\" } }", "not above `min_th`", "between"),
        ("\"3 packets\"", "{ red = { wq = 2 } }", "2 is not a probability", "0 to 1"),
        ("\"3 packets\"", "{ fq-codel = { flows = 0 } }", "0 queues are none", "from 1"),
        ("\"3 packets\"", "{ fq-codel = { quantum = \"0 B\" } }", "no packet is 0 B long", "1 B"),
        ("\"3 packets\"", "{ pie = { alpha = -1 } }", "-1 is no gain", "zero or more"),
        ("\"3 packets\"", "{ pie = { t_update = \"0 s\" } }", "no time at all", "above zero"),
    ];
    for (from, to, message, fix) in cases {
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
    let error = Scenario::parse("x.toml", &text.replace("150 ms", "0 ms")).unwrap_err();
    assert!(error.message.contains("takes no time"), "{error}");
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
    assert!(message("stop = \"1 s\"").contains("`flows` is missing"));
    assert!(message("stop = \"1 s\"\n[flows]").contains("has no links"));
}

#[test]
fn a_value_set_from_outside_is_blamed_where_it_was_set() {
    let set = |path, value| chain().with(&[(path, value)]);
    let slower = set("links.modem.rate", "2400 bit/s").unwrap();
    assert!(slower.resolved().contains("2400 bit/s"));
    let error = set("links.modem.rate", "0 bit/s").unwrap_err();
    assert!(error.file.ends_with("with links.modem.rate = 0 bit/s"), "{error}");
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
    for spelt_out in ["receive_window", "phase", "framing", "tables", "seed", "profile"] {
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
