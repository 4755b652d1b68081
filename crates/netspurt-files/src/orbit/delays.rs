//! Computes how the delay of a path over satellites changes with time.
//!
//! A path consists of legs: a leg is the straight line from one station to the next.

use netspurt::units::Duration;

use super::passes::instants;
use super::{OrbitError, OrbitPath, Utc};

/// The length and the delay of a path at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathDelay {
    /// The instant.
    pub at: Utc,
    /// The sum of the lengths of the legs [km].
    pub km: f64,
    /// The time that a signal needs, to the nanosecond.
    pub delay: Duration,
}

/// Returns the delays of a path between the instants `from` and `to`: one delay every `step`
/// nanoseconds, and one at `to`.
///
/// # Errors
/// When the path is blocked at one of the instants, when a satellite has decayed, when `step` is
/// not above zero, or when the span is empty or has more than twenty million steps.
pub fn path_delays(
    path: &OrbitPath,
    from: Utc,
    to: Utc,
    step: i64,
) -> Result<Vec<PathDelay>, OrbitError> {
    let at = |at: Utc| {
        let state = path.at(at)?;
        if !state.clear() {
            let message = format!("{} has no line of sight at {at}", path.names().join(" - "));
            return Err(OrbitError::new(message, "take a span inside one pass"));
        }
        Ok(PathDelay { at, km: state.km, delay: nanoseconds(state.seconds()) })
    };
    instants(from, to, step)?.into_iter().map(at).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is small and > 0")]
fn nanoseconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}
