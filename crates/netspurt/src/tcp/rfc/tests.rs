//! Tests of whole connections over a lossy path, with an application that pauses.

use std::collections::BTreeMap;

use crate::congestion::{
    BbrConfig, CongestionConfig, CubicConfig, RenoConfig, SlowStartExit, WestwoodConfig,
};
use crate::event::{Events, Wanted};
use crate::ids::EndId;
use crate::rng::Stream;
use crate::segment::Segment;
use crate::stage::Stage;
use crate::tcp::{Connection, RfcConfig};
use crate::units::{Duration, Time};

/// Two ends, the path between them, and all sent segments with the times of sending (`story`).
/// `dice` is the source of random numbers.
struct Play {
    ends: [Connection; 2],
    dice: Stream,
    loss: f64,
    flying: BTreeMap<(Time, usize), (usize, Segment)>,
    story: Vec<(Time, Segment)>,
    /// Whether the state of both ends is packed between any two steps.
    rests: bool,
}

impl Play {
    fn new(config: RfcConfig, seed: u64) -> Self {
        let config = config.into();
        let ends = [0, 1].map(|end| Connection::new(EndId::at(end), &config));
        let mut dice = Stream::named(seed, "plays");
        let loss = if dice.chance(0.5) { 0.02 } else { 0.15 };
        Self { ends, dice, loss, flying: BTreeMap::new(), story: Vec::new(), rests: false }
    }

    /// Lets both ends send. Some segments are lost, and about one in twenty of the other segments
    /// is late.
    fn send(&mut self, now: Time, events: &mut Events<Segment>) {
        for end in 0..2 {
            while let Some((left, _, segment)) = self.ends[end].pop(now, events) {
                self.story.push((left, segment));
                if !self.dice.chance(self.loss) {
                    let late = if self.dice.chance(0.05) { self.dice.bits() % 60 } else { 0 };
                    let due = left + Duration::from_millis(20 + late);
                    self.flying.insert((due, self.story.len()), (segment.dest.index(), segment));
                }
            }
        }
    }

    /// Packs the state of both ends. Sometimes checks that an end has the same state after it was
    /// packed and unpacked.
    fn rest(&mut self) {
        for end in &mut self.ends {
            if self.story.len().is_multiple_of(16) {
                end.wake();
                let before = format!("{end:?}");
                end.rest();
                end.wake();
                assert_eq!(format!("{end:?}"), before);
            }
            end.rest();
        }
    }

    /// Plays the connection. One end writes from time to time. Each write has from one octet to
    /// many segments.
    fn run(mut self) -> Vec<(Time, Segment)> {
        let mut events = Events::new(Wanted::default());
        let mut writes = Vec::new();
        for _ in 0..30 {
            let pause = [1, 30, 300, 3000][(self.dice.bits() % 4) as usize];
            let octets = [300, 3000, 60_000][(self.dice.bits() % 3) as usize];
            writes.push((pause, 1 + self.dice.bits() % octets));
        }
        let mut next_write = Time::ZERO;
        self.ends[1].listen();
        for _ in 0..5000 {
            let due = self.ends.iter().filter_map(Stage::next_wakeup);
            let landing = self.flying.first_key_value().map(|(key, _)| key.0);
            let writing = (!writes.is_empty()).then_some(next_write);
            let Some(now) = due.chain(landing).chain(writing).min() else { break };
            if writing == Some(now) {
                let (pause, octets) = writes.pop().expect("a write is due");
                self.ends[0].write(now, octets, &mut events);
                next_write = now + Duration::from_millis(pause);
            } else if landing == Some(now) {
                let (_, (to, segment)) = self.flying.pop_first().expect("a segment is due");
                self.ends[to].push(now, 0, segment, &mut events);
            }
            self.send(now, &mut events);
            if self.rests {
                self.rest();
            }
        }
        self.story
    }
}

/// A rule: its name, and a function that switches it on or off in a configuration.
type Rule = (&'static str, fn(&mut RfcConfig));

/// Rules that change the segments of a connection.
const RULES: [Rule; 15] = [
    ("whole_segments", |config| config.cwnd_rules.whole_segments ^= true),
    ("cut_from_cwnd", |config| config.cwnd_rules.cut_from_cwnd ^= true),
    ("timeout_keeps_cut", |config| config.cwnd_rules.timeout_keeps_cut ^= true),
    ("timeout_adds_to_pipe", |config| config.cwnd_rules.timeout_adds_to_pipe ^= true),
    ("last_repair_ack_grows", |config| config.cwnd_rules.last_repair_ack_grows ^= true),
    ("growth_by_delivery", |config| config.cwnd_rules.growth_by_delivery ^= true),
    ("validation", |config| config.cwnd_rules.validation ^= true),
    ("idle_decay", |config| config.cwnd_rules.idle_decay ^= true),
    ("idle_restart", |config| config.cwnd_rules.idle_restart ^= true),
    ("old_reports_restart", |config| config.timer_rules.old_reports_restart ^= true),
    ("head_copy_restarts", |config| config.timer_rules.head_copy_restarts ^= true),
    ("rounds_end_beyond", |config| config.timer_rules.rounds_end_beyond ^= true),
    ("rack_checks_echo", |config| config.rack_checks_echo ^= true),
    ("rack_timer_delivers", |config| config.rack_timer_delivers ^= true),
    ("minshall", |config| config.minshall ^= true),
];

/// If one of the `RULES` is switched on or off by itself, at least one connection sends different
/// segments.
#[test]
fn each_rule_by_itself_changes_the_segments_of_some_connection() {
    for (name, flip) in RULES {
        let shows = (0..200).any(|seed| {
            [RfcConfig::rfc_2026(), RfcConfig::linux_6()].into_iter().any(|usual| {
                let mut config = usual;
                flip(&mut config);
                Play::new(usual, seed).run() != Play::new(config, seed).run()
            })
        });
        assert!(shows, "{name}");
    }
}

/// Ends are packed in every phase of a connection, even while they retransmit lost segments.
#[test]
fn packing_and_unpacking_an_end_between_steps_changes_no_segment() {
    let algorithms = [
        CongestionConfig::Reno(RenoConfig {
            slow_start_exit: SlowStartExit::default(),
            ..RenoConfig::default()
        }),
        CongestionConfig::Cubic(CubicConfig::default()),
        CongestionConfig::Bbr(BbrConfig::default()),
        CongestionConfig::Westwood(WestwoodConfig::default()),
    ];
    let profiles = [RfcConfig::rfc_2026(), RfcConfig::linux_6()];
    for profile in profiles {
        for algorithm in [profile.congestion].into_iter().chain(algorithms) {
            for seed in 0..6 {
                let config = RfcConfig { congestion: algorithm, ..profile };
                let awake = Play::new(config, seed).run();
                let rested = Play { rests: true, ..Play::new(config, seed) }.run();
                assert!(awake == rested, "seed {seed}, {config:?}");
                assert!(awake.len() > 100);
            }
        }
    }
}
