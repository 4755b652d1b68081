//! The scripted remote end that talks to our connection. The remote end that talked to the kernel
//! is `authorities/linux/kernel_peer.py`.

use std::collections::VecDeque;

use netspurt::clock::Clock;
use netspurt::event::{Events, Wanted};
use netspurt::ids::EndId;
use netspurt::segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};
use netspurt::stage::Stage;
use netspurt::tcp::{Connection, ConnectionInfo, RfcConfig};
use netspurt::units::{Duration, Time};

/// The number of octets of payload in a full segment with timestamps, for an MTU of 1500 octets.
pub const FULL: u64 = 1448;
/// The initial sequence number of the remote end.
const ISS: u32 = 1_000_000;
const JIFFY: Duration = Duration::from_millis(4);

pub fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Converts a span to microseconds, rounded down.
pub fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1000
}

/// A packet that our connection sent. Its sequence and acknowledgment numbers are relative to the
/// initial sequence numbers.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub t: Time,
    pub seq: u64,
    pub ack: u64,
    pub len: u64,
    pub tsval: u32,
    pub first_block: Option<(u64, u64)>,
}

/// A packet that the remote end sends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Out<'a> {
    /// The number of octets of payload.
    pub len: u64,
    /// The sequence number of the first octet. `None` stands for the next octet in sequence.
    pub seq: Option<u64>,
    /// The acknowledgment number. `None` stands for the number in [`Flow::rcv`].
    pub ack: Option<u64>,
    pub push: bool,
    pub sack: &'a [(u64, u64)],
    /// The timestamp that the packet echoes. `None` stands for the newest timestamp of our
    /// connection.
    pub echo: Option<u32>,
    /// Whether the packet closes the receive window of the remote end.
    pub closed: bool,
}

/// Our connection, and the remote end that talks to it.
pub struct Flow {
    pub conn: Connection,
    pub now: Time,
    /// Whether the packets of the remote end have timestamps.
    pub stamps: bool,
    /// The acknowledgment number of the remote end's packets. A packet may set another number.
    pub rcv: u64,
    nxt: u64,
    /// The newest timestamp of our connection.
    newest: u32,
    events: Events<Segment>,
    packets: VecDeque<Packet>,
}

impl Flow {
    /// Makes our connection with the profile `linux-6` and the changes that the function `change`
    /// makes. The span `phase` says how far the jiffies of the connection's clock had advanced at
    /// the start.
    pub fn new(phase: Duration, change: impl Fn(&mut RfcConfig)) -> Self {
        let mut config = RfcConfig::linux_6();
        config.clock = Clock::linux(JIFFY, phase).unwrap();
        config.timer_clock = config.clock;
        change(&mut config);
        Self {
            conn: Connection::new(EndId::default(), &config.into()),
            now: Time::ZERO + ms(1),
            stamps: true,
            rcv: 1,
            nxt: 1,
            newest: 0,
            events: Events::new(Wanted::default()),
            packets: VecDeque::new(),
        }
    }

    /// Stores a packet that our connection sent at `t`.
    fn take(&mut self, t: Time, segment: &Segment) {
        let seq = |wire: u32, first: u32| u64::from(wire.wrapping_sub(first));
        let tsval = segment.timestamps().map_or(0, |stamps| stamps.val);
        self.newest = if tsval > 0 { tsval } else { self.newest };
        let block = segment.sack().first();
        self.packets.push_back(Packet {
            t,
            seq: seq(segment.seq, 0),
            ack: seq(segment.ack, ISS),
            len: segment.len.into(),
            tsval,
            first_block: block.map(|b| (seq(b.left, ISS), seq(b.right, ISS))),
        });
    }

    /// Collects the packets that our connection sends up to the instant `now`.
    fn run(&mut self) {
        while let Some((t, _, segment)) = self.conn.pop(self.now, &mut self.events) {
            self.take(t, &segment);
        }
    }

    /// Advances the time by `span`.
    pub fn pass(&mut self, span: Duration) {
        self.now += span;
        self.run();
    }

    /// Advances the time by `span`. Returns all packets of our connection that were not taken yet.
    pub fn quiet(&mut self, span: Duration) -> Vec<Packet> {
        self.pass(span);
        self.packets.drain(..).collect()
    }

    /// Returns the next packet of our connection. The time advances until there is one.
    pub fn get(&mut self) -> Packet {
        self.run();
        while self.packets.is_empty() {
            self.now =
                self.conn.next_wakeup().expect("our connection has a running timer").max(self.now);
            self.run();
        }
        self.packets.pop_front().unwrap()
    }

    /// Sends a segment to our connection, and returns the instant at which it was sent.
    pub fn send(&mut self, out: Out<'_>) -> Time {
        let flags = if out.push { Flags::ACK.with(Flags::PSH) } else { Flags::ACK };
        self.emit(out, flags)
    }

    /// Sends a packet with these flags to our connection, and returns the instant at which it was
    /// sent.
    fn emit(&mut self, out: Out<'_>, flags: Flags) -> Time {
        let seq = out.seq.unwrap_or(self.nxt);
        self.nxt += if out.seq.is_none() { out.len } else { 0 };
        let ack = if flags.has(Flags::ACK) { out.ack.unwrap_or(self.rcv) } else { 0 };
        let mut segment = Segment {
            seq: ISS.wrapping_add(u32::try_from(seq).unwrap()),
            ack: u32::try_from(ack).unwrap(),
            len: u16::try_from(out.len).unwrap(),
            window: match out.closed {
                true => 0,
                false if flags.has(Flags::SYN) => u16::MAX,
                false => 8192,
            },
            flags,
            ..Segment::default()
        };
        if flags.has(Flags::SYN) {
            let offer = SynOptions { mss: Some(1460), window_scale: Some(7), sack: true };
            segment.set_syn_options(offer);
        }
        if self.stamps {
            let val = u32::try_from(self.now.as_nanos() / 1_000_000).unwrap() + 1;
            segment.set_timestamps(Timestamps { val, ecr: out.echo.unwrap_or(self.newest) });
        }
        if !out.sack.is_empty() {
            let mut blocks = SackBlocks::default();
            for (left, right) in out.sack {
                let edge = |octet: u64| u32::try_from(octet).unwrap();
                blocks.add(SackBlock { left: edge(*left), right: edge(*right) });
            }
            segment.set_sack(&blocks);
        }
        self.conn.push(self.now, 0, segment, &mut self.events);
        self.run();
        self.now
    }

    /// Answers the SYN of our connection with a SYN-ACK.
    pub fn answer_syn(&mut self, echo: Option<u32>) {
        let syn_ack = Out { seq: Some(0), ack: Some(1), echo, ..Out::default() };
        self.emit(syn_ack, Flags::SYN.with(Flags::ACK));
    }

    pub fn open(&mut self) {
        self.conn.open(self.now, &mut self.events);
    }

    /// Opens our connection actively. The remote end answers the SYN after `rtt`.
    pub fn connect(&mut self, rtt: Duration) {
        self.open();
        self.get();
        self.pass(rtt);
        self.answer_syn(None);
        self.get();
    }

    /// Sends a SYN to our connection, which listens. Returns the SYN-ACK of our connection.
    pub fn ask(&mut self) -> Packet {
        self.conn.listen();
        self.emit(Out { seq: Some(0), ..Out::default() }, Flags::SYN);
        self.get()
    }

    /// Opens our connection passively. The last ACK of the handshake comes `rtt` after the SYN-ACK
    /// of our connection.
    pub fn accept(&mut self, rtt: Duration) {
        self.ask();
        self.pass(rtt);
        self.send(Out::default());
    }

    pub fn write(&mut self, octets: u64) {
        self.conn.write(self.now, octets, &mut self.events);
        self.run();
    }

    pub fn info(&self) -> ConnectionInfo {
        self.conn.info().unwrap()
    }
}
