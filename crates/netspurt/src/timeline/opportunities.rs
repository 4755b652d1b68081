//! Opportunities: instants at which a link delivers up to a given number of octets.

use crate::units::{Duration, Time};

/// A list of instants. At each of them, a link may deliver some octets. The list of instants
/// repeats without end, and one pass through the list is a round. The program Mahimahi replays the
/// rate of a cellular link with such a list (Netravali and others, 2015).
///
/// If no packet waits at an opportunity, the opportunity passes unused. One opportunity may deliver
/// several small packets, and a large packet takes several opportunities. A packet that arrives at
/// the instant of an opportunity cannot use it.
///
/// ```
/// use netspurt::timeline::Opportunities;
/// use netspurt::units::{Duration, Time};
/// let at = |ms| Time::ZERO + Duration::from_millis(ms);
/// let mut link = Opportunities::new(&[at(2), at(3), at(10)], 1500).unwrap();
/// assert_eq!(link.deliver(at(0), 2000), (at(2), at(3)));
/// // The opportunity at 3 ms has 1000 of its 1500 octets left.
/// assert_eq!(link.deliver(at(1), 1000), (at(3), at(3)));
/// // The list begins again after its last instant.
/// assert_eq!(link.deliver(at(10), 1000), (at(12), at(12)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities {
    /// The instants since the start of a round, ascending. The last instant is the length of a
    /// round.
    instants: Vec<Duration>,
    octets: u32,
    /// The number of the opportunity that was used last, counted from 1 over all rounds. Zero means
    /// that no opportunity was used yet.
    used: u64,
    /// The number of octets that the opportunity numbered `used` can still deliver.
    octets_left: u32,
}

/// A mistake in a list of opportunities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpportunitiesError {
    /// There are no instants, or the last instant is zero, so that a round would take no time.
    #[error("a list of opportunities must end with an instant above zero")]
    NoRound,
    /// An instant is earlier than the instant before it. The field is the number of the instant,
    /// from 1.
    #[error("opportunity {0} is earlier than the opportunity before it")]
    Unordered(usize),
    /// The opportunities deliver no octets.
    #[error("an opportunity must deliver at least one octet")]
    Nothing,
}

impl Opportunities {
    /// Makes opportunities at these instants. Each delivers up to `octets` octets.
    ///
    /// # Errors
    /// When there are no instants, they are not in the order of time, the last instant is zero, or
    /// `octets` is zero.
    pub fn new(instants: &[Time], octets: u32) -> Result<Self, OpportunitiesError> {
        if instants.last().is_none_or(|last| *last == Time::ZERO) {
            return Err(OpportunitiesError::NoRound);
        }
        if let Some(earlier) = instants.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(OpportunitiesError::Unordered(earlier + 2));
        }
        if octets == 0 {
            return Err(OpportunitiesError::Nothing);
        }
        Ok(Self {
            instants: instants.iter().map(|at| *at - Time::ZERO).collect(),
            octets,
            used: 0,
            octets_left: 0,
        })
    }

    /// Delivers a packet of `size` octets that arrived at the instant `now`, after all earlier
    /// packets. Returns the instants of the first and the last opportunity that the packet uses.
    pub fn deliver(&mut self, now: Time, size: u32) -> (Time, Time) {
        if self.used == 0 || self.octets_left == 0 || self.at(self.used) <= now {
            self.take_next(now);
        }
        let first = self.at(self.used);
        let mut rest = size;
        loop {
            let part = rest.min(self.octets_left);
            self.octets_left -= part;
            rest -= part;
            if rest == 0 {
                return (first, self.at(self.used));
            }
            self.used += 1;
            self.octets_left = self.octets;
        }
    }

    /// Goes on to the first unused opportunity later than the instant `now`.
    fn take_next(&mut self, now: Time) {
        let count = self.instants.len() as u64;
        let round = self.instants[self.instants.len() - 1].as_nanos();
        let (rounds, since) = (now.as_nanos() / round, now.as_nanos() % round);
        let gone = self.instants.partition_point(|at| at.as_nanos() <= since) as u64;
        self.used = (rounds * count + gone + 1).max(self.used + 1);
        self.octets_left = self.octets;
    }

    /// Returns the instant of the opportunity with this `number`, counted from 1 over all rounds.
    fn at(&self, number: u64) -> Time {
        let count = self.instants.len() as u64;
        let (rounds, place) = ((number - 1) / count, ((number - 1) % count) as usize);
        let round = self.instants[self.instants.len() - 1].as_nanos();
        let nanos = round.saturating_mul(rounds).saturating_add(self.instants[place].as_nanos());
        Time::from_nanos(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_list_is_refused_if_it_is_unordered_or_takes_no_time_or_delivers_nothing() {
        let refused = |instants: &[Time], octets| Opportunities::new(instants, octets).unwrap_err();
        assert_eq!(refused(&[], 1500), OpportunitiesError::NoRound);
        assert_eq!(refused(&[at(0)], 1500), OpportunitiesError::NoRound);
        assert_eq!(refused(&[at(3), at(2)], 1500), OpportunitiesError::Unordered(2));
        assert_eq!(refused(&[at(3)], 0), OpportunitiesError::Nothing);
    }

    /// Delivers packets by the definition of [`Opportunities`], opportunity by opportunity. Each
    /// opportunity delivers up to `octets` octets of the waiting packets. A packet that arrives at
    /// the instant of an opportunity waits for the next opportunity.
    fn by_the_definition(list: &[u64], octets: u32, packets: &[(u64, u32)]) -> Vec<u64> {
        let round = list[list.len() - 1];
        let mut delivered = Vec::new();
        let (mut next, mut part) = (0, 0);
        for rounds in 0.. {
            for instant in list.iter().map(|at| at + rounds * round) {
                let mut remaining = octets;
                while next < packets.len() && packets[next].0 < instant && remaining > 0 {
                    let size = packets[next].1;
                    let taken = remaining.min(size - part);
                    (remaining, part) = (remaining - taken, part + taken);
                    if part == size {
                        delivered.push(instant);
                        (next, part) = (next + 1, 0);
                    }
                }
                if next == packets.len() {
                    return delivered;
                }
            }
        }
        unreachable!("the series of rounds has no end")
    }

    proptest! {
        #[test]
        fn each_packet_is_delivered_when_the_definition_delivers_it(
            mut list in prop::collection::vec(0_u64..40, 1..30),
            mut packets in prop::collection::vec((0_u64..200, 1_u32..4000), 1..60),
            octets in 1_u32..3000,
        ) {
            list.sort_unstable();
            list.push(list[list.len() - 1] + 1);
            packets.sort_unstable_by_key(|(ms, _)| *ms);
            let instants: Vec<Time> = list.iter().map(|ms| at(*ms)).collect();
            let mut link = Opportunities::new(&instants, octets).unwrap();
            let delivered: Vec<u64> = packets
                .iter()
                .map(|(ms, size)| link.deliver(at(*ms), *size).1.as_nanos() / 1_000_000)
                .collect();
            prop_assert_eq!(delivered, by_the_definition(&list, octets, &packets));
        }
    }
}
