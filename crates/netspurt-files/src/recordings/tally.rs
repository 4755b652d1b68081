//! Collects probes by their numbers. The lines of a file may come in any order.

use std::collections::BTreeSet;

use netspurt::delays::Began;
use netspurt::delays::{Delays, Probe, SendTimeSource};
use netspurt::units::{Duration, Time};

use super::clock_steps::{ClockSteps, pace};
use super::reading::{RecordingError, counted};
use super::row_order::RowOrder;
use super::slots::{ProbeSlot, Slots};

/// The maximum count of probes that may be missing from one recording. For ping, the limit applies
/// to all recordings of a file together. Without a limit, a short file could fill the memory.
pub(super) const MISSING_MAX: u64 = 1 << 22;

/// The probes of one recording by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    slots: Slots,
    /// The numbers of probes that do not count, because their rows or lines are left out.
    left_out: BTreeSet<u64>,
    /// The number of duplicates: further replies to probes that already had a reply.
    duplicates: u64,
    /// True if the times of sending are local times without a zone.
    pub local: bool,
}

impl Tally {
    /// Records that the probe `number` was sent. Returns the probe's state.
    pub fn sent(&mut self, number: u64) -> &mut ProbeSlot {
        self.slots.entry(number)
    }

    /// Records a reply to the probe `number`. Returns true if this is the probe's first reply.
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

    /// Leaves out the probe `number`, unless another line reports it. The probe is not counted as
    /// lost.
    pub fn leave_out(&mut self, number: u64) {
        self.left_out.insert(number);
    }

    /// Counts a duplicate. The number of its probe may be unknown.
    pub fn duplicate(&mut self) {
        self.duplicates += 1;
    }

    /// The number of duplicates so far.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The delay of the probe `number`, if it is known.
    pub fn rtt(&self, number: u64) -> Option<Duration> {
        self.slots.get(number)?.rtt()
    }

    /// The mean delay in nanoseconds. Zero if there are no delays.
    pub fn mean_ns(&self) -> u64 {
        let delays = || self.slots.values().filter_map(ProbeSlot::rtt);
        let sum: u128 = delays().map(|rtt| u128::from(rtt.as_nanos())).sum();
        u64::try_from(sum / (delays().count() as u128).max(1)).unwrap_or(u64::MAX)
    }

    /// The time of sending of the first probe whose time of sending is known, in nanoseconds on the
    /// recording's clock.
    pub fn first_sent_ns(&self) -> Option<i64> {
        self.slots.iter().find_map(|(_, slot)| slot.sent_ns())
    }

    /// Whether the probe `number` was answered.
    pub fn answered(&self, number: u64) -> bool {
        self.slots.get(number).is_some_and(|slot| slot.answered)
    }

    /// The lowest number of a probe that was answered.
    pub fn first_answered(&self) -> Option<u64> {
        self.slots.iter().find(|(_, slot)| slot.answered).map(|(number, _)| number)
    }

    /// True if no line reports the reply to the probe `number`, and no line reports that it is
    /// missing.
    pub fn is_open(&self, number: u64) -> bool {
        self.slots.get(number).is_none_or(|slot| !slot.answered && !slot.given_up)
    }

    /// Whether the first rows are the last probes, by the times of sending. The probes must be
    /// numbered in the order of the rows.
    pub fn is_reversed(&self) -> bool {
        RowOrder::of(self.slots.iter().map(|(_, slot)| slot)) == RowOrder::Reversed
    }

    /// Reverses the numbers: the last probe gets the lowest number.
    pub fn reverse(&mut self) {
        let Some((lowest, highest)) = self.ends() else { return };
        let mut reversed = Slots::default();
        for (number, slot) in core::mem::take(&mut self.slots).into_sorted() {
            *reversed.entry(lowest + (highest - number)) = slot;
        }
        self.slots = reversed;
    }

    /// Sorts the probes by their times of sending if their rows are mixed
    /// ([`Mixed`](RowOrder::Mixed)). A probe without a time stays behind the probe of the row
    /// before it. The probes must be numbered in the order of the rows. Returns true if the probes
    /// were sorted.
    pub fn sort_by_time(&mut self) -> bool {
        if RowOrder::of(self.slots.iter().map(|(_, slot)| slot)) != RowOrder::Mixed {
            return false;
        }
        let numbers: Vec<u64> = self.slots.iter().map(|(number, _)| number).collect();
        let mut latest = i64::MIN;
        let keyed = core::mem::take(&mut self.slots).into_sorted().map(|(_, slot)| {
            latest = slot.sent_ns().unwrap_or(latest);
            (latest, slot)
        });
        let mut rows: Vec<(i64, ProbeSlot)> = keyed.collect();
        rows.sort_by_key(|row| row.0);
        for (number, (_, slot)) in numbers.into_iter().zip(rows) {
            *self.slots.entry(number) = slot;
        }
        true
    }

    /// The lowest and the highest number.
    pub fn ends(&self) -> Option<(u64, u64)> {
        self.slots.ends()
    }

    /// Whether there are no probes and no duplicates.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.duplicates == 0
    }

    /// The number of probes that were answered.
    pub fn received(&self) -> u64 {
        self.slots.values().filter(|slot| slot.answered).count() as u64
    }

    /// Adds the probes of `range`, from the first to the last number, to `delays`. A number without
    /// a line is a lost probe, unless it was left out. If some times of sending are recorded, the
    /// missing times are computed from the recorded times. If no time is recorded, all times are
    /// computed from `interval`, or they are unknown if there is no interval.
    ///
    /// # Errors
    /// When more than [`MISSING_MAX`] numbers are missing.
    pub fn finish(
        mut self,
        delays: &mut Delays,
        range: Option<(u64, u64)>,
        interval: Option<Duration>,
    ) -> Result<(), RecordingError> {
        delays.duplicates = self.duplicates;
        let Some((first, last)) = range else { return Ok(()) };
        let known = (self.slots.len() + self.left_out.len()) as u64;
        let missing = (last - first).saturating_add(1).saturating_sub(known);
        if missing > MISSING_MAX {
            return Err(RecordingError::new(
                format!("{missing} of the probes {first} to {last} are missing"),
                format!(
                    "netspurt fills in at most {MISSING_MAX}; split the file at its largest gap"
                ),
            ));
        }
        let steps = ClockSteps::correct(&mut self.slots, (first, last));
        let known = KnownTimes::new(&self.slots, (first, last), interval);
        delays.send_times = match (&known, interval) {
            (Some(_), _) => SendTimeSource::Recorded,
            (None, Some(_)) => SendTimeSource::Computed,
            (None, None) => SendTimeSource::Unknown,
        };
        let step = interval.map_or(1, Duration::as_nanos);
        let mut order = InOrder::default();
        delays.probes.reserve_exact(usize::try_from(last - first + 1).unwrap_or(0));
        let (mut computed, mut place) = (0_u64, 0);
        for (number, slot) in filled(self.slots, &self.left_out, first, last) {
            let sent = match &known {
                None => Time::from_nanos((number - first).saturating_mul(step)),
                Some(known) => {
                    let recorded_ns = slot.sent_ns();
                    computed += u64::from(recorded_ns.is_none());
                    order.next(recorded_ns.unwrap_or_else(|| known.compute(number, &mut place)))
                }
            };
            if slot.answered && slot.rtt().is_none() {
                delays.untimed += 1;
                continue;
            }
            let ProbeSlot { late, wire_bytes, .. } = slot;
            delays.probes.push(Probe { number, sent, rtt: slot.rtt(), late, wire_bytes });
        }
        steps.remark(&mut delays.notes);
        let computed = computed.saturating_sub(steps.lone);
        if computed > 0 {
            let probes_have = counted(computed, ["probe has", "probes have"]);
            delays.notes.push(format!(
                "{probes_have} no time of sending; it was computed from the probes before and after"
            ));
        }
        delays.began = order.start.and_then(|start| Began::of(start, self.local));
        order.remark(delays);
        Ok(())
    }
}

/// Returns the slots `first..=last`. A missing number has an empty slot, unless it was left out.
fn filled(
    slots: Slots,
    left_out: &BTreeSet<u64>,
    first: u64,
    last: u64,
) -> impl Iterator<Item = (u64, ProbeSlot)> {
    let mut slots = slots.into_sorted().skip_while(move |slot| slot.0 < first).peekable();
    (first..=last).filter_map(move |number| {
        let empty = || (!left_out.contains(&number)).then(|| (number, ProbeSlot::default()));
        slots.next_if(|slot| slot.0 == number).or_else(empty)
    })
}

/// The known times of sending, from which the missing ones are computed.
struct KnownTimes {
    /// The numbers and times of the probes with a known time; empty if no time is missing.
    known: Vec<(u64, i64)>,
    /// The usual interval of the probes in nanoseconds.
    pace: f64,
}

impl KnownTimes {
    /// Collects the known times of the probes `first..=last`; `None` if there are none.
    fn new(slots: &Slots, (first, last): (u64, u64), interval: Option<Duration>) -> Option<Self> {
        let known_times = || {
            let within = slots.iter().filter(|(number, _)| (first..=last).contains(number));
            within.filter_map(|(number, slot)| slot.sent_ns().map(|ns| (number, ns)))
        };
        let count = known_times().count() as u64;
        if count == 0 {
            return None;
        }
        if count == last - first + 1 {
            return Some(Self { known: Vec::new(), pace: 0.0 });
        }
        let known: Vec<(u64, i64)> = known_times().collect();
        let pace = pace(&known, interval);
        Some(Self { known, pace })
    }

    /// Computes when the probe `number` left, from the neighbours with a known time. The search in
    /// [`known`](Self::known) begins at the index `place`, which increases from call to call.
    fn compute(&self, number: u64, place: &mut usize) -> i64 {
        let from = |(at, ns): (u64, i64), pace: f64| {
            #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
            let steps = ((number as f64 - at as f64) * pace) as i64;
            ns.saturating_add(steps)
        };
        while self.known.get(*place).is_some_and(|known| known.0 < number) {
            *place += 1;
        }
        match (place.checked_sub(1).map(|before| self.known[before]), self.known.get(*place)) {
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

/// Converts each time to the time since the first time. No result is earlier than the result before
/// it.
#[derive(Default)]
struct InOrder {
    start: Option<i64>,
    latest: i64,
    /// The number of probes whose time of sending was earlier than the time of sending of a
    /// previous probe.
    moved: u64,
}

impl InOrder {
    fn next(&mut self, ns: i64) -> Time {
        let start = *self.start.get_or_insert_with(|| {
            self.latest = ns;
            ns
        });
        self.moved += u64::from(ns < self.latest);
        self.latest = self.latest.max(ns);
        Time::from_nanos(self.latest.abs_diff(start))
    }

    fn remark(&self, delays: &mut Delays) {
        if self.moved > 0 {
            delays.notes.push(format!(
                "{} times of sending were slightly earlier than the time of a previous probe, \
                 because a clock was set back or digits are missing; they were moved to the latest \
                 time so far",
                self.moved
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_tells_how_many_probes_are_missing() {
        let read = |numbers: [u64; 2]| {
            let mut tally = Tally::default();
            for number in numbers {
                tally.reply(number, Some(Duration::from_millis(1)), 0);
            }
            let range = tally.ends();
            tally.finish(&mut Delays::new("gap", "ping"), range, None)
        };
        let error = read([7, MISSING_MAX + 9]).unwrap_err();
        let message = format!("4194305 of the probes 7 to {} are missing", MISSING_MAX + 9);
        assert!(error.to_string().contains(&message), "{error}");
        assert!(read([0, u64::MAX]).is_err());
    }
}
