//! Retransmissions of connections of which only one direction was captured.
//!
//! Without acknowledgments a repair that they called for looks like one by a timer. Only a timer
//! that backs off shows by itself: the same octets are sent again and again, and the waits double
//! (RFC 6298 §5.5).

use crate::segment::Cause;
use crate::units::Duration;

use super::rule::CauseRule;
use super::{EndedBy, EndedWay, ExplainedRetransmission};

/// The least wait that counts as doubled, as a share of the one before, and the greatest: clocks are
/// coarse, and the timer may have been measured anew.
const DOUBLED: [f64; 2] = [1.6, 2.6];
/// How many waits in a row double, at least, before they count as a timer's.
const WAITS: usize = 3;
/// How often this is right: a guess, as no captures with known causes lack a direction.
const CONFIDENCE: f32 = 0.9;

/// Finds timers that back off, and keeps the waits of those timers alone that are known.
pub fn judge_alone(way: &mut EndedWay) {
    let all = &mut way.retransmissions;
    let mut begins = 0;
    while begins < all.len() {
        let copies = backed_off(&all[begins..]);
        for one in &mut all[begins..begins + copies] {
            if copies >= WAITS && one.cause.get() != Some(Cause::Syn) {
                one.cause = Some(Cause::Rto).into();
                (one.rule, one.cause_confidence) = (CauseRule::Backoff, CONFIDENCE);
            }
        }
        begins += copies;
    }
    way.floors.keep_waits(|wait| {
        let place = all.binary_search_by_key(&wait.at, |one| one.at);
        place.is_ok_and(|place| EndedBy::of(all[place].cause.get()).is_some())
    });
}

/// The number of copies of the same octets in a row whose waits double; 1 if the first stands alone.
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
