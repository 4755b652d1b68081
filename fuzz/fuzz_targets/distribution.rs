//! Fuzzes the text form of distributions. A distribution that was read is written as text and read
//! again, and must then be the same. Values that are drawn from it must not be negative.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt::distribution::{Distribution, DistributionUnit, Sampler};
use netspurt::rng::Stream;

fuzz_target!(|text: &str| {
    for unit in [
        DistributionUnit::Octets,
        DistributionUnit::Gap,
        DistributionUnit::Span,
        DistributionUnit::Count,
    ] {
        let found = match Distribution::parse(text, unit) {
            Ok(found) => found,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        let written = found.to_string();
        let again = Distribution::parse(&written, unit).expect("what was written can be read");
        assert_eq!(again.to_string(), written);
        assert!(found.mean().is_none_or(|mean| mean >= 0.0), "{written}");
        let mut sampler = Sampler::new(&found, Stream::named(1, "fuzz"));
        for _ in 0..100 {
            assert!(sampler.draw() >= 0.0, "{written}: drew a negative value");
            let _ = (sampler.octets(), sampler.span(), sampler.count());
        }
    }
});
