//! What stands at the ends of a live run's flows.

use std::collections::VecDeque;

use netspurt::app::Program;
use netspurt::event::Events;
use netspurt::ip::Reassembling;
use netspurt::segment::Segment;
use netspurt::stage::{Host, Port, Stage};
use netspurt::units::Time;

/// Where packets of a real host enter the emulated path and leave it.
#[derive(Debug, Default)]
pub struct Gate {
    coming: VecDeque<(Time, Segment)>,
    left: Vec<(Time, Segment)>,
}

impl Gate {
    /// A packet of the host's enters the path at `at`.
    pub fn enter(&mut self, at: Time, segment: Segment) {
        self.coming.push_back((at, segment));
    }

    /// What has left the path towards the host since this was last asked, and when.
    pub fn take(&mut self) -> impl Iterator<Item = (Time, Segment)> + '_ {
        self.left.drain(..)
    }

    /// Whether anything has.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }
}

impl Stage<Segment> for Gate {
    fn push(&mut self, now: Time, _port: Port, segment: Segment, _events: &mut Events<Segment>) {
        self.left.push((now, segment));
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.coming.front().map(|(at, _)| *at)
    }

    fn pop(&mut self, now: Time, _events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        if self.next_wakeup()? > now {
            return None;
        }
        self.coming.pop_front().map(|(at, segment)| (at, 0, segment))
    }
}

/// One end of a flow.
#[derive(Debug)]
pub enum LiveHost {
    /// A real host behind a gate.
    Gate(Gate),
    /// A program of the simulator's.
    Model(Reassembling<Segment, Program>),
}

impl Host<Segment> for LiveHost {
    fn gather(&mut self, now: Time, f: Segment, events: &mut Events<Segment>) -> Option<Segment> {
        match self {
            // A real host puts fragments together itself.
            Self::Gate(_) => Some(f),
            Self::Model(host) => host.gather(now, f, events),
        }
    }
}

impl Stage<Segment> for LiveHost {
    fn push(&mut self, now: Time, port: Port, segment: Segment, events: &mut Events<Segment>) {
        match self {
            Self::Gate(gate) => gate.push(now, port, segment, events),
            Self::Model(host) => host.push(now, port, segment, events),
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        match self {
            Self::Gate(gate) => gate.next_wakeup(),
            Self::Model(host) => host.next_wakeup(),
        }
    }

    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        match self {
            Self::Gate(gate) => gate.pop(now, events),
            Self::Model(host) => host.pop(now, events),
        }
    }
}
