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

/// A frame that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<F> {
    /// When it arrives.
    pub at: Time,
    /// Since when that is settled: the start of its transmission.
    pub since: Time,
    /// The frame.
    pub frame: F,
}

#[derive(Debug)]
pub(super) enum Flight<F> {
    Fifo { frames: VecDeque<Arrival<F>>, last: Time },
    Overtaking { frames: BinaryHeap<Travelling<F>>, count: u64 },
}

/// A frame that may be overtaken; the heap's greatest is the next to arrive, and among equals
/// the one that left first.
#[derive(Debug)]
pub(super) struct Travelling<F> {
    arrival: Arrival<F>,
    left: u64,
}

impl<F: Copy> Flight<F> {
    pub(super) fn new(order: Order) -> Self {
        match order {
            Order::Fifo => Self::Fifo { frames: VecDeque::new(), last: Time::ZERO },
            Order::Overtaking => Self::Overtaking { frames: BinaryHeap::new(), count: 0 },
        }
    }

    #[inline]
    pub(super) fn add(&mut self, arrival: Arrival<F>) {
        match self {
            Self::Fifo { frames, last } => {
                *last = arrival.at.max(*last);
                // What was written in parts and is read as a whole keeps the processor waiting, so
                // the instants are put in where they stay.
                frames.push_back(Arrival {
                    at: Time::ZERO,
                    since: Time::ZERO,
                    frame: arrival.frame,
                });
                if let Some(put) = frames.back_mut() {
                    put.at = *last;
                    put.since = arrival.since;
                }
            }
            Self::Overtaking { frames, count } => {
                frames.push(Travelling { arrival, left: *count });
                *count += 1;
            }
        }
    }

    /// The next frame to arrive.
    #[inline]
    pub(super) fn first(&self) -> Option<&Arrival<F>> {
        match self {
            Self::Fifo { frames, .. } => frames.front(),
            Self::Overtaking { frames, .. } => frames.peek().map(|next| &next.arrival),
        }
    }

    /// The next frame, if it has arrived by `now`.
    #[inline(always)]
    pub(super) fn take(&mut self, now: Time) -> Option<Arrival<F>> {
        if self.first()?.at > now {
            return None;
        }
        match self {
            Self::Fifo { frames, .. } => take_first(frames),
            Self::Overtaking { frames, .. } => frames.pop().map(|next| next.arrival),
        }
    }
}

/// Takes the first of a ring, which starts at its first place again where it runs empty: that is in
/// the cache.
#[inline(always)]
pub(super) fn take_first<T>(ring: &mut VecDeque<T>) -> Option<T> {
    let first = ring.pop_front();
    if ring.is_empty() {
        ring.clear();
    }
    first
}

impl<F> Ord for Travelling<F> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival.at, other.left).cmp(&(self.arrival.at, self.left))
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
