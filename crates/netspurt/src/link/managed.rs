//! A link whose queue a law manages: each departure is decided when it comes.

use crate::event::Events;
use crate::stage::Frame;
use crate::units::Time;

use super::LinkCount;
use super::aqm::{Desk, Discipline};
use super::line::Line;

/// The line is never idle while a frame waits. What is due at an instant leaves, and the next
/// transmission starts, before an arrival at that instant is judged.
#[derive(Debug)]
pub(super) struct Managed<F> {
    pub(super) line: Line<F>,
    discipline: Discipline<F>,
    /// The frame in transmission: when it has left, and its octets.
    in_service: Option<(Time, u32)>,
}

impl<F: Frame> Managed<F> {
    pub(super) fn new(line: Line<F>, discipline: Discipline<F>) -> Self {
        Self { line, discipline, in_service: None }
    }

    /// What the link did; the frame in transmission is counted as it starts, and taken off again.
    pub(super) fn count(&self) -> LinkCount {
        let sending = self.in_service.map_or((0, 0), |(_, size)| (1, u64::from(size)));
        self.line.count.without(sending)
    }

    /// Frames and octets held, those in transmission included.
    fn held(&self) -> (u32, u64) {
        let (packets, bytes) = self.discipline.waiting();
        match self.in_service {
            Some((_, size)) => (packets + 1, bytes + u64::from(size)),
            None => (packets, bytes),
        }
    }

    /// Starts every transmission due by `now`.
    pub(super) fn settle(&mut self, now: Time, events: &mut Events<F>) {
        while let Some((left, _)) = self.in_service.take_if(|(left, _)| *left <= now) {
            self.start(left, events);
            self.line.note_queue(left, self.held(), events);
        }
        self.line.lose(now, events);
    }

    /// Gives the idle line its next frame.
    fn start(&mut self, now: Time, events: &mut Events<F>) {
        let mut desk = Desk { line: &mut self.line, events };
        if let Some(frame) = self.discipline.dequeue(now, &mut desk) {
            let size = frame.size_bytes();
            let span = self.line.transmit(now, size);
            self.in_service = Some((span.1, size));
            self.line.launch(span, frame);
        }
    }

    #[inline(never)]
    pub(super) fn push(&mut self, now: Time, frame: F, events: &mut Events<F>) {
        self.settle(now, events);
        if self.line.loses_at_entry(now, frame, events) {
            return;
        }
        let before = self.held();
        let mut desk = Desk { line: &mut self.line, events };
        self.discipline.enqueue(now, frame, before, &mut desk);
        if self.in_service.is_none() {
            self.start(now, events);
        }
        let after = self.held();
        if after != before {
            self.line.note_queue(now, after, events);
        }
    }

    /// The next arrival, or the next departure that someone waits for, and since when it is
    /// settled; such a departure precedes all else at its instant.
    pub(super) fn appointment(&self) -> Option<(Time, Time)> {
        let waits = self.discipline.waiting().0 > 0;
        let departure = self.in_service.filter(|_| waits).map(|(left, _)| (left, Time::ZERO));
        match (departure, self.line.first()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
