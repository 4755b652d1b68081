//! The parts of an acknowledgment that ns-2's senders use.

use crate::segment::SackBlock;
use crate::seq;
use crate::units::Time;

/// An acknowledgment as the sender sees it.
pub(super) struct Ack<'a> {
    /// The next octet the receiver expects.
    pub(super) ack: u64,
    pub(super) blocks: &'a [SackBlock],
    /// The stamp it echoes.
    pub(super) echo: Time,
}

impl Ack<'_> {
    /// The SACK blocks, as ranges of octets counted near `una`.
    pub(super) fn ranges(&self, una: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let count = move |wire| seq::from_wire(seq::SIMULATED_ISN, wire, una);
        self.blocks.iter().map(move |block| (count(block.left), count(block.right)))
    }
}
