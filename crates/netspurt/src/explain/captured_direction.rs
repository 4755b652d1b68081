//! One direction of a captured connection.

use std::mem::take;

use crate::observe::{OneWay, Sequence};

use super::{
    CapturedSegment, ExplainedRetransmission, Habits, Limits, OtherFloors, Sender, Statistics,
};

/// What one side of a captured connection sends.
#[derive(Clone, Debug)]
pub struct CapturedDirection {
    /// The sequence space, the outstanding segments and the round trips of the direction.
    pub octets: OneWay<CapturedSegment>,
    /// The statistics of the direction's packets.
    pub statistics: Statistics,
    /// The state of the sender, from which the causes of retransmissions are inferred.
    pub sender: Sender,
    /// What limits the sender.
    pub limits: Limits,
    /// What timers with other floors would have done.
    pub floors: OtherFloors,
    /// The retransmissions that were found before the connection was last packed
    /// (`PackedDirections`).
    pub earlier: Vec<ExplainedRetransmission>,
}

/// What was found out about a direction: its retransmissions, what timers with other floors would
/// have done, and the observed behaviour.
pub type Findings = (Vec<ExplainedRetransmission>, OtherFloors, Option<Box<Habits>>);

impl CapturedDirection {
    /// Returns a new direction with the sequence space `sequence`.
    pub fn new(sequence: Sequence) -> Self {
        Self {
            octets: OneWay::new(sequence).dividing(),
            statistics: Statistics::default(),
            sender: Sender::default(),
            limits: Limits::default(),
            floors: OtherFloors::default(),
            earlier: Vec::new(),
        }
    }

    /// Makes this a new direction, and uses the memory of the old one.
    pub fn begin_again(&mut self, sequence: Sequence) {
        let Self { octets, statistics, sender, limits, floors, earlier } = self;
        *octets = std::mem::replace(octets, OneWay::new(sequence)).begun_again(sequence);
        *statistics = Statistics::default();
        *sender = Sender::default();
        *limits = Limits::default();
        *floors = OtherFloors::default();
        *earlier = Vec::new();
    }

    /// Takes the findings out of the direction: its retransmissions, what timers with other floors
    /// would have done, and the observed behaviour.
    pub fn take_findings(&mut self) -> Findings {
        let habits = self.sender.habits();
        let mut retransmissions = take(&mut self.earlier);
        retransmissions.extend(take(&mut self.sender).finish());
        (retransmissions, take(&mut self.floors), habits)
    }

    /// Whether all octets were captured and are acknowledged.
    pub fn is_done(&self) -> bool {
        self.octets.outstanding().is_empty() && !self.statistics.has_holes()
    }
}
