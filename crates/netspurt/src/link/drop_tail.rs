//! A link behind a drop-tail queue: all is decided when a frame enters.

use crate::event::{DropReason, Events};
use crate::stage::Frame;
use crate::units::{Duration, Time};

use super::LinkCount;
use super::backlog::Backlog;
use super::line::Line;

/// Instants this close are one: whole nanoseconds lose a fraction at each idle line, so that a
/// departure and an arrival that coincide in truth may stand a little apart.
const GRAIN: Duration = Duration::from_nanos(2);

/// A departure is fixed at the entry, so that a frame in transmission is only an entry in a
/// ring, and one wake-up a link suffices.
#[derive(Debug)]
pub(super) struct DropTail<F> {
    pub(super) line: Line<F>,
    backlog: Backlog,
}

impl<F: Frame> DropTail<F> {
    pub(super) fn new(line: Line<F>, backlog: Backlog) -> Self {
        Self { line, backlog }
    }

    /// What the link did; a frame is counted as it enters, so what is held is taken off again.
    pub(super) fn count(&self) -> LinkCount {
        self.line.count.without(self.backlog.held())
    }

    /// Reports the departures up to `now`.
    pub(super) fn settle(&mut self, now: Time, events: &mut Events<F>) {
        while let Some((depart, _)) = self.backlog.next()
            && depart <= now
        {
            self.depart(depart, events);
        }
        self.line.lose(now, events);
    }

    /// Reports the departures that an arrival at `now`, settled `since` then, comes after.
    ///
    /// Of two things at one instant the one settled first is first, as in any calendar of
    /// events: a departure is settled when its transmission starts.
    #[inline]
    fn settle_before(&mut self, now: Time, since: Time, events: &mut Events<F>) {
        while let Some((depart, size)) = self.backlog.next()
            && depart <= now + GRAIN
        {
            if now <= depart + GRAIN {
                let took = self.line.line_time(size);
                if took > GRAIN && since + took < depart {
                    break;
                }
            }
            self.depart(depart, events);
        }
    }

    #[inline]
    fn depart(&mut self, at: Time, events: &mut Events<F>) {
        self.backlog.let_go();
        if events.wanted().queue {
            self.line.note_queue(at, self.backlog.held(), events);
        }
    }

    #[inline]
    pub(super) fn offer(&mut self, (now, since): (Time, Time), frame: F, events: &mut Events<F>) {
        self.settle_before(now, since, events);
        if self.line.loses_at_entry(now, frame, events) {
            return;
        }
        let size = frame.size_bytes();
        if !self.backlog.admits(size) {
            return self.line.refuse(now, DropReason::QueueFull, frame, events);
        }
        let span = self.line.transmit(now, size);
        self.backlog.add(span.1, size);
        self.line.note_queue(now, self.backlog.held(), events);
        self.line.launch(span, frame);
    }
}
