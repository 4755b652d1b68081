//! One direction of a link: loss, queue, transmission, propagation, in that order.
//!
//! A frame may be lost at the entry, is queued, is sent at the link's rate, may be lost, copied
//! or held on the way, and arrives after the propagation delay. Behind a drop-tail limit all of
//! it is decided when the frame enters; one wake-up a link then suffices, and a frame in
//! transmission is only an entry in a ring. A queue that a law manages decides about each
//! departure when it comes.

mod aqm;
mod backlog;
mod delay;
mod drop_tail;
mod effects;
mod flight;
mod framing;
mod line;
mod managed;
mod mtu;
mod serializer;
mod timeline;

use crate::event::Events;
use crate::stage::{Frame, Port, Stage};
use crate::units::{BitRate, Duration, Time};

use aqm::Discipline;
pub use aqm::{CoDelConfig, FqCoDelConfig, PieConfig, Queue, RedConfig, RedUnit};
use backlog::Backlog;
pub use backlog::QueueLimit;
pub use delay::Delay;
use drop_tail::DropTail;
pub use effects::{Effects, Messages, Pick};
pub use flight::{Arrival, Order};
pub use framing::Framing;
use line::Line;
use managed::Managed;
use mtu::Narrow;
pub use mtu::{Mtu, TooBig};
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
    /// The largest datagram it takes, and what becomes of larger ones; `None` takes all.
    pub mtu: Option<Mtu>,
    /// How much may wait, and which law watches over it.
    pub queue: Queue,
    /// Losses, copies and detours; `None` for a clean link.
    pub effects: Option<Effects>,
}

impl LinkConfig {
    /// The octets of the largest frame that enters the queue when one of `size` octets comes: of
    /// that itself, of its first fragment, or of the largest that is not too big.
    pub fn largest_part(&self, size: u32) -> u32 {
        self.mtu.map_or(size, |mtu| mtu.largest_part(size))
    }

    /// Whether a frame of `size` octets crosses it in fragments.
    pub fn cuts(&self, size: u32) -> bool {
        self.mtu.is_some_and(|mtu| mtu.cuts(size))
    }

    /// Whether a frame of `size` octets finds room while the queue is empty.
    pub fn has_room_for(&self, size: u32) -> bool {
        self.queue.limit().admits((0, 0), size)
    }

    /// The least time in which a frame of `size` octets gets through at any time of the run,
    /// rounded down.
    pub fn least_time(&self, size: u32) -> Duration {
        Serializer::new(self.rate, self.framing).line_time(size).1 + self.delay.least()
    }
}

/// What a direction of a link did, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Frames whose transmission has ended, lost ones included.
    pub carried: u64,
    /// Their octets, without framing.
    pub carried_bytes: u64,
    /// Frames dropped, because the queue was full or its law said so, or for their size.
    pub dropped: u64,
    /// Frames marked by the queue's law instead.
    pub marked: u64,
    /// Frames lost at the entry or on the way.
    pub lost: u64,
    /// The longest the queue got, the frame in transmission included.
    pub queue_max: u32,
}

impl LinkCount {
    /// The same without `held` frames and octets among those carried.
    fn without(self, (packets, bytes): (u32, u64)) -> Self {
        Self {
            carried: self.carried - u64::from(packets),
            carried_bytes: self.carried_bytes - bytes,
            ..self
        }
    }
}

/// One direction of a link.
///
/// ```
/// use netspurt::event::{Events, Wanted};
/// use netspurt::link::{Delay, Framing, Link, LinkConfig, Order, Queue, QueueLimit};
/// use netspurt::segment::Segment;
/// use netspurt::stage::Stage;
/// use netspurt::units::{BitRate, Duration, Time};
///
/// let mut modem: Link<Segment> = Link::new(0, LinkConfig {
///     rate: BitRate::new(9600).unwrap(),
///     framing: Framing::NONE,
///     delay: Delay::constant(Duration::from_millis(150)),
///     order: Order::Fifo,
///     mtu: None,
///     queue: Queue::DropTail(QueueLimit::Packets(3)),
///     effects: None,
/// });
/// let mut events = Events::new(Wanted::default());
/// modem.push(Time::ZERO, 0, Segment { size_bytes: 1200, ..Segment::default() }, &mut events);
/// assert_eq!(modem.next_wakeup(), Some(Time::from_nanos(1_150_000_000)));
/// ```
#[derive(Debug)]
pub struct Link<F>(Inside<F>);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "drop-tail links, the usual ones, lie in line")]
enum Inside<F> {
    DropTail(DropTail<F>),
    Other(Box<Other<F>>),
}

/// What does not lie in line.
#[derive(Debug)]
enum Other<F> {
    Managed(Managed<F>),
    Narrow(Narrow<F>),
}

impl<F: Frame> Link<F> {
    /// The link direction numbered `index` in events.
    pub fn new(index: u32, mut config: LinkConfig) -> Self {
        if let Some(mtu) = config.mtu.take() {
            let narrow = Narrow::new(mtu, Self::new(index, config));
            return Self(Inside::Other(Box::new(Other::Narrow(narrow))));
        }
        let queue = config.queue.clone();
        let line = Line::new(index, config);
        let discipline = match queue {
            Queue::DropTail(limit) => {
                return Self(Inside::DropTail(DropTail::new(line, Backlog::new(limit))));
            }
            Queue::Red(config) => Discipline::red(config, &line),
            Queue::CoDel(config) => Discipline::codel(config),
            Queue::FqCoDel(config) => Discipline::fq_codel(config),
            Queue::Pie(config) => Discipline::pie(config),
        };
        Self(Inside::Other(Box::new(Other::Managed(Managed::new(line, discipline)))))
    }

    /// What it did up to the last frame or [`settle`](Self::settle). What is queued or in
    /// transmission then is not carried yet.
    pub fn count(&self) -> LinkCount {
        match &self.0 {
            Inside::DropTail(link) => link.count(),
            Inside::Other(other) => other.count(),
        }
    }

    /// The next instant at which [`take`](Self::take) has something to do, and since when that
    /// is settled.
    #[inline]
    pub fn appointment(&self) -> Option<(Time, Time)> {
        match &self.0 {
            Inside::DropTail(link) => link.line.first(),
            Inside::Other(other) => other.appointment(),
        }
    }

    /// Takes `frame` in at the first instant of `when`; the second is since when that is settled.
    ///
    /// Instants never fall from call to call.
    #[inline]
    pub fn offer(&mut self, when: (Time, Time), frame: F, events: &mut Events<F>) {
        match &mut self.0 {
            Inside::DropTail(link) => link.offer(when, frame, events),
            Inside::Other(other) => other.offer(when, frame, events),
        }
    }

    /// The next frame that has arrived by `now`.
    #[inline]
    pub fn take(&mut self, now: Time, events: &mut Events<F>) -> Option<Arrival<F>> {
        match &mut self.0 {
            Inside::DropTail(link) => link.line.take(now),
            Inside::Other(other) => other.take(now, events),
        }
    }

    /// Reports the queue's departures and the losses up to `now`.
    pub fn settle(&mut self, now: Time, events: &mut Events<F>) {
        match &mut self.0 {
            Inside::DropTail(link) => link.settle(now, events),
            Inside::Other(other) => other.settle(now, events),
        }
    }

    fn line(&mut self) -> &mut Line<F> {
        match &mut self.0 {
            Inside::DropTail(link) => &mut link.line,
            Inside::Other(other) => match &mut **other {
                Other::Managed(link) => &mut link.line,
                Other::Narrow(link) => link.inner.line(),
            },
        }
    }
}

/// Calls stay calls, so that the drop-tail link's are copied in line.
impl<F: Frame> Other<F> {
    fn count(&self) -> LinkCount {
        match self {
            Self::Managed(link) => link.count(),
            Self::Narrow(link) => link.inner.count(),
        }
    }

    #[inline(never)]
    fn appointment(&self) -> Option<(Time, Time)> {
        match self {
            Self::Managed(link) => link.appointment(),
            Self::Narrow(link) => link.inner.appointment(),
        }
    }

    #[inline(never)]
    fn offer(&mut self, when: (Time, Time), frame: F, events: &mut Events<F>) {
        match self {
            Self::Managed(link) => link.push(when.0, frame, events),
            Self::Narrow(link) => link.offer(when, frame, events),
        }
    }

    #[inline(never)]
    fn take(&mut self, now: Time, events: &mut Events<F>) -> Option<Arrival<F>> {
        match self {
            Self::Managed(link) => {
                link.settle(now, events);
                link.line.take(now)
            }
            Self::Narrow(link) => link.inner.take(now, events),
        }
    }

    fn settle(&mut self, now: Time, events: &mut Events<F>) {
        match self {
            Self::Managed(link) => link.settle(now, events),
            Self::Narrow(link) => link.inner.settle(now, events),
        }
    }
}

impl<F: Frame> Stage<F> for Link<F> {
    #[inline]
    fn push(&mut self, now: Time, _port: Port, frame: F, events: &mut Events<F>) {
        self.offer((now, now), frame, events);
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Time> {
        self.appointment().map(|(at, _)| at)
    }

    #[inline]
    fn pop(&mut self, now: Time, events: &mut Events<F>) -> Option<(Time, Port, F)> {
        let arrival = self.take(now, events)?;
        Some((arrival.at, 0, arrival.frame))
    }
}

#[cfg(test)]
mod tests;
