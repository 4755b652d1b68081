//! Replays a recording with many settings of RFC 889's two-gain filter, several settings at a time.

use crate::delays::{Delays, ProbeOrder};
use crate::units::Duration;

use super::engine::{Replay, ReplayError, check};

/// Settings of [`Mills`](crate::rto::Mills)'s timer: every combination of the given values.
///
/// ```
/// use netspurt::delays::{Delays, ProbeOrder, Probe, SendTimeSource};
/// use netspurt::replay::TwoGainGrid;
/// use netspurt::units::{Duration, Time};
///
/// let ms = Duration::from_millis;
/// let probes = [40, 40, 90, 40].map(|rtt| Probe::answered(0, Time::ZERO, ms(rtt)));
/// let delays = Delays::of("example", probes.to_vec(), ProbeOrder::Sequence, SendTimeSource::Unknown);
/// let grid = TwoGainGrid {
///     falling: vec![15.0 / 16.0],
///     rising: vec![0.75],
///     g: vec![1.5, 2.0, 2.5],
///     ..TwoGainGrid::default()
/// };
/// let mut spurious = Vec::new();
/// grid.run(&delays, ProbeOrder::Sequence, |setting| spurious.push(setting.spurious))?;
/// assert_eq!(spurious, [1, 1, 0]);
/// # Ok::<(), netspurt::replay::ReplayError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TwoGainGrid {
    /// The weights F1, from 0 to 1: the weight of the old estimate, if a sample is below the old
    /// estimate.
    pub falling: Vec<f64>,
    /// The weights F2, from 0 to 1: the weight of the old estimate, for all other samples.
    pub rising: Vec<f64>,
    /// The factors G by which the estimate is multiplied to give the timer.
    pub g: Vec<f64>,
    /// The timer before the first sample. The first sample becomes the estimate.
    pub unsampled: Duration,
}

impl Default for TwoGainGrid {
    /// The single setting of RFC 889.
    fn default() -> Self {
        Self {
            falling: vec![15.0 / 16.0],
            rising: vec![0.75],
            g: vec![2.0],
            unsampled: Duration::from_secs(3),
        }
    }
}

/// The results of one setting. The sums mean the same as in [`Account`](super::Account). Sums that
/// are equal for all settings are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GridPoint {
    /// The weight F1.
    pub falling: f64,
    /// The weight F2.
    pub rising: f64,
    /// The factor G.
    pub g: f64,
    /// The number of probes that were retransmitted spuriously.
    pub spurious: u64,
    /// The sum of the delays of the probes that were retransmitted spuriously, in nanoseconds.
    pub spurious_ns: f64,
    /// The sum of the waits for lost probes, in nanoseconds.
    pub waited_ns: f64,
    /// The sum of all timers, in nanoseconds.
    pub timers_ns: f64,
}

/// The best settings of a grid, by the number of spurious retransmissions and by the sum of the
/// timers. A setting is left out if another setting is better in one of these two measures and at
/// least as good in the other measure. Of settings that are equal in both measures, the first is
/// kept.
///
/// ```
/// use netspurt::replay::{Front, GridPoint};
/// let setting = |spurious, timers_ns| GridPoint { spurious, timers_ns, ..GridPoint::default() };
/// let mut front = Front::default();
/// for (spurious, timers_ns) in [(3, 5.0), (4, 6.0), (1, 9.0), (3, 4.0)] {
///     front.offer(setting(spurious, timers_ns));
/// }
/// assert_eq!(front.settings(), [setting(1, 9.0), setting(3, 4.0)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Front(Vec<GridPoint>);

impl Front {
    /// Adds a setting, unless an existing setting is at least as good in both measures. If the new
    /// setting is added, it replaces all existing settings that are better in neither measure.
    pub fn offer(&mut self, new: GridPoint) {
        // From setting to setting, the number of spurious retransmissions increases, and the sum of
        // the timers decreases.
        let place = self.0.partition_point(|old| old.spurious <= new.spurious);
        if place > 0 && self.0[place - 1].timers_ns <= new.timers_ns {
            return;
        }
        let from = self.0.partition_point(|old| old.spurious < new.spurious);
        let worse = self.0[from..].iter().take_while(|old| old.timers_ns >= new.timers_ns).count();
        self.0.splice(from..from + worse, [new]);
    }

    /// The best settings, ordered by ascending number of spurious retransmissions.
    pub fn settings(&self) -> &[GridPoint] {
        &self.0
    }
}

/// The number of settings that are computed side by side. The registers of a processor have room
/// for this number of settings.
const LANES: usize = 4;

/// An event of the replay. The events are the same for every setting. Delays are in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// An answered probe leaves.
    Leave(f64),
    /// A lost probe leaves.
    Lose,
    /// A reply arrives.
    Reply(f64),
    /// A probe leaves, and the next event is the arrival of its reply.
    Both(f64),
}

impl TwoGainGrid {
    /// The number of settings.
    pub fn settings(&self) -> usize {
        self.falling.len() * self.rising.len() * self.g.len()
    }

    /// Replays `delays` in `order` with every setting, and calls the function `each` with the
    /// results. `g` varies fastest, then `rising`.
    ///
    /// This filter computes in binary64, and [`Mills`](crate::rto::Mills) computes in integers. The
    /// unit of these integers is a fraction of a nanosecond. The verdicts of the two filters may
    /// differ for a probe whose timer and delay are equal up to rounding.
    ///
    /// # Errors
    /// For the same reasons as [`Replay::run`].
    pub fn run(
        &self,
        delays: &Delays,
        order: ProbeOrder,
        mut each: impl FnMut(GridPoint),
    ) -> Result<(), ReplayError> {
        let how = Replay { order, ..Replay::of(delays) };
        check(&how, delays)?;
        let ops = ops(delays, order);
        let mut chunk = [(0.0, 0.0, 0.0); LANES];
        let mut filled = 0;
        for setting in self.all() {
            chunk[filled] = setting;
            filled += 1;
            if filled == LANES {
                self.replay(&ops, &chunk).into_iter().for_each(&mut each);
                filled = 0;
            }
        }
        self.replay(&ops, &chunk).into_iter().take(filled).for_each(&mut each);
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let pairs = self.falling.iter().flat_map(|f| self.rising.iter().map(move |r| (*f, *r)));
        pairs.flat_map(|(falling, rising)| self.g.iter().map(move |g| (falling, rising, *g)))
    }

    fn replay(&self, ops: &[Op], chunk: &[(f64, f64, f64); LANES]) -> [GridPoint; LANES] {
        let mut lanes = Lanes::new(chunk);
        let first = ops.iter().position(|op| matches!(op, Op::Both(_) | Op::Reply(_)));
        let (early, rest) = ops.split_at(first.unwrap_or(ops.len()));
        let unsampled = self.unsampled.as_nanos() as f64;
        early.iter().for_each(|op| lanes.unsampled(*op, unsampled));
        if let Some((op, rest)) = rest.split_first() {
            lanes.unsampled(*op, unsampled);
            lanes.run(rest);
        }
        lanes.settings(chunk)
    }
}

/// The filters of the settings that are computed side by side.
struct Lanes {
    /// The estimates, in nanoseconds.
    estimate: [f64; LANES],
    /// The gains for samples below the estimate: 1 - F1.
    falling: [f64; LANES],
    /// The gains for all other samples: 1 - F2.
    rising: [f64; LANES],
    g: [f64; LANES],
    spurious: [f64; LANES],
    spurious_ns: [f64; LANES],
    waited_ns: [f64; LANES],
    timers_ns: [f64; LANES],
}

impl Lanes {
    fn new(chunk: &[(f64, f64, f64); LANES]) -> Self {
        Self {
            estimate: [0.0; LANES],
            falling: chunk.map(|(falling, _, _)| 1.0 - falling),
            rising: chunk.map(|(_, rising, _)| 1.0 - rising),
            g: chunk.map(|(_, _, g)| g),
            spurious: [0.0; LANES],
            spurious_ns: [0.0; LANES],
            waited_ns: [0.0; LANES],
            timers_ns: [0.0; LANES],
        }
    }

    /// Processes an event before the first sample, or the event that brings the first sample. The
    /// timer is `timer` nanoseconds. The first sample becomes the estimate.
    fn unsampled(&mut self, op: Op, timer: f64) {
        if !matches!(op, Op::Reply(_)) {
            self.timers_ns.iter_mut().for_each(|timers| *timers += timer);
        }
        match op {
            Op::Lose => self.waited_ns.iter_mut().for_each(|waited| *waited += timer),
            Op::Leave(rtt) | Op::Both(rtt) if timer < rtt => {
                self.spurious.iter_mut().for_each(|spurious| *spurious += 1.0);
                self.spurious_ns.iter_mut().for_each(|ns| *ns += rtt);
            }
            Op::Leave(_) | Op::Both(_) | Op::Reply(_) => {}
        }
        if let Op::Both(rtt) | Op::Reply(rtt) = op {
            self.estimate = [rtt; LANES];
        }
    }

    fn run(&mut self, ops: &[Op]) {
        for op in ops {
            match *op {
                Op::Both(rtt) => {
                    self.leave(rtt);
                    self.reply(rtt);
                }
                Op::Leave(rtt) => self.leave(rtt),
                Op::Reply(rtt) => self.reply(rtt),
                Op::Lose => self.lose(),
            }
        }
    }

    #[inline(always)]
    fn leave(&mut self, rtt: f64) {
        for lane in 0..LANES {
            let timer = self.g[lane] * self.estimate[lane];
            let short = if timer < rtt { 1.0 } else { 0.0 };
            self.timers_ns[lane] += timer;
            self.spurious[lane] += short;
            self.spurious_ns[lane] += short * rtt;
        }
    }

    #[inline(always)]
    fn reply(&mut self, rtt: f64) {
        for lane in 0..LANES {
            let estimate = self.estimate[lane];
            let gain = if rtt < estimate { self.falling[lane] } else { self.rising[lane] };
            self.estimate[lane] = estimate + gain * (rtt - estimate);
        }
    }

    fn lose(&mut self) {
        for lane in 0..LANES {
            let timer = self.g[lane] * self.estimate[lane];
            self.timers_ns[lane] += timer;
            self.waited_ns[lane] += timer;
        }
    }

    fn settings(&self, chunk: &[(f64, f64, f64); LANES]) -> [GridPoint; LANES] {
        core::array::from_fn(|lane| {
            let (falling, rising, g) = chunk[lane];
            GridPoint {
                falling,
                rising,
                g,
                spurious: self.spurious[lane] as u64,
                spurious_ns: self.spurious_ns[lane],
                waited_ns: self.waited_ns[lane],
                timers_ns: self.timers_ns[lane],
            }
        })
    }
}

/// Returns the events in order. If a reply arrives at the instant at which a probe leaves, the
/// reply comes first.
fn ops(delays: &Delays, order: ProbeOrder) -> Vec<Op> {
    let ns = |span: Duration| span.as_nanos() as f64;
    let leave = |rtt: Option<Duration>| rtt.map_or(Op::Lose, |rtt| Op::Leave(ns(rtt)));
    let probes = &delays.probes;
    if order == ProbeOrder::Sequence {
        let both = |rtt: Option<Duration>| rtt.map_or(Op::Lose, |rtt| Op::Both(ns(rtt)));
        return probes.iter().map(|probe| both(probe.rtt)).collect();
    }
    let mut replies: Vec<(u64, Duration)> = probes
        .iter()
        .filter_map(|probe| probe.rtt.map(|rtt| ((probe.sent + rtt).as_nanos(), rtt)))
        .collect();
    replies.sort_by_key(|(at, _)| *at);
    let mut replies = replies.into_iter().peekable();
    let mut ops = Vec::with_capacity(2 * probes.len());
    for probe in probes {
        while let Some((_, rtt)) = replies.next_if(|(at, _)| *at <= probe.sent.as_nanos()) {
            ops.push(Op::Reply(ns(rtt)));
        }
        ops.push(leave(probe.rtt));
    }
    ops
}
