//! Laws that manage a queue: when to drop or mark before it is full.
//!
//! Limits and RED's average count the frame in transmission, as drop-tail does here. The laws
//! that measure delay (CoDel, PIE) look at what waits behind it.

mod codel;
mod fifo;
mod fq_codel;
mod pie;
mod red;

use crate::event::{DropReason, Events};
use crate::stage::Frame;
use crate::units::Time;

use super::QueueLimit;
use super::line::Line;
use codel::CoDel;
pub use codel::CoDelConfig;
use fifo::Fifo;
use fq_codel::FqCoDel;
pub use fq_codel::FqCoDelConfig;
use pie::Pie;
pub use pie::PieConfig;
use red::Red;
pub use red::{RedConfig, RedUnit};

/// A queue: how much it holds, and which law watches over it.
///
/// ```
/// use netspurt::link::{CoDelConfig, Queue, QueueLimit};
/// let plain = Queue::DropTail(QueueLimit::Packets(3));
/// let managed = Queue::CoDel(CoDelConfig::default());
/// assert_ne!(format!("{plain:?}"), format!("{managed:?}"));
/// ```
#[derive(Clone, Debug)]
pub enum Queue {
    /// Whatever finds no room is dropped.
    DropTail(QueueLimit),
    /// Random early detection (Floyd and Jacobson 1993).
    Red(RedConfig),
    /// Controlled delay (RFC 8289).
    CoDel(CoDelConfig),
    /// A queue for each flow, each under CoDel (RFC 8290).
    FqCoDel(FqCoDelConfig),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(PieConfig),
}

impl Queue {
    /// How much it may hold at all.
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

/// Where a law's decisions go.
pub(super) struct Desk<'a, F> {
    pub(super) line: &'a mut Line<F>,
    pub(super) events: &'a mut Events<F>,
}

impl<F: Frame> Desk<'_, F> {
    pub(super) fn drop(&mut self, at: Time, reason: DropReason, frame: F) {
        self.line.refuse(at, reason, frame, self.events);
    }

    pub(super) fn mark(&mut self, at: Time, frame: F) -> F {
        self.line.mark(at, frame, self.events)
    }

    /// Signals congestion by `frame`: marks it, where `ecn` and its sender allow, and hands it
    /// back, or drops it.
    pub(super) fn signal(&mut self, at: Time, frame: F, ecn: bool) -> Option<F> {
        if ecn && frame.ecn().is_capable() {
            return Some(self.mark(at, frame));
        }
        self.drop(at, DropReason::Aqm, frame);
        None
    }
}

/// What a law that judges arrivals says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Let it in.
    Pass,
    /// Signal congestion by it: a mark, or else a drop.
    Signal,
    /// Drop it, whatever it is capable of.
    Drop,
}

/// A managed queue: the frames that wait, and the law.
#[derive(Debug)]
pub(super) enum Discipline<F> {
    Red(Red, Fifo<F>),
    CoDel(CoDel, Fifo<F>),
    FqCoDel(FqCoDel<F>),
    Pie(Pie, Fifo<F>),
}

impl<F: Frame> Discipline<F> {
    pub(super) fn red(config: RedConfig, line: &Line<F>) -> Self {
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

    /// Frames and octets that wait.
    pub(super) fn waiting(&self) -> (u32, u64) {
        match self {
            Self::Red(_, fifo) | Self::CoDel(_, fifo) | Self::Pie(_, fifo) => fifo.held(),
            Self::FqCoDel(queues) => queues.held(),
        }
    }

    /// Takes `frame` in, or does not; `held` are the frames and octets that wait or are in
    /// transmission.
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        frame: F,
        held: (u32, u64),
        desk: &mut Desk<'_, F>,
    ) {
        let size = frame.size_bytes();
        let (verdict, limit, ecn, fifo) = match self {
            Self::FqCoDel(queues) => return queues.enqueue(now, frame, held, desk),
            Self::Red(red, fifo) => (red.judge(now, size, held), red.limit(), red.ecn(), fifo),
            Self::CoDel(codel, fifo) => {
                codel.sees(size);
                (Verdict::Pass, codel.limit(), false, fifo)
            }
            Self::Pie(pie, fifo) => (pie.judge(now, fifo.held().1), pie.limit(), pie.ecn(), fifo),
        };
        if !limit.admits(held, size) {
            return desk.drop(now, DropReason::QueueFull, frame);
        }
        let taken = match verdict {
            Verdict::Pass => Some(frame),
            Verdict::Signal => desk.signal(now, frame, ecn),
            Verdict::Drop => desk.signal(now, frame, false),
        };
        if let Some(frame) = taken {
            fifo.add(now, frame);
        }
    }

    /// The next frame for the line, which is free; `None` once nothing waits.
    pub(super) fn dequeue(&mut self, now: Time, desk: &mut Desk<'_, F>) -> Option<F> {
        match self {
            Self::Red(red, fifo) => {
                let next = fifo.take();
                if next.is_none() {
                    red.falls_idle(now);
                }
                next.map(|(_, frame)| frame)
            }
            Self::CoDel(codel, fifo) => codel.dequeue(now, fifo, desk),
            Self::FqCoDel(queues) => queues.dequeue(now, desk),
            Self::Pie(pie, fifo) => {
                let (since, frame) = fifo.take()?;
                pie.left(now, now - since, fifo.held().0 == 0);
                Some(frame)
            }
        }
    }
}

#[cfg(test)]
mod tests;
