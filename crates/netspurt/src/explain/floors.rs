//! What other retransmission timers would have done on a captured direction.

use crate::observe::OneWay;
use crate::rto::MeanDeviation;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::ExplainedRetransmission;

/// The least timers that are tried.
pub const FLOORS: [Duration; 6] = [
    Duration::from_millis(1),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(100),
    Duration::from_millis(200),
];

/// A wait that a retransmission timer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerWait {
    /// When the retransmission was captured.
    pub at: Time,
    /// Its first octet.
    pub left: u64,
    /// The time since the timer can have been started: since data was sent or acknowledged last.
    pub waited: Duration,
    /// How many timeouts of the same octet were before it.
    pub backoffs: u32,
    /// The smoothed round trip and variation then, as RFC 6298 computes them from every sample.
    pub estimate: Option<MeanDeviation>,
    /// Whether SACK blocks had reported octets behind the one that was retransmitted.
    pub sacked: bool,
    /// Segments outstanding.
    pub outstanding: u32,
}

/// Timers with other least values, run beside a direction.
///
/// ```
/// use netspurt::explain::{FLOORS, OtherFloors};
/// use netspurt::sample::RttSample;
/// use netspurt::units::{Duration, Time};
/// let mut floors = OtherFloors::default();
/// let at = |ms| Time::ZERO + Duration::from_millis(ms);
/// for (sent, rtt) in [(0, 5), (10, 5), (20, 5), (30, 50)] {
///     let rtt = Duration::from_millis(rtt);
///     floors.sample(&RttSample { sent: at(sent), at: at(sent) + rtt, rtt, ..RttSample::default() });
/// }
/// // The round trip of 50 ms is longer than a timer of at least 40 ms, and not one of 100 ms.
/// assert_eq!(floors.spurious(), [1, 1, 1, 1, 0, 0]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct OtherFloors {
    estimate: Option<MeanDeviation>,
    /// There from the first sample on that is longer than a timer.
    expired: Option<Box<[Expired; FLOORS.len()]>>,
    waits: Vec<TimerWait>,
}

/// How often a timer would have fired although an answer was on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Expired {
    count: u32,
    /// What was sent before this instant was covered by the timer that fired last.
    until: Time,
}

impl OtherFloors {
    /// A round trip ended. Each timer that would have fired meanwhile counts once for all data that
    /// was outstanding then.
    #[inline]
    pub fn sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        if let Some(estimate) = self.estimate
            && sample.rtt > estimate.timer(FLOORS[0])
        {
            self.count(sample, estimate);
        }
        self.estimate = Some(MeanDeviation::sampled(self.estimate, sample.rtt));
    }

    #[cold]
    fn count(&mut self, sample: &RttSample, estimate: MeanDeviation) {
        let expired = self.expired.get_or_insert_default();
        for (expired, floor) in expired.iter_mut().zip(FLOORS) {
            if sample.rtt > estimate.timer(floor) && sample.sent >= expired.until {
                *expired = Expired { count: expired.count + 1, until: sample.at };
            }
        }
    }

    /// A timer fired and sent `again`; it cannot have been started after `progress`, and `octets`
    /// are outstanding.
    #[cold]
    pub fn waited<T: Copy>(
        &mut self,
        again: &ExplainedRetransmission,
        progress: Option<Time>,
        octets: &OneWay<T>,
    ) {
        let outstanding = octets.outstanding();
        let last = self.waits.last().filter(|last| last.left == again.left);
        self.waits.push(TimerWait {
            at: again.at,
            left: again.left,
            waited: progress.map_or(Duration::ZERO, |since| again.at.saturating_since(since)),
            backoffs: last.map_or(0, |last| last.backoffs + 1),
            estimate: self.estimate,
            sacked: outstanding.iter().any(|one| one.sacked),
            outstanding: u32::try_from(outstanding.len()).unwrap_or(u32::MAX),
        });
    }

    /// The estimate now.
    pub const fn estimate(&self) -> Option<MeanDeviation> {
        self.estimate
    }

    /// For each of [`FLOORS`]: how often a timer with this least value would have fired although
    /// the answer was on its way.
    pub fn spurious(&self) -> [u32; FLOORS.len()] {
        let expired = self.expired.as_ref();
        expired.map_or([0; FLOORS.len()], |expired| expired.each_ref().map(|one| one.count))
    }

    /// Whether there is nothing to say of them.
    pub fn is_silent(&self) -> bool {
        self.expired.is_none() && self.waits.is_empty()
    }

    /// The waits that timers ended.
    pub fn waits(&self) -> &[TimerWait] {
        &self.waits
    }
}
