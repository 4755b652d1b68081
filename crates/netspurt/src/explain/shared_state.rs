//! The state that all connections of a capture share.

use crate::observe::Sequence;
use crate::sample::RttSample;
use crate::units::Duration;

use super::other_segments::OtherSegments;
use super::pending::PendingSegments;
use super::{CapturedDirection, Disorder, PackingChunks, TimeSpent, Vantage};

/// The state that all connections of a capture share: facts about the capture, the pending
/// segments that are no [`PlainSegment`](crate::wire::PlainSegment), and memory for reuse.
///
/// When a closed connection is packed (`PackedDirections`), or when a connection ends, later
/// connections reuse its memory. This costs less than freeing the memory and allocating it again.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "a connection takes the box, so the direction is not copied")]
pub struct SharedState {
    /// Directions that are not in use.
    directions: Vec<Box<CapturedDirection>>,
    /// Empty lists of pending segments.
    pending: Vec<PendingSegments>,
    /// Boxes for [`TimeSpent`] that are not in use.
    spent: Vec<Box<TimeSpent>>,
    /// The segments that are not plain, of all connections, until the connections process them.
    pub others: OtherSegments,
    /// Memory for packed connections.
    pub packing: PackingChunks,
    /// Whether packets of the capture are out of order, and by how much time.
    pub disorder: Disorder,
    /// The number of packets that are copies of earlier packets, and the longest time from a packet
    /// to its copy.
    pub copies: (u64, Duration),
    /// Samples of round trips. Each sample comes with the number of the packet that completed the
    /// round trip. This number is the packet's index in the transcript (the stored packets of the
    /// capture).
    pub samples: Vec<(u32, RttSample)>,
    /// The indexes in the transcript of packets whose numbers do not count, because the numbers do
    /// not belong to the packets' connection (see `stray_packets.rs`).
    pub without_numbers: Vec<u32>,
}

/// What the transcript (the stored packets of the capture) must know of a packet.
#[derive(Clone, Copy, Debug)]
pub enum TakenPacket {
    /// The sample of the round trip that the packet completed.
    Sampled(Option<RttSample>),
    /// The numbers of the packet do not belong to its connection (see `stray_packets.rs`).
    WithoutNumbers,
}

impl SharedState {
    /// The maximum number of unused directions, and of unused boxes for [`TimeSpent`].
    const MOST: usize = 1 << 8;
    /// The maximum number of empty lists of pending segments.
    const MOST_PENDING: usize = 1 << 12;

    /// Returns a new direction with the sequence space `sequence`. `vantage` is the capture point,
    /// as far as the packets' headers show it.
    pub fn begin(&mut self, sequence: Sequence, vantage: Vantage) -> Box<CapturedDirection> {
        let mut direction = match self.directions.pop() {
            Some(mut direction) => {
                direction.begin_again(sequence);
                direction
            }
            None => Box::new(CapturedDirection::new(sequence)),
        };
        direction.sender.path.shown(vantage);
        direction
    }

    /// Returns a box with no time spent.
    pub fn begin_spent(&mut self) -> Box<TimeSpent> {
        let mut spent = self.spent.pop().unwrap_or_default();
        *spent = TimeSpent::default();
        spent
    }

    /// Keeps the memory of a box that is no longer needed.
    pub fn keep_spent(&mut self, spent: Box<TimeSpent>) {
        if self.spent.len() < Self::MOST {
            self.spent.push(spent);
        }
    }

    /// Returns an empty list of pending segments.
    pub fn begin_pending(&mut self) -> PendingSegments {
        self.pending.pop().unwrap_or_default()
    }

    /// Keeps the memory of an empty list that is no longer needed.
    pub fn keep_pending(&mut self, pending: PendingSegments) {
        if pending.have_memory() && self.pending.len() < Self::MOST_PENDING {
            self.pending.push(pending);
        }
    }

    /// Notes for the transcript what was found about the packet at the index `place` of the
    /// transcript.
    #[inline]
    pub fn taken(&mut self, place: Option<u32>, taken: TakenPacket) {
        let Some(place) = place else { return };
        match taken {
            TakenPacket::Sampled(sample) => {
                self.samples.extend(sample.map(|sample| (place, sample)))
            }
            TakenPacket::WithoutNumbers => self.without_numbers.push(place),
        }
    }

    /// Keeps the memory of a direction that is no longer needed.
    pub fn keep(&mut self, direction: Box<CapturedDirection>) {
        if self.directions.len() < Self::MOST {
            self.directions.push(direction);
        }
    }
}
