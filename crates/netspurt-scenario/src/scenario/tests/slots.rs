//! Tests of links over satellites in low orbits. A slot is the time in which a terminal uses one
//! satellite. The delays of these links are drawn for each slot.

use toml::Value;

use netspurt::record::Data;
use netspurt::units::Duration;

use super::mistakes::MistakeCase;
use super::*;

/// Mistakes in the table `slots` of a link.
pub(super) const MISTAKES: &[MistakeCase] = &[
    [
        "\"3 packets\"",
        "\"3 packets\", slots = { period = \"0 s\" }",
        "fits more than 2000000 times",
        "write a longer time",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", slots = { base = [\"9 ms\", \"3 ms\"] }",
        "ends before it begins",
        "smaller value first",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", slots = { share = [0, 1] }",
        "both shares must be above 0",
        "share = [0.027, 1]",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", slots = {}, handovers = [{ at = \"1 s\" }]",
        "cannot have `handovers` of its own",
        "`gap` or `outages`",
    ],
    [
        "\"3 packets\"",
        "\"3 packets\", slots = { jitter = { difference = \"1 ms\", step = \"1 ns\" } }",
        "fits more than 2000000 times",
        "write a longer time",
    ],
    [
        "\"150 ms\"",
        "{ timeline = [[\"0 s\", \"1 ms\"]] }, slots = {}",
        "needs a constant `delay`",
        "leave it out",
    ],
];

/// The text of a scenario in which the link `sky` has this table `slots`.
fn path(slots: &str) -> String {
    format!(
        "stop = \"120 s\"\n[links]\n\
         sky = {{ between = [\"a\", \"b\"], rate = \"9 Mbit/s\", slots = {slots} }}\n\
         [flows.x]\nfrom = \"a\"\nto = \"b\"\nprofile = \"rfc-2026\"\nsend = \"300 segments\"\n"
    )
}

/// The points of the link's delay in one direction: the instant and the delay, in milliseconds.
fn delays(scenario: &Scenario) -> Vec<(f64, f64)> {
    let table: toml::Table = scenario.link_changes("sky").unwrap().parse().unwrap();
    let points = table["delay"][0]["timeline"].as_array().unwrap().clone();
    let millis = |value: &Value| {
        let span: Duration = value.as_str().unwrap().parse().unwrap();
        span.as_secs_f64() * 1e3
    };
    points.iter().map(|point| (millis(&point[0]), millis(&point[1]))).collect()
}

#[test]
fn each_slot_has_its_own_delay_that_drifts() {
    let text = path("{ drift = \"1 ms\" }");
    let scenario = Scenario::parse("x", &text).unwrap();
    let points = delays(&scenario);
    let starts: Vec<f64> = points.iter().step_by(2).map(|point| point.0).collect();
    assert_eq!(starts, [0, 12, 27, 42, 57, 72, 87, 102, 117].map(|s| f64::from(s) * 1e3));
    for ends in points.chunks(2) {
        let [(from, first), (to, last)] = *ends else { panic!("{points:?}") };
        assert!((15.0..=40.0).contains(&first), "{points:?}");
        assert!((last - first).abs() <= (to - from) / 1e3 + 1e-6, "{points:?}");
    }
    let again = Scenario::parse("y", &text).unwrap();
    assert_eq!(delays(&again), points);
    assert_ne!(delays(&again.with(&[("seed", "2")]).unwrap()), points);
    // Outages are drawn from another random stream, so they change no delay.
    let more = again.with(&[("links.sky.slots.outages", "{ every = \"20 s\", dead = \"1 s\" }")]);
    assert_eq!(delays(&more.unwrap()), points);
}

#[test]
fn the_jitter_sets_the_mean_difference_of_delays_that_are_20_ms_apart() {
    let text = path("{ base = [\"60 ms\", \"60 ms\"], jitter = { difference = \"4 ms\" } }");
    let points = delays(&Scenario::parse("x", &text).unwrap());
    assert_eq!(points.len(), 120_000);
    let apart: Vec<f64> = points.windows(21).map(|w| (w[20].1 - w[0].1).abs()).collect();
    let mean = apart.iter().sum::<f64>() / f64::from(u32::try_from(apart.len()).unwrap());
    // There are about 3000 independent differences, so the mean of 4 ms has a standard deviation of
    // 0.06 ms.
    assert!((3.75..4.25).contains(&mean), "{mean}");
}

#[test]
fn slots_that_are_written_to_a_file_give_another_link_the_same_behaviour() {
    let text = path(
        "{ drift = \"1 ms\", jitter = { difference = \"2 ms\" }, share = [0.1, 1], \
         spike = { height = [\"15 ms\", \"25 ms\"], lasts = [\"50 ms\", \"300 ms\"] }, \
         gap = { probability = 0.5, dead = \"20 ms\" }, outages = { every = \"9 s\", dead = \"2 s\" } }",
    );
    let slots = Scenario::parse("x", &text).unwrap();
    let file = slots.link_changes("sky").unwrap();
    assert!(file.lines().all(|line| line.len() < 60), "one point per line");
    let start = text.find("rate = ").unwrap();
    let end = text.find(" }\n[flows").unwrap();
    let follows = format!("{}follows = \"sky.toml\"{}", &text[..start], &text[end..]);
    let files = vec![("sky.toml".to_owned(), file)];
    let followed = Scenario::parse_with("y", &follows, files).unwrap();
    let digest = |scenario: &Scenario| run(scenario).digest();
    assert_eq!(digest(&slots), digest(&followed));
    // Another seed gives the link other delays, rates and handovers.
    assert_ne!(digest(&slots), digest(&slots.with(&[("seed", "2")]).unwrap()));
    // The dead times do not overlap.
    let dead: Vec<_> = slots.network().links[0].handovers.clone();
    assert!(dead.len() > 5, "{dead:?}");
    assert!(dead.windows(2).all(|two| two[0].at + two[0].dead <= two[1].at), "{dead:?}");
}

#[test]
fn if_gaps_have_the_probability_one_a_gap_follows_every_boundary() {
    let dead = |slots: &str, seed: &str| {
        let scenario = Scenario::parse("x", &path(slots)).unwrap().with(&[("seed", seed)]).unwrap();
        let all = scenario.network().links[0].handovers.clone();
        all.iter().map(|one| (one.at, one.dead)).collect::<Vec<_>>()
    };
    let at = |second: u64| Time::ZERO + Duration::from_secs(second);
    let short = Duration::from_millis(20);
    let gaps: Vec<_> = (0..8).map(|slot| (at(12 + 15 * slot), short)).collect();
    assert_eq!(dead("{ gap = { probability = 1, dead = \"20 ms\" } }", "1"), gaps);
    assert_eq!(dead("{ gap = { probability = 0, dead = \"20 ms\" } }", "1"), []);
    assert_eq!(dead("{ gap = { probability = 1, dead = \"0 s\" } }", "1"), []);
    // A gap that overlaps an outage is left out, and each other gap remains.
    let outages = "outages = { every = \"9 s\", dead = \"4 s\" }";
    let mut left_out = 0;
    for seed in ["1", "2", "3"] {
        let only = dead(&format!("{{ {outages} }}"), seed);
        let both = format!("{{ gap = {{ probability = 1, dead = \"20 ms\" }}, {outages} }}");
        let free = |gap: &&(Time, Duration)| {
            only.iter().all(|(at, dead)| gap.0 + gap.1 <= *at || *at + *dead <= gap.0)
        };
        let mut wanted: Vec<_> = only.iter().chain(gaps.iter().filter(free)).copied().collect();
        wanted.sort();
        assert_eq!(dead(&both, seed), wanted);
        left_out += only.len() + gaps.len() - wanted.len();
    }
    assert!(left_out > 0, "no seed has an outage at a boundary");
}

#[test]
fn losses_and_duplicates_are_written_to_a_file_if_they_change_with_time() {
    let points = "{ timeline = [[\"0 s\", 0.3], [\"1 s\", 0]] }";
    let losing = format!(
        "loss = {{ probability = {points}, nth = [40] }}, \
         duplicate = [\"none\", {{ probability = {points}, after = \"3 ms\" }}]"
    );
    let text = |keys: &str| {
        format!(
            "stop = \"9 s\"\n[links]\n\
             sky = {{ between = [\"a\", \"b\"], rate = \"9 Mbit/s\", delay = \"9 ms\", {keys} }}\n\
             [flows.x]\nfrom = \"a\"\nto = \"b\"\nprofile = \"rfc-2026\"\nsend = \"300 segments\"\n"
        )
    };
    let scenario = Scenario::parse("x", &text(&losing)).unwrap();
    assert_eq!(scenario.changing_links(), ["sky"]);
    let only_copies = losing.split_once("duplicate").unwrap().1;
    let only_copies = Scenario::parse("w", &text(&format!("duplicate{only_copies}"))).unwrap();
    assert!(only_copies.changing_links().is_empty(), "no picture shows duplicates");
    assert!(only_copies.link_changes("sky").unwrap().contains("duplicate"));
    let file = scenario.link_changes("sky").unwrap();
    assert!(!file.contains("delay"), "a constant delay is not written: {file}");
    let files = vec![("sky.toml".to_owned(), file)];
    let followed = Scenario::parse_with("y", &text("follows = \"sky.toml\""), files).unwrap();
    assert_eq!(run(&scenario).digest(), run(&followed).digest());
    let constant = losing.replace(points, "0.3");
    assert_ne!(constant, losing);
    let constant = Scenario::parse("z", &text(&constant)).unwrap();
    assert!(constant.link_changes("sky").is_err(), "constant probabilities do not change");
}

#[test]
fn only_links_with_changing_values_can_be_written_to_a_file() {
    let still = Scenario::parse("x", STARTING_POINT).unwrap();
    let error = still.link_changes("modem").unwrap_err();
    assert!(error.message.contains("its values do not change in a run"), "{error}");
    let error = still.link_changes("mdoem").unwrap_err();
    assert!(error.fix.contains("modem"), "{error}");
}

#[test]
fn a_scenario_without_its_sweep_may_use_the_kernels_tcp() {
    let text = format!(
        "{}\n[sweep]\nseeds = 3\n",
        path("{}").replace("profile = \"rfc-2026\"", "profile = \"linux-6\"")
    );
    let swept = Scenario::parse("x", &text).unwrap();
    let kernel = [("flows.x.endpoint", "kernel")];
    let alone = swept.alone();
    assert!(alone.sweep().is_none() && !alone.text().contains("sweep"));
    assert!(alone.with(&kernel).unwrap().kernel_flow().is_some());
}

#[test]
fn a_random_start_of_a_flow_depends_on_the_seed() {
    let text =
        path("{}").replace("send =", "count = 3\nevery = \"10 s\"\nspread = \"2 s\"\nsend =");
    let starts = |seed: &str| {
        let scenario = Scenario::parse("x", &text).unwrap().with(&[("seed", seed)]).unwrap();
        let results = run(&scenario);
        let Some(Data::OptionalI64(starts)) = results.table("flows").unwrap().column("start_ns")
        else {
            panic!("no starts")
        };
        starts.iter().map(|at| Time::from_nanos(at.unwrap().cast_unsigned())).collect::<Vec<_>>()
    };
    let (one, two) = (starts("1"), starts("2"));
    assert_eq!(one, starts("1"));
    assert_ne!(one, two);
    for (i, start) in (0..).zip(&one) {
        let least = Time::ZERO + Duration::from_secs(10) * i;
        assert!((least..least + Duration::from_secs(2)).contains(start), "{one:?}");
    }
    let late = text.replace("120 s", "21 s");
    assert!(
        Scenario::parse("x", &late)
            .unwrap_err()
            .message
            .contains("`x.2` may start as late as 22 s")
    );
}
