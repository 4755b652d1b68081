//! Active queue management: algorithms that drop or mark before the queue is full.
//!
//! Limits and RED's average include the frame in transmission, as the drop-tail queue does here.
//! The algorithms that measure delay (CoDel, PIE) consider the frames that wait.

mod codel;
mod fifo;
mod fq_codel;
mod pie;
mod red;

use crate::event::DropReason;
use crate::stage::Frame;
use crate::units::Time;

use super::line::Line;
use super::{Parcel, QueueLimit, Transit};
use codel::CoDel;
pub use codel::CoDelConfig;
use fifo::Fifo;
use fq_codel::FqCoDel;
pub use fq_codel::FqCoDelConfig;
use pie::Pie;
pub use pie::PieConfig;
use red::Red;
pub use red::{RedConfig, RedUnit};

/// A queue's limit and its algorithm.
///
/// ```
/// use netspurt::link::{CoDelConfig, Queue, QueueLimit};
/// let plain = Queue::DropTail(QueueLimit::Packets(3));
/// let managed = Queue::CoDel(CoDelConfig::default());
/// assert_ne!(format!("{plain:?}"), format!("{managed:?}"));
/// ```
#[derive(Clone, Debug)]
pub enum Queue {
    /// A frame that finds no room is dropped.
    DropTail(QueueLimit),
    /// Random early detection (Floyd and Jacobson 1993).
    Red(RedConfig),
    /// Controlled delay (RFC 8289).
    CoDel(CoDelConfig),
    /// A queue for each flow, each with CoDel (RFC 8290).
    FqCoDel(FqCoDelConfig),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(PieConfig),
}

impl Queue {
    /// The limit of the queue.
    pub(in crate::link) fn limit(&self) -> QueueLimit {
        match self {
            Queue::DropTail(limit) => *limit,
            Queue::Red(config) => config.limit,
            Queue::CoDel(config) => config.limit,
            Queue::FqCoDel(config) => config.limit,
            Queue::Pie(config) => config.limit,
        }
    }
}

/// The transit, link and time at which an algorithm's decisions are carried out.
pub(super) struct Desk<'a, F> {
    pub(super) line: &'a mut Line,
    pub(super) transit: &'a mut Transit<F>,
}

impl<F: Frame> Desk<'_, F> {
    pub(super) fn drop(&mut self, at: Time, reason: DropReason, parcel: Parcel) {
        self.line.refuse(at, reason, parcel, self.transit);
    }

    pub(super) fn mark(&mut self, at: Time, parcel: Parcel) {
        self.line.mark(at, parcel, self.transit);
    }

    /// Whether the sender of `parcel` is ECN-capable.
    pub(super) fn is_capable(&self, parcel: Parcel) -> bool {
        self.transit.frame(parcel).ecn().is_capable()
    }

    /// Signals congestion through `parcel`: marks and returns it if `ecn` and its sender allow
    /// that, or else drops it.
    pub(super) fn signal(&mut self, at: Time, parcel: Parcel, ecn: bool) -> Option<Parcel> {
        if ecn && self.is_capable(parcel) {
            self.mark(at, parcel);
            return Some(parcel);
        }
        self.drop(at, DropReason::Aqm, parcel);
        None
    }
}

/// The verdict of an algorithm that judges arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Queue it.
    Pass,
    /// Signal congestion through it: a mark, or else a drop.
    Signal,
    /// Drop it, even if it is ECN-capable.
    Drop,
}

/// A managed queue: the waiting frames and the algorithm.
#[derive(Debug)]
pub(super) enum Discipline {
    Red(Red, Fifo),
    CoDel(CoDel, Fifo),
    FqCoDel(FqCoDel),
    Pie(Pie, Fifo),
}

impl Discipline {
    pub(super) fn red(config: RedConfig, line: &Line) -> Self {
        let typical = line.line_time(config.packet_bytes);
        Self::Red(Red::new(config, typical), Fifo::default())
    }

    pub(super) fn codel(config: CoDelConfig) -> Self {
        Self::CoDel(CoDel::new(config), Fifo::default())
    }

    pub(super) fn fq_codel(config: FqCoDelConfig) -> Self {
        Self::FqCoDel(FqCoDel::new(config))
    }

    pub(super) fn pie(config: PieConfig) -> Self {
        Self::Pie(Pie::new(config), Fifo::default())
    }

    /// Waiting frames and octets.
    pub(super) fn waiting(&self) -> (u32, u64) {
        match self {
            Self::Red(_, fifo) | Self::CoDel(_, fifo) | Self::Pie(_, fifo) => fifo.held(),
            Self::FqCoDel(queues) => queues.held(),
        }
    }

    /// Queues `parcel` or drops it; `held` are the frames and octets that wait or are in
    /// transmission.
    pub(super) fn enqueue<F: Frame>(
        &mut self,
        now: Time,
        parcel: Parcel,
        held: (u32, u64),
        desk: &mut Desk<'_, F>,
    ) {
        let size = parcel.size_bytes;
        let (verdict, limit, ecn, fifo) = match self {
            Self::FqCoDel(queues) => return queues.enqueue(now, parcel, held, desk),
            Self::Red(red, fifo) => (red.judge(now, size, held), red.limit(), red.ecn(), fifo),
            Self::CoDel(codel, fifo) => {
                codel.sees(size);
                (Verdict::Pass, codel.limit(), false, fifo)
            }
            Self::Pie(pie, fifo) => (pie.judge(now, fifo.held().1), pie.limit(), pie.ecn(), fifo),
        };
        if !limit.admits(held, size) {
            return desk.drop(now, DropReason::QueueFull, parcel);
        }
        let taken = match verdict {
            Verdict::Pass => Some(parcel),
            Verdict::Signal => desk.signal(now, parcel, ecn),
            Verdict::Drop => desk.signal(now, parcel, false),
        };
        if let Some(parcel) = taken {
            fifo.add(now, parcel);
        }
    }

    /// The next frame for the line, which is free; `None` if none waits.
    pub(super) fn dequeue<F: Frame>(
        &mut self,
        now: Time,
        desk: &mut Desk<'_, F>,
    ) -> Option<Parcel> {
        match self {
            Self::Red(red, fifo) => {
                let next = fifo.take();
                if next.is_none() {
                    red.falls_idle(now);
                }
                next.map(|(_, parcel)| parcel)
            }
            Self::CoDel(codel, fifo) => codel.dequeue(now, fifo, desk),
            Self::FqCoDel(queues) => queues.dequeue(now, desk),
            Self::Pie(pie, fifo) => {
                let (since, parcel) = fifo.take()?;
                pie.left(now, now - since, fifo.held().0 == 0);
                Some(parcel)
            }
        }
    }
}

#[cfg(test)]
mod tests;
