//! What may live at either end of a flow, so that one world can hold all of it.

use crate::event::Events;
use crate::ip::Reassembling;
use crate::segment::Segment;
use crate::stage::{Port, Stage};
use crate::units::{Duration, Time};

use super::{Echo, Endpoint, Volleys};

/// A program that uses the network.
///
/// ```
/// use netspurt::app::{Echo, Program};
/// use netspurt::stage::Stage;
/// use netspurt::units::Duration;
/// let host = Program::Echo(Echo::new(1, Duration::ZERO));
/// assert_eq!(host.next_wakeup(), None);
/// ```
#[derive(Debug)]
pub enum Program {
    /// One end of a TCP flow.
    Tcp(Endpoint),
    /// A prober.
    Volleys(Volleys),
    /// The host it probes.
    Echo(Echo),
}

impl Stage<Segment> for Program {
    fn push(&mut self, now: Time, port: Port, segment: Segment, events: &mut Events<Segment>) {
        match self {
            Self::Tcp(end) => end.push(now, port, segment, events),
            Self::Volleys(prober) => prober.push(now, port, segment, events),
            Self::Echo(host) => host.push(now, port, segment, events),
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        match self {
            Self::Tcp(end) => end.next_wakeup(),
            Self::Volleys(prober) => prober.next_wakeup(),
            Self::Echo(host) => host.next_wakeup(),
        }
    }

    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        match self {
            Self::Tcp(end) => end.pop(now, events),
            Self::Volleys(prober) => prober.pop(now, events),
            Self::Echo(host) => host.pop(now, events),
        }
    }
}

/// A program and the IP below it. TCP in a world without fragments, the usual one, lies in line
/// and looks for none.
///
/// ```
/// use netspurt::app::{Echo, Host, Program};
/// use netspurt::ip::Reassembling;
/// use netspurt::units::Duration;
/// let echo = Program::Echo(Echo::new(1, Duration::ZERO));
/// let host = Host::new(echo, Some(Duration::from_secs(60)));
/// assert!(host.tcp().is_none() && host.volleys().is_none());
/// ```
#[derive(Debug)]
pub enum Host {
    /// TCP alone.
    Tcp(Endpoint),
    /// Any program, behind reassembly.
    Any(Box<Reassembling<Segment, Program>>),
}

impl Host {
    /// The host of `program`; one that fragments may come to waits `timer` for the rest of a
    /// datagram.
    pub fn new(program: Program, timer: Option<Duration>) -> Self {
        match (program, timer) {
            (Program::Tcp(end), None) => Self::Tcp(end),
            (program, timer) => {
                let timer = timer.unwrap_or(Reassembling::<Segment, Program>::TIMER);
                Self::Any(Box::new(Reassembling::new(program, timer)))
            }
        }
    }

    /// The end of a TCP flow, if it is one.
    pub fn tcp(&self) -> Option<&Endpoint> {
        match self {
            Self::Tcp(end) => Some(end),
            Self::Any(host) => match host.inner() {
                Program::Tcp(end) => Some(end),
                _ => None,
            },
        }
    }

    /// The prober, if it is one.
    pub fn volleys(&self) -> Option<&Volleys> {
        match self {
            Self::Any(host) => match host.inner() {
                Program::Volleys(prober) => Some(prober),
                _ => None,
            },
            Self::Tcp(_) => None,
        }
    }
}

impl Stage<Segment> for Host {
    #[inline]
    fn push(&mut self, now: Time, port: Port, segment: Segment, events: &mut Events<Segment>) {
        match self {
            Self::Tcp(end) => end.push(now, port, segment, events),
            Self::Any(host) => host.push(now, port, segment, events),
        }
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Time> {
        match self {
            Self::Tcp(end) => end.next_wakeup(),
            Self::Any(host) => host.next_wakeup(),
        }
    }

    #[inline]
    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        match self {
            Self::Tcp(end) => end.pop(now, events),
            Self::Any(host) => host.pop(now, events),
        }
    }
}
