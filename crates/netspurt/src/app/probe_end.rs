//! Either end of an echo experiment, so that one world can hold both.

use crate::event::Events;
use crate::segment::Segment;
use crate::stage::{Port, Stage};
use crate::units::Time;

use super::{Echo, Volleys};

/// A prober or the host it probes.
///
/// ```
/// use netspurt::app::{Echo, ProbeEnd};
/// use netspurt::stage::Stage;
/// use netspurt::units::Duration;
/// let host = ProbeEnd::Echo(Echo::new(1, Duration::ZERO));
/// assert_eq!(host.next_wakeup(), None);
/// ```
#[derive(Debug)]
pub enum ProbeEnd {
    /// The prober.
    Volleys(Volleys),
    /// The host.
    Echo(Echo),
}

impl Stage<Segment> for ProbeEnd {
    fn push(&mut self, now: Time, port: Port, segment: Segment, events: &mut Events<Segment>) {
        match self {
            Self::Volleys(prober) => prober.push(now, port, segment, events),
            Self::Echo(host) => host.push(now, port, segment, events),
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        match self {
            Self::Volleys(prober) => prober.next_wakeup(),
            Self::Echo(host) => host.next_wakeup(),
        }
    }

    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        match self {
            Self::Volleys(prober) => prober.pop(now, events),
            Self::Echo(host) => host.pop(now, events),
        }
    }
}
