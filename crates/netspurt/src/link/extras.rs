//! Features that few lines have: a delay that changes, frames that overtake, and effects.

use std::collections::VecDeque;

use crate::stage::{Appointment, Frame};
use crate::units::Time;

use super::config::LinkConfig;
use super::delay::Delay;
use super::effects::Effects;
use super::flight::{Arrival, Flight, Order, Overtaking};
use super::transit::{Parcel, Transit};

/// The features that make a line other than plain.
#[derive(Debug)]
pub(super) struct Extras {
    delay: Delay,
    /// The frames on their way, if they may overtake each other.
    overtaking: Option<Overtaking>,
    effects: Effects,
    /// The frames that will be lost on the way, in order, with the ends of their transmissions.
    doomed: VecDeque<(Time, Parcel)>,
}

impl Extras {
    /// The extras of a link; `None` if it has none.
    pub(super) fn of(config: LinkConfig) -> Option<Self> {
        let fifo = config.order == Order::Fifo;
        if fifo && config.effects.is_none() && config.delay.is_constant() {
            return None;
        }
        Some(Self {
            delay: config.delay,
            overtaking: (!fifo).then(Overtaking::default),
            effects: config.effects.unwrap_or_default(),
            doomed: VecDeque::new(),
        })
    }

    /// Whether `frame` is lost before the queue.
    pub(super) fn lost_at_entry(&mut self, frame: &impl Frame) -> bool {
        self.effects.lost_at_entry(frame)
    }

    /// Removes the next frame that was lost on the way by `now`, with its instant.
    pub(super) fn next_lost(&mut self, now: Time) -> Option<(Time, Parcel)> {
        self.doomed.front().filter(|(at, _)| *at <= now)?;
        self.doomed.pop_front()
    }

    /// Sends a frame whose transmission ends at `depart`. On a plain line it would arrive
    /// as `arrival` says.
    #[inline(never)]
    pub(super) fn launch<F: Frame>(
        &mut self,
        mut arrival: Arrival,
        depart: Time,
        flight: &mut Flight,
        transit: &mut Transit<F>,
    ) {
        arrival.when.at = depart + self.delay.at(arrival.when.since);
        let fate = self.effects.on_the_way(transit.frame(arrival.parcel));
        if fate.lost {
            return self.doomed.push_back((depart, arrival.parcel));
        }
        arrival.when.at += fate.held;
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

    /// When the next frame arrives.
    #[inline(never)]
    pub(super) fn first(&self, flight: &Flight) -> Option<Appointment> {
        match &self.overtaking {
            Some(overtaking) => overtaking.first(),
            None => flight.first(),
        }
    }

    /// The next frame, if it has arrived by `now`.
    #[inline(never)]
    pub(super) fn take(&mut self, now: Time, flight: &mut Flight) -> Option<Arrival> {
        match &mut self.overtaking {
            Some(overtaking) => overtaking.take(now),
            None => flight.take(now),
        }
    }
}
