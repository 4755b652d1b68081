//! A captured connection.

use crate::ids::Side;
use crate::observe::{Answer, Observed, Sequence};
use crate::segment::Flags;
use crate::units::Time;
use crate::wire::TcpView;

use super::resting::RestingWay;
use super::{CapturedSegment, CapturedWay, EndedWay, SpareWays, TimeSpent, WaitingFor};

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
    /// Whether a SYN of either side was captured, and whether data may be sent.
    syns: [bool; 2],
    established: bool,
    /// What it spends its time on.
    spent: TimeSpent,
}

impl CapturedConnection {
    /// The largest shift of windows (RFC 7323 §2.3).
    const SHIFT_MAX: u8 = 14;

    /// The side that sent the first packet captured; it need not be the one that opened.
    pub fn first_side(&self) -> Side {
        self.first.unwrap_or(Side::From)
    }

    /// What it spent its time on.
    pub fn spent(&self) -> TimeSpent {
        self.spent
    }

    /// The connection is closed. It rests if no packets of it are expected: everything that was sent
    /// was seen and is acknowledged. Its memory goes to `spare`.
    pub fn rest(&mut self, spare: &mut SpareWays) {
        if self.resting.is_none() && self.ways.iter().flatten().all(|way| way.is_done()) {
            let mut rested = |mut way: Box<CapturedWay>| {
                let resting = RestingWay::of(&mut way, &mut spare.packing);
                spare.keep(way);
                resting
            };
            let ways = self.ways.each_mut().map(Option::take);
            self.resting = Some(Box::new(ways.map(|way| way.map(&mut rested))));
        }
    }

    /// A packet comes that was not expected.
    #[cold]
    fn wake(&mut self, resting: [Option<RestingWay>; 2]) {
        self.ways = resting.map(|way| way.map(|way| Box::new(way.wake())));
    }

    /// The connection has ended.
    pub fn finish(self) -> [Option<EndedWay>; 2] {
        match self.resting {
            Some(resting) => resting.map(|way| way.map(EndedWay::of_resting)),
            None => self.ways.map(|way| way.map(|way| EndedWay::of(*way))),
        }
    }

    /// A packet of `side` was captured at `at`: returns what it acknowledges of the other
    /// direction. What begins takes its memory from `spare`.
    pub fn take(
        &mut self,
        side: Side,
        at: Time,
        packet: &TcpView,
        spare: &mut SpareWays,
    ) -> Answer {
        if let Some(resting) = self.resting.take() {
            self.wake(*resting);
        }
        self.first.get_or_insert(side);
        if packet.flags.has(Flags::SYN) {
            let shift = packet.options.syn.window_scale;
            self.shifts[side.index()] = shift.map(|shift| shift.min(Self::SHIFT_MAX));
            self.syns[side.index()] = true;
        } else {
            // Only the two SYNs come before the handshake's last ACK.
            self.established = true;
        }
        let waited = self.send(side, at, packet, spare);
        let answer = match packet.flags.has(Flags::ACK) {
            true => self.answer(side.peer(), at, packet, spare),
            false => Answer::default(),
        };
        self.spent.packet(at, waited, self.waiting());
        answer
    }

    /// What it waits for now.
    fn waiting(&self) -> WaitingFor {
        if !self.established {
            return WaitingFor::Handshake;
        }
        let [own, other] = self
            .ways
            .each_ref()
            .map(|way| way.as_deref().and_then(|way| way.limits.waiting(&way.octets)));
        match (own, other) {
            (Some(own), Some(other)) if own as u8 >= other as u8 => own,
            (own, other) => other.or(own).unwrap_or(WaitingFor::Application),
        }
    }

    /// The shift of the windows that `side` advertises, if the SYNs were captured (RFC 7323 §2.2:
    /// windows are scaled if both SYNs offer it).
    fn shift(&self, side: Side) -> Option<u8> {
        match (self.syns, self.shifts) {
            ([true, true], [Some(_), Some(_)]) => self.shifts[side.index()],
            ([true, true], _) => Some(0),
            _ => None,
        }
    }

    /// The part of a packet that concerns the direction in which it goes: returns what was waited
    /// for before it, if it tells.
    fn send(
        &mut self,
        side: Side,
        at: Time,
        packet: &TcpView,
        spare: &mut SpareWays,
    ) -> Option<WaitingFor> {
        let shift = match self.shifts {
            [Some(_), Some(_)] => self.shifts[side.index()],
            _ => None,
        };
        let way =
            self.ways[side.index()].get_or_insert_with(|| spare.begin(Sequence::seen_from(packet)));
        let CapturedWay { octets, statistics, sender, limits, floors, .. } = &mut **way;
        let seq_len = packet.seq_len();
        if seq_len == 0 || packet.flags.has(Flags::RST) {
            statistics.sent(at, packet, None, octets, shift);
            sender.labelled(at, packet.flow_label);
            return None;
        }
        let left = octets.sequence().octet(packet.seq);
        if left < octets.sequence().highest() {
            statistics.repeating(at, left, left + u64::from(seq_len), octets);
        }
        sender.sending(at, packet, left, octets);
        sender.labelled(at, packet.flow_label);
        let sent = octets.sent(at, packet, CapturedSegment::of(packet));
        statistics.sent(at, packet, sent, octets, shift);
        let transmission = sent?;
        let timeout = transmission.again.then(|| sender.latest()).flatten();
        let waited = timeout.filter(|again| again.at == at && again.is_timed());
        if let Some(again) = waited.filter(|again| again.is_timeout()) {
            floors.waited(again, limits.progress, octets);
        }
        limits.sent(at, packet, transmission, octets);
        waited.map(|_| WaitingFor::Timeout)
    }

    /// The part of a packet that concerns the direction that it acknowledges, which is that of
    /// `side`.
    fn answer(&mut self, side: Side, at: Time, packet: &TcpView, spare: &mut SpareWays) -> Answer {
        let shift = self.shift(side.peer());
        // Acknowledged octets were sent, whether or not they were captured.
        let way = self.ways[side.index()]
            .get_or_insert_with(|| spare.begin(Sequence::midway(packet.ack)));
        let CapturedWay { octets, statistics, sender, limits, floors, .. } = &mut **way;
        sender.answering(at, packet, octets);
        let ack = octets.sequence().octet(packet.ack);
        statistics.acknowledging(at, ack);
        let answer = octets.answered_each(at, packet, |segment, covered| {
            statistics.covered(at, ack, segment, covered);
            sender.covered(at, segment, covered);
        });
        statistics.answered(at, packet, answer.acked_bytes > 0, octets);
        sender.answered(at, packet, &answer, octets);
        if let Some(sample) = &answer.sample {
            floors.sample(sample);
        }
        limits.answered(at, packet, answer.acked_bytes > 0, ack, shift);
        if let Some(sample) = answer.sample.filter(|sample| !sample.ambiguous)
            && let Some(back) = self.ways[side.peer().index()].as_deref_mut()
        {
            back.sender.near_sample(sample.rtt);
        }
        answer
    }
}
