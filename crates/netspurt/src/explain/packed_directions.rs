//! The two directions of a connection, packed into little memory.

use crate::observe::Sequence;
use crate::packed::{Packed, PackedValue};

use super::{
    CapturedDirection, EndedDirection, ExplainedRetransmission, Habits, OtherFloors, Sender,
    Statistics,
};

/// The parts of a direction that are not packed. Most directions do not have them.
#[derive(Clone, Debug, Default)]
pub struct UnpackedParts {
    /// The retransmissions of the direction.
    pub retransmissions: Box<[ExplainedRetransmission]>,
    /// What timers with other floors would have done. `None` if
    /// [`is_silent`](OtherFloors::is_silent) holds.
    floors: Option<Box<OtherFloors>>,
    /// The observed behaviour of the direction's sender, receiver and path.
    pub habits: Option<Box<Habits>>,
}

impl UnpackedParts {
    fn new(
        retransmissions: Vec<ExplainedRetransmission>,
        floors: OtherFloors,
        habits: Option<Box<Habits>>,
    ) -> Self {
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

/// The two directions of a connection, packed into little memory.
#[derive(Clone, Debug)]
pub struct PackedDirections {
    /// The sequence space, the first octet not acknowledged, and the statistics of each direction.
    /// One octet before them says whether the direction exists.
    packed: Box<[u8]>,
    /// The parts that are not packed. `None` if neither direction has such parts.
    unpacked: Option<Box<[UnpackedParts; 2]>>,
}

impl PackedDirections {
    /// Packs the directions of a closed connection and leaves them empty. The packing uses the
    /// buffer `room`.
    ///
    /// All octets that were sent count as acknowledged. Of the state of [`Sender`], only the
    /// retransmissions and the habits are kept. The causes of later retransmissions are inferred
    /// without the rest of this state.
    pub fn resting(
        mut directions: [Option<&mut CapturedDirection>; 2],
        room: &mut Vec<u8>,
    ) -> Self {
        room.clear();
        let parts = directions.each_mut().map(|direction| {
            direction.is_some().put(room);
            direction.as_deref_mut().map_or_else(UnpackedParts::default, |direction| {
                let octets = &direction.octets;
                let highest = octets.sequence().highest().max(octets.una());
                octets.sequence().sent_to(highest).put(room);
                highest.put(room);
                direction.statistics.pack(room);
                let (retransmissions, floors, habits) = direction.take_findings();
                UnpackedParts::new(retransmissions, floors, habits)
            })
        });
        Self::of(parts, room)
    }

    /// Packs the directions of a connection that has ended. The packing uses the buffer `room`.
    pub fn ended(directions: [Option<EndedDirection>; 2], room: &mut Vec<u8>) -> Self {
        room.clear();
        let parts = directions.map(|direction| {
            direction.is_some().put(room);
            direction.map_or_else(UnpackedParts::default, |direction| {
                direction.sequence.put(room);
                direction.una.put(room);
                direction.statistics.pack(room);
                let EndedDirection { retransmissions, floors, habits, .. } = direction;
                UnpackedParts::new(retransmissions, floors, habits)
            })
        });
        Self::of(parts, room)
    }

    fn of(parts: [UnpackedParts; 2], room: &[u8]) -> Self {
        let known = parts.iter().any(|one| !one.is_empty());
        Self { packed: room.into(), unpacked: known.then(|| Box::new(parts)) }
    }

    /// The parts of the directions that are not packed. `None` if there are no such parts.
    pub fn parts(&self) -> Option<&[UnpackedParts; 2]> {
        self.unpacked.as_deref()
    }

    /// Like [`parts`](Self::parts).
    pub fn parts_mut(&mut self) -> Option<&mut [UnpackedParts; 2]> {
        self.unpacked.as_deref_mut()
    }

    /// Unpacks both directions, indexed by the side that sends.
    pub fn unpack(self) -> [Option<EndedDirection>; 2] {
        let mut from = &self.packed[..];
        let [one, other] = self.unpacked.map(|parts| *parts).unwrap_or_default();
        // `array::map` is not used here, because the compiler may turn it into calls that copy the
        // directions several times.
        let mut direction = |parts: UnpackedParts| {
            bool::get(&mut from).then(|| {
                let sequence = Sequence::get(&mut from);
                let una = u64::get(&mut from);
                let mut statistics = Statistics::default();
                statistics.unpack(&mut from);
                EndedDirection {
                    statistics,
                    sequence,
                    una,
                    retransmissions: parts.retransmissions.into_vec(),
                    floors: parts.floors.map(|floors| *floors).unwrap_or_default(),
                    habits: parts.habits,
                }
            })
        };
        [direction(one), direction(other)]
    }
}

impl EndedDirection {
    /// Returns a direction that continues this one.
    pub fn wake(self) -> CapturedDirection {
        let Self { sequence, statistics, retransmissions, floors, habits, .. } = self;
        CapturedDirection {
            statistics,
            sender: Sender::resumed(habits),
            floors,
            earlier: retransmissions,
            ..CapturedDirection::new(sequence)
        }
    }
}
