//! What lies behind a link's queue: the transmitter, the way, and the count of what happened.

use std::collections::VecDeque;

use crate::event::{DropReason, Events, What};
use crate::stage::Frame;
use crate::units::{Duration, Time};

use super::flight::{Arrival, Flight};
use super::serializer::Serializer;
use super::{Delay, Effects, LinkConfig, LinkCount};

/// A link direction without its queue.
#[derive(Debug)]
pub(super) struct Line<F> {
    index: u32,
    serializer: Serializer,
    delay: Delay,
    flight: Flight<F>,
    effects: Option<Box<Effects>>,
    /// What the way will lose, in order, and when its transmission ends.
    doomed: VecDeque<(Time, F)>,
    pub(super) count: LinkCount,
}

impl<F: Frame> Line<F> {
    pub(super) fn new(index: u32, config: LinkConfig) -> Self {
        Self {
            index,
            serializer: Serializer::new(config.rate, config.framing),
            delay: config.delay,
            flight: Flight::new(config.order),
            effects: config.effects.map(Box::new),
            doomed: VecDeque::new(),
            count: LinkCount::default(),
        }
    }

    /// How long a frame of `size` octets is in transmission, rounded down.
    pub(super) fn line_time(&self, size: u32) -> Duration {
        self.serializer.line_time(size).1
    }

    /// Whether `frame` is lost before the queue; then that has been reported.
    #[inline]
    pub(super) fn loses_at_entry(&mut self, now: Time, frame: F, events: &mut Events<F>) -> bool {
        self.effects.is_some() && self.picks_at_entry(now, frame, events)
    }

    #[cold]
    fn picks_at_entry(&mut self, now: Time, frame: F, events: &mut Events<F>) -> bool {
        self.lose(now, events);
        let effects = self.effects.as_mut();
        let lost = effects.is_some_and(|effects| effects.lost_at_entry(&frame));
        if lost {
            self.refuse(now, DropReason::Loss, frame, events);
        }
        lost
    }

    /// Counts and reports what the way has lost by `now`: each as its transmission ends.
    #[inline]
    pub(super) fn lose(&mut self, now: Time, events: &mut Events<F>) {
        while let Some(&(at, frame)) = self.doomed.front().filter(|(at, _)| *at <= now) {
            self.doomed.pop_front();
            self.refuse(at, DropReason::Loss, frame, events);
        }
    }

    /// Counts a frame that goes no further, and reports it.
    #[cold]
    pub(super) fn refuse(
        &mut self,
        at: Time,
        reason: DropReason,
        frame: F,
        events: &mut Events<F>,
    ) {
        match reason {
            DropReason::QueueFull | DropReason::Aqm => self.count.dropped += 1,
            DropReason::Loss => self.count.lost += 1,
        }
        if events.wanted().drops {
            events.report(at, What::Dropped { link: self.index, reason, frame });
        }
    }

    /// Marks a frame, counts that and reports it.
    pub(super) fn mark(&mut self, at: Time, frame: F, events: &mut Events<F>) -> F {
        let frame = frame.with_mark();
        self.count.marked += 1;
        if events.wanted().drops {
            events.report(at, What::Marked { link: self.index, frame });
        }
        frame
    }

    /// Reports the queue's length, and remembers the longest.
    #[inline]
    pub(super) fn note_queue(&mut self, at: Time, held: (u32, u64), events: &mut Events<F>) {
        let (packets, bytes) = held;
        self.count.queue_max = self.count.queue_max.max(packets);
        if events.wanted().queue {
            events.report(at, What::Queue { link: self.index, packets, bytes });
        }
    }

    /// Puts `size` octets on the line: when their transmission starts and ends.
    #[inline]
    pub(super) fn transmit(&mut self, now: Time, size: u32) -> (Time, Time) {
        self.count.carried += 1;
        self.count.carried_bytes += u64::from(size);
        self.serializer.transmit(now, size)
    }

    /// Sends a frame on its way whose transmission has been fixed. It is copied in place: a
    /// call costs as much again.
    #[inline(always)]
    pub(super) fn launch(&mut self, (start, depart): (Time, Time), frame: F) {
        let arrival = Arrival { at: depart + self.delay.at(start), since: start, frame };
        if self.effects.is_some() {
            return self.travel(depart, arrival);
        }
        self.flight.add(arrival);
    }

    /// Sends a frame on its way where the link has effects.
    #[cold]
    fn travel(&mut self, depart: Time, mut arrival: Arrival<F>) {
        let Some(effects) = &mut self.effects else { unreachable!("only called with effects") };
        let fate = effects.on_the_way(&arrival.frame);
        if fate.lost {
            return self.doomed.push_back((depart, arrival.frame));
        }
        arrival.at += fate.held;
        self.flight.add(arrival);
        if let Some(after) = fate.copied {
            self.flight.add(Arrival { at: arrival.at + after, ..arrival });
        }
    }

    /// When the next frame arrives, and since when that is settled.
    #[inline]
    pub(super) fn first(&self) -> Option<(Time, Time)> {
        self.flight.first().map(|next| (next.at, next.since))
    }

    /// The next frame, if it has arrived by `now`.
    #[inline]
    pub(super) fn take(&mut self, now: Time) -> Option<Arrival<F>> {
        self.flight.take(now)
    }
}
