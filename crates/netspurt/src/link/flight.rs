//! The frames on their way over a link, in the order in which they will arrive.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::ring::Ring;
use crate::stage::Appointment;
use crate::units::Time;

use super::transit::Parcel;

/// Whether a frame may arrive before a frame that left earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// No: a frame that would overtake an earlier frame arrives at the same instant as the earlier
    /// frame, directly behind it. Every other frame arrives at its own time.
    Fifo,
    /// Yes: each frame keeps its own propagation delay.
    Overtaking,
}

/// A frame on its way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// When the frame arrives. Here the field `since` is the start of the frame's transmission, and
    /// the field `by` is the event that made the frame enter the link. If the queue has an AQM,
    /// this event is not known, and `by` is zero.
    pub when: Appointment,
    /// The frame.
    pub parcel: Parcel,
}

/// Frames that keep their order.
#[derive(Debug, Default)]
pub(super) struct Flight {
    frames: Ring<Arrival>,
    /// The latest arrival that `add` or `behind_last` has computed.
    last: Time,
}

impl Flight {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Adds a frame. If the frame would arrive before the last frame, it arrives together with the
    /// last frame.
    #[inline(always)]
    pub(super) fn add(&mut self, mut arrival: Arrival) {
        arrival.when.at = arrival.when.at.max(self.last);
        self.last = arrival.when.at;
        self.frames.push(arrival);
    }

    /// Returns the instant at which the frame that leaves next will arrive, and notes this instant.
    /// With its own delay, the frame would arrive at the instant `at`. But frames keep their order,
    /// so it does not arrive before the previous frame.
    pub(super) fn behind_last(&mut self, at: Time) -> Time {
        self.last = self.last.max(at);
        self.last
    }

    /// When the next frame arrives.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<Appointment> {
        self.frames.first().map(|next| next.when)
    }

    /// The instant at which the next frame arrives. The result is [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub(super) fn next_at(&self) -> Time {
        self.frames.first().map_or(Time::NEVER, |next| next.when.at)
    }

    /// The next frame, if it has arrived by the instant `now`.
    #[inline(always)]
    pub(super) fn take(&mut self, now: Time) -> Option<Arrival> {
        if self.frames.first()?.when.at > now {
            return None;
        }
        self.frames.pop()
    }
}

/// Frames that may overtake each other.
#[derive(Debug, Default)]
pub(super) struct Overtaking {
    frames: BinaryHeap<Travelling>,
    /// The number of frames added so far.
    count: u64,
    /// The latest arrival of the frames added so far, without copies.
    last: Time,
    /// The number of frames that arrived before a frame that had been added earlier. Copies do not
    /// count.
    overtook: u64,
}

impl Overtaking {
    pub(super) fn add(&mut self, arrival: Arrival) {
        let overtakes = arrival.when.at < self.last;
        self.last = self.last.max(arrival.when.at);
        self.push(arrival, overtakes);
    }

    /// Adds the copy of a frame that a handover sends again. The copy counts neither as overtaking
    /// nor as overtaken. The copy is added before it leaves, and frames that are added later
    /// may leave earlier. So the order of adding shows no overtaking.
    pub(super) fn add_copy(&mut self, arrival: Arrival) {
        self.push(arrival, false);
    }

    fn push(&mut self, arrival: Arrival, overtakes: bool) {
        self.frames.push(Travelling { arrival, left: self.count, overtakes });
        self.count += 1;
    }

    /// The number of frames that have arrived before a frame that had been added earlier. Copies do
    /// not count.
    pub(super) fn overtook(&self) -> u64 {
        self.overtook
    }

    /// When the next frame arrives.
    pub(super) fn first(&self) -> Option<Appointment> {
        self.frames.peek().map(|next| next.arrival.when)
    }

    /// The next frame, if it has arrived by the instant `now`.
    pub(super) fn take(&mut self, now: Time) -> Option<Arrival> {
        if self.first()?.at > now {
            return None;
        }
        let next = self.frames.pop()?;
        self.overtook += u64::from(next.overtakes);
        Some(next.arrival)
    }
}

/// A frame that may be overtaken. The heap returns its greatest element first, so the order of
/// these frames is reversed: the frame that arrives next is the greatest. If frames arrive
/// together, the frame that was added first is the greatest of them.
#[derive(Debug)]
struct Travelling {
    arrival: Arrival,
    /// The number of frames that were added before this one.
    left: u64,
    /// Whether the frame arrives before a frame that left earlier.
    overtakes: bool,
}

impl Ord for Travelling {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival.when.at, other.left).cmp(&(self.arrival.when.at, self.left))
    }
}

impl PartialOrd for Travelling {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Travelling {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Travelling {}
