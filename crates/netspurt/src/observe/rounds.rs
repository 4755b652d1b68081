//! Counts rounds with the help of round-trip samples.

/// Counts rounds. A round ends with the first round-trip sample of data that was sent after the
/// round had begun, as in Linux (`rtt_seq`).
///
/// A place is the position of data in the order of sending: either an octet of the sequence space,
/// or an instant in nanoseconds. A caller always uses the same kind of place.
///
/// ```
/// use netspurt::observe::Rounds;
/// let mut rounds = Rounds::default();
/// // The sample is of octet 1, and octet 4001 is the next to be sent.
/// assert_eq!(rounds.sample(1, 4001), 1);
/// assert_eq!(rounds.sample(4000, 8001), 1);
/// assert_eq!(rounds.sample(4001, 9001), 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    /// The number of rounds that have begun.
    rounds: u64,
    /// A sample of the place `end`, or of a later place, begins the next round.
    end: u64,
}

impl Rounds {
    /// Processes a sample of the data at `place`. New data that is sent after this sample is at the
    /// place `next` or at a later place. Returns the number of the sample's round, from 1.
    #[inline]
    pub fn sample(&mut self, place: u64, next: u64) -> u64 {
        if place >= self.end {
            *self = Self { rounds: self.rounds + 1, end: next };
        }
        self.rounds
    }

    /// The number of rounds that have begun.
    pub const fn count(&self) -> u64 {
        self.rounds
    }
}
