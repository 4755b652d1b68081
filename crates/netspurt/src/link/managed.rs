//! A link whose queue is managed by an algorithm (AQM). RED and PIE decide about a frame when it
//! arrives. CoDel and FQ-CoDel decide when the frame would leave the queue.

use crate::stage::{Appointment, Frame};
use crate::units::Time;

use super::aqm::{DecisionSink, Discipline};
use super::count::LinkCount;
use super::flight::Arrival;
use super::line::Line;
use super::transit::{Parcel, Transit};

/// A link whose queue is managed by an AQM.
///
/// The line is never idle while a frame waits. If a transmission ends and a frame arrives at the
/// same instant, the next transmission starts before the AQM decides about the arriving frame.
#[derive(Debug)]
pub(super) struct Managed {
    pub(super) line: Line,
    discipline: Discipline,
    /// The frame in transmission: the end of its transmission, and its octets.
    in_service: Option<(Time, u32)>,
}

impl Managed {
    pub(super) fn new(line: Line, discipline: Discipline) -> Self {
        Self { line, discipline, in_service: None }
    }

    /// Returns the link's counts. The line counts a frame when the transmission starts, so the
    /// frame in transmission is subtracted.
    pub(super) fn count(&self) -> LinkCount {
        let sending = self.in_service.map_or((0, 0), |(_, size)| (1, u64::from(size)));
        self.line.count().without(sending)
    }

    /// The numbers of frames and octets held, including the frame in transmission.
    fn held(&self) -> (u32, u64) {
        let (packets, bytes) = self.discipline.waiting();
        match self.in_service {
            Some((_, size)) => (packets + 1, bytes + u64::from(size)),
            None => (packets, bytes),
        }
    }

    /// Starts every transmission that is due by the instant `now`, and reports the losses up to the
    /// instant `now`.
    #[inline(never)]
    pub(super) fn settle<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) {
        while let Some((left, _)) = self.in_service.take_if(|(left, _)| *left <= now) {
            self.start(left, transit);
            self.line.note_queue(left, self.held(), transit);
        }
        self.line.lose(now, transit);
    }

    /// The next frame that has arrived by the instant `now`.
    #[inline(never)]
    pub(super) fn take<F: Frame>(
        &mut self,
        now: Time,
        transit: &mut Transit<F>,
    ) -> Option<Arrival> {
        self.settle(now, transit);
        self.line.take(now)
    }

    /// Starts the next transmission on the idle line.
    fn start<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) {
        let mut decision_sink = DecisionSink { line: &mut self.line, transit };
        if let Some(parcel) = self.discipline.dequeue(now, &mut decision_sink) {
            let size = parcel.size_bytes();
            let span = self.line.transmit(now, size);
            self.in_service = Some((span.1, size));
            // The code here does not know which event made the frame enter the link
            // (`Appointment::by`). Frames that arrive at the same instant are therefore ordered
            // only by the start of their transmissions.
            self.line.launch((Time::ZERO, Time::ZERO), span, parcel, transit);
        }
    }

    #[inline(never)]
    pub(super) fn push<F: Frame>(&mut self, now: Time, parcel: Parcel, transit: &mut Transit<F>) {
        self.settle(now, transit);
        if self.line.loses_at_entry(now, parcel, transit) {
            return;
        }
        let before = self.held();
        let mut decision_sink = DecisionSink { line: &mut self.line, transit };
        self.discipline.enqueue(now, parcel, before, &mut decision_sink);
        if self.in_service.is_none() {
            self.start(now, transit);
        }
        let after = self.held();
        if after != before {
            self.line.note_queue(now, after, transit);
        }
    }

    /// The next arrival, or the end of the present transmission if this end is earlier and a frame
    /// waits for it. The end of a transmission precedes everything else at its instant.
    #[inline(never)]
    pub(super) fn appointment(&self) -> Option<Appointment> {
        let waits = self.discipline.waiting().0 > 0;
        let first = |at| Appointment { at, since: Time::ZERO, by: (Time::ZERO, Time::ZERO) };
        let departure = self.in_service.filter(|_| waits).map(|(left, _)| first(left));
        match (departure, self.line.first()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
