//! CoDel, controlled delay (RFC 8289), an algorithm that manages a queue. If the delay of the queue
//! stays above a target for an interval, the queue enters its *dropping state*. In this state,
//! CoDel drops or marks a frame at ever shorter gaps, until the delay is below the target.

use crate::link::backlog::QueueLimit;
use crate::link::transit::Parcel;
use crate::stage::Frame;
use crate::units::{Duration, Time};

use super::config::CoDelConfig;
use super::decision_sink::DecisionSink;
use super::fifo::Fifo;

/// The constants of CoDel, and the state that all queues of a link share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Algorithm {
    pub(super) target: Duration,
    pub(super) interval: Duration,
    pub(super) ecn: bool,
    /// An ECN-capable frame is marked if it waited for longer than this time. The value is `None`
    /// if there is no threshold.
    pub(super) ce_threshold: Option<Duration>,
    /// The size of the largest frame so far: RFC 8289's MAXPACKET.
    pub(super) largest: u32,
}

impl Algorithm {
    /// The instant of the next drop, `interval / sqrt(count)` after the instant `from` (RFC 8289
    /// §4.1, control algorithm), rounded down to a nanosecond.
    #[expect(clippy::cast_possible_truncation, reason = "the root is at most the interval")]
    fn next_drop(&self, from: Time, count: u32) -> Time {
        let interval = u128::from(self.interval.as_nanos());
        let square = interval * interval / u128::from(count.max(1));
        from + Duration::from_nanos(square.isqrt() as u64)
    }
}

/// CoDel's state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// If the delay stays above the target until this instant, it has been above the target for a
    /// whole interval.
    first_above: Option<Time>,
    /// The instant of the next drop or mark. Outside the dropping state, this is the instant at
    /// which the next drop would have come.
    drop_next: Time,
    /// RFC 8289's `count`. In the dropping state, it grows with each drop or mark.
    count: u32,
    /// The value of `count` when the last dropping state began.
    last_count: u32,
    dropping: bool,
}

/// The frame at the head of a queue.
struct Head {
    parcel: Parcel,
    /// The frame's time in the queue.
    sojourn: Duration,
    /// Whether the delay has been above the target for a whole interval.
    above: bool,
}

/// Outside the dropping state, CoDel remembers the instant at which the next drop would have come.
/// If this many intervals have passed since that instant, CoDel forgets the drop rate: `count`
/// starts with 1 (RFC 8289 §5.5, `deque`).
const MEMORY: u64 = 16;

impl State {
    /// Returns the next frame to send. Frames before it may be dropped.
    pub(super) fn dequeue<F: Frame>(
        &mut self,
        algorithm: &Algorithm,
        now: Time,
        queue: &mut Fifo,
        decision_sink: &mut DecisionSink<'_, F>,
    ) -> Option<Parcel> {
        let mut head = self.head(algorithm, now, queue)?;
        if self.dropping {
            self.dropping = head.above;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let marked = decision_sink.signal(now, head.parcel, algorithm.ecn);
                if let Some(parcel) = marked {
                    self.drop_next = algorithm.next_drop(self.drop_next, self.count);
                    return Some(parcel);
                }
                head = self.head(algorithm, now, queue)?;
                if head.above {
                    self.drop_next = algorithm.next_drop(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if head.above {
            let marked = decision_sink.signal(now, head.parcel, algorithm.ecn);
            self.begin(algorithm, now);
            match marked {
                Some(parcel) => return Some(parcel),
                // The next frame is sent. If its delay is short, the next call ends the dropping
                // state.
                None => head = self.head(algorithm, now, queue)?,
            }
        }
        Some(self.beyond_threshold(algorithm, now, head, decision_sink))
    }

    /// Enters the dropping state. `count` starts with 1. But if the last dropping state ended
    /// recently, and `count` grew by more than 1 in that state, `count` starts with this growth.
    fn begin(&mut self, algorithm: &Algorithm, now: Time) {
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.saturating_since(self.drop_next) < algorithm.interval * MEMORY;
        self.dropping = true;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = algorithm.next_drop(now, self.count);
        self.last_count = self.count;
    }

    /// Removes the frame at the head and judges its delay (RFC 8289 §5.6, `dodequeue`).
    fn head(&mut self, algorithm: &Algorithm, now: Time, queue: &mut Fifo) -> Option<Head> {
        let Some((since, parcel)) = queue.take() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        let sojourn = now - since;
        let short = sojourn < algorithm.target || queue.held().1 <= u64::from(algorithm.largest);
        let above = match self.first_above {
            _ if short => {
                self.first_above = None;
                false
            }
            None => {
                self.first_above = Some(now + algorithm.interval);
                false
            }
            Some(until) => now >= until,
        };
        Some(Head { parcel, sojourn, above })
    }

    /// Marks the head if it waited longer than `ce_threshold` and is ECN-capable. Returns the head.
    fn beyond_threshold<F: Frame>(
        self,
        algorithm: &Algorithm,
        now: Time,
        head: Head,
        decision_sink: &mut DecisionSink<'_, F>,
    ) -> Parcel {
        let beyond = algorithm.ce_threshold.is_some_and(|threshold| head.sojourn > threshold);
        if beyond && decision_sink.is_capable(head.parcel) {
            decision_sink.mark(now, head.parcel);
        }
        head.parcel
    }
}

/// CoDel over one queue.
#[derive(Debug)]
pub(in crate::link) struct CoDel {
    algorithm: Algorithm,
    state: State,
    limit: QueueLimit,
}

impl CoDel {
    pub(super) fn new(config: CoDelConfig) -> Self {
        let CoDelConfig { target, interval, limit, ecn } = config;
        let algorithm = Algorithm { target, interval, ecn, ce_threshold: None, largest: 0 };
        Self { algorithm, state: State::default(), limit }
    }

    pub(super) fn limit(&self) -> QueueLimit {
        self.limit
    }

    /// Records the size of an arriving frame.
    pub(super) fn record_size(&mut self, size: u32) {
        self.algorithm.largest = self.algorithm.largest.max(size);
    }

    pub(super) fn dequeue<F: Frame>(
        &mut self,
        now: Time,
        queue: &mut Fifo,
        decision_sink: &mut DecisionSink<'_, F>,
    ) -> Option<Parcel> {
        self.state.dequeue(&self.algorithm, now, queue, decision_sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CoDel with its default constants.
    fn algorithm() -> Algorithm {
        let CoDelConfig { target, interval, .. } = CoDelConfig::default();
        Algorithm { target, interval, ecn: false, ce_threshold: None, largest: 1500 }
    }

    #[test]
    fn the_gaps_between_drops_shrink_with_the_square_root_of_the_count() {
        let gaps: Vec<u64> =
            (1..=4).map(|count| algorithm().next_drop(Time::ZERO, count).as_nanos()).collect();
        // The expected gaps are 100 ms divided by 1, √2 = 1.41421356…, √3 = 1.73205080…, and 2.
        assert_eq!(gaps, [100_000_000, 70_710_678, 57_735_026, 50_000_000]);
    }

    #[test]
    fn a_drop_rate_is_remembered_for_sixteen_intervals() {
        let mut state = State { count: 9, last_count: 2, ..State::default() };
        let mut later = state;
        state.begin(&algorithm(), Time::from_nanos(1_599_999_999));
        assert_eq!((state.count, state.last_count), (7, 7));
        later.begin(&algorithm(), Time::from_nanos(1_600_000_000));
        assert_eq!((later.count, later.last_count), (1, 1));
    }
}
