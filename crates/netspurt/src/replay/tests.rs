//! Tests of replays: the verdict on each probe, the sums, and the speed of adaptation.

use proptest::prelude::*;

use crate::clock::Clock;
use crate::delays::{Delays, Measure, Probe, ProbeOrder, SendTimeSource};
use crate::rto::{EstimatorConfig, Mills, MillsConfig, Ratio};
use crate::units::{Duration, Time};

use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A recording with one probe in each second. `None` is a lost probe.
fn recording(rtts: &[Option<u64>]) -> Delays {
    let probe = |(n, rtt): (usize, &Option<u64>)| {
        let sent = Time::ZERO + ms(1000) * n as u64;
        rtt.map_or(Probe::lost(n as u64, sent), |rtt| Probe::answered(n as u64, sent, ms(rtt)))
    };
    let probes = rtts.iter().enumerate().map(probe).collect();
    Delays::of("recording", probes, ProbeOrder::Causal, SendTimeSource::Recorded)
}

/// Replays RFC 889's timer on a recording. Returns the verdicts on the probes, and their sums.
fn judged(delays: &Delays, how: Replay, config: MillsConfig) -> (Vec<Judged>, Account) {
    let (mut all, mut account) = (Vec::new(), Account::default());
    let mut take = |judged| {
        all.push(judged);
        account.take(judged);
    };
    how.run(delays, &mut Mills::new(config), &mut take).unwrap();
    (all, account)
}

/// The timer of each probe in microseconds.
fn waits(delays: &Delays, how: Replay, config: MillsConfig) -> Vec<u64> {
    let (all, _) = judged(delays, how, config);
    all.iter().map(|judged| judged.wait.as_nanos() / 1_000).collect()
}

/// The settings of a replay of `delays` in RFC 889's order.
fn sequence(delays: &Delays) -> Replay {
    Replay { order: ProbeOrder::Sequence, ..Replay::of(delays) }
}

/// The verdicts are computed by hand from RFC 889 §3.3. Times are in milliseconds. The first
/// estimate E is 100, and the timer is 200. After the first probe, E is 75 + 50 = 125, and the
/// timer is 250. The second probe is lost, so E and the timer do not change. After the third probe,
/// E is 117.1875 + 6.25, and the timer is 246.875. After the fourth probe, E is 92.578125 + 75, and
/// the timer is 335.15625.
#[test]
fn five_probes_get_the_verdicts_computed_by_hand() {
    let delays = recording(&[Some(200), None, Some(100), Some(300), Some(335)]);
    let config = MillsConfig { initial: Some(ms(100)), ..MillsConfig::default() };
    let (all, account) = judged(&delays, sequence(&delays), config);
    let waits: Vec<u64> = all.iter().map(|judged| judged.wait.as_nanos()).collect();
    assert_eq!(waits, [200_000_000, 250_000_000, 250_000_000, 246_875_000, 335_156_250]);
    use TimerVerdict::{InTime, Lost, Spurious};
    let verdicts: Vec<TimerVerdict> = all.iter().map(|judged| judged.verdict).collect();
    assert_eq!(verdicts, [InTime, Lost, InTime, Spurious, InTime]);
    assert_eq!((account.probes, account.lost, account.spurious), (5, 1, 1));
    assert_eq!((account.good, account.waited), (ms(935), ms(250)));
    assert_eq!((account.spurious_time, account.total()), (ms(300), ms(1485)));
    assert_eq!(account.short_by, Duration::from_micros(53_125));
    assert_eq!(account.timers.as_nanos(), waits.iter().sum::<u64>());
    assert_eq!(
        (account.mean(), account.mean_answered()),
        (ms(187), Duration::from_micros(233_750))
    );
    assert!((account.efficiency() - 935.0 / 1485.0).abs() < 1e-15);
    assert!((account.bad_share() - 0.5).abs() < 1e-15);
    assert!((account.waited_in_delays() - 1.25).abs() < 1e-6);
    // The delays 200, 100, 300 and 335 (in ms) have a mean of 233.75 ms and a mean square of
    // 63056.25 ms².
    let cov = (63_056.25_f64 - 233.75 * 233.75).sqrt() / 233.75;
    assert!((account.coefficient_of_variation() - cov).abs() < 1e-12);
}

/// A reply after 2.5 s arrives when two more probes have left. In RFC 889's order, this sample
/// changes the timers from the second probe on. In the causal order, in which a sample counts only
/// when its reply has arrived, it changes the timers from the fourth probe on.
#[test]
fn a_timer_uses_a_sample_before_the_reply_arrives_only_in_rfc_889s_order() {
    let delays = recording(&[Some(2500), Some(100), Some(100), Some(100)]);
    let config = MillsConfig { initial: Some(ms(1000)), ..MillsConfig::default() };
    let causal = waits(&delays, Replay::of(&delays), config);
    // All times here are in ms. The first estimate is 1000. A sample of 100 arrives at 1100, and
    // gives the estimate 937.5 + 6.25 = 943.75. Another sample of 100 arrives at 2100, and gives
    // the estimate 891.015625. The sample of 2500 arrives at 2500.
    let known = 0.75 * 891.015_625 + 0.25 * 2500.0;
    assert_eq!(causal, [2_000_000, 2_000_000, 1_887_500, (2000.0 * known) as u64]);
    let sequence = waits(&delays, sequence(&delays), config);
    assert_eq!(sequence[1], 2_750_000);
}

#[test]
fn if_a_reply_arrives_when_a_probe_leaves_the_reply_is_processed_first() {
    let delays = recording(&[Some(1000), Some(10)]);
    assert_eq!(waits(&delays, Replay::of(&delays), MillsConfig::default()), [3_000_000, 2_000_000]);
}

#[test]
fn an_algorithm_that_learns_of_timeouts_backs_off_until_an_unambiguous_sample_arrives() {
    let delays = recording(&[Some(100), None, Some(100), Some(900), Some(100), Some(100)]);
    let config = MillsConfig { karn: true, ..MillsConfig::default() };
    for order in [ProbeOrder::Sequence, ProbeOrder::Causal] {
        let how = Replay { order, notice: Notice::Timeouts, ..Replay::of(&delays) };
        // The loss doubles the timer, and the next sample ends the backoff. The reply of 900 ms is
        // late and ambiguous, so the timer doubles again, and the sample is ignored.
        assert_eq!(
            waits(&delays, how, config),
            [3_000_000, 200_000, 400_000, 200_000, 400_000, 200_000],
            "{order:?}"
        );
    }
    let samples_only = waits(&delays, Replay::of(&delays), config);
    assert_eq!(samples_only, [3_000_000, 200_000, 200_000, 200_000, 600_000, 575_000]);
}

/// CoCoA has a second estimator, the weak one, for samples with the label of a retransmitted
/// segment. An algorithm that learns of no timeouts must not get such a sample.
#[test]
fn an_algorithm_without_timeouts_gets_the_same_labels_in_both_orders() {
    let delays = recording(&[Some(100), Some(100), Some(100), Some(900), Some(100), Some(100)]);
    let timers = [ProbeOrder::Sequence, ProbeOrder::Causal].map(|order| {
        let mut algorithm = EstimatorConfig::parse("cocoa:initial=200ms").unwrap().build();
        let mut waits = Vec::new();
        let how = Replay { order, ..Replay::of(&delays) };
        how.run(&delays, algorithm.as_mut(), |judged| waits.push(judged.wait)).unwrap();
        waits
    });
    assert_eq!(timers[0], timers[1]);
}

/// RFC 9002 §5.1 and §6.2.1: a packet number is used once, so the acknowledgment of a packet whose
/// timer had fired gives a sample, and ends the backoff.
#[test]
fn quic_learns_from_the_reply_to_a_probe_whose_timer_had_fired() {
    let delays = recording(&[Some(100), Some(900), Some(900)]);
    for order in [ProbeOrder::Sequence, ProbeOrder::Causal] {
        let how = Replay { order, notice: Notice::Timeouts, ..Replay::of(&delays) };
        let mut algorithm = EstimatorConfig::named("quic").unwrap().build();
        let mut waits = Vec::new();
        how.run(&delays, algorithm.as_mut(), |judged| waits.push(judged.wait)).unwrap();
        // The second sample moves rttvar from 50 ms to 237.5 ms, and srtt from 100 ms to 200 ms.
        assert_eq!(waits, [ms(999), ms(100 + 4 * 50 + 25), ms(200 + 950 + 25)], "{order:?}");
    }
}

#[test]
fn delays_and_timers_are_whole_ticks_if_the_clock_is_coarse() {
    let delays = recording(&[Some(130), Some(130)]);
    let clock = Clock::ticking(ms(100), Duration::ZERO).unwrap();
    let how = Replay { clock, ..Replay::of(&delays) };
    // Both probes leave at the beginning of a tick. The clock reads 130 ms as one tick. The timer
    // of the second probe is twice the reading, so it has two ticks.
    assert_eq!(waits(&delays, how, MillsConfig::default()), [3_000_000, 200_000]);
}

#[test]
fn the_error_for_a_recording_that_cannot_be_replayed_says_why() {
    let mut delays = recording(&[]);
    let run = |delays: &Delays, how: Replay| {
        how.run(delays, &mut Mills::new(MillsConfig::default()), |_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        run(&delays, Replay::of(&delays)),
        "recording: the recording has no probes, so there is nothing to replay"
    );
    delays = recording(&[Some(1)]);
    delays.measure = Measure::Smoothed;
    assert!(run(&delays, Replay::of(&delays)).contains("a filter's output and not samples"));
    delays.measure = Measure::RoundTrip;
    delays.send_times = SendTimeSource::Unknown;
    assert!(run(&delays, Replay::of(&delays)).contains("give the time between probes"));
    assert!(
        sequence(&delays).run(&delays, &mut Mills::new(MillsConfig::default()), |_| ()).is_ok()
    );
}

/// RFC 889 §3.3: 1/e of the distance to the new delay is left after 3.5 samples of a rise, or after
/// 15.5 samples of a fall. The timer is twice the estimate E. This test counts the samples until
/// the timer is long enough, and the samples until the timer is within a tenth of its final value.
#[test]
fn a_timer_follows_a_step_of_the_delay_as_fast_as_its_gains_imply() {
    let mut algorithm = Mills::new(MillsConfig::default());
    let up = adapt(&mut algorithm, ms(100), ms(1000));
    // E = 1000 - 900 · 0.75^n passes 500 at n = 3, and 900 at n = 8.
    assert_eq!((up.samples_short, up.samples_to_settle), (3, 8));
    assert_eq!((up.timers.0, up.timers.1.as_nanos() / 1000), (ms(200), 1_999_999));
    let down = adapt(&mut algorithm, ms(1000), ms(100));
    // E = 100 + 900 · (15/16)^n falls below 110 at n = 70.
    assert_eq!((down.samples_short, down.samples_to_settle), (0, 70));
}

proptest! {
    #[test]
    fn every_algorithm_judges_every_probe_once_and_in_order(
        rtts in prop::collection::vec(prop::option::weighted(0.9, 1..5000_u64), 1..60),
        learns_timeouts in any::<bool>(),
    ) {
        let delays = recording(&rtts);
        let notice = if learns_timeouts { Notice::Timeouts } else { Notice::Samples };
        for name in EstimatorConfig::NAMES {
            for order in [ProbeOrder::Sequence, ProbeOrder::Causal] {
                let how = Replay { order, notice, ..Replay::of(&delays) };
                let mut algorithm = EstimatorConfig::named(name).unwrap().build();
                let (mut next, mut account) = (0, Account::default());
                how.run(&delays, algorithm.as_mut(), |judged| {
                    assert_eq!(judged.probe, delays.probes[next]);
                    assert!(!judged.wait.is_zero());
                    next += 1;
                    account.take(judged);
                }).unwrap();
                prop_assert_eq!(next, rtts.len());
                prop_assert_eq!(account.lost, delays.lost());
                prop_assert_eq!(account.total(), account.good + account.waited + account.spurious_time);
            }
        }
    }

    #[test]
    fn each_setting_of_a_grid_has_the_sums_of_its_own_replay(
        rtts in prop::collection::vec(prop::option::weighted(0.9, 1..5000_u64), 1..80),
        (falling, rising, g) in (0..=64_u64, 0..=64_u64, 64..320_u64),
    ) {
        let delays = recording(&rtts);
        let grid = TwoGainGrid {
            falling: vec![0.5, falling as f64 / 64.0],
            rising: vec![rising as f64 / 64.0],
            g: vec![1.0, g as f64 / 64.0, 4.0],
            ..TwoGainGrid::default()
        };
        let config = MillsConfig {
            falling: Ratio::new(falling, 64),
            rising: Ratio::new(rising, 64),
            g: Ratio::new(g, 64),
            ..MillsConfig::default()
        };
        for order in [ProbeOrder::Sequence, ProbeOrder::Causal] {
            let mut settings = Vec::new();
            grid.run(&delays, order, |setting| settings.push(setting)).unwrap();
            prop_assert_eq!(settings.len(), grid.settings());
            let (all, account) = judged(&delays, Replay { order, ..Replay::of(&delays) }, config);
            // If a timer and a delay are equal up to rounding, either verdict is possible.
            let close = |j: &Judged| {
                j.probe.rtt.is_some_and(|rtt| rtt.as_nanos().abs_diff(j.wait.as_nanos()) < 1000)
            };
            let close = all.iter().filter(|j| close(j)).count() as u64;
            let setting = settings[4];
            prop_assert!(setting.spurious.abs_diff(account.spurious) <= close);
            let waited = account.waited.as_nanos() as f64;
            prop_assert!((setting.waited_ns - waited).abs() <= 1000.0 * (1.0 + account.lost as f64));
            let timers = account.timers.as_nanos() as f64;
            prop_assert!((setting.timers_ns - timers).abs() <= 1000.0 * rtts.len() as f64);
        }
    }
}
