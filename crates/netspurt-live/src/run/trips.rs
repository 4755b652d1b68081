//! Computes the round trips that a source (an end that sends data) on the kernel's TCP can measure.
//! The computation uses only the packets that the source sent and received.

use std::collections::HashSet;

use netspurt::ids::EndId;
use netspurt::observe::{OneWay, Sequence};
use netspurt::segment::Segment;
use netspurt::units::Time;

use crate::drive::PacketArrival;

/// A round trip that a source measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trip {
    /// When the answer reached the source.
    pub(super) at: Time,
    /// The source.
    pub(super) end: EndId,
    /// When the source sent the segment that was answered.
    pub(super) sent: Time,
}

/// Returns the round trips of sources as [`OneWay`] measures them. A round trip that may belong to
/// a retransmission is ambiguous and is left out. `arrivals` are the packets that entered the path,
/// and `answers` are the packets that reached sources. Both lists are in the order of time.
pub(super) fn round_trips(arrivals: &[PacketArrival], answers: &[(Time, Segment)]) -> Vec<Trip> {
    let ends = arrivals.iter().map(|arrival| arrival.segment.source().index() + 2).max();
    let mut ways: Vec<OneWay> = Vec::new();
    ways.resize_with(ends.unwrap_or(0), || OneWay::new(Sequence::default()));
    let mut found = Vec::new();
    let asked: HashSet<EndId> = answers.iter().map(|(_, answer)| answer.dest).collect();
    let mut sent =
        arrivals.iter().filter(|arrival| asked.contains(&arrival.segment.source())).peekable();
    for (at, answer) in answers {
        while let Some(PacketArrival { stamped, segment, .. }) =
            sent.next_if(|arrival| arrival.stamped <= *at)
        {
            ways[segment.source().index()].sent(*stamped, segment, ());
        }
        let end = answer.dest;
        let sample = ways.get_mut(end.index()).and_then(|way| way.answered(*at, answer).sample);
        if let Some(sample) = sample.filter(|sample| !sample.ambiguous) {
            found.push(Trip { at: *at, end, sent: sample.sent });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt::segment::{Flags, SackBlock};

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    /// Makes a segment with 100 octets that end 0 sends at the time `at` [ms].
    fn data(at: u64, seq: u32) -> PacketArrival {
        let segment = Segment { seq, len: 100, dest: EndId::at(1), ..Segment::default() };
        PacketArrival { at: ms(at), stamped: ms(at), segment }
    }

    /// Makes an ACK that reaches end 0 at the time `at` [ms].
    fn ack(at: u64, ack: u32, block: Option<(u32, u32)>) -> (Time, Segment) {
        let mut segment = Segment { ack, flags: Flags::ACK, ..Segment::default() };
        if let Some((left, right)) = block {
            let mut blocks = netspurt::segment::SackBlocks::default();
            blocks.add(SackBlock { left, right });
            segment.set_sack(&blocks);
        }
        (ms(at), segment)
    }

    /// Karn and Partridge 1987: a segment that was sent twice gives no sample.
    #[test]
    fn an_ack_measures_the_oldest_segment_that_it_newly_covers() {
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
        assert!(found.iter().all(|trip| trip.end == EndId::at(0)));
    }

    /// RFC 6298 §3, and Linux's `FLAG_RETRANS_DATA_ACKED`: the ACK of octets above a hole had to
    /// wait for the retransmission that filled the hole.
    #[test]
    fn an_ack_that_covers_a_retransmission_gives_no_sample() {
        let arrivals = [data(0, 1), data(1, 101), data(50, 1), data(51, 201)];
        let answers = [ack(80, 201, None), ack(82, 301, None)];
        let times: Vec<_> =
            round_trips(&arrivals, &answers).iter().map(|trip| (trip.at, trip.sent)).collect();
        assert_eq!(times, [(ms(82), ms(51))]);
    }
}
