//! Directions of connections that have ended.

use std::mem::take;

use crate::observe::Sequence;

use super::{
    AckedTail, CapturedDirection, ExplainedRetransmission, Habits, OtherFloors, Statistics,
};

/// What one side of a connection sent.
#[derive(Clone, Debug)]
pub struct EndedDirection {
    /// The statistics of the direction.
    pub statistics: Statistics,
    /// The sequence space of the direction.
    pub sequence: Sequence,
    /// The first octet not acknowledged.
    pub una: u64,
    /// The last segment, if it is acknowledged.
    pub tail: AckedTail,
    /// The retransmissions of the direction, in order.
    pub retransmissions: Vec<ExplainedRetransmission>,
    /// What retransmission timers with other minimums ([`FLOORS`](super::FLOORS)) would have done.
    pub floors: OtherFloors,
    /// The observed behaviour of the sender, the receiver and the path. `None` unless something
    /// unusual was seen, such as octets that were missing or sent again.
    pub habits: Option<Box<Habits>>,
}

impl EndedDirection {
    /// The statistics of the direction.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The sequence number of the direction's SYN on the wire. `None` if no SYN was captured.
    pub fn initial_seq(&self) -> Option<u32> {
        (self.statistics.packets.syns > 0).then(|| self.sequence.isn())
    }

    /// Converts a direction of a connection that has ended. Takes the statistics, the
    /// retransmissions and the observed behaviour out of `direction`.
    pub fn of(direction: &mut CapturedDirection) -> Self {
        direction.note_place();
        let tail = direction.sender.last_acked.tail(direction.octets.sequence().highest());
        let (retransmissions, floors, habits) = direction.take_findings();
        Self {
            statistics: take(&mut direction.statistics),
            sequence: *direction.octets.sequence(),
            una: direction.octets.una(),
            tail,
            retransmissions,
            floors,
            habits,
        }
    }
}
