//! Replays a recording of probes on an algorithm, which computes a retransmission timer: probes
//! leave, replies arrive, and each probe gets a verdict on the timer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thiserror::Error;

use crate::clock::Clock;
use crate::delays::{Delays, Measure, Probe, ProbeOrder, SendTimeSource};
use crate::observe::Rounds;
use crate::rto::{RtoEstimator, TimeoutKind};
use crate::sample::{RttSample, SampleSource};
use crate::units::{Duration, Time};

/// The facts that an algorithm learns in addition to its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// The algorithm gets only samples. Every reply is an unambiguous sample, as in RFC 889 and as
    /// for a sender with timestamps. The algorithm does not learn of its timeouts, so each probe is
    /// judged independently.
    #[default]
    Samples,
    /// The algorithm also learns of its timeouts, at most one for each probe, and so it backs off.
    /// The reply to a retransmitted probe is an ambiguous sample (Karn and Partridge 1987), unless
    /// the algorithm's protocol shows [which transmission](RtoEstimator::tells_copies_apart) the
    /// reply answers.
    Timeouts,
}

/// The settings of a replay.
///
/// ```
/// use netspurt::delays::{Delays, Measure, ProbeOrder, Probe, SendTimeSource};
/// use netspurt::replay::{Account, Replay};
/// use netspurt::rto::EstimatorConfig;
/// use netspurt::units::{Duration, Time};
///
/// let ms = Duration::from_millis;
/// let sent = |n: u64| Time::ZERO + ms(1000) * n;
/// let mut probes: Vec<Probe> = (0..9).map(|n| Probe::answered(n, sent(n), ms(40))).collect();
/// probes.push(Probe::lost(9, sent(9)));
/// let delays = Delays::of("example", probes, ProbeOrder::Sequence, SendTimeSource::Recorded);
///
/// let mut algorithm = EstimatorConfig::named("mills").unwrap().build();
/// let mut account = Account::default();
/// Replay::of(&delays).run(&delays, algorithm.as_mut(), |judged| account.take(judged))?;
/// assert_eq!((account.probes, account.lost, account.spurious), (10, 1, 0));
/// assert_eq!(account.waited, ms(80), "the lost probe waited for twice the estimate");
/// # Ok::<(), netspurt::replay::ReplayError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The order in which probes and replies are processed.
    pub order: ProbeOrder,
    /// The clock of the host: how it measures round trips, and when its timers fire.
    pub clock: Clock,
    /// The facts that the algorithm learns in addition to its samples.
    pub notice: Notice,
}

/// Why a recording cannot be replayed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReplayError {
    /// The recording has no probes.
    #[error("{0}: the recording has no probes, so there is nothing to replay")]
    Empty(String),
    /// The delays of the recording are the output of a filter.
    #[error(
        "{0}: the recording holds smoothed round trips: they are a filter's output and not \
         samples, so a replay would judge the filter; record single delays instead, as ping does"
    )]
    Smoothed(String),
    /// The recording has no times of sending, so the order of replies and probes is unknown.
    #[error(
        "{0}: the recording does not say when its probes left, so the order of arrival is unknown; \
         give the time between probes, as in `--interval 1s`, or replay with `--order sequence`"
    )]
    Timeless(String),
}

/// The verdict on the timer of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerVerdict {
    /// The reply arrived before the timer fired, or at the same instant.
    InTime,
    /// The timer fired before the reply arrived.
    Spurious,
    /// No reply arrived, and the timer ended the wait.
    Lost,
}

impl TimerVerdict {
    /// Returns the verdict on a timer that fires after the time `wait`, for a probe that is
    /// answered after the time `rtt`. If `rtt` is `None`, the probe is never answered. A timer is
    /// too short if it is *below* the delay (RFC 889 §3.3). So a reply at the same instant is in
    /// time.
    pub fn of(rtt: Option<Duration>, wait: Duration) -> Self {
        match rtt {
            None => Self::Lost,
            Some(rtt) if wait < rtt => Self::Spurious,
            Some(_) => Self::InTime,
        }
    }
}

/// A probe with the verdict on its timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The probe.
    pub probe: Probe,
    /// The time from the probe's sending until the timer fires.
    pub wait: Duration,
    /// The verdict.
    pub verdict: TimerVerdict,
}

/// The time from a lost probe to the next probe, if the times of sending are unknown. The value
/// comes from RFC 889 §2, which counts a probe as lost after half a minute.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(30);

impl Replay {
    /// Makes the default settings for a recording: its own order, an exact clock, and an algorithm
    /// that learns only of samples.
    pub const fn of(delays: &Delays) -> Self {
        Self { order: delays.order, clock: Clock::EXACT, notice: Notice::Samples }
    }

    /// Replays `delays` on `algorithm`. Calls the function `each` for each probe with its verdict,
    /// in the order of sending.
    ///
    /// # Errors
    /// When the recording has no probes or holds smoothed round trips, or when `order` is
    /// [`ProbeOrder::Causal`] and the recording has no times of sending.
    pub fn run(
        &self,
        delays: &Delays,
        algorithm: &mut dyn RtoEstimator,
        mut each: impl FnMut(Judged),
    ) -> Result<(), ReplayError> {
        check(self, delays)?;
        let mut bench = Bench::new(*self, algorithm);
        match self.order {
            ProbeOrder::Sequence => bench.in_sequence(delays, &mut each),
            ProbeOrder::Causal => bench.in_order_of_arrival(delays, &mut each),
        }
        Ok(())
    }
}

/// Checks that the recording can be replayed with these settings.
pub(super) fn check(how: &Replay, delays: &Delays) -> Result<(), ReplayError> {
    let name = || delays.name.clone();
    if delays.probes.is_empty() {
        return Err(ReplayError::Empty(name()));
    }
    if delays.measure == Measure::Smoothed {
        return Err(ReplayError::Smoothed(name()));
    }
    if how.order == ProbeOrder::Causal && delays.send_times == SendTimeSource::Unknown {
        return Err(ReplayError::Timeless(name()));
    }
    Ok(())
}

/// An algorithm during a replay.
struct Bench<'a> {
    how: Replay,
    algorithm: &'a mut dyn RtoEstimator,
    rounds: Rounds,
}

/// An event of a probe in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Reply,
    Timeout,
}

impl<'a> Bench<'a> {
    fn new(how: Replay, algorithm: &'a mut dyn RtoEstimator) -> Self {
        Self { how, algorithm, rounds: Rounds::default() }
    }

    /// Replays in RFC 889's order: a probe leaves only when the outcome of the previous probe is
    /// known.
    fn in_sequence(&mut self, delays: &Delays, each: &mut impl FnMut(Judged)) {
        let timed = delays.send_times != SendTimeSource::Unknown;
        let mut free = Time::ZERO;
        for probe in &delays.probes {
            let sent = if timed { probe.sent.max(free) } else { free };
            let judged = self.judge(probe, sent, 1);
            each(judged);
            if self.how.notice == Notice::Timeouts && judged.verdict != TimerVerdict::InTime {
                self.algorithm.on_timeout(sent + judged.wait, TimeoutKind::Rto);
            }
            free = sent + probe.rtt.unwrap_or(if timed { judged.wait } else { GIVEN_UP_AFTER });
            if let Some(rtt) = probe.rtt {
                let retransmitted =
                    self.how.notice == Notice::Timeouts && judged.verdict == TimerVerdict::Spurious;
                self.reply(probe, sent, sent + rtt, retransmitted);
            }
        }
    }

    /// Replays in the order of arrival: the algorithm gets a sample when the reply has arrived.
    fn in_order_of_arrival(&mut self, delays: &Delays, each: &mut impl FnMut(Judged)) {
        let learns_timeouts = self.how.notice == Notice::Timeouts;
        let mut due: BinaryHeap<Reverse<(Time, usize, Next)>> = BinaryHeap::new();
        let mut retransmitted = vec![false; delays.probes.len()];
        let mut flight = 0;
        for (place, probe) in delays.probes.iter().enumerate() {
            // Events that are due when a probe is sent happen before the probe is sent.
            while let Some(Reverse((at, earlier, next))) = due.peek().copied()
                && at <= probe.sent
            {
                due.pop();
                match next {
                    Next::Timeout => {
                        retransmitted[earlier] = true;
                        self.algorithm.on_timeout(at, TimeoutKind::Rto);
                    }
                    Next::Reply => {
                        flight -= 1;
                        let answered = &delays.probes[earlier];
                        self.reply(answered, answered.sent, at, retransmitted[earlier]);
                    }
                }
            }
            let judged = self.judge(probe, probe.sent, flight + 1);
            each(judged);
            if learns_timeouts && judged.verdict != TimerVerdict::InTime {
                due.push(Reverse((probe.sent + judged.wait, place, Next::Timeout)));
            }
            if let Some(rtt) = probe.rtt {
                flight += 1;
                due.push(Reverse((probe.sent + rtt, place, Next::Reply)));
            }
        }
    }

    #[inline]
    fn judge(&mut self, probe: &Probe, sent: Time, flight_segs: u64) -> Judged {
        self.algorithm.on_send(sent, probe.wire_bytes);
        let deadline = self.algorithm.deadline(sent, sent, flight_segs);
        let after = deadline.saturating_since(sent);
        let wait = self.how.clock.expiry(sent, after).saturating_since(sent);
        Judged { probe: *probe, wait, verdict: TimerVerdict::of(probe.rtt, wait) }
    }

    #[inline]
    fn reply(&mut self, probe: &Probe, sent: Time, at: Time, retransmitted: bool) {
        let round = self.rounds.sample(sent.as_nanos(), at.as_nanos());
        self.algorithm.on_sample(&RttSample {
            at,
            sent,
            rtt: self.algorithm.reading(self.how.clock, sent, at),
            ambiguous: retransmitted && !self.algorithm.tells_copies_apart(),
            source: SampleSource::Probe,
            wire_bytes: probe.wire_bytes,
            acked_bytes: u64::from(probe.wire_bytes),
            retransmissions: u8::from(retransmitted),
            round,
            ..RttSample::default()
        });
    }
}
