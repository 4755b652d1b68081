//! Chooses the lost probes of a surrogate, which is an invented recording.

use crate::rng::Stream;

use super::lengths::below;

/// The distribution of losses over the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// The lost probes are drawn at random, and all choices are equally likely.
    Independent,
    /// Losses come in runs of this length. A run is shorter if it reaches the last probe, or if
    /// fewer losses are left. Runs may overlap or touch.
    Bursts(u32),
}

impl Losses {
    pub(super) fn name(self) -> String {
        match self {
            Self::Independent => "independently".to_owned(),
            Self::Bursts(length) => format!("in bursts of {length}"),
        }
    }

    /// Returns for each probe whether it is lost. `probes` is the number of all probes, and `lost`
    /// is the number of lost probes.
    pub(super) fn draw(self, probes: u32, lost: u32, stream: &mut Stream) -> Vec<bool> {
        let run = match self {
            Self::Independent => 1,
            Self::Bursts(length) => length.clamp(1, probes),
        };
        let mut marked = vec![false; probes as usize];
        let mut left = lost;
        while left > 0 {
            let from = below(stream, probes) as usize;
            for mark in marked.iter_mut().skip(from).take(run as usize) {
                if left > 0 && !*mark {
                    *mark = true;
                    left -= 1;
                }
            }
        }
        marked
    }
}
