//! A managed queue: the frames that wait, and the algorithm (AQM) that marks or drops them.
//!
//! The `Transit` stores the frames that are on their way. A parcel is the index of a frame in the
//! transit, with the frame's size and destination.

use crate::event::DropReason;
use crate::link::line::Line;
use crate::link::transit::Parcel;
use crate::stage::Frame;
use crate::units::Time;

use super::codel::CoDel;
use super::config::{CoDelConfig, FqCoDelConfig, PieConfig, RedConfig};
use super::decision_sink::{AqmVerdict, DecisionSink};
use super::fifo::Fifo;
use super::fq_codel::FqCoDel;
use super::pie::Pie;
use super::red::Red;

/// A managed queue: the waiting frames and the algorithm.
#[derive(Debug)]
pub(in crate::link) enum Discipline {
    Red(Red, Fifo),
    CoDel(CoDel, Fifo),
    FqCoDel(FqCoDel),
    Pie(Pie, Fifo),
}

impl Discipline {
    pub(in crate::link) fn red(config: RedConfig, line: &Line) -> Self {
        let typical = line.line_time(config.packet_bytes);
        Self::Red(Red::new(config, typical), Fifo::default())
    }

    pub(in crate::link) fn codel(config: CoDelConfig) -> Self {
        Self::CoDel(CoDel::new(config), Fifo::default())
    }

    pub(in crate::link) fn fq_codel(config: FqCoDelConfig) -> Self {
        Self::FqCoDel(FqCoDel::new(config))
    }

    pub(in crate::link) fn pie(config: PieConfig) -> Self {
        Self::Pie(Pie::new(config), Fifo::default())
    }

    /// The numbers of waiting frames and octets.
    pub(in crate::link) fn waiting(&self) -> (u32, u64) {
        match self {
            Self::Red(_, fifo) | Self::CoDel(_, fifo) | Self::Pie(_, fifo) => fifo.held(),
            Self::FqCoDel(queues) => queues.held(),
        }
    }

    /// Queues the frame of `parcel`, perhaps with a mark, or drops it. FQ-CoDel always queues the
    /// frame, and then may drop frames. `held` has the numbers of frames and octets that waited or
    /// were in transmission before `parcel` came.
    pub(in crate::link) fn enqueue<F: Frame>(
        &mut self,
        now: Time,
        parcel: Parcel,
        held: (u32, u64),
        decision_sink: &mut DecisionSink<'_, F>,
    ) {
        let size = parcel.size_bytes();
        let (verdict, limit, ecn, fifo) = match self {
            Self::FqCoDel(queues) => return queues.enqueue(now, parcel, held, decision_sink),
            Self::Red(red, fifo) => (red.judge(now, size, held), red.limit(), red.ecn(), fifo),
            Self::CoDel(codel, fifo) => {
                codel.record_size(size);
                (AqmVerdict::Pass, codel.limit(), false, fifo)
            }
            Self::Pie(pie, fifo) => (pie.judge(now, fifo.held().1), pie.limit(), pie.ecn(), fifo),
        };
        if !limit.admits(held, size) {
            return decision_sink.drop(now, DropReason::QueueFull, parcel);
        }
        let taken = match verdict {
            AqmVerdict::Pass => Some(parcel),
            AqmVerdict::Signal => decision_sink.signal(now, parcel, ecn),
            AqmVerdict::Drop => decision_sink.signal(now, parcel, false),
        };
        if let Some(parcel) = taken {
            fifo.add(now, parcel);
        }
    }

    /// Removes the next frame from the queue, because the line is idle. CoDel and FQ-CoDel may
    /// first drop frames that wait. `None` if no frame is left.
    pub(in crate::link) fn dequeue<F: Frame>(
        &mut self,
        now: Time,
        decision_sink: &mut DecisionSink<'_, F>,
    ) -> Option<Parcel> {
        match self {
            Self::Red(red, fifo) => {
                let next = fifo.take();
                if next.is_none() {
                    red.line_became_idle(now);
                }
                next.map(|(_, parcel)| parcel)
            }
            Self::CoDel(codel, fifo) => codel.dequeue(now, fifo, decision_sink),
            Self::FqCoDel(queues) => queues.dequeue(now, decision_sink),
            Self::Pie(pie, fifo) => {
                let (since, parcel) = fifo.take()?;
                pie.departed(now, now - since, fifo.held().0 == 0);
                Some(parcel)
            }
        }
    }
}
