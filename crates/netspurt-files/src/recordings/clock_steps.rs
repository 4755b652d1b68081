//! Corrects the times of sending of probes where these times go back. The cause is a clock that was
//! set back, or a wrong timestamp.

use netspurt::units::Duration;

use super::slots::Slots;
use super::text::SECOND;

/// Whether a probe's time of sending is much earlier than the time `latest` of a probe before it.
/// Then the clock or the timestamp must be wrong. A difference of at most one second plus the
/// probe's delay has other causes. In many logs, times have whole seconds, and the time of sending
/// is computed as the time of the reply minus the delay.
pub(super) fn is_step_back(latest: i64, sent_ns: i64, rtt: Option<Duration>) -> bool {
    let delay = rtt.map_or(0, |rtt| i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX));
    let usual = delay.saturating_add(SECOND.cast_signed());
    latest.saturating_sub(sent_ns) > usual
}

/// Returns the interval of the probes in nanoseconds: the given interval, or else the median of the
/// known intervals, or 1 if no interval is known.
pub(super) fn pace(known: &[(u64, i64)], interval: Option<Duration>) -> f64 {
    let step = |pair: &[(u64, i64)]| {
        (pair[1].1.saturating_sub(pair[0].1)) as f64 / (pair[1].0 - pair[0].0) as f64
    };
    let mut steps: Vec<f64> = known.windows(2).map(step).collect();
    steps.sort_by(f64::total_cmp);
    let given = interval.map(|interval| interval.as_nanos() as f64);
    given.or_else(|| steps.get(steps.len() / 2).copied()).unwrap_or(1.0).max(0.0)
}

/// A probe with a recorded time of sending.
#[derive(Clone, Copy, Debug)]
struct TimedProbe {
    number: u64,
    sent_ns: i64,
    rtt: Option<Duration>,
}

/// What was corrected in the times of sending of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockSteps {
    /// How often the clock was set back.
    count: u64,
    /// The first probe after the clock was set back for the first time, and by how many nanoseconds
    /// the clock was set back.
    first: Option<(u64, i64)>,
    /// The number of single times that do not fit the times before and after them.
    pub lone: u64,
    /// The probe with the first single time that does not fit.
    first_lone: u64,
}

impl ClockSteps {
    /// Corrects the times of sending of the probes `first..=last`. If the clock was set back, the
    /// later times are increased, so that they go on at the usual interval. A single time that does
    /// not fit is removed.
    pub fn correct(slots: &mut Slots, (first, last): (u64, u64)) -> Self {
        let timed = |slots: &Slots| -> Vec<TimedProbe> {
            let within = slots.iter().filter(|(number, _)| (first..=last).contains(number));
            within
                .filter_map(|(number, slot)| {
                    Some(TimedProbe { number, sent_ns: slot.sent_ns()?, rtt: slot.rtt() })
                })
                .collect()
        };
        let mut steps = Self::default();
        if has_step_back(slots, (first, last)) {
            steps.follow(&timed(slots), slots);
        }
        steps
    }

    fn follow(&mut self, timed: &[TimedProbe], slots: &mut Slots) {
        let known: Vec<(u64, i64)> = timed.iter().map(|one| (one.number, one.sent_ns)).collect();
        let pace = pace(&known, None);
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
        let expected = |from: u64, to: u64, share: f64| ((to - from) as f64 * pace * share) as i64;
        // Whether the probe `later` left late enough to come after the probe `earlier`.
        let fits = |earlier: (u64, i64), later: (u64, i64)| {
            later.1.saturating_sub(earlier.1) >= expected(earlier.0, later.0, 0.5)
        };
        let mut offset = 0_i64;
        // The probes whose times are used, each with the latest time so far.
        let mut used: Vec<(u64, i64)> = Vec::with_capacity(timed.len());
        for (place, one) in timed.iter().enumerate() {
            let mut sent_ns = one.sent_ns.saturating_add(offset);
            if let Some(latest) = used.last().copied()
                && is_step_back(latest.1, sent_ns, one.rtt)
            {
                let before = used.len().checked_sub(2).map(|at| used[at]);
                let next = timed.get(place + 1);
                let next = next.map(|next| (next.number, next.sent_ns.saturating_add(offset)));
                if before.is_none_or(|before| fits(before, (one.number, sent_ns))) {
                    self.remove(latest.0, slots);
                    used.pop();
                } else if next.is_some_and(|next| fits(latest, next)) {
                    self.remove(one.number, slots);
                    continue;
                } else {
                    let target = latest.1.saturating_add(expected(latest.0, one.number, 1.0));
                    let back = target.saturating_sub(sent_ns);
                    self.count += 1;
                    self.first.get_or_insert((one.number, back));
                    offset = offset.saturating_add(back);
                    sent_ns = target;
                }
            }
            if offset != 0 {
                slots.entry(one.number).set_sent(Some(sent_ns));
            }
            let latest = used.last().map_or(sent_ns, |latest| latest.1.max(sent_ns));
            used.push((one.number, latest));
        }
    }

    fn remove(&mut self, number: u64, slots: &mut Slots) {
        if self.lone == 0 {
            self.first_lone = number;
        }
        self.lone += 1;
        slots.entry(number).set_sent(None);
    }

    /// Adds notes that say what was corrected.
    pub fn remark(self, notes: &mut Vec<String>) {
        if let Some((number, back_ns)) = self.first {
            let seconds = back_ns / SECOND.cast_signed();
            let times = match self.count {
                1 => format!("once, before probe {number}, by {seconds} s; after that"),
                count => format!(
                    "{count} times, first before probe {number}, by {seconds} s; after each time"
                ),
            };
            notes.push(format!(
                "the clock was set back {times}, the times of sending go on at the usual interval"
            ));
        }
        let first = self.first_lone;
        match self.lone {
            0 => {}
            1 => notes.push(format!(
                "the time of sending of probe {first} does not fit the times of the probes beside \
                 it, so it was computed from their times"
            )),
            lone => notes.push(format!(
                "{lone} times of sending do not fit the times of the probes beside them, so they \
                 were computed from the times of those probes; the first is the time of probe {first}"
            )),
        }
    }
}

/// Whether any of the probes `first..=last` has a time of sending that is a step back.
fn has_step_back(slots: &Slots, (first, last): (u64, u64)) -> bool {
    let mut latest = i64::MIN;
    slots.iter().filter(|(number, _)| (first..=last).contains(number)).any(|(_, slot)| {
        let Some(sent_ns) = slot.sent_ns() else { return false };
        let back = latest > i64::MIN && is_step_back(latest, sent_ns, slot.rtt());
        latest = latest.max(sent_ns);
        back
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Corrects times in seconds of probes numbered from 0. Returns the times, and the number of
    /// steps and of single times that did not fit.
    fn corrected(seconds: &[i64]) -> (Vec<Option<i64>>, [u64; 2]) {
        let mut slots = Slots::default();
        for (number, time) in (0..).zip(seconds) {
            slots.entry(number).set_sent(Some(time * SECOND.cast_signed()));
        }
        let steps = ClockSteps::correct(&mut slots, (0, seconds.len() as u64 - 1));
        let times = slots.values().map(|slot| Some(slot.sent_ns()? / SECOND.cast_signed()));
        (times.collect(), [steps.count, steps.lone])
    }

    #[test]
    fn after_a_step_back_the_times_go_on_at_the_usual_interval() {
        let all = |times: &[i64]| times.iter().copied().map(Some).collect::<Vec<_>>();
        let (times, counts) = corrected(&[10, 20, 30, 40, 15, 25, 35, 45, 5, 15]);
        assert_eq!((times, counts), (all(&[10, 20, 30, 40, 50, 60, 70, 80, 90, 100]), [2, 0]));
        let back = all(&[10, 20, 30, 40, 50, 60]);
        assert_eq!(corrected(&[10, 20, 30, 25, 35, 45]), (back, [1, 0]), "the step is short");
        assert_eq!(corrected(&[10, 20, 19, 30]), (all(&[10, 20, 19, 30]), [0, 0]));
    }

    #[test]
    fn a_single_time_that_does_not_fit_is_removed() {
        let without = |place: usize| {
            let mut times = [10, 20, 30, 40, 50].map(Some);
            times[place] = None;
            times.to_vec()
        };
        assert_eq!(corrected(&[10, 20, 999, 40, 50]), (without(2), [0, 1]));
        assert_eq!(corrected(&[10, 20, 3, 40, 50]), (without(2), [0, 1]));
        assert_eq!(corrected(&[999, 20, 30, 40, 50]), (without(0), [0, 1]));
    }

    #[test]
    fn a_step_back_is_longer_than_a_second_plus_the_delay() {
        let rtt = Some(Duration::from_millis(500));
        let at = |ms: i64| is_step_back(10_000_000_000, ms * 1_000_000, rtt);
        assert_eq!([at(8500), at(8499)], [false, true]);
    }
}
