//! Frames on their way, in the order they will arrive.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use crate::units::Time;

/// Whether a frame may arrive before one that left earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// No: it arrives at its own time or right behind the earlier one, whichever is later.
    Fifo,
    /// Yes: each frame keeps its own travel time.
    Overtaking,
}

#[derive(Debug)]
pub(super) enum Flight<F> {
    Fifo { frames: VecDeque<(Time, F)>, last: Time },
    Overtaking { frames: BinaryHeap<Travelling<F>>, count: u64 },
}

/// A frame that may be overtaken; the heap's greatest is the next to arrive, and among equals
/// the one that left first.
#[derive(Debug)]
pub(super) struct Travelling<F> {
    arrival: Time,
    left: u64,
    frame: F,
}

impl<F: Copy> Flight<F> {
    pub(super) fn new(order: Order) -> Self {
        match order {
            Order::Fifo => Self::Fifo { frames: VecDeque::new(), last: Time::ZERO },
            Order::Overtaking => Self::Overtaking { frames: BinaryHeap::new(), count: 0 },
        }
    }

    #[inline]
    pub(super) fn add(&mut self, arrival: Time, frame: F) {
        match self {
            Self::Fifo { frames, last } => {
                *last = arrival.max(*last);
                frames.push_back((*last, frame));
            }
            Self::Overtaking { frames, count } => {
                frames.push(Travelling { arrival, left: *count, frame });
                *count += 1;
            }
        }
    }

    /// When the next frame arrives.
    #[inline]
    pub(super) fn first(&self) -> Option<Time> {
        match self {
            Self::Fifo { frames, .. } => frames.front().map(|next| next.0),
            Self::Overtaking { frames, .. } => frames.peek().map(|next| next.arrival),
        }
    }

    /// The next frame, if it has arrived by `now`.
    #[inline]
    pub(super) fn take(&mut self, now: Time) -> Option<(Time, F)> {
        if self.first()? > now {
            return None;
        }
        match self {
            Self::Fifo { frames, .. } => frames.pop_front(),
            Self::Overtaking { frames, .. } => frames.pop().map(|next| (next.arrival, next.frame)),
        }
    }
}

impl<F> Ord for Travelling<F> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival, other.left).cmp(&(self.arrival, self.left))
    }
}

impl<F> PartialOrd for Travelling<F> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<F> PartialEq for Travelling<F> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<F> Eq for Travelling<F> {}
