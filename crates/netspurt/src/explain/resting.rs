//! A resting connection: probably no more of its packets will come.

use std::mem::take;

use crate::observe::Sequence;
use crate::packed::{Packed, PackedValue};

use super::{CapturedDirection, ExplainedRetransmission, Habits, OtherFloors, Sender, Statistics};

/// A direction of a resting connection, unpacked.
///
/// All octets that were sent count as acknowledged. Of the sender's state, only the retransmissions
/// and the habits are kept. The causes of later retransmissions are inferred without the other
/// parts of this state.
#[derive(Debug)]
pub struct RestedDirection {
    /// The sequence space of the direction.
    pub sequence: Sequence,
    /// The statistics of the direction.
    pub statistics: Statistics,
    /// The parts that most directions do not have.
    pub further: RestedFurther,
}

/// The parts of a direction's state that most directions do not have.
#[derive(Clone, Debug, Default)]
pub struct RestedFurther {
    /// The retransmissions of the direction.
    pub retransmissions: Box<[ExplainedRetransmission]>,
    /// What timers with other floors would have done. `None` if
    /// [`is_silent`](OtherFloors::is_silent) holds.
    pub floors: Option<Box<OtherFloors>>,
    /// The observed behaviour of the direction's sender, receiver and path.
    pub habits: Option<Box<Habits>>,
}

/// The two directions of a closed connection, packed into little memory.
#[derive(Clone, Debug)]
pub struct RestingConnection {
    /// The sequence space and the statistics of each direction. One octet before them says whether
    /// the direction exists.
    packed: Box<[u8]>,
    /// The parts that most directions do not have. `None` if neither direction has such parts.
    further: Option<Box<[RestedFurther; 2]>>,
}

impl RestingConnection {
    /// Packs the directions and leaves them empty. The packing uses the buffer `room`.
    pub fn of(directions: [Option<&mut CapturedDirection>; 2], room: &mut Vec<u8>) -> Self {
        room.clear();
        let further = directions.map(|direction| {
            direction.is_some().put(room);
            direction.map_or_else(RestedFurther::default, |direction| {
                RestedFurther::packing(direction, room)
            })
        });
        let known = further.iter().any(|one| !one.is_empty());
        Self { packed: room.as_slice().into(), further: known.then(|| Box::new(further)) }
    }

    /// Unpacks both directions, indexed by the side that sends.
    pub fn unpacked(self) -> [Option<RestedDirection>; 2] {
        let mut from = &self.packed[..];
        let [one, other] = self.further.map(|further| *further).unwrap_or_default();
        // `array::map` is not used here, because the compiler may turn it into calls that copy the
        // directions several times.
        let mut direction = |further| {
            bool::get(&mut from).then(|| {
                let sequence = Sequence::get(&mut from);
                let mut statistics = Statistics::default();
                statistics.unpack(&mut from);
                RestedDirection { sequence, statistics, further }
            })
        };
        [direction(one), direction(other)]
    }
}

impl RestedFurther {
    /// Packs a direction into `room`. Returns the parts that are not packed.
    fn packing(direction: &mut CapturedDirection, room: &mut Vec<u8>) -> Self {
        let CapturedDirection { octets, statistics, sender, floors, earlier, .. } = direction;
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

impl RestedDirection {
    /// Returns a direction that continues this one.
    pub fn wake(self) -> CapturedDirection {
        let Self { sequence, statistics, further } = self;
        CapturedDirection {
            statistics,
            sender: Sender::resumed(further.habits),
            floors: further.floors.map(|floors| *floors).unwrap_or_default(),
            earlier: further.retransmissions.into_vec(),
            ..CapturedDirection::new(sequence)
        }
    }
}
