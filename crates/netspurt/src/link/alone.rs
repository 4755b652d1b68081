//! A single link for tests. A test sends frames into the link, and takes the frames that arrive at
//! its other end.

use crate::event::{Event, Wanted};
use crate::segment::Segment;
use crate::stage::Appointment;
use crate::units::Time;

use super::{Link, LinkConfig, LinkCount, Transit};

/// A single link, with the frames that it carries.
pub(super) struct SingleLink {
    link: Link,
    transit: Transit<Segment>,
}

impl SingleLink {
    /// Makes the link. `index` is its number in events, and `wanted` says which events are
    /// reported.
    pub(super) fn new(index: u32, config: LinkConfig, wanted: Wanted) -> Self {
        Self { link: Link::new(index, config), transit: Transit::new(wanted) }
    }

    /// Sends a frame into the link at the instant `now`.
    pub(super) fn push(&mut self, now: Time, frame: Segment) {
        self.offer((now, now), frame);
    }

    /// Sends a frame into the link at the instant `at`. The arrival of the frame was scheduled at
    /// the instant `since`.
    pub(super) fn offer(&mut self, (at, since): (Time, Time), frame: Segment) {
        let when = Appointment { at, since, by: (at, since) };
        let parcel = self.transit.enter(frame, 0);
        self.link.offer(when, parcel, &mut self.transit);
    }

    /// When the link has something to do next.
    pub(super) fn next_wakeup(&self) -> Option<Time> {
        self.link.appointment().map(|next| next.at)
    }

    /// The next frame that has arrived by the instant `now`, with the instant of its arrival.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Segment)> {
        let arrival = self.link.take(now, &mut self.transit)?;
        Some((arrival.when.at, self.transit.leave(arrival.parcel)))
    }

    /// Ends the run and returns the events and the link's counts. No frame may be on its way.
    pub(super) fn finish(mut self) -> (Vec<Event<Segment>>, LinkCount) {
        self.link.settle(Time::NEVER, &mut self.transit);
        assert!(self.transit.is_empty(), "a frame neither arrived nor was dropped");
        (self.transit.events.drain().collect(), self.link.count())
    }

    /// The link's counts.
    pub(super) fn count(&self) -> LinkCount {
        self.link.count()
    }
}
