//! Infers the causes of retransmissions if the capture has only one direction of a connection.
//!
//! Acknowledgments trigger some retransmissions. If the acknowledgments were not captured, such a
//! retransmission looks like a timeout. Without acknowledgments, only a timer that backs off can be
//! recognised. Such a timer sends the same octets again and again, and the waits between these
//! transmissions double (RFC 6298 §5.5).

use crate::segment::Cause;
use crate::units::Duration;

use super::rule::CauseRule;
use super::{EndedBy, EndedDirection, ExplainedRetransmission};

/// A wait counts as doubled if its ratio to the wait before it lies between the limits `DOUBLED`.
/// The ratio may differ from 2, because clocks are coarse and the RTO may have been computed again.
const DOUBLED: [f64; 2] = [1.6, 2.6];
/// The minimum number of waits in a row that show a timer. Each wait after the first is double the
/// wait before it.
const WAITS: usize = 3;
/// The probability that doubled waits show the right cause. This is a guess, because all captures
/// with known causes have both directions.
const CONFIDENCE: f32 = 0.9;

/// Finds the retransmissions of timers that back off, and sets their cause. SYNs keep their cause.
/// The cause of all other retransmissions becomes unknown. A wait stays in `direction.floors` only
/// if it ended with a retransmission that is known to come from a timer.
pub fn judge_alone(direction: &mut EndedDirection) {
    let all = &mut direction.retransmissions;
    let mut begins = 0;
    while begins < all.len() {
        let copies = backed_off(&all[begins..]);
        let known = (copies >= WAITS).then_some(Cause::Rto);
        let others = |one: &&mut ExplainedRetransmission| one.cause.get() != Some(Cause::Syn);
        for one in all[begins..begins + copies].iter_mut().filter(others) {
            (one.cause, one.cause_confidence) = (known.into(), 0.0);
            if known.is_some() {
                (one.rule, one.cause_confidence) = (CauseRule::Backoff, CONFIDENCE);
            }
        }
        begins += copies;
    }
    direction.floors.keep_waits(|wait| {
        wait.ended_by(all).is_some_and(|one| EndedBy::of(one.cause.get()).is_some())
    });
}

/// Returns how many retransmissions, from the first retransmission in `all` on, begin with the same
/// octet and have waits that double. The result is 1 if the second retransmission begins with
/// another octet, or if its wait is not double.
fn backed_off(all: &[ExplainedRetransmission]) -> usize {
    let again = |pair: &&[ExplainedRetransmission]| {
        pair[0].left == pair[1].left && doubled(pair[0].gap, pair[1].gap)
    };
    1 + all.windows(2).take_while(again).count()
}

fn doubled(one: Duration, next: Duration) -> bool {
    let [least, most] = DOUBLED.map(|times| one.as_nanos() as f64 * times);
    (least..=most).contains(&(next.as_nanos() as f64))
}
