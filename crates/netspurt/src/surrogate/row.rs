//! A printed row of statistics, and the generation of a surrogate: an invented recording that fits
//! the row.

use crate::delays::{Delays, Measure, Probe, ProbeOrder, SendTimeSource};
use crate::rng::Stream;
use crate::units::{Duration, Time};

use super::fit;
use super::lengths::{DelayByLength, Lengths};
use super::losses::Losses;
use super::structure::Structure;

/// The give-up time of the prober (RFC 889 §3.1).
const GIVEN_UP: Duration = Duration::from_secs(30);

/// The properties that a surrogate must have: the statistics of a printed row, and choices for what
/// the row does not say.
///
/// ```
/// use netspurt::surrogate::{Row, Structure};
/// use netspurt::units::Duration;
/// let row = Row { mean: Duration::from_millis(1157), cov: 0.69, lost: 3, ..Row::default() };
/// for structure in Structure::ALL {
///     let delays = row.surrogate(structure, 1)?;
///     assert_eq!((delays.probes.len(), delays.lost()), (512, 3));
///     assert!(delays.format.starts_with("surrogate"));
/// }
/// # Ok::<(), netspurt::surrogate::SurrogateError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of the row. The random streams depend on it.
    pub name: String,
    /// The number of probes.
    pub probes: u32,
    /// The mean delay of the answered probes.
    pub mean: Duration,
    /// The coefficient of variation of the answered probes: the standard deviation of their delays
    /// divided by the mean. The variance is the sum of the squared distances from the mean, divided
    /// by the number of delays and not by this number minus one.
    pub cov: f64,
    /// The number of lost probes.
    pub lost: u32,
    /// How the losses are distributed.
    pub losses: Losses,
    /// The lengths of the probes.
    pub lengths: Lengths,
    /// The delay as a function of the length. The delays are scaled to fit the mean.
    pub line: DelayByLength,
    /// The number of glitches of [`Structure::Glitches`].
    pub glitches: u32,
    /// The kind of the delays. The delays of RFC 889 are [`Measure::OneWay`].
    pub measure: Measure,
}

impl Default for Row {
    /// A row as in RFC 889: 512 probes of 40 octets, one-way delays of 1 s with a coefficient of
    /// variation of one fifth, no loss, and three glitches.
    fn default() -> Self {
        Self {
            name: "row".to_owned(),
            probes: 512,
            mean: Duration::from_secs(1),
            cov: 0.2,
            lost: 0,
            losses: Losses::Independent,
            lengths: Lengths::Same(40),
            line: DelayByLength::flat(),
            glitches: 3,
            measure: Measure::OneWay,
        }
    }
}

/// The reason why no delays fit a row.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SurrogateError {
    /// Fewer than two probes are answered.
    #[error("probes = {probes}, lost = {lost}: at least two probes must be answered")]
    TooFew {
        /// The number of probes.
        probes: u32,
        /// The number of lost probes.
        lost: u32,
    },
    /// The coefficient of variation is too great for the number of delays, is negative, or is not a
    /// number.
    #[error("cov = {cov}: with {answered} answered probes it must be from 0 to below {limit:.3}")]
    Spread {
        /// The coefficient of variation.
        cov: f64,
        /// The number of answered probes.
        answered: u32,
        /// The bound below which the coefficient of variation must stay.
        limit: f64,
    },
    /// The mean is not above zero, or not below the give-up time.
    #[error("mean = {0}: it must be above zero and below 30 s, after which a probe counts as lost")]
    Mean(Duration),
    /// The lengths do not ascend or are too great, or [`Row::line`] is wrong or gives no delay for
    /// them.
    #[error("{0}")]
    Lengths(String),
}

impl Row {
    /// Makes a recording that fits this row. `structure` is the model of how the delays follow each
    /// other.
    ///
    /// The recording has the row's mean and coefficient of variation, up to the rounding of
    /// nanoseconds, and exactly the row's number of losses. The same row, structure and seed give
    /// the same recording on every machine. Lengths and losses do not depend on the structure.
    ///
    /// # Errors
    /// When no delays fit the row.
    pub fn surrogate(&self, structure: Structure, seed: u64) -> Result<Delays, SurrogateError> {
        self.check()?;
        let draws = |what: &str| Stream::named(seed, &format!("surrogate.{}/{what}", self.name));
        let lengths = self.lengths.draw(self.probes, &mut draws("lengths"));
        let lost = self.losses.draw(self.probes, self.lost, &mut draws("losses"));
        let (noise, notes) = structure.noise(self.probes, self.glitches, &mut |what| {
            draws(&format!("{}/{what}", structure.name()))
        });
        let answered: Vec<usize> = (0..lengths.len()).filter(|&i| !lost[i]).collect();
        let base: Vec<f64> = answered.iter().map(|&i| self.line.at(lengths[i])).collect();
        let noise: Vec<f64> = answered.iter().map(|&i| noise[i]).collect();
        #[expect(clippy::cast_precision_loss, reason = "the mean is below 30 s")]
        let mean_ns = self.mean.as_nanos() as f64;
        let fitted = fit::fit(&base, &noise, mean_ns, self.cov);
        let mut rtts = vec![None; lengths.len()];
        answered.iter().zip(&fitted.delays).for_each(|(&i, &ns)| rtts[i] = Some(span(ns)));
        let (name, format) =
            (format!("surrogate of {}", self.name), format!("surrogate ({})", structure.name()));
        Ok(Delays {
            measure: self.measure,
            order: ProbeOrder::Sequence,
            send_times: SendTimeSource::Computed,
            probes: self.probes_of(&rtts, &lengths),
            notes: [self.about(structure, seed)]
                .into_iter()
                .chain(fitted.note())
                .chain(notes)
                .collect(),
            ..Delays::new(name, format)
        })
    }

    fn about(&self, structure: Structure, seed: u64) -> String {
        format!(
            "made up, not recorded, to fit these figures: {} probes, {} lost ({}), a mean of {} \
             and a CoV of {}; model: {}; seed {seed}",
            self.probes,
            self.lost,
            self.losses.name(),
            self.mean,
            self.cov,
            structure.says(),
        )
    }

    /// Returns the probes in the order of sending. Each probe leaves when the previous probe is
    /// answered or, if the previous probe is lost, after the give-up time.
    fn probes_of(&self, rtts: &[Option<Duration>], lengths: &[u32]) -> Vec<Probe> {
        let trips = if self.measure == Measure::OneWay { 2 } else { 1 };
        let mut sent = Time::ZERO;
        let mut probes = Vec::with_capacity(rtts.len());
        for ((number, &rtt), &wire_bytes) in (0..).zip(rtts).zip(lengths) {
            probes.push(Probe { number, sent, rtt, late: false, wire_bytes });
            sent += rtt.map_or(GIVEN_UP, |rtt| rtt * trips);
        }
        probes
    }

    fn check(&self) -> Result<(), SurrogateError> {
        let (probes, lost) = (self.probes, self.lost);
        let answered = probes.saturating_sub(lost);
        if answered < 2 {
            return Err(SurrogateError::TooFew { probes, lost });
        }
        if self.mean.is_zero() || self.mean >= GIVEN_UP {
            return Err(SurrogateError::Mean(self.mean));
        }
        let limit = fit::limit(answered);
        if !(0.0..limit).contains(&self.cov) {
            return Err(SurrogateError::Spread { cov: self.cov, answered, limit });
        }
        self.lengths.check(&self.line).map_err(SurrogateError::Lengths)
    }
}

/// Rounds nanoseconds to a span of time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is above zero and rounded"
)]
fn span(ns: f64) -> Duration {
    Duration::from_nanos(libm::round(ns) as u64)
}
