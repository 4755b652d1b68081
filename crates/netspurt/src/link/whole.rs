//! One direction of a link. Frames enter the link and arrive at its other end.

use crate::event::DropReason;
use crate::ip::fragments;
use crate::stage::{Appointment, Frame};
use crate::units::Time;

use super::aqm::{Discipline, Queue};
use super::backlog::Backlog;
use super::config::LinkConfig;
use super::count::LinkCount;
use super::drop_tail::DropTail;
use super::flight::Arrival;
use super::line::Line;
use super::managed::Managed;
use super::mtu::{Mtu, TooBig};
use super::transit::{Parcel, Transit};

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
///     rate: BitRate::new(9600).unwrap().into(),
///     framing: Framing::NONE,
///     delay: Delay::constant(Duration::from_millis(150)),
///     order: Order::Fifo,
///     mtu: None,
///     queue: Queue::DropTail(QueueLimit::Packets(3)),
///     effects: None,
///     handovers: Vec::new(),
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
pub struct Link {
    /// The largest datagram that enters in one piece, in octets.
    most_bytes: u32,
    mtu: Option<Mtu>,
    queued: Queued,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "drop-tail links are the usual ones and are stored inline"
)]
enum Queued {
    DropTail(DropTail),
    Managed(Box<Managed>),
}

impl Link {
    /// Makes a direction of a link. `index` is its number in events.
    pub fn new(index: u32, config: LinkConfig) -> Self {
        let (mtu, queue) = (config.mtu, config.queue.clone());
        let line = Line::new(index, config);
        let managed = |line, discipline| Queued::Managed(Box::new(Managed::new(line, discipline)));
        let queued = match queue {
            Queue::DropTail(limit) => Queued::DropTail(DropTail::new(line, Backlog::new(limit))),
            Queue::Red(config) => {
                let discipline = Discipline::red(config, &line);
                managed(line, discipline)
            }
            Queue::CoDel(config) => managed(line, Discipline::codel(config)),
            Queue::FqCoDel(config) => managed(line, Discipline::fq_codel(config)),
            Queue::Pie(config) => managed(line, Discipline::pie(config)),
        };
        Self { most_bytes: mtu.map_or(u32::MAX, Mtu::bytes), mtu, queued }
    }

    /// The counts of the link, as of the last frame that entered or the last
    /// [`settle`](Self::settle). Frames that were queued or in transmission at that instant are not
    /// counted as carried.
    pub fn count(&self) -> LinkCount {
        match &self.queued {
            Queued::DropTail(link) => link.count(),
            Queued::Managed(link) => link.count(),
        }
    }

    /// When [`take`](Self::take) has something to do next.
    #[inline]
    pub fn appointment(&self) -> Option<Appointment> {
        match &self.queued {
            Queued::DropTail(link) => link.line.first(),
            Queued::Managed(link) => link.appointment(),
        }
    }

    /// The instant at which [`take`](Self::take) has something to do next. The result is
    /// [`Time::NEVER`] if there is nothing to do.
    #[inline]
    pub fn next_at(&self) -> Time {
        match &self.queued {
            Queued::DropTail(link) => link.line.next_at(),
            Queued::Managed(link) => link.appointment().map_or(Time::NEVER, |next| next.at),
        }
    }

    /// Processes a frame that enters at the appointment `when`.
    #[inline]
    pub fn offer<F: Frame>(&mut self, when: Appointment, parcel: Parcel, transit: &mut Transit<F>) {
        if let Some(arrival) = self.take_in(when, parcel, transit) {
            self.keep(arrival);
        }
    }

    /// Processes a frame that enters at the appointment `when`. Returns the frame's arrival if this
    /// arrival is already certain. The caller then passes the arrival to [`keep`](Self::keep) or,
    /// if the link is [`clear`](Self::is_clear), processes it immediately.
    #[inline(always)]
    pub fn take_in<F: Frame>(
        &mut self,
        when: Appointment,
        parcel: Parcel,
        transit: &mut Transit<F>,
    ) -> Option<Arrival> {
        if parcel.size_bytes() > self.most_bytes {
            // The fields are copied. So no pointer to `when` is passed, and `when` can stay in
            // registers.
            let Appointment { at, since, by } = when;
            self.take_in_too_big(Appointment { at, since, by }, parcel, transit);
            return None;
        }
        match &mut self.queued {
            Queued::DropTail(link) => link.take_in(when, parcel, transit),
            Queued::Managed(link) => {
                link.push(when.at, parcel, transit);
                None
            }
        }
    }

    /// Processes a frame that is larger than the link's limit. The link sends the frame's fragments
    /// one right after the other, or drops the frame.
    #[cold]
    #[inline(never)]
    fn take_in_too_big<F: Frame>(
        &mut self,
        when: Appointment,
        parcel: Parcel,
        transit: &mut Transit<F>,
    ) {
        if self.mtu.is_none_or(|mtu| mtu.too_big() == TooBig::Drop) {
            return self.line().refuse(when.at, DropReason::TooBig, parcel, transit);
        }
        let frame = transit.leave(parcel);
        for part in fragments(frame, self.most_bytes) {
            let parcel = transit.enter(part, parcel.home());
            self.offer(when, parcel, transit);
        }
    }

    /// Whether no frame is on its way, if the link [is plain](Self::is_plain). For other links, the
    /// result has no meaning.
    #[inline(always)]
    pub fn is_clear(&self) -> bool {
        matches!(&self.queued, Queued::DropTail(link) if link.line.is_clear())
    }

    /// Stores a frame until it arrives. The arrival must come from [`take_in`](Self::take_in).
    #[inline(always)]
    pub fn keep(&mut self, arrival: Arrival) {
        match &mut self.queued {
            Queued::DropTail(link) => link.line.keep(arrival),
            Queued::Managed(_) => unreachable!("only a drop-tail link returns arrivals to keep"),
        }
    }

    /// Whether the link has a drop-tail queue, keeps the order, and has no effects and no
    /// handovers.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        matches!(&self.queued, Queued::DropTail(link) if link.line.is_plain())
    }

    /// The next frame that has arrived by the instant `now`, if the link [is
    /// plain](Self::is_plain).
    #[inline(always)]
    pub fn take_plain(&mut self, now: Time) -> Option<Arrival> {
        let Queued::DropTail(link) = &mut self.queued else { return None };
        link.line.take_plain(now)
    }

    /// The next arrival, if the link [is plain](Self::is_plain).
    #[inline(always)]
    pub fn first_plain(&self) -> Option<Appointment> {
        let Queued::DropTail(link) = &self.queued else { return None };
        link.line.first_plain()
    }

    /// The next frame that has arrived by the instant `now`.
    #[inline]
    pub fn take<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) -> Option<Arrival> {
        match &mut self.queued {
            Queued::DropTail(link) => link.line.take(now),
            Queued::Managed(link) => link.take(now, transit),
        }
    }

    /// Reports the queue's departures and the losses up to the instant `now`.
    pub fn settle<F: Frame>(&mut self, now: Time, transit: &mut Transit<F>) {
        match &mut self.queued {
            Queued::DropTail(link) => link.settle(now, transit),
            Queued::Managed(link) => link.settle(now, transit),
        }
    }

    fn line(&mut self) -> &mut Line {
        match &mut self.queued {
            Queued::DropTail(link) => &mut link.line,
            Queued::Managed(link) => &mut link.line,
        }
    }
}
