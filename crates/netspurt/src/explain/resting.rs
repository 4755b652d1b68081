//! A direction that rests: its connection is closed.

use std::mem::take;

use crate::observe::Sequence;
use crate::packed::Packed;

use super::{CapturedWay, ExplainedRetransmission, Habits, OtherFloors, Sender, Statistics};

/// A direction of a closed connection, in little memory.
///
/// What it sent last counts as acknowledged. Of the sender only its retransmissions are kept, so the
/// causes of later ones are judged as those of a sender of which nothing is known.
#[derive(Clone, Debug)]
pub struct RestingWay {
    sequence: Sequence,
    statistics: Box<[u8]>,
    retransmissions: Box<[ExplainedRetransmission]>,
    /// Timers with other floors, if there is anything to say of them.
    floors: Option<Box<OtherFloors>>,
    habits: Option<Box<Habits>>,
}

impl RestingWay {
    /// What a direction is while it rests, packed in the memory of `packed`; nothing is left in
    /// `way`.
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

    /// The direction again.
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
