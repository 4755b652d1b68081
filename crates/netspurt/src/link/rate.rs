//! The rate of a link: constant, or following a timeline.

use crate::timeline::Rates;
use crate::units::{BitRate, Duration, Time};

/// How fast a link transmits.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// Always alike.
    Constant(BitRate),
    /// By rates that follow each other.
    Following(Rates),
}

impl Rate {
    /// The greatest rate.
    pub fn greatest(&self) -> BitRate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Following(rates) => rates.greatest(),
        }
    }

    /// The same, but nothing is transmitted from each of these instants for its span.
    pub(super) fn silent(self, spans: &[(Time, Duration)]) -> Self {
        if spans.is_empty() {
            return self;
        }
        Self::Following(match self {
            Self::Constant(rate) => Rates::constant(rate).silent(spans),
            Self::Following(rates) => rates.silent(spans),
        })
    }

    /// The rate of the first transmission.
    pub(super) fn first(&self) -> BitRate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Following(rates) => rates.begin(Time::ZERO, &mut 0).1,
        }
    }

    /// The rates that follow each other, if it changes.
    pub(super) fn rates(&self) -> Option<Rates> {
        match self {
            Self::Constant(_) => None,
            Self::Following(rates) => Some(rates.clone()),
        }
    }
}

impl From<BitRate> for Rate {
    fn from(rate: BitRate) -> Self {
        Self::Constant(rate)
    }
}
