//! One direction of a link: loss, queue, transmission, propagation, in that order.
//!
//! A frame may be lost at the entry; it is queued and sent at the link's rate; it may be lost,
//! duplicated or delayed on the way; and it arrives after the propagation delay. With a drop-tail
//! limit all of this is decided when the frame enters. Then one wake-up per link suffices, and a
//! frame in transmission is only an entry in a ring. An AQM decides about each departure at its
//! time.

mod aqm;
mod backlog;
mod delay;
mod drop_tail;
mod effects;
mod extras;
mod flight;
mod framing;
mod line;
mod managed;
mod mtu;
mod serializer;
mod timeline;
mod transit;

use crate::stage::{Appointment, Frame};
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
pub use transit::{Parcel, Transit};

/// The configuration of one direction of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The bit rate.
    pub rate: BitRate,
    /// The overhead of every datagram.
    pub framing: Framing,
    /// The propagation delay.
    pub delay: Delay,
    /// Whether a frame may overtake another.
    pub order: Order,
    /// The largest datagram that it carries, and what happens to larger ones; `None` for no limit.
    pub mtu: Option<Mtu>,
    /// The queue's limit and its algorithm.
    pub queue: Queue,
    /// Losses, duplicates and delayed frames; `None` for a clean link.
    pub effects: Option<Effects>,
}

impl LinkConfig {
    /// The largest frame that enters the queue when a datagram of `size` octets arrives: the
    /// datagram itself, its first fragment, or the largest that is not too big; in octets.
    pub fn largest_part(&self, size: u32) -> u32 {
        self.mtu.map_or(size, |mtu| mtu.largest_part(size))
    }

    /// Whether a frame of `size` octets crosses it in fragments.
    pub fn cuts(&self, size: u32) -> bool {
        self.mtu.is_some_and(|mtu| mtu.cuts(size))
    }

    /// Whether an empty queue has room for a frame of `size` octets.
    pub fn has_room_for(&self, size: u32) -> bool {
        self.queue.limit().admits((0, 0), size)
    }

    /// The least time in which a frame of `size` octets crosses the link at any time of the run,
    /// rounded down.
    pub fn least_time(&self, size: u32) -> Duration {
        Serializer::new(self.rate, self.framing).line_time(size).1 + self.delay.least()
    }
}

/// The sums of one direction of a link, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Frames whose transmission has ended, including lost ones.
    pub carried: u64,
    /// Their octets, without framing.
    pub carried_bytes: u64,
    /// Frames dropped because the queue was full, by its algorithm, or because they were too big.
    pub dropped: u64,
    /// Frames marked by the queue's algorithm instead of being dropped.
    pub marked: u64,
    /// Frames lost at the entry or on the way.
    pub lost: u64,
    /// The greatest length of the queue, including the frame in transmission.
    pub queue_max: u32,
}

impl LinkCount {
    /// The same sums, with `held` frames and octets subtracted from those carried.
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
/// use netspurt::event::Wanted;
/// use netspurt::link::{Delay, Framing, Link, LinkConfig, Order, Queue, QueueLimit, Transit};
/// use netspurt::segment::Segment;
/// use netspurt::stage::Appointment;
/// use netspurt::units::{BitRate, Duration, Time};
///
/// let mut modem = Link::new(0, LinkConfig {
///     rate: BitRate::new(9600).unwrap(),
///     framing: Framing::NONE,
///     delay: Delay::constant(Duration::from_millis(150)),
///     order: Order::Fifo,
///     mtu: None,
///     queue: Queue::DropTail(QueueLimit::Packets(3)),
///     effects: None,
/// });
/// let mut transit = Transit::new(Wanted::default());
/// let parcel = transit.enter(Segment { size_bytes: 1200, ..Segment::default() }, 0);
/// modem.offer(Appointment::default(), parcel, &mut transit);
/// let arrives = Time::from_nanos(1_150_000_000);
/// assert_eq!(modem.appointment().unwrap().at, arrives);
/// let arrival = modem.take(arrives, &mut transit).unwrap();
/// assert_eq!(transit.leave(arrival.parcel).size_bytes, 1200);
/// ```
#[derive(Debug)]
pub struct Link(Inside);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "drop-tail links, the usual ones, lie in line")]
enum Inside {
    DropTail(DropTail),
    Other(Box<Other>),
}

/// The kinds that are stored behind a pointer.
#[derive(Debug)]
enum Other {
    Managed(Managed),
    Narrow(Narrow),
}

impl Link {
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

    /// Its sums up to the last frame or [`settle`](Self::settle). Frames that are then queued or in
    /// transmission are not counted as carried.
    pub fn count(&self) -> LinkCount {
        match &self.0 {
            Inside::DropTail(link) => link.count(),
            Inside::Other(other) => other.count(),
        }
    }

    /// When [`take`](Self::take) has something to do next.
    #[inline]
    pub fn appointment(&self) -> Option<Appointment> {
        match &self.0 {
            Inside::DropTail(link) => link.line.first(),
            Inside::Other(other) => other.appointment(),
        }
    }

    /// Takes a frame at `when`.
    #[inline]
    pub fn offer<F: Frame>(&mut self, when: Appointment, parcel: Parcel, transit: &mut Transit<F>) {
        if let Some(arrival) = self.take_in(when, parcel, transit) {
            self.keep(arrival);
        }
    }

    /// Takes a frame at `when`. If all that happens to the frame is known now, its arrival is
    /// returned. The caller passes the arrival to [`keep`](Self::keep) or, if the link is
    /// [`clear`](Self::is_clear), carries it out at once.
    #[inline(always)]
    pub fn take_in<F: Frame>(
        &mut self,
        when: Appointment,
        parcel: Parcel,
        transit: &mut Transit<F>,
    ) -> Option<Arrival> {
        match &mut self.0 {
            Inside::DropTail(link) => link.take_in(when, parcel, transit),
            Inside::Other(other) => {
                other.offer(when, parcel, transit);
                None
            }
        }
    }

    /// Whether no frame that [`keep`](Self::keep) took is on its way.
    #[inline(always)]
    pub fn is_clear(&self) -> bool {
        matches!(&self.0, Inside::DropTail(link) if link.line.is_clear())
    }

    /// Stores a frame until it arrives.
    #[inline(always)]
    pub fn keep(&mut self, arrival: Arrival) {
        match &mut self.0 {
            Inside::DropTail(link) => link.line.keep(arrival),
            Inside::Other(_) => unreachable!("an arrival that the link handed out"),
        }
    }

    /// The next frame that has arrived by `now`.
    #[inline]
    pub fn take<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) -> Option<Arrival> {
        match &mut self.0 {
            Inside::DropTail(link) => link.line.take(now),
            Inside::Other(other) => other.take(now, transit),
        }
    }

    /// Reports the queue's departures and the losses up to `now`.
    pub fn settle<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) {
        match &mut self.0 {
            Inside::DropTail(link) => link.settle(now, transit),
            Inside::Other(other) => other.settle(now, transit),
        }
    }

    fn line(&mut self) -> &mut Line {
        match &mut self.0 {
            Inside::DropTail(link) => &mut link.line,
            Inside::Other(other) => match &mut **other {
                Other::Managed(link) => &mut link.line,
                Other::Narrow(link) => link.inner.line(),
            },
        }
    }
}

/// These remain calls, so that those of the drop-tail link are inlined.
impl Other {
    fn count(&self) -> LinkCount {
        match self {
            Self::Managed(link) => link.count(),
            Self::Narrow(link) => link.inner.count(),
        }
    }

    #[inline(never)]
    fn appointment(&self) -> Option<Appointment> {
        match self {
            Self::Managed(link) => link.appointment(),
            Self::Narrow(link) => link.inner.appointment(),
        }
    }

    #[inline(never)]
    fn offer<F: Frame>(&mut self, when: Appointment, parcel: Parcel, transit: &mut Transit<F>) {
        match self {
            Self::Managed(link) => link.push(when.at, parcel, transit),
            Self::Narrow(link) => link.offer(when, parcel, transit),
        }
    }

    #[inline(never)]
    fn take<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) -> Option<Arrival> {
        match self {
            Self::Managed(link) => {
                link.settle(now, transit);
                link.line.take(now)
            }
            Self::Narrow(link) => link.inner.take(now, transit),
        }
    }

    fn settle<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) {
        match self {
            Self::Managed(link) => link.settle(now, transit),
            Self::Narrow(link) => link.inner.settle(now, transit),
        }
    }
}

#[cfg(test)]
mod alone;
#[cfg(test)]
mod tests;
