//! The line consists of the parts of a link after its queue: the transmitter, the propagation and
//! the counters. A line is plain if it has no extras (see `extras.rs`).
//!
//! The [`Transit`] stores the frames that are on their way. A parcel is the index of a frame in the
//! transit, with the frame's size and destination.

use crate::event::{DropReason, What};
use crate::stage::{Appointment, Frame};
use crate::units::{Duration, Time};

use super::config::LinkConfig;
use super::count::LinkCount;
use super::delay::Delay;
use super::extras::{End, Extras, FutureLoss};
use super::flight::{Arrival, Flight};
use super::serializer::Serializer;
use super::transit::{Parcel, Transit};

/// A link direction without its queue.
#[derive(Debug)]
pub(super) struct Line {
    serializer: Serializer,
    /// The propagation delay, if it is constant and the line is plain.
    delay: Duration,
    /// The propagation delay, if it changes with time and the line is plain.
    moving: Option<Box<Delay>>,
    /// The frames on their way, if they may not overtake each other.
    flight: Flight,
    /// What a plain line does not have: overtaking, effects and handovers.
    extras: Option<Box<Extras>>,
    pub(super) count: LinkCount,
    /// The number of the link's direction in events.
    index: u32,
}

impl Line {
    pub(super) fn new(index: u32, config: LinkConfig) -> Self {
        let serializer = Serializer::new(&config.rate_with_dead_times(), config.framing);
        let (delay, moves) = (config.delay.minimum(), !config.delay.is_constant());
        let (extras, moving) = match Extras::needed(&config) {
            true => (Some(Box::new(Extras::of(config))), None),
            false => (None, moves.then(|| Box::new(config.delay))),
        };
        let (flight, count) = (Flight::default(), LinkCount::default());
        Self { serializer, delay, moving, flight, extras, count, index }
    }

    /// The transmission time of a frame of `size` octets, rounded down.
    pub(super) fn line_time(&self, size: u32) -> Duration {
        self.serializer.line_time(size).1
    }

    /// True if the line is plain: it keeps the order, and has no effects and no handovers.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.extras.is_none()
    }

    /// Whether the frame of `parcel` is lost or dropped before the queue. If so, the method also
    /// reports the loss or the drop.
    #[inline(always)]
    pub(super) fn loses_at_entry<F: Frame>(
        &mut self,
        now: Time,
        parcel: Parcel,
        transit: &mut Transit<F>,
    ) -> bool {
        !self.is_plain() && self.picks_at_entry(now, parcel, transit)
    }

    #[cold]
    #[inline(never)]
    fn picks_at_entry<F: Frame>(
        &mut self,
        now: Time,
        parcel: Parcel,
        transit: &mut Transit<F>,
    ) -> bool {
        self.lose(now, transit);
        let frame = transit.frame(parcel);
        let lost = self.extras.as_mut().and_then(|extras| extras.lost_at_entry(now, frame));
        if let Some(reason) = lost {
            self.refuse(now, reason, parcel, transit);
        }
        lost.is_some()
    }

    /// Counts and reports the frames that were lost on their way, or dropped by handovers, up to
    /// the instant `now`.
    pub(super) fn lose<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) {
        while let Some(loss) = self.extras.as_mut().and_then(|own| own.next_lost(now)) {
            let FutureLoss { at, end, parcel } = loss;
            let reason = match end {
                End::OnTheWay => DropReason::Loss,
                End::OldPath | End::Flushed => DropReason::Handover,
            };
            if end == End::Flushed {
                self.count.carried -= 1;
                self.count.carried_bytes -= u64::from(parcel.size_bytes());
            }
            self.refuse(at, reason, parcel, transit);
        }
    }

    /// When a handover drops the frame of `parcel` from the queue. The result is `None` if no
    /// handover drops it. The frame came at the instant `now`, and its transmission would end at
    /// the instant `end`. After the drop, the transmitter is free.
    #[inline(never)]
    pub(super) fn flush(&mut self, now: Time, end: Time, parcel: Parcel) -> Option<Time> {
        let extras = self.extras.as_mut()?;
        let at = extras.flushes(now, end)?;
        extras.add_loss(at, End::Flushed, parcel);
        self.serializer.flush(at);
        Some(at)
    }

    /// The counts of the line.
    pub(super) fn count(&self) -> LinkCount {
        let overtook = self.extras.as_ref().map_or(0, |extras| extras.overtook());
        LinkCount { overtook, ..self.count }
    }

    /// Counts and reports a frame that is lost or dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse<F: Frame>(
        &mut self,
        at: Time,
        reason: DropReason,
        parcel: Parcel,
        transit: &mut Transit<F>,
    ) {
        match reason {
            DropReason::Loss => self.count.lost += 1,
            _ => self.count.dropped += 1,
        }
        let frame = transit.leave(parcel);
        if transit.events.wanted().drops {
            transit.events.report(at, What::Dropped { link: Some(self.index), reason, frame });
        }
    }

    /// Marks a frame, counts it and reports it.
    pub(super) fn mark<F: Frame>(&mut self, at: Time, parcel: Parcel, transit: &mut Transit<F>) {
        transit.mark(parcel);
        self.count.marked += 1;
        if transit.events.wanted().drops {
            let frame = *transit.frame(parcel);
            transit.events.report(at, What::Marked { link: self.index, frame });
        }
    }

    /// Reports the queue's length and records the maximum.
    #[inline(always)]
    pub(super) fn note_queue<F: Frame>(
        &mut self,
        at: Time,
        held: (u32, u64),
        transit: &mut Transit<F>,
    ) {
        self.count.queue_max = self.count.queue_max.max(held.0);
        if transit.events.wanted().queue {
            self.report_queue(at, held, transit);
        }
    }

    #[inline(never)]
    pub(super) fn report_queue<F: Frame>(
        &self,
        at: Time,
        (packets, bytes): (u32, u64),
        transit: &mut Transit<F>,
    ) {
        transit.events.report(at, What::Queue { link: self.index, packets, bytes });
    }

    /// Transmits `size` octets and returns the start and the end of the transmission.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, size: u32) -> (Time, Time) {
        self.count.carried += 1;
        self.count.carried_bytes += u64::from(size);
        self.serializer.transmit(now, size)
    }

    /// Returns the arrival of a frame on a plain line. The start and the end of its transmission
    /// are already fixed. `by` is the event that caused the frame to enter, as in
    /// [`Appointment::by`].
    #[inline(always)]
    pub(super) fn arrival(
        &mut self,
        by: (Time, Time),
        (start, depart): (Time, Time),
        parcel: Parcel,
    ) -> Arrival {
        let at = match &mut self.moving {
            None => depart + self.delay,
            Some(delay) => self.flight.behind_last(depart + delay.at(start)),
        };
        Arrival { when: Appointment { at, since: start, by }, parcel }
    }

    /// Sends a frame, on any line. The start and the end of its transmission are already fixed.
    pub(super) fn launch<F: Frame>(
        &mut self,
        by: (Time, Time),
        span: (Time, Time),
        parcel: Parcel,
        transit: &mut Transit<F>,
    ) {
        let arrival = self.arrival(by, span, parcel);
        match &mut self.extras {
            None => self.flight.add(arrival),
            Some(extras) => extras.launch(arrival, span.1, &mut self.flight, transit),
        }
    }

    /// True if a plain line has no frame on its way.
    #[inline(always)]
    pub(super) fn is_clear(&self) -> bool {
        self.flight.is_empty()
    }

    /// Keeps a frame on a plain line until it arrives.
    #[inline(always)]
    pub(super) fn keep(&mut self, arrival: Arrival) {
        self.flight.add(arrival);
    }

    /// The next frame on a plain line, if it has arrived by the instant `now`.
    #[inline(always)]
    pub(super) fn take_plain(&mut self, now: Time) -> Option<Arrival> {
        self.flight.take(now)
    }

    /// When the next frame on a plain line arrives.
    #[inline(always)]
    pub(super) fn first_plain(&self) -> Option<Appointment> {
        self.flight.first()
    }

    /// When the next frame arrives.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<Appointment> {
        match &self.extras {
            None => self.flight.first(),
            Some(extras) => extras.first(&self.flight),
        }
    }

    /// The instant at which the next frame arrives. The result is [`Time::NEVER`] if none is on its
    /// way.
    #[inline(always)]
    pub(super) fn next_at(&self) -> Time {
        match &self.extras {
            None => self.flight.next_at(),
            Some(extras) => extras.first(&self.flight).map_or(Time::NEVER, |next| next.at),
        }
    }

    /// The next frame, if it has arrived by the instant `now`.
    #[inline(always)]
    pub(super) fn take(&mut self, now: Time) -> Option<Arrival> {
        match &mut self.extras {
            None => self.flight.take(now),
            Some(extras) => extras.take(now, &mut self.flight),
        }
    }
}
