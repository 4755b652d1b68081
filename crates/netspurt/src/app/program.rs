//! The programs that an end of a flow may run, as one type.

use crate::event::Events;
use crate::segment::Segment;
use crate::stage::{Host, Port, Stage};
use crate::units::Time;

use super::{Client, Echo, EchoProbes, Endpoint, FlowResult, Server};

/// A program that uses the network.
///
/// ```
/// use netspurt::app::{Echo, Program};
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::stage::Stage;
/// use netspurt::units::Duration;
/// let host = Program::Echo(Echo::new(FlowId(0).end(Side::To), Duration::ZERO));
/// assert_eq!(host.next_wakeup(), None);
/// ```
#[derive(Debug)]
pub enum Program {
    /// One end of a transfer.
    Tcp(Endpoint),
    /// The end that sends requests.
    Client(Client),
    /// The end that sends replies.
    Server(Server),
    /// The end that sends echo probes.
    EchoProbes(EchoProbes),
    /// The end that echoes probes.
    Echo(Echo),
}

impl Program {
    /// The results so far, if the program is an end of a connection.
    pub fn result(&self) -> Option<FlowResult> {
        match self {
            Self::Tcp(end) => Some(end.result()),
            Self::Client(end) => Some(end.result()),
            Self::Server(end) => Some(end.result()),
            Self::EchoProbes(_) | Self::Echo(_) => None,
        }
    }
}

impl Host<Segment> for Program {
    fn act_before(&mut self, now: Time, since: Time, events: &mut Events<Segment>) {
        if let Self::Tcp(end) = self {
            end.act_before(now, since, events);
        }
    }

    fn rest(&mut self) {
        match self {
            Self::Tcp(end) => end.rest(),
            Self::Client(end) => end.rest(),
            Self::Server(end) => end.rest(),
            Self::EchoProbes(_) | Self::Echo(_) => {}
        }
    }
}

impl Stage<Segment> for Program {
    fn push(&mut self, now: Time, port: Port, segment: Segment, events: &mut Events<Segment>) {
        match self {
            Self::Tcp(end) => end.push(now, port, segment, events),
            Self::Client(end) => end.push(now, port, segment, events),
            Self::Server(end) => end.push(now, port, segment, events),
            Self::EchoProbes(prober) => prober.push(now, port, segment, events),
            Self::Echo(host) => host.push(now, port, segment, events),
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        match self {
            Self::Tcp(end) => end.next_wakeup(),
            Self::Client(end) => end.next_wakeup(),
            Self::Server(end) => end.next_wakeup(),
            Self::EchoProbes(prober) => prober.next_wakeup(),
            Self::Echo(host) => host.next_wakeup(),
        }
    }

    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        match self {
            Self::Tcp(end) => end.pop(now, events),
            Self::Client(end) => end.pop(now, events),
            Self::Server(end) => end.pop(now, events),
            Self::EchoProbes(prober) => prober.pop(now, events),
            Self::Echo(host) => host.pop(now, events),
        }
    }
}
