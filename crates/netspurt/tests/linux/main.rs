//! Compares a connection of ours that has the profile `linux-6` with the TCP of a Linux kernel. A
//! remote end sends the same segments to our connection and to the kernel. What the kernel sent was
//! measured in advance. These measurements are in `authorities/linux`, with instructions to measure
//! them again.

mod cases;
mod peer;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use netspurt::clock::Clock;
use netspurt::units::{Duration, Time};

use cases::{Answers, all};
use peer::{micros, ms, us};

/// How late, in microseconds, the remote end that talked to the kernel may be. This remote end is a
/// program on a busy machine.
const LATE_US: u64 = 2_000;
/// The error in microseconds that is allowed for values that the kernel computes from round trips
/// and keeps in jiffies.
const JIFFY_LATE_US: u64 = 4_000 + 1_500;
/// The error that is allowed for a time between two packets.
const READING: Duration = Duration::from_micros(700);
/// Cases that were measured on the kernel and are not played to our connection. VALIDATION.md
/// compares them.
const NOT_PLAYED: [&str; 1] = ["out_of_order"];
/// Our connection may lack a value for a measured item if the name of the item begins with one of
/// these words. All other measured items must have a value of our connection.
const MAY_BE_MISSING: [&str; 7] =
    ["window", "rttvar", "advmss", "pmtu", "rtt", "snd_ssthresh", "reordering"];

/// The values that the kernel gave for one item in several runs.
struct Measured {
    median: u64,
    least: u64,
    most: u64,
}

/// Reads the rows of the table `name` in `authorities/linux`, without the names of the columns.
fn table(name: &str) -> Vec<Vec<String>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../authorities/linux").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().skip(1).map(|row| row.split(',').map(str::to_owned).collect()).collect()
}

/// Reads the values that were measured on the kernel, by case and item.
fn measured() -> BTreeMap<String, BTreeMap<String, Measured>> {
    let mut cases: BTreeMap<String, BTreeMap<String, Measured>> = BTreeMap::new();
    for row in table("measured.csv") {
        let [case, item, runs, numbers @ ..] = row.as_slice() else { panic!("{row:?}") };
        assert!(runs.parse::<u32>().unwrap() >= 5, "{case}: too few runs");
        let number = |at: usize| numbers[at].parse().unwrap();
        let found = Measured { median: number(0), least: number(1), most: number(2) };
        cases.entry(case.clone()).or_default().insert(item.clone(), found);
    }
    cases
}

/// Runs a case at several phases of the host's clock. A phase says how far the jiffies had advanced
/// at the start. Returns the least and the largest answer for each item.
fn ours(case: &cases::Case) -> BTreeMap<String, (u64, u64)> {
    let mut ranges: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for n in 0..16 {
        let answers: Answers = case(us(n * 36_250 + 300));
        for (item, value) in answers {
            let range = ranges.entry(item).or_insert((value, value));
            *range = (range.0.min(value), range.1.max(value));
        }
    }
    ranges
}

/// Returns the error that is allowed for an item. The error is zero for counts.
fn slack_us(item: &str) -> u64 {
    let estimate = ["rto", "rtt", "ato"].iter().any(|what| item.starts_with(what));
    match item.ends_with("_us") || estimate {
        true if estimate => JIFFY_LATE_US,
        true => LATE_US,
        false => 0,
    }
}

#[test]
fn the_linux_profile_agrees_with_the_kernel() {
    let (kernel, mut wrong) = (measured(), Vec::new());
    for (name, case) in all() {
        let (theirs, ours) = (&kernel[name], ours(&case));
        for (item, range) in &ours {
            let measured = &theirs[item];
            let slack = slack_us(item);
            let fits = |value: u64| value + slack >= range.0 && value <= range.1 + slack;
            // The kernel's median must lie in our range, up to the allowed error. A count must be
            // the same at all phases.
            if !fits(measured.median) || slack == 0 && range.0 != range.1 {
                let Measured { median, least, most } = measured;
                wrong.push(format!("{name} {item}: {median} ({least}..{most}), ours {range:?}"));
            }
        }
        for item in theirs.keys().filter(|item| !ours.contains_key(*item)) {
            let silent = MAY_BE_MISSING.iter().any(|what| item.starts_with(what));
            assert!(silent, "{name}: our connection has no value for {item}");
        }
    }
    let asked: Vec<_> = all().into_iter().map(|(name, _)| name).collect();
    for name in kernel.keys() {
        let known = asked.contains(&name.as_str()) || NOT_PLAYED.contains(&name.as_str());
        assert!(known, "our connection does not play the case {name}");
    }
    assert!(
        wrong.is_empty(),
        "items that differ (the kernel's median and range, then our range):\n{}",
        wrong.join("\n")
    );
}

/// The table `timers.csv` has the nominal length of each timer, and the phase of the jiffies at
/// which the timer was armed. At least 98 % of the timers fire at the instant that our model of the
/// timer wheel predicts, or one jiffy later. A timer fires one jiffy later if the processor that
/// runs it reads the count of jiffies before another processor has raised the count.
#[test]
fn the_kernels_timers_fire_at_the_instant_that_our_model_predicts_or_a_jiffy_later() {
    let rows = table("timers.csv");
    let (mut prompt, mut jiffy_late) = (0, 0);
    for row in &rows {
        let number = |at: usize| row[at].parse::<u64>().unwrap();
        let (nominal, armed, gap) = (us(number(2)), number(3), us(number(4)));
        let clock = Clock::linux(ms(4), Duration::from_nanos(armed)).unwrap();
        let modelled = clock.expiry(Time::ZERO, nominal) - Time::ZERO;
        assert!(
            gap + READING >= modelled,
            "{row:?}: the timer fired before the {} us that the wheel predicts",
            micros(modelled)
        );
        let late = gap.as_nanos().saturating_sub(modelled.as_nanos());
        prompt += usize::from(late <= READING.as_nanos());
        jiffy_late += usize::from(late.abs_diff(4_000_000) <= READING.as_nanos());
    }
    assert!(rows.len() >= 150 && prompt * 2 > rows.len(), "{prompt} of {}", rows.len());
    assert!((prompt + jiffy_late) * 50 >= rows.len() * 49, "{prompt} + {jiffy_late}");
}
