//! Directions of connections that rest, for connections that begin.

use crate::observe::Sequence;

use super::CapturedWay;

/// Directions that are not in use: new connections get the memory of those that rest, which costs
/// less than to free it and to allocate it again.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "who takes one keeps it in its box")]
pub struct SpareWays {
    ways: Vec<Box<CapturedWay>>,
    /// What a direction is packed in before its length is known.
    pub packing: Vec<u8>,
}

impl SpareWays {
    /// The most that are kept.
    const MOST: usize = 1 << 8;

    /// A direction whose first octet is known by `sequence`.
    pub fn begin(&mut self, sequence: Sequence) -> Box<CapturedWay> {
        match self.ways.pop() {
            Some(mut way) => {
                way.begin_again(sequence);
                way
            }
            None => Box::new(CapturedWay::new(sequence)),
        }
    }

    /// Keeps a direction that is not needed.
    pub fn keep(&mut self, way: Box<CapturedWay>) {
        if self.ways.len() < Self::MOST {
            self.ways.push(way);
        }
    }
}
