//! Ids of flows, of their ends and of transmissions, and the sides and directions of a flow. Each
//! is a type of its own, so they cannot be confused.

use core::fmt;

/// The number of a flow among the flows of its run. The first flow has the number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The index of the flow in a list of flows.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The end of the flow on this side.
    pub const fn end(self, side: Side) -> EndId {
        EndId(self.0 << 1 | side as u32)
    }
}

/// The two sides of a flow. A scenario gives their nodes under the keys `from` and `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Side {
    /// The side that opens the flow.
    From,
    /// The other side, which listens.
    To,
}

impl Side {
    /// Both sides, in the order of their codes.
    pub const BOTH: [Side; 2] = [Side::From, Side::To];

    /// The other side.
    #[must_use]
    pub const fn peer(self) -> Side {
        match self {
            Side::From => Side::To,
            Side::To => Side::From,
        }
    }

    /// The index of the side in a pair: 0 for `from`, 1 for `to`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The direction in which the side's segments travel.
    pub const fn sends(self) -> Direction {
        match self {
            Side::From => Direction::Forward,
            Side::To => Direction::Reverse,
        }
    }

    /// The name in scenarios and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Side::From => "from",
            Side::To => "to",
        }
    }
}

/// The two directions of a link or of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Direction {
    /// In a link: from the first node to the second. In a flow: from the side that opens the flow
    /// to the other side.
    Forward,
    /// The opposite direction.
    Reverse,
}

impl Direction {
    /// The names that tables use, in the order of the codes.
    pub const NAMES: [&str; 2] = ["forward", "reverse"];

    /// Both directions, in the order of their codes.
    pub const BOTH: [Direction; 2] = [Direction::Forward, Direction::Reverse];

    /// The index of the direction in a pair: 0 for forward, 1 for reverse.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name that tables use.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// One end of a flow: the flow and the side.
///
/// ```
/// use netspurt::ids::{EndId, FlowId, Side};
/// let end = FlowId(3).end(Side::To);
/// assert_eq!((end.flow(), end.side(), end.index()), (FlowId(3), Side::To, 7));
/// assert_eq!(end.peer(), FlowId(3).end(Side::From));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndId(u32);

impl EndId {
    /// The end at this index in a list with both ends of each flow. The end `from` of a flow comes
    /// first.
    pub const fn at(place: u32) -> EndId {
        EndId(place)
    }

    /// The length of a list with both ends of each flow, for this number of flows.
    pub const fn places(flows: usize) -> usize {
        2 * flows
    }

    /// The index of the end in a list with both ends of each flow.
    pub const fn place(self) -> u32 {
        self.0
    }

    /// The index of the end in a list with both ends of each flow, as a `usize`.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The flow.
    pub const fn flow(self) -> FlowId {
        FlowId(self.0 >> 1)
    }

    /// The side of the flow on which the end is.
    pub const fn side(self) -> Side {
        if self.0 & 1 == 0 { Side::From } else { Side::To }
    }

    /// The other end of the flow.
    #[must_use]
    pub const fn peer(self) -> EndId {
        EndId(self.0 ^ 1)
    }
}

impl fmt::Debug for EndId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 >> 1, self.side().name())
    }
}

/// The id of one transmission of a segment. It consists of the sending end, and of a count, which
/// increases with each transmission of this end.
///
/// On a real host, each packet increases the count by [`COPIES`](Self::COPIES). A shim, which is a
/// retransmission timer at the host's edge, gives the counts in between to its copies of the
/// packet.
///
/// ```
/// use netspurt::ids::{FlowId, Side, TransmissionId};
/// let end = FlowId(1).end(Side::From);
/// let id = TransmissionId::new(end, 5);
/// assert_eq!((id.sender(), id.count()), (end, 5));
/// let packet = TransmissionId::of_packet(end, 5);
/// assert_eq!((packet.packet(), packet.copy(2).packet(), packet.copy(2) == packet), (5, 5, false));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransmissionId(u64);

impl TransmissionId {
    /// The number of bits for the count. The bits above them name the sender.
    const COUNT_BITS: u32 = 40;
    /// How many counts are reserved for a packet of a real host: one for the packet, and the others
    /// for its copies.
    pub const COPIES: u64 = 256;

    /// The id of the transmission to which `sender` gives the number `count`, below 2⁴⁰.
    pub const fn new(sender: EndId, count: u64) -> Self {
        Self((sender.0 as u64) << Self::COUNT_BITS | count)
    }

    /// The id of the packet to which a real host gives the number `packet`.
    pub const fn of_packet(sender: EndId, packet: u64) -> Self {
        Self::new(sender, packet * Self::COPIES)
    }

    /// The end that sent the transmission.
    pub const fn sender(self) -> EndId {
        EndId((self.0 >> Self::COUNT_BITS) as u32)
    }

    /// The count of the transmission at its sender. In simulations, the first transmission has the
    /// count 1.
    pub const fn count(self) -> u64 {
        self.0 & ((1 << Self::COUNT_BITS) - 1)
    }

    /// The number of the packet at a real host. Copies of the packet have the same number.
    pub const fn packet(self) -> u64 {
        self.count() / Self::COPIES
    }

    /// The id of copy `n` of a packet. `n` is at least 1 and less than [`COPIES`](Self::COPIES).
    /// `self` is the id of the packet.
    #[must_use]
    pub const fn copy(self, n: u64) -> Self {
        Self(self.0 + n)
    }

    /// The id as the number that tables store.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The transmission stored as `bits` in tables.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for TransmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}#{}", self.sender(), self.count())
    }
}
