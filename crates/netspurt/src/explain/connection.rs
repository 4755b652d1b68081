//! A captured connection.

use crate::ids::Side;
use crate::observe::{Answer, Observed, Sequence};
use crate::segment::Flags;
use crate::units::Time;
use crate::wire::TcpView;

use super::{CapturedSegment, CapturedWay};

/// A connection, observed at the point of the capture. Its beginning or one of its directions may
/// be missing.
#[derive(Clone, Debug, Default)]
pub struct CapturedConnection {
    /// By the side that sends.
    ways: [Option<Box<CapturedWay>>; 2],
}

impl CapturedConnection {
    /// What `side` sends; `None` if neither a packet nor an acknowledgement of it was captured.
    pub fn way(&self, side: Side) -> Option<&CapturedWay> {
        self.ways[side.index()].as_deref()
    }

    /// A packet of `side` was captured at `at`: returns what it acknowledges of the other
    /// direction.
    pub fn take(&mut self, side: Side, at: Time, packet: &TcpView) -> Answer {
        self.send(side, at, packet);
        if packet.flags.has(Flags::ACK) {
            self.answer(side.peer(), at, packet)
        } else {
            Answer::default()
        }
    }

    /// The part of a packet that concerns the direction in which it goes.
    fn send(&mut self, side: Side, at: Time, packet: &TcpView) {
        let way = self.ways[side.index()]
            .get_or_insert_with(|| Box::new(CapturedWay::new(Sequence::seen_from(packet), at)));
        let before = *way.octets.sequence();
        let sent = if packet.seq_len() > 0 && !packet.flags.has(Flags::RST) {
            way.sender.sending(at, packet, &way.octets);
            way.octets.sent(at, packet, CapturedSegment::of(packet))
        } else {
            None
        };
        way.statistics.sent(at, packet, sent, &before);
        if let Some(transmission) = sent {
            way.sender.sent(at, packet, transmission, &way.octets);
        }
    }

    /// The part of a packet that concerns the direction that it acknowledges, which is that of
    /// `side`.
    fn answer(&mut self, side: Side, at: Time, packet: &TcpView) -> Answer {
        // Acknowledged octets were sent, whether or not they were captured.
        let way = self.ways[side.index()]
            .get_or_insert_with(|| Box::new(CapturedWay::new(Sequence::midway(packet.ack), at)));
        let CapturedWay { octets, statistics, sender } = &mut **way;
        sender.answering(at, packet, octets);
        let answer = octets.answered_each(at, packet, |segment, covered| {
            statistics.covered(at, segment, covered);
            sender.covered(at, segment, covered);
        });
        statistics.answered(at, packet, &answer);
        sender.answered(at, packet, &answer, octets);
        answer
    }
}
