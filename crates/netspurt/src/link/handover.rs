//! Handovers: the path behind a link is replaced by another one at an instant.

use crate::units::{Duration, Time};

/// A handover, and what happens to the frames on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// When the old path ends.
    pub at: Time,
    /// How long the link transmits nothing from then on: the dead time.
    pub dead: Duration,
    /// What happens to frames that are queued or in transmission at that instant.
    pub queue: QueueFate,
    /// What happens to frames that come during the dead time.
    pub arrivals: ArrivalFate,
    /// What happens to frames that have been transmitted and have not arrived.
    pub in_flight: FlightFate,
}

/// What happens to a queue at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueFate {
    /// It stays; the rest of the frame in transmission follows when the link transmits again.
    #[default]
    Keep,
    /// All frames in it are dropped, and the frame in transmission as well.
    Flush,
}

/// What happens to frames that come during the dead time of a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalFate {
    /// They wait in the queue, as far as it has room.
    #[default]
    Queue,
    /// They are dropped.
    Drop,
}

/// What happens to frames that are on their way at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlightFate {
    /// They arrive by the old path.
    #[default]
    Pass,
    /// They are dropped.
    Drop,
    /// They arrive later by the dead time.
    Hold,
    /// They arrive by the old path. A copy of each leaves by the new path when the dead time ends.
    /// On a link that keeps the order, frames on the old path would wait for the copies.
    Copy,
}

/// The handovers of a link, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Handovers {
    all: Vec<Handover>,
    /// The index of the first handover that had not ended when the last frame entered.
    next: usize,
}

/// What handovers do to a frame on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FlightChange {
    /// When the frame is dropped.
    pub(super) dropped: Option<Time>,
    /// How much later the frame arrives.
    pub(super) held: Duration,
    /// When a copy of the frame leaves by the new path.
    pub(super) copied: Option<Time>,
}

impl Handovers {
    /// The handovers `all`, in the order of time.
    pub(super) fn new(all: Vec<Handover>) -> Self {
        Self { all, next: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a frame that comes at `now` is dropped. Successive calls have ascending `now`.
    pub(super) fn refuses(&mut self, now: Time) -> bool {
        while self.all.get(self.next).is_some_and(|this| this.at + this.dead <= now) {
            self.next += 1;
        }
        let this = self.all.get(self.next).filter(|this| this.at <= now);
        this.is_some_and(|this| this.arrivals == ArrivalFate::Drop)
    }

    /// When a handover drops a frame from the queue; `None` if none does. The frame came at `now`,
    /// and its transmission would end at `end`.
    pub(super) fn flushes(&self, now: Time, end: Time) -> Option<Time> {
        let ahead = self.all[self.next..].iter().skip_while(|this| this.at <= now);
        let mut due = ahead.take_while(|this| this.at < end);
        due.find(|this| this.queue == QueueFate::Flush).map(|this| this.at)
    }

    /// What handovers do to a frame whose transmission ends at `depart`, and which would arrive at
    /// `arrives` without them.
    pub(super) fn change(&self, depart: Time, mut arrives: Time) -> FlightChange {
        let mut change = FlightChange::default();
        let first = self.all.partition_point(|this| this.at < depart);
        for this in &self.all[first..] {
            if this.at >= arrives {
                break;
            }
            match this.in_flight {
                FlightFate::Pass => {}
                FlightFate::Drop => {
                    change.dropped = Some(this.at);
                    break;
                }
                FlightFate::Hold => {
                    change.held = change.held + this.dead;
                    arrives += this.dead;
                }
                FlightFate::Copy => change.copied = change.copied.or(Some(this.at + this.dead)),
            }
        }
        change
    }
}
