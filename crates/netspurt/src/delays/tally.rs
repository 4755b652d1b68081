//! Probes by their numbers, for lines in any order.

use crate::units::{Duration, Time};

use super::began::Began;
use super::reading::RecordingError;
use super::slots::{ProbeSlot, Slots};
use super::{Delays, Probe, SendTimeSource};

/// The most numbers that may be missing from one file, so that a short file cannot fill the memory.
pub(super) const MOST_MISSING: u64 = 1 << 22;

/// Probes by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    slots: Slots,
    /// Further replies to probes.
    duplicates: u64,
    /// Whether the times of sending are local times without a zone.
    pub local: bool,
}

impl Tally {
    /// The probe `number` was sent; returns its state.
    pub fn sent(&mut self, number: u64) -> &mut ProbeSlot {
        self.slots.entry(number)
    }

    /// A reply to `number` came; returns whether it is the first.
    pub fn reply(&mut self, number: u64, rtt: Option<Duration>, wire_bytes: u32) -> bool {
        let slot = self.slots.entry(number);
        if slot.answered {
            self.duplicates += 1;
            return false;
        }
        slot.answered = true;
        slot.set_rtt(rtt);
        slot.late = slot.given_up;
        slot.wire_bytes = wire_bytes;
        true
    }

    /// A further reply to a probe, which may be known or not.
    pub fn duplicate(&mut self) {
        self.duplicates += 1;
    }

    /// Further replies so far.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The delay of `number`.
    pub fn rtt(&self, number: u64) -> Option<Duration> {
        self.slots.get(number)?.rtt()
    }

    /// The mean delay in nanoseconds, zero without delays.
    pub fn mean_ns(&self) -> u64 {
        let delays = || self.slots.values().filter_map(ProbeSlot::rtt);
        let sum: u128 = delays().map(|rtt| u128::from(rtt.as_nanos())).sum();
        u64::try_from(sum / (delays().count() as u128).max(1)).unwrap_or(u64::MAX)
    }

    /// When the first probe left that has a time of sending, on the recording's clock.
    pub fn first_sent_ns(&self) -> Option<i64> {
        self.slots.iter().find_map(|(_, slot)| slot.sent_ns())
    }

    /// Whether `number` was answered.
    pub fn answered(&self, number: u64) -> bool {
        self.slots.get(number).is_some_and(|slot| slot.answered)
    }

    /// The lowest number that was answered.
    pub fn first_answered(&self) -> Option<u64> {
        self.slots.iter().find(|(_, slot)| slot.answered).map(|(number, _)| number)
    }

    /// Whether `number` was neither answered nor reported as missing.
    pub fn is_open(&self, number: u64) -> bool {
        self.slots.get(number).is_none_or(|slot| !slot.answered && !slot.given_up)
    }

    /// Numbers the probes from the other end.
    pub fn reverse(&mut self) {
        let Some((lowest, highest)) = self.ends() else { return };
        let mut reversed = Slots::default();
        for (number, slot) in core::mem::take(&mut self.slots).into_sorted() {
            *reversed.entry(lowest + (highest - number)) = slot;
        }
        self.slots = reversed;
    }

    /// The lowest and the highest number.
    pub fn ends(&self) -> Option<(u64, u64)> {
        self.slots.ends()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.duplicates == 0
    }

    /// The number of first replies.
    pub fn received(&self) -> u64 {
        self.slots.values().filter(|slot| slot.answered).count() as u64
    }

    /// Adds the probes `first..=last` to `delays`. Numbers without a line are lost. The times of
    /// sending are recorded ones if there are any, else they are computed from `interval`.
    ///
    /// # Errors
    /// When more numbers are missing than the limit allows.
    pub fn finish(
        self,
        delays: &mut Delays,
        range: Option<(u64, u64)>,
        interval: Option<Duration>,
    ) -> Result<(), RecordingError> {
        delays.duplicates = self.duplicates;
        let Some((first, last)) = range else { return Ok(()) };
        let missing = (last - first).saturating_sub(self.slots.len() as u64);
        if missing > MOST_MISSING {
            return Err(RecordingError::new(
                format!("{missing} probes between the numbers {first} and {last} are missing"),
                format!("netspurt fills gaps up to {MOST_MISSING}; cut the file there"),
            ));
        }
        let known = KnownTimes::new(&self.slots, (first, last), interval);
        delays.send_times = match (&known, interval) {
            (Some(_), _) => SendTimeSource::Recorded,
            (None, Some(_)) => SendTimeSource::Reckoned,
            (None, None) => SendTimeSource::Unknown,
        };
        let step = interval.map_or(1, Duration::as_nanos);
        let mut order = InOrder::default();
        delays.probes.reserve_exact(usize::try_from(last - first + 1).unwrap_or(0));
        let (mut reckoned, mut place) = (0_u64, 0);
        for (number, slot) in filled(self.slots, first, last) {
            let sent = match &known {
                None => Time::from_nanos((number - first).saturating_mul(step)),
                Some(known) => {
                    let told = slot.sent_ns();
                    reckoned += u64::from(told.is_none());
                    order.next(told.unwrap_or_else(|| known.reckon(number, &mut place)))
                }
            };
            if slot.answered && slot.rtt().is_none() {
                delays.untimed += 1;
                continue;
            }
            let ProbeSlot { late, wire_bytes, .. } = slot;
            delays.probes.push(Probe { number, sent, rtt: slot.rtt(), late, wire_bytes });
        }
        if reckoned > 0 {
            delays.notes.push(format!(
                "{reckoned} probes have no time of sending: reckoned from those beside them"
            ));
        }
        delays.began = order.start.and_then(|start| Began::of(start, self.local));
        order.remark(delays);
        Ok(())
    }
}

/// The slots `first..=last`; missing numbers have empty slots.
fn filled(slots: Slots, first: u64, last: u64) -> impl Iterator<Item = (u64, ProbeSlot)> {
    let mut slots = slots.into_sorted().skip_while(move |one| one.0 < first).peekable();
    (first..=last).map(move |number| {
        slots.next_if(|one| one.0 == number).unwrap_or((number, ProbeSlot::default()))
    })
}

/// The known times of sending if some are missing, as a basis for computing these.
struct KnownTimes {
    /// Numbers and instants; empty if none is missing.
    told: Vec<(u64, i64)>,
    pace: f64,
}

impl KnownTimes {
    /// `None` if no time is known.
    fn new(slots: &Slots, (first, last): (u64, u64), interval: Option<Duration>) -> Option<Self> {
        let told = || {
            let within = slots.iter().filter(|(number, _)| (first..=last).contains(number));
            within.filter_map(|(number, slot)| slot.sent_ns().map(|ns| (number, ns)))
        };
        let count = told().count() as u64;
        if count == 0 {
            return None;
        }
        if count == last - first + 1 {
            return Some(Self { told: Vec::new(), pace: 0.0 });
        }
        let told: Vec<(u64, i64)> = told().collect();
        let pace = pace(&told, interval);
        Some(Self { told, pace })
    }

    /// When the probe `number` left, from its neighbours; the first of these is at `place` or after
    /// it.
    fn reckon(&self, number: u64, place: &mut usize) -> i64 {
        let from = |(at, ns): (u64, i64), pace: f64| {
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            let steps = ((number as f64 - at as f64) * pace) as i64;
            ns.saturating_add(steps)
        };
        while self.told.get(*place).is_some_and(|one| one.0 < number) {
            *place += 1;
        }
        match (place.checked_sub(1).map(|before| self.told[before]), self.told.get(*place)) {
            (Some(before), Some(after)) => {
                let steps = (after.0 - before.0) as f64;
                from(before, after.1.saturating_sub(before.1) as f64 / steps)
            }
            (Some(before), None) => from(before, self.pace),
            (None, Some(after)) => from(*after, self.pace),
            (None, None) => 0,
        }
    }
}

/// The interval of the probes in nanoseconds: the median of the known steps.
fn pace(known: &[(u64, i64)], interval: Option<Duration>) -> f64 {
    let step = |pair: &[(u64, i64)]| {
        (pair[1].1.saturating_sub(pair[0].1)) as f64 / (pair[1].0 - pair[0].0) as f64
    };
    let mut steps: Vec<f64> = known.windows(2).map(step).collect();
    steps.sort_by(f64::total_cmp);
    let given = interval.map(|interval| interval.as_nanos() as f64);
    given.or_else(|| steps.get(steps.len() / 2).copied()).unwrap_or(1.0).max(0.0)
}

/// Instants since the first, none before its predecessor.
#[derive(Default)]
struct InOrder {
    start: Option<i64>,
    latest: i64,
    back: u64,
}

impl InOrder {
    fn next(&mut self, ns: i64) -> Time {
        let start = *self.start.get_or_insert_with(|| {
            self.latest = ns;
            ns
        });
        self.back += u64::from(ns < self.latest);
        self.latest = self.latest.max(ns);
        Time::from_nanos(self.latest.abs_diff(start))
    }

    fn remark(&self, delays: &mut Delays) {
        if self.back > 0 {
            delays.notes.push(format!(
                "{} times of sending lie before those of the probes ahead of them, by the clock or \
                 the cut of the digits: moved up to them",
                self.back
            ));
        }
    }
}
