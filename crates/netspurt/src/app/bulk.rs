//! A bulk transfer: the application at one end opens the connection, and writes all data in one
//! call.

use crate::event::Events;
use crate::segment::Segment;
use crate::stage::{Host, Port, Stage};
use crate::tcp::{Connection, TcpState};
use crate::units::{Duration, Time};

use super::FlowResult;

/// The plan of a transfer that begins at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// When the application opens the connection.
    pub start: Time,
    /// How long the application waits, after the connection is established, before it writes. Zero
    /// is special: the application then writes when it opens the connection.
    pub pause: Duration,
    /// The number of octets that the application writes. `None` stands for a transfer that never
    /// ends.
    pub octets: Option<u64>,
}

/// The number of octets that the application writes for a transfer that never ends. No run can send
/// so many octets.
const ENDLESS: u64 = 1 << 62;

/// One end of a flow: its connection and its application.
///
/// ```
/// use netspurt::app::{Bulk, Endpoint};
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::stage::Stage;
/// # use netspurt::{tcp::*, units::{Duration, Time}};
/// # let config = NsConfig { initial_window_segs: 1, ..NsConfig::default() }.into();
/// let start = Time::ZERO + Duration::from_secs(1);
/// let transfer = Bulk { start, pause: Duration::ZERO, octets: Some(20_000) };
/// let source = Endpoint::new(Connection::new(FlowId(0).end(Side::From), &config), Some(transfer));
/// assert_eq!(source.next_wakeup(), Some(start));
/// ```
#[derive(Debug)]
pub struct Endpoint {
    connection: Connection,
    /// The plan of the application. The end that only listens has no plan.
    task: Option<Bulk>,
    step: BulkStep,
    /// The instant at which the peer had acknowledged all data.
    finished: Option<Time>,
}

/// The progress of an application that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BulkStep {
    /// The application waits for the `start` of its task.
    Waits,
    /// The application waits until the connection is open.
    Opens,
    /// The application has written its data.
    Wrote,
}

impl Endpoint {
    /// Makes an end whose application carries out the plan `task`. If `task` is `None`, the end
    /// only listens.
    pub fn new(mut connection: Connection, task: Option<Bulk>) -> Self {
        if task.is_none() {
            connection.listen();
        }
        Self { connection, task, step: BulkStep::Waits, finished: None }
    }

    /// Returns the task if the application is at the step `step`, and `None` otherwise.
    #[inline]
    fn task_at(&self, step: BulkStep) -> Option<Bulk> {
        self.task.filter(|_| self.step == step)
    }

    /// If the connection has just opened, starts the pause before the first write.
    #[inline]
    fn pause_if_open(&mut self, now: Time) {
        if let Some(task) = self.task_at(BulkStep::Opens)
            && self.connection.state() == TcpState::Established
        {
            self.task = Some(Bulk { start: now + task.pause, pause: Duration::ZERO, ..task });
            self.step = BulkStep::Waits;
        }
    }

    /// Does what is due at the start of the task: opens the connection, or writes.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, task: Bulk, events: &mut Events<Segment>) {
        if !task.pause.is_zero() {
            self.step = BulkStep::Opens;
            self.connection.open(task.start, events);
            return self.pause_if_open(task.start);
        }
        self.step = BulkStep::Wrote;
        let Some(octets) = task.octets else {
            return self.connection.write(task.start, ENDLESS, events);
        };
        // A short last segment waits for the close, so that it carries the FIN (Linux's MSG_MORE).
        self.connection.set_cork(task.start, true, events);
        self.connection.write(task.start, octets, events);
        self.connection.close(task.start, events);
        self.connection.set_cork(task.start, false, events);
    }

    /// The number of octets that the application writes. `None` stands for a transfer that never
    /// ends.
    pub fn octets(&self) -> Option<u64> {
        self.task.map_or(Some(0), |task| task.octets)
    }

    /// The results of the end so far.
    pub fn result(&self) -> FlowResult {
        let wrote = self.task_at(BulkStep::Wrote).map(|task| task.start);
        FlowResult::of(&self.connection, wrote, self.finished)
    }
}

impl Host<Segment> for Endpoint {
    #[inline]
    fn act_before(&mut self, now: Time, since: Time, events: &mut Events<Segment>) {
        self.connection.act_before(now, since, events);
    }

    fn rest(&mut self) {
        self.connection.rest();
    }
}

impl Stage<Segment> for Endpoint {
    #[inline(always)]
    fn push(&mut self, now: Time, port: Port, segment: Segment, events: &mut Events<Segment>) {
        self.connection.push(now, port, segment, events);
        self.pause_if_open(now);
        if self.task_at(BulkStep::Wrote).is_some() {
            if self.finished.is_none() && self.connection.unacknowledged() == 0 {
                self.finished = Some(now);
            }
        } else if self.connection.peer_closed() {
            self.connection.close(now, events);
        }
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Time> {
        if self.finished.is_some() && self.connection.only_in_time_wait() {
            return None;
        }
        let task = self.task_at(BulkStep::Waits).map(|task| task.start);
        match (task, self.connection.next_wakeup()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    #[inline(always)]
    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        if let Some(task) = self.task_at(BulkStep::Waits).filter(|task| task.start <= now) {
            self.begin(task, events);
        }
        self.connection.pop(now, events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Wanted;
    use crate::ids::{FlowId, Side};
    use crate::segment::Flags;
    use crate::tcp::RfcConfig;

    /// Runs a transfer of `octets` octets that pauses for 100 ms when the connection is open.
    /// Returns the segments that leave at the end of the pause: the octets of each, and whether it
    /// carries the FIN.
    fn after_a_pause(octets: u64) -> Vec<(u16, bool)> {
        let config = RfcConfig::linux_6().into();
        let pause = Duration::from_millis(100);
        let task = Bulk { start: Time::ZERO, pause, octets: Some(octets) };
        let source = Connection::new(FlowId(0).end(Side::From), &config);
        let mut source = Endpoint::new(source, Some(task));
        let mut sink = Endpoint::new(Connection::new(FlowId(0).end(Side::To), &config), None);
        let mut events = Events::new(Wanted::default());
        let mut sent = Vec::new();
        for now in [Time::ZERO, Time::ZERO + pause] {
            while let Some((_, _, segment)) = source.pop(now, &mut events) {
                if now > Time::ZERO {
                    sent.push((segment.len, segment.flags.has(Flags::FIN)));
                    continue;
                }
                sink.push(now, 0, segment, &mut events);
                while let Some((_, _, answer)) = sink.pop(now, &mut events) {
                    source.push(now, 0, answer, &mut events);
                }
            }
        }
        sent
    }

    /// In Linux, `MSG_MORE` holds back a short segment, but not a full segment.
    #[test]
    fn after_a_pause_a_short_last_segment_carries_the_fin() {
        assert_eq!(after_a_pause(300), [(300, true)]);
        assert_eq!(after_a_pause(2000), [(1448, false), (552, true)]);
        assert_eq!(after_a_pause(1448), [(1448, false), (0, true)]);
    }
}
