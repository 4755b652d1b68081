//! Turns the packets of real hosts into the segments that links and tables use.
//!
//! Sequence numbers count from the connection's initial sequence numbers, as everywhere in
//! netspurt. The cause of a retransmission is derived from the kernel's state when the
//! retransmission is seen.

use netspurt::ids::{EndId, FlowId, TransmissionId};
use netspurt::observe::Sequence;
use netspurt::segment::{Cause, Flags, SackBlock, SackBlocks, Segment};
use netspurt::wire::{Checks, Decoded, IpHead, decode};

use crate::content;
use crate::kernel::TcpInfo;
use crate::offload::{Shape, header_bytes};

/// The state of one end, as its packets so far have shown it.
#[derive(Clone, Copy, Debug, Default)]
struct LabelledEnd {
    isn: Option<u32>,
    /// The number of ids that this end's packets have received so far.
    count: u64,
    /// The octets that this end has sent, counted from its initial sequence number.
    sequence: Sequence,
    /// The kernel's count of timeouts when this end last retransmitted after a timeout.
    timeouts: u32,
}

/// Gives the segments of real hosts their ids, their causes, and sequence numbers that count from
/// the initial sequence number.
#[derive(Debug, Default)]
pub struct Labels {
    /// The states of the ends. The index of an end is the index of its state in this list.
    ends: Vec<LabelledEnd>,
    /// The number of packets that could not be read.
    pub strange: u64,
    /// The number of packets whose octets differ from the octets that the application wrote.
    pub damaged: u64,
    /// The first flow of programs, such as curl, or of a population. A population is many
    /// connections of one kind. The octets of this flow and of all later flows are not checked.
    /// `None` if there is no such flow.
    foreign: Option<FlowId>,
}

impl Labels {
    /// Makes the labels for a run in which no flow has sent a packet yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds states for the two ends of the flow of `end`, if the list has none for them yet.
    fn make_room(&mut self, end: EndId) {
        let places = EndId::places(end.flow().index() + 1);
        if self.ends.len() < places {
            self.ends.resize(places, LabelledEnd::default());
        }
    }

    /// Switches off the check of octets for the flow `first` and all later flows. If `first` is
    /// `None`, the octets of all flows are checked.
    #[must_use]
    pub fn foreign_from(mut self, first: Option<FlowId>) -> Self {
        self.foreign = first;
        self
    }

    /// Returns a segment that stands for a packet which was not read as a TCP segment, for example
    /// an ICMP packet. The argument `from` is the end that sent the packet. A packet that is not a
    /// complete packet of IPv4 is counted as strange and gives `None`.
    pub fn other(&mut self, from: EndId, bytes: &[u8]) -> Option<Segment> {
        let four = |head: &IpHead<'_>| matches!(head, IpHead::V4(_));
        let whole = |head: &IpHead<'_>| head.total_bytes() == bytes.len();
        let Some(head) = IpHead::of(bytes).filter(four).filter(whole) else {
            self.strange += 1;
            return None;
        };
        let size_bytes = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        self.make_room(from);
        let id = self.ends[from.index()].number(from);
        let mut segment =
            Segment { id, dest: from.peer(), size_bytes, ecn: head.ecn(), ..Segment::default() };
        segment.set_other();
        Some(segment)
    }

    /// Returns the segment of a packet. The argument `from` is the end that sent the packet. A
    /// packet that cannot be read as a segment is counted as strange and gives `None`. The function
    /// `ask` returns the kernel's state of the connection; only retransmissions need this state.
    pub fn read(
        &mut self,
        from: EndId,
        bytes: &[u8],
        ask: impl FnMut() -> Option<TcpInfo>,
    ) -> Option<Segment> {
        let mut out = Vec::with_capacity(1);
        self.read_all(from, (bytes, Shape::WHOLE), ask, &mut out);
        out.pop()
    }

    /// Reads a packet that may hold several segments; `shape` says how it is to be cut. Appends the
    /// segments with consecutive ids to the list `out`. In all other respects, this function works
    /// like [`read`](Self::read).
    pub fn read_all(
        &mut self,
        from: EndId,
        (bytes, shape): (&[u8], Shape),
        mut ask: impl FnMut() -> Option<TcpInfo>,
        out: &mut Vec<Segment>,
    ) {
        let checks = if shape.partial { Checks::Captured } else { Checks::Whole };
        let Some(decoded) = decode(bytes, checks).ok().filter(|read| is_whole(read, bytes, shape))
        else {
            self.strange += 1;
            return;
        };
        self.make_room(from);
        let peer_isn = self.ends[from.peer().index()].isn;
        let end = &mut self.ends[from.index()];
        let mut segment = decoded.segment;
        // The first packet of an end may have no SYN, for example a reset. Then the sequence number
        // of this packet counts as 1.
        let begins =
            if segment.flags.has(Flags::SYN) { segment.seq } else { segment.seq.wrapping_sub(1) };
        let isn = *end.isn.get_or_insert(begins);
        segment.seq = segment.seq.wrapping_sub(isn);
        if let Some(isn) = peer_isn {
            shift_acks(&mut segment, isn.wrapping_neg());
        }
        segment.dest = from.peer();
        let first = end.sequence.octet(segment.seq).saturating_sub(1);
        let checked = self.foreign.is_none_or(|first| from.flow() < first);
        let written = content::octets(first, decoded.payload.len());
        self.damaged += u64::from(checked && decoded.payload != written);
        let most = if shape.segment_bytes == 0 { u16::MAX } else { shape.segment_bytes };
        loop {
            let (piece, rest) = split(segment, most);
            let id = end.number(from);
            let cause = end.cause(&piece, &mut ask).into();
            out.push(Segment { id, cause, ..piece });
            match rest {
                Some(rest) => segment = rest,
                None => break,
            }
        }
    }

    /// Returns the segment with the acknowledgment numbers that it has on the wire. The receiver of
    /// the segment is a real host. On the wire, the receiver's own initial sequence number is added
    /// to these numbers.
    pub fn on_the_wire(&self, mut segment: Segment) -> Segment {
        if let Some(isn) = self.ends.get(segment.dest.index()).and_then(|end| end.isn) {
            shift_acks(&mut segment, isn);
        }
        segment
    }
}

/// Whether netspurt can read the whole packet: no octet of the packet may be missing. If a device
/// has to cut the packet into segments, the packet must be a TCP packet with complete headers.
fn is_whole(read: &Decoded<'_>, bytes: &[u8], shape: Shape) -> bool {
    let all = read.payload.len() == usize::from(read.segment.len);
    let cut = shape.segment_bytes == 0
        || header_bytes(bytes).is_some_and(|headers| headers + read.payload.len() == bytes.len());
    all && cut && !shape.foreign
}

/// Cuts a segment as network devices do. Returns a segment with the first octets of payload, up to
/// the maximum `most`. If there is more payload, also returns a segment with the rest. The flags
/// FIN and PSH go to the rest, and the flag CWR to the first segment.
fn split(segment: Segment, most: u16) -> (Segment, Option<Segment>) {
    if segment.len <= most {
        return (segment, None);
    }
    let headers = segment.size_bytes - segment.len;
    let without = |flags: Flags, gone: Flags| Flags(flags.0 & !gone.0);
    let first = Segment {
        len: most,
        size_bytes: headers + most,
        flags: without(segment.flags, Flags::FIN.with(Flags::PSH)),
        ..segment
    };
    let rest = Segment {
        seq: segment.seq.wrapping_add(most.into()),
        len: segment.len - most,
        size_bytes: segment.size_bytes - most,
        flags: without(segment.flags, Flags::CWR),
        ..segment
    };
    (first, Some(rest))
}

/// Adds `shift` to the acknowledgment number and the SACK blocks of a segment.
fn shift_acks(segment: &mut Segment, shift: u32) {
    if segment.flags.has(Flags::ACK) {
        segment.ack = segment.ack.wrapping_add(shift);
    }
    let mut blocks = SackBlocks::default();
    for SackBlock { left, right } in segment.sack() {
        let (left, right) = (left.wrapping_add(shift), right.wrapping_add(shift));
        blocks.add(SackBlock { left, right });
    }
    if segment.sack_count() > 0 {
        segment.set_sack(&blocks);
    }
}

impl LabelledEnd {
    /// Returns the id of the next packet of this end. The argument `from` is the id of the end.
    fn number(&mut self, from: EndId) -> TransmissionId {
        self.count += 1;
        TransmissionId::of_packet(from, self.count - 1)
    }

    /// The cause of a retransmission; `None` for an original.
    fn cause(
        &mut self,
        segment: &Segment,
        ask: &mut impl FnMut() -> Option<TcpInfo>,
    ) -> Option<Cause> {
        if !self.sequence.take(segment).again {
            return None;
        }
        if segment.flags.has(Flags::SYN) {
            return Some(Cause::Syn);
        }
        let Some(info) = ask() else { return Some(Cause::Rto) };
        if info.in_loss() {
            // Before Linux 6.7, the count of timeouts begins again at zero when an ACK acknowledges
            // new data.
            let fresh = info.timeouts != self.timeouts && info.timeouts > 0;
            self.timeouts = info.timeouts;
            return Some(if fresh { Cause::Rto } else { Cause::GoBackN });
        }
        if !info.in_recovery() {
            return Some(Cause::Tlp);
        }
        Some(match (info.sack, info.rack) {
            (false, _) => Cause::Fast,
            (true, false) => Cause::SackRecovery,
            (true, true) => Cause::Rack,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt::wire::{Packet, encode};
    use proptest::prelude::*;

    /// Makes a packet with `len` octets of payload.
    fn packet(seq: u32, ack: u32, len: u16, flags: Flags) -> Vec<u8> {
        let segment = Segment { seq, ack, len, flags, ..Segment::default() };
        let (source, destination) =
            ("10.0.0.1:10000".parse().unwrap(), "10.0.0.2:5001".parse().unwrap());
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut bytes);
        bytes
    }

    /// The kernel's state of a sender that is in recovery.
    fn recovering() -> Option<TcpInfo> {
        Some(TcpInfo { state: TcpInfo::RECOVERY, ..TcpInfo::default() })
    }

    #[test]
    fn sequence_numbers_count_from_the_initial_number_of_each_side() {
        let mut labels = Labels::new();
        let (mine, theirs) = (u32::MAX - 5, 77);
        labels.read(EndId::at(0), &packet(mine, 0, 0, Flags::SYN), recovering).unwrap();
        let answer = packet(theirs, mine.wrapping_add(1), 0, Flags::SYN.with(Flags::ACK));
        let answer = labels.read(EndId::at(1), &answer, recovering).unwrap();
        assert_eq!((answer.seq, answer.ack, answer.dest), (0, 1, EndId::at(0)));
        let data = packet(mine.wrapping_add(1), theirs + 1, 100, Flags::ACK);
        let data = labels.read(EndId::at(0), &data, recovering).unwrap();
        assert_eq!((data.seq, data.ack, data.len, data.cause.get()), (1, 1, 100, None));
        assert_eq!(labels.on_the_wire(answer).ack, mine.wrapping_add(1));
    }

    #[test]
    fn the_cause_of_a_retransmission_follows_from_its_flags_and_the_kernels_state() {
        let mut labels = Labels::new();
        labels.read(EndId::at(0), &packet(9, 0, 0, Flags::SYN), || None).unwrap();
        let again = labels.read(EndId::at(0), &packet(9, 0, 0, Flags::SYN), || None).unwrap();
        assert_eq!(again.cause.get(), Some(Cause::Syn));
        let data = packet(10, 1, 100, Flags::ACK);
        assert_eq!(labels.read(EndId::at(0), &data, || None).unwrap().cause.get(), None);
        let mut of =
            |info: TcpInfo| labels.read(EndId::at(0), &data, || Some(info)).unwrap().cause.get();
        let loss = TcpInfo { state: TcpInfo::LOSS, timeouts: 1, ..TcpInfo::default() };
        assert_eq!(of(loss), Some(Cause::Rto));
        assert_eq!(of(loss), Some(Cause::GoBackN));
        assert_eq!(of(TcpInfo { timeouts: 3, ..loss }), Some(Cause::Rto));
        assert_eq!(of(loss), Some(Cause::Rto), "before Linux 6.7 the count begins again");
        assert_eq!(of(loss), Some(Cause::GoBackN));
        let recovery = TcpInfo { state: TcpInfo::RECOVERY, ..TcpInfo::default() };
        assert_eq!(of(recovery), Some(Cause::Fast));
        assert_eq!(of(TcpInfo { sack: true, ..recovery }), Some(Cause::SackRecovery));
        assert_eq!(of(TcpInfo { sack: true, rack: true, ..recovery }), Some(Cause::Rack));
        assert_eq!(of(TcpInfo::default()), Some(Cause::Tlp));
    }

    proptest! {
        #[test]
        fn hostile_octets_cause_no_panic_and_are_read_or_counted(bytes: Vec<u8>, from in 0_u32..2) {
            let mut labels = Labels::new();
            let read = labels.read(EndId::at(from), &bytes, recovering);
            prop_assert_eq!(u64::from(read.is_none()), labels.strange);
        }

        #[test]
        fn a_damaged_packet_of_any_shape_gives_segments_or_is_counted(
            at in 0_usize..1040, octet: u8, end in 0_usize..1041, segment_bytes in 0_u16..600,
            partial: bool, foreign: bool
        ) {
            let mut bytes = packet(7, 9, 1000, Flags::ACK);
            bytes[at] = octet;
            bytes.truncate(end);
            let mut labels = Labels::new();
            let mut out = Vec::new();
            let shape = Shape { segment_bytes, partial, foreign };
            labels.read_all(EndId::at(0), (&bytes, shape), recovering, &mut out);
            prop_assert_eq!(u64::from(out.is_empty()), labels.strange);
            let carried: usize = out.iter().map(|segment| usize::from(segment.len)).sum();
            prop_assert!(carried <= bytes.len());
            prop_assert!(out.windows(2).all(|two| two[0].id.packet() + 1 == two[1].id.packet()));
            prop_assert!(segment_bytes == 0 || out.iter().all(|segment| segment.len <= segment_bytes));
        }

        #[test]
        fn a_damaged_packet_gives_a_segment_or_is_counted(
            at in 0_usize..140, octet: u8, seq: u32, ack: u32
        ) {
            let mut bytes = packet(seq, ack, 100, Flags::ACK);
            bytes[at] = octet;
            let mut labels = Labels::new();
            labels.read(EndId::at(1), &packet(ack, 0, 0, Flags::SYN), recovering).unwrap();
            let read = labels.read(EndId::at(0), &bytes, recovering);
            prop_assert_eq!(u64::from(read.is_none()), labels.strange);
        }
    }
}
