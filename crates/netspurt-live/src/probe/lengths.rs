//! The rules for the lengths of probes.

use netspurt::rng::Stream;
use serde::{Deserialize, Serialize};

/// A rule for the lengths of probes, in octets of the IP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "rule", rename_all = "lowercase", deny_unknown_fields)]
pub enum ProbeLengths {
    /// The rule of RFC 889 §2.1: lengths are drawn from 0 to 256, and lengths below 40 become 40,
    /// the length of the shortest probe.
    Rfc889,
    /// Lengths are drawn from `low` to `high`, both included.
    Uniform {
        /// The minimum length.
        low: u16,
        /// The maximum length.
        high: u16,
    },
    /// All probes have the same length.
    Fixed {
        /// The length.
        octets: u16,
    },
    /// Bursts of probes of 40 octets and bursts of probes of 256 octets alternate.
    Bursts {
        /// The number of probes in a burst.
        each: u32,
    },
}

impl ProbeLengths {
    /// Checks that the rule allows at least one length.
    ///
    /// # Errors
    /// When the range of lengths is empty, or a burst has no probe. The error names the mistake.
    pub fn check(self) -> Result<(), String> {
        match self {
            Self::Uniform { low, high } if low > high => {
                Err(format!("the range of lengths from {low} to {high} octets is empty"))
            }
            Self::Bursts { each: 0 } => Err("a burst needs at least one probe".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The number of octets of RFC 889's longest probe.
const OCTETS_MAX: u16 = 256;

/// The number of octets of RFC 889's shortest probe.
const OCTETS_MIN: u16 = 40;

/// A sequence of lengths that follows from a rule and a seed.
///
/// ```
/// use netspurt_live::probe::{Draw, ProbeLengths};
/// let mut short_and_long = Draw::new(ProbeLengths::Bursts { each: 2 }, 1, 40);
/// let first: Vec<u16> = (0..5).map(|_| short_and_long.draw()).collect();
/// assert_eq!(first, [40, 40, 256, 256, 40]);
/// ```
#[derive(Debug)]
pub struct Draw {
    rule: ProbeLengths,
    stream: Stream,
    /// The number of octets of the shortest probe of the kind in use.
    least: u16,
    drawn: u64,
}

impl Draw {
    /// Makes the sequence that follows from `rule` and `seed`. Lengths below the minimum `least`
    /// are replaced by this minimum.
    pub fn new(rule: ProbeLengths, seed: u64, least: u16) -> Self {
        Self { rule, stream: Stream::named(seed, "probe/lengths"), least, drawn: 0 }
    }

    /// Returns the next length in octets.
    pub fn draw(&mut self) -> u16 {
        let drawn = match self.rule {
            ProbeLengths::Rfc889 => self.between(0, OCTETS_MAX).max(OCTETS_MIN),
            ProbeLengths::Uniform { low, high } => self.between(low, high),
            ProbeLengths::Fixed { octets } => octets,
            ProbeLengths::Bursts { each } => {
                let long = self.drawn / u64::from(each) % 2 == 1;
                if long { OCTETS_MAX } else { OCTETS_MIN }
            }
        };
        self.drawn += 1;
        drawn.max(self.least)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `high`")]
    fn between(&mut self, low: u16, high: u16) -> u16 {
        let kinds = f64::from(high.saturating_sub(low)) + 1.0;
        low + (self.stream.uniform() * kinds) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws `count` lengths.
    fn draws(rule: ProbeLengths, least: u16, count: usize) -> Vec<u16> {
        let mut draw = Draw::new(rule, 889, least);
        (0..count).map(|_| draw.draw()).collect()
    }

    #[test]
    fn the_rfc889_rule_gives_41_of_257_probes_the_minimum_length() {
        let all = draws(ProbeLengths::Rfc889, 40, 100_000);
        let shortest = all.iter().filter(|octets| **octets == 40).count();
        // Here 41 of 257 values become 40, so the mean is (41 * 40 + sum of 41..=256) / 257.
        assert!((shortest as f64 / 1e5 - 41.0 / 257.0).abs() < 0.005, "{shortest}");
        let mean = all.iter().map(|octets| f64::from(*octets)).sum::<f64>() / 1e5;
        assert!((mean - 131.19).abs() < 0.8, "{mean}");
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&40), Some(&256)));
    }

    #[test]
    fn uniform_lengths_reach_both_ends_of_their_range() {
        let all = draws(ProbeLengths::Uniform { low: 40, high: 43 }, 40, 1000);
        for octets in 40..=43 {
            assert!(all.contains(&octets));
        }
        assert!(all.iter().all(|octets| (40..=43).contains(octets)));
    }

    #[test]
    fn no_probe_is_shorter_than_the_shortest_probe_of_its_kind() {
        assert!(draws(ProbeLengths::Rfc889, 60, 1000).iter().all(|octets| *octets >= 60));
        assert_eq!(draws(ProbeLengths::Fixed { octets: 40 }, 60, 1), [60]);
    }

    #[test]
    fn the_same_seed_gives_the_same_lengths() {
        assert_eq!(draws(ProbeLengths::Rfc889, 40, 50), draws(ProbeLengths::Rfc889, 40, 50));
    }
}
