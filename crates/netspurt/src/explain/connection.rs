//! A captured connection and its two directions. To *take* a packet means to process it.

use std::mem::take;

use crate::ids::Side;
use crate::observe::{Answer, Sequence, Transmission};
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::{CapturedTcp, PlainSegment, TcpView, TunnelDepths};

use super::copy_finder::CopyFinder;
use super::disorder::KnownSide;
use super::handshake::Handshake;
use super::packed_directions::PackedDirections;
use super::pending::{PendingKind, PendingSegments};
use super::reordering::{EitherSegment, HeldSegment, Reordering};
use super::shared_state::TakenPacket;
use super::spent::CurrentTimeSpent;
use super::unanswered::judge_alone;
use super::{
    AckForLimits, BeforeWait, CapturedDirection, CapturedSegment, CapturingHost, EndedBy,
    EndedDirection, NearTrip, Sender, SentData, SharedState, TimeSpent, WaitingFor,
};

/// A connection, as the capture shows it. The capture may lack the beginning or one direction of
/// the connection.
///
/// A closed connection *rests* if it is complete and had no packets for a while: it is stored in a
/// packed form until a late packet comes. Most packets need only the field `pending`. It is the
/// first field, so it lies next to the fields that [`Flows`](crate::observe::Flows) needs for every
/// packet.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct CapturedConnection {
    /// Captured segments that the connection has not taken yet.
    pending: PendingSegments,
    /// The two directions, indexed by the side that sends. Both are `None` while the connection
    /// rests.
    pub(super) directions: [Option<Box<CapturedDirection>>; 2],
    /// The directions and the time spent, packed. `None` unless the connection rests.
    resting: Option<PackedDirections>,
    /// The side that sent the first packet captured.
    first: Option<Side>,
    /// For each side, in how many tunnels its first packet was.
    pub(super) tunnels: TunnelDepths,
    /// The handshake.
    pub(super) handshake: Handshake,
    /// Whether acknowledgments may be on their way from the capture to a sender.
    pub(super) afar: bool,
    /// The time that the connection spent on each thing that it waited for.
    pub(super) spent: CurrentTimeSpent,
    /// The latest packets, for finding copies. `None` until a first copy is found.
    pub(super) copy_finder: Option<Box<CopyFinder>>,
    /// What the packets show about the host that captured them.
    pub(super) host: CapturingHost,
    /// Packets that wait to be put into order. `None` unless the capture is out of order.
    reordering: Option<Box<Reordering>>,
}

impl CapturedConnection {
    /// The side that sent the first captured packet. This side need not have opened the connection.
    pub fn first_side(&self) -> Side {
        self.first.unwrap_or(Side::From)
    }

    /// Returns the time that the connection spent on each thing that it waited for. A repair (a
    /// series of retransmissions) that has not ended counts as if it ended now.
    ///
    /// Afterwards `spent` is empty: its box goes to `shared`, for another connection.
    fn take_spent(&mut self, shared: &mut SharedState) -> TimeSpent {
        let mut spent = self.spent.0.as_deref().copied().unwrap_or_default();
        self.spent.0.take().into_iter().for_each(|own| shared.keep_spent(own));
        for direction in self.directions.iter().flatten() {
            spent.sent_in_repair(direction.limits.sent_in_repair(&direction.octets));
        }
        spent
    }

    /// Packs a closed connection if all its octets were captured and acknowledged, because no more
    /// packets are expected then. The memory of its directions goes to `shared`.
    pub fn rest(&mut self, shared: &mut SharedState) {
        self.take_pending(shared);
        if self.resting.is_none()
            && self.directions.iter().flatten().all(|direction| direction.is_done())
        {
            let spent = self.take_spent(shared);
            self.afar = false;
            let mut directions = self.directions.each_mut().map(Option::take);
            let each = directions.each_mut().map(Option::as_deref_mut);
            self.resting = Some(PackedDirections::resting(&spent, each, &mut shared.packing));
            (self.copy_finder, self.reordering) = (None, None);
            directions.into_iter().flatten().for_each(|direction| shared.keep(direction));
            shared.keep_pending(take(&mut self.pending));
        }
    }

    /// Unpacks a resting connection because an unexpected packet came.
    #[cold]
    fn wake(&mut self, resting: PackedDirections) {
        let (spent, directions) = resting.unpack();
        self.spent.0 = Some(Box::new(spent));
        self.directions =
            directions.map(|direction| direction.map(|direction| Box::new(direction.wake())));
    }

    /// Ends the connection and returns its directions and the time spent, packed. The memory of the
    /// connection goes to `shared`.
    pub fn finish(mut self, shared: &mut SharedState) -> PackedDirections {
        if let Some(resting) = self.resting.take() {
            return resting;
        }
        let (spent, directions) = self.end(shared);
        PackedDirections::ended(&spent, directions, &mut shared.packing)
    }

    /// Like [`finish`](Self::finish), but returns the directions and the time spent unpacked.
    pub fn finish_unpacked(
        mut self,
        shared: &mut SharedState,
    ) -> (TimeSpent, [Option<EndedDirection>; 2]) {
        match self.resting.take() {
            Some(resting) => resting.unpack(),
            None => self.end(shared),
        }
    }

    /// Ends a connection that does not rest.
    fn end(mut self, shared: &mut SharedState) -> (TimeSpent, [Option<EndedDirection>; 2]) {
        shared.keep_pending(take(&mut self.pending));
        let spent = self.take_spent(shared);
        let [from, to] = self.directions;
        let mut end = |direction: Option<Box<CapturedDirection>>| {
            let mut direction = direction?;
            let ended = EndedDirection::of(&mut direction);
            shared.keep(direction);
            Some(ended)
        };
        let mut directions = [end(from), end(to)];
        let silent = |direction: &Option<EndedDirection>| {
            direction.as_ref().is_none_or(|direction| direction.statistics.packets.all == 0)
        };
        if directions.iter().any(silent) {
            directions.iter_mut().flatten().for_each(judge_alone);
        }
        (spent, directions)
    }

    /// Like [`take`](Self::take), but the connection may take the segment later, with other
    /// segments. `place` is its index in the transcript (the copy of the captured packets).
    #[inline]
    pub fn take_later(
        &mut self,
        side: Side,
        at: Time,
        segment: &PlainSegment,
        place: Option<u32>,
        shared: &mut SharedState,
    ) {
        if !self.pending.have_room(at) {
            self.make_room(shared);
        }
        self.pending.add_plain(side, at, segment, place);
    }

    /// Like [`take_later`](Self::take_later), for a segment that is not a [`PlainSegment`].
    pub fn take_other_later(
        &mut self,
        side: Side,
        at: Time,
        segment: &TcpView,
        place: Option<u32>,
        shared: &mut SharedState,
    ) {
        if !self.pending.have_memory() {
            self.pending = shared.begin_pending();
        }
        if !self.pending.have_room_for_other(at) {
            self.make_room(shared);
        }
        let other = shared.others.add(segment);
        self.pending.add_other(side, at, other, place);
    }

    /// Takes a router's report, captured at the instant `at`, that a packet was too big for the
    /// path. `side` sent this packet, and `seq` is its sequence number. Returns whether the octet
    /// with this number is outstanding. If this octet is not outstanding, the report may be forged
    /// and has no effect (RFC 5927 §7.2).
    #[cold]
    pub fn take_too_big(
        &mut self,
        side: Side,
        at: Time,
        seq: u32,
        shared: &mut SharedState,
    ) -> bool {
        self.make_room(shared);
        let direction = self.directions[side.index()].as_deref_mut();
        direction.is_some_and(|one| one.sender.too_big(at, seq, &one.octets))
    }

    /// Takes all segments that the connection has kept until now.
    pub fn take_pending(&mut self, shared: &mut SharedState) {
        self.make_room(shared);
        if self.reordering.is_some() {
            self.take_held(true, shared);
        }
    }

    /// Takes the pending segments. If the capture is out of order, holds each segment until no
    /// later segment can be moved before it.
    fn make_room(&mut self, shared: &mut SharedState) {
        if self.pending.is_empty() {
            return;
        }
        if self.host.is_shown() {
            self.tell_vantage();
        }
        let known = self.directions.each_ref().map(|direction| {
            let CapturedDirection { sender, octets, .. } = &**direction.as_ref()?;
            let (is_here, sequence) = (sender.path.is_beside_sender(), octets.sequence());
            Some(KnownSide { is_here, first: sequence.isn(), next: sequence.next() })
        });
        if shared.disorder.is_found() || self.pending.are_disordered(known, &shared.others) {
            shared.disorder.note();
            return self.reorder_pending(shared);
        }
        let mut pending = take(&mut self.pending);
        for one in pending.iter() {
            match &one.kind {
                PendingKind::Plain(segment) => {
                    let taken = self.take(one.side, one.at, segment, shared);
                    shared.taken(one.place(0), taken);
                    let continued = one.continued(segment);
                    if continued.len() > 0 {
                        self.take_continued(one.side, one.at, segment, continued, shared);
                    }
                }
                PendingKind::Other(other) => {
                    let segment = shared.others.take(*other);
                    let taken = self.take(one.side, one.at, &segment, shared);
                    shared.taken(one.place(0), taken);
                }
            }
        }
        pending.clear();
        self.pending = pending;
    }

    /// Puts the pending segments into order. Takes each segment as soon as no later segment can be
    /// moved before it.
    #[cold]
    fn reorder_pending(&mut self, shared: &mut SharedState) {
        let mut pending = take(&mut self.pending);
        for one in pending.iter() {
            match &one.kind {
                PendingKind::Plain(segment) => {
                    let mut at = one.at;
                    self.hold(HeldSegment::plain(one.side, at, *segment, one.place(0)), shared);
                    for (behind, (gap, next)) in (1..).zip(one.continued(segment)) {
                        at += gap;
                        let place = one.place(behind);
                        self.hold(HeldSegment::plain(one.side, at, next, place), shared);
                    }
                }
                PendingKind::Other(other) => {
                    let segment = shared.others.take(*other);
                    self.hold(HeldSegment::other(one.side, one.at, &segment, one.place(0)), shared);
                }
            }
        }
        pending.clear();
        self.pending = pending;
    }

    /// Holds `segment` until its place in the order is known. Takes the held segments that are so
    /// old that no later segment can be moved before them.
    fn hold(&mut self, segment: HeldSegment, shared: &mut SharedState) {
        let mut reordering = self.reordering.take().unwrap_or_default();
        let directions = self.directions.each_ref().map(Option::as_deref);
        reordering.add(segment, directions, &mut shared.disorder);
        self.reordering = Some(reordering);
        self.take_held(false, shared);
    }

    /// Takes the held segments that are so old that no later segment can be moved before them. If
    /// the connection has ended (`over`), takes all held segments.
    fn take_held(&mut self, over: bool, shared: &mut SharedState) {
        while let Some(one) = self.reordering.as_mut().and_then(|held| held.next(over)) {
            let taken = match &one.segment {
                EitherSegment::Plain(segment) => self.take(one.side, one.at, segment, shared),
                EitherSegment::Other(segment) => self.take(one.side, one.at, segment, shared),
            };
            shared.taken(one.place, taken);
        }
    }

    /// Takes a packet that `side` sent and that was captured at the instant `at`. Returns what the
    /// transcript must know of it. A new direction gets its memory from `shared`.
    pub fn take(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
        shared: &mut SharedState,
    ) -> TakenPacket {
        if let Some(resting) = self.resting.take() {
            self.wake(resting);
        }
        if self.spent.0.is_none() {
            self.spent.0 = Some(shared.begin_spent());
        }
        if !self.handshake.is_over() && self.is_of_earlier(side, packet) {
            self.take_of_earlier(side, at, packet, shared);
            return TakenPacket::WithoutNumbers;
        }
        if self.handshake.is_over() && self.is_stray(side, packet) {
            self.take_without_numbers(side, at, packet);
            return TakenPacket::WithoutNumbers;
        }
        let mut told = self.was_on_its_way(side, at, packet);
        if told.is_none() {
            told = self.told_of_silence(side, at, packet);
        }
        if self.copy_finder.as_mut().is_some_and(|copy_finder| copy_finder.holds(side, at, packet))
        {
            let longest =
                self.copy_finder.as_ref().map_or(Duration::ZERO, |copy_finder| copy_finder.longest);
            shared.copies = (shared.copies.0 + 1, shared.copies.1.max(longest));
            self.take_copy(side, at, packet);
            return TakenPacket::Sampled(None);
        }
        self.first.get_or_insert(side);
        let before = packet.flags().has(Flags::SYN).then_some(self.handshake);
        let answers_syn = self.handshake.take(side, at, packet);
        let copies = self.copies(side);
        let waited = self.send(side, at, packet, answers_syn, shared);
        let waited = waited.or(told);
        if let Some(before) = before
            && self.copies(side) > copies
        {
            // No host sent this copy of a SYN, so the copy does not count as a new SYN.
            self.handshake = before;
        }
        let answer = match packet.flags().has(Flags::ACK) {
            true => self.answer(side.peer(), at, packet, shared),
            false => Answer::default(),
        };
        if packet.flags().has(Flags::SYN) {
            self.offer();
            if let Some(direction) = self.directions[side.index()].as_deref_mut() {
                direction.floors.sent_syn(packet.syn_style());
            }
        }
        let waiting = self.waiting();
        self.spent.packet(at, waited, waiting);
        if packet.len() > 0 {
            self.note_data(side, at);
        } else if answer.acked_bytes > 0 {
            self.spent.acked(side.peer(), at);
        }
        TakenPacket::Sampled(answer.sample)
    }

    /// Tells both senders where the capture was taken, as far as the capturing host shows it.
    fn tell_vantage(&mut self) {
        for side in [Side::From, Side::To] {
            if let Some(direction) = self.directions[side.index()].as_deref_mut() {
                direction.sender.path.shown(self.host.seen_from(side));
            }
        }
    }

    /// Tells both senders how large their segments may be.
    #[cold]
    fn offer(&mut self) {
        for side in [Side::From, Side::To] {
            let [own, of_receiver] =
                [side, side.peer()].map(|side| self.handshake.offered_mss(side));
            if let Some(direction) = self.directions[side.index()].as_deref_mut() {
                direction.limits.offered(of_receiver, own);
            }
        }
    }

    /// Notes that `side` sent data at the instant `at`, and what this shows about the time before
    /// the data.
    fn note_data(&mut self, side: Side, at: Time) {
        let Self { directions, spent, .. } = self;
        let spent = &mut **spent;
        let Some(direction) = directions[side.index()].as_deref() else { return };
        spent.has_data(side);
        if direction.sender.path.is_beside_sender() {
            let last = direction.octets.outstanding().back();
            let new = last.is_some_and(|last| last.first_sent == at && last.retransmissions == 0);
            let alone = last.is_some_and(|last| last.left == direction.octets.una());
            let data = SentData { new, short: direction.limits.ends_short(), alone };
            spent.data_sent(side, at, data);
        }
        spent.window_filled(|| direction.sender.path.round_trip_beside_sender());
        if spent.is_paused() && !direction.octets.outstanding().is_empty() {
            spent.went_on(side, at);
        }
        spent.data_of(side);
    }

    /// The number of copies of segments of `side` so far.
    fn copies(&self, side: Side) -> u64 {
        self.directions[side.index()].as_deref().map_or(0, |direction| direction.sender.copies())
    }

    /// Counts a packet that is a copy of an earlier packet.
    #[cold]
    fn take_copy(&mut self, side: Side, at: Time, packet: &impl CapturedTcp) {
        let shift = self.handshake.shift_offered(side);
        if let Some(direction) = self.directions[side.index()].as_deref_mut() {
            let CapturedDirection { octets, statistics, sender, .. } = direction;
            let left = octets.sequence().octet(packet.seq());
            let right = left + u64::from(packet.seq_len());
            let occupies = left < right && !packet.flags().has(Flags::RST);
            let sent = occupies.then_some(Transmission { left, right, again: true });
            if sent.is_some() {
                statistics.repeating(at, packet, (left, right), octets);
                sender.copied();
            }
            statistics.sent(at, packet, sent, octets, shift);
        }
        if packet.flags().has(Flags::ACK)
            && let Some(direction) = self.directions[side.peer().index()].as_deref_mut()
        {
            let ack = direction.octets.sequence().octet(packet.ack());
            direction.statistics.answered(at, packet, (ack, false), &direction.octets);
        }
        let waiting = self.waiting();
        self.spent.packet(at, None, waiting);
    }

    /// What the connection waits for now.
    pub(super) fn waiting(&self) -> WaitingFor {
        if !self.handshake.is_over() {
            return WaitingFor::Handshake;
        }
        WaitingFor::of_senders(self.sender_waits(Side::From), self.sender_waits(Side::To))
    }

    /// What `side` waits for as a sender. `None` if it waits for nothing.
    #[inline]
    pub(super) fn sender_waits(&self, side: Side) -> Option<WaitingFor> {
        self.directions[side.index()]
            .as_deref()
            .and_then(|direction| direction.limits.waiting(&direction.octets))
    }

    /// Handles a packet as a part of the direction in which it goes. Returns what the connection
    /// waited for before the packet, if the packet shows this. `answers_syn` says whether the
    /// packet is a SYN-ACK that answers the other side's last SYN. No timer sends such a SYN-ACK.
    fn send(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
        answers_syn: bool,
        shared: &mut SharedState,
    ) -> Option<WaitingFor> {
        let shift = self.handshake.shift_offered(side);
        let host = self.host;
        let back = self.directions[side.peer().index()].as_deref();
        let fin = packet.flags().has(Flags::FIN);
        let acks_anew = fin && back.is_some_and(|back| back.is_acked_by(packet));
        let direction = self.directions[side.index()]
            .get_or_insert_with(|| shared.begin(Sequence::seen_from(packet), host.seen_from(side)));
        if packet.flags().has(Flags::SYN) {
            direction.number_from(packet);
            direction.note_late_syn();
        }
        let CapturedDirection { octets, statistics, sender, limits, floors, .. } = &mut **direction;
        let seq_len = packet.seq_len();
        let left = octets.sequence().octet(packet.seq());
        sender.current.after_gap = left > octets.sequence().highest();
        if seq_len == 0 || packet.flags().has(Flags::RST) {
            statistics.sent(at, packet, None, octets, shift);
            sender.order.bare();
            sender.labelled(at, packet.flow_label());
            return None;
        }
        let old = left < octets.sequence().highest();
        let copies = if old { sender.copies() } else { 0 };
        if old {
            statistics.repeating(at, packet, (left, left + u64::from(seq_len)), octets);
            sender.current.piece_bytes_max = limits.piece_bytes_max();
        }
        if let Some((ended, rtt)) = sender.may_show_timeout(at, packet, left, octets)
            && self.spent.was_timer(side, ended, rtt)
            && left > octets.sequence().highest()
        {
            sender.had_timed_out(left, ended);
        }
        (sender.current.answers_syn, sender.current.acks_anew) = (answers_syn, acks_anew);
        sender.sending(at, packet, left, octets);
        if old && sender.copies() > copies && self.copy_finder.is_none() {
            let earlier = octets.outstanding().iter().rfind(|one| one.left == left);
            let gap = earlier.map_or(Duration::ZERO, |one| at.saturating_since(one.last_sent));
            self.copy_finder = Some(Box::new(CopyFinder::of(side, at, packet, gap)));
        }
        sender.labelled(at, packet.flow_label());
        let sent = octets.sent_from(left, at, packet, CapturedSegment::of(packet));
        statistics.sent(at, packet, sent, octets, shift);
        let transmission = sent?;
        let timeout = transmission.again.then(|| sender.latest()).flatten();
        let opens = packet.flags().has(Flags::SYN);
        let answers = |gap| answers_syn || opens && gap < Sender::SYN_WAIT;
        let again = timeout.filter(|again| again.at == at && !answers(again.gap));
        let timer = again.and_then(|again| EndedBy::of(again.cause.get()));
        if let (Some(again), Some(timer)) = (again, timer) {
            let near = NearTrip { trip: sender.path.near(), after_ack: limits.ack_was_last() };
            let before = BeforeWait { progress: limits.progress, acked: limits.acked(), near };
            floors.waited(again, timer, &before, octets);
        }
        limits.sent(at, packet, (transmission, again.is_some()), octets);
        timer.map(|_| WaitingFor::Timeout)
    }

    /// Handles a packet as an acknowledgment of the direction in which `side` sends.
    fn answer(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
        shared: &mut SharedState,
    ) -> Answer {
        let shift = self.handshake.shift(side.peer());
        let host = self.host;
        let back = self.directions[side.peer().index()].as_deref();
        let after_gap = back.is_some_and(|back| back.sender.current.after_gap);
        // Acknowledged octets were sent, so the direction exists even if they were not captured.
        let direction = self.directions[side.index()].get_or_insert_with(|| {
            shared.begin(Sequence::midway(packet.ack()), host.seen_from(side))
        });
        let CapturedDirection { octets, statistics, sender, limits, floors, .. } = &mut **direction;
        sender.answering(at, packet, octets);
        let ack = octets.sequence().octet(packet.ack());
        statistics.acknowledging(at, ack);
        let answer = octets.answered_each(ack, at, packet, |segment, covered| {
            statistics.covered(at, ack, segment, covered);
            sender.covered(at, segment, covered);
        });
        if floors.has_open_wait() {
            let octet = |number| octets.sequence().octet(number);
            let blocks = packet.sack().iter().map(|block| octet(block.left)..octet(block.right));
            floors.acknowledged(at, ack, &blocks.collect::<Vec<_>>());
        }
        statistics.answered(at, packet, (ack, answer.acked_bytes > 0), octets);
        sender.answered(at, packet, &answer, after_gap, octets);
        if let Some(sample) = &answer.sample {
            floors.sample(sample);
        }
        statistics.progressed(at, &answer, sender.path.least());
        let (new_bytes, near) = (answer.acked_bytes, sender.path.near_if_apart());
        let beside_sender = new_bytes > 0 && sender.path.is_beside_sender();
        let heard = AckForLimits { ack, new_bytes, shift, near, beside_sender };
        if let Some(bytes) = limits.answered(at, packet, &heard, octets) {
            self.spent.sent_in_repair(bytes);
        }
        self.afar |= limits.is_afar();
        if let Some(sample) = &answer.sample
            && !sample.ambiguous
            && let Some(back) = self.directions[side.peer().index()].as_deref_mut()
        {
            back.sender.path.near_sample(sample.rtt);
        }
        answer
    }
}
