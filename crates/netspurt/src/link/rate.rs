//! The rate of a link: constant, following a timeline, or at given instants.

use crate::timeline::{Opportunities, Opportunity, Rates};
use crate::units::{BitRate, Duration, Time};

/// How fast a link transmits.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// Always alike.
    Constant(BitRate),
    /// By rates that follow each other.
    Following(Rates),
    /// At given instants, some octets at each.
    AtInstants(Opportunities),
}

/// A rate that is not constant, and how far a transmitter has come.
#[derive(Debug)]
pub(super) enum MovingRate {
    /// Rates that follow each other.
    Following {
        /// The rates.
        rates: Rates,
        /// The position of the last start.
        cursor: usize,
    },
    /// Given instants.
    AtInstants {
        /// The instants.
        list: Opportunities,
        /// The one that was used last.
        slot: Opportunity,
    },
}

impl Rate {
    /// The greatest rate.
    pub fn greatest(&self) -> BitRate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Following(rates) => rates.greatest(),
            Self::AtInstants(_) => BitRate::UNLIMITED,
        }
    }

    /// The same, but nothing is transmitted from each of these instants for its span. Opportunities
    /// in these spans are used all the same.
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

    /// The rate of the first transmission.
    pub(super) fn first(&self) -> BitRate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Following(rates) => rates.begin(Time::ZERO, &mut 0).1,
            Self::AtInstants(_) => BitRate::UNLIMITED,
        }
    }

    /// The rate at the start of a run, if it is not constant.
    pub(super) fn moving(&self) -> Option<MovingRate> {
        match self {
            Self::Constant(_) => None,
            Self::Following(rates) => {
                Some(MovingRate::Following { rates: rates.clone(), cursor: 0 })
            }
            Self::AtInstants(list) => {
                Some(MovingRate::AtInstants { list: list.clone(), slot: Opportunity::default() })
            }
        }
    }
}

impl From<BitRate> for Rate {
    fn from(rate: BitRate) -> Self {
        Self::Constant(rate)
    }
}
