//! A link behind a drop-tail queue: all is decided when a frame enters.

use crate::event::DropReason;
use crate::stage::{Appointment, Frame};
use crate::units::{Duration, Time};

use super::backlog::Backlog;
use super::line::Line;
use super::{Arrival, LinkCount, Parcel, Transit};

/// Instants this close are one: whole nanoseconds lose a fraction at each idle line, so that a
/// departure and an arrival that coincide in truth may stand a little apart.
const GRAIN: Duration = Duration::from_nanos(2);

/// A departure is fixed at the entry, so that a frame in transmission is only an entry in a
/// ring, and one wake-up a link suffices.
#[derive(Debug)]
pub(super) struct DropTail {
    pub(super) line: Line,
    backlog: Backlog,
}

impl DropTail {
    pub(super) fn new(line: Line, backlog: Backlog) -> Self {
        Self { line, backlog }
    }

    /// What the link did; a frame is counted as it enters, so what is held is taken off again.
    pub(super) fn count(&self) -> LinkCount {
        self.line.count.without(self.backlog.held())
    }

    /// Reports the departures up to `now`.
    pub(super) fn settle<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) {
        while let Some((depart, _)) = self.backlog.next()
            && depart <= now
        {
            self.depart(depart, transit);
        }
        self.line.lose(now, transit);
    }

    /// Reports the departures that an arrival at `now`, settled `since` then, comes after.
    ///
    /// Of two things at one instant the one settled first is first, as in any calendar of
    /// events: a departure is settled when its transmission starts.
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
        self.backlog.let_go();
        if transit.events.wanted().queue {
            self.line.report_queue(at, self.backlog.held(), transit);
        }
    }

    /// Takes a frame in; on a plain line its arrival, which is not kept yet.
    ///
    /// Copied in line where frames come from, as what it calls: calls cost a tenth of a hop.
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
        let size = parcel.size_bytes;
        if !self.backlog.admits(size) {
            self.line.refuse(now, DropReason::QueueFull, parcel, transit);
            return None;
        }
        let span = self.line.transmit(now, size);
        self.backlog.add(span.1, size);
        self.line.note_queue(now, self.backlog.held(), transit);
        if self.line.is_plain() {
            return Some(self.line.arrival(by, span, parcel));
        }
        self.line.launch(by, span, parcel, transit);
        None
    }
}
