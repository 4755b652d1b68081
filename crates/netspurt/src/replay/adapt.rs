//! Measures how fast an algorithm follows a sudden change of a path's delay.

use crate::observe::Rounds;
use crate::rto::RtoEstimator;
use crate::sample::{RttSample, SampleSource};
use crate::units::{Duration, Time};

/// The effect of a step from one constant delay to another on an algorithm's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptation {
    /// The number of samples of the new delay after which the timer is never again below that
    /// delay. If the timer rises steadily, this is also the number of probes that are retransmitted
    /// spuriously.
    pub samples_short: u32,
    /// The number of samples of the new delay until the timer stays within a tenth of its final
    /// value.
    pub samples_to_settle: u32,
    /// The timer before the step, and the timer's final value.
    pub timers: (Duration, Duration),
}

/// The number of samples that the algorithm gets of each of the two delays. With its published
/// constants, every algorithm settles within this number of samples.
const SAMPLES: u32 = 4000;

/// Gives the algorithm so many samples of the delay `from` that its timer settles, and then as many
/// samples of the delay `to`.
///
/// Only one probe is in flight at a time, so each sample is a new round.
///
/// ```
/// use netspurt::replay::adapt;
/// use netspurt::rto::EstimatorConfig;
/// use netspurt::units::Duration;
/// let ms = Duration::from_millis;
/// let mut algorithm = EstimatorConfig::named("mills").unwrap().build();
/// // The timer is twice the estimate. The estimate is 100 ms, and each sample moves it by
/// // a quarter of its distance to 400 ms: to 175 ms, then to 231 ms. Twice 231 ms is above 400 ms.
/// assert_eq!(adapt(algorithm.as_mut(), ms(100), ms(400)).samples_short, 2);
/// ```
pub fn adapt(algorithm: &mut dyn RtoEstimator, from: Duration, to: Duration) -> Adaptation {
    let mut probe = Steady { now: Time::ZERO, rounds: Rounds::default() };
    for _ in 0..SAMPLES {
        probe.give(algorithm, from);
    }
    let before = algorithm.rto();
    let mut timers = Vec::with_capacity(SAMPLES as usize + 1);
    timers.push(before);
    for _ in 0..SAMPLES {
        probe.give(algorithm, to);
        timers.push(algorithm.rto());
    }
    let settled = *timers.last().expect("the list has the timer before the step");
    let near = |timer: &Duration| {
        let (a, b) = (timer.as_nanos(), settled.as_nanos());
        a.abs_diff(b) <= b / 10
    };
    let count = |place: Option<usize>| place.map_or(0, |last| last as u32 + 1);
    Adaptation {
        samples_short: count(timers.iter().rposition(|timer| *timer < to)),
        samples_to_settle: count(timers.iter().rposition(|timer| !near(timer))),
        timers: (before, settled),
    }
}

/// A path on which the next probe leaves when the previous probe is answered.
struct Steady {
    now: Time,
    rounds: Rounds,
}

impl Steady {
    /// Sends a probe that is answered after `rtt`, and gives this sample to `algorithm`.
    fn give(&mut self, algorithm: &mut dyn RtoEstimator, rtt: Duration) {
        let sent = self.now;
        self.now = sent + rtt;
        algorithm.on_sample(&RttSample {
            at: self.now,
            sent,
            rtt,
            source: SampleSource::Probe,
            round: self.rounds.sample(sent.as_nanos(), self.now.as_nanos()),
            ..RttSample::default()
        });
    }
}
