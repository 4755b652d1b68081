//! A resting connection: its packets are over, as far as is known.

use std::mem::take;

use crate::observe::Sequence;
use crate::packed::{Packed, PackedValue};

use super::{CapturedWay, ExplainedRetransmission, Habits, OtherFloors, Sender, Statistics};

/// A direction of a resting connection, unpacked.
///
/// All that was sent counts as acknowledged. Of the sender's state only the retransmissions and
/// habits are kept, so the causes of later retransmissions are inferred without earlier knowledge.
#[derive(Debug)]
pub struct RestedWay {
    /// Its sequence space.
    pub sequence: Sequence,
    /// Its statistics.
    pub statistics: Statistics,
    /// What else is known of it.
    pub further: RestedFurther,
}

/// What is known of few directions.
#[derive(Clone, Debug, Default)]
pub struct RestedFurther {
    /// Its retransmissions.
    pub retransmissions: Box<[ExplainedRetransmission]>,
    /// What timers with other floors would have done, if they fired or waited at all.
    pub floors: Option<Box<OtherFloors>>,
    /// The observed behaviour of its sender, receiver and path.
    pub habits: Option<Box<Habits>>,
}

/// The two directions of a closed connection, packed into little memory.
#[derive(Clone, Debug)]
pub struct RestingConnection {
    /// Sequence spaces and statistics. For each side, one octet says whether its direction exists.
    packed: Box<[u8]>,
    /// `None` if nothing more is known of either direction.
    further: Option<Box<[RestedFurther; 2]>>,
}

impl RestingConnection {
    /// Packs the directions and leaves them empty. The buffer `room` is used for the packing.
    pub fn of(ways: [Option<&mut CapturedWay>; 2], room: &mut Vec<u8>) -> Self {
        room.clear();
        let further = ways.map(|way| {
            way.is_some().put(room);
            way.map_or_else(RestedFurther::default, |way| RestedFurther::packing(way, room))
        });
        let known = further.iter().any(|one| !one.is_empty());
        Self { packed: room.as_slice().into(), further: known.then(|| Box::new(further)) }
    }

    /// Unpacks both directions, by the side that sends.
    pub fn unpacked(self) -> [Option<RestedWay>; 2] {
        let mut from = &self.packed[..];
        let further = self.further.map(|further| *further).unwrap_or_default();
        further.map(|further| {
            bool::get(&mut from).then(|| {
                let sequence = Sequence::get(&mut from);
                let mut statistics = Statistics::default();
                statistics.unpack(&mut from);
                RestedWay { sequence, statistics, further }
            })
        })
    }
}

impl RestedFurther {
    /// Packs a direction. Returns what is not packed.
    fn packing(way: &mut CapturedWay, room: &mut Vec<u8>) -> Self {
        let CapturedWay { octets, statistics, sender, floors, earlier, .. } = way;
        let highest = octets.sequence().highest().max(octets.una());
        octets.sequence().sent_to(highest).put(room);
        statistics.pack(room);
        let habits = sender.habits();
        let mut retransmissions = take(earlier);
        retransmissions.extend(take(sender).finish());
        let floors = take(floors);
        Self {
            retransmissions: retransmissions.into_boxed_slice(),
            floors: (!floors.is_silent()).then(|| Box::new(floors)),
            habits,
        }
    }

    fn is_empty(&self) -> bool {
        self.retransmissions.is_empty() && self.floors.is_none() && self.habits.is_none()
    }
}

impl RestedWay {
    /// Goes on with the direction.
    pub fn wake(self) -> CapturedWay {
        let Self { sequence, statistics, further } = self;
        CapturedWay {
            statistics,
            sender: Sender::resumed(further.habits),
            floors: further.floors.map(|floors| *floors).unwrap_or_default(),
            earlier: further.retransmissions.into_vec(),
            ..CapturedWay::new(sequence)
        }
    }
}
