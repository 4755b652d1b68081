//! A link's place in the scenario, and the names of its random streams.

use crate::rng::Stream;

use super::error::Problem;
use super::tree::entry;

/// A link's place in the scenario, for errors, and the name of its random streams.
pub(super) struct LinkPlace<'a> {
    /// Key by key, the link's own table last.
    pub(super) path: &'a [String],
    pub(super) name: &'a str,
    pub(super) seed: u64,
    /// Which direction: 0 forward, 1 reverse.
    pub(super) way: usize,
}

/// The names of the two directions in the names of random streams. A renamed stream draws other
/// numbers, so these names must stay.
const STREAMS: [&str; 2] = ["there", "back"];

impl LinkPlace<'_> {
    pub(super) fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let mut problem = Problem::at([], message);
        problem.path = [self.path, &[key.to_owned(), entry(self.way)]].concat();
        problem
    }

    /// A stream of draws that both directions share.
    pub(super) fn shared(&self, effect: &str) -> Stream {
        Stream::named(self.seed, &format!("links.{}/{effect}", self.name))
    }

    pub(super) fn stream(&self, way: usize, effect: &str) -> Stream {
        Stream::named(self.seed, &format!("links.{}.{}/{effect}", self.name, STREAMS[way]))
    }
}
