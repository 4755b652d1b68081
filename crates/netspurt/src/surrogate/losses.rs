//! Which probes are lost.

use crate::rng::Stream;

use super::lengths::below;

/// How losses lie among the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// Any set of probes is as likely as any other of its size.
    Independent,
    /// In runs of so many, the last one shorter where it must be; runs may touch.
    Bursts(u32),
}

impl Losses {
    pub(super) fn name(self) -> String {
        match self {
            Self::Independent => "independently".to_owned(),
            Self::Bursts(length) => format!("in bursts of {length}"),
        }
    }

    /// Just `lost` of `probes`, marked.
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
