//! The rate and the round trips of a direction over time.

use std::array;

use crate::packed::PackedValue;
use crate::units::{Duration, Time};

use super::{DelayChanges, FlightCeiling};

/// The octets of a direction that were delivered, and their round trips, in spans of time. The
/// spans have equal lengths and cover the time since the beginning.
///
/// There are at most 16 spans. When all are in use, every two neighbours are joined into one span,
/// so each span becomes twice as long. The time is also divided into intervals, each as long as the
/// shortest round trip, but at least 1 ms. Each span has statistics of the octets that were sent
/// and delivered in its intervals.
///
/// ```
/// use netspurt::explain::Course;
/// use netspurt::units::{Duration, Time};
/// let ms = Duration::from_millis;
/// let mut course = Course::from(Time::ZERO, ms(30));
/// for tick in 1..=1000 {
///     course.take(Time::ZERO + ms(tick), 1000, Some(ms(30)));
/// }
/// let steady = course.steady().unwrap();
/// assert!((steady.rate_bps() - 8e6).abs() < 1e5);
/// assert_eq!(steady.rtt_ns_mean, 30e6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    begin: Time,
    /// How long an interval lasts.
    interval: Duration,
    /// When the current interval ends.
    interval_end: Time,
    /// New octets that were sent, and octets that were delivered, in the current interval.
    now: [u64; 2],
    /// The length of a span is 2 to the power of `shift` nanoseconds.
    shift: u32,
    /// The index of the span with the latest delivered octets.
    latest: usize,
    spans: [CourseSpan; Self::SPANS],
    /// How the round trip changed.
    pub changes: DelayChanges,
    /// Whether the outstanding octets came back to the same maximum (the ceiling).
    pub ceiling: FlightCeiling,
}

/// The sums of one span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CourseSpan {
    /// Octets that were delivered.
    bytes: u64,
    /// The sum of the round trips, in nanoseconds.
    rtt_ns: u64,
    /// The number of round trips.
    samples: u64,
    /// The shortest round trip in nanoseconds. It is 0 if the span has no round trips.
    rtt_ns_min: u64,
    /// The number of intervals that ended in the span, and of the empty intervals directly after
    /// them.
    intervals: u64,
    /// New octets that were sent, and octets that were delivered, in the intervals of the span.
    each: [IntervalOctets; 2],
}

/// The numbers of octets in intervals: their sum, and the sum of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct IntervalOctets {
    sum: u64,
    squares: f64,
}

/// A long period in which the rate of a direction was steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyCourse {
    /// When the period began.
    pub from: Time,
    /// How long the period lasted.
    pub lasted: Duration,
    /// The octets that were delivered in this period.
    pub bytes: u64,
    /// The mean round trip in this period, in nanoseconds.
    pub rtt_ns_mean: f64,
    /// The median of the shortest round trips of the spans, in nanoseconds. If the queue on the
    /// path is empty again and again, this median is as short as the shortest of all round trips.
    pub rtt_ns_low: u64,
    /// How much the number of new octets that are sent in an interval varies. Each span gives a
    /// variation: the standard deviation of these numbers divided by their mean. The field has the
    /// median of the variations of all spans. `None` if there are too few intervals.
    pub sent_variation: Option<f64>,
    /// How much the number of octets that are delivered in an interval varies, computed like
    /// `sent_variation`.
    pub delivered_variation: Option<f64>,
}

impl SteadyCourse {
    /// The rate, in bits per second.
    pub fn rate_bps(&self) -> f64 {
        8.0 * self.bytes as f64 / self.lasted.as_secs_f64()
    }
}

impl Course {
    /// A direction with fewer than `FEWEST_BYTES` octets of data gets no course.
    pub const FEWEST_BYTES: u64 = 1 << 17;
    /// The largest payload of a packet on most links. A captured segment may hold several packets,
    /// so a longer payload counts as this number of octets.
    pub const SEGMENT_BYTES_MAX: u64 = 1460;
    /// The number of spans.
    const SPANS: usize = 16;
    /// At first, a span lasts about 8 ms.
    const SHIFT: u32 = 23;
    /// The minimum number of spans that can show a steady rate.
    const SPANS_MIN: usize = 6;
    /// With a steady rate, the octets of each span differ from the mean by at most a tenth.
    const OFF_MOST: u64 = 10;
    /// The minimum length of an interval.
    const INTERVAL_MIN: Duration = Duration::from_millis(1);
    /// The minimum number of intervals in a span that can show a variation.
    const INTERVALS_MIN: u64 = 4;

    /// Returns a course that begins at the instant `begin`. `rtt` is the shortest round trip.
    pub fn from(begin: Time, rtt: Duration) -> Self {
        let interval = rtt.max(Self::INTERVAL_MIN);
        Self {
            begin,
            interval,
            interval_end: begin + interval,
            now: [0; 2],
            shift: Self::SHIFT,
            latest: 0,
            spans: [CourseSpan::default(); Self::SPANS],
            changes: DelayChanges::default(),
            ceiling: FlightCeiling::default(),
        }
    }

    /// Takes `bytes` new octets that were sent at the instant `at`.
    #[inline]
    pub fn sent(&mut self, at: Time, bytes: u64) {
        if at >= self.interval_end {
            self.end_intervals(at);
        }
        self.now[0] += bytes;
    }

    /// Ends the intervals that end at or before the instant `at`.
    fn end_intervals(&mut self, at: Time) {
        let interval = self.interval.as_nanos();
        let empty = at.saturating_since(self.interval_end).as_nanos() / interval;
        let place = self.place(self.interval_end);
        let span = &mut self.spans[place];
        span.intervals += 1 + empty;
        for (each, bytes) in span.each.iter_mut().zip(self.now) {
            each.sum += bytes;
            each.squares += (bytes as f64) * (bytes as f64);
        }
        self.now = [0; 2];
        self.interval_end += Duration::from_nanos(interval * (1 + empty));
    }

    /// The index of the span at the instant `at`.
    #[inline]
    fn place(&mut self, at: Time) -> usize {
        let since = at.saturating_since(self.begin).as_nanos();
        while since >> self.shift >= Self::SPANS as u64 {
            self.halve();
        }
        (since >> self.shift) as usize
    }

    /// Takes `bytes` octets that an acknowledgment at the instant `at` reports as delivered. `rtt`
    /// is the round trip of the newest of them.
    #[inline]
    pub fn take(&mut self, at: Time, bytes: u64, rtt: Option<Duration>) {
        if at >= self.interval_end {
            self.end_intervals(at);
        }
        self.now[1] += bytes;
        let place = self.place(at);
        self.latest = self.latest.max(place);
        let span = &mut self.spans[place];
        span.bytes += bytes;
        if let Some(rtt) = rtt {
            span.rtt_ns = span.rtt_ns.saturating_add(rtt.as_nanos());
            span.rtt_ns_min = least_of(span.rtt_ns_min, rtt.as_nanos());
            span.samples += 1;
            self.changes.take(at, bytes, rtt);
        } else {
            self.changes.pass(bytes);
        }
    }

    /// Joins every two neighbouring spans into one.
    #[cold]
    fn halve(&mut self) {
        let old = self.spans;
        let old = |place: usize| old.get(place).copied().unwrap_or_default();
        self.spans = array::from_fn(|place| old(2 * place).plus(old(2 * place + 1)));
        self.shift += 1;
        self.latest /= 2;
    }

    /// The part of the course after its first quarter, if the rate was steady in this part. `None`
    /// if the octets of some span differ from the mean by more than a tenth. Also `None` if the
    /// part has fewer than six spans or no round trip. The last span does not count, because it has
    /// not ended.
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
            rtt_ns_low: Self::low_rtt_ns(spans),
            sent_variation: Self::variation(spans, 0),
            delivered_variation: Self::variation(spans, 1),
        })
    }

    /// The median of the shortest round trips of `spans`, in nanoseconds. It is 0 if there are no
    /// round trips.
    fn low_rtt_ns(spans: &[CourseSpan]) -> u64 {
        let sampled = spans.iter().filter(|span| span.samples > 0);
        let mut each: Vec<u64> = sampled.map(|span| span.rtt_ns_min).collect();
        each.sort_unstable();
        each.get(each.len() / 2).copied().unwrap_or_default()
    }

    /// How much the number of octets in an interval varies within a span. Each span has one value,
    /// and the result is the median of the values of `spans`. `which` is 0 for the octets that were
    /// sent, and 1 for the octets that were delivered. `None` if at least half of the spans have
    /// too few intervals or no octets.
    fn variation(spans: &[CourseSpan], which: usize) -> Option<f64> {
        let of = |span: &CourseSpan| {
            let IntervalOctets { sum, squares } = span.each[which];
            let (intervals, sum) = (span.intervals as f64, sum as f64);
            let known = span.intervals >= Self::INTERVALS_MIN && sum > 0.0;
            known.then(|| (intervals * squares / (sum * sum) - 1.0).max(0.0).sqrt())
        };
        let mut each: Vec<f64> = spans.iter().filter_map(of).collect();
        each.sort_by(f64::total_cmp);
        (2 * each.len() > spans.len()).then(|| each[each.len() / 2])
    }
}

/// The smaller of two round trips in nanoseconds. 0 means that a round trip is unknown.
fn least_of(one: u64, other: u64) -> u64 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

impl CourseSpan {
    fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            rtt_ns: self.rtt_ns.saturating_add(other.rtt_ns),
            samples: self.samples + other.samples,
            rtt_ns_min: least_of(self.rtt_ns_min, other.rtt_ns_min),
            intervals: self.intervals + other.intervals,
            each: array::from_fn(|which| self.each[which].plus(other.each[which])),
        }
    }
}

impl IntervalOctets {
    fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, squares: self.squares + other.squares }
    }
}

impl PackedValue for Course {
    fn put(&self, into: &mut Vec<u8>) {
        (self.begin, (self.interval, self.interval_end)).put(into);
        (self.now[0], self.now[1]).put(into);
        u64::from(self.shift).put(into);
        (self.latest as u64).put(into);
        self.changes.put(into);
        self.ceiling.put(into);
        // If octets were sent after the latest delivery, intervals may have ended in later spans.
        let used = self.spans.iter().rposition(|span| *span != CourseSpan::default());
        let last = used.unwrap_or(0).max(self.latest);
        (last as u64).put(into);
        for span in &self.spans[..=last] {
            (span.bytes, (span.rtt_ns, (span.samples, span.intervals))).put(into);
            span.rtt_ns_min.put(into);
            span.each.iter().for_each(|each| (each.sum, each.squares).put(into));
        }
    }

    fn get(from: &mut &[u8]) -> Self {
        let (begin, (interval, interval_end)) = PackedValue::get(from);
        let mut course = Self { interval_end, ..Self::from(begin, interval) };
        course.now = [u64::get(from), u64::get(from)];
        course.shift = u64::get(from) as u32;
        course.latest = u64::get(from) as usize;
        course.changes = DelayChanges::get(from);
        course.ceiling = FlightCeiling::get(from);
        let last = u64::get(from) as usize;
        for span in &mut course.spans[..=last] {
            let (bytes, (rtt_ns, (samples, intervals))) = PackedValue::get(from);
            let rtt_ns_min = u64::get(from);
            let each = array::from_fn(|_| {
                let (sum, squares) = PackedValue::get(from);
                IntervalOctets { sum, squares }
            });
            *span = CourseSpan { bytes, rtt_ns, samples, rtt_ns_min, intervals, each };
        }
        course
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::Packed as _;

    /// A course that lasts a second. The function `of` gives, for each millisecond, the number of
    /// octets and their round trip in milliseconds.
    fn course(of: impl Fn(u64) -> (u64, u64)) -> Course {
        let mut course = Course::from(Time::from_nanos(7), Duration::from_millis(20));
        for ms in 0..1000 {
            let (bytes, rtt) = of(ms);
            let at = Time::from_nanos(7) + Duration::from_millis(ms);
            course.sent(at, bytes);
            course.take(at, bytes, Some(Duration::from_millis(rtt)));
        }
        course
    }

    #[test]
    fn the_variation_of_delivered_octets_ignores_sent_octets() {
        let mut course = Course::from(Time::ZERO, Duration::from_millis(4));
        for ms in 0..1000 {
            let at = Time::ZERO + Duration::from_millis(ms);
            // Of every eight intervals, the first sends a quarter more than the mean, and the
            // second sends a quarter less than the mean.
            course.sent(at, [1250, 750, 1000, 1000][(ms / 4 % 8).min(3) as usize]);
            course.take(at, 1000, Some(Duration::from_millis(30)));
        }
        let steady = course.steady().unwrap();
        assert!((steady.sent_variation.unwrap() - 0.125).abs() < 0.01, "{steady:?}");
        assert!(steady.delivered_variation.unwrap() < 0.01, "{steady:?}");
    }

    #[test]
    fn intervals_without_octets_count_in_the_variation() {
        let mut course = Course::from(Time::ZERO, Duration::from_millis(4));
        for ms in (0..16_000).filter(|ms| ms % 16 < 4) {
            let at = Time::ZERO + Duration::from_millis(ms);
            course.sent(at, 1000);
            course.take(at, 1000, Some(Duration::from_millis(10)));
        }
        // One interval of four has all octets, so the deviation is √3 times the mean.
        let variation = course.steady().unwrap().sent_variation.unwrap();
        assert!((variation - 3_f64.sqrt()).abs() < 0.1, "{variation}");
    }

    #[test]
    fn a_rate_is_steady_if_it_is_constant_after_a_slow_beginning() {
        let steady = course(|ms| (if ms < 200 { 50 } else { 1000 }, 30)).steady().unwrap();
        assert!((steady.rate_bps() - 8e6).abs() < 1e5, "{steady:?}");
        assert!(steady.from >= Time::from_nanos(200_000_000), "{steady:?}");
    }

    #[test]
    fn a_rate_is_not_steady_if_it_pauses_or_changes_by_a_fifth() {
        assert_eq!(course(|ms| (if ms % 500 < 250 { 1100 } else { 900 }, 30)).steady(), None);
        assert_eq!(
            course(|ms| (if (600..650).contains(&ms) { 0 } else { 1000 }, 30)).steady(),
            None
        );
    }

    #[test]
    fn the_mean_round_trip_counts_only_the_steady_part() {
        let steady = course(|ms| (1000, if ms < 200 { 10 } else { 40 })).steady().unwrap();
        assert!((steady.rtt_ns_mean - 40e6).abs() < 1.0, "{steady:?}");
    }

    #[test]
    fn a_packed_course_is_unpacked_unchanged() {
        let (mut course, mut octets) = (course(|ms| (ms, 30)), Vec::new());
        // Long after the last acknowledgment, more data is sent. It is not acknowledged.
        course.sent(Time::from_nanos(7) + Duration::from_millis(1900), 500);
        course.sent(Time::from_nanos(7) + Duration::from_millis(1950), 500);
        course.pack(&mut octets);
        let mut copy = Course::from(Time::ZERO, Duration::ZERO);
        copy.unpack(&mut octets.as_slice());
        assert_eq!(copy, course);
    }
}
