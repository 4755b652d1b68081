//! Tests of the engine of sweeps, and of chunks (groups of consecutive cases of a sweep) that are
//! run without the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use netspurt::record::{Data, Table, digest, write_table};
use netspurt::units::Duration;
use netspurt_files::tables::read_table_bytes;

use crate::scenario::{RESERVED_COLUMNS, Scenario, Sweep};

use super::*;

/// A sweep of 30 cases: two initial windows, three rates, and five seeds. Packets are lost at
/// random.
const LOSSY: &str = r#"
stop = "20 s"
[links.path]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "20 ms"
queue = "10 packets"
loss = { probability = 0.02 }
[flows.x]
from = "a"
to = "b"
send = "100 segments"
tcp = { recovery = "sack" }
[sweep]
seeds = 5
[sweep.over]
window = { path = "flows.x.tcp.initial_window", values = ["1 segment", "4 segments"] }
rate = { path = "links.path.rate", from = "1 Mbit/s", to = "4 Mbit/s", count = 3 }
"#;

/// The sweep of [`LOSSY`] with these extra keys.
fn sweep(extra: &str) -> Arc<Sweep> {
    let text = LOSSY.replace("seeds = 5", &format!("seeds = 5\n{extra}"));
    let sweep = Scenario::parse("x.toml", &text).unwrap_or_else(|e| panic!("{e}")).sweep();
    Arc::new(sweep.expect("the scenario has a sweep"))
}

/// A stopwatch that always shows zero.
fn still() -> Stopwatch {
    Arc::new(|| Duration::ZERO)
}

/// Runs `count` cases, beginning with the case `first`. Returns their table and how they ended.
fn chunk(sweep: &Sweep, first: u64, count: u64) -> (Table, CaseCounts) {
    let done = run_chunk(sweep, Chunk { first, count }, &still(), &AtomicBool::new(false));
    let done = done.expect("nobody cancels the chunk");
    (read(done.bytes), done.counts)
}

fn read(bytes: Vec<u8>) -> Table {
    read_table_bytes("cases", bytes).expect("a table")
}

/// The whole numbers in the column `name`; -1 stands for a missing value.
fn longs(table: &Table, name: &str) -> Vec<i64> {
    match table.column(name) {
        Some(Data::I64(all)) => all.clone(),
        Some(Data::OptionalI64(all)) => all.iter().map(|value| value.unwrap_or(-1)).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn the_bytes_of_chunks_depend_neither_on_threads_nor_on_the_order_of_the_chunks() {
    let sweep = sweep("");
    let bytes = |threads: usize, chunks: &[u64]| {
        let mut engine = Engine::new(sweep.clone(), threads, still()).unwrap();
        chunks.iter().for_each(|first| engine.submit(Chunk { first: *first, count: 6 }));
        let mut all = Vec::new();
        while engine.underway() > 0 {
            all.extend(engine.next(core::time::Duration::from_secs(60)));
        }
        all.sort_by_key(|done| done.chunk.first);
        all.into_iter().map(|done| done.bytes).collect::<Vec<_>>()
    };
    let alone = bytes(1, &[0, 6, 12, 18, 24]);
    assert_eq!(alone.len(), 5);
    assert_eq!(alone, bytes(2, &[24, 12, 0, 18, 6]));
}

#[test]
fn a_case_has_the_same_results_as_the_run_of_its_scenario() {
    let sweep = sweep("");
    let (table, _) = chunk(&sweep, 0, sweep.cases());
    for case in [0, 7, 29] {
        let scenario = sweep.scenario(case).unwrap();
        assert_eq!(i64::try_from(scenario.seed()).unwrap(), longs(&table, "seed")[case as usize]);
        let mut run = scenario.simulate();
        run.advance_to(run.stop());
        let events = run.served();
        let results = run.finish();
        let Some(Data::I64(sent)) = results.table("flows").unwrap().column("sent") else {
            panic!("sent is a number")
        };
        assert_eq!(longs(&table, "sent")[case as usize], sent[0]);
        assert_eq!(longs(&table, "events")[case as usize], events.cast_signed());
    }
}

#[test]
fn paired_cases_have_the_same_seeds_and_unpaired_cases_have_different_seeds() {
    let seeds = |extra| {
        let sweep = sweep(extra);
        (0..sweep.cases()).map(|case| sweep.seed(case)).collect::<Vec<_>>()
    };
    let paired = seeds("");
    assert_eq!(paired[..5], paired[25..]);
    let mut apart = seeds("paired = false");
    apart.sort_unstable();
    apart.dedup();
    assert_eq!(apart.len(), 30);
}

#[test]
fn unpaired_seeds_depend_on_the_values_of_axes_and_not_on_the_names_of_axes() {
    let window = "window = { path = \"flows.x.tcp.initial_window\", values = [\"1 segment\", \"4 segments\"] }";
    let rate = "rate = { path = \"links.path.rate\", values = [\"1 Mbit/s\", \"4 Mbit/s\"] }";
    let seeds = |over: [&str; 2]| {
        let (head, _) = LOSSY.split_once("[sweep]").unwrap();
        let text = format!("{head}[sweep]\nseeds = 2\npaired = false\n[sweep.over]\n");
        let text = format!("{text}{}\n{}\n", over[0], over[1]);
        let sweep = Scenario::parse("x.toml", &text).unwrap().sweep().unwrap();
        (0..8).map(|case| sweep.seed(case)).collect::<Vec<_>>()
    };
    let own = seeds([window, rate]);
    let turned = seeds([rate, window]);
    assert_ne!(own, turned);
    assert_eq!([own[0], own[2], own[4], own[7]], [turned[0], turned[4], turned[2], turned[7]]);
    assert_eq!(own, seeds([&window.replacen("window", "start", 1), rate]));
    let more = rate.replace("\"1 Mbit/s\"", "\"2 Mbit/s\", \"1 Mbit/s\"");
    assert_eq!(own[..4], seeds([window, &more])[2..6]);
}

#[test]
fn a_sweep_with_more_seeds_begins_with_the_same_seeds() {
    let five = sweep("");
    let text = LOSSY.replace("seeds = 5", "seeds = 9");
    let nine = Scenario::parse("x.toml", &text).unwrap().sweep().unwrap();
    for repeat in 0..5 {
        assert_eq!(five.seed(5 + repeat), nine.seed(9 + repeat));
    }
}

#[test]
fn a_case_beyond_its_budget_of_events_is_cut() {
    let (whole, _) = chunk(&sweep(""), 0, 30);
    let events = longs(&whole, "events");
    let most = events.iter().copied().max().unwrap() - 1;
    let (table, counts) = chunk(&sweep(&format!("events = {most}")), 0, 30);
    let beyond = events.iter().filter(|events| **events > most).count();
    assert_eq!((counts.cut, counts.done), (beyond as u64, 30 - beyond as u64));
    let Some(Data::Text { codes, texts }) = table.column("why") else { panic!("why is a text") };
    for (row, code) in codes.iter().enumerate() {
        let cut = events[row] > most;
        assert_eq!(texts[*code as usize].contains(&format!("more than {most} events")), cut);
        assert_eq!(longs(&table, "sent")[row] == -1, cut);
    }
}

#[test]
fn the_goodput_of_a_flow_counts_from_the_flows_start() {
    let text = LOSSY
        .replace("send =", "start = \"5 s\"\nsend =")
        .replace("loss = { probability = 0.02 }\n", "")
        .replace("seeds = 5", "");
    let sweep = Scenario::parse("x.toml", &text).unwrap().sweep().unwrap();
    let (table, _) = chunk(&sweep, 0, 1);
    let Some(Data::OptionalF64(goodput)) = table.column("goodput_bps") else {
        panic!("the goodput is a number")
    };
    let mut run = sweep.scenario(0).unwrap().simulate();
    run.advance_to(run.stop());
    let results = run.finish();
    let flows = results.table("flows").unwrap();
    let Some(Data::OptionalI64(finished)) = flows.column("finished_ns") else {
        panic!("an instant is a number")
    };
    let Some(Data::I64(acked)) = flows.column("acked_bytes") else { panic!("a size is a number") };
    let seconds = Duration::from_nanos(finished.iter().next().flatten().unwrap().cast_unsigned())
        .as_secs_f64()
        - 5.0;
    let wanted = 8.0 * f64::from(i32::try_from(acked[0]).unwrap()) / seconds;
    assert!((goodput.iter().next().flatten().unwrap() / wanted - 1.0).abs() < 1e-9, "{wanted}");
    assert!((0.5e6..1e6).contains(&wanted), "goodput {wanted}");
}

#[test]
fn a_case_beyond_its_budget_of_time_is_cut() {
    let sweep = sweep("time = \"1 s\"");
    let cancelled = AtomicBool::new(false);
    let clock: Stopwatch = {
        let seconds = std::sync::atomic::AtomicU64::new(0);
        Arc::new(move || {
            Duration::from_secs(2 * seconds.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
        })
    };
    // A run that is within its budget of time is not cut. The stopwatch is read many times.
    let text = LOSSY
        .replace("stop = \"20 s\"", "stop = \"200 s\"")
        .replace("send = \"100 segments\"", "")
        .replace("seeds = 5", "time = \"1000 h\"");
    let long = Scenario::parse("x.toml", &text).unwrap().sweep().unwrap();
    let done = run_chunk(&long, Chunk { first: 0, count: 1 }, &clock, &cancelled).unwrap();
    assert_eq!((done.counts.done, done.counts.cut), (1, 0));
    assert!(clock() > Duration::from_secs(20), "the stopwatch was read");
    // This run is so short that it ends before the budget of time is checked.
    let done = run_chunk(&sweep, Chunk { first: 0, count: 1 }, &clock, &cancelled).unwrap();
    assert_eq!(done.counts.done, 1);
    let endless = LOSSY
        .replace("stop = \"20 s\"", "stop = \"20000 s\"")
        .replace("send = \"100 segments\"", "")
        .replace("seeds = 5", "time = \"1 s\"");
    let sweep = Scenario::parse("x.toml", &endless).unwrap().sweep().unwrap();
    let done = run_chunk(&sweep, Chunk { first: 0, count: 1 }, &clock, &cancelled).unwrap();
    assert_eq!(done.counts.cut, 1);
}

#[test]
fn a_case_with_contradictory_values_does_not_stop_the_other_cases() {
    let text = LOSSY.replace(
        "rate = {",
        "queue = { path = \"links.path.queue\", values = [\"500 B\", \"10 packets\"] }\nrate = {",
    );
    let sweep = Scenario::parse("x.toml", &text).unwrap().sweep().unwrap();
    let (_, counts) = chunk(&sweep, 0, sweep.cases());
    assert_eq!((counts.done, counts.errors), (30, 30));
    let (case, error) = counts.first_error.unwrap();
    assert_eq!(case, 0);
    assert!(error.contains("the queue has no room for a packet of 1000 B"), "{error}");
}

#[test]
fn a_cancelled_engine_returns_no_chunk() {
    let mut engine = Engine::new(sweep(""), 1, still()).unwrap();
    engine.cancel();
    engine.submit(Chunk { first: 0, count: 30 });
    assert!(engine.next(core::time::Duration::from_secs(60)).is_none());
    assert_eq!(engine.underway(), 0);
}

#[test]
fn a_cancelled_case_ends_early() {
    let endless = LOSSY
        .replace("stop = \"20 s\"", "stop = \"200000000 s\"")
        .replace("send = \"100 segments\"", "");
    let sweep = Scenario::parse("x.toml", &endless).unwrap().sweep().unwrap();
    let cancelled = AtomicBool::new(true);
    assert!(run_chunk(&sweep, Chunk { first: 0, count: 1 }, &still(), &cancelled).is_none());
}

#[test]
fn numeric_values_of_an_axis_are_numbers_in_the_table() {
    let text = LOSSY.replace(
        "rate = {",
        "p = { path = \"links.path.loss.probability\", values = [0, 0.01] }\n\
         n = { path = \"flows.x.count\", values = [1, 2] }\nrate = {",
    );
    let sweep = Scenario::parse("x.toml", &text).unwrap_or_else(|e| panic!("{e}")).sweep().unwrap();
    let (table, _) = chunk(&sweep, 0, 1);
    assert_eq!(table.column("p"), Some(&Data::OptionalF64(vec![Some(0.0)].into())));
    assert_eq!(table.column("n"), Some(&Data::I64(vec![1])));
}

#[test]
fn chunks_of_the_same_cases_have_the_same_digest_and_columns() {
    let sweep = sweep("");
    let (whole, _) = chunk(&sweep, 0, 30);
    let again = chunk(&sweep, 0, 30).0;
    assert_eq!(digest([&whole]), digest([&again]));
    let columns: Vec<&str> = whole.columns.iter().map(|column| &*column.name).collect();
    let own: Vec<&str> =
        columns.iter().copied().filter(|name| !["window", "rate"].contains(name)).collect();
    assert_eq!(own, RESERVED_COLUMNS);
}

/// A flow of requests counts as one flow. Its reverse direction is not another flow, and does not
/// lower the fairness.
#[test]
fn a_flow_of_requests_counts_once_although_both_directions_carry_data() {
    let text = r#"
        stop = "10 s"
        links = { wire = { between = ["a", "b"], rate = "10 Mbit/s", delay = "10 ms" } }
        [flows.web]
        from = "a"
        to = "b"
        profile = "rfc-2026"
        send = "1 kB"
        app = { reply = "9 kB", requests = 4 }
        count = 2
        [sweep]
        seeds = 1
        [sweep.over]
        reply = { path = "flows.web.app.reply", values = ["9 kB"] }
    "#;
    let sweep = Scenario::parse("x.toml", text).unwrap_or_else(|e| panic!("{e}")).sweep().unwrap();
    let (table, _) = chunk(&sweep, 0, 1);
    let value = |name: &str| match table.column(name) {
        Some(Data::OptionalI64(all)) => all.at(0).map(|value| value as f64),
        Some(Data::I64(all)) => Some(all[0] as f64),
        Some(Data::OptionalF64(all)) => all.at(0),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!((value("flows"), value("finished")), (Some(2.0), Some(2.0)));
    assert_eq!(value("acked_bytes"), Some(80_000.0));
    assert_eq!((value("requests"), value("requests_complete")), (Some(8.0), Some(8.0)));
    assert!(value("fairness").unwrap() > 0.99);
    let bits = 8e9 * 80_000.0 / value("completion_ns_max").unwrap();
    assert!((value("goodput_bps").unwrap() / bits - 1.0).abs() < 0.05);
    assert!(value("request_ns_mean") <= value("request_ns_max"));
}

/// The runs of each combination of initial window and rate draw the same delays, in the same order.
#[test]
fn the_table_of_a_sweep_has_the_drawn_values_and_the_results_of_its_scenarios() {
    let text = LOSSY.replace(
        "rate = {",
        "delay = { path = \"links.path.delay\", from = \"5 ms\", to = \"50 ms\", draw = true }\n\
         n = { path = \"flows.x.count\", from = 1, to = 2, draw = true }\nrate = {",
    );
    let sweep = Scenario::parse("x.toml", &text).unwrap_or_else(|e| panic!("{e}")).sweep().unwrap();
    let (table, counts) = chunk(&sweep, 0, sweep.cases());
    assert_eq!((counts.done, counts.errors), (30, 0));
    let Some(Data::Text { codes, texts }) = table.column("delay") else { panic!() };
    assert_eq!(texts.len(), 5);
    assert!(codes.chunks(5).all(|run| run == &codes[..5]), "{codes:?}");
    assert_eq!(longs(&table, "n"), longs(&table, "flows"));
    for case in [2, 17] {
        let scenario = sweep.scenario(case).unwrap();
        let mut run = scenario.simulate();
        run.advance_to(run.stop());
        let results = run.finish();
        let sent = longs(results.table("flows").unwrap(), "sent").into_iter().sum::<i64>();
        assert_eq!(longs(&table, "sent")[usize::try_from(case).unwrap()], sent);
    }
}

/// The test uses a simulated run in place of a live run. The tables of the run are written and read
/// back, like the tables of a live run.
#[test]
fn a_live_case_has_all_measures_except_the_measures_events_and_undone() {
    let sweep = sweep("");
    let (simulated, _) = chunk(&sweep, 7, 1);
    let mut run = sweep.scenario(7).unwrap().simulate();
    run.advance_to(run.stop());
    let results = run.finish();
    let parsed = |table: &Table| {
        let mut file = Vec::new();
        write_table(table, &mut file).unwrap();
        read_table_bytes(&table.name, file).unwrap()
    };
    let tables: Vec<Table> = results.tables().iter().map(parsed).collect();
    let ended = EndedCase { tables: tables.iter().collect(), stop: results.stop(), events: None };
    let done = live_chunk(&sweep, 7, LiveEnd::Counts(ended), Duration::ZERO);
    assert_eq!(done.counts, CaseCounts { done: 1, ..CaseCounts::default() });
    let live = read(done.bytes);
    let differing: Vec<&str> = live
        .columns
        .iter()
        .zip(&simulated.columns)
        .filter(|(live, simulated)| live != simulated)
        .map(|(live, _)| &*live.name)
        .collect();
    assert_eq!(differing, ["why", "events", "undone"]);
    assert_eq!((longs(&live, "events"), longs(&live, "undone")), (vec![-1], vec![-1]));

    let late = live_chunk(&sweep, 7, LiveEnd::Late("12 ms late".to_owned()), Duration::ZERO);
    assert_eq!(late.counts, CaseCounts { late: 1, ..CaseCounts::default() });
    assert_eq!(longs(&read(late.bytes), "sent"), [-1]);
    let error = live_chunk(&sweep, 7, LiveEnd::Error("no namespaces".to_owned()), Duration::ZERO);
    assert_eq!(error.counts.first_error, Some((7, "no namespaces".to_owned())));
}

/// PIE updates its state in each nanosecond, so there are millions of updates between two packets.
/// The budget still ends the case soon.
#[test]
fn the_budget_of_time_ends_a_case_during_many_updates_of_a_queue() {
    let text = r#"
        stop = "1 h"
        [links.wire]
        between = ["a", "b"]
        rate = "100 kbit/s"
        delay = "10 ms"
        queue = { pie = { t_update = "1 ns", target = "15 ms" } }
        [flows.x]
        from = "a"
        to = "b"
        profile = "rfc-2026"
        send = "unlimited"
        [sweep]
        seeds = 1
        time = "1 s"
        [sweep.over]
        window = { path = "flows.x.tcp.receive_buffer", values = ["60 kB"] }
    "#;
    let sweep = Scenario::parse("x.toml", text).unwrap_or_else(|e| panic!("{e}")).sweep().unwrap();
    // Each call of this clock advances the clock by 10 ms.
    let looks = AtomicU64::new(0);
    let clock: Stopwatch =
        Arc::new(move || Duration::from_millis(10) * looks.fetch_add(1, Ordering::Relaxed));
    let one = Chunk { first: 0, count: 1 };
    let done = run_chunk(&sweep, one, &clock, &AtomicBool::new(false)).unwrap();
    assert_eq!((done.counts.cut, done.counts.errors), (1, 0), "{:?}", done.counts);
    assert!(done.busy < Duration::from_millis(1100), "it took {}", done.busy);
}
