//! A captured connection.

use crate::ids::Side;
use crate::observe::{Answer, Observed, Retired, Sequence};
use crate::segment::Flags;
use crate::units::Time;
use crate::wire::TcpView;

use super::resting::RestingWay;
use super::{CapturedSegment, CapturedWay, EndedConnection, EndedWay};

/// A connection, observed at the point of the capture. Its beginning or one of its directions may
/// be missing.
///
/// A closed one rests: it is then stored as octets, from which it is made again if a late packet
/// comes.
#[derive(Clone, Debug, Default)]
pub struct CapturedConnection {
    /// By the side that sends; nothing while it rests.
    ways: [Option<Box<CapturedWay>>; 2],
    /// By the side that sends; something while it rests.
    resting: Option<Box<[Option<RestingWay>; 2]>>,
    /// The side that sent the first packet captured.
    first: Option<Side>,
    /// By the side that advertises them: the shift that its SYN offers for its windows.
    shifts: [Option<u8>; 2],
}

impl CapturedConnection {
    /// The largest shift of windows (RFC 7323 §2.3).
    const SHIFT_MAX: u8 = 14;

    /// The connection is closed. It rests if no packets of it are expected: everything that was sent
    /// was seen and is acknowledged.
    pub fn rest(&mut self) {
        if self.resting.is_none() && self.ways.iter().flatten().all(|way| way.is_done()) {
            let ways = self.ways.each_mut().map(Option::take);
            self.resting = Some(Box::new(ways.map(|way| way.map(|way| RestingWay::of(*way)))));
        }
    }

    /// A packet comes that was not expected.
    #[cold]
    fn wake(&mut self, resting: [Option<RestingWay>; 2]) {
        self.ways = resting.map(|way| way.map(|way| Box::new(way.wake())));
    }

    /// What a connection was that has ended.
    pub fn ended(retired: Retired<Self>) -> EndedConnection {
        let Retired { number, ends, state } = retired;
        let first_side = state.first.unwrap_or(Side::From);
        let ways = match state.resting {
            Some(resting) => resting.map(|way| way.map(EndedWay::of_resting)),
            None => state.ways.map(|way| way.map(|way| EndedWay::of(*way))),
        };
        EndedConnection { number, ends, first_side, ways }
    }

    /// A packet of `side` was captured at `at`: returns what it acknowledges of the other
    /// direction.
    pub fn take(&mut self, side: Side, at: Time, packet: &TcpView) -> Answer {
        if let Some(resting) = self.resting.take() {
            self.wake(*resting);
        }
        self.first.get_or_insert(side);
        if packet.flags.has(Flags::SYN) {
            let shift = packet.options.syn.window_scale;
            self.shifts[side.index()] = shift.map(|shift| shift.min(Self::SHIFT_MAX));
        }
        self.send(side, at, packet);
        if packet.flags.has(Flags::ACK) {
            self.answer(side.peer(), at, packet)
        } else {
            Answer::default()
        }
    }

    /// The part of a packet that concerns the direction in which it goes.
    fn send(&mut self, side: Side, at: Time, packet: &TcpView) {
        let shift = match self.shifts {
            [Some(_), Some(_)] => self.shifts[side.index()],
            _ => None,
        };
        let way = self.ways[side.index()]
            .get_or_insert_with(|| Box::new(CapturedWay::new(Sequence::seen_from(packet))));
        let CapturedWay { octets, statistics, sender, .. } = &mut **way;
        let seq_len = packet.seq_len();
        if seq_len == 0 || packet.flags.has(Flags::RST) {
            return statistics.sent(at, packet, None, octets, shift);
        }
        let left = octets.sequence().octet(packet.seq);
        if left < octets.sequence().highest() {
            statistics.resending(at, left, left + u64::from(seq_len), octets);
        }
        sender.sending(at, packet, octets);
        let sent = octets.sent(at, packet, CapturedSegment::of(packet));
        statistics.sent(at, packet, sent, octets, shift);
        if let Some(transmission) = sent {
            sender.sent(at, packet, transmission, octets);
        }
    }

    /// The part of a packet that concerns the direction that it acknowledges, which is that of
    /// `side`.
    fn answer(&mut self, side: Side, at: Time, packet: &TcpView) -> Answer {
        // Acknowledged octets were sent, whether or not they were captured.
        let way = self.ways[side.index()]
            .get_or_insert_with(|| Box::new(CapturedWay::new(Sequence::midway(packet.ack))));
        let CapturedWay { octets, statistics, sender, .. } = &mut **way;
        sender.answering(at, packet, octets);
        let ack = octets.sequence().octet(packet.ack);
        statistics.acknowledging(at, ack);
        let answer = octets.answered_each(at, packet, |segment, covered| {
            statistics.covered(at, ack, segment, covered);
            sender.covered(at, segment, covered);
        });
        statistics.answered(at, packet, answer.acked_bytes > 0, octets);
        sender.answered(at, packet, &answer, octets);
        answer
    }
}
