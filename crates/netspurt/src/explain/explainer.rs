//! From packets to explained connections.

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::observe::{Flows, Lifetimes, Passing, Retired};
use crate::units::{Duration, Time};
use crate::wire::{CapturedPacket, TcpView};

use super::{CapturedConnection, EndedConnection};

/// The packets that passed, by what they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// All.
    pub packets: u64,
    /// Those of TCP.
    pub tcp: u64,
    /// Those on links that cannot be read, or without IP.
    pub no_ip: u64,
    /// IP packets that are not TCP, or whose headers are cut or damaged.
    pub other: u64,
}

/// Follows the connections among the packets of a capture.
///
/// ```
/// use netspurt::explain::Explainer;
/// let explanation = Explainer::default().finish();
/// assert_eq!((explanation.passed.packets, explanation.connections.len()), (0, 0));
/// ```
#[derive(Debug)]
pub struct Explainer {
    flows: Flows<CapturedConnection>,
    passed: Passed,
    /// Connections that have ended and were not taken.
    ended: VecDeque<EndedConnection>,
    /// Those that were there when the capture ended, the last first.
    rest: Vec<Retired<CapturedConnection>>,
    /// How many there were when the capture ended.
    born: u64,
    /// When the first and the latest packet was captured.
    first: Option<Time>,
    last: Time,
}

/// The connections of a capture, in the order of their first packets.
#[derive(Debug)]
pub struct Explanation {
    /// The packets.
    pub passed: Passed,
    /// The connections.
    pub connections: Vec<EndedConnection>,
}

impl Default for Explainer {
    fn default() -> Self {
        Self {
            flows: Flows::new(Lifetimes::default()),
            passed: Passed::default(),
            ended: VecDeque::new(),
            rest: Vec::new(),
            born: 0,
            first: None,
            last: Time::ZERO,
        }
    }
}

impl Explainer {
    /// A closed connection without packets for this long takes little memory.
    const QUIET: Duration = Duration::from_secs(1);

    /// Takes the next packet.
    pub fn take(&mut self, packet: &CapturedPacket<'_>) {
        self.passed.packets += 1;
        let at = Time::from_nanos(u64::try_from(packet.unix_ns).unwrap_or(0));
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
        let Some(ip) = packet.ip() else {
            self.passed.no_ip += 1;
            return;
        };
        let Ok(view) = TcpView::of(ip, ip.len()) else {
            self.passed.other += 1;
            return;
        };
        self.passed.tcp += 1;
        let TcpView { ends, flags, seq, ack, .. } = view;
        if let Some(closed) = self.flows.look_at_closed(at, Self::QUIET) {
            closed.rest();
        }
        let (sighting, conversation) = self.flows.sight(&Passing { at, ends, flags, seq, ack });
        conversation.take(sighting.side, at, &view);
        self.ended.extend(self.flows.take_retired().map(EndedConnection::of));
    }

    /// What passed so far.
    pub fn passed(&self) -> Passed {
        self.passed
    }

    /// How many connections there were so far.
    pub fn connections(&self) -> u64 {
        self.born + self.flows.born()
    }

    /// The time from the first packet to the latest.
    pub fn span(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |first| self.last.saturating_since(first))
    }

    /// A connection that has ended, which is then forgotten. With `over` the capture has ended, and
    /// then all have: those that had not ended before come in the order of their first packets.
    pub fn next_ended(&mut self, over: bool) -> Option<EndedConnection> {
        if over && self.flows.live() > 0 {
            let flows = std::mem::replace(&mut self.flows, Flows::new(Lifetimes::default()));
            self.born += flows.born();
            self.rest = flows.into_all().collect();
            self.rest.sort_by_key(|one| Reverse(one.number));
        }
        self.ended.pop_front().or_else(|| self.rest.pop().map(EndedConnection::of))
    }

    /// The capture has ended: returns the connections that were not taken yet.
    pub fn finish(mut self) -> Explanation {
        let mut connections: Vec<_> = std::iter::from_fn(|| self.next_ended(true)).collect();
        connections.sort_by_key(|one| one.number);
        Explanation { passed: self.passed, connections }
    }
}
