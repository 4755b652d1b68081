//! Tests of the quantiles of lateness against their definition.

use netspurt::units::Duration;
use netspurt_live::lateness::Lateness;
use proptest::prelude::*;

/// The quantiles of deliveries that were late by `nanos` nanoseconds.
fn of(nanos: &[u64]) -> Lateness {
    Lateness::of(nanos.iter().copied().map(Duration::from_nanos).collect())
}

#[test]
fn the_rank_of_a_quantile_is_the_count_times_its_share_rounded_up() {
    // The deliveries are 1 to n nanoseconds late, so each lateness equals its rank.
    for (count, expected) in [
        (1, [1, 1, 1, 1]),
        (2, [1, 2, 2, 2]),
        (3, [2, 3, 3, 3]),
        (99, [50, 99, 99, 99]),
        (100, [50, 99, 100, 100]),
        (101, [51, 100, 101, 101]),
        (999, [500, 990, 999, 999]),
        (1001, [501, 991, 1000, 1001]),
        (2000, [1000, 1980, 1998, 2000]),
    ] {
        let summary = of(&(1..=count).rev().collect::<Vec<_>>()).quantiles_ns();
        let found = [summary.p50_ns, summary.p99_ns, summary.p999_ns, summary.max_ns];
        assert_eq!(found, expected, "for {count} deliveries");
    }
}

#[test]
fn a_lateness_that_equals_the_budget_is_within_the_budget() {
    let summary = of(&[0, 3, 5]);
    for (budget, within) in [(4, false), (5, true), (6, true)] {
        assert_eq!(summary.is_within(Duration::from_nanos(budget)), within, "{budget}");
    }
    assert!(Lateness::default().is_within(Duration::ZERO), "nothing was late");
}

#[test]
fn the_report_has_one_key_in_nanoseconds_for_each_quantile() {
    let summary = serde_json::to_value(of(&[7, 2_000_000_000]).quantiles_ns()).unwrap();
    let expected = serde_json::json!({
        "p50_ns": 7, "p99_ns": 2_000_000_000, "p999_ns": 2_000_000_000, "max_ns": 2_000_000_000,
    });
    assert_eq!(summary, expected);
}

proptest! {
    #[test]
    fn each_quantile_is_the_smallest_lateness_that_covers_its_share(
        nanos in prop::collection::vec(0_u64..60, 1..1500)
    ) {
        let summary = of(&nanos);
        prop_assert_eq!(summary.count, nanos.len() as u64);
        let within = |limit: u64| nanos.iter().filter(|late| **late <= limit).count();
        for (share, found) in
            [(500, summary.p50), (990, summary.p99), (999, summary.p999), (1000, summary.max)]
        {
            let expected = (0..60).find(|limit| within(*limit) * 1000 >= share * nanos.len());
            prop_assert_eq!(Some(found.as_nanos()), expected, "{} in 1000", share);
        }
    }
}
