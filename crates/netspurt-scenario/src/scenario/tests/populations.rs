//! Tests of populations: connections that arrive and end during a run.

use netspurt::record::{Data, Table};

use super::*;

/// A population `web` of connections with one request and one reply each, over one link.
const WEB: &str = r#"
stop  = "60 s"
links = { wire = { between = ["client", "server"], rate = "2 Mbit/s", delay = "10 ms", queue = "20 packets" } }
[populations.web]
from     = "client"
to       = "server"
profile  = "rfc-2026"
arrivals = "poisson:rate=20/s"
send     = "200 B"
reply    = "lognormal:median=4 kB,sigma=1"
[record]
tables = ["connections"]
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

/// The column `name` of the table `connections`.
fn connections(results: &Results, name: &str) -> Vec<i64> {
    whole(results.table("connections").unwrap(), name)
}

/// The value of the only population in the column `name` of the table `populations`.
fn sum(results: &Results, name: &str) -> i64 {
    whole(results.table("populations").unwrap(), name)[0]
}

/// Runs the same connections as a population and as flows of a group. Compares the times of
/// each connection, and the sums of segments, timeouts and octets.
#[test]
fn a_connection_of_a_population_behaves_like_a_flow_with_the_same_settings() {
    let text = r#"
stop  = "60 s"
links = { wire = { between = ["client", "server"], rate = "2 Mbit/s", delay = "10 ms", queue = "20 packets" } }
[flows.web]
from    = "client"
to      = "server"
profile = "rfc-2026"
count   = 40
every   = "50 ms"
send    = "200 B"
app     = { reply = "15 kB" }
"#;
    let flows = run(&Scenario::parse("flows.toml", text).unwrap());
    let population = results(&[
        ("populations.web.arrivals", "every:50ms"),
        ("populations.web.most", "40"),
        ("populations.web.reply", "15 kB"),
    ]);
    let requests = flows.table("requests").unwrap();
    assert_eq!(connections(&population, "opened_ns"), whole(requests, "t_ns"));
    assert_eq!(connections(&population, "response_ns"), whole(requests, "complete_ns"));
    let sums = flows.table("flows").unwrap();
    for name in ["sent", "retransmissions", "spurious", "timeouts", "delivered_bytes"] {
        let all: i64 = whole(sums, name).iter().sum();
        assert_eq!(sum(&population, name), all, "{name}");
    }
    assert!(sum(&population, "retransmissions") > 0, "something was lost");
    let [starts, finished] = ["start_ns", "finished_ns"].map(|name| whole(sums, name));
    // Each connection has two rows, one for each direction. The first row has the instant of the
    // opening. The second row has the instant of the last acknowledgment.
    let pairs = starts.chunks(2).zip(finished.chunks(2));
    let spans: Vec<i64> = pairs.map(|(starts, finished)| finished[1] - starts[0]).collect();
    assert_eq!(connections(&population, "duration_ns"), spans);
}

#[test]
fn a_transfer_ends_with_the_last_acknowledgment_and_has_no_response() {
    let text = WEB.replace("reply    = \"lognormal:median=4 kB,sigma=1\"\n", "");
    let results = run(&Scenario::parse("web.toml", &text).unwrap());
    let count = results.table("connections").unwrap().rows();
    assert!(count > 1000);
    assert_eq!(connections(&results, "response_ns"), vec![-1; count]);
    assert!(connections(&results, "duration_ns").iter().all(|ns| *ns >= 40_000_000 || *ns == -1));
    assert_eq!(sum(&results, "reverse_bytes"), 0);
}

#[test]
fn arrivals_depend_on_the_seed_and_not_on_the_sender() {
    let [plain, other] =
        ["rfc-2026", "reno-1998"].map(|profile| results(&[("populations.web.profile", profile)]));
    for name in ["opened_ns", "forward_bytes", "reverse_bytes"] {
        assert_eq!(connections(&plain, name), connections(&other, name), "{name}");
    }
    assert_ne!(connections(&plain, "duration_ns"), connections(&other, "duration_ns"));
    let longer = results(&[("populations.web.serve", "exponential:mean=20ms")]);
    assert_eq!(connections(&plain, "reverse_bytes"), connections(&longer, "reverse_bytes"));
    let later = results(&[("seed", "2")]);
    assert_ne!(connections(&plain, "opened_ns"), connections(&later, "opened_ns"));
}

#[test]
fn each_request_has_the_number_of_octets_that_the_population_sets() {
    let results = results(&[
        ("populations.web.requests", "geometric:mean=4"),
        ("populations.web.think", "exponential:mean=50ms"),
        ("populations.web.arrivals", "poisson:rate=4/s"),
    ]);
    let requests = connections(&results, "requests");
    let mean = requests.iter().sum::<i64>() as f64 / requests.len() as f64;
    assert!((3.0..5.0).contains(&mean), "{mean}");
    let forward = connections(&results, "forward_bytes");
    assert!(forward.iter().zip(&requests).all(|(octets, count)| *octets == 200 * count));
    let [delivered, planned] = [
        sum(&results, "delivered_bytes"),
        sum(&results, "forward_bytes") + sum(&results, "reverse_bytes"),
    ];
    let open = sum(&results, "connections") - sum(&results, "complete");
    assert!(
        delivered <= planned && (open > 0 || delivered == planned),
        "delivered {delivered}, planned {planned}"
    );
}

#[test]
fn a_population_uses_the_share_of_the_link_that_its_load_sets() {
    for (share, reply) in [("0.25", "20 kB"), ("0.5", "exponential:mean=8 kB"), ("0.75", "8 kB")] {
        let results = results(&[
            ("stop", "400 s"),
            ("populations.web.arrivals", "poisson"),
            ("populations.web.load", &format!("{{ share = {share}, link = \"wire\" }}")),
            ("populations.web.reply", reply),
            ("links.wire.queue", "500 packets"),
        ]);
        let octets = whole(results.table("links").unwrap(), "carried_bytes");
        let used = octets[1] as f64 * 8.0 / (400.0 * 2e6);
        let share: f64 = share.parse().unwrap();
        assert!((used - share).abs() < 0.03, "the load is {used} and should be {share}");
    }
}

#[test]
fn the_sizes_of_a_population_are_read_from_a_file() {
    let text = WEB.replace("\"lognormal:median=4 kB,sigma=1\"", "{ follows = \"pages.txt\" }");
    let files = [("pages.txt".to_owned(), "1 kB\n\n3000 B\n".to_owned())];
    let scenario = Scenario::parse_with("web.toml", &text, files.to_vec()).unwrap();
    let sizes = connections(&run(&scenario), "reverse_bytes");
    assert!(sizes.iter().all(|octets| [1000, 3000].contains(octets)));
    let short = sizes.iter().filter(|octets| **octets == 1000).count() as f64 / sizes.len() as f64;
    assert!((0.45..0.55).contains(&short), "{short}");
    let missing = Scenario::parse("web.toml", &text).unwrap_err();
    assert!(missing.message.contains("no file `pages.txt`"), "{missing}");
}

#[test]
fn sums_and_quantiles_agree_with_the_single_connections() {
    let results = results(&[]);
    let mut spans = connections(&results, "duration_ns");
    let count = spans.len();
    spans.retain(|ns| *ns >= 0);
    spans.sort_unstable();
    assert_eq!(sum(&results, "complete"), spans.len() as i64);
    for (name, share) in
        [("duration_ns_p50", 0.5), ("duration_ns_p90", 0.9), ("duration_ns_p99", 0.99)]
    {
        let rank = (count as f64 * share).ceil() as usize - 1;
        let [exact, recorded] = [spans[rank] as f64, sum(&results, name) as f64];
        assert!(
            (exact..=exact * 1.001).contains(&recorded),
            "{name}: recorded {recorded}, exact {exact}"
        );
    }
    assert_eq!(sum(&results, "duration_ns_max"), *spans.last().unwrap());
    for name in ["retransmissions_fast", "retransmissions_sack_recovery", "spurious_rto"] {
        let of = |word: &str| connections(&results, word).iter().sum::<i64>();
        let (kind, cause) = name.split_once('_').unwrap();
        let table = results.table("retransmissions").unwrap();
        let Some(Data::Tag { codes, texts }) = table.column("cause") else { panic!() };
        let column = if kind == "spurious" { "spurious" } else { "sent" };
        let rows = codes.iter().zip(whole(table, column));
        let sum_of_rows: i64 = rows
            .filter(|(code, _)| texts[usize::from(**code)].replace('-', "_") == cause)
            .map(|(_, count)| count)
            .sum();
        assert_eq!(of(name), sum_of_rows, "{name}");
    }
}

/// The load is four times what the link carries, so most connections are still open when the run
/// ends.
#[test]
fn an_incomplete_connection_counts_as_longer_than_all_complete_connections() {
    let results = results(&[
        ("populations.web.arrivals", "poisson"),
        ("populations.web.load", "{ share = 4.0, link = \"wire\" }"),
    ]);
    let [all, complete] = ["connections", "complete"].map(|name| sum(&results, name));
    assert!(complete < all / 2, "complete: {complete} of {all}");
    let table = results.table("populations").unwrap();
    for name in ["duration_ns_p50", "duration_ns_p99", "response_ns_p50", "request_ns_p50"] {
        assert_eq!(whole(table, name), [-1], "{name}");
    }
    assert!(sum(&results, "duration_ns_max") > 0, "only complete connections count");
}

#[test]
fn the_longest_request_may_be_one_that_still_waits_at_the_end_of_the_run() {
    let dead = |loss| {
        results(&[
            ("stop", "6 s"),
            ("populations.web.arrivals", "every:2s"),
            ("links.wire.loss", loss),
        ])
    };
    let all = dead("[{ probability = 1.0 }, \"none\"]");
    let first = connections(&all, "opened_ns")[0];
    assert_eq!(sum(&all, "request_ns_max"), 6_000_000_000 - first);
    assert_eq!(sum(&all, "request_ns_mean"), -1);
    let none = dead("\"none\"");
    assert_eq!(sum(&none, "requests_complete"), sum(&none, "requests"));
    assert!((1..1_000_000_000).contains(&sum(&none, "request_ns_max")));
}

/// The population has one connection with five requests and pauses of 1 s. The run ends before the
/// last request.
#[test]
fn the_table_of_populations_counts_only_requests_that_were_written() {
    let results = results(&[
        ("stop", "4 s"),
        ("populations.web.arrivals", "every:10s"),
        ("populations.web.requests", "\"5\""),
        ("populations.web.think", "1 s"),
    ]);
    assert_eq!(connections(&results, "requests"), [5]);
    assert_eq!(sum(&results, "requests"), 4);
}

/// If there are nine connections, none of them is above the quantile of 90 %. If there are ten
/// connections, one of them is above this quantile.
#[test]
fn a_quantile_is_recorded_only_if_a_connection_is_above_it() {
    let of = |count: &str| {
        let values = [("populations.web.most", count), ("populations.web.arrivals", "every:1s")];
        let results = results(&values);
        let table = results.table("populations").unwrap();
        assert_eq!(whole(table, "complete"), [count.parse::<i64>().unwrap()]);
        ["p50", "p90", "p99"].map(|end| whole(table, &format!("duration_ns_{end}"))[0] > 0)
    };
    assert_eq!(of("1"), [false, false, false]);
    assert_eq!(of("9"), [true, false, false]);
    assert_eq!(of("10"), [true, true, false]);
}

#[test]
fn requests_of_a_population_are_counted_and_timed() {
    let values =
        [("populations.web.requests", "\"3\""), ("populations.web.arrivals", "every:500ms")];
    let results = results(&values);
    assert_eq!(sum(&results, "requests"), 3 * sum(&results, "connections"));
    assert_eq!(sum(&results, "requests_complete"), sum(&results, "requests"));
    // Each of the three requests takes about a third of the connection's time.
    let [request, response] = ["request_ns_p50", "response_ns_p50"].map(|name| sum(&results, name));
    assert!(request * 2 < response, "request {request} ns, response {response} ns");
}

#[test]
fn packmime_sizes_without_a_rate_use_the_rate_of_arrivals() {
    let of = |arrivals: &str, load: &str, rate: &str| {
        let text = WEB
            .replace("\"poisson:rate=20/s\"", &format!("\"{arrivals}\"\n{load}"))
            .replace("\"200 B\"", &format!("\"packmime-request{rate}\""))
            .replace("lognormal:median=4 kB,sigma=1", &format!("packmime-reply{rate}"));
        run(&Scenario::parse("web.toml", &text).unwrap())
    };
    let same = |a: &Results, b: &Results| {
        for name in ["opened_ns", "forward_bytes", "reverse_bytes"] {
            assert_eq!(connections(a, name), connections(b, name), "{name}");
        }
    };
    let fixed = "packmime:rate=18/s";
    same(&of(fixed, "", ""), &of(fixed, "", ":rate=18/s"));
    // Blanks around the name do not count.
    let loaded = of(" packmime ", "load = { share = 0.5, link = \"wire\" }", "");
    let octets = whole(loaded.table("links").unwrap(), "carried_bytes");
    let used = octets[1] as f64 * 8.0 / (60.0 * 2e6);
    assert!((0.3..0.8).contains(&used), "{used}");
}

#[test]
fn each_line_of_a_followed_file_is_a_value_or_a_comment_or_empty() {
    let read = |key: &str, file: &str| {
        let text = WEB
            .replace(
                "reply    = \"lognormal:median=4 kB,sigma=1\"",
                &format!("{key} = {{ follows = \"own.txt\" }}"),
            )
            .replace(
                "send     = \"200 B\"",
                if key == "reply" {
                    "send = \"200 B\""
                } else {
                    "send = \"200 B\"\nreply = \"4 kB\""
                },
            );
        Scenario::parse_with("web.toml", &text, vec![("own.txt".to_owned(), file.to_owned())])
    };
    let scenario = read("reply", "# octets\n1000\n 3 kB # a page\n").unwrap();
    let sizes = connections(&run(&scenario), "reverse_bytes");
    assert!(sizes.iter().all(|octets| [1000, 3000].contains(octets)));
    for (key, file, message) in [
        ("reply", "", "`own.txt` has no values"),
        ("reply", "\n# none\n", "`own.txt` has no values"),
        ("reply", "1 kB\n\nfoo\n", "line 3 of `own.txt` is not a value: `foo`"),
        ("reply", "10000,20000\n", "line 1 of `own.txt`: `10000,20000` is not a possible value"),
        ("think", "20 ms\n20\n", "line 2 of `own.txt`: `20` is not a possible value"),
        ("requests", "1\n0\n", "line 2 of `own.txt`: `0` is not a possible value"),
    ] {
        let error = read(key, file).unwrap_err();
        assert!(error.message.contains(message), "{file:?}: {error}");
        assert!(error.key.starts_with(&format!("populations.web.{key}")), "{}", error.key);
    }
}

#[test]
fn segments_of_a_population_have_the_names_of_their_connections() {
    let results = results(&[
        ("record.tables", "[\"segments\", \"connections\"]"),
        ("populations.web.most", "3"),
    ]);
    let Some(Data::Text { codes, texts }) = results.table("segments").unwrap().column("flow")
    else {
        panic!("no names")
    };
    let mut named: Vec<&str> = codes.iter().map(|code| texts[*code as usize].as_str()).collect();
    named.sort_unstable();
    named.dedup();
    assert_eq!(named, ["web.0", "web.1", "web.2"]);
    assert!(results.write_capture(0, Vec::new()).unwrap().len() > 1000);
}

#[test]
fn a_population_of_the_kernel_has_the_same_connections_as_a_simulated_population() {
    let simulated = results(&[]);
    let scenario = Scenario::parse("web.toml", WEB).unwrap();
    let kernel =
        [("populations.web.endpoint", "kernel"), ("populations.web.profile", "linux-default")];
    let scenario = scenario.with(&kernel).unwrap();
    assert_eq!(scenario.kernel_flow(), Some("web"));
    let network = scenario.network();
    assert_eq!(network.names.flows.len(), 1);
    let kernel_tasks = network.kernel_tasks.unwrap();
    let starts: Vec<i64> = kernel_tasks.iter().map(|task| task.start().as_nanos() as i64).collect();
    assert_eq!(starts, connections(&simulated, "opened_ns"));
    let octets: Vec<i64> =
        kernel_tasks.iter().map(|task| task.octets()[1].unwrap() as i64).collect();
    assert_eq!(octets, connections(&simulated, "reverse_bytes"));
    for (key, value, message) in [
        ("populations.web.arrivals", "poisson:rate=200/s", "at most 4000 connections"),
        ("populations.web.family", "ipv6", "IPv4 only"),
        ("populations.web.profile", "rfc-2026", "the kernel does not have"),
    ] {
        let error = scenario.with(&[(key, value)]).unwrap_err();
        assert!(error.message.contains(message), "{key}: {error}");
    }
    let text = WEB.replace("[record]", "[populations.own]\nfrom = \"client\"\nto = \"server\"\narrivals = \"every:1s\"\nsend = \"1 kB\"\n[record]");
    let error = Scenario::parse("web.toml", &text).unwrap().with(&kernel).unwrap_err();
    assert!(error.message.contains("only one population"), "{error}");
}

#[test]
fn each_mistake_in_a_population_is_reported_with_its_key() {
    for [key, value, message, fix] in [
        ["arrivals", "poisson:rate=0/s", "", ""],
        ["arrivals", "often", "", ""],
        ["send", "0 B", "", ""],
        ["reply", "pareto:shape=1.2", "", ""],
        ["requests", "0", "", ""],
        ["start", "60 s", "no connection of `web` arrives", "earlier"],
        ["until", "0 s", "no connection of `web` arrives", "later"],
        ["to", "nobody", "no link leads to a node `nobody`", "client"],
        [
            "load",
            "{ share = 0.5, link = \"wire\" }",
            "cannot be used with `load`",
            "without a rate",
        ],
        ["load", "{ share = 0.0, link = \"wire\" }", "0 is not a load", "above 0"],
        ["load", "{ share = -1, link = \"wire\" }", "-1 is not a load", "above 0"],
        ["load", "{ share = 0.5, link = \"wir\" }", "do not cross a link `wir`", "wire"],
        ["tcp.recovry", "\"sack\"", "unknown key `recovry`", "recovery"],
        ["profile", "linux-default", "profile of the running kernel", "linux-6"],
        ["arrivals", "every:1ns", "more than 1000000 connections arrive a second", "lower rate"],
    ] {
        let path = format!("populations.web.{key}");
        let scenario = Scenario::parse("web.toml", WEB).unwrap();
        let error = scenario.with(&[(&path, value)]).unwrap_err();
        assert!(error.message.contains(message), "{key} = {value}: {error}");
        assert!(error.fix.contains(fix), "{key} = {value}: {error}");
        assert!(error.key.starts_with("populations.web"), "{key} = {value}: {}", error.key);
    }
    let text = format!("{WEB}\n[flows.web]\nfrom = \"client\"\nto = \"server\"\n");
    let error = Scenario::parse("web.toml", &text).unwrap_err();
    assert!(error.message.contains("`flows` uses the name of the population `web`"), "{error}");
    for (name, taken) in [("web.1", true), ("web.01", false), ("web.+1", false)] {
        let text = text.replace("flows.web]", &format!("flows.\"{name}\"]"));
        assert_eq!(Scenario::parse("web.toml", &text).is_err(), taken, "{name}");
    }
    let text = WEB.replace("reply    = \"lognormal:median=4 kB,sigma=1\"", "serve = \"5 ms\"");
    let error = Scenario::parse("web.toml", &text).unwrap_err();
    assert!(error.message.contains("applies only to requests"), "{error}");
}
