//! Probes by their numbers, in whatever order lines tell of them.

use std::collections::BTreeMap;

use crate::units::{Duration, Time};

use super::reading::ReadError;
use super::{Delays, Probe, SendTimes};

/// Numbers that may be missing from one file, so that a short one cannot fill the memory.
pub(super) const MOST_MISSING: u64 = 1 << 22;

/// What is known of one probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// Its delay.
    pub rtt: Option<Duration>,
    /// Whether it was answered, with a delay that is known or without.
    pub answered: bool,
    /// Whether the tool told of its missing reply before that came.
    pub given_up: bool,
    /// Whether the reply came after that.
    pub late: bool,
    /// Octets on the wire.
    pub wire_bytes: u32,
    /// When it left, in nanoseconds on the recording's clock.
    pub sent_ns: Option<i64>,
}

/// Probes by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    slots: BTreeMap<u64, Slot>,
    /// Replies beyond the first.
    duplicates: u64,
}

impl Tally {
    /// The probe `number` left; what is known of it.
    pub fn sent(&mut self, number: u64) -> &mut Slot {
        self.slots.entry(number).or_default()
    }

    /// A reply to `number` came; whether it is the first.
    pub fn reply(&mut self, number: u64, rtt: Option<Duration>, wire_bytes: u32) -> bool {
        let slot = self.slots.entry(number).or_default();
        if slot.answered {
            self.duplicates += 1;
            return false;
        }
        slot.answered = true;
        slot.rtt = rtt;
        slot.late = slot.given_up;
        slot.wire_bytes = wire_bytes;
        true
    }

    /// A reply that is no first one, to a probe that may be known or not.
    pub fn duplicate(&mut self) {
        self.duplicates += 1;
    }

    /// Whether `number` was answered.
    pub fn answered(&self, number: u64) -> bool {
        self.slots.get(&number).is_some_and(|slot| slot.answered)
    }

    /// The lowest and the highest number.
    pub fn ends(&self) -> Option<(u64, u64)> {
        Some((*self.slots.first_key_value()?.0, *self.slots.last_key_value()?.0))
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.duplicates == 0
    }

    /// How many replies were first ones.
    pub fn received(&self) -> u64 {
        self.slots.values().filter(|slot| slot.answered).count() as u64
    }

    /// Puts the probes `first..=last` into `delays`, numbers nobody spoke of as lost ones, with
    /// times of sending that are recorded where any is, else reckoned from `interval`.
    ///
    /// # Errors
    /// When more numbers are missing than anyone can mean.
    pub fn finish(
        self,
        delays: &mut Delays,
        range: Option<(u64, u64)>,
        interval: Option<Duration>,
    ) -> Result<(), ReadError> {
        delays.duplicates = self.duplicates;
        let Some((first, last)) = range else { return Ok(()) };
        let missing = (last - first).saturating_sub(self.slots.len() as u64);
        if missing > MOST_MISSING {
            return Err(ReadError::new(
                format!("{missing} probes between the numbers {first} and {last} are missing"),
                format!("netspurt fills gaps up to {MOST_MISSING}; cut the file there"),
            ));
        }
        let mut slots = Vec::with_capacity(self.slots.len());
        let mut next = first;
        for (number, slot) in self.slots.range(first..=last) {
            slots.extend((next..*number).map(|gap| (gap, Slot::default())));
            slots.push((*number, *slot));
            next = number + 1;
        }
        slots.extend((next..=last).map(|gap| (gap, Slot::default())));
        let sent = send_times(&slots, interval, delays);
        for ((number, slot), sent) in slots.into_iter().zip(sent) {
            if slot.answered && slot.rtt.is_none() {
                delays.untimed += 1;
                continue;
            }
            let Slot { rtt, late, wire_bytes, .. } = slot;
            delays.probes.push(Probe { number, sent, rtt, late, wire_bytes });
        }
        Ok(())
    }
}

/// When each probe left: as recorded, those in between by their place among their neighbours.
fn send_times(slots: &[(u64, Slot)], interval: Option<Duration>, delays: &mut Delays) -> Vec<Time> {
    let known: Vec<(u64, i64)> =
        slots.iter().filter_map(|(number, slot)| slot.sent_ns.map(|ns| (*number, ns))).collect();
    let Some(&(first_known, _)) = known.first() else {
        delays.send_times = match interval {
            Some(_) => SendTimes::Reckoned,
            None => SendTimes::Unknown,
        };
        let step = interval.map_or(1, Duration::as_nanos);
        let at = |index: usize| Time::from_nanos((index as u64).saturating_mul(step));
        return (0..slots.len()).map(at).collect();
    };
    delays.send_times = SendTimes::Recorded;
    if known.len() < slots.len() {
        let count = slots.len() - known.len();
        delays.notes.push(format!(
            "{count} probes have no time of sending: reckoned from those beside them"
        ));
    }
    let pace = pace(&known, interval);
    let mut places = known.windows(2).peekable();
    let reckon = |number: u64, from: (u64, i64), pace: f64| {
        let steps = number as f64 - from.0 as f64;
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        let ns = (steps * pace) as i64;
        from.1.saturating_add(ns)
    };
    let mut instants: Vec<i64> = Vec::with_capacity(slots.len());
    for (number, slot) in slots {
        while places.peek().is_some_and(|pair| pair[1].0 <= *number) {
            places.next();
        }
        let ns = slot.sent_ns.unwrap_or_else(|| match places.peek() {
            Some(pair) if *number > first_known => {
                let pace = (pair[1].1 - pair[0].1) as f64 / (pair[1].0 - pair[0].0) as f64;
                reckon(*number, pair[0], pace)
            }
            Some(_) => reckon(*number, known[0], pace),
            None if *number < first_known => reckon(*number, known[0], pace),
            None => reckon(*number, known[known.len() - 1], pace),
        });
        instants.push(ns);
    }
    in_order(&instants, delays)
}

/// Nanoseconds from one probe to the next: the middle one of the known steps.
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
fn in_order(instants: &[i64], delays: &mut Delays) -> Vec<Time> {
    let start = instants.first().copied().unwrap_or(0);
    let (mut latest, mut back) = (start, 0_u64);
    let times = instants.iter().map(|ns| {
        back += u64::from(*ns < latest);
        latest = latest.max(*ns);
        Time::from_nanos(latest.abs_diff(start))
    });
    let times = times.collect();
    if back > 0 {
        delays.notes.push(format!(
            "{back} times of sending lie before those of the probes ahead of them, by the clock or \
             the cut of the digits: moved up to them"
        ));
    }
    times
}
