//! Tests of `[sweep]`: its forms, and the messages for mistakes in it. `CHAIN` is a small scenario
//! to which the tests add a sweep.

use super::*;

/// The sweep of [`CHAIN`] with this text of `[sweep]`.
fn sweep(text: &str) -> Result<Sweep, ScenarioError> {
    Scenario::parse("x.toml", &format!("{CHAIN}\n[sweep]\n{text}\n"))
        .map(|scenario| scenario.sweep().expect("the text has `[sweep]`"))
}

/// The labels of the first axis of this sweep.
fn labels(text: &str) -> Vec<String> {
    let sweep = sweep(text).unwrap_or_else(|error| panic!("{error}"));
    sweep.all_labels()[0].iter().map(ToString::to_string).collect()
}

#[test]
fn every_combination_has_a_case_for_each_seed() {
    let sweep = sweep(
        "seeds = 2\nover.rate = { path = \"links.modem.rate\", values = [\"1 kbit/s\", \"2 kbit/s\"] }\n\
         over.sender = { sets = { old = { \"flows.x.tcp.recovery\" = \"tahoe\" }, \
         new = { \"flows.x.tcp.recovery\" = \"sack\", \"flows.x.tcp.initial_window\" = \"4 segments\" } } }",
    )
    .unwrap();
    assert_eq!((sweep.cases(), sweep.combinations()), (8, 4));
    let shown: Vec<String> = (0..4)
        .map(|n| sweep.labels(n).iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(shown, ["1 kbit/s old", "1 kbit/s new", "2 kbit/s old", "2 kbit/s new"]);
    let last = sweep.scenario(7).unwrap().resolved();
    for line in ["rate = \"2000 bit/s\"", "recovery = \"sack\"", "initial_window = \"4 segments\""]
    {
        assert!(last.contains(line), "{line} is missing in\n{last}");
    }
    assert!(!last.contains("sweep"), "{last}");
}

#[test]
fn a_range_includes_both_ends_and_keeps_its_unit() {
    let delay =
        |rest: &str| labels(&format!("over.d = {{ path = \"links.modem.delay\", {rest} }}"));
    assert_eq!(delay("from = \"10 ms\", to = \"40 ms\", count = 3"), ["10 ms", "25 ms", "40 ms"]);
    // The values between the ends are rounded to six digits, and to whole nanoseconds.
    assert_eq!(
        delay("from = \"1 ms\", to = \"2 ms\", count = 4"),
        ["1 ms", "1.33333 ms", "1.66667 ms", "2 ms"]
    );
    assert_eq!(
        delay("from = \"1 us\", to = \"1.005 us\", count = 3"),
        ["1 us", "1.003 us", "1.005 us"]
    );
    assert_eq!(
        delay("from = \"1 ms\", to = \"100 ms\", count = 3, spacing = \"log\""),
        ["1 ms", "10 ms", "100 ms"]
    );
    assert_eq!(
        labels(
            "over.w = { path = \"flows.x.tcp.initial_window\", from = \"1 segment\", to = \"10 segments\", count = 4 }"
        ),
        ["1 segments", "4 segments", "7 segments", "10 segments"]
    );
    assert_eq!(
        labels("over.n = { path = \"flows.x.count\", from = 1, to = 9, count = 3 }"),
        ["1", "5", "9"]
    );
}

#[test]
fn one_axis_may_set_several_keys_to_the_same_value() {
    let sweep = sweep(
        "over.rate = { path = [\"links.modem.rate\", \"links.lan.rate\"], values = [\"5 kbit/s\"] }",
    )
    .unwrap();
    assert_eq!(sweep.scenario(0).unwrap().resolved().matches("rate = \"5000 bit/s\"").count(), 2);
}

#[test]
fn a_combination_has_the_same_flows_as_the_scenario_of_its_case() {
    let sweep = sweep(
        "seeds = 1\nover.rate = { path = \"links.modem.rate\", values = [\"1 kbit/s\", \"2 kbit/s\"] }\n\
         over.acks = { path = \"flows.x.tcp.acks\", values = [\"every segment\", { delayed = \"200 ms\" }] }",
    )
    .unwrap();
    for case in 0..sweep.cases() {
        let mut quick = sweep.combination(case).unwrap().simulate(sweep.seed(case)).unwrap();
        quick.advance_to(quick.stop());
        let slow = run(&sweep.scenario(case).unwrap());
        assert_eq!(quick.finish().flows_digest(), slow.flows_digest());
    }
}

/// The sets change a flow, a link, or other keys, or they add a flow or a link. The sweep computes
/// a hash of the text of all links once, and reuses this hash for a combination that changes only
/// flows. One link has a timeline, so that the text of the links is long.
#[test]
fn reading_only_the_changed_tables_gives_the_same_combination_as_reading_all_tables() {
    let moving =
        CHAIN.replace("\"150 ms\"", "{ timeline = [[\"0 s\", \"1 ms\"], [\"5 s\", \"9 ms\"]] }");
    let sets = r#"
        flow = { "flows.x.start" = "1 s", "flows.x.tcp.acks" = "every segment" }
        link = { "links.lan.delay" = "3 ms" }
        all = { "stop" = "9 s", "flows.x.start" = "2 s" }
        more = { "flows.y" = { from = "c", to = "a", send = "3 segments" } }
        new = { "links.far" = { between = ["c", "d"], rate = "1 Mbit/s" }, "flows.x.to" = "d" }
        nothing = {}
    "#;
    let text = format!("title = \"\"\"\ntwo lines\"\"\"\n{moving}\n[sweep.over.one.sets]\n{sets}");
    let sweep = Scenario::parse("x.toml", &text).unwrap().sweep().unwrap();
    for case in 0..sweep.cases() {
        let read = sweep.scenario(case).unwrap();
        let quick = sweep.combination(case).unwrap();
        assert_eq!(quick, combination::Combination::new(read.spec), "case {case}");
    }
}

#[test]
fn a_combination_is_identified_by_its_values_and_not_by_its_seed() {
    let print = |text: &str, n| {
        let sweep = sweep(text).unwrap();
        sweep.combination(n * sweep.seeds()).unwrap().fingerprint
    };
    let over = "over.rate = { path = \"links.modem.rate\", values = [\"1 kbit/s\", \"2 kbit/s\"] }";
    assert_eq!(print(over, 1), print(&format!("seeds = 7\n{over}"), 1));
    assert_ne!(print(over, 0), print(over, 1));
}

#[test]
fn sweeps_with_different_values_or_names_have_different_fingerprints() {
    let over = [
        "{ x = { \"links.modem.rate\" = \"1 kbit/s\", stop = \"5 s\" }, y = {} }",
        "{ x = { \"links.modem.rate\" = \"1 kbit/s\" }, y = { stop = \"5 s\" } }",
        "{ x = { \"links.modem.rate\" = \"1 kbit/s\", stop = \"5 s\" }, z = {} }",
        "{ y = {}, x = { \"links.modem.rate\" = \"1 kbit/s\", stop = \"5 s\" } }",
    ];
    let prints = over.map(|sets| sweep(&format!("over.a.sets = {sets}")).unwrap().fingerprint());
    let other: std::collections::BTreeSet<&String> = prints.iter().collect();
    assert_eq!(other.len(), prints.len(), "{prints:?}");
}

#[test]
fn with_the_same_seed_a_random_axis_draws_the_same_value_in_all_combinations() {
    let text = "seeds = 40\n\
         over.delay = { path = \"links.modem.delay\", from = \"10 ms\", to = \"90 ms\", draw = true }\n\
         over.rate = { path = \"links.modem.rate\", values = [\"1 kbit/s\", \"2 kbit/s\"] }\n\
         over.n = { path = \"flows.x.count\", from = 1, to = 3, draw = true }\n\
         over.queue = { path = \"links.modem.queue\", values = [\"5 packets\", \"9 packets\"], draw = true }";
    let sweep = sweep(text).unwrap();
    assert_eq!((sweep.names(), sweep.cases()), (&["rate".to_owned()][..], 80));
    let names: Vec<&str> = sweep.drawn().iter().map(RandomAxis::name).collect();
    assert_eq!(names, ["delay", "n", "queue"]);
    let drawn = |case| sweep.drawn_labels(case);
    let mut met = [(); 3].map(|()| std::collections::BTreeSet::new());
    for run in 0..40 {
        assert_eq!(drawn(run), drawn(40 + run), "both rates have the same draws");
        for (met, label) in met.iter_mut().zip(drawn(run)) {
            met.insert(label.to_string());
        }
        let [delay, n, queue] = drawn(run).try_into().unwrap();
        let resolved = sweep.scenario(run).unwrap().resolved();
        let Label::Whole(flows) = n else { panic!("{n:?}") };
        assert!((1..=3).contains(&flows) && resolved.contains(&format!("count = {flows}")));
        assert!(resolved.contains(&format!("queue = \"{queue}\"")), "{queue}\n{resolved}");
        let ms: f64 = delay.to_string().strip_suffix(" ms").unwrap().parse().unwrap();
        assert!((10.0..90.0).contains(&ms), "{ms}");
    }
    assert_eq!(met.map(|all| all.len()), [40, 3, 2]);
    let other = text.replace("to = 3", "to = 4");
    assert_ne!(super::sweeps::sweep(&other).unwrap().fingerprint(), sweep.fingerprint());
}

#[test]
fn a_scenario_accepts_each_drawn_value() {
    for (path, from, to) in [
        ("links.modem.delay", "1 us", "2 us"),
        ("links.modem.rate", "1 kbit/s", "2 kbit/s"),
        ("flows.x.send", "1 kB", "2 kB"),
        ("links.modem.queue", "1 packets", "3 packets"),
        ("links.modem.queue", "3 packets", "1 packet"),
        ("links.modem.delay", "0.01 ms", "100 ms"),
        ("links.modem.delay", "0.000001 s", "10 s"),
        ("links.modem.delay", "0.0000001 min", "1 min"),
        ("links.modem.rate", "0.05 Mbit/s", "50 Mbit/s"),
        ("links.modem.rate", "0.0001 Gbit/s", "1 Gbit/s"),
        ("links.modem.queue", "1 KiB", "100 KiB"),
    ] {
        for (spacing, how) in
            ["even", "log"].into_iter().flat_map(|s| [(s, "draw = true"), (s, "count = 20")])
        {
            if from.contains("packet") && how != "draw = true" {
                continue; // There are fewer than 20 whole numbers.
            }
            let sweep = sweep(&format!(
                "seeds = 20\nover.x = {{ path = \"{path}\", from = \"{from}\", to = \"{to}\", \
                 spacing = \"{spacing}\", {how} }}"
            ));
            let sweep = sweep.unwrap_or_else(|error| panic!("{error}"));
            for case in 0..20 {
                sweep.scenario(case).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}

#[test]
fn a_drawn_value_stays_in_a_range_whose_ends_need_many_digits() {
    let sweep = sweep(
        "seeds = 20\nover.d = { path = \"links.modem.delay\", from = \"100000.4 ms\", \
         to = \"100000.6 ms\", draw = true }",
    )
    .unwrap();
    for case in 0..20 {
        let label = sweep.drawn_labels(case).remove(0).to_string();
        let ms: f64 = label.strip_suffix(" ms").unwrap().parse().unwrap();
        assert!((100_000.4..=100_000.6).contains(&ms), "{label}");
    }
}

#[test]
fn each_run_may_draw_the_file_that_a_link_follows() {
    let chain = CHAIN.replace("delay = \"150 ms\", ", "");
    let files = |slow: &str| {
        [("fast.toml", "delay = \"1 ms\""), ("slow.toml", slow)]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
    };
    let text = format!(
        "{chain}\n[sweep]\nseeds = 9\nover.path = {{ path = \"links.modem.follows\", \
         values = [\"fast.toml\", \"slow.toml\"], draw = true }}"
    );
    let read = |slow: &str| {
        let files: Vec<(String, String)> = files(slow).into();
        Scenario::parse_with("x.toml", &text, files).unwrap().sweep().unwrap()
    };
    let sweep = read("delay = \"900 ms\"");
    for case in 0..9 {
        let file = sweep.drawn_labels(case).remove(0).to_string();
        let fast = file == "fast.toml";
        let resolved = sweep.scenario(case).unwrap().resolved();
        assert_eq!(resolved.contains("delay = \"1 ms\""), fast, "{file}\n{resolved}");
        let mut quick = sweep.combination(case).unwrap().simulate(sweep.seed(case)).unwrap();
        quick.advance_to(quick.stop());
        let slow = run(&sweep.scenario(case).unwrap());
        assert_eq!(quick.finish().flows_digest(), slow.flows_digest(), "{file}");
    }
    assert_ne!(sweep.fingerprint(), read("delay = \"800 ms\"").fingerprint());
}

#[test]
fn listed_scenarios_with_the_same_labels_are_repeats_of_each_other() {
    let scenario = Scenario::parse("x.toml", CHAIN).unwrap();
    let labels = ["a", "b", "a", "b"].map(|label| vec![Label::Text(label.to_owned())]);
    let cases = labels.into_iter().map(|labels| (labels, scenario.clone())).collect();
    let budget = Budget::default();
    let sweep = Sweep::listed(vec!["x".to_owned()], cases, 2, true, budget).unwrap();
    let repeats: Vec<u64> = (0..8).map(|case| sweep.repeat(case)).collect();
    assert_eq!(repeats, [1, 2, 1, 2, 3, 4, 3, 4]);
    let seeds: std::collections::BTreeSet<u64> = (0..8).map(|case| sweep.seed(case)).collect();
    assert_eq!(seeds.len(), 4, "cases of the same repeat have the same seed");
}

/// The text of `[sweep]`, the key of the error, and parts of its message and fix.
const MISTAKES: &[[&str; 4]] = &[
    [
        "over.r = { path = \"links.modme.rate\", values = [\"1 kbit/s\"] }",
        "sweep.over.r.path",
        "no link `modme`",
        "did you mean `modem`?",
    ],
    [
        "over.r = { path = \"links.modem.rat\", values = [\"1 kbit/s\"] }",
        "sweep.over.r.path",
        "unknown key `rat`",
        "did you mean `rate`?",
    ],
    [
        "over.r = { path = \"flow.x.send\", values = [\"1 kB\"] }",
        "sweep.over.r.path",
        "unknown key `flow`",
        "did you mean `flows`?",
    ],
    [
        "over.r = { path = \"flows.x.tcp.initial_widow\", values = [\"1 segment\"] }",
        "sweep.over.r.path",
        "unknown key `initial_widow`",
        "did you mean `initial_window`?",
    ],
    [
        "over.r = { path = \"links.modem.rate\", values = [\"1 kbit/s\", \"2 kbps\"] }",
        "sweep.over.r.values[1]",
        "not a bit rate",
        "2 kbit/s",
    ],
    [
        "over.r = { sets = { a = { \"links.modem.rat\" = \"1 kbit/s\" } } }",
        "sweep.over.r.sets.a.\"links.modem.rat\"",
        "unknown key `rat`",
        "did you mean `rate`?",
    ],
    [
        "over.r = { values = [1] }",
        "sweep.over.r",
        "needs either `path` with values",
        "write `path`",
    ],
    ["over.r = { path = \"stop\" }", "sweep.over.r", "either a list", "`from`, `to` and `count`"],
    ["over.r = { path = \"stop\", values = [] }", "sweep.over.r", "has no values", "at least one"],
    [
        "over.r = { path = \"stop\", values = [\"1 s\", \"1 s\"] }",
        "sweep.over.r.values[1]",
        "`1 s` appears twice",
        "each value once",
    ],
    [
        "over.r = { path = \"stop\", from = \"1 s\", to = \"1 s\", count = 2 }",
        "sweep.over.r",
        "`1 s` appears twice",
        "write ends that are farther apart, or fewer values: values are rounded",
    ],
    [
        "over.r = { path = \"links.modem.loss.probability\", from = 0, to = 1, count = 3 }",
        "sweep.over.r",
        "`1` appears twice",
        "has only whole numbers; for decimals write `from = 0.0`",
    ],
    [
        "over.r = { path = \"stop\", values = [\"1 s\"], spacing = \"log\" }",
        "sweep.over.r",
        "`r` has a list of values, and keys of a range",
        "leave out `values`, or `from`, `to`, `count` and `spacing`",
    ],
    [
        "over.r = { path = \"stop\", from = \"1 s\", to = \"2 ms\", count = 3 }",
        "sweep.over.r",
        "are not the ends of a range",
        "the same unit",
    ],
    [
        "over.r = { path = \"stop\", from = \"0 s\", to = \"2 s\", count = 3, spacing = \"log\" }",
        "sweep.over.r",
        "must be above zero",
        "ends above zero",
    ],
    [
        "over.r = { path = \"seed\", values = [1, 2] }",
        "sweep.over.r.path",
        "cannot vary `seed`",
        "`seeds`",
    ],
    [
        "over.sent = { path = \"stop\", values = [\"1 s\"] }",
        "sweep.over.sent",
        "has a column `sent`",
        "another name",
    ],
    [
        "over.label = { path = \"stop\", values = [\"1 s\"] }",
        "sweep.over.label",
        "tables of results may have a column `label`",
        "another name",
    ],
    [
        "over.r = { path = [], values = [\"1 s\"] }",
        "sweep.over.r.path",
        "the list has no paths",
        "at least one path",
    ],
    [
        "over.r = { path = [\"stop\", \"stop\"], values = [\"1 s\"] }",
        "sweep.over.r.path",
        "`stop` replaces the value of `stop`",
        "each path once",
    ],
    [
        "over.r = { sets = { a = { \"links.modem.rate\" = \"1 kbit/s\", \
         'links.\"modem\".rate' = \"2 kbit/s\" } } }",
        "sweep.over.r.sets.a.'links.\"modem\".rate'",
        "replaces the value of `links.modem.rate`",
        "each path once",
    ],
    [
        "over.r = { sets = { a = { \"flows.x.tcp.recovery\" = \"reno\", \
         \"flows.x.tcp\" = {} } } }",
        "sweep.over.r.sets.a.\"flows.x.tcp\"",
        "replaces the value of `flows.x.tcp.recovery`",
        "a table before its keys",
    ],
    [
        "over.r = { path = \"stop\", from = \"1 s\", to = \"2 s\", count = 1 }",
        "sweep.over.r.count",
        "out of range",
        "from 2",
    ],
    [
        "over.a = { path = \"links.modem.rate\", values = [\"1 kbit/s\"] }\n\
         over.b = { path = [\"stop\", \"links.modem.rate\"], values = [\"2 kbit/s\"] }",
        "sweep.over.b.path",
        "the axis `a` varies `links.modem.rate`, as this axis does",
        "another path",
    ],
    [
        "over.a = { path = \"flows.x.tcp.recovery\", values = [\"reno\"] }\n\
         over.b = { sets = { all = { \"flows.x.tcp\" = {} } } }",
        "sweep.over.b.sets.all.\"flows.x.tcp\"",
        "the axis `a` varies `flows.x.tcp.recovery`, which this value replaces",
        "use one axis with `sets`",
    ],
    [
        "over.r = { path = \"stop\", from = \"1 s\", to = \"2 s\", count = 3, draw = true }",
        "sweep.over.r.count",
        "with `draw`, each run draws one value",
        "leave `count` out",
    ],
    [
        "over.r = { path = \"stop\", from = \"1 s\", draw = true }",
        "sweep.over.r",
        "either a list",
        "`from`, `to` and `count`",
    ],
    [
        "over.r = { path = \"links.modem.rate\", from = \"1 ms\", to = \"2 ms\", draw = true }",
        "sweep.over.r",
        "not a bit rate",
        "",
    ],
    ["seeds = 0", "sweep.seeds", "out of range", "from 1"],
    ["sedes = 3", "sweep.sedes", "unknown key `sedes`", "did you mean `seeds`?"],
    ["time = \"0 s\"", "sweep.time", "stop every case immediately", "above zero"],
    ["over.r = { pth = \"stop\" }", "sweep.over.r.pth", "unknown key `pth`", "`path`"],
];

#[test]
fn a_mistake_is_reported_with_its_place_and_the_fix() {
    for [text, key, message, fix] in MISTAKES {
        let error = sweep(text).expect_err(text);
        assert_eq!(error.key, *key, "{error}");
        assert!(error.message.contains(message), "{message}: {error}");
        assert!(error.fix.contains(fix), "{fix}: {error}");
        assert!(error.place.is_some(), "no place: {error}");
    }
}

#[test]
fn too_many_cases_are_an_error() {
    let error = sweep(
        "seeds = 1000000\nover.n = { path = \"flows.x.count\", from = 1, to = 1000, count = 1000 }",
    );
    assert!(error.unwrap_err().message.contains("cases; the maximum is 100000000"));
}
