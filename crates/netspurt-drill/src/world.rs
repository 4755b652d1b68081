//! The simulated host that packetdrill tests, with its clock and its packets.

use std::collections::{BTreeMap, VecDeque};

use netspurt::segment::Segment;
use netspurt::units::{Duration, Time};
use netspurt_scenario::script::{
    Call, CallOutcome, CallResult, EpollOperation, Fd, Info, SocketHost, Subject,
};

use crate::clock::DrillClock;
use crate::ends::{Incoming, WireEnds};
use crate::shell::{Setup, changes};

/// After this number of steps without progress at one instant, the host counts as stuck.
const STEPS_MAX: u32 = 10_000;

/// The host with its clock and its packets. The host is made at the first call or the first
/// arriving packet. Before callers use the host, they must call [`step`](Self::step) until nothing
/// is due.
#[derive(Debug)]
pub struct DrillWorld {
    setup: Setup,
    host: Option<SocketHost>,
    clock: DrillClock,
    ends: WireEnds,
    /// The segments that have left the host, but that packetdrill has not taken yet.
    sent: VecDeque<(Time, Segment)>,
    /// For each epoll and each socket that it watches: the data that `epoll_ctl` set and `epoll_wait` must
    /// return.
    marks: BTreeMap<(Fd, Fd), u64>,
    /// The unsupported request, or the fault, that stopped the host.
    refused: Option<String>,
    /// The number of steps since the clock last advanced or the host last sent a packet.
    idle: u32,
}

impl DrillWorld {
    /// A world without a host yet.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            host: None,
            clock: DrillClock::default(),
            ends: WireEnds::default(),
            sent: VecDeque::new(),
            marks: BTreeMap::new(),
            refused: None,
            idle: 0,
        }
    }

    /// The clock that packetdrill reads.
    pub fn clock(&mut self) -> &mut DrillClock {
        &mut self.clock
    }

    /// The addresses of the connection.
    pub fn ends(&mut self) -> &mut WireEnds {
        &mut self.ends
    }

    /// Refuses the script. The text `what` is the reason why it cannot be played. From then on,
    /// callers must check [`is_refused`](Self::is_refused) and make no more calls.
    pub fn refuse(&mut self, what: impl Into<String>) {
        self.host = None;
        let what = self.refused.get_or_insert(what.into());
        eprintln!("netspurt refuses: {what}");
    }

    /// Whether the script cannot be played.
    pub fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Plays a shell command of the script. Returns false if the script cannot be played, for
    /// example because of this command.
    pub fn command(&mut self, text: &str) -> bool {
        let result = match &self.host {
            _ if self.is_refused() => return false,
            None => self.setup.command(text),
            Some(_) => changes(text).and_then(|found| {
                found.into_iter().try_for_each(|change| {
                    let (now, host) = self.host()?;
                    host.change(now, &change)
                })
            }),
        };
        self.collect();
        result.map_err(|what| self.refuse(what)).is_ok()
    }

    /// Returns the time and the host. If there is no host yet, makes the host from the commands so
    /// far.
    fn host(&mut self) -> Result<(Time, &mut SocketHost), String> {
        let now = self.clock.host_time();
        if self.host.is_none() {
            self.host = Some(self.setup.host()?);
        }
        Ok((now, self.host.as_mut().expect("made above")))
    }

    /// Makes a call.
    pub fn call(&mut self, call: &Call) -> CallResult {
        let result = match self.host() {
            Ok((now, host)) => host.call(now, call),
            Err(what) => CallResult::NotSupported(what),
        };
        self.collect();
        result
    }

    /// Returns the outcome of the call that blocked. Returns `None` while the call still blocks.
    pub fn returned(&mut self) -> Option<CallOutcome> {
        let now = self.clock.host_time();
        let outcome = self.host.as_mut()?.returned(now);
        self.collect();
        outcome
    }

    /// Gives an arriving packet to the host. Returns false if the script cannot be played because
    /// of this packet.
    pub fn inject(&mut self, packet: &[u8]) -> bool {
        let segment = self.ends.arrival(packet);
        let result = segment.and_then(|segment| {
            let (now, host) = self.host()?;
            match segment {
                Some(Incoming::Segment(segment)) => host.inject(now, &segment),
                Some(Incoming::Unreachable(message)) => host.unreachable(now, &message)?,
                None => {}
            }
            Ok(())
        });
        self.collect();
        result.map_err(|what| self.refuse(what)).is_ok()
    }

    /// Takes the oldest packet that left and was not taken yet. Returns it with the time of its
    /// departure in microseconds since 1970.
    pub fn take_packet(&mut self) -> Option<(i64, Vec<u8>)> {
        let (at, segment) = self.sent.pop_front()?;
        Some((self.clock.host_us(at), self.ends.packet(segment)))
    }

    /// Advances the clock to the next instant at which something is due, but at most to the instant
    /// `until`. Returns whether something was due.
    pub fn step(&mut self, until: Time) -> bool {
        let due = self.host.as_ref().and_then(Subject::next_wakeup);
        let Some(at) = due.filter(|at| *at <= until) else {
            self.clock.wait_until(until);
            return false;
        };
        let before = (self.clock.host_time(), self.sent.len());
        self.clock.wait_until(at);
        self.collect();
        self.idle =
            if (self.clock.host_time(), self.sent.len()) == before { self.idle + 1 } else { 0 };
        if self.idle > STEPS_MAX {
            self.refuse("the host makes no progress: an event stays due");
            return false;
        }
        true
    }

    /// The present instant plus the time `span`.
    pub fn after(&mut self, span: Duration) -> Time {
        self.clock.host_time() + span
    }

    /// Whether the host will act at some instant even if no call and no packet comes.
    pub fn has_plans(&self) -> bool {
        self.host.as_ref().and_then(Subject::next_wakeup).is_some()
    }

    /// Collects the segments that have left the host.
    fn collect(&mut self) {
        let now = self.clock.host_time();
        while let Some(sent) = self.host.as_mut().and_then(|host| host.poll(now)) {
            self.sent.push_back(sent);
        }
    }

    /// The state of the connection.
    pub fn info(&mut self) -> Info {
        let now = self.clock.host_time();
        self.host.as_ref().map(|host| host.info(now)).unwrap_or_default()
    }

    /// Stores or removes the data that `epoll_wait` must return for a socket.
    pub fn mark(&mut self, epoll: Fd, socket: Fd, operation: EpollOperation, data: u64) {
        match operation {
            EpollOperation::Remove => self.marks.remove(&(epoll, socket)),
            EpollOperation::Add | EpollOperation::Modify => {
                self.marks.insert((epoll, socket), data)
            }
        };
    }

    /// The data that `epoll_wait` must return for a socket.
    pub fn marked(&self, epoll: Fd, socket: Fd) -> u64 {
        self.marks.get(&(epoll, socket)).copied().unwrap_or(0)
    }
}
