//! A link's place in the scenario, and the names of its random streams. A random stream is a
//! sequence of random numbers with a name of its own.

use netspurt::rng::Stream;

use super::error::Problem;
use super::tree::entry;

/// A link's place in the scenario, for errors, and the name and the seed for its random streams.
pub(super) struct LinkPlace<'a> {
    /// The path in the file, key by key. The last key names the link's own table.
    pub(super) path: &'a [String],
    pub(super) name: &'a str,
    pub(super) seed: u64,
    /// The direction: 0 for forward, 1 for reverse.
    pub(super) way: usize,
}

/// The two directions in the names of random streams. A stream with another name would draw other
/// numbers, so these texts must not change.
const STREAMS: [&str; 2] = ["there", "back"];

impl LinkPlace<'_> {
    /// A problem with the value of `key` for this direction.
    pub(super) fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let mut problem = Problem::at([], message);
        problem.path = [self.path, &[key.to_owned(), entry(self.way)]].concat();
        problem
    }

    /// A random stream that both directions of the link share.
    pub(super) fn shared(&self, effect: &str) -> Stream {
        Stream::named(self.seed, &format!("links.{}/{effect}", self.name))
    }

    /// A random stream of the direction `way`: 0 for forward, 1 for reverse.
    pub(super) fn stream(&self, way: usize, effect: &str) -> Stream {
        Stream::named(self.seed, &format!("links.{}.{}/{effect}", self.name, STREAMS[way]))
    }
}
