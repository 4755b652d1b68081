//! A bit rate that changes in steps, and the time that a transmission takes at this rate.

use crate::units::{BitRate, Duration, Time};

use super::{TimelineError, in_order, place};

const NANOS: u128 = 1_000_000_000;

/// A bit rate that changes in steps, with times in which nothing is transmitted. A change also
/// applies to the frame in transmission, so its remaining bits leave at the new rate.
///
/// ```
/// use netspurt::timeline::{Rates, LineInstant};
/// use netspurt::units::{BitRate, Duration, Time};
/// let at = |ms| Time::ZERO + Duration::from_millis(ms);
/// let rate = |bits| BitRate::new(bits).unwrap();
/// let mut rates = Rates::new(vec![(at(0), rate(1_000_000)), (at(10), rate(500_000))]).unwrap();
/// // Half of the 12 000 bits leave in the 6 ms before the change, and the other half in 12 ms after it.
/// let start = LineInstant { at: at(4), rest: 0 };
/// assert_eq!(rates.transmit(start, 12_000).at, at(22));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The bits per second from each instant on. Zero means that nothing is transmitted.
    steps: Vec<(Time, u64)>,
    /// The step at which the next search for an instant starts.
    place: usize,
}

/// The number of bits per second that stands for no limit.
const UNLIMITED: u64 = u64::MAX;

/// An exact instant at which a transmission starts or ends: `rest / rate` nanoseconds after the
/// instant `at`, where `rate` is the rate that holds at this instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineInstant {
    /// The instant, rounded down to nanoseconds.
    pub at: Time,
    /// The numerator of the fraction of a nanosecond.
    pub rest: u64,
}

impl Rates {
    /// Makes rates from points. Each rate holds from its instant on. Before the first instant, the
    /// first rate holds.
    ///
    /// # Errors
    /// When there are no points, or they are not in the order of time.
    pub fn new(points: Vec<(Time, BitRate)>) -> Result<Self, TimelineError> {
        in_order(&points)?;
        Ok(Self {
            steps: points.into_iter().map(|(at, rate)| (at, number(rate))).collect(),
            place: 0,
        })
    }

    /// Makes a rate that never changes.
    pub fn constant(rate: BitRate) -> Self {
        Self { steps: vec![(Time::ZERO, number(rate))], place: 0 }
    }

    /// Returns these rates with silences, each given by its start and its length. During a silence
    /// nothing is transmitted. Silences may overlap.
    #[must_use]
    pub fn silent(mut self, spans: &[(Time, Duration)]) -> Self {
        for &(from, span) in spans.iter().filter(|(_, span)| !span.is_zero()) {
            let to = from + span;
            let after = self.steps[place(&self.steps, to, 0)].1;
            let end = self.steps.partition_point(|(at, _)| *at <= to);
            let first = self.steps.partition_point(|(at, _)| *at < from);
            let before = self.steps[0].1;
            self.steps.splice(first..end, [(from, 0), (to, after)]);
            if first == 0 {
                // Before this silence, the first rate holds, as it did without the silence.
                self.steps.insert(0, (Time::ZERO, before));
            }
        }
        self
    }

    /// Returns the first instant, `now` or later, at which the rate is not zero. Also returns the
    /// rate at that instant.
    pub fn begin(&mut self, now: Time) -> (Time, BitRate) {
        let mut at = now;
        self.place = place(&self.steps, at, self.place);
        while self.steps[self.place].1 == 0
            && let Some(next) = self.steps.get(self.place + 1)
        {
            at = next.0;
            self.place = place(&self.steps, at, self.place);
        }
        let bits = self.steps[self.place].1;
        (at, BitRate::new(bits).filter(|_| bits != UNLIMITED).unwrap_or(BitRate::UNLIMITED))
    }

    /// Returns the greatest rate.
    pub fn greatest(&self) -> BitRate {
        match self.steps.iter().map(|(_, rate)| *rate).max() {
            Some(bits) if bits != UNLIMITED => BitRate::new(bits).unwrap_or(BitRate::UNLIMITED),
            _ => BitRate::UNLIMITED,
        }
    }

    /// Transmits `bits` bits from the instant `start` on, and returns the instant at which the
    /// transmission ends.
    pub fn transmit(&mut self, start: LineInstant, bits: u64) -> LineInstant {
        let mut at = start.at;
        self.place = place(&self.steps, at, self.place);
        // The work is counted in billionths of a bit. The start is later than the instant `at` by a
        // fraction of a nanosecond. This fraction is added to the work, as if the transmission had
        // begun at the instant `at`.
        let mut remaining_work = u128::from(bits) * NANOS + u128::from(start.rest);
        let mut place = self.place;
        while remaining_work > 0 {
            let rate = self.steps[place].1;
            let until = self.steps.get(place + 1).map(|next| next.0);
            if rate == UNLIMITED {
                break;
            }
            let fits = |until: Time| u128::from(rate) * u128::from((until - at).as_nanos());
            match until.map(|until| (until, fits(until))) {
                Some((until, fit)) if fit <= remaining_work => {
                    (remaining_work, at) = (remaining_work - fit, until);
                    place += 1;
                }
                _ if rate == 0 => return LineInstant { at: Time::NEVER, rest: 0 },
                _ => {
                    let rate = u128::from(rate);
                    let rest = u64::try_from(remaining_work % rate).unwrap_or(0);
                    return LineInstant { at: at + whole_nanos(remaining_work / rate), rest };
                }
            }
        }
        LineInstant { at, rest: 0 }
    }
}

fn number(rate: BitRate) -> u64 {
    rate.bits_per_second().unwrap_or(UNLIMITED)
}

fn whole_nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Rates that change at points. Each point is an instant in milliseconds, and a rate in bits
    /// per second.
    fn rates(points: &[(u64, u64)]) -> Rates {
        let point = |&(ms, bits): &(u64, u64)| (at(ms), BitRate::new(bits).unwrap());
        Rates::new(points.iter().map(point).collect()).unwrap()
    }

    fn from(ms: u64) -> LineInstant {
        LineInstant { at: at(ms), rest: 0 }
    }

    #[test]
    fn nothing_is_transmitted_during_a_silence() {
        let silent = rates(&[(0, 1_000_000)]).silent(&[(at(10), Duration::from_millis(5))]);
        let ends = |start, bits| silent.clone().transmit(from(start), bits).at;
        assert_eq!([ends(0, 4000), ends(8, 4000), ends(12, 1000)], [at(4), at(17), at(16)]);
        // The first transmission ends exactly when the silence begins. The second transmission
        // begins when the silence ends.
        assert_eq!([ends(6, 4000), ends(15, 1000)], [at(10), at(16)]);
        let begins = |ms| silent.clone().begin(at(ms)).0;
        assert_eq!([9, 10, 14, 15].map(begins), [9, 15, 15, 15].map(at));
        let overlapping = [(at(0), Duration::from_millis(4)), (at(2), Duration::from_millis(4))];
        let mut late = rates(&[(0, 1_000_000)]).silent(&overlapping);
        assert_eq!(late.transmit(from(0), 1000).at, at(7));
    }

    #[test]
    fn the_first_rate_holds_before_a_silence_that_covers_its_step() {
        let silence = (at(2), Duration::from_millis(6));
        let mut stepped = rates(&[(5, 1_000_000), (7, 2_000_000)]).silent(&[silence]);
        assert_eq!(stepped.transmit(from(0), 1000).at, at(1));
        assert_eq!(stepped.transmit(from(8), 2000).at, at(9));
    }

    #[test]
    fn a_transmission_takes_no_time_when_the_rate_is_unlimited() {
        let points = vec![(at(0), BitRate::new(1000).unwrap()), (at(5), BitRate::UNLIMITED)];
        let mut rates = Rates::new(points).unwrap();
        assert_eq!(rates.transmit(from(0), 4).at, at(4));
        assert_eq!(rates.transmit(from(0), 4000).at, at(5));
    }

    proptest! {
        /// Many steps of the same rate act as one step. Frames without a gap between them take as
        /// long as one frame that has all their bits.
        #[test]
        fn steps_to_the_same_rate_do_not_change_the_end_of_a_transmission(
            rate in 1_u64..10_000_000_000,
            steps in prop::collection::vec(0_u64..50, 1..20),
            frames in prop::collection::vec(1_u64..20_000, 1..20),
        ) {
            let mut instants: Vec<u64> = steps;
            instants.sort_unstable();
            let points: Vec<_> = instants.iter().map(|ms| (*ms, rate)).collect();
            let mut stepped = rates(&points);
            let mut now = LineInstant::default();
            for bits in &frames {
                now = stepped.transmit(now, *bits);
            }
            let bits = u128::from(frames.iter().sum::<u64>()) * NANOS;
            prop_assert_eq!(u128::from(now.at.as_nanos()), bits / u128::from(rate));
            prop_assert_eq!(u128::from(now.rest), bits % u128::from(rate));
        }

        /// The bits of a transmission equal the integral of the rate over the time of the
        /// transmission.
        #[test]
        fn the_rate_integrated_over_a_transmission_equals_its_bits(
            steps in prop::collection::vec((1_u64..30, 1_u64..1_000_000), 1..10),
            bits in 1_u64..100_000,
            start in 0_u64..100,
        ) {
            let mut points = vec![];
            let mut instant = 0;
            for (span, rate) in steps {
                points.push((instant, rate));
                instant += span;
            }
            let end = rates(&points).transmit(from(start), bits);
            let integral = |until: Time| -> u128 {
                let mut sum = 0;
                for (place, &(ms, rate)) in points.iter().enumerate() {
                    let from = at(ms).max(at(start));
                    let to = points.get(place + 1).map_or(until, |next| at(next.0).min(until));
                    sum += u128::from(to.saturating_since(from).as_nanos()) * u128::from(rate);
                }
                sum
            };
            let wanted = u128::from(bits) * NANOS;
            prop_assert!(integral(end.at) <= wanted);
            prop_assert!(integral(end.at + Duration::from_nanos(1)) > wanted);
        }
    }
}
