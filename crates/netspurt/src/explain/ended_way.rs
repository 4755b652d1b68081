//! Directions of connections that have ended.

use crate::observe::Sequence;

use super::resting::RestingWay;
use super::{CapturedWay, ExplainedRetransmission, Habits, OtherFloors, Statistics};

/// What one side of a connection sent.
#[derive(Clone, Debug)]
pub struct EndedWay {
    /// Its statistics.
    pub statistics: Statistics,
    /// Its sequence space.
    pub sequence: Sequence,
    /// The first octet not acknowledged.
    pub una: u64,
    /// Its retransmissions, in order.
    pub retransmissions: Vec<ExplainedRetransmission>,
    /// What timers with other floors would have done.
    pub floors: OtherFloors,
    /// The observed behaviour of its sender, receiver and path, if anything was missing or sent
    /// again.
    pub habits: Option<Box<Habits>>,
}

impl EndedWay {
    /// Its statistics.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Converts a direction of a connection that has ended.
    pub fn of(way: CapturedWay) -> Self {
        let CapturedWay {
            octets, statistics, sender, floors, earlier: mut retransmissions, ..
        } = way;
        let habits = sender.habits();
        retransmissions.extend(sender.finish());
        let (sequence, una) = (*octets.sequence(), octets.una());
        Self { statistics, sequence, una, retransmissions, floors, habits }
    }

    /// Converts a resting direction of a connection that has ended.
    pub fn of_resting(way: RestingWay) -> Self {
        let (statistics, sequence) = (way.statistics(), *way.sequence());
        let (retransmissions, floors, habits) = way.into_parts();
        let una = sequence.highest();
        Self { statistics, sequence, una, retransmissions, floors, habits }
    }
}
