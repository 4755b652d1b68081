//! The connections of a capture that have ended, packed to take little memory.

use std::net::SocketAddr;
use std::{iter, vec};

use crate::ids::Side;
use crate::observe::Retired;

use super::packed_directions::{PackedDirections, UnpackedParts};
use super::{CapturedConnection, EndedConnection, SharedState};

/// A connection that has ended. Its statistics are packed.
#[derive(Clone, Debug)]
pub struct PackedConnection {
    number: u64,
    ends: [SocketAddr; 2],
    first_side: Side,
    directions: PackedDirections,
}

impl PackedConnection {
    /// Packs a connection that has ended. Before that, the connection processes the segments that
    /// it has kept. `shared` is the state that all connections share.
    pub fn of(retired: Retired<CapturedConnection>, shared: &mut SharedState) -> Self {
        let Retired { number, ends, mut state } = retired;
        state.take_pending(shared);
        let first_side = state.first_side();
        Self { number, ends, first_side, directions: state.finish(shared) }
    }

    /// Unpacks the connection.
    pub fn unpack(self) -> EndedConnection {
        let Self { number, ends, first_side, directions } = self;
        let (spent, directions) = directions.unpack();
        EndedConnection::new(number, (ends, first_side), spent, directions)
    }

    /// The address and the port of `side`.
    pub fn end(&self, side: Side) -> SocketAddr {
        self.ends[side.index()]
    }

    /// The parts of the direction of `side` that are not packed. `None` if neither direction has
    /// such parts.
    pub fn parts(&self, side: Side) -> Option<&UnpackedParts> {
        self.directions.parts().map(|both| &both[side.index()])
    }

    /// Like [`parts`](Self::parts), but the caller may change the parts.
    pub fn parts_mut(&mut self, side: Side) -> Option<&mut UnpackedParts> {
        self.directions.parts_mut().map(|both| &mut both[side.index()])
    }
}

/// The connections of a capture that have ended, in the order of their numbers. Their statistics
/// are packed, and a connection is unpacked when it is needed. If they were not packed, each
/// connection would take about 2 KB.
///
/// ```
/// use netspurt::explain::EndedConnections;
/// let none = EndedConnections::default();
/// assert_eq!((none.len(), none.iter().count()), (0, 0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct EndedConnections(Vec<PackedConnection>);

impl EndedConnections {
    /// Puts `connections` into the order of their numbers.
    pub fn of(mut connections: Vec<PackedConnection>) -> Self {
        connections.sort_unstable_by_key(|one| one.number);
        Self(connections)
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Unpacks the connection at the index `place`.
    ///
    /// # Panics
    /// When there is no such connection.
    pub fn at(&self, place: usize) -> EndedConnection {
        self.0[place].clone().unpack()
    }

    /// Unpacks the connections one after another.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = EndedConnection> + '_ {
        self.0.iter().map(|one| one.clone().unpack())
    }

    /// Adds copies of the connections of another capture, with the next numbers.
    pub fn add(&mut self, others: &Self) {
        let first = self.0.len() as u64;
        let numbered = others.0.iter().cloned().zip(first..);
        self.0.extend(numbered.map(|(one, number)| PackedConnection { number, ..one }));
    }

    /// The packed connections.
    pub fn packed(&mut self) -> &mut [PackedConnection] {
        &mut self.0
    }
}

/// Unpacks the connections one after another, and frees their packed forms.
impl IntoIterator for EndedConnections {
    type Item = EndedConnection;
    type IntoIter = iter::Map<vec::IntoIter<PackedConnection>, fn(PackedConnection) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(PackedConnection::unpack)
    }
}
