//! Handovers: at a given instant, a link changes from one path to another.

use crate::units::{Duration, Time};

/// A handover, and what happens to the frames on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// When the old path ends.
    pub at: Time,
    /// The dead time: for this span after the instant `at`, the link transmits nothing.
    pub dead: Duration,
    /// What happens to frames that are queued or in transmission at the handover.
    pub queue: QueueFate,
    /// What happens to frames that arrive at the link during the dead time.
    pub arrivals: ArrivalFate,
    /// What happens to frames that were transmitted before the handover and are still on their way.
    pub in_flight: FlightFate,
}

/// What happens to a queue at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueFate {
    /// The frames stay in the queue. The rest of the frame in transmission is sent when the link
    /// transmits again.
    #[default]
    Keep,
    /// All frames in the queue are dropped, and also the frame in transmission. A queue with an AQM
    /// is never flushed.
    Flush,
}

/// What happens to frames that arrive at the link during the dead time of a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalFate {
    /// The frames wait in the queue if the queue has room.
    #[default]
    Queue,
    /// The frames are dropped.
    Drop,
}

/// What happens to frames that are on their way at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlightFate {
    /// The frames arrive by the old path.
    #[default]
    Pass,
    /// The frames are dropped.
    Drop,
    /// The dead time is added to the delay of the frames.
    Hold,
    /// The frames arrive by the old path. A copy of each leaves by the new path when the dead time
    /// ends. Copies need a link on which frames may overtake others. On a link that keeps the
    /// order, frames on the old path would wait for the copies.
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
    /// When the frame is dropped. The value is `None` if no handover drops it.
    pub(super) dropped: Option<Time>,
    /// How much later the frame arrives.
    pub(super) delay: Duration,
    /// When a copy of the frame leaves by the new path. The value is `None` if no copy is sent.
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

    /// True if a handover drops a frame that arrives at the link at the instant `now`. `now` never
    /// decreases from call to call.
    pub(super) fn refuses(&mut self, now: Time) -> bool {
        while self.all.get(self.next).is_some_and(|handover| handover.at + handover.dead <= now) {
            self.next += 1;
        }
        let handover = self.all.get(self.next).filter(|handover| handover.at <= now);
        handover.is_some_and(|handover| handover.arrivals == ArrivalFate::Drop)
    }

    /// When a handover drops a frame from the queue. The result is `None` if no handover drops it.
    /// The frame came at the instant `now`, and its transmission would end at the instant `end`.
    pub(super) fn flushes(&self, now: Time, end: Time) -> Option<Time> {
        let ahead = self.all[self.next..].iter().skip_while(|handover| handover.at <= now);
        let mut due = ahead.take_while(|handover| handover.at < end);
        due.find(|handover| handover.queue == QueueFate::Flush).map(|handover| handover.at)
    }

    /// What handovers do to a frame. The transmission of the frame ends at the instant `depart`.
    /// Without handovers, the frame would arrive at the instant `arrives`.
    pub(super) fn change(&self, depart: Time, mut arrives: Time) -> FlightChange {
        let mut change = FlightChange::default();
        let first = self.all.partition_point(|handover| handover.at < depart);
        for handover in &self.all[first..] {
            if handover.at >= arrives {
                break;
            }
            match handover.in_flight {
                FlightFate::Pass => {}
                FlightFate::Drop => {
                    change.dropped = Some(handover.at);
                    break;
                }
                FlightFate::Hold => {
                    change.delay = change.delay + handover.dead;
                    arrives += handover.dead;
                }
                FlightFate::Copy => {
                    change.copied = change.copied.or(Some(handover.at + handover.dead))
                }
            }
        }
        change
    }
}
