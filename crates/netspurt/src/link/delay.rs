//! The propagation delay of a link: constant, or changing along a timeline.

use crate::timeline::Timeline;
use crate::units::{Duration, Time};

/// The propagation delay of frames. The delay depends on the instant at which the frame's
/// transmission starts. As in ns-2, a frame on its way keeps its delay.
#[derive(Clone, Debug)]
pub struct Delay(DelayKind);

#[derive(Clone, Debug)]
enum DelayKind {
    Constant(Duration),
    Following(Timeline<Duration>),
}

impl Delay {
    /// A delay that is the same for every frame.
    pub fn constant(delay: Duration) -> Self {
        Self(DelayKind::Constant(delay))
    }

    /// A delay that follows `timeline`.
    pub fn following(timeline: Timeline<Duration>) -> Self {
        Self(DelayKind::Following(timeline))
    }

    /// Whether the delay is constant.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self.0, DelayKind::Constant(_))
    }

    /// The minimum delay.
    pub(super) fn minimum(&self) -> Duration {
        match &self.0 {
            DelayKind::Constant(delay) => *delay,
            DelayKind::Following(timeline) => timeline.minimum().unwrap_or_default(),
        }
    }

    /// The delay of a frame that leaves at the instant `start`. Later calls of [`at`](Self::at) may
    /// have an earlier `start`.
    pub(super) fn ahead(&self, start: Time) -> Duration {
        match &self.0 {
            DelayKind::Constant(delay) => *delay,
            DelayKind::Following(timeline) => timeline.ahead(start),
        }
    }

    /// The delay of a frame whose transmission starts at the instant `start`. `start` never
    /// decreases from call to call.
    pub(super) fn at(&mut self, start: Time) -> Duration {
        match &mut self.0 {
            DelayKind::Constant(delay) => *delay,
            DelayKind::Following(timeline) => timeline.value(start),
        }
    }
}
