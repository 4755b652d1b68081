//! Propagation delay: constant, or following a timeline.

use crate::units::{Duration, Time};

use super::Timeline;

/// A frame's propagation delay by the instant at which its transmission starts. As in ns-2, a frame
/// on its way keeps its delay.
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

    /// The timeline's value.
    pub fn following(timeline: Timeline) -> Self {
        Self(Kind::Timeline { timeline, cursor: 0 })
    }

    /// Whether the delay is constant.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self.0, Kind::Constant(_))
    }

    /// The least delay.
    pub(super) fn least(&self) -> Duration {
        match &self.0 {
            Kind::Constant(delay) => *delay,
            Kind::Timeline { timeline, .. } => timeline.least(),
        }
    }

    /// The delay of a frame whose transmission starts at `start`; successive calls have ascending
    /// `start`.
    pub(super) fn at(&mut self, start: Time) -> Duration {
        match &mut self.0 {
            Kind::Constant(delay) => *delay,
            Kind::Timeline { timeline, cursor } => timeline.value(start, cursor),
        }
    }
}
