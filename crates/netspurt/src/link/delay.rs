//! Propagation delay: constant, or following a timeline.

use crate::units::{Duration, Time};

use super::Timeline;

/// How long a frame travels, by the instant its transmission starts (as in ns-2: what is on
/// the way keeps the delay it left with).
#[derive(Clone, Debug)]
pub struct Delay(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Constant(Duration),
    Timeline { timeline: Timeline, cursor: usize },
}

impl Delay {
    /// The same for every frame.
    pub fn constant(delay: Duration) -> Self {
        Self(Kind::Constant(delay))
    }

    /// As the timeline says.
    pub fn following(timeline: Timeline) -> Self {
        Self(Kind::Timeline { timeline, cursor: 0 })
    }

    /// Whether it never changes.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self.0, Kind::Constant(_))
    }

    /// The shortest it ever is.
    pub(super) fn least(&self) -> Duration {
        match &self.0 {
            Kind::Constant(delay) => *delay,
            Kind::Timeline { timeline, .. } => timeline.least(),
        }
    }

    /// The delay of a frame whose transmission starts at `start`; starts never fall.
    pub(super) fn at(&mut self, start: Time) -> Duration {
        match &mut self.0 {
            Kind::Constant(delay) => *delay,
            Kind::Timeline { timeline, cursor } => timeline.value(start, cursor),
        }
    }
}
