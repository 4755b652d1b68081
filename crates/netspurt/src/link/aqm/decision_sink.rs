//! Carries out the decisions of a queue's algorithm (AQM) to mark or drop a frame. This file also
//! has the verdicts on arriving frames.
//!
//! The [`Transit`] stores the frames that are on their way. A parcel is the index of a frame in the
//! transit, with the frame's size and destination.

use crate::event::DropReason;
use crate::link::line::Line;
use crate::link::transit::{Parcel, Transit};
use crate::stage::Frame;
use crate::units::Time;

/// The line of a link (its parts after the queue), and the transit. An algorithm's decisions are
/// applied to the line and to the transit.
pub(in crate::link) struct DecisionSink<'a, F> {
    pub(in crate::link) line: &'a mut Line,
    pub(in crate::link) transit: &'a mut Transit<F>,
}

impl<F: Frame> DecisionSink<'_, F> {
    pub(in crate::link) fn drop(&mut self, at: Time, reason: DropReason, parcel: Parcel) {
        self.line.refuse(at, reason, parcel, self.transit);
    }

    pub(in crate::link) fn mark(&mut self, at: Time, parcel: Parcel) {
        self.line.mark(at, parcel, self.transit);
    }

    /// Whether the frame of `parcel` may be marked, because its sender is ECN-capable.
    pub(in crate::link) fn is_capable(&self, parcel: Parcel) -> bool {
        self.transit.frame(parcel).ecn().is_capable()
    }

    /// Signals congestion. If `ecn` is set and the sender is ECN-capable, marks the frame of
    /// `parcel` and returns `parcel`. Otherwise drops the frame.
    pub(in crate::link) fn signal(
        &mut self,
        at: Time,
        parcel: Parcel,
        ecn: bool,
    ) -> Option<Parcel> {
        if ecn && self.is_capable(parcel) {
            self.mark(at, parcel);
            return Some(parcel);
        }
        self.drop(at, DropReason::Aqm, parcel);
        None
    }
}

/// The verdict of an algorithm that judges arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::link) enum AqmVerdict {
    /// The frame joins the queue if the queue has room.
    Pass,
    /// The sender must learn of congestion. The frame is marked if the algorithm uses ECN and the
    /// sender is ECN-capable, and dropped otherwise.
    Signal,
    /// The frame is dropped, even if its sender is ECN-capable.
    Drop,
}
