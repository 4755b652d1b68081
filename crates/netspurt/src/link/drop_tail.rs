//! A link behind a drop-tail queue: all is decided when a frame enters.

use crate::event::{DropReason, Events};
use crate::stage::Frame;
use crate::units::Time;

use super::LinkCount;
use super::backlog::Backlog;
use super::line::Line;

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

    #[inline]
    pub(super) fn settle(&mut self, now: Time, events: &mut Events<F>) {
        while let Some(at) = self.backlog.expire(now) {
            if events.wanted().queue {
                self.line.note_queue(at, self.backlog.held(), events);
            }
        }
    }

    #[inline]
    pub(super) fn push(&mut self, now: Time, frame: F, events: &mut Events<F>) {
        self.settle(now, events);
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
        self.line.launch(span, frame, events);
    }
}
