//! Both directions of a connection, observed at one point.

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::Time;

use super::{Answer, Observed, OneWay, Sequence};

/// A connection, observed at one point. The observer may have missed the SYN, or one of the
/// directions.
///
/// ```
/// use netspurt::ids::Side;
/// use netspurt::observe::TwoWay;
/// use netspurt::segment::{Flags, Segment};
/// use netspurt::units::{Duration, Time};
/// let ms = Duration::from_millis;
/// let mut seen = TwoWay::default();
/// let data = Segment { seq: 700, len: 100, ack: 50, flags: Flags::ACK, ..Segment::default() };
/// seen.take(Side::From, Time::ZERO, &data);
/// let ack = Segment { seq: 50, ack: 800, flags: Flags::ACK, ..Segment::default() };
/// let answer = seen.take(Side::To, Time::ZERO + ms(9), &ack);
/// assert_eq!(answer.sample.unwrap().rtt, ms(9));
/// ```
#[derive(Clone, Debug, Default)]
pub struct TwoWay {
    /// The directions, indexed by the side that sends.
    ways: [Option<OneWay>; 2],
}

impl TwoWay {
    /// The direction in which `side` sends. `None` if nothing was seen of this direction.
    pub fn way(&self, side: Side) -> Option<&OneWay> {
        self.ways[side.index()].as_ref()
    }

    /// Processes a segment from `side` that was seen at the instant `at`. Returns what the segment
    /// acknowledges in the other direction, and the round-trip sample, if the segment gives a
    /// sample.
    pub fn take(&mut self, side: Side, at: Time, segment: &impl Observed) -> Answer {
        if segment.seq_len() > 0 && !segment.flags().has(Flags::RST) {
            let own = self.ways[side.index()]
                .get_or_insert_with(|| OneWay::new(Sequence::seen_from(segment)));
            own.sent(at, segment, ());
        }
        if !segment.flags().has(Flags::ACK) {
            return Answer::default();
        }
        // Acknowledged octets were sent, even if the observer did not see them.
        let other = self.ways[side.peer().index()]
            .get_or_insert_with(|| OneWay::new(Sequence::midway(segment.ack())));
        other.answered(at, segment)
    }
}
