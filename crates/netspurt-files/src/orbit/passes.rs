//! Finds passes: spans of time in which a path over satellites has line of sight. Each pass has the
//! least and the greatest length of the path in its span.

use super::{OrbitError, OrbitPath, PathState, Utc};

/// A span of time in which a path has line of sight without a break.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// The first instant with line of sight, with an error of at most 1 ms.
    pub rise: Utc,
    /// The last instant with line of sight, with an error of at most 1 ms.
    pub set: Utc,
    /// Whether the start of the searched span cut the pass, and whether the end of that span cut
    /// it. The part outside the searched span is not counted.
    pub cut: [bool; 2],
    /// The least and the greatest length of the path during the pass [km].
    pub km: [f64; 2],
}

impl Pass {
    /// Whether the whole pass lies within the searched span.
    pub fn whole(&self) -> bool {
        self.cut == [false; 2]
    }

    /// The duration of the pass [s].
    pub fn seconds(&self) -> f64 {
        self.set.since(self.rise)
    }

    /// The least and the greatest delay of a signal during the pass [s].
    pub fn delays(&self) -> [f64; 2] {
        self.km.map(|km| PathState { km, clearance: 0.0 }.seconds())
    }
}

/// A search for passes: the span of time, and the step between the instants that are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The start of the span.
    pub from: Utc,
    /// The end of the span.
    pub to: Utc,
    /// The time between two instants at which the path is computed [ns]. The
    /// [clearance](PathState::clearance) of a path is negative if the path is blocked. At one of
    /// these instants, the clearance may be nearer to zero than at the instant before and at the
    /// instant after. Then the search looks for the exact extreme in the two steps between these
    /// three instants. So the search also finds a pass that is shorter than a step, if the
    /// clearance has only one extreme in these two steps.
    pub step: i64,
}

/// The precision with which rise and set are found [ns].
const PRECISION: i64 = 1_000_000;
/// The greatest number of steps in a span.
const MOST: i64 = 20_000_000;

/// An instant, and the state of the path at this instant.
type Seen = (Utc, PathState);

impl Search {
    /// Returns the passes of a path, ordered by time.
    ///
    /// # Errors
    /// When the span is empty, the step is not above zero, the span has more than twenty million
    /// steps, or a satellite decays before the end of the span.
    pub fn passes(&self, path: &OrbitPath) -> Result<Vec<Pass>, OrbitError> {
        let seen = self.look(path)?;
        let mut passes = Vec::new();
        let mut rise = seen[0].1.clear().then_some(self.from);
        for pair in seen.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            match (before.1.clear(), after.1.clear()) {
                (false, true) => rise = Some(edge(path, after.0, before.0)?),
                (true, false) => {
                    let start = rise.take().unwrap_or(self.from);
                    passes.push(self.pass(path, start, edge(path, before.0, after.0)?)?);
                }
                _ => {}
            }
        }
        if let Some(start) = rise {
            passes.push(self.pass(path, start, self.to)?);
        }
        Ok(passes)
    }

    /// Computes the path at every step. If the clearance has the same sign at successive steps, but
    /// an extreme with the opposite sign between them, the result includes this extreme.
    fn look(&self, path: &OrbitPath) -> Result<Vec<Seen>, OrbitError> {
        let steps = instants(self.from, self.to, self.step)?;
        let look = |at: Utc| path.at(at).map(|state| (at, state));
        let seen = steps.into_iter().map(look).collect::<Result<Vec<Seen>, _>>()?;
        let mut all = Vec::with_capacity(seen.len());
        for (n, here) in seen.iter().enumerate() {
            let next = seen.get(n + 1);
            let around = n.checked_sub(1).map(|last| seen[last]).zip(next.copied());
            let found = match around {
                Some((last, next)) => extreme_of_opposite_sign(path, last, *here, next)?,
                None => None,
            };
            match found {
                Some(found) if found.0 < here.0 => all.extend([found, *here]),
                Some(found) => all.extend([*here, found]),
                None => all.push(*here),
            }
        }
        Ok(all)
    }

    /// Makes the pass between the instants `rise` and `set`: finds the least and the greatest
    /// length of the path.
    fn pass(&self, path: &OrbitPath, rise: Utc, set: Utc) -> Result<Pass, OrbitError> {
        let length = set.as_nanos() - rise.as_nanos();
        let step = self.step.min(length / 16).max(1);
        let steps = instants(rise, set.max(rise.after_nanos(1)), step)?;
        let km = |at: Utc| path.at(at).map(|state| state.km);
        let lengths = steps.iter().map(|at| km(*at)).collect::<Result<Vec<f64>, _>>()?;
        let extreme = |sign: f64| -> Result<f64, OrbitError> {
            let order =
                |a: &usize, b: &usize| (sign * lengths[*a]).total_cmp(&(sign * lengths[*b]));
            let best = (0..lengths.len()).max_by(order).unwrap_or(0);
            let (from, to) =
                (steps[best.saturating_sub(1)], steps[(best + 1).min(steps.len() - 1)]);
            let found = peak(from, to, |at| km(at).map(|km| sign * km))?;
            Ok(sign * (sign * lengths[best]).max(found.1))
        };
        Ok(Pass {
            rise,
            set,
            cut: [rise == self.from, set == self.to],
            km: [extreme(-1.0)?, extreme(1.0)?],
        })
    }
}

/// Returns instants: one every `step` nanoseconds from the instant `from` on, and the last instant
/// `to`.
///
/// # Errors
/// When the span is empty, the step is not above zero, or the span has more than twenty million
/// steps.
pub(super) fn instants(from: Utc, to: Utc, step: i64) -> Result<Vec<Utc>, OrbitError> {
    let span = to.as_nanos().saturating_sub(from.as_nanos());
    if span <= 0 {
        let message = format!("the span from {from} to {to} is empty");
        return Err(OrbitError::new(message, "the end must be after the start"));
    }
    if step <= 0 || span / step > MOST {
        let (span, step) = (seconds(span), seconds(step));
        let message = format!("a span of {span:.6} s cannot have steps of {step:.6} s");
        return Err(OrbitError::new(message, "use at most twenty million steps, each above zero"));
    }
    let inner = (0..=(span - 1) / step).map(|n| from.after_nanos(n * step));
    Ok(inner.chain([to]).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a message may be inexact")]
fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// Returns the instant at which line of sight begins or ends, between an instant with line of sight
/// and an instant without it. The path has line of sight at the returned instant.
fn edge(path: &OrbitPath, mut clear: Utc, mut blocked: Utc) -> Result<Utc, OrbitError> {
    while (clear.as_nanos() - blocked.as_nanos()).abs() > PRECISION {
        let middle = middle(clear, blocked);
        if path.at(middle)?.clear() {
            clear = middle;
        } else {
            blocked = middle;
        }
    }
    Ok(clear)
}

fn middle(a: Utc, b: Utc) -> Utc {
    a.after_nanos((b.as_nanos() - a.as_nanos()) / 2)
}

/// Finds an instant between the instants `last` and `next` at which the clearance has another sign
/// than at the three given instants. Such an instant is searched only if the clearances at the
/// three given instants have equal signs, and the clearance at the middle instant is the nearest to
/// zero. Returns `None` if no instant is found.
fn extreme_of_opposite_sign(
    path: &OrbitPath,
    last: Seen,
    here: Seen,
    next: Seen,
) -> Result<Option<Seen>, OrbitError> {
    let clear = here.1.clear();
    if last.1.clear() != clear || next.1.clear() != clear {
        return Ok(None);
    }
    // On a blocked path, the clearance is negative, and nearest to zero at its maximum. On a clear
    // path, it is nearest to zero at its minimum, and `sign` makes this minimum a maximum.
    let sign = if clear { -1.0 } else { 1.0 };
    let height = |seen: Seen| sign * seen.1.clearance;
    if height(here) < height(last) || height(here) < height(next) {
        return Ok(None);
    }
    let (at, _) = peak(last.0, next.0, |at| path.at(at).map(|state| sign * state.clearance))?;
    let found = (at, path.at(at)?);
    Ok((found.1.clear() != clear).then_some(found))
}

/// Finds the instant between the instants `from` and `to` at which the function `value` has its
/// maximum, by golden-section search. Returns this instant and the maximum.
fn peak(
    from: Utc,
    to: Utc,
    value: impl Fn(Utc) -> Result<f64, OrbitError>,
) -> Result<(Utc, f64), OrbitError> {
    let (mut low, mut high) = (0.0, to.since(from));
    let look = |seconds: f64| value(from.after(seconds));
    let share = 0.618_033_988_749_894_9;
    let (mut left, mut right) = (high * (1.0 - share), high * share);
    let (mut at_left, mut at_right) = (look(left)?, look(right)?);
    while high - low > 1e-4 {
        if at_left >= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - (high - low) * share;
            at_left = look(left)?;
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + (high - low) * share;
            at_right = look(right)?;
        }
    }
    let at = f64::midpoint(low, high);
    Ok((from.after(at), look(at)?))
}
