//! Fuzzes the text form of estimators (algorithms that compute the retransmission timeout, RTO),
//! and gives samples, timeouts and other events to each estimator. The RTO must always be above 0
//! and within the bounds of the estimator.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt::rto::{EstimatorConfig, TimeoutKind};
use netspurt::sample::RttSample;
use netspurt::units::{Duration, Time};

fuzz_target!(|input: (&str, &[u8])| {
    let (text, octets) = input;
    let config = match EstimatorConfig::parse(text) {
        Ok(config) => config,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let written = config.to_string();
    let again = EstimatorConfig::parse(&written).expect("what was written can be read");
    assert_eq!(again.to_string(), written);
    let bounds = config.bounds();
    let (min, max) = (bounds.min.unwrap_or_default(), bounds.max.unwrap_or(FOREVER));
    let mut timer = config.build();
    let mut now = Time::ZERO;
    for [what, low, high] in octets.as_chunks::<3>().0 {
        // The span is from a nanosecond to half a minute.
        let span = Duration::from_nanos(u64::from(*low).max(1) << (high % 28));
        now += span;
        match what % 5 {
            0 => timer.on_timeout(now, TimeoutKind::Rto),
            1 => timer.on_progress(what & 128 != 0),
            2 => timer.on_spurious(None),
            3 => timer.on_send(now, 1500),
            _ => timer.on_sample(&RttSample {
                at: now,
                rtt: span,
                ambiguous: what & 128 != 0,
                acked_bytes: 1460,
                flight_bytes: u64::from(*high) * 1460,
                smss_bytes: 1460,
                ..RttSample::default()
            }),
        }
        let rto = timer.rto();
        assert!(rto > Duration::ZERO, "{written}: the RTO is 0");
        assert!(rto >= min && rto <= max, "{written}: the RTO {rto} is outside {min} to {max}");
    }
});

const FOREVER: Duration = Duration::from_nanos(u64::MAX);
