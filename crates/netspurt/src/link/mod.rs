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

use crate::event::{DropReason, Events, What};
use crate::stage::{Frame, Port, Stage};
use crate::units::{BitRate, Duration, Time};

use backlog::Backlog;
pub use backlog::QueueLimit;
pub use delay::Delay;
pub use effects::{Effects, Pick};
use flight::Flight;
pub use flight::{Arrival, Order};
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
    /// Whether every frame arrives in the instant in which it enters.
    pub fn is_instant(&self) -> bool {
        self.rate == BitRate::UNLIMITED && self.delay.is_nothing()
    }
}

/// Instants this close are one: whole nanoseconds lose a fraction at each idle line, so that a
/// departure and an arrival that coincide in truth may stand a little apart.
const GRAIN: Duration = Duration::from_nanos(2);

/// What a direction of a link did, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Frames transmitted, lost ones included.
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
            count: LinkCount::default(),
        }
    }

    /// What it did so far.
    pub fn count(&self) -> LinkCount {
        self.count
    }

    /// When the next frame arrives, and since when that is settled.
    #[inline]
    pub fn next_arrival(&self) -> Option<(Time, Time)> {
        self.flight.first().map(|next| (next.at, next.since))
    }

    /// The next frame that has arrived by `now`.
    #[inline]
    pub fn take(&mut self, now: Time) -> Option<Arrival<F>> {
        self.flight.take(now)
    }

    /// Reports the queue's departures up to `now`.
    pub fn settle(&mut self, now: Time, events: &mut Events<F>) {
        while let Some((depart, _)) = self.backlog.next()
            && depart <= now
        {
            self.depart(depart, events);
        }
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
            let took = self.serializer.line_time(size);
            if now <= depart + GRAIN && took > GRAIN && since + took < depart {
                break;
            }
            self.depart(depart, events);
        }
    }

    fn depart(&mut self, at: Time, events: &mut Events<F>) {
        self.backlog.let_go();
        if events.wanted().queue {
            let (packets, bytes) = self.backlog.held();
            events.report(at, What::Queue { link: self.index, packets, bytes });
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

    /// Takes `arrival.frame` in at `arrival.at`.
    ///
    /// Instants never fall from call to call.
    pub fn offer(&mut self, arrival: &Arrival<F>, events: &mut Events<F>) {
        let Arrival { at: now, since, frame } = *arrival;
        self.settle_before(now, since, events);
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
        let arrival = Arrival { at: depart + self.delay.at(start), since: start, frame };
        if self.effects.is_some() {
            return self.travel(depart, arrival, events);
        }
        self.flight.add(arrival);
    }

    /// Sends a frame on its way where the link has effects.
    #[cold]
    fn travel(&mut self, depart: Time, mut arrival: Arrival<F>, events: &mut Events<F>) {
        let Some(effects) = &mut self.effects else { unreachable!("only called with effects") };
        let fate = effects.on_the_way(&arrival.frame);
        if fate.lost {
            return self.refuse(depart, DropReason::Loss, arrival.frame, events);
        }
        arrival.at += fate.held;
        self.flight.add(arrival);
        if let Some(after) = fate.copied {
            self.flight.add(Arrival { at: arrival.at + after, ..arrival });
        }
    }
}

impl<F: Frame> Stage<F> for Link<F> {
    fn push(&mut self, now: Time, _port: Port, frame: F, events: &mut Events<F>) {
        self.offer(&Arrival { at: now, since: now, frame }, events);
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.flight.first().map(|next| next.at)
    }

    fn pop(&mut self, now: Time, _events: &mut Events<F>) -> Option<(Time, Port, F)> {
        let arrival = self.flight.take(now)?;
        Some((arrival.at, 0, arrival.frame))
    }
}

#[cfg(test)]
mod tests;
