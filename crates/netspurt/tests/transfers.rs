//! Tests random transfers over a network that loses, delays and duplicates segments. As many octets
//! must be delivered and acknowledged as were written, and no transfer may hang.
//!
//! `NETSPURT_TRANSFERS=1000000 cargo test --release -p netspurt --test transfers` tries a million
//! transfers of each kind.

use std::collections::BinaryHeap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use netspurt::congestion::{BbrConfig, CongestionConfig, CubicConfig, RenoConfig, WestwoodConfig};
use netspurt::event::{Events, Wanted, What};
use netspurt::ids::{EndId, FlowId};
use netspurt::record::Judge;
use netspurt::rng::Stream;
use netspurt::rto::EstimatorConfig;
use netspurt::segment::{Cause, Segment};
use netspurt::stage::Stage;
use netspurt::tcp::{Connection, Recovery, RfcConfig, TcpState};
use netspurt::units::{Duration, Time};

/// The network's effects on segments. Probabilities are in parts of 1024.
#[derive(Debug)]
struct Network {
    loss: u64,
    copies: u64,
    /// The probability that a segment gets an additional delay, which is less than `jitter`.
    detours: u64,
    delay: Duration,
    jitter: Duration,
    /// The instant at which the delay changes, and the delay from then on.
    step: (Time, Duration),
    /// The start and the end of an outage, in which all segments are lost.
    outage: (Time, Time),
}

/// A transfer from the first end to the second end.
struct Transfer {
    seed: u64,
    /// The minimum and the maximum RTO of the algorithm under test.
    timers: (Duration, Duration),
    judge: Judge,
    dice: Stream,
    network: Network,
    ends: [Connection; 2],
    octets: u64,
    /// Whether the receiving application reads fewer than 5000 octets at a time.
    slow_reader: bool,
    /// The segments on the path. Each entry has the instant of arrival in nanoseconds, the index in
    /// the list `segments`, and the end at which the segment arrives.
    flying: BinaryHeap<core::cmp::Reverse<(u64, u64, usize)>>,
    segments: Vec<Segment>,
    /// The first segments that were sent, as text.
    story: Vec<String>,
}

const PROFILES: [fn() -> RfcConfig; 4] =
    [RfcConfig::rfc_2026, RfcConfig::linux_6, RfcConfig::reno_1998, RfcConfig::reno_2005];

const RECOVERIES: [Recovery; 6] = [
    Recovery::Tahoe,
    Recovery::Reno,
    Recovery::NewReno,
    Recovery::Sack,
    Recovery::Fack,
    Recovery::Rack,
];

/// Draws a number below `n`.
fn below(dice: &mut Stream, n: u64) -> u64 {
    dice.bits() % n
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Returns the minimum and the maximum RTO that an algorithm declares.
fn bounds(algorithm: &EstimatorConfig) -> (Duration, Duration) {
    let bounds = algorithm.bounds();
    (bounds.min.unwrap_or_default(), bounds.max.unwrap_or(Duration::from_nanos(u64::MAX)))
}

impl Network {
    /// Draws a network at random.
    fn drawn(dice: &mut Stream) -> Self {
        let delay = ms(1 + below(dice, 200));
        let at = |n| Time::ZERO + ms(n);
        let outage = at(below(dice, 4000));
        Network {
            loss: [0, 10, 50, 200][below(dice, 4) as usize],
            copies: [0, 0, 20, 100][below(dice, 4) as usize],
            detours: [0, 0, 50, 200][below(dice, 4) as usize],
            delay,
            jitter: ms(below(dice, 50)),
            step: (at(below(dice, 5000)), ms(1 + below(dice, 400))),
            outage: (outage, outage + ms([0, 0, 500, 5000][below(dice, 4) as usize])),
        }
    }
}

impl Transfer {
    /// Makes a transfer over a network that may have every effect of [`Network`].
    fn new(seed: u64) -> Self {
        Self::with(seed, |_, _| ())
    }

    /// Makes a transfer over a network that only loses segments, at random and in an outage. It
    /// neither copies nor reorders them.
    fn over_a_path_that_only_loses(seed: u64) -> Self {
        Self::with(seed, |config, network| {
            (network.copies, network.detours) = (0, 0);
            network.loss = network.loss.max(10);
            network.step.1 = network.delay;
            // A timeout may be needed for one segment, while other outstanding segments have
            // arrived but their ACKs were lost. The first ACK after the timeout then covers these
            // other segments. Linux's F-RTO takes this ACK as proof that the timeout was spurious,
            // and undoes a cut of cwnd that was needed.
            config.frto_at_once = false;
            // With Linux's rule `reports_need_copies`, the report that a tail loss probe was a
            // duplicate may undo a cut that was needed (`tcp_check_dsack`), if the probe was sent
            // after the repair. So this rule is off. While this rule is off, one report may cover
            // octets that both a probe and a joined retransmission repeated. The report then counts
            // for the retransmission. So retransmissions are not joined.
            config.spurious_rules.reports_need_copies = false;
            config.send_rules.joins_copies = false;
        })
    }

    /// Draws a configuration and a network at random, and lets the function `change` change them.
    fn with(seed: u64, change: fn(&mut RfcConfig, &mut Network)) -> Self {
        let mut dice = Stream::named(seed, "transfers");
        let profile = PROFILES[below(&mut dice, 4) as usize];
        let mut config = profile();
        config.mss = 100 + below(&mut dice, 1400) as u16;
        if below(&mut dice, 2) == 0 {
            config.recovery = RECOVERIES[below(&mut dice, 6) as usize];
            config.prr = below(&mut dice, 2) == 0;
            config.frto = below(&mut dice, 2) == 0;
            config.tlp = below(&mut dice, 2) == 0;
            config.limited_transmit = below(&mut dice, 2) == 0;
            config.early_retransmit = below(&mut dice, 2) == 0;
            config.nagle = below(&mut dice, 2) == 0;
            config.pacing = below(&mut dice, 4) == 0;
            config.congestion = match below(&mut dice, 4) {
                0 => CongestionConfig::Reno(RenoConfig::default()),
                1 => CongestionConfig::Cubic(CubicConfig::default()),
                2 => CongestionConfig::Westwood(WestwoodConfig::default()),
                _ => CongestionConfig::Bbr(BbrConfig::default()),
            };
        }
        if below(&mut dice, 2) == 0 {
            let names = EstimatorConfig::NAMES;
            let name = names[below(&mut dice, names.len() as u64) as usize];
            config.rto = EstimatorConfig::named(name).expect("one of the algorithms");
            match &mut config.rto {
                // Without a maximum, a timer may become longer than the clock can count.
                EstimatorConfig::Mills(algorithm) => algorithm.max = Some(ms(60_000)),
                EstimatorConfig::Quic(algorithm) => algorithm.max = Some(ms(60_000)),
                _ => {}
            }
        }
        config.iss =
            if below(&mut dice, 2) == 0 { u32::MAX - below(&mut dice, 50_000) as u32 } else { 0 };
        config.receive_buffer_bytes =
            [2_000, 20_000, 65_535, 1 << 20][below(&mut dice, 4) as usize];
        // An algorithm without a minimum or a backoff may retransmit many times in an outage.
        config.retries = 100_000;
        config.syn_retries = 100_000;
        config.time_wait = ms(100_000_000);
        let mut network = Network::drawn(&mut dice);
        change(&mut config, &mut network);
        let ends = [0, 1].map(|end| Connection::new(EndId::at(end), &config.into()));
        let octets = [1, 700, 5_000, 40_000, 100_000][below(&mut dice, 5) as usize];
        let slow_reader = below(&mut dice, 8) == 0;
        let mut judge = Judge::default();
        judge.watch(FlowId(0));
        Self {
            seed,
            timers: bounds(&config.rto),
            judge,
            dice,
            network,
            ends,
            octets,
            slow_reader,
            flying: BinaryHeap::new(),
            segments: Vec::new(),
            story: Vec::new(),
        }
    }

    /// Puts `segment` onto the path at the instant `now`, perhaps twice, unless the network loses
    /// it.
    fn launch(&mut self, now: Time, segment: Segment, to: usize) {
        let dark = now >= self.network.outage.0 && now < self.network.outage.1;
        if dark || below(&mut self.dice, 1024) < self.network.loss {
            return;
        }
        let copies = 1 + u64::from(below(&mut self.dice, 1024) < self.network.copies);
        for _ in 0..copies {
            let base =
                if now < self.network.step.0 { self.network.delay } else { self.network.step.1 };
            let jitter =
                Duration::from_nanos(below(&mut self.dice, self.network.jitter.as_nanos().max(1)));
            let detour = below(&mut self.dice, 1024) < self.network.detours;
            let due = now + base + if detour { jitter } else { Duration::ZERO };
            self.segments.push(segment);
            let number = self.segments.len() as u64 - 1;
            self.flying.push(core::cmp::Reverse((due.as_nanos(), number, to)));
        }
    }

    /// Runs the transfer to its end.
    fn run(&mut self) {
        let mut events = Events::new(Wanted { rto: true, ..Wanted::default() });
        let mut now = Time::ZERO;
        self.ends[1].listen();
        if self.slow_reader {
            self.ends[1].read_by_hand();
        }
        self.ends[0].write(now, self.octets, &mut events);
        self.ends[0].close(now, &mut events);
        for _ in 0..2_000_000 {
            for end in 0..2 {
                while let Some((at, _, segment)) = self.ends[end].pop(now, &mut events) {
                    self.note(at, end, &segment);
                    self.judge.departed(at, &segment);
                    self.launch(at, segment, segment.dest.index());
                }
            }
            self.check(&mut events);
            if self.is_over() {
                return self.check_the_end();
            }
            let wake = self.ends.iter().filter_map(Stage::next_wakeup).min();
            let arrival = self.flying.peek().map(|next| Time::from_nanos(next.0.0));
            let Some(next) = wake.into_iter().chain(arrival).min() else {
                panic!("deadlock: {:?}", self.ends.each_ref().map(Connection::info));
            };
            now = now.max(next);
            while let Some(next) = self.flying.peek().filter(|next| next.0.0 <= now.as_nanos()) {
                let core::cmp::Reverse((_, number, to)) = *next;
                self.flying.pop();
                let segment = self.segments[number as usize];
                self.judge.reached(now, &segment);
                self.ends[to].push(now, 0, segment, &mut events);
            }
            self.act_as_receiver(now, &mut events);
        }
        panic!("the transfer does not end: {:?}", self.ends.each_ref().map(Connection::info));
    }

    /// Adds a segment to the story, which is printed if the transfer fails.
    fn note(&mut self, at: Time, end: usize, segment: &Segment) {
        if self.story.len() < 400 {
            let Segment { seq, ack, len, flags, window, .. } = segment;
            let cause = segment.cause.get().map_or("", Cause::name);
            let blocks: Vec<_> = segment.sack().iter().map(|b| (b.left, b.right)).collect();
            let undone = self.ends[0].totals().sent.undone;
            self.story.push(format!(
                "{at} {end}> {flags:?} {seq}+{len} ack {ack} win {window} {blocks:?} {cause} undone {undone}"
            ));
        }
    }

    /// Lets the receiving application read and close.
    fn act_as_receiver(&mut self, now: Time, events: &mut Events<Segment>) {
        if self.slow_reader {
            let some = below(&mut self.dice, 5000).min(self.ends[1].unread());
            if some > 0 || self.ends[1].unread() > 0 {
                self.ends[1].read(now, some.max(1), events);
            }
        }
        if self.ends[1].peer_closed() {
            self.ends[1].close(now, events);
        }
    }

    fn is_over(&self) -> bool {
        let over = |end: &Connection| matches!(end.state(), TcpState::Closed | TcpState::TimeWait);
        self.ends.iter().all(over)
    }

    /// Checks what must hold at every instant.
    fn check(&mut self, events: &mut Events<Segment>) {
        for event in events.drain() {
            if let What::Rto { state, .. } = event.what {
                let (least, most) = self.timers;
                assert!(state.rto > Duration::ZERO, "the RTO is zero");
                assert!(
                    state.rto >= least && state.rto <= most,
                    "the RTO {} is out of bounds",
                    state.rto
                );
            }
        }
        assert!(
            self.ends[1].received().delivered_bytes <= self.octets,
            "more octets were delivered than written"
        );
        assert!(self.ends[0].totals().acked_bytes <= self.ends[1].received().delivered_bytes);
    }

    /// Checks what must hold at the end of a transfer.
    fn check_the_end(&self) {
        for end in &self.ends {
            assert_eq!(end.failure(), None);
        }
        assert_eq!(self.ends[1].received().delivered_bytes, self.octets, "octets delivered");
        assert_eq!(self.ends[0].totals().acked_bytes, self.octets, "octets acknowledged");
    }
}

/// Plays `count` transfers. The function `make` makes each transfer, and the function
/// `check` checks it. The first seed is the environment variable `NETSPURT_SEED`, or 0.
fn play(count: u64, make: fn(u64) -> Transfer, check: fn(&Transfer)) {
    let first =
        std::env::var("NETSPURT_SEED").map_or(0, |n| n.parse().expect("NETSPURT_SEED is a number"));
    for seed in first..first + count {
        let mut transfer = make(seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            transfer.run();
            check(&transfer);
        }));
        if outcome.is_err() {
            let story = transfer.story.join("\n");
            panic!(
                "seed {}, {} octets, {:?}\n{story}",
                transfer.seed, transfer.octets, transfer.network
            );
        }
    }
}

/// The number of transfers: the environment variable `NETSPURT_TRANSFERS`, or the number `usual` if
/// the variable is not set.
fn how_many(usual: u64) -> u64 {
    std::env::var("NETSPURT_TRANSFERS")
        .map_or(usual, |n| n.parse().expect("NETSPURT_TRANSFERS is a number"))
}

#[test]
fn as_many_octets_are_delivered_as_were_written_and_no_transfer_hangs() {
    play(how_many(20_000), Transfer::new, |_| ());
}

/// If the delay is constant and segments keep their order, a cut of cwnd may only be undone because
/// of a spurious retransmission. Spurious tail loss probes do not count, because no cut comes with
/// them. If every retransmission was needed, no cut is undone.
#[test]
fn a_path_that_only_loses_segments_has_at_most_one_undone_cut_per_spurious_retransmission() {
    play(how_many(5_000), Transfer::over_a_path_that_only_loses, |transfer| {
        let retransmissions = transfer.judge.verdict(EndId::at(0)).retransmissions;
        let spurious: u64 = retransmissions.spurious.iter().map(|count| u64::from(*count)).sum();
        let probes = u64::from(retransmissions.spurious[Cause::Tlp as usize]);
        let undone = transfer.ends[0].totals().sent.undone;
        assert!(undone <= spurious - probes, "{undone} cuts were undone: {retransmissions:?}");
    });
}

/// Lets both ends write at the instant `at`, and plays their connection in at most `steps` steps,
/// each to the next arrival or wake-up. The delay in each direction is 50 ms. Returns the number of
/// segments sent.
fn both_write(ends: &mut [Connection; 2], at: Time, steps: u64) -> usize {
    let mut events = Events::new(Wanted::default());
    let mut path: Vec<(Time, usize, Segment)> = Vec::new();
    let (mut now, mut sent) = (at, 0);
    ends.iter_mut().for_each(|end| end.write(now, 1000, &mut events));
    for _ in 0..steps {
        for (from, end) in ends.iter_mut().enumerate() {
            while let Some((left, _, segment)) = end.pop(now, &mut events) {
                sent += 1;
                path.push((left + ms(50), 1 - from, segment));
            }
        }
        let due = ends.iter().filter_map(Stage::next_wakeup);
        let Some(next) = due.chain(path.iter().map(|(due, ..)| *due)).min() else { break };
        now = now.max(next);
        let (here, later): (Vec<_>, Vec<_>) = path.into_iter().partition(|step| step.0 <= now);
        path = later;
        for (_, to, segment) in here {
            ends[to].push(now, 0, segment, &mut events);
        }
    }
    sent
}

/// RFC 9293 §3.5: the SYNs of the two ends cross on the path, and then their SYN-ACKs cross.
#[test]
fn two_ends_connect_and_deliver_their_data_after_a_simultaneous_open() {
    let config = RfcConfig::rfc_2026().into();
    let mut ends = [0, 1].map(|end| Connection::new(EndId::at(end), &config));
    let sent = both_write(&mut ends, Time::ZERO, 100);
    assert!(
        ends.iter().all(|end| end.state() == TcpState::Established && end.unacknowledged() == 0)
    );
    assert!(sent <= 12, "{sent} segments were sent");
}

#[test]
fn data_written_after_the_end_of_a_connection_is_not_sent() {
    let config = RfcConfig::rfc_2026().into();
    let mut ends = [0, 1].map(|end| Connection::new(EndId::at(end), &config));
    both_write(&mut ends, Time::ZERO, 100);
    let mut events = Events::new(Wanted::default());
    let later = Time::ZERO + ms(10_000);
    for end in &mut ends {
        end.abort(later, &mut events);
        while end.pop(later, &mut events).is_some() {}
    }
    assert_eq!(both_write(&mut ends, later, 100), 0);
    assert!(ends.iter().all(|end| end.state() == TcpState::Closed && end.unacknowledged() == 0));
}
