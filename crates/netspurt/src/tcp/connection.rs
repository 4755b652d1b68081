//! The connection: both halves behind the three verbs, and the application's own.

use std::collections::VecDeque;

use crate::event::Events;
use crate::segment::{Flags, Segment};
use crate::seq;
use crate::stage::{Port, Stage};
use crate::units::Time;

use super::config::TcpConfig;
use super::ns::NsSender;
use super::receiver::{Acknowledgment, ReceiveCount, Receiver};
use super::transmit::{Context, ISN, SendCount};

/// One end of a TCP connection.
///
/// Segments go in by [`push`](Stage::push) and come out by [`pop`](Stage::pop); the application
/// writes. A connection of ns-2's kind is established from the start.
///
/// ```
/// use netspurt::clock::Clock;
/// use netspurt::event::{Events, Wanted};
/// use netspurt::rto::Ns2Config;
/// use netspurt::stage::Stage;
/// use netspurt::tcp::{AckPolicy, Connection, Recovery, TcpConfig};
/// use netspurt::units::{Duration, Time};
///
/// let ms = Duration::from_millis;
/// let config = TcpConfig {
///     packet_bytes: 1000,
///     header_bytes: 40,
///     initial_window_segs: 1,
///     receive_window_segs: 20,
///     recovery: Recovery::Tahoe,
///     limited_transmit: false,
///     bugfix: true,
///     acks: AckPolicy::EverySegment,
///     clock: Clock::EXACT,
///     rto: Ns2Config { tick: ms(10), initial: ms(3000), min: ms(200), max: ms(60_000) },
/// };
/// let (mut a, mut b) = (Connection::new(0, &config), Connection::new(1, &config));
/// let mut events = Events::new(Wanted::default());
/// a.write(Time::ZERO, 2 * 960, &mut events);
/// let (_, _, data) = a.pop(Time::ZERO, &mut events).unwrap();
/// let now = Time::ZERO + ms(5);
/// b.push(now, 0, data, &mut events);
/// let (_, _, ack) = b.pop(now, &mut events).unwrap();
/// assert_eq!((data.len, ack.ack), (960, 961));
/// ```
#[derive(Debug)]
pub struct Connection {
    endpoint: u32,
    sender: NsSender,
    receiver: Receiver,
    outbox: VecDeque<Segment>,
    /// When what lies in the outbox was put there.
    ready: Time,
}

impl Connection {
    /// The connection's end numbered `endpoint`; its peer is the one numbered `endpoint ^ 1`.
    pub fn new(endpoint: u32, config: &TcpConfig) -> Self {
        Self {
            endpoint,
            sender: NsSender::new(config),
            receiver: Receiver::new(config),
            outbox: VecDeque::new(),
            ready: Time::ZERO,
        }
    }

    /// Takes `octets` more to send; they leave as the windows allow.
    pub fn write(&mut self, now: Time, octets: u64, events: &mut Events<Segment>) {
        let tx = &mut self.sender.tx;
        tx.end = tx.end.saturating_add(octets);
        self.step(now, events, |this, cx| this.sender.on_write(cx));
    }

    /// Octets written and not yet acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.sender.tx.end - self.sender.tx.una
    }

    /// Octets acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.sender.tx.una - 1
    }

    /// What its sending half did.
    pub fn sent(&self) -> SendCount {
        self.sender.tx.count
    }

    /// What its receiving half took in.
    pub fn received(&self) -> ReceiveCount {
        self.receiver.count
    }

    /// Runs one step at `now` with a place for its effects.
    fn step(
        &mut self,
        now: Time,
        events: &mut Events<Segment>,
        act: impl FnOnce(&mut Halves<'_>, &mut Context<'_>),
    ) {
        self.ready = now;
        let mut cx = Context { now, endpoint: self.endpoint, events, outbox: &mut self.outbox };
        let mut halves = Halves { sender: &mut self.sender, receiver: &mut self.receiver };
        act(&mut halves, &mut cx);
    }
}

/// Both halves of a connection, lent to a step.
struct Halves<'a> {
    sender: &'a mut NsSender,
    receiver: &'a mut Receiver,
}

impl Halves<'_> {
    fn acknowledge(&mut self, what: &Acknowledgment, cx: &mut Context<'_>) {
        let mut segment = self.sender.tx.blank(cx);
        segment.ack = seq::to_wire(ISN, what.next);
        segment.set_stamp(what.echo);
        segment.set_sack(&what.blocks);
        // ns-2's sink charges 8 octets a block and nothing for the option's own two.
        segment.size_bytes += 8 * u16::try_from(what.blocks.as_slice().len()).unwrap_or(0);
        cx.outbox.push_back(segment);
    }
}

impl Stage<Segment> for Connection {
    fn push(&mut self, now: Time, _port: Port, segment: Segment, events: &mut Events<Segment>) {
        self.step(now, events, |this, cx| {
            if segment.len > 0 {
                if let Some(what) = this.receiver.on_data(&segment, now) {
                    this.acknowledge(&what, cx);
                }
            } else if segment.flags.has(Flags::ACK) {
                this.sender.on_ack(&segment, cx);
            }
        });
    }

    fn next_wakeup(&self) -> Option<Time> {
        if !self.outbox.is_empty() {
            return Some(self.ready);
        }
        let at = self.sender.tx.timer.deadline().min(self.receiver.deadline());
        (at < Time::NEVER).then_some(at)
    }

    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        while self.outbox.is_empty() {
            let (send, hold) = (self.sender.tx.timer.deadline(), self.receiver.deadline());
            if hold.min(send) > now {
                return None;
            }
            self.step(hold.min(send), events, |this, cx| {
                if hold <= send {
                    let what = this.receiver.on_deadline();
                    this.acknowledge(&what, cx);
                } else {
                    this.sender.on_timeout(cx);
                }
            });
        }
        let segment = self.outbox.pop_front()?;
        Some((self.ready, 0, segment))
    }
}
