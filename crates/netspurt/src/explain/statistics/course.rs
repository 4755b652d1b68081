//! The rate and the round trips of a direction over the time.

use std::array;

use crate::packed::PackedValue;
use crate::units::{Duration, Time};

/// Acknowledged octets and round trips in spans of equal length, which cover the time since the
/// beginning.
///
/// There are at most 16 spans. When they are full, two neighbours become one, so each is twice as
/// long.
///
/// ```
/// use netspurt::explain::Course;
/// use netspurt::units::{Duration, Time};
/// let ms = Duration::from_millis;
/// let mut course = Course::from(Time::ZERO);
/// for tick in 1..=1000 {
///     course.take(Time::ZERO + ms(tick), 1000, Some(ms(30)));
/// }
/// let steady = course.steady().unwrap();
/// assert!((steady.rate_bps() - 8e6).abs() < 1e5);
/// assert_eq!(steady.rtt_ns_mean, 30e6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    begin: Time,
    /// A span lasts two to the power of this many nanoseconds.
    shift: u32,
    /// The place of the latest span.
    latest: usize,
    spans: [CourseSpan; Self::SPANS],
}

/// What is known of one span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CourseSpan {
    /// Octets that were acknowledged.
    bytes: u64,
    /// The sum of round trips in nanoseconds, and their number.
    rtt_ns: u64,
    samples: u64,
}

/// A long part of a direction in which its rate was steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyCourse {
    /// When the part began.
    pub from: Time,
    /// How long it lasted.
    pub lasted: Duration,
    /// The octets that were acknowledged in it.
    pub bytes: u64,
    /// The mean round trip in it, in nanoseconds.
    pub rtt_ns_mean: f64,
}

impl SteadyCourse {
    /// The rate, in bits per second.
    pub fn rate_bps(&self) -> f64 {
        8.0 * self.bytes as f64 / self.lasted.as_secs_f64()
    }
}

impl Course {
    /// With fewer octets of data there is no course.
    pub const FEWEST_BYTES: u64 = 1 << 16;
    /// The number of spans.
    const SPANS: usize = 16;
    /// The first spans last 8 ms.
    const SHIFT: u32 = 23;
    /// Fewer spans do not show that a rate is steady.
    const SPANS_MIN: usize = 6;
    /// In a steady rate, each span has its mean less or plus at most this part of it.
    const OFF_MOST: u64 = 10;

    /// Returns a course that begins at `begin`.
    pub fn from(begin: Time) -> Self {
        Self { begin, shift: Self::SHIFT, latest: 0, spans: [CourseSpan::default(); Self::SPANS] }
    }

    /// Takes an acknowledgment of `bytes` new octets at `at`, which ends the round trip `rtt`.
    #[inline]
    pub fn take(&mut self, at: Time, bytes: u64, rtt: Option<Duration>) {
        let since = at.saturating_since(self.begin).as_nanos();
        while since >> self.shift >= Self::SPANS as u64 {
            self.halve();
        }
        let place = (since >> self.shift) as usize;
        self.latest = self.latest.max(place);
        let span = &mut self.spans[place];
        span.bytes += bytes;
        if let Some(rtt) = rtt {
            span.rtt_ns = span.rtt_ns.saturating_add(rtt.as_nanos());
            span.samples += 1;
        }
    }

    /// Makes one span of every two.
    #[cold]
    fn halve(&mut self) {
        let old = self.spans;
        let old = |place: usize| old.get(place).copied().unwrap_or_default();
        self.spans = array::from_fn(|place| old(2 * place).plus(old(2 * place + 1)));
        self.shift += 1;
        self.latest /= 2;
    }

    /// The part after the first quarter, if the rate was steady in it: each span has as many octets
    /// as the mean, within a tenth. The last span, which is not full, does not count.
    pub fn steady(&self) -> Option<SteadyCourse> {
        let skipped = self.latest.div_ceil(4);
        let spans = &self.spans[skipped..self.latest];
        let many = spans.len() as u64;
        let all = spans.iter().fold(CourseSpan::default(), |sum, one| sum.plus(*one));
        let off = |one: &CourseSpan| (one.bytes * many).abs_diff(all.bytes);
        let even = spans.iter().all(|one| off(one).saturating_mul(Self::OFF_MOST) <= all.bytes);
        let known = spans.len() >= Self::SPANS_MIN && all.samples > 0 && all.bytes > 0;
        (known && even).then(|| SteadyCourse {
            from: self.begin + Duration::from_nanos((skipped as u64) << self.shift),
            lasted: Duration::from_nanos(many << self.shift),
            bytes: all.bytes,
            rtt_ns_mean: all.rtt_ns as f64 / all.samples as f64,
        })
    }
}

impl CourseSpan {
    fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            rtt_ns: self.rtt_ns.saturating_add(other.rtt_ns),
            samples: self.samples + other.samples,
        }
    }
}

impl PackedValue for Course {
    fn put(&self, into: &mut Vec<u8>) {
        self.begin.put(into);
        u64::from(self.shift).put(into);
        (self.latest as u64).put(into);
        for span in &self.spans[..=self.latest] {
            (span.bytes, (span.rtt_ns, span.samples)).put(into);
        }
    }

    fn get(from: &mut &[u8]) -> Self {
        let mut course = Self::from(Time::get(from));
        course.shift = u64::get(from) as u32;
        course.latest = u64::get(from) as usize;
        for span in &mut course.spans[..=course.latest] {
            let (bytes, (rtt_ns, samples)) = PackedValue::get(from);
            *span = CourseSpan { bytes, rtt_ns, samples };
        }
        course
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::Packed as _;

    /// A course with `bytes` and round trips for each millisecond of a second.
    fn course(of: impl Fn(u64) -> (u64, u64)) -> Course {
        let mut course = Course::from(Time::from_nanos(7));
        for ms in 0..1000 {
            let (bytes, rtt) = of(ms);
            let at = Time::from_nanos(7) + Duration::from_millis(ms);
            course.take(at, bytes, Some(Duration::from_millis(rtt)));
        }
        course
    }

    #[test]
    fn a_constant_rate_is_steady_and_its_beginning_does_not_count() {
        let steady = course(|ms| (if ms < 200 { 50 } else { 1000 }, 30)).steady().unwrap();
        assert!((steady.rate_bps() - 8e6).abs() < 1e5, "{steady:?}");
        assert!(steady.from >= Time::from_nanos(200_000_000), "{steady:?}");
    }

    #[test]
    fn a_rate_that_changes_by_a_fifth_or_pauses_is_not_steady() {
        assert_eq!(course(|ms| (if ms % 500 < 250 { 1100 } else { 900 }, 30)).steady(), None);
        assert_eq!(
            course(|ms| (if (600..650).contains(&ms) { 0 } else { 1000 }, 30)).steady(),
            None
        );
    }

    #[test]
    fn the_mean_round_trip_is_that_of_the_steady_part() {
        let steady = course(|ms| (1000, if ms < 200 { 10 } else { 40 })).steady().unwrap();
        assert!((steady.rtt_ns_mean - 40e6).abs() < 1.0, "{steady:?}");
    }

    #[test]
    fn a_course_that_rests_is_what_it_was() {
        let (course, mut octets) = (course(|ms| (ms, 30)), Vec::new());
        course.pack(&mut octets);
        let mut copy = Course::from(Time::ZERO);
        copy.unpack(&mut octets.as_slice());
        assert_eq!(copy, course);
    }
}
