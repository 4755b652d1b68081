//! One direction of a link: loss, queue, transmission, propagation, in that order.
//!
//! A frame may be lost at the entry, is queued behind a drop-tail limit, is sent at the link's
//! rate, may be lost, copied or held on the way, and arrives after the propagation delay. All
//! of it is decided when the frame enters; one wake-up a link then suffices, and a frame in
//! transmission is only an entry in a ring.

mod backlog;
mod delay;
mod effects;
mod flight;
mod framing;
mod serializer;
mod timeline;

use std::collections::VecDeque;

use crate::event::{DropReason, Events, What};
use crate::stage::{Frame, Port, Stage};
use crate::units::{BitRate, Duration, Time};

use backlog::Backlog;
pub use backlog::QueueLimit;
pub use delay::Delay;
pub use effects::{Effects, Pick};
use flight::Flight;
pub use flight::Order;
pub use framing::Framing;
use serializer::Serializer;
pub use timeline::{Interpolation, Timeline, TimelineError};

/// What one direction of a link is like.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// How fast bits leave.
    pub rate: BitRate,
    /// What the line adds to every datagram.
    pub framing: Framing,
    /// How long they travel.
    pub delay: Delay,
    /// Whether a frame may overtake another on the way.
    pub order: Order,
    /// How much may wait.
    pub queue: QueueLimit,
    /// Losses, copies and detours; `None` for a clean link.
    pub effects: Option<Effects>,
}

impl LinkConfig {
    /// Whether a frame of `size` octets finds room while the queue is empty.
    pub fn has_room_for(&self, size: u32) -> bool {
        Backlog::new(self.queue).admits(size)
    }

    /// The least time in which a frame of `size` octets gets through at any time of the run,
    /// rounded down.
    pub fn least_time(&self, size: u32) -> Duration {
        Serializer::new(self.rate, self.framing).line_time(size) + self.delay.least()
    }
}

/// What a direction of a link did, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Frames whose transmission has ended, lost ones included.
    pub carried: u64,
    /// Their octets, without framing.
    pub carried_bytes: u64,
    /// Frames refused by the full queue.
    pub dropped: u64,
    /// Frames lost at the entry or on the way.
    pub lost: u64,
    /// The longest the queue got, the frame in transmission included.
    pub queue_max: u32,
}

/// One direction of a link.
///
/// ```
/// use netspurt::event::{Events, Wanted};
/// use netspurt::link::{Delay, Framing, Link, LinkConfig, Order, QueueLimit};
/// use netspurt::segment::Segment;
/// use netspurt::stage::Stage;
/// use netspurt::units::{BitRate, Duration, Time};
///
/// let mut modem: Link<Segment> = Link::new(0, LinkConfig {
///     rate: BitRate::new(9600).unwrap(),
///     framing: Framing::NONE,
///     delay: Delay::constant(Duration::from_millis(150)),
///     order: Order::Fifo,
///     queue: QueueLimit::Packets(3),
///     effects: None,
/// });
/// let mut events = Events::new(Wanted::default());
/// modem.push(Time::ZERO, 0, Segment { size_bytes: 1200, ..Segment::default() }, &mut events);
/// assert_eq!(modem.next_wakeup(), Some(Time::from_nanos(1_150_000_000)));
/// ```
#[derive(Debug)]
pub struct Link<F> {
    index: u32,
    serializer: Serializer,
    delay: Delay,
    backlog: Backlog,
    flight: Flight<F>,
    effects: Option<Box<Effects>>,
    /// What the way will lose, in order, and when its transmission ends.
    doomed: VecDeque<(Time, F)>,
    /// With what the backlog holds counted as carried.
    count: LinkCount,
}

impl<F: Frame> Link<F> {
    /// The link direction numbered `index` in events.
    pub fn new(index: u32, config: LinkConfig) -> Self {
        Self {
            index,
            serializer: Serializer::new(config.rate, config.framing),
            delay: config.delay,
            backlog: Backlog::new(config.queue),
            flight: Flight::new(config.order),
            effects: config.effects.map(Box::new),
            doomed: VecDeque::new(),
            count: LinkCount::default(),
        }
    }

    /// What it did up to the last frame or [`settle`](Self::settle). What is queued or in
    /// transmission then is not carried yet.
    pub fn count(&self) -> LinkCount {
        let (packets, bytes) = self.backlog.held();
        LinkCount {
            carried: self.count.carried - u64::from(packets),
            carried_bytes: self.count.carried_bytes - bytes,
            ..self.count
        }
    }

    /// Reports the queue's departures and the losses up to `now`.
    pub fn settle(&mut self, now: Time, events: &mut Events<F>) {
        let index = self.index;
        let wanted = events.wanted().queue;
        while let Some(at) = self.backlog.expire(now) {
            if wanted {
                let (packets, bytes) = self.backlog.held();
                events.report(at, What::Queue { link: index, packets, bytes });
            }
        }
        while let Some(&(at, frame)) = self.doomed.front().filter(|(at, _)| *at <= now) {
            self.doomed.pop_front();
            self.refuse(at, DropReason::Loss, frame, events);
        }
    }

    fn refuse(&mut self, at: Time, reason: DropReason, frame: F, events: &mut Events<F>) {
        match reason {
            DropReason::QueueFull => self.count.dropped += 1,
            DropReason::Loss => self.count.lost += 1,
        }
        if events.wanted().drops {
            events.report(at, What::Dropped { link: self.index, reason, frame });
        }
    }

    /// Sends `frame` on its way where the link has effects.
    #[cold]
    fn travel(&mut self, depart: Time, mut arrival: Time, frame: F) {
        let Some(effects) = &mut self.effects else { unreachable!("only called with effects") };
        let fate = effects.on_the_way(&frame);
        if fate.lost {
            return self.doomed.push_back((depart, frame));
        }
        arrival += fate.held;
        self.flight.add(arrival, frame);
        if let Some(after) = fate.copied {
            self.flight.add(arrival + after, frame);
        }
    }
}

impl<F: Frame> Stage<F> for Link<F> {
    fn push(&mut self, now: Time, _port: Port, frame: F, events: &mut Events<F>) {
        self.settle(now, events);
        if let Some(effects) = &mut self.effects
            && effects.lost_at_entry(&frame)
        {
            return self.refuse(now, DropReason::Loss, frame, events);
        }
        let size = frame.size_bytes();
        if !self.backlog.admits(size) {
            return self.refuse(now, DropReason::QueueFull, frame, events);
        }
        let (start, depart) = self.serializer.transmit(now, size);
        self.backlog.add(depart, size);
        self.count.carried += 1;
        self.count.carried_bytes += u64::from(size);
        let (packets, bytes) = self.backlog.held();
        self.count.queue_max = self.count.queue_max.max(packets);
        if events.wanted().queue {
            events.report(now, What::Queue { link: self.index, packets, bytes });
        }
        let arrival = depart + self.delay.at(start);
        if self.effects.is_some() {
            return self.travel(depart, arrival, frame);
        }
        self.flight.add(arrival, frame);
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.flight.first()
    }

    fn pop(&mut self, now: Time, _events: &mut Events<F>) -> Option<(Time, Port, F)> {
        let (arrival, frame) = self.flight.take(now)?;
        Some((arrival, 0, frame))
    }
}

#[cfg(test)]
mod tests;
