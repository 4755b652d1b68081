//! One direction of a captured connection.

use crate::observe::{OneWay, Sequence};

use super::{CapturedSegment, ExplainedRetransmission, Limits, OtherFloors, Sender, Statistics};

/// What one side of a captured connection sends.
#[derive(Clone, Debug)]
pub struct CapturedWay {
    /// Its octets, the outstanding segments, and round trips.
    pub octets: OneWay<CapturedSegment>,
    /// The counts of its packets.
    pub statistics: Statistics,
    /// Why it retransmits.
    pub sender: Sender,
    /// What holds it back.
    pub limits: Limits,
    /// Timers with other floors.
    pub floors: OtherFloors,
    /// Its retransmissions before it rested last.
    pub earlier: Vec<ExplainedRetransmission>,
}

impl CapturedWay {
    /// A direction whose first octet is known by `sequence`.
    pub fn new(sequence: Sequence) -> Self {
        Self {
            octets: OneWay::new(sequence),
            statistics: Statistics::default(),
            sender: Sender::default(),
            limits: Limits::default(),
            floors: OtherFloors::default(),
            earlier: Vec::new(),
        }
    }

    /// Becomes a new direction, in the memory of this one.
    pub fn begin_again(&mut self, sequence: Sequence) {
        let before = std::mem::replace(self, Self::new(sequence));
        self.octets = before.octets.begun_again(sequence);
    }

    /// Whether everything that was sent was seen and is acknowledged.
    pub fn is_done(&self) -> bool {
        self.octets.outstanding().is_empty() && !self.statistics.has_holes()
    }
}
