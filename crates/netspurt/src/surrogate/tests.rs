//! Tests of surrogates, which are invented recordings: whether they fit a printed row of
//! statistics, and how their delays, lengths and losses follow each other. A structure is a model
//! of how the delays follow each other.

use proptest::prelude::*;

use crate::delays::{Delays, Measure, ProbeOrder};
use crate::units::Duration;

use super::fit::{average, spread};
use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The delays of the answered probes, in nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "delays are only some seconds")]
fn values(delays: &Delays) -> Vec<f64> {
    delays.probes.iter().filter_map(|probe| probe.rtt).map(|rtt| rtt.as_nanos() as f64).collect()
}

/// The path to UCL in RFC 889 §2.1. It divides packets of more than 125 octets in two.
fn path_to_ucl() -> DelayByLength {
    DelayByLength::through(&[(40, ms(1089)), (125, ms(1240)), (126, ms(1426)), (256, ms(1548))])
}

/// A row of probes with lengths from 40 to 256 octets on the path to UCL. `mean` is in
/// milliseconds.
fn mixed(mean: u64, cov: f64, lost: u32) -> Row {
    let lengths = Lengths::Clamped { lowest: 40, highest: 256 };
    Row { mean: ms(mean), cov, lost, lengths, line: path_to_ucl(), ..Row::default() }
}

#[test]
fn every_structure_fits_the_row_and_differs_from_the_next_one() {
    // The first three rows have the spread and the losses of three rows in RFC 889's second table:
    // the row with the least spread, the row with the greatest spread, and the row with the most
    // losses. In the fourth row, the mixed lengths alone spread the delays further than the row
    // allows.
    for (mean, cov, lost) in [(2044, 0.03, 0), (900, 1.13, 20), (432, 1.1, 196), (1316, 0.1, 9)] {
        let row = mixed(mean, cov, lost);
        let made: Vec<Delays> =
            Structure::ALL.iter().map(|&s| row.surrogate(s, 1).unwrap()).collect();
        for delays in &made {
            let values = values(delays);
            assert!((average(&values) / (1e6 * mean as f64) - 1.0).abs() < 1e-8);
            assert!((spread(&values) / cov - 1.0).abs() < 1e-6, "{}", spread(&values));
            assert_eq!((delays.probes.len(), delays.lost()), (512, u64::from(lost)));
            assert_eq!(lengths(delays), lengths(&made[0]), "all structures have the same lengths");
        }
        assert!(made.windows(2).all(|pair| values(&pair[0]) != values(&pair[1])));
    }
}

/// The length of each probe.
fn lengths(delays: &Delays) -> Vec<u32> {
    delays.probes.iter().map(|probe| probe.wire_bytes).collect()
}

/// The correlation of a delay with the previous delay.
fn autocorrelation(delays: &Delays) -> f64 {
    let values = values(delays);
    let mean = average(&values);
    let product: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    product / values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>()
}

#[test]
fn successive_delays_are_correlated_in_all_structures_except_the_independent_one() {
    let row = Row { cov: 0.5, ..Row::default() };
    for structure in Structure::ALL {
        let r = autocorrelation(&row.surrogate(structure, 3).unwrap());
        assert_eq!(r > 0.5, structure != Structure::Independent, "{} {r}", structure.name());
    }
}

#[test]
fn three_glitches_cause_one_to_three_runs_of_long_delays() {
    let row = Row { cov: 0.7, glitches: 3, ..Row::default() };
    let delays = row.surrogate(Structure::Glitches, 5).unwrap();
    let mut sorted = values(&delays);
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let long: Vec<bool> = values(&delays).iter().map(|&v| v > 3.0 * median).collect();
    let runs = long.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    assert!((1..=3).contains(&runs), "{runs}");
    assert!(delays.notes.iter().any(|note| note.starts_with("glitches begin")));
}

#[test]
fn the_notes_mention_glitches_and_the_effect_of_lengths_only_if_there_are_any() {
    let notes = |row: Row| row.surrogate(Structure::Glitches, 5).unwrap().notes;
    let plain = notes(Row { cov: 0.7, glitches: 0, ..Row::default() });
    assert_eq!(plain.len(), 1, "{plain:?}");
    let long = notes(Row { glitches: 1, ..mixed(1000, 0.3, 0) });
    assert!(long[1].starts_with("the effect of the probes' lengths was scaled to"), "{long:?}");
    assert!(long[2].starts_with("glitches begin at the probes"), "{long:?}");
}

#[test]
fn uniform_lengths_have_no_preferred_length() {
    let uniform = Lengths::Uniform { lowest: 40, highest: 49 };
    let row = Row { probes: 10_000, lengths: uniform, line: path_to_ucl(), ..Row::default() };
    let drawn = lengths(&row.surrogate(Structure::Independent, 1).unwrap());
    for octets in 40..50 {
        // The standard deviation of each count is 30.
        let count = drawn.iter().filter(|length| **length == octets).count();
        assert!(count.abs_diff(1000) < 120, "{octets} octets: {count}");
    }
    assert!(drawn.iter().all(|length| (40..50).contains(length)));
}

#[test]
fn about_one_probe_in_six_has_the_least_length() {
    let row = Row { probes: 20_000, ..mixed(1000, 0.3, 0) };
    let drawn = lengths(&row.surrogate(Structure::Independent, 1).unwrap());
    let least = drawn.iter().filter(|&&octets| octets == 40).count();
    assert!(
        (3000..3400).contains(&least),
        "41 of the 257 lengths from 0 to 256 become 40: {least}"
    );
    assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&40), Some(&256)));
}

#[test]
fn runs_of_short_probes_are_followed_by_runs_of_long_ones() {
    let lengths_in_turn = Lengths::Runs { first: (40, 3), then: (256, 2) };
    let row = Row { probes: 7, lengths: lengths_in_turn, line: path_to_ucl(), ..Row::default() };
    let drawn = lengths(&row.surrogate(Structure::Levels, 1).unwrap());
    assert_eq!(drawn, [40, 40, 40, 256, 256, 40, 40]);
}

#[test]
fn losses_come_in_bursts_if_the_row_says_so() {
    let runs = |losses: Losses| {
        let row = Row { lost: 60, losses, ..Row::default() };
        let delays = row.surrogate(Structure::Queue, 1).unwrap();
        assert_eq!(delays.lost(), 60);
        delays
            .probes
            .windows(2)
            .filter(|pair| pair[0].rtt.is_some() && pair[1].rtt.is_none())
            .count()
    };
    assert!(runs(Losses::Bursts(10)) <= 8);
    assert!(runs(Losses::Independent) > 40);
}

#[test]
fn a_probe_leaves_when_the_previous_probe_is_answered_or_given_up() {
    let row = Row { probes: 8, lost: 2, ..Row::default() };
    let delays = row.surrogate(Structure::Independent, 9).unwrap();
    for pair in delays.probes.windows(2) {
        let wait = pair[0].rtt.map_or(Duration::from_secs(30), |rtt| rtt * 2);
        assert_eq!(pair[1].sent - pair[0].sent, wait);
    }
    assert_eq!((delays.measure, delays.order), (Measure::OneWay, ProbeOrder::Sequence));
}

#[test]
fn the_delays_and_losses_of_a_seed_are_the_same_in_every_version() {
    // The values are fixed, so the test fails if the draws or the arithmetic change. Such a change
    // would change every number that depends on surrogates.
    let delays = mixed(1316, 0.21, 9).surrogate(Structure::Queue, 1).unwrap();
    let first: Vec<u64> = delays
        .probes
        .iter()
        .take(3)
        .filter_map(|probe| probe.rtt)
        .map(Duration::as_nanos)
        .collect();
    assert_eq!(first, FIRST);
    assert_eq!(delays.probes.iter().position(|probe| probe.rtt.is_none()), Some(FIRST_LOST));
}

/// The first three delays, in nanoseconds.
const FIRST: [u64; 3] = [1_087_609_952, 964_918_341, 1_287_841_917];
/// The number of the first lost probe.
const FIRST_LOST: usize = 129;

#[test]
fn an_impossible_row_is_refused_with_the_reason() {
    let refused = |row: Row| row.surrogate(Structure::Levels, 1).unwrap_err().to_string();
    let row = Row::default;
    assert!(refused(Row { lost: 511, ..row() }).contains("at least two"));
    assert!(refused(Row { lost: 900, ..row() }).contains("lost = 900"));
    assert!(refused(Row { cov: 15.0, ..row() }).contains("below 14.4"));
    assert!(refused(Row { cov: f64::NAN, ..row() }).contains("cov = NaN"));
    assert!(refused(Row { mean: ms(0), ..row() }).contains("above zero"));
    assert!(
        refused(Row { lengths: Lengths::Same(30), line: path_to_ucl(), ..row() })
            .contains("from 40 to 256")
    );
    let backward = DelayByLength::through(&[(256, ms(2)), (40, ms(1))]);
    assert!(refused(Row { line: backward, ..row() }).contains("must rise"));
    let crossed = Lengths::Clamped { lowest: 300, highest: 256 };
    assert!(refused(Row { lengths: crossed, ..row() }).contains("must ascend"));
}

proptest! {
    #[test]
    fn any_row_that_is_not_refused_is_fitted(
        mean in 1_u64..20_000, cov in 0.0_f64..2.5, probes in 16_u32..300, share in 0.0_f64..0.5,
        which in 0_usize..4, seed in any::<u64>(),
    ) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`lost` is at most 150"
        )]
        let lost = (f64::from(probes) * share) as u32;
        let row = Row { probes, ..mixed(mean, cov, lost) };
        if let Ok(delays) = row.surrogate(Structure::ALL[which], seed) {
            let values = values(&delays);
            prop_assert!(values.iter().all(|&v| v > 0.0));
            prop_assert!((average(&values) / (1e6 * mean as f64) - 1.0).abs() < 1e-6);
            prop_assert!((spread(&values) - cov).abs() < 1e-5 + 1e-5 * cov);
            prop_assert_eq!(delays.lost(), u64::from(lost));
        }
    }
}
