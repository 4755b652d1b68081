//! Tests of the error messages for mistakes in scenarios, for example in the scenario `CHAIN`.

use super::*;

#[test]
fn an_unknown_key_is_reported_with_its_place_and_the_nearest_known_key() {
    let error = error_of("recovery =", "recovry =");
    assert_eq!(
        error.to_string(),
        "unknown key `recovry`\n    --> x.toml:10:10\n 10 | tcp  = { recovry = \"reno\" }\
         \n    |          ^^^^^^^ did you mean `recovery`?"
    );
    assert_eq!(error.key, "flows.x.tcp.recovry");
}

/// A mistake in [`CHAIN`]: the text that is replaced, the wrong text in its place, and parts of the
/// error's message and fix.
pub(super) type MistakeCase = [&'static str; 4];

const MISTAKES: &[MistakeCase] = &[
    ["\"9600 bit/s\"", "9600", "`9600` has no unit", "write `9600 bit/s`"],
    ["\"9600 bit/s\"", "\"9600 bps\"", "not a bit rate", "write `9600 bit/s`"],
    ["\"9600 bit/s\"", "\"0 bit/s\"", "out of range", "a rate above zero, or `unlimited`"],
    ["\"9600 bit/s\"", "\"-5 bit/s\"", "out of range", "a rate above zero, or `unlimited`"],
    ["\"9600 bit/s\"", "\"9600 ms\"", "not a bit rate", "one of the units bit/s"],
    ["\"9600 bit/s\"", "true", "wrong type: boolean", "a bit rate in quotes"],
    ["stop = \"10 s\"", "stop = \"10 s\"\nseed = \"x\"", "wrong type", "a whole number"],
    ["\"3 packets\"", "\"0 packets\"", "a queue without room", "1 packet"],
    ["\"3 packets\"", "\"3\"", "`3` has no unit", "write `3 packets`"],
    ["\"3 packets\"", "\"3 KB\"", "not a size in bytes", "write `3 kB`"],
    ["[\"b\", \"c\"]", "[\"b\", \"b\"]", "joins `b` to itself", "two different nodes"],
    ["between = [\"b\", \"c\"], ", "", "joins no nodes", "add `between"],
    ["to   = \"c\"", "to   = \"d\"", "no link leads to a node `d`", "did you mean"],
    ["to   = \"c\"", "to   = \"a\"", "starts and ends at the same node", "another node"],
    ["\"reno\"", "\"renno\"", "`renno` is not known here", "did you mean `reno`?"],
    ["send = \"20 segments\"", "start = \"10 s\"", "before the end of the run", "stop"],
    ["\"20 segments\"", "\"0 B\"", "sends nothing", "at least"],
    ["stop = \"10 s\"", "stop = \"0 s\"", "would end when it starts", "above zero"],
    ["stop = \"10 s\"", "", "the key `stop` is missing", "add `stop = ...` before the first table"],
    ["stop = \"10 s\"", "stop = \"10 s\"\ntitle = \"a\\nb\"", "title has several", "one line"],
    ["rate = \"10 Mbit/s\"", "reorder = 1, rate = \"1 bit/s\"", "wrong type", ""],
    [
        "queue = \"3 packets\"",
        "reorder = { nth = [1], by = \"1 s\" }",
        "cannot reorder",
        "add `order = \"overtaking\"`",
    ],
    ["queue = \"3 packets\"", "loss = { probability = 1.5 }", "1.5 is not a prob", "from 0 to 1"],
    ["queue = \"3 packets\"", "loss = { packets = [0] }", "out of range", "from 1"],
    ["queue = \"3 packets\"", "loss = {}", "selects no packets", "write \"none\""],
    ["tcp  = {", "tcp  = { clock = { tick = \"1 ms\", phase = \"2 ms\" }, ", "phase", "tick"],
    [
        "tcp  = {",
        "tcp  = { packet_size = \"40 B\", ",
        "`40 B` is out of range",
        "from `41 B` to `65535 B`",
    ],
    [
        "tcp  = {",
        "tcp  = { initial_window = \"0 segments\", ",
        "`0 segments` is out of range",
        "from `1 segment`",
    ],
    ["tcp  = {", "tcp  = { initial_window = \"4 packets\", ", "segments", "`4 segments`"],
    ["tcp  = {", "record = { spy = [\"a\"] }\ntcp  = {", "unknown key `record`", "known here"],
];

/// Mistakes in queues with an AQM, in the form of `MISTAKES`.
const MISTAKES_OF_ALGORITHMS: &[MistakeCase] = &[
    ["\"3 packets\"", "{ codle = {} }", "unknown key `codle`", "did you mean `codel`?"],
    ["\"3 packets\"", "{}", "exactly one AQM", "`fq-codel`"],
    ["\"3 packets\"", "{ red = {}, pie = {} }", "exactly one AQM", "one of"],
    ["\"3 packets\"", "{ codel = { limit = \"0 B\" } }", "a queue without room", "1 packet"],
    [
        "\"3 packets\"",
        "{ codel = { interval = \"0 s\" } }",
        "this time cannot be zero",
        "above zero",
    ],
    ["\"3 packets\"", "{ red = { min_th = \"5 kB\" } }", "the same unit", "both in bytes"],
    ["\"3 packets\"", "{ red = { max_th = \"5 packets\" } }", "not above `min_th`", "between"],
    ["\"3 packets\"", "{ red = { wq = 2 } }", "2 is not a probability", "0 to 1"],
    [
        "\"3 packets\"",
        "{ fq-codel = { flows = 0 } }",
        "0 is not a possible number of queues",
        "from 1",
    ],
    ["\"3 packets\"", "{ fq-codel = { quantum = \"0 B\" } }", "this size cannot be 0 B", "1 B"],
    ["\"3 packets\"", "{ pie = { alpha = -1 } }", "-1 is not a gain", "zero or more"],
    ["\"3 packets\"", "{ pie = { t_update = \"0 s\" } }", "this time cannot be zero", "above zero"],
];

/// Mistakes in timelines and values out of range, in the form of `MISTAKES`.
const MISTAKES_OF_SIZE: &[MistakeCase] = &[
    ["delay = \"150 ms\"", "delay = { timeline = [] }", "at least one point", "as in [["],
    ["\"9600 bit/s\"", "{ timeline = [] }", "at least one point", "as in [["],
    [
        "\"9600 bit/s\"",
        "{ timeline = [[\"2 s\", \"1 kbit/s\"], [\"1 s\", \"2 kbit/s\"]] }",
        "point 2 of the timeline is earlier than",
        "sort the points by time",
    ],
    ["\"9600 bit/s\"", "{ timeline = [[\"2 s\", \"1 s\"]] }", "`1 s` is not a bit rate", "kbit/s"],
    ["stop = \"10 s\"", "stop = \"99999999999 h\"", "out of range for", "at most `99999 h`"],
    ["stop = \"10 s\"", "stop = \"10 s\"\nseed = -1", "out of range", "from 0 to 2^63 - 1"],
    ["to   = \"c\"", "to   = \"c\"\ncount = 4294967296", "out of range", "from 1 to 100000"],
    ["to   = \"c\"", "to   = \"c\"\ncount = 0", "out of range", "from 1 to 100000"],
    ["\"9600 bit/s\"", "\"18446744073709551615 bit/s\"", "out of range", "at most `9"],
    [
        "tcp  = {",
        "tcp  = { initial_window = \"99999999999 segments\", ",
        "out of range",
        "to `1000000 segments`",
    ],
    ["tcp  = {", "tcp  = { receive_window = \"4294967295 segments\", ", "out of range", "1000000"],
    [
        "tcp  = {",
        "tcp  = { packet_size = \"60 kB\", receive_window = \"20000 segments\", ",
        "more than 2^30 octets",
        "at most `17907 segments`",
    ],
    ["\"3 packets\"", "\"10 B\"", "no room for a packet of 1000 B", "at least `1000 B`"],
    ["\"reno\"", "5", "`5` is not a word", "\"newreno\""],
    ["[links]", "[path]\nnodes = []\nlinks = []\n[links]", "at least two nodes", "as in"],
    ["[links]", "[dumbbell]\npairs = 4294967295\n[links]", "out of range", "to 100000"],
];

/// Mistakes in links with an MTU and in reassembly, in the form of `MISTAKES`.
const MISTAKES_OF_MTU: &[MistakeCase] = &[
    [
        "queue = \"3 packets\"",
        "mtu = \"67 B\"",
        "an MTU of 67 B is not possible",
        "68 B to 65535 B",
    ],
    [
        "queue = \"3 packets\"",
        "mtu = [\"1500 B\", \"66 kB\"]",
        "an MTU of 66 kB is not possible",
        "68 B",
    ],
    ["queue = \"3 packets\"", "mtu = 576", "`576` has no unit", "write `576 B`"],
    ["queue = \"3 packets\"", "too_big = \"drop\"", "has no effect without an `mtu`", "add `mtu`"],
    ["\"3 packets\"", "\"571 B\", mtu = \"576 B\"", "no room for a packet of 572 B", "`572 B`"],
    [
        "stop = \"10 s\"",
        "stop = \"10 s\"\nreassembly = { timer = \"0 s\" }",
        "must wait some time",
        "above zero",
    ],
];

#[test]
fn each_mistake_is_reported_with_a_message_and_a_fix_and_a_place_and_a_key() {
    for [from, to, message, fix] in [
        MISTAKES,
        MISTAKES_OF_SIZE,
        MISTAKES_OF_ALGORITHMS,
        MISTAKES_OF_MTU,
        super::link_changes::MISTAKES,
        super::slots::MISTAKES,
    ]
    .concat()
    {
        let error = error_of(from, to);
        assert!(error.message.contains(message), "{to}: {error}");
        assert!(error.fix.contains(fix), "{to}: {error}");
        assert!(error.place.is_some() && !error.key.is_empty() || to.is_empty(), "{to}: {error}");
    }
}

#[test]
fn a_route_that_takes_no_time_is_refused() {
    let text = CHAIN.replace("10 Mbit/s", "unlimited").replace("9600 bit/s", "unlimited");
    assert!(Scenario::parse("x.toml", &text).is_ok(), "a route with a delay of 150 ms takes time");
    for standstill in [
        text.replace("150 ms", "0 ms"),
        // From 5 s on, the route takes no time.
        text.replace("\"150 ms\"", "{ timeline = [[\"0 s\", \"10 ms\"], [\"5 s\", \"0 s\"]] }"),
        // At this rate, 8000 bits take less than 10^-9 s.
        text.replace("150 ms", "0 ms").replace("unlimited", "900000 Tbit/s"),
    ] {
        let error = Scenario::parse("x.toml", &standstill).unwrap_err();
        assert!(error.message.contains("take no time"), "{error}");
    }
    // A data packet takes 8 ns, and an ACK a third of a nanosecond.
    let fast = text.replace("150 ms", "0 ms").replace("unlimited", "1 Tbit/s");
    assert!(Scenario::parse("x.toml", &fast).is_ok());
    // A packet waits at least a nanosecond for the next opportunity.
    let instants = "{ opportunities = [\"1 ms\"] }";
    let given = text.replace("150 ms", "0 ms").replacen("\"unlimited\"", instants, 1);
    assert!(Scenario::parse("x.toml", &given).is_ok());
}

#[test]
fn a_network_in_two_parts_has_no_route() {
    let error = error_of("between = [\"b\", \"c\"]", "between = [\"d\", \"c\"]");
    assert_eq!(error.message, "no route from `a` to `c`");
    assert_eq!(error.fix, "no chain of links joins them: add a link");
}

#[test]
fn an_empty_or_incomplete_file_is_refused_with_the_reason() {
    let message = |text: &str| Scenario::parse("x.toml", text).unwrap_err().to_string();
    assert!(message("").starts_with("the scenario is empty\n   --> x.toml"));
    assert!(message("stop = ").starts_with("not TOML"), "{}", message("stop = "));
    assert!(message("stop = \"1 s\"").contains("has no links"));
    assert!(message("stop = \"1 s\"\n[flows]").contains("has no links"));
}

#[test]
fn if_a_setting_is_wrong_the_error_names_this_setting() {
    let set = |path, value| chain().with(&[(path, value)]);
    let slower = set("links.modem.rate", "2400 bit/s").unwrap();
    assert!(slower.resolved().contains("2400 bit/s"));
    let error = set("links.modem.rate", "0 bit/s").unwrap_err();
    assert!(error.to_string().contains("x.toml with links.modem.rate = 0 bit/s"), "{error}");
    assert_eq!((&*error.key, &*error.value), ("links.modem.rate", "0 bit/s"));
    let error = set("flows.x.tpc.recovery", "tahoe").unwrap_err();
    assert!(error.to_string().contains("unknown key `tpc`"), "{error}");
    // If several values are set, the error names the wrong value.
    let scenario = Scenario::parse("x.toml", CHAIN).unwrap();
    let error = scenario.with(&[("seed", "3"), ("flows.x.to", "nowhere")]).unwrap_err();
    assert!(error.message.contains("`nowhere`"), "{error}");
}

fn refused(values: &[(&str, &str)]) -> String {
    let scenario = Scenario::parse("x.toml", DUMBBELL).unwrap();
    scenario.with(values).expect_err(&format!("{values:?}")).to_string()
}

#[test]
fn if_a_setting_has_an_unknown_name_the_error_shows_the_setting() {
    assert_eq!(
        refused(&[("flows.blk.tcp.recovery", "sack")]),
        "no flow `blk`\n   --> x.toml with flows.blk.tcp.recovery = sack\
         \n    = did you mean `bulk`?"
    );
    assert!(refused(&[("flows.x.send", "1 segment")]).ends_with("the file has bulk, short"));
    assert!(refused(&[("links.x.rate", "1 Mbit/s")]).starts_with("no link `x`"));
    // Settings may also add a new flow with all keys that it needs.
    let scenario = Scenario::parse("x.toml", DUMBBELL).unwrap();
    let whole = [("flows.x.from", "west1"), ("flows.x.to", "east1")];
    assert!(scenario.with(&whole).is_ok());
}

#[test]
fn if_a_short_form_makes_a_link_the_error_names_the_key_to_set() {
    let message = refused(&[("links.bottleneck.delay", "1 s")]);
    assert!(message.starts_with("`[dumbbell]` makes the link `bottleneck`"), "{message}");
    assert!(message.ends_with("write `dumbbell.bottleneck.delay`"), "{message}");
    let message = refused(&[("links.bottleneck.rate", "2 Mbit/s")]);
    assert!(message.ends_with("write `dumbbell.bottleneck.rate`"), "{message}");
    let message = refused(&[("links.west1.queue", "5 packets")]);
    assert!(message.ends_with("write `dumbbell.access.queue`"), "{message}");
    for name in ["west99", "west01", "west"] {
        let message = refused(&[(&format!("links.{name}.queue"), "5 packets")]);
        assert!(message.contains(&format!("no link `{name}`")), "{message}");
    }
    let chain = r#"
        stop = "9 s"
        path = { nodes = ["a", "b"], links = [{ rate = "1 Mbit/s" }] }
        flows = { x = { from = "a", to = "b" } }
    "#;
    let chain = Scenario::parse("x.toml", chain).unwrap();
    let message = chain.with(&[("links.a-b.rate", "2 Mbit/s")]).unwrap_err().to_string();
    assert!(message.starts_with("`[path]` makes the link `a-b`"), "{message}");
    assert!(message.contains("its entry 1 in the file"), "{message}");
}

#[test]
fn if_a_flow_starts_too_late_the_error_gives_its_start_and_the_cause() {
    let message = refused(&[("flows.short.every", "4 s")]);
    assert!(message.starts_with("`short.1` would start at 6 s"), "{message}");
    assert!(message.contains("with flows.short.every = 4 s"), "{message}");
    let message = refused(&[("stop", "3 s")]);
    assert!(message.starts_with("`short.1` would start at 3 s"), "{message}");
    assert!(message.contains("with stop = 3 s"), "{message}");
    // There are pairs of hosts for all 20 flows, but most of the flows start too late.
    let message = refused(&[("dumbbell.pairs", "20"), ("flows.short.count", "20")]);
    assert!(message.contains("with flows.short.count = 20"), "{message}");
    assert!(
        message.ends_with("write a `count` of at most 3, or start the 20 flows sooner"),
        "{message}"
    );
    let text = DUMBBELL.replace("every = \"1 s\"", "every = \"4 s\"");
    let error = Scenario::parse("x.toml", &text).unwrap_err();
    assert_eq!(error.key, "flows.short.every");
    assert_eq!(error.place.unwrap().text, "every = \"4 s\"");
    let message = refused(&[("flows.bulk.start", "5 s")]);
    assert!(message.starts_with("`bulk` would not start before the end of the run"), "{message}");
    let message = refused(&[("flows.bulk.start", "1 s"), ("flows.bulk.spread", "30 s")]);
    assert!(
        message.starts_with("`bulk` may start as late as 31 s, but the run ends at 5 s"),
        "{message}"
    );
    assert!(message.ends_with("write a spread of at most 4 s"), "{message}");
}

#[test]
fn the_error_suggests_all_names_that_are_equally_close() {
    let message = refused(&[("flows.bulk.from", "weast0")]);
    assert!(message.ends_with("did you mean `west0` or `east0`?"), "{message}");
}

#[test]
fn the_error_for_a_text_without_quotes_asks_for_quotes() {
    for (from, to, fix) in [
        ("\"reno\"", "reno", "write `\"reno\"`"),
        ("\"reno\"", "tahoe", "write `\"tahoe\"`"),
        ("\"reno\"", "fack", "write `\"fack\"`"),
        ("\"reno\"", "newreno", "write `\"newreno\"`"),
        ("\"9600 bit/s\"", "9600 bit/s", "write `\"9600 bit/s\"`"),
        ("stop = \"10 s\"", "stop = 10 s # long", "write `\"10 s\"`"),
    ] {
        let error = error_of(from, to);
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
fn if_a_switch_belongs_to_another_profile_or_algorithm_the_error_says_so() {
    let message = |values: &[(&str, &str)]| chain().with(values).unwrap_err().to_string();
    let ns = message(&[("flows.x.tcp.tlp", "true")]);
    assert!(ns.starts_with("ns-2's senders have no `tlp`"), "{ns}");
    let rfc = message(&[("flows.x.tcp", "{ bugfix = true }"), ("flows.x.profile", "rfc-2026")]);
    assert!(rfc.starts_with("`bugfix` is a switch of ns-2's senders"), "{rfc}");
    let bbr = "{ congestion = \"bbr\", abc_limit = \"2 segments\" }";
    let bbr = message(&[("flows.x.tcp", bbr), ("flows.x.profile", "rfc-2026")]);
    assert!(bbr.starts_with("BBR has its own start-up phase"), "{bbr}");
    let reno = "{ congestion = \"reno\", fast_convergence = false }";
    let reno = message(&[("flows.x.tcp", reno), ("flows.x.profile", "rfc-2026")]);
    assert!(reno.starts_with("`fast_convergence` is a switch of CUBIC"), "{reno}");
}

#[test]
fn each_mistake_in_echo_probes_is_reported_with_the_key_and_the_fix() {
    let lengths = "[\"40 B\", \"256 B\"]";
    let cases = [
        (lengths, "[]", "`lengths` is empty", "at least one"),
        (lengths, "[\"27 B\"]", "a request cannot be 27 B long", "28 B"),
        (lengths, "\"40 B\"", "wrong type", "a list or a table"),
        (lengths, "{ from = \"50 B\", to = \"40 B\" }", "`from` is above `to`", "not above `to`"),
        (lengths, "{ from = \"40 B\", to = \"50 B\", step = \"0 B\" }", "`step` is zero", "above"),
        (
            lengths,
            "{ from = \"40 B\", to = \"50 B\", rule = \"radnom\" }",
            "`radnom` is not known",
            "did you mean `random`",
        ),
        ("count = 4", "count = 0", "out of range", "from 1 to 1000000"),
        ("count = 4", "", "`count` is missing", "add `count"),
        ("count = 4", "count = 4\ntimeout = \"0 s\"", "`timeout` cannot be zero", "above zero"),
        ("count = 4", "count = 4\nstart = \"10 s\"", "before the end of the run", "before"),
        ("to = \"b\"", "to = \"c\"", "a node `c`", "did you mean"),
        ("to = \"b\"", "to = \"a\"", "starts and ends at the same node", "another node"),
    ];
    for (from, to, message, fix) in cases {
        assert!(ECHO_PROBES.contains(from), "{from}");
        let error = Scenario::parse("x.toml", &ECHO_PROBES.replace(from, to)).expect_err(to);
        assert!(error.message.contains(message), "{to}: {error}");
        assert!(error.fix.contains(fix), "{to}: {error}");
        assert!(error.key.starts_with("echo_probes.v"), "{to}: {error}");
    }
    let nothing = ECHO_PROBES.split("[echo_probes").next().unwrap();
    let error = Scenario::parse("x.toml", nothing).unwrap_err();
    assert!(
        error.message == "the scenario has no traffic" && error.fix.contains("[echo_probes.name]"),
        "{error}"
    );
    let twice = ECHO_PROBES.to_owned() + "[flows.v]\nfrom = \"a\"\nto = \"b\"\n";
    let error = Scenario::parse("x.toml", &twice).unwrap_err();
    assert!(error.message.contains("a flow is also called `v`"), "{error}");
    let scenario = Scenario::parse("x.toml", ECHO_PROBES).unwrap();
    let error = scenario.with(&[("echo_probes.w.gap", "1 s")]).unwrap_err();
    assert!(error.message.contains("no echo probes `w`") && error.fix.contains('v'), "{error}");
}

#[test]
fn errors_in_nested_settings_give_the_key_and_the_value() {
    let text = CHAIN
        .replace("queue = \"3 packets\"", "loss = { probability = 0.1 }, order = \"overtaking\"")
        .replace("tcp  = {", "tcp  = { clock = { tick = \"10 ms\" }, rto = { max = \"60 s\" }, ");
    let scenario = Scenario::parse("in.toml", &text).unwrap();
    for (key, value, says) in [
        ("links.modem.loss.probability", "3", "not a probability"),
        ("links.modem.loss.packets", "[1, 0]", "out of range"),
        ("flows.x.tcp.rto.min", "61 s", "the minimum RTO, 61 s, is above"),
        ("flows.x.tcp.rto.initial", "0 s", "fire immediately"),
        ("flows.x.tcp.clock.tick", "0 s", "`0 s` is out of range"),
        ("flows.x.tcp.clock.phase", "11 ms", "not within the tick"),
        ("links.modem.framing.overhead", "70000 B", "a framing cannot add"),
        ("links.modem.framing.bits_per_octet", "0", "out of range"),
        ("links.lan.reorder.by", "5 ms", "cannot reorder"),
        ("flows.x.tcp.clock.tick.x", "5", "`flows.x.tcp.clock.tick` is not a table"),
        ("links.\"modem\".rate", "0 bit/s", "above zero"),
        ("links.modem.rate.x", "5", "`links.modem.rate` is not a table"),
        ("links..rate", "5", "not a path"),
        ("seed", "9223372036854775808", "too large"),
        ("links.modem.between", "[\"b\", \"d\"]", "no link leads to a node `c`"),
    ] {
        let error = scenario.with(&[(key, value)]).expect_err(key);
        let message = error.to_string();
        assert!(message.contains(&format!("--> in.toml with {key} = {value}")), "{message}");
        assert_eq!((&*error.key, &*error.value), (key, value), "{message}");
        assert!(message.contains(says) && !error.fix.is_empty(), "{message}");
    }
}

/// Returns the key of the mistake in `text`, and the part of the text that the error marks.
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
fn a_name_is_refused_if_it_is_empty_or_shared_or_has_a_line_break() {
    let second = "[flows.\"y.0\"]\nfrom = \"a\"\nto = \"c\"\n[flows.y]\ncount = 2\nfrom";
    let two = CHAIN.replace("[flows.x]\nfrom", second);
    let (key, mark) = marked(&two);
    assert_eq!((&*key, &*mark), ("flows.\"y.0\"", "\"y.0\""));
    for fine in [("y.0", "y.2"), ("y.0", "y.00"), ("count = 2", "count = 1"), ("y.0", "z.0")] {
        let text = two.replacen(fine.0, fine.1, 1);
        assert!(Scenario::parse("x.toml", &text).is_ok(), "{text}");
    }
    for (from, to, says) in [
        ("[flows.x]", "[flows.\"x\\ny\"]", "the flow \"x\\ny\" has a name with a control"),
        ("[flows.x]", "[flows.\"\"]", "the name of a flow is empty"),
        ("lan  ", "\"\"", "the name of a link is empty"),
        ("[\"b\", \"c\"]", "[\"b\", \"\"]", "the name of a node is empty"),
    ] {
        let error = error_of(from, to);
        assert!(error.message.starts_with(says) && error.place.is_some(), "{error}");
    }
}

#[test]
fn captures_need_the_table_of_segments() {
    let with =
        |tables, capture: &[_]| chain().with(&[&[("record.tables", tables)], capture].concat());
    let asked = [("record.capture", "true")];
    let error = with("[\"drops\"]", &asked).unwrap_err().to_string();
    assert!(error.starts_with("captures need the table `segments`"), "{error}");
    assert!(error.contains("add `segments` to `tables`, or set `capture` to false"), "{error}");
    assert!(with("[\"drops\", \"segments\"]", &asked).is_ok());
    for (tables, capture) in [("[\"drops\"]", "false"), ("[\"segments\"]", "true")] {
        let resolved = with(tables, &[]).unwrap().resolved();
        assert!(resolved.contains(&format!("capture = {capture}\n")), "{resolved}");
        assert!(Scenario::parse("again.toml", &resolved).is_ok(), "{tables}");
    }
}

#[test]
fn a_packet_is_refused_if_the_timestamps_leave_no_room_for_payload() {
    let with = |tcp| chain().with(&[("flows.x.tcp", tcp), ("flows.x.profile", "rfc-2026")]);
    let error = with("{ packet_size = \"52 B\" }").unwrap_err().to_string();
    assert!(error.starts_with("a packet of 52 B has no room"), "{error}");
    assert!(error.contains("write at least 53 B, or `timestamps = false`"), "{error}");
    for least in ["{ packet_size = \"53 B\" }", "{ packet_size = \"41 B\", timestamps = false }"] {
        assert!(with(least).is_ok(), "{least}");
    }
}

#[test]
fn switches_that_contradict_each_other_are_refused() {
    let with = |tcp| chain().with(&[("flows.x.tcp", tcp), ("flows.x.profile", "rfc-2026")]);
    for (wrong, says, right) in [
        (
            "{ sack = false }",
            "`recovery = \"rack\"` needs SACK",
            "{ sack = false, recovery = \"newreno\" }",
        ),
        (
            "{ timestamps = false, rto = { sampling = \"timestamps\" } }",
            "`rto.sampling = \"timestamps\"` needs timestamps",
            "{ timestamps = false }",
        ),
        (
            "{ receive = { autotuning = true } }",
            "`receive.autotuning` has no effect without `receive.counts_memory`",
            "{ receive = { autotuning = true, counts_memory = true } }",
        ),
        (
            "{ acks = { delayed = \"100 ms\", at_most = \"50 ms\" } }",
            "`at_most` is less than `delayed`",
            "{ acks = { delayed = \"100 ms\", at_most = \"100 ms\" } }",
        ),
    ] {
        let error = with(wrong).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
        assert!(with(right).is_ok(), "{right}");
    }
}

#[test]
fn shares_of_a_round_trip_have_bounds_and_at_most_two_decimals() {
    let with = |tcp: &str| chain().with(&[("flows.x.tcp", tcp), ("flows.x.profile", "rfc-2026")]);
    for fine in ["reorder_window = 0.07", "reorder_window = 0.0", "tlp_wait = 1.5", "tlp_wait = 3"]
    {
        assert!(with(&format!("{{ {fine} }}")).is_ok(), "{fine}");
    }
    for (wrong, fix) in [
        ("tlp_wait = 0.0", "from 0.01 to 100 in steps of 0.01"),
        ("tlp_wait = 0.125", "from 0.01 to 100 in steps of 0.01"),
        ("reorder_window = -1.0", "from 0 to 100 in steps of 0.01"),
        ("reorder_window = nan", "from 0 to 100 in steps of 0.01"),
    ] {
        let error = with(&format!("{{ {wrong} }}")).unwrap_err().to_string();
        assert!(error.contains(fix), "{error}");
    }
}
