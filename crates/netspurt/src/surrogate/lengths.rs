//! The rules for the lengths of the probes of a surrogate, which is an invented recording. This
//! file also has the effect of a length on the delay.

use crate::rng::Stream;
use crate::units::Duration;

/// The rule by which the lengths of probes are chosen, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// All probes have this length.
    Same(u32),
    /// Each length is drawn uniformly from zero to `highest`. Lengths below `lowest` become
    /// `lowest` (RFC 889 §2.1).
    Clamped {
        /// The least length.
        lowest: u32,
        /// The greatest length.
        highest: u32,
    },
    /// Each length is drawn uniformly from `lowest` to `highest`.
    Uniform {
        /// The least length.
        lowest: u32,
        /// The greatest length.
        highest: u32,
    },
    /// Runs of probes with one length and runs with another length alternate.
    Runs {
        /// The first length, and the number of probes in its runs.
        first: (u32, u32),
        /// The second length, and the number of probes in its runs.
        then: (u32, u32),
    },
}

impl Lengths {
    /// Returns a length for each probe. `probes` is the number of probes.
    pub(super) fn draw(self, probes: u32, stream: &mut Stream) -> Vec<u32> {
        let draw = |i: u32| match self {
            Self::Same(octets) => octets,
            Self::Clamped { lowest, highest } => below(stream, highest + 1).max(lowest),
            Self::Uniform { lowest, highest } => lowest + below(stream, highest - lowest + 1),
            Self::Runs { first, then } => {
                let place = i % (first.1 + then.1).max(1);
                if place < first.1 { first.0 } else { then.0 }
            }
        };
        (0..probes).map(draw).collect()
    }

    /// Checks that the lengths are possible, and that the argument `line` gives a delay for each of
    /// them.
    pub(super) fn check(self, line: &DelayByLength) -> Result<(), String> {
        let (lowest, highest) = match self {
            Self::Same(octets) => (octets, octets),
            Self::Clamped { lowest, highest } | Self::Uniform { lowest, highest } => {
                (lowest, highest)
            }
            Self::Runs { first, then } => (first.0.min(then.0), first.0.max(then.0)),
        };
        if lowest > highest || highest > 65_535 {
            return Err(format!(
                "lengths from {lowest} to {highest} B: they must ascend, and be at most 65535 B"
            ));
        }
        line.check()?;
        match (line.0.first(), line.0.last()) {
            (Some(first), Some(last)) if lowest < first.0 || highest > last.0 => Err(format!(
                "lengths from {lowest} to {highest} B: the line gives delays only from {} to {} B",
                first.0, last.0
            )),
            _ => Ok(()),
        }
    }
}

/// Draws a number below `n`, uniformly to within 2^-32.
#[expect(clippy::cast_possible_truncation, reason = "the result is below n")]
pub(super) fn below(stream: &mut Stream, n: u32) -> u32 {
    ((u128::from(stream.bits()) * u128::from(n)) >> 64) as u32
}

/// The delay of a probe without noise, as a function of its length. It is linear between points,
/// and constant below the first and above the last point.
///
/// Some paths divide packets above a certain length in two. The delay of such a path jumps at this
/// length, so the function needs four points. In RFC 889 §2.1, the delay jumps at 126 octets.
///
/// ```
/// use netspurt::surrogate::DelayByLength;
/// use netspurt::units::Duration;
/// let line = DelayByLength::through(&[(40, Duration::from_millis(10)), (240, Duration::from_millis(30))]);
/// assert_eq!(line.at(140), 20e6);
/// assert_eq!(DelayByLength::flat().at(140), 1.0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayByLength(Vec<(u32, Duration)>);

impl DelayByLength {
    /// Makes a delay that does not depend on the length.
    pub const fn flat() -> Self {
        Self(Vec::new())
    }

    /// Makes a line through points, each with a number of octets and a delay.
    pub fn through(points: &[(u32, Duration)]) -> Self {
        Self(points.to_vec())
    }

    /// Returns the delay at a length, in nanoseconds. Without points, it returns 1.
    #[expect(clippy::cast_precision_loss, reason = "delays are at most some days")]
    pub fn at(&self, octets: u32) -> f64 {
        let Some(&(_, last)) = self.0.last() else { return 1.0 };
        let next = self.0.partition_point(|&(at, _)| at < octets);
        let Some(&(b, there)) = self.0.get(next) else { return last.as_nanos() as f64 };
        let Some(&(a, here)) = next.checked_sub(1).map(|i| &self.0[i]) else {
            return there.as_nanos() as f64;
        };
        let part = f64::from(octets - a) / f64::from(b - a);
        here.as_nanos() as f64 * (1.0 - part) + there.as_nanos() as f64 * part
    }

    fn check(&self) -> Result<(), String> {
        let ordered = self.0.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let timed = self.0.iter().all(|(_, delay)| !delay.is_zero());
        if ordered && timed {
            return Ok(());
        }
        Err("a line's lengths must rise, and its delays must be above zero".to_owned())
    }
}
