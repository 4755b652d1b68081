//! Round trips that a source of the kernel's could measure, from its packets alone.

use std::collections::{HashSet, VecDeque};

use netspurt::segment::{Flags, Segment};
use netspurt::seq;
use netspurt::units::Time;

use crate::drive::Arrival;

/// One round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trip {
    /// When the answer reached the source.
    pub(super) at: Time,
    /// The source.
    pub(super) end: u32,
    /// When what it answers had left.
    pub(super) sent: Time,
}

/// A segment under way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    left: u64,
    right: u64,
    at: Time,
    /// Sent again, or known to have arrived: it tells no more.
    spent: bool,
}

/// What one source has under way.
#[derive(Debug, Default)]
struct Flight {
    segments: VecDeque<Sent>,
    highest: u64,
}

/// The round trips of sources among `arrivals`, whose packets are `answers` when they go back: of
/// an ACK the oldest segment that it newly covers, in order or by a SACK block, and that went out
/// once, as Linux measures. Both are in the order of time.
pub(super) fn round_trips(arrivals: &[Arrival], answers: &[(Time, Segment)]) -> Vec<Trip> {
    let ends = arrivals.iter().map(|arrival| arrival.segment.source() as usize + 2).max();
    let mut flights: Vec<Flight> = Vec::new();
    flights.resize_with(ends.unwrap_or(0), Flight::default);
    let mut found = Vec::new();
    let asked: HashSet<u32> = answers.iter().map(|(_, answer)| answer.dest).collect();
    let mut sent =
        arrivals.iter().filter(|arrival| asked.contains(&arrival.segment.source())).peekable();
    for (at, answer) in answers {
        while let Some(Arrival { stamped, segment, .. }) =
            sent.next_if(|arrival| arrival.stamped <= *at)
        {
            flights[segment.source() as usize].send(*stamped, segment);
        }
        let end = answer.dest;
        let flight = flights.get_mut(end as usize);
        if let Some(sent) = flight.and_then(|flight| flight.answer(answer)) {
            found.push(Trip { at: *at, end, sent });
        }
    }
    found
}

impl Flight {
    fn send(&mut self, at: Time, segment: &Segment) {
        let left = seq::from_wire(seq::SIMULATED_ISN, segment.seq, self.highest);
        let right = left + u64::from(segment.seq_len());
        if right == left {
            return;
        }
        if left >= self.highest {
            self.segments.push_back(Sent { left, right, at, spent: false });
        } else {
            let copied = |sent: &&mut Sent| sent.left < right && sent.right > left;
            self.segments.iter_mut().filter(copied).for_each(|sent| sent.spent = true);
        }
        self.highest = self.highest.max(right);
    }

    /// When the segment had left whose round trip ends with `answer`.
    fn answer(&mut self, answer: &Segment) -> Option<Time> {
        if !answer.flags.has(Flags::ACK) {
            return None;
        }
        let octet = |wire| seq::from_wire(seq::SIMULATED_ISN, wire, self.highest);
        let blocks = answer.sack().iter().map(|block| (octet(block.left), octet(block.right)));
        let (ack, blocks): (u64, Vec<_>) = (octet(answer.ack), blocks.collect());
        let mut first = None;
        while let Some(sent) = self.segments.front().copied().filter(|sent| sent.right <= ack) {
            self.segments.pop_front();
            first = first.or((!sent.spent).then_some(sent.at));
        }
        let covered = |sent: &Sent| blocks.iter().any(|b| b.0 <= sent.left && sent.right <= b.1);
        for sent in self.segments.iter_mut().filter(|sent| covered(sent)) {
            first = first.or((!sent.spent).then_some(sent.at));
            sent.spent = true;
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt::segment::SackBlock;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn data(at: u64, seq: u32) -> Arrival {
        let segment = Segment { seq, len: 100, dest: 1, ..Segment::default() };
        Arrival { at: ms(at), stamped: ms(at), segment }
    }

    fn ack(at: u64, ack: u32, block: Option<(u32, u32)>) -> (Time, Segment) {
        let mut segment = Segment { ack, flags: Flags::ACK, ..Segment::default() };
        if let Some((left, right)) = block {
            let mut blocks = netspurt::segment::SackBlocks::default();
            blocks.add(SackBlock { left, right });
            segment.set_sack(&blocks);
        }
        (ms(at), segment)
    }

    /// Karn and Partridge 1987: what went out twice tells nothing.
    #[test]
    fn an_ack_times_the_oldest_segment_it_newly_covers_that_went_out_once() {
        let arrivals =
            [data(0, 1), data(1, 101), data(2, 201), data(50, 101), data(51, 301), data(52, 401)];
        let answers = [
            ack(30, 101, None),
            ack(32, 101, Some((201, 301))),
            ack(33, 101, Some((201, 301))),
            ack(80, 301, None),
            ack(81, 501, None),
        ];
        let found = round_trips(&arrivals, &answers);
        let times: Vec<_> = found.iter().map(|trip| (trip.at, trip.sent)).collect();
        assert_eq!(times, [(ms(30), ms(0)), (ms(32), ms(2)), (ms(81), ms(51))]);
        assert!(found.iter().all(|trip| trip.end == 0));
    }
}
