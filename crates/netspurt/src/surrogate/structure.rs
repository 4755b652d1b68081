//! Models of how the delays of a surrogate follow each other. A surrogate is an invented recording
//! that fits a printed row of statistics, and the row does not say how delays followed each other.

use crate::rng::Stream;

use super::lengths::below;

/// A model of the noise. The noise is the part of each delay that does not depend on the length of
/// the probe. The model says how the noise of one probe depends on the noise of the previous
/// probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// The noise of each probe is drawn independently from a log-normal distribution.
    Independent,
    /// The noise of all probes comes from one exponential distribution. A few glitches add runs of
    /// much longer delays, which die away.
    Glitches,
    /// The noise stays near one level for about fifty probes, and then jumps to another level. A
    /// slow cycle of load raises and lowers all levels.
    Levels,
    /// The noise is the wait in a queue. The load of the queue alternates between a low value and a
    /// value above its capacity.
    Queue,
}

/// A function that returns the random stream for an effect. Its argument is the name of the effect.
pub(super) type Draws<'a> = &'a mut dyn FnMut(&str) -> Stream;

impl Structure {
    /// All structures.
    pub const ALL: [Self; 4] = [Self::Independent, Self::Glitches, Self::Levels, Self::Queue];

    /// The name of the structure.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::Glitches => "glitches",
            Self::Levels => "levels",
            Self::Queue => "queue",
        }
    }

    /// Returns the structure called `name`, or `None` if no structure has this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|structure| structure.name() == name)
    }

    /// The structure in words, for the notes of a recording.
    pub(super) const fn says(self) -> &'static str {
        match self {
            Self::Independent => "delays that do not depend on each other",
            Self::Glitches => "runs of long delays that die away",
            Self::Levels => "levels of delay that hold for a while",
            Self::Queue => "the wait in a queue whose load alternates between two values",
        }
    }

    /// Returns the noise of each of `n` probes, and notes on the noise. The values are above zero.
    /// They have no unit, because the caller scales them.
    pub(super) fn noise(self, n: u32, glitches: u32, draws: Draws) -> (Vec<f64>, Vec<String>) {
        match self {
            Self::Independent => (independent(n, &mut draws("delay")), Vec::new()),
            Self::Glitches => burst(n, glitches, draws),
            Self::Levels => (levels(n, draws), Vec::new()),
            Self::Queue => (queue(n, draws), Vec::new()),
        }
    }
}

/// Draws from the exponential distribution with mean one.
fn exponential(stream: &mut Stream) -> f64 {
    -libm::log(1.0 - stream.uniform())
}

/// Draws from the standard normal distribution (Box and Muller 1958).
fn normal(stream: &mut Stream) -> f64 {
    let radius = (2.0 * exponential(stream)).sqrt();
    radius * libm::cos(core::f64::consts::TAU * stream.uniform())
}

fn independent(n: u32, stream: &mut Stream) -> Vec<f64> {
    (0..n).map(|_| libm::exp(0.75 * normal(stream))).collect()
}

/// The share of a glitch's height that remains at the next probe.
const DECAY: f64 = 0.8;
/// The mean height of a glitch, as a multiple of the mean noise of the other probes.
const PEAK: f64 = 40.0;

fn burst(n: u32, glitches: u32, draws: Draws) -> (Vec<f64>, Vec<String>) {
    let (mut body, mut starts) = (draws("body"), draws("glitches"));
    let mut noise: Vec<f64> = (0..n).map(|_| exponential(&mut body)).collect();
    let mut at: Vec<u32> = (0..glitches).map(|_| below(&mut starts, n)).collect();
    at.sort_unstable();
    for &start in &at {
        let mut height = PEAK * (0.5 + starts.uniform());
        for delay in noise.iter_mut().skip(start as usize) {
            *delay += height;
            height *= DECAY;
        }
    }
    let places: Vec<String> = at.iter().map(u32::to_string).collect();
    let note = format!("glitches begin at the probes {}", places.join(", "));
    (noise, if places.is_empty() { Vec::new() } else { vec![note] })
}

/// The average number of probes in a level.
const LEVEL: f64 = 50.0;
/// The number of probes in a cycle of load.
const CYCLE: f64 = 256.0;

fn levels(n: u32, draws: Draws) -> Vec<f64> {
    let (mut level, mut body) = (draws("level"), draws("body"));
    let phase = level.uniform();
    let mut height = libm::exp(normal(&mut level));
    let mut draw = |i: u32| {
        if level.chance(1.0 / LEVEL) {
            height = libm::exp(normal(&mut level));
        }
        let turn = core::f64::consts::TAU * (f64::from(i) / CYCLE + phase);
        height * (1.0 + 0.5 * libm::sin(turn)) * (0.8 + 0.2 * exponential(&mut body))
    };
    (0..n).map(&mut draw).collect()
}

/// The probability, for each probe, that the load rises.
const RISES: f64 = 0.02;
/// The probability, for each probe, that the load falls.
const FALLS: f64 = 0.1;

/// Draws the waits in a queue by Lindley's recursion: each wait is the previous wait plus the work
/// that arrived, minus the work that was done. A small random time is added to each wait, so that
/// the noise is above zero.
fn queue(n: u32, draws: Draws) -> Vec<f64> {
    let (mut state, mut work) = (draws("state"), draws("work"));
    let (mut busy, mut wait) = (false, 0.0_f64);
    let mut draw = || {
        busy = if busy { !state.chance(FALLS) } else { state.chance(RISES) };
        let load = if busy { 1.6 } else { 0.5 };
        wait = (wait + load * exponential(&mut work) - 1.0).max(0.0);
        wait + 0.1 * exponential(&mut work)
    };
    (0..n).map(|_| draw()).collect()
}
