//! The two directions of a connection, packed into little memory.

use bytes::Bytes;

use crate::observe::Sequence;
use crate::packed::{Packed, PackedValue};

use super::captured_direction::Findings;
use super::{
    AckedTail, CapturedDirection, EndedDirection, ExplainedRetransmission, Habits, LastAcked,
    OtherFloors, PackingChunks, Sender, Statistics, TimeSpent,
};

/// The parts of a direction that are not packed. Most directions have no such parts.
#[derive(Clone, Debug, Default)]
pub struct UnpackedParts {
    /// The retransmissions of the direction.
    pub retransmissions: Box<[ExplainedRetransmission]>,
    /// What retransmission timers with other minimums would have done. `None` if there is nothing
    /// to report (see [`is_silent`](OtherFloors::is_silent)).
    floors: Option<Box<OtherFloors>>,
    /// The observed behaviour of the direction's sender, receiver and path.
    pub habits: Option<Box<Habits>>,
}

impl UnpackedParts {
    fn new((retransmissions, floors, habits): Findings) -> Self {
        Self {
            retransmissions: retransmissions.into_boxed_slice(),
            floors: (!floors.is_silent()).then(|| Box::new(floors.at_rest())),
            habits,
        }
    }

    fn is_empty(&self) -> bool {
        self.retransmissions.is_empty() && self.floors.is_none() && self.habits.is_none()
    }
}

/// The two directions of a connection and the time that it spent, packed into little memory.
#[derive(Clone, Debug)]
pub struct PackedDirections {
    /// First comes the time that the connection spent on each thing that it waited for. The time of
    /// repairs (series of retransmissions) is complete here. It includes repairs that did not delay
    /// new data. Then, for each direction, comes an octet that says whether the direction exists.
    /// If it exists, four things follow: its sequence space, its first octet not acknowledged, its
    /// statistics, and its last segment.
    packed: Bytes,
    /// The parts that are not packed. `None` if neither direction has such parts.
    unpacked: Option<Box<[UnpackedParts; 2]>>,
}

impl PackedDirections {
    /// Packs the directions of a closed connection, and takes the parts that are not packed out of
    /// them. The packed octets are in memory of `packing`.
    ///
    /// All octets that were sent count as acknowledged. Only three parts of the state of [`Sender`]
    /// are kept: the retransmissions, the habits (the observed behaviour) and the last segment. The
    /// causes of later retransmissions are inferred without the rest of this state.
    pub fn resting(
        spent: &TimeSpent,
        mut directions: [Option<&mut CapturedDirection>; 2],
        packing: &mut PackingChunks,
    ) -> Self {
        directions.iter_mut().flatten().for_each(|direction| direction.note_place());
        let packed = Self::pack(
            spent,
            directions.each_ref().map(|direction| {
                let CapturedDirection { octets, statistics, sender, .. } = direction.as_deref()?;
                let highest = octets.sequence().highest().max(octets.una());
                let tail = sender.last_acked.tail(highest);
                Some((octets.sequence().sent_to(highest), highest, tail, statistics))
            }),
            packing,
        );
        let findings = directions
            .each_mut()
            .map(|direction| direction.as_deref_mut().map(CapturedDirection::take_findings));
        Self::of(packed, findings)
    }

    /// Packs the directions of a connection that has ended. The packed octets are in memory of
    /// `packing`.
    pub fn ended(
        spent: &TimeSpent,
        directions: [Option<EndedDirection>; 2],
        packing: &mut PackingChunks,
    ) -> Self {
        let packed = Self::pack(
            spent,
            directions.each_ref().map(|direction| {
                let EndedDirection { sequence, una, tail, statistics, .. } = direction.as_ref()?;
                Some((*sequence, *una, *tail, statistics))
            }),
            packing,
        );
        let findings = directions.map(|direction| {
            direction.map(|EndedDirection { retransmissions, floors, habits, .. }| {
                (retransmissions, floors, habits)
            })
        });
        Self::of(packed, findings)
    }

    /// Packs the time spent and, for each direction that exists, its sequence space, its first
    /// octet not acknowledged, its statistics, and its last segment.
    fn pack(
        spent: &TimeSpent,
        directions: [Option<(Sequence, u64, AckedTail, &Statistics)>; 2],
        packing: &mut PackingChunks,
    ) -> Bytes {
        packing.keep(|into| {
            spent.put(into);
            for direction in directions {
                direction.is_some().put(into);
                if let Some((sequence, una, tail, statistics)) = direction {
                    sequence.put(into);
                    una.put(into);
                    statistics.pack(into);
                    tail.put_after(&statistics.times, into);
                }
            }
        })
    }

    fn of(packed: Bytes, findings: [Option<Findings>; 2]) -> Self {
        let parts = findings.map(|of| of.map_or_else(UnpackedParts::default, UnpackedParts::new));
        let known = parts.iter().any(|one| !one.is_empty());
        Self { packed, unpacked: known.then(|| Box::new(parts)) }
    }

    /// The parts of the directions that are not packed. `None` if there are no such parts.
    pub fn parts(&self) -> Option<&[UnpackedParts; 2]> {
        self.unpacked.as_deref()
    }

    /// Like [`parts`](Self::parts), but the caller may change the parts.
    pub fn parts_mut(&mut self) -> Option<&mut [UnpackedParts; 2]> {
        self.unpacked.as_deref_mut()
    }

    /// Unpacks the time spent and both directions, indexed by the side that sends.
    pub fn unpack(self) -> (TimeSpent, [Option<EndedDirection>; 2]) {
        let mut from = &self.packed[..];
        let spent = TimeSpent::get(&mut from);
        let [one, other] = self.unpacked.map(|parts| *parts).unwrap_or_default();
        // `array::map` is not used here, because the compiler may turn it into calls that copy the
        // directions several times.
        let mut direction = |parts: UnpackedParts| {
            bool::get(&mut from).then(|| {
                let sequence = Sequence::get(&mut from);
                let una = u64::get(&mut from);
                let mut statistics = Statistics::default();
                statistics.unpack(&mut from);
                let tail = AckedTail::get_after(&statistics.times, &mut from);
                EndedDirection {
                    statistics,
                    sequence,
                    una,
                    tail,
                    retransmissions: parts.retransmissions.into_vec(),
                    floors: parts.floors.map(|floors| *floors).unwrap_or_default(),
                    habits: parts.habits,
                }
            })
        };
        (spent, [direction(one), direction(other)])
    }
}

impl EndedDirection {
    /// Returns a direction that continues this direction.
    pub fn wake(self) -> CapturedDirection {
        let Self { sequence, una, tail, statistics, retransmissions, floors, habits } = self;
        CapturedDirection {
            statistics,
            sender: Sender::resumed(LastAcked::resumed(una, tail), habits),
            floors,
            earlier: retransmissions,
            ..CapturedDirection::new(sequence)
        }
    }
}
