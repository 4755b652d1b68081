//! Tests the rules that every retransmission timer algorithm must follow. Each algorithm is tested
//! with its published constants, and some algorithms also with Karn's rules or with a backoff. By
//! Karn's rules, an algorithm ignores ambiguous samples, and keeps its backoff until an unambiguous
//! sample arrives.

use proptest::prelude::*;

use crate::sample::{RttSample, SampleSource};
use crate::units::{Duration, Time};

use super::{EstimatorConfig, FixedConfig, MillsConfig, Rfc793Config, RtoEstimator, TimeoutKind};

/// An algorithm and its expected behaviour.
struct Algorithm {
    config: EstimatorConfig,
    /// The minimum and the maximum RTO that the algorithm's documentation gives.
    bounds: (Duration, Duration),
    /// Whether the algorithm ignores ambiguous samples.
    karn: bool,
    /// Whether timeouts lengthen the algorithm's timer.
    backs_off: bool,
    /// Whether the backoff continues after an ACK of new data that gives no sample.
    keeps_backoff: bool,
    /// The range in which the timer settles if all samples are equal, before the bounds apply.
    settles: fn(Duration) -> (Duration, Duration),
}

const LONGEST: Duration = Duration::from_nanos(u64::MAX);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The range within a microsecond of `span`. An algorithm rounds to its unit of time, so its timer
/// may differ slightly from `span`.
fn nearly(span: Duration) -> (Duration, Duration) {
    (span - Duration::from_micros(1), span + Duration::from_micros(1))
}

/// The range from the round trip `rtt` in whole ticks to three ticks above this round trip. The
/// round trip counts as at least as many ticks as `least`. The length of a tick is `unit`. A
/// falling deviation stops at three quarters of a tick, because it is a whole number of quarters.
/// The timer adds four deviations to the mean, so it may be three ticks longer than the mean.
fn in_ticks(rtt: Duration, unit: Duration, least: u64) -> (Duration, Duration) {
    let ticks = rtt.whole_units(unit).max(least);
    (unit * ticks, unit * (ticks + 3))
}

/// Returns the algorithm called `name` with its expected behaviour. If an algorithm is not listed
/// here or in `later_algorithm`, the tests fail.
fn algorithm(name: &str) -> Algorithm {
    let config = EstimatorConfig::named(name).expect("the name of an algorithm");
    let plain = Algorithm {
        config,
        bounds: (Duration::ZERO, LONGEST),
        karn: true,
        backs_off: true,
        keeps_backoff: true,
        settles: nearly,
    };
    match name {
        "rfc793" => Algorithm {
            bounds: (ms(1000), ms(60_000)),
            karn: false,
            backs_off: false,
            settles: |rtt| nearly(rtt * 2),
            ..plain
        },
        "mills" => {
            Algorithm { karn: false, backs_off: false, settles: |rtt| nearly(rtt * 2), ..plain }
        }
        "jacobson88" => Algorithm {
            bounds: (ms(1000), ms(64_000)),
            settles: |rtt| in_ticks(rtt, ms(500), 0),
            ..plain
        },
        "rfc6298" => Algorithm {
            bounds: (ms(1000), ms(60_000)),
            settles: |rtt| nearly(rtt + ms(1)),
            ..plain
        },
        "bsd44" => Algorithm {
            bounds: (ms(1000), ms(64_000)),
            settles: |rtt| in_ticks(rtt, ms(500), 0),
            ..plain
        },
        "linux" => Algorithm {
            bounds: (ms(200), ms(120_000)),
            settles: |rtt| {
                (rtt + ms(200) - Duration::from_micros(1), rtt + Duration::from_micros(200_004))
            },
            ..plain
        },
        "quic" => Algorithm {
            bounds: (ms(1), LONGEST),
            keeps_backoff: false,
            settles: |rtt| nearly(rtt + ms(26)),
            ..plain
        },
        "fixed" => Algorithm {
            bounds: (ms(3000), ms(3000)),
            backs_off: false,
            settles: |_| (ms(3000), ms(3000)),
            ..plain
        },
        "ns2" => Algorithm {
            bounds: (ms(200), ms(60_000)),
            keeps_backoff: false,
            settles: |rtt| in_ticks(rtt, ms(10), 1),
            ..plain
        },
        _ => later_algorithm(name, plain),
    }
}

/// Does what the function `algorithm` does, for the names that `algorithm` does not list.
fn later_algorithm(name: &str, plain: Algorithm) -> Algorithm {
    match name {
        "freebsd" => Algorithm {
            bounds: (ms(230), ms(64_000)),
            settles: |rtt| (rtt + ms(199), rtt + ms(205)),
            ..plain
        },
        "solaris" => Algorithm {
            bounds: (ms(400), ms(60_000)),
            settles: |rtt| (rtt * 5 / 4 + ms(398), rtt * 5 / 4 + ms(402)),
            ..plain
        },
        "ns3" | "sctp" => Algorithm {
            bounds: (ms(1000), ms(60_000)),
            settles: |rtt| (rtt - Duration::from_micros(1), rtt + ms(5)),
            ..plain
        },
        "smoltcp" => Algorithm {
            bounds: (ms(1000), ms(60_000)),
            settles: |rtt| (rtt - ms(1), rtt + ms(60)),
            ..plain
        },
        "datacenter" => Algorithm {
            bounds: (Duration::from_micros(200), ms(60_000)),
            settles: |rtt| nearly(rtt + Duration::from_micros(1)),
            ..plain
        },
        "cocoa" => Algorithm { bounds: (Duration::ZERO, ms(32_000)), karn: false, ..plain },
        // A sample below the mean does not change the variation. While the mean still falls, the
        // variation therefore stays as large as before.
        "eifel" => Algorithm {
            bounds: (Duration::ZERO, ms(60_000)),
            settles: |rtt| (rtt + ms(2), LONGEST),
            ..plain
        },
        "peak-hopper" => Algorithm {
            bounds: (Duration::ZERO, ms(60_000)),
            settles: |rtt| (rtt + ms(2), rtt + ms(2) + Duration::from_micros(1)),
            ..plain
        },
        // The guesses of the experts are at most 400 ms. If all samples are equal and larger, the
        // variation settles at their distance from the mean of the guesses. The timer adds four
        // variations to the mean.
        "experts" => Algorithm {
            bounds: (ms(1000), ms(60_000)),
            settles: |rtt| (rtt, rtt * 5 + ms(2000)),
            ..plain
        },
        other => panic!("add a line for the algorithm `{other}` to this list"),
    }
}

/// All algorithms. Some are in the list a second time: with Karn's rules, or with a backoff.
fn algorithms() -> Vec<Algorithm> {
    let mut algorithms: Vec<Algorithm> =
        EstimatorConfig::NAMES.iter().map(|name| algorithm(name)).collect();
    let with_karn =
        |name: &str, config| Algorithm { config, karn: true, backs_off: true, ..algorithm(name) };
    let rfc793 = Rfc793Config { karn: true, ..Rfc793Config::default() };
    algorithms.push(with_karn("rfc793", EstimatorConfig::Rfc793(rfc793)));
    let mills = MillsConfig { karn: true, max: Some(ms(30_000)), ..MillsConfig::default() };
    algorithms.push(Algorithm {
        bounds: (Duration::ZERO, ms(30_000)),
        ..with_karn("mills", EstimatorConfig::Mills(mills))
    });
    let fixed = FixedConfig { rto: ms(200), max: ms(5000) };
    algorithms.push(Algorithm {
        bounds: (ms(200), ms(5000)),
        settles: |_| (ms(200), ms(200)),
        ..with_karn("fixed", EstimatorConfig::Fixed(fixed))
    });
    algorithms
}

/// A call of one of a timer algorithm's methods.
#[derive(Clone, Debug)]
enum Step {
    Sample(RttSample),
    Handshake(RttSample),
    Timeout(TimeoutKind),
    Spurious(Option<RttSample>),
    Progress(bool),
    Send(u32),
}

/// Round trips from zero to five hours.
fn rtt() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(0), 0..10_000u64, 1_000_000..2_000_000_000u64, 0..18_000_000_000_000u64,]
        .prop_map(Duration::from_nanos)
}

/// Samples with random values in most fields.
fn sample() -> impl Strategy<Value = RttSample> {
    let source = prop_oneof![
        Just(SampleSource::TimedSegment),
        Just(SampleSource::EachSegment),
        Just(SampleSource::Echo),
        Just(SampleSource::Probe),
    ];
    let octets = (0..70_000u32, 0..1u64 << 40, 0..1u64 << 40, 0..10_000u32);
    (rtt(), any::<bool>(), source, octets, rtt(), 0..20u64, any::<bool>()).prop_map(
        |(rtt, ambiguous, source, octets, ack_delay, round, handshake)| RttSample {
            at: Time::ZERO + rtt,
            rtt,
            ambiguous,
            source,
            wire_bytes: octets.0,
            acked_bytes: octets.1,
            flight_bytes: octets.2,
            smss_bytes: octets.3,
            retransmissions: u8::from(ambiguous),
            ack_delay,
            round,
            handshake,
            ..RttSample::default()
        },
    )
}

/// One random call of a method.
fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        Just(TimeoutKind::Rto),
        Just(TimeoutKind::Syn),
        Just(TimeoutKind::SynAck),
        Just(TimeoutKind::Probe)
    ];
    prop_oneof![
        4 => sample().prop_map(Step::Sample),
        1 => sample().prop_map(Step::Handshake),
        3 => kind.prop_map(Step::Timeout),
        1 => proptest::option::of(sample()).prop_map(Step::Spurious),
        1 => any::<bool>().prop_map(Step::Progress),
        1 => any::<u32>().prop_map(Step::Send),
    ]
}

/// Up to 59 random calls of methods.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 0..60)
}

/// Calls the method of `timer` that `step` names.
fn apply(timer: &mut dyn RtoEstimator, step: &Step) {
    match step {
        Step::Sample(sample) => timer.on_sample(sample),
        Step::Handshake(sample) => timer.on_handshake(sample),
        Step::Timeout(kind) => timer.on_timeout(Time::ZERO, *kind),
        Step::Spurious(sample) => timer.on_spurious(sample.as_ref()),
        Step::Progress(covers_timed) => timer.on_progress(*covers_timed),
        Step::Send(wire_bytes) => timer.on_send(Time::ZERO, *wire_bytes),
    }
}

/// A timer of this algorithm after the steps in the list `past`.
fn with_past(algorithm: &Algorithm, past: &[Step]) -> Box<dyn RtoEstimator> {
    let mut timer = algorithm.config.build();
    past.iter().for_each(|step| apply(timer.as_mut(), step));
    timer
}

#[test]
fn every_name_selects_the_algorithm_that_has_this_name() {
    for name in EstimatorConfig::NAMES {
        assert_eq!(EstimatorConfig::named(name).unwrap().name(), *name);
    }
    assert_eq!(EstimatorConfig::named("rfc1122"), None);
}

#[test]
fn the_page_on_estimators_has_a_row_for_every_algorithm() {
    let page = include_str!("../../../../docs/estimators.md");
    for name in EstimatorConfig::NAMES {
        assert!(page.contains(&format!("\n| `{name}` |")), "no row for `{name}`");
    }
    for alias in EstimatorConfig::ALIASES {
        assert!(page.contains(&format!("`{alias}`")), "the page does not name `{alias}`");
    }
}

proptest! {
    #[test]
    fn the_timer_stays_within_its_bounds_and_the_state_has_the_same_timer(past in steps()) {
        for algorithm in algorithms() {
            let mut timer = algorithm.config.build();
            for step in &past {
                let (rto, state) = (timer.rto(), timer.state());
                prop_assert!(rto >= algorithm.bounds.0 && rto <= algorithm.bounds.1, "{}: {}", algorithm.config.name(), rto);
                prop_assert_eq!(state.rto, rto);
                prop_assert!(state.backoff >= 1 && !state.fired);
                prop_assert!(state.srtt.is_some() || state.rttvar.is_none());
                let now = Time::from_nanos(1_000_000_000);
                prop_assert!(timer.deadline(now, Time::ZERO, 1) >= now);
                prop_assert_eq!(timer.deadline(now, now, 100), now + rto);
                apply(timer.as_mut(), step);
            }
        }
    }

    #[test]
    fn timeouts_never_shorten_the_timer_and_many_timeouts_bring_it_to_its_maximum(past in steps()) {
        for algorithm in algorithms() {
            let mut timer = with_past(&algorithm, &past);
            let first = timer.rto();
            for kind in [TimeoutKind::Rto, TimeoutKind::Syn, TimeoutKind::SynAck].repeat(40) {
                let before = timer.rto();
                timer.on_timeout(Time::ZERO, kind);
                prop_assert!(timer.rto() >= before, "{}", algorithm.config.name());
            }
            let last = timer.rto();
            let no_floor = algorithm.bounds.0.is_zero();
            match (algorithm.backs_off, algorithm.bounds.1) {
                (false, _) => prop_assert_eq!(last, first),
                (true, LONGEST) => prop_assert!(last >= first * 1_000_000),
                // Without a minimum, the timer of a round trip of zero is zero, and doubling does
                // not change it.
                (true, ceiling) => prop_assert!(
                    last == ceiling || no_floor && last >= first * 1_000_000,
                    "{}", algorithm.config.name()
                ),
            }
        }
    }

    #[test]
    fn a_probe_timer_backs_off_only_in_quic(past in steps()) {
        for algorithm in algorithms() {
            let mut timer = with_past(&algorithm, &past);
            let before = timer.state();
            timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
            if algorithm.config.name() == "quic" {
                prop_assert!(timer.state().backoff >= before.backoff);
            } else {
                prop_assert_eq!(timer.state(), before, "{}", algorithm.config.name());
            }
        }
    }

    #[test]
    fn an_ambiguous_sample_changes_nothing_if_karns_rule_applies(
        past in steps(), sample in sample(),
    ) {
        for algorithm in algorithms().into_iter().filter(|algorithm| algorithm.karn) {
            let mut timer = with_past(&algorithm, &past);
            let before = timer.state();
            timer.on_sample(&RttSample { ambiguous: true, ..sample });
            prop_assert_eq!(timer.state(), before);
        }
    }

    #[test]
    fn progress_without_a_sample_ends_a_backoff_only_in_some_algorithms(past in steps()) {
        for algorithm in algorithms() {
            let mut timer = with_past(&algorithm, &past);
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
            let before = timer.state();
            timer.on_progress(true);
            if algorithm.keeps_backoff {
                prop_assert_eq!(timer.state(), before);
            } else {
                prop_assert_eq!(timer.state().backoff, 1);
            }
        }
    }

    #[test]
    fn an_unambiguous_sample_ends_the_backoff(past in steps(), sample in sample()) {
        for algorithm in algorithms() {
            let mut timer = with_past(&algorithm, &past);
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
            let source = SampleSource::TimedSegment;
            timer.on_sample(&RttSample { ambiguous: false, source, ..sample });
            prop_assert_eq!(timer.state().backoff, 1, "{}", algorithm.config.name());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn equal_samples_bring_the_timer_to_the_algorithms_fixed_point(past in steps(), rtt in rtt()) {
        for algorithm in algorithms() {
            let mut timer = with_past(&algorithm, &past);
            for round in 100..1100 {
                timer.on_sample(&RttSample { rtt, round, ..RttSample::default() });
            }
            let (low, high) = (algorithm.settles)(rtt);
            let (floor, ceiling) = algorithm.bounds;
            let rto = timer.rto();
            prop_assert!(
                rto >= low.clamp(floor, ceiling) && rto <= high.clamp(floor, ceiling),
                "{}: {} after samples of {}", algorithm.config.name(), rto, rtt
            );
        }
    }
}
