//! A host that returns every frame.

use std::collections::VecDeque;

use crate::event::Events;
use crate::ids::{EndId, TransmissionId};
use crate::segment::Segment;
use crate::stage::{Port, Stage};
use crate::units::{Duration, Time};

/// A host that returns every frame to its source, after a processing delay. A reply has the content
/// of its request, but is a transmission of its own.
///
/// ```
/// use netspurt::app::Echo;
/// use netspurt::event::{Events, Wanted};
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::segment::Segment;
/// use netspurt::stage::Stage;
/// use netspurt::units::{Duration, Time};
/// let end = FlowId(0).end(Side::To);
/// let mut host = Echo::new(end, Duration::from_millis(2));
/// let mut events = Events::new(Wanted::default());
/// let request = Segment { dest: end, size_bytes: 256, ..Segment::default() };
/// host.push(Time::ZERO, 0, request, &mut events);
/// let due = host.next_wakeup().unwrap();
/// let (_, _, reply) = host.pop(due, &mut events).unwrap();
/// assert_eq!((due.as_nanos(), reply.dest, reply.size_bytes), (2_000_000, end.peer(), 256));
/// ```
#[derive(Debug)]
pub struct Echo {
    end: EndId,
    delay: Duration,
    replies: VecDeque<(Time, Segment)>,
    sent: u64,
}

impl Echo {
    /// Makes the host at this end. The host answers after the time `delay`.
    pub fn new(end: EndId, delay: Duration) -> Self {
        Self { end, delay, replies: VecDeque::new(), sent: 0 }
    }

    /// The number of frames that the host has returned.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

impl Stage<Segment> for Echo {
    fn push(&mut self, now: Time, _port: Port, segment: Segment, _: &mut Events<Segment>) {
        let reply = Segment { dest: segment.source(), ..segment };
        self.replies.push_back((now + self.delay, reply));
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.replies.front().map(|reply| reply.0)
    }

    fn pop(&mut self, now: Time, _: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        if self.next_wakeup()? > now {
            return None;
        }
        let (due, reply) = self.replies.pop_front()?;
        self.sent += 1;
        let id = TransmissionId::new(self.end, self.sent);
        Some((due, 0, Segment { id, ..reply }))
    }
}
