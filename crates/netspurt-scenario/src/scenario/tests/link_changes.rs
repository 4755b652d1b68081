//! Tests of links whose values change with time, by timelines or by files. `CHAIN` is a small
//! scenario that the tests change.

use netspurt::units::Duration;

use crate::scenario::FollowedEnd;

use super::mistakes::MistakeCase;
use super::*;

/// Mistakes in lists of transmission opportunities, in losses that change with time, and in
/// handovers.
pub(super) const MISTAKES: &[MistakeCase] = &[
    ["\"9600 bit/s\"", "{ opportunities = [] }", "an instant above zero", "as in [\"1 ms\""],
    [
        "\"9600 bit/s\"",
        "{ opportunities = [\"1 ms\"], octets = \"0 B\" }",
        "at least one octet",
        "as in `1500 B`",
    ],
    [
        "\"9600 bit/s\"",
        "{ opportunities = [\"2 ms\", \"1 ms\"] }",
        "opportunity 2 is earlier",
        "as in",
    ],
    ["\"9600 bit/s\"", "{ octets = \"9 B\" }", "either a `timeline` or", "write one of them"],
    [
        "\"9600 bit/s\"",
        "{ opportunities = [\"1 ms\"] }, handovers = [{ at = \"1 s\", dead = \"1 s\" }]",
        "has no dead time and keeps its queue",
        "leave `dead` and `queue` out",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", loss = { probability = { timeline = [[\"0 s\", 2]] } }",
        "2 is not a probability",
        "0 to 1",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", loss = { probability = { timeline = [[\"0 s\"]] } }",
        "a list of length 1",
        "two values",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", loss = { probability = { timeline = [] } }",
        "at least one point",
        "as in [[\"0 s\", 0.2]",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", loss = { probability = 0.1, bit_error_rate = 1e-6 }",
        "exclude each other",
        "one of them",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", handovers = [{ at = \"1 s\", dead = \"2 s\" }, { at = \"2 s\" }]",
        "the previous handover ends only at 3 s",
        "write the handovers in the order of time, without overlaps",
    ],
    [
        "\"3 packets\"",
        "{ codel = {} }, handovers = [{ at = \"1 s\", queue = \"flush\" }]",
        "with an AQM cannot be flushed",
        "drop-tail",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", handovers = [{ at = \"1 s\", in_flight = \"copy\" }]",
        "out of order",
        "order = \"overtaking\"",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", handovers = [{ at = \"1 s\", in_flight = \"lose\" }]",
        "`lose` is not known here",
        "pass, drop, hold, copy",
    ],
];

/// If a run records neither queues nor drops, the simulator computes a frame's passage over several
/// links at once, before the frame arrives at them. This changes neither the results nor the number
/// of wake-ups. In this test, the delay sometimes falls by more than the time between two frames.
#[test]
fn computing_a_passage_over_several_links_at_once_changes_no_result() {
    let text = r#"
        stop = "60 s"
        [links]
        lan = { between = ["a", "b"], rate = "10 Mbit/s", delay = "1 ms" }
        sky = { between = ["b", "c"], rate = "1 Mbit/s", queue = "20 packets", delay = { between = "linear", timeline = [["0 s", "400 ms"], ["5 s", "10 ms"], ["5.05 s", "300 ms"], ["5.1 s", "10 ms"], ["30 s", "200 ms"]] } }
        far = { between = ["c", "d"], rate = "2 Mbit/s", delay = "7 ms", queue = "9 packets" }
        [flows.x]
        from = "a"
        to = "d"
        send = "3000 segments"
        [record]
        capture = false
        tables = []
    "#;
    let ended = |tables: &str| {
        let text = text.replace("tables = []", tables);
        let mut run = Scenario::parse("x.toml", &text).unwrap().simulate();
        run.advance_to(run.stop());
        (run.served(), run.finish().flows_digest())
    };
    let all = ended("tables = [\"queue\", \"drops\"]");
    assert_eq!(ended("tables = []"), all);
}

#[test]
fn a_link_has_the_values_of_the_file_that_it_follows() {
    let text = CHAIN.replace("delay = \"150 ms\"", "follows = \"pass.toml\"");
    let with = |pass: &str| {
        Scenario::parse_with("x.toml", &text, vec![("pass.toml".to_owned(), pass.to_owned())])
    };
    let moving =
        with("delay = { timeline = [[\"0 s\", \"9 ms\"]] }\n[[handovers]]\nat = \"1 s\"\n");
    let moving = moving.unwrap();
    assert!(!moving.text().contains("follows"), "{}", moving.text());
    assert!(moving.resolved().contains("9 ms"), "{}", moving.resolved());
    // The text of the scenario holds the values, so it can be read without the file.
    assert_eq!(Scenario::parse("y", &moving.text()).unwrap().resolved(), moving.resolved());
    for (pass, message) in [
        ("dealy = \"9 ms\"", "has a key `dealy`"),
        ("queue = \"9 packets\"", "has a key `queue`"),
        ("rate = \"1 bit/s\"", "`pass.toml` have a `rate`"),
        ("delay = ", "line 1 of `pass.toml` is not TOML"),
        ("delay = \"1 ms\"\n= 2\n", "line 2 of `pass.toml` is not TOML"),
        ("delay = \"9 m\"", "`9 m`"),
    ] {
        let error = with(pass).unwrap_err();
        assert!(error.message.contains(message), "{pass}: {error}");
        assert!(error.place.is_some(), "{pass}: {error}");
    }
    let alone = Scenario::parse("x.toml", &text).unwrap_err();
    assert!(alone.message.contains("no file `pass.toml`"), "{alone}");
}

#[test]
fn a_mistake_in_a_followed_file_is_reported_with_that_file_and_its_line() {
    let text = CHAIN.replace("delay = \"150 ms\"", "follows = \"pass.toml\"");
    let bare = CHAIN.replace(", delay = \"150 ms\"", "");
    let head = "# a pass\n\n";
    for (pass, line, shown) in [
        ("delay = { timeline = [[\"0 s\", \"9 ms\"], [\"5 s\", \"x\"]] }", 3, "x"),
        (
            "delay = { timeline = [\n [\"0 s\", \"9 ms\"],\n [\"5 s\", \"8 ms\"],\n [\"3 s\", \"9 ms\"]] }",
            6,
            "3 s",
        ),
        ("delay = { timelines = [] }", 3, "timelines"),
        ("loss = { probability = nan }", 3, "nan"),
        ("\n\nloss = { probability = 1.5 }", 5, "1.5"),
        ("dealy = \"9 ms\"", 3, "dealy"),
        ("[[handovers]]\nat = \"-1 s\"", 4, "-1 s"),
    ] {
        let files = || vec![("pass.toml".to_owned(), format!("{head}{pass}"))];
        let error = Scenario::parse_with("dir/x.toml", &text, files()).unwrap_err();
        let place = error.place.clone().expect(pass);
        assert_eq!((error.file.as_str(), place.line), ("dir/pass.toml", line), "{error}");
        assert!(error.to_string().contains(shown), "{error}");
        // If a setting names the file, the file is looked for in the working directory.
        let set = [("links.modem.follows", "pass.toml")];
        let base = Scenario::parse("dir/x.toml", &bare).unwrap();
        let error = base.with_files(&set, files()).unwrap_err();
        assert_eq!((error.file.as_str(), error.place.map(|at| at.line)), ("pass.toml", Some(line)));
    }
}

#[test]
fn if_a_setting_names_a_file_the_file_overrides_the_scenario_but_not_the_other_settings() {
    let base = Scenario::parse("x.toml", CHAIN).unwrap();
    let files = || {
        let moves = "delay = \"9 ms\"\nrate = \"77 kbit/s\"\norder = \"overtaking\"\n";
        vec![("pass.toml".to_owned(), moves.to_owned())]
    };
    let follows = ("links.modem.follows", "pass.toml");
    let moving = base.with_files(&[follows], files()).unwrap().resolved();
    for value in ["9 ms", "77 kbit/s", "overtaking"] {
        assert!(moving.contains(value), "{moving}");
    }
    let both = [follows, ("links.modem.rate", "5 kbit/s")];
    let kept = base.with_files(&both, files()).unwrap().resolved();
    assert!(kept.contains("5000 bit/s") && kept.contains("9 ms"), "{kept}");
    // A link and the file that it follows may not both have a `rate`. This also applies if one
    // setting has all keys of the link.
    let link = "{ between = [\"b\", \"c\"], rate = \"9 kbit/s\", follows = \"pass.toml\" }";
    let error = base.with_files(&[("links.modem", link)], files()).unwrap_err();
    assert!(error.message.contains("`pass.toml` have a `rate`"), "{error}");
    assert!(error.fix.contains("leave one of them out"), "{error}");
}

#[test]
fn a_followed_file_that_ends_before_the_run_is_listed() {
    let text = CHAIN.replace("delay = \"150 ms\"", "follows = \"pass.toml\"");
    let ends = |stop: &str, pass: &str| {
        let files = vec![("pass.toml".to_owned(), pass.to_owned())];
        let scenario = Scenario::parse_with("dir/x.toml", &text, files).unwrap();
        scenario.with(&[("stop", stop)]).unwrap().followed_ends()
    };
    let pass = "delay = { timeline = [[\"0 s\", \"9 ms\"], [\"3 s\", \"8 ms\"]] }\n";
    let at = |seconds: u64| {
        let (link, file) = ("modem".to_owned(), "dir/pass.toml".to_owned());
        vec![FollowedEnd { link, file, at: Duration::from_millis(1000 * seconds) }]
    };
    assert_eq!(ends("10 s", pass), at(3));
    assert_eq!(
        ends("10 s", &format!("{pass}[[handovers]]\nat = \"4 s\"\ndead = \"1 s\"\n")),
        at(5)
    );
    let copies = "duplicate = { probability = { timeline = [[\"0 s\", 0.1], [\"6 s\", 0.2]] } }\n";
    assert_eq!(ends("10 s", &format!("{pass}{copies}")), at(6));
    assert_eq!(ends("3 s", pass), []);
    // If no value of a link changes, the link is not listed.
    assert_eq!(ends("10 s", "delay = { timeline = [[\"0 s\", \"9 ms\"]] }"), []);
    // The list of opportunities repeats, but the delay does not change any more.
    let text = text.replace("rate = \"9600 bit/s\", ", "");
    let opportunities = "rate = { opportunities = [\"1 ms\", \"4 s\"] }\n";
    let both = vec![("pass.toml".to_owned(), format!("{opportunities}{pass}"))];
    assert_eq!(Scenario::parse_with("dir/x.toml", &text, both).unwrap().followed_ends(), at(3));
    let alone = vec![("pass.toml".to_owned(), opportunities.to_owned())];
    assert_eq!(Scenario::parse_with("dir/x.toml", &text, alone).unwrap().followed_ends(), []);
}

#[test]
fn a_followed_file_without_a_value_is_refused() {
    let text = CHAIN.replace("delay = \"150 ms\"", "follows = \"pass.toml\"");
    for (pass, expected) in
        [("", "is empty"), ("# nothing\n", "is empty"), ("t_s,delay_ms\n", "TOML")]
    {
        let files = vec![("pass.toml".to_owned(), pass.to_owned())];
        let error = Scenario::parse_with("x.toml", &text, files).unwrap_err();
        assert!(error.message.contains(expected), "{error}");
        assert!(error.fix.contains("netspurt timeline FILE --out OUT"), "{error}");
    }
}
