//! Replays retransmission timers on an invented recording, for the benchmarks in `bench/README.md`.
//! Usage: `replay grid SETTINGS`, or `replay ALGORITHM SAMPLES [causal]`. With the algorithm
//! `none`, the program makes the recording and replays nothing.

use netspurt::delays::{Delays, Probe, ProbeOrder, SendTimeSource};
use netspurt::replay::{Account, Replay, TwoGainGrid};
use netspurt::rng::Stream;
use netspurt::rto::EstimatorConfig;
use netspurt::units::{Duration, Time};

/// Makes a recording of `count` probes, sent at intervals of the time `every`. The delays are from
/// 20 to 180 ms, and one probe in a hundred is lost.
fn recording(count: u64, every: Duration) -> Delays {
    let mut stream = Stream::named(1, "replay");
    let probe = |n: u64| {
        let sent = Time::ZERO + every * n;
        let bits = stream.bits();
        let rtt = Duration::from_nanos(20_000_000 + (bits >> 8) % 160_000_000);
        if bits.is_multiple_of(100) { Probe::lost(n, sent) } else { Probe::answered(n, sent, rtt) }
    };
    let probes = (0..count).map(probe).collect();
    Delays::of("drawn", probes, ProbeOrder::Causal, SendTimeSource::Recorded)
}

/// Replays a grid of about `settings` timers that differ in three constants.
fn grid(settings: usize) {
    let delays = recording(512, Duration::from_secs(1));
    let steps = (settings as f64).cbrt().ceil() as usize;
    let axis = |from: f64, to: f64| -> Vec<f64> {
        (0..steps).map(|n| from + (to - from) * n as f64 / steps as f64).collect()
    };
    let grid = TwoGainGrid {
        falling: axis(0.5, 1.0),
        rising: axis(0.5, 1.0),
        g: axis(1.2, 4.0),
        ..TwoGainGrid::default()
    };
    let mut least = u64::MAX;
    grid.run(&delays, ProbeOrder::Sequence, |setting| least = least.min(setting.spurious))
        .expect("the recording can be replayed");
    println!("{} settings; the fewest spurious retransmissions: {least}", grid.settings());
}

/// Replays the timer that is called `name` on a recording of `samples` probes.
fn algorithm(name: &str, samples: u64, order: ProbeOrder) {
    let delays = recording(samples, Duration::from_millis(50));
    let mut algorithm = EstimatorConfig::named(name).expect("the name of an algorithm").build();
    let mut account = Account::default();
    let how = Replay { order, ..Replay::of(&delays) };
    how.run(&delays, algorithm.as_mut(), |judged| account.take(judged))
        .expect("the recording can be replayed");
    println!("{name}: {} spurious, efficiency {:.3}", account.spurious, account.efficiency());
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["grid", settings] => grid(settings.parse().expect("a number")),
        ["none", samples] => {
            let delays = recording(samples.parse().expect("a number"), Duration::from_millis(50));
            println!("{} lost", delays.lost());
        }
        [name, samples, "causal"] => {
            algorithm(name, samples.parse().expect("a number"), ProbeOrder::Causal);
        }
        [name, samples] => {
            algorithm(name, samples.parse().expect("a number"), ProbeOrder::Sequence)
        }
        _ => panic!("usage: replay grid SETTINGS, or replay ALGORITHM SAMPLES [causal]"),
    }
}
