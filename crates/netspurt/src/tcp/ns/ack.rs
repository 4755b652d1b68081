//! An acknowledgment, reduced to the parts that the senders of the network simulator ns-2 use.

use crate::segment::SackBlock;
use crate::seq;
use crate::units::Time;

/// An acknowledgment as the sender sees it.
pub(super) struct Ack<'a> {
    /// The next octet the receiver expects.
    pub(super) ack: u64,
    pub(super) blocks: &'a [SackBlock],
    /// The timestamp that the ACK echoes.
    pub(super) echo: Time,
    /// By how much the sender's octet numbers exceed the numbers on the wire.
    pub(super) syn_room: u64,
}

impl Ack<'_> {
    /// The SACK blocks as ranges of octets. Numbers on the wire begin again after 2^32, so a number
    /// stands for several octets. This function takes the octet that is nearest to `una`, the
    /// oldest octet that is not acknowledged.
    pub(super) fn ranges(&self, una: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let near = una.saturating_sub(self.syn_room);
        let count = move |wire| seq::from_wire(seq::SIMULATED_ISN, wire, near) + self.syn_room;
        self.blocks.iter().map(move |block| (count(block.left), count(block.right)))
    }

    /// Whether a block starts in the range `low..high`, ends in this range, or spans it. Packets
    /// start at the octets `low` and `high`. A block that ends at the octet `high` counts. A block
    /// that ends at the octet `low` does not count.
    pub(super) fn reports(&self, una: u64, (low, high): (u64, u64)) -> bool {
        self.ranges(una).any(|(left, right)| {
            let ends = right > low && right <= high;
            let starts = left >= low && left < high;
            ends || starts || left < low && right > high
        })
    }
}
