//! A link with a drop-tail queue, which drops an arriving frame if the queue is full. The departure
//! and the loss of a frame are decided when the frame enters.

use crate::event::DropReason;
use crate::stage::{Appointment, Frame};
use crate::units::{Duration, Time};

use super::backlog::Backlog;
use super::count::LinkCount;
use super::flight::Arrival;
use super::line::Line;
use super::transit::{Parcel, Transit};

/// Instants that differ by at most this time count as the same instant. Each time a line becomes
/// idle, rounding to whole nanoseconds loses a fraction. Because of this rounding, the instants of
/// a departure and an arrival may differ slightly where they should be equal.
const GRAIN: Duration = Duration::from_nanos(2);

/// A link with a drop-tail queue.
///
/// A frame's departure is computed when the frame enters. A frame in transmission is therefore only
/// an entry in a ring, and the link wakes up only when a frame arrives at its far end.
#[derive(Debug)]
pub(super) struct DropTail {
    pub(super) line: Line,
    backlog: Backlog,
}

impl DropTail {
    pub(super) fn new(line: Line, backlog: Backlog) -> Self {
        Self { line, backlog }
    }

    /// The link's counts. A frame counts as carried when it enters the link. So the frames that are
    /// still queued or in transmission are subtracted.
    pub(super) fn count(&self) -> LinkCount {
        self.line.count().without(self.backlog.held())
    }

    /// Reports the departures and the losses up to the instant `now`.
    pub(super) fn settle<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) {
        while let Some((depart, _)) = self.backlog.next()
            && depart <= now
        {
            self.depart(depart, transit);
        }
        self.line.lose(now, transit);
    }

    /// Reports the departures that precede an arrival at the instant `now`. The arrival was
    /// scheduled at the instant `since`.
    ///
    /// If two events are due at the same instant, the event that was scheduled first happens first,
    /// as in any event calendar. A departure is scheduled when the transmission of its frame
    /// starts.
    #[inline(always)]
    fn settle_before<F: Frame>(&mut self, now: Time, since: Time, transit: &mut Transit<F>) {
        while let Some((depart, size)) = self.backlog.next()
            && depart <= now + GRAIN
        {
            if now <= depart + GRAIN {
                let took = self.line.line_time(size);
                if took > GRAIN && since + took < depart {
                    break;
                }
            }
            self.depart(depart, transit);
        }
    }

    #[inline(always)]
    fn depart<F: Frame>(&mut self, at: Time, transit: &mut Transit<F>) {
        self.backlog.remove_next();
        if transit.events.wanted().queue {
            self.line.report_queue(at, self.backlog.held(), transit);
        }
    }

    /// Processes a frame that enters. If the line is plain (see `Line::is_plain`) and the frame is
    /// not dropped, returns the frame's arrival at the far end, which the caller stores. Otherwise
    /// returns `None`.
    ///
    /// This function, and the functions that it calls for every frame, are inlined into their
    /// callers. Calls would take a tenth of the time of a packet-hop (one packet carried over one
    /// link).
    #[inline(always)]
    pub(super) fn take_in<F: Frame>(
        &mut self,
        when: Appointment,
        parcel: Parcel,
        transit: &mut Transit<F>,
    ) -> Option<Arrival> {
        let Appointment { at: now, since, by } = when;
        self.settle_before(now, since, transit);
        if self.line.loses_at_entry(now, parcel, transit) {
            return None;
        }
        let size = parcel.size_bytes();
        if !self.backlog.admits(size) {
            self.line.refuse(now, DropReason::QueueFull, parcel, transit);
            return None;
        }
        let span = self.line.transmit(now, size);
        if !self.line.is_plain()
            && let Some(at) = self.line.flush(now, span.1, parcel)
        {
            self.backlog.add(at, size);
            self.line.note_queue(now, self.backlog.held(), transit);
            return None;
        }
        self.backlog.add(span.1, size);
        self.line.note_queue(now, self.backlog.held(), transit);
        if self.line.is_plain() {
            return Some(self.line.arrival(by, span, parcel));
        }
        self.line.launch(by, span, parcel, transit);
        None
    }
}
