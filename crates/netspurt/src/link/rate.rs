//! The rate of a link: constant, changing along a timeline, or given by instants at which the link
//! may transmit.

use crate::timeline::{LineInstant, Opportunities, Rates};
use crate::units::{BitRate, Duration, Time};

use super::Framing;

/// How fast a link transmits.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// The same rate at all times.
    Constant(BitRate),
    /// Rates that follow each other, each for some time.
    Following(Rates),
    /// Opportunities. At each given instant, the link may transmit a given number of octets.
    /// Framing adds nothing to the octets of a frame.
    AtInstants(Opportunities),
}

/// A rate that is not constant, as a transmitter uses it.
#[derive(Debug)]
pub(super) enum MovingRate {
    /// Rates that follow each other.
    Following(Rates),
    /// Opportunities at given instants.
    AtInstants(Opportunities),
}

impl MovingRate {
    /// Transmits a frame of `size` octets and returns the start, the end, and the rate at the
    /// start. The frame is ready at the instant `now`, and the line is free from the instant `free`
    /// on.
    #[cold]
    #[inline(never)]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        free: LineInstant,
        size: u32,
        framing: Framing,
    ) -> (Time, LineInstant, BitRate) {
        match self {
            Self::AtInstants(list) => {
                let (start, at) = list.deliver(now, size);
                (start, LineInstant { at, rest: 0 }, BitRate::UNLIMITED)
            }
            Self::Following(rates) => {
                let ready = if now > free.at { LineInstant { at: now, rest: 0 } } else { free };
                let (at, rate) = rates.begin(ready.at);
                let rest = if at > ready.at { 0 } else { ready.rest };
                let end = rates.transmit(LineInstant { at, rest }, framing.line_bits(size));
                (at, end, rate)
            }
        }
    }
}

impl Rate {
    /// The maximum rate. The result is unlimited if the link transmits at given instants.
    pub fn greatest(&self) -> BitRate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Following(rates) => rates.greatest(),
            Self::AtInstants(_) => BitRate::UNLIMITED,
        }
    }

    /// Returns this rate with `spans` in which nothing is transmitted. Each span is an instant and
    /// the duration from that instant on. A rate of the kind [`AtInstants`](Self::AtInstants) is
    /// returned unchanged.
    pub(super) fn silent(self, spans: &[(Time, Duration)]) -> Self {
        if spans.is_empty() {
            return self;
        }
        match self {
            Self::Constant(rate) => Self::Following(Rates::constant(rate).silent(spans)),
            Self::Following(rates) => Self::Following(rates.silent(spans)),
            Self::AtInstants(_) => self,
        }
    }

    /// The first rate that is not zero. The result is unlimited if the link transmits at given
    /// instants.
    pub(super) fn first(&self) -> BitRate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Following(rates) => rates.clone().begin(Time::ZERO).1,
            Self::AtInstants(_) => BitRate::UNLIMITED,
        }
    }

    /// Returns the rate as a transmitter uses it from the start of a run. The result is `None` if
    /// the rate is constant.
    pub(super) fn moving(&self) -> Option<MovingRate> {
        match self {
            Self::Constant(_) => None,
            Self::Following(rates) => Some(MovingRate::Following(rates.clone())),
            Self::AtInstants(list) => Some(MovingRate::AtInstants(list.clone())),
        }
    }
}

impl From<BitRate> for Rate {
    fn from(rate: BitRate) -> Self {
        Self::Constant(rate)
    }
}
