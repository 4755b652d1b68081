//! The smoothed mean of the round trips and their smoothed variation (mean deviation), as in RFC
//! 6298. Several timer algorithms are based on these two values.

use crate::packed::packed_value;
use crate::sample::{RttSample, SampleSource};
use crate::units::Duration;

use super::arith::{Ratio, Smooth};

/// The number of mean deviations between the mean and the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviations {
    /// Two, as in Jacobson 1988.
    Two,
    /// Four, as in BSD and in Jacobson's revision of 1990.
    Four,
}

/// A smoothed round trip and its smoothed variation.
///
/// ```
/// use netspurt::rto::MeanDeviation;
/// use netspurt::units::Duration;
/// let ms = Duration::from_millis;
/// let first = MeanDeviation::sampled(None, ms(80));
/// assert_eq!((first.mean(), first.timer(ms(1))), (ms(80), ms(240)));
/// let second = MeanDeviation::sampled(Some(first), ms(80));
/// assert_eq!((second.timer(ms(1)), second.timer(ms(1000))), (ms(200), ms(1000)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanDeviation {
    pub(super) srtt: Smooth,
    pub(super) rttvar: Smooth,
}

packed_value!(MeanDeviation { srtt, rttvar });

impl MeanDeviation {
    /// The values after a sample of `rtt`, with the gains 1/8 and 1/4 (RFC 6298 §2.3). The argument
    /// `before` has the values before the sample, or is `None` for the first sample.
    #[inline]
    pub fn sampled(before: Option<Self>, rtt: Duration) -> Self {
        const ALPHA: Ratio = Ratio::new(1, 8);
        const BETA: Ratio = Ratio::new(1, 4);
        let rtt = Smooth::of(rtt);
        before.map_or(Self::first(rtt), |before| before.with(rtt, ALPHA, BETA))
    }

    /// The smoothed round trip.
    pub fn mean(self) -> Duration {
        self.srtt.span()
    }

    /// The smoothed variation.
    pub fn variation(self) -> Duration {
        self.rttvar.span()
    }

    /// The values if each round trip were longer by `span`.
    #[must_use]
    pub fn longer_by(self, span: Duration) -> Self {
        Self { srtt: Smooth::of(self.mean() + span), ..self }
    }

    /// The timer: the mean and four variations, but at least `floor` (RFC 6298 §2.3, §2.4).
    pub fn timer(self, floor: Duration) -> Duration {
        (self.mean() + self.variation() * 4).max(floor)
    }

    /// The timer with a floor as in Linux (`rto_min`): the mean, plus the greater of four
    /// variations and `floor`. [`timer`](Self::timer) has the floor of RFC 6298 §2.4 instead.
    #[inline]
    pub fn timer_above(self, floor: Duration) -> Duration {
        self.mean() + (self.variation() * 4).max(floor)
    }

    /// The values after the first sample (RFC 6298 §2.2).
    pub(super) fn first(rtt: Smooth) -> Self {
        Self { srtt: rtt, rttvar: rtt.half() }
    }

    /// The values after a later sample. The variation is updated first, with the old mean (RFC 6298
    /// §2.3).
    #[inline]
    pub(super) fn with(self, rtt: Smooth, alpha: Ratio, beta: Ratio) -> Self {
        let distance = self.srtt.distance(rtt);
        Self { rttvar: self.rttvar.toward(distance, beta), srtt: self.srtt.toward(rtt, alpha) }
    }
}

/// The expected number of samples in one round trip. If every ACK or every segment gives a sample
/// and the SMSS is known, this is FlightSize / (2 SMSS), rounded up (RFC 7323 appendix G).
/// Otherwise the number is one.
pub(super) fn samples_in_flight(sample: &RttSample) -> u64 {
    let several = matches!(sample.source, SampleSource::Echo | SampleSource::EachSegment);
    if !several || sample.smss_bytes == 0 {
        return 1;
    }
    let flight_size = sample.flight_bytes.saturating_add(sample.acked_bytes);
    flight_size.div_ceil(2 * u64::from(sample.smss_bytes)).max(1)
}
