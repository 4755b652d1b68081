//! The features that only some links have: frames that overtake others, effects on frames (losses,
//! duplicates and delays), and handovers. A link without these features is called plain.
//!
//! The [`Transit`] stores the frames that are on their way. A parcel is the index of a frame in the
//! transit, with the frame's size and destination.

use std::collections::VecDeque;

use crate::event::DropReason;
use crate::stage::{Appointment, Frame};
use crate::units::Time;

use super::config::LinkConfig;
use super::delay::Delay;
use super::effects::Effects;
use super::flight::{Arrival, Flight, Order, Overtaking};
use super::handover::Handovers;
use super::transit::{Parcel, Transit};

/// The features of a link that is not plain.
#[derive(Debug)]
pub(super) struct Extras {
    delay: Delay,
    /// The frames on their way, if they may overtake each other.
    overtaking: Option<Overtaking>,
    effects: Effects,
    handovers: Handovers,
    /// The frames that will be lost, in the order of time.
    losses: VecDeque<FutureLoss>,
}

/// A frame that will be lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct FutureLoss {
    /// When the frame is lost.
    pub(super) at: Time,
    /// How the frame is lost.
    pub(super) end: End,
    /// The frame.
    pub(super) parcel: Parcel,
}

/// How a frame is lost after it entered the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The link loses the frame on its way. The loss is reported for the instant at which the
    /// transmission ends.
    OnTheWay,
    /// A handover ends the old path, and drops the frame that is in transit on it.
    OldPath,
    /// A handover flushes the queue, and drops the frame that is in it.
    Flushed,
}

impl Extras {
    /// Whether a link has features that a plain link does not have.
    pub(super) fn needed(config: &LinkConfig) -> bool {
        let fifo = config.order == Order::Fifo;
        !(fifo && config.effects.is_none() && config.handovers.is_empty())
    }

    /// Makes the features that the configuration of a link describes.
    pub(super) fn of(config: LinkConfig) -> Self {
        Self {
            delay: config.delay,
            overtaking: (config.order == Order::Overtaking).then(Overtaking::default),
            effects: config.effects.unwrap_or_default(),
            handovers: Handovers::new(config.handovers),
            losses: VecDeque::new(),
        }
    }

    /// Why `frame`, which comes at the instant `now`, is lost before the queue. The result is
    /// `None` if the frame is not lost. The effects also make their random draws for frames that a
    /// handover drops.
    pub(super) fn lost_at_entry(&mut self, now: Time, frame: &impl Frame) -> Option<DropReason> {
        let lost = self.effects.lost_at_entry(now, frame).then_some(DropReason::Loss);
        if self.handovers.refuses(now) { Some(DropReason::Handover) } else { lost }
    }

    /// When a handover drops a frame from the queue. The result is `None` if no handover drops it.
    /// The frame came at the instant `now`, and its transmission would end at the instant `end`.
    pub(super) fn flushes(&self, now: Time, end: Time) -> Option<Time> {
        if self.handovers.is_empty() { None } else { self.handovers.flushes(now, end) }
    }

    /// Notes that the frame of `parcel` will be lost at the instant `at`.
    pub(super) fn add_loss(&mut self, at: Time, end: End, parcel: Parcel) {
        let place = self.losses.partition_point(|earlier| earlier.at <= at);
        self.losses.insert(place, FutureLoss { at, end, parcel });
    }

    /// Removes and returns the next frame that was lost at the instant `now` or before.
    pub(super) fn next_lost(&mut self, now: Time) -> Option<FutureLoss> {
        self.losses.front().filter(|loss| loss.at <= now)?;
        self.losses.pop_front()
    }

    /// Sends a frame whose transmission ends at the instant `depart`. `arrival` has the frame and
    /// the start of its transmission. The instant of the arrival is computed here.
    #[inline(never)]
    pub(super) fn launch<F: Frame>(
        &mut self,
        mut arrival: Arrival,
        depart: Time,
        flight: &mut Flight,
        transit: &mut Transit<F>,
    ) {
        arrival.when.at = depart + self.delay.at(arrival.when.since);
        let fate = self.effects.on_the_way(depart, transit.frame(arrival.parcel));
        if fate.lost {
            return self.add_loss(depart, End::OnTheWay, arrival.parcel);
        }
        arrival.when.at += fate.delay;
        let change = self.handovers.change(depart, arrival.when.at);
        if let Some(opens) = change.copied {
            let mut copy = arrival;
            copy.when.at = opens + self.delay.ahead(opens);
            copy.parcel = transit.copy(arrival.parcel);
            match &mut self.overtaking {
                Some(overtaking) => overtaking.add_copy(copy),
                None => flight.add(copy),
            }
        }
        if let Some(at) = change.dropped {
            return self.add_loss(at, End::OldPath, arrival.parcel);
        }
        arrival.when.at += change.delay;
        self.add(arrival, flight);
        if let Some(after) = fate.copied {
            arrival.when.at += after;
            arrival.parcel = transit.copy(arrival.parcel);
            self.add(arrival, flight);
        }
    }

    fn add(&mut self, arrival: Arrival, flight: &mut Flight) {
        match &mut self.overtaking {
            Some(overtaking) => overtaking.add(arrival),
            None => flight.add(arrival),
        }
    }

    /// The number of frames that have overtaken others.
    pub(super) fn overtook(&self) -> u64 {
        self.overtaking.as_ref().map_or(0, Overtaking::overtook)
    }

    /// When the next frame arrives.
    #[inline(never)]
    pub(super) fn first(&self, flight: &Flight) -> Option<Appointment> {
        match &self.overtaking {
            Some(overtaking) => overtaking.first(),
            None => flight.first(),
        }
    }

    /// The next frame, if it has arrived by the instant `now`.
    #[inline(never)]
    pub(super) fn take(&mut self, now: Time, flight: &mut Flight) -> Option<Arrival> {
        match &mut self.overtaking {
            Some(overtaking) => overtaking.take(now),
            None => flight.take(now),
        }
    }
}
