//! A resting direction, whose connection is closed.

use std::mem::take;

use crate::observe::Sequence;
use crate::packed::Packed;

use super::{CapturedWay, ExplainedRetransmission, Habits, OtherFloors, Sender, Statistics};

/// A direction of a closed connection, packed into little memory.
///
/// All that was sent counts as acknowledged. Of the sender's state only the retransmissions and
/// habits are kept, so the causes of later retransmissions are inferred without earlier knowledge.
#[derive(Clone, Debug)]
pub struct RestingWay {
    sequence: Sequence,
    statistics: Box<[u8]>,
    retransmissions: Box<[ExplainedRetransmission]>,
    /// What timers with other floors would have done, if they fired or waited at all.
    floors: Option<Box<OtherFloors>>,
    habits: Option<Box<Habits>>,
}

impl RestingWay {
    /// Packs the direction `way` and leaves it empty. The buffer `packed` is used for the packing.
    pub fn of(way: &mut CapturedWay, packed: &mut Vec<u8>) -> Self {
        let CapturedWay { octets, statistics, sender, floors, earlier, .. } = way;
        packed.clear();
        statistics.pack(packed);
        let habits = sender.habits();
        let mut earlier = take(earlier);
        earlier.extend(take(sender).finish());
        let floors = take(floors);
        let sequence = octets.sequence().sent_to(octets.sequence().highest().max(octets.una()));
        Self {
            sequence,
            statistics: packed.as_slice().into(),
            retransmissions: earlier.into_boxed_slice(),
            floors: (!floors.is_silent()).then(|| Box::new(floors)),
            habits,
        }
    }

    /// Unpacks the direction.
    pub fn wake(self) -> CapturedWay {
        let statistics = self.statistics();
        let floors = self.floors.map(|floors| *floors).unwrap_or_default();
        let earlier = self.retransmissions.into_vec();
        let sender = Sender::resumed(self.habits);
        CapturedWay { statistics, sender, floors, earlier, ..CapturedWay::new(self.sequence) }
    }

    /// Its sequence space.
    pub fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// Its statistics.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        statistics.unpack(&mut &self.statistics[..]);
        statistics
    }

    /// Its retransmissions, timers with other floors, and habits.
    pub fn into_parts(self) -> (Vec<ExplainedRetransmission>, OtherFloors, Option<Box<Habits>>) {
        let floors = self.floors.map(|floors| *floors).unwrap_or_default();
        (self.retransmissions.into_vec(), floors, self.habits)
    }
}
