//! Handovers: the path behind a link is replaced by another one at an instant.

use crate::units::{Duration, Time};

/// A handover, and what becomes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// When the old path ends.
    pub at: Time,
    /// How long nothing is transmitted from then on.
    pub dead: Duration,
    /// What becomes of the frames that are queued or in transmission at that instant.
    pub queue: QueueFate,
    /// What becomes of those that come while the link is dead.
    pub arrivals: ArrivalFate,
    /// What becomes of those on their way.
    pub in_flight: FlightFate,
}

/// What becomes of a queue at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueFate {
    /// It stays; the rest of the frame in transmission follows when the link transmits again.
    #[default]
    Keep,
    /// All of it is dropped, the frame in transmission included.
    Flush,
}

/// What becomes of frames that come while a link is dead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalFate {
    /// They wait in the queue, as far as it has room.
    #[default]
    Queue,
    /// They are dropped.
    Drop,
}

/// What becomes of frames on their way at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlightFate {
    /// They arrive by the old path.
    #[default]
    Pass,
    /// They are dropped.
    Drop,
    /// They stop for the dead time.
    Hold,
    /// They arrive by the old path, and a copy leaves by the new one when it opens. On a link that
    /// keeps the order what comes by the old path would wait for the copies.
    Copy,
}

/// The handovers of a link, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Handovers {
    all: Vec<Handover>,
    /// The first one that is not over, by the instants of entries.
    next: usize,
}

/// What handovers do to a frame on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FlightChange {
    /// When it is dropped.
    pub(super) dropped: Option<Time>,
    /// How much later it arrives.
    pub(super) held: Duration,
    /// When a copy of it leaves by the new path.
    pub(super) copied: Option<Time>,
}

impl Handovers {
    /// These, whose instants ascend.
    pub(super) fn new(all: Vec<Handover>) -> Self {
        Self { all, next: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a frame that comes at `now` is dropped. Instants ascend.
    pub(super) fn refuses(&mut self, now: Time) -> bool {
        while self.all.get(self.next).is_some_and(|this| this.at + this.dead <= now) {
            self.next += 1;
        }
        let this = self.all.get(self.next).filter(|this| this.at <= now);
        this.is_some_and(|this| this.arrivals == ArrivalFate::Drop)
    }

    /// When a frame that came at `now`, and whose transmission would end at `end`, is dropped from
    /// the queue.
    pub(super) fn flushes(&self, now: Time, end: Time) -> Option<Time> {
        let ahead = self.all[self.next..].iter().skip_while(|this| this.at <= now);
        let mut due = ahead.take_while(|this| this.at < end);
        due.find(|this| this.queue == QueueFate::Flush).map(|this| this.at)
    }

    /// What becomes of a frame that is transmitted at `depart` and arrives at `arrives` by itself.
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
