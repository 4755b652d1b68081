//! Real packets become the segments that links and tables know.
//!
//! Sequence numbers count from the connection's initial ones, as everywhere in the laboratory.
//! A resend's cause is what the kernel says of its own state when the resend is seen.

use netspurt::segment::{Cause, Ecn, Flags, IPV4_HEADER_BYTES, SackBlock, SackBlocks, Segment};
use netspurt::seq;
use netspurt::wire::{Checks, Decoded, decode};

use crate::content;
use crate::kernel::TcpInfo;
use crate::offload::{Shape, header_bytes};

/// What was seen of one end's packets.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    isn: Option<u32>,
    /// How many.
    count: u64,
    /// The octet after the highest sent.
    highest: u64,
    /// Timeouts that resends were put down to.
    timeouts: u32,
}

/// Labels packets.
#[derive(Debug)]
pub struct Labels {
    ends: Vec<End>,
    /// Packets that are no TCP segments of their flow.
    pub strange: u64,
    /// Segments that carry what nobody wrote there.
    pub damaged: u64,
    /// The first end whose octets are its programs' own.
    foreign: u32,
}

/// Bits of a packet's id that number its copies, of which a shim sends some.
pub(crate) const COPY_BITS: u32 = 8;

/// Bits of a packet's id below its end's number.
const ID_BITS: u32 = 40;

/// The end that sent the packet with this id.
pub fn end_of(id: u64) -> u32 {
    u32::try_from(id >> ID_BITS).unwrap_or(u32::MAX)
}

/// How many packets it had sent before.
pub const fn count_of(id: u64) -> u64 {
    (id & ((1 << ID_BITS) - 1)) >> COPY_BITS
}

impl Labels {
    /// For ends numbered below `ends`.
    pub fn new(ends: usize) -> Self {
        Self { ends: vec![End::default(); ends], strange: 0, damaged: 0, foreign: u32::MAX }
    }

    /// Leaves alone what ends from the one numbered `first` on carry.
    #[must_use]
    pub fn foreign_from(mut self, first: u32) -> Self {
        self.foreign = first;
        self
    }

    /// A packet of another protocol that the end numbered `from` sent; `None`, counted, where it is
    /// none of IPv4.
    pub fn other(&mut self, from: u32, bytes: &[u8]) -> Option<Segment> {
        let size = bytes.get(2..4).map(|size| u16::from_be_bytes([size[0], size[1]]));
        let whole = size.filter(|size| usize::from(*size) == bytes.len() && bytes[0] >> 4 == 4);
        let Some(size_bytes) = whole.filter(|size| *size >= IPV4_HEADER_BYTES) else {
            self.strange += 1;
            return None;
        };
        let ecn = Ecn::from_bits(bytes[1]);
        let id = self.ends[from as usize].number(from);
        let mut segment = Segment { id, dest: from ^ 1, size_bytes, ecn, ..Segment::default() };
        segment.set_other();
        Some(segment)
    }

    /// The segment of a packet that the end numbered `from` sent; `None`, counted, where it is
    /// none. Of a resend `ask` tells what the kernel says of its connection.
    pub fn read(
        &mut self,
        from: u32,
        bytes: &[u8],
        ask: impl FnMut() -> Option<TcpInfo>,
    ) -> Option<Segment> {
        let mut out = Vec::with_capacity(1);
        self.read_all(from, (bytes, Shape::WHOLE), ask, &mut out);
        out.pop()
    }

    /// The same of a packet of some shape: all its segments, with consecutive ids, behind `out`.
    pub fn read_all(
        &mut self,
        from: u32,
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
        let peer_isn = self.ends[(from ^ 1) as usize].isn;
        let end = &mut self.ends[from as usize];
        let mut segment = decoded.segment;
        // Without a SYN, as of a reset, counting begins here.
        let begins =
            if segment.flags.has(Flags::SYN) { segment.seq } else { segment.seq.wrapping_sub(1) };
        let isn = *end.isn.get_or_insert(begins);
        segment.seq = segment.seq.wrapping_sub(isn);
        if let Some(isn) = peer_isn {
            relate(&mut segment, isn.wrapping_neg());
        }
        segment.dest = from ^ 1;
        let first = seq::from_wire(seq::SIMULATED_ISN, segment.seq, end.highest).saturating_sub(1);
        let written = content::octets(first, decoded.payload.len());
        self.damaged += u64::from(from < self.foreign && decoded.payload != written);
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

    /// The segment as the end numbered `to`, a real one, numbers octets.
    pub fn on_the_wire(&self, mut segment: Segment) -> Segment {
        if let Some(isn) = self.ends[segment.dest as usize].isn {
            relate(&mut segment, isn);
        }
        segment
    }
}

/// Whether every octet of a packet is there, and it can be cut where it is to be.
fn is_whole(read: &Decoded<'_>, bytes: &[u8], shape: Shape) -> bool {
    let all = read.payload.len() == usize::from(read.segment.len);
    let cut = shape.segment_bytes == 0
        || header_bytes(bytes).is_some_and(|headers| headers + read.payload.len() == bytes.len());
    all && cut && !shape.foreign
}

/// A segment's first `most` octets of payload as a segment, and the rest, if there is one, as
/// devices cut it: FIN and PSH are the last one's, CWR is the first one's.
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

/// Moves what a segment says of its peer's octets by `shift`.
fn relate(segment: &mut Segment, shift: u32) {
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

impl End {
    /// The id of the next packet of this end, the one numbered `from`.
    fn number(&mut self, from: u32) -> u64 {
        self.count += 1;
        u64::from(from) << ID_BITS | (self.count - 1) << COPY_BITS
    }

    /// Why a segment went out again, if it did.
    fn cause(
        &mut self,
        segment: &Segment,
        ask: &mut impl FnMut() -> Option<TcpInfo>,
    ) -> Option<Cause> {
        let left = seq::from_wire(seq::SIMULATED_ISN, segment.seq, self.highest);
        let again = segment.seq_len() > 0 && left < self.highest;
        self.highest = self.highest.max(left + u64::from(segment.seq_len()));
        if !again {
            return None;
        }
        if segment.flags.has(Flags::SYN) {
            return Some(Cause::Syn);
        }
        let Some(info) = ask() else { return Some(Cause::Rto) };
        if info.in_loss() {
            let fresh = info.timeouts > self.timeouts;
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

    fn packet(seq: u32, ack: u32, len: u16, flags: Flags) -> Vec<u8> {
        let segment = Segment { seq, ack, len, flags, ..Segment::default() };
        let (source, destination) =
            ("10.0.0.1:10000".parse().unwrap(), "10.0.0.2:5001".parse().unwrap());
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut bytes);
        bytes
    }

    fn recovering() -> Option<TcpInfo> {
        Some(TcpInfo { state: TcpInfo::RECOVERY, ..TcpInfo::default() })
    }

    #[test]
    fn octets_are_counted_from_the_initial_numbers_of_either_side() {
        let mut labels = Labels::new(2);
        let (mine, theirs) = (u32::MAX - 5, 77);
        labels.read(0, &packet(mine, 0, 0, Flags::SYN), recovering).unwrap();
        let answer = packet(theirs, mine.wrapping_add(1), 0, Flags::SYN.with(Flags::ACK));
        let answer = labels.read(1, &answer, recovering).unwrap();
        assert_eq!((answer.seq, answer.ack, answer.dest), (0, 1, 0));
        let data = packet(mine.wrapping_add(1), theirs + 1, 100, Flags::ACK);
        let data = labels.read(0, &data, recovering).unwrap();
        assert_eq!((data.seq, data.ack, data.len, data.cause.get()), (1, 1, 100, None));
        assert_eq!(labels.on_the_wire(answer).ack, mine.wrapping_add(1));
    }

    #[test]
    fn a_resend_has_the_cause_that_the_kernel_tells() {
        let mut labels = Labels::new(2);
        labels.read(0, &packet(9, 0, 0, Flags::SYN), || None).unwrap();
        let again = labels.read(0, &packet(9, 0, 0, Flags::SYN), || None).unwrap();
        assert_eq!(again.cause.get(), Some(Cause::Syn));
        let data = packet(10, 1, 100, Flags::ACK);
        assert_eq!(labels.read(0, &data, || None).unwrap().cause.get(), None);
        let mut of = |info: TcpInfo| labels.read(0, &data, || Some(info)).unwrap().cause.get();
        let loss = TcpInfo { state: TcpInfo::LOSS, timeouts: 1, ..TcpInfo::default() };
        assert_eq!(of(loss), Some(Cause::Rto));
        assert_eq!(of(loss), Some(Cause::GoBackN));
        let recovery = TcpInfo { state: TcpInfo::RECOVERY, ..TcpInfo::default() };
        assert_eq!(of(recovery), Some(Cause::Fast));
        assert_eq!(of(TcpInfo { sack: true, ..recovery }), Some(Cause::SackRecovery));
        assert_eq!(of(TcpInfo { sack: true, rack: true, ..recovery }), Some(Cause::Rack));
        assert_eq!(of(TcpInfo::default()), Some(Cause::Tlp));
    }

    proptest! {
        #[test]
        fn hostile_octets_are_counted_and_never_panic(bytes: Vec<u8>, from in 0_u32..2) {
            let mut labels = Labels::new(2);
            let read = labels.read(from, &bytes, recovering);
            prop_assert_eq!(u64::from(read.is_none()), labels.strange);
        }

        #[test]
        fn a_damaged_packet_of_any_shape_is_all_its_segments_or_counted(
            at in 0_usize..1040, octet: u8, end in 0_usize..1041, segment_bytes in 0_u16..600,
            partial: bool, foreign: bool
        ) {
            let mut bytes = packet(7, 9, 1000, Flags::ACK);
            bytes[at] = octet;
            bytes.truncate(end);
            let mut labels = Labels::new(2);
            let mut out = Vec::new();
            let shape = Shape { segment_bytes, partial, foreign };
            labels.read_all(0, (&bytes, shape), recovering, &mut out);
            prop_assert_eq!(u64::from(out.is_empty()), labels.strange);
            let carried: usize = out.iter().map(|segment| usize::from(segment.len)).sum();
            prop_assert!(carried <= bytes.len());
            prop_assert!(out.windows(2).all(|two| count_of(two[0].id) + 1 == count_of(two[1].id)));
            prop_assert!(segment_bytes == 0 || out.iter().all(|segment| segment.len <= segment_bytes));
        }

        #[test]
        fn a_damaged_packet_is_a_segment_or_counted(
            at in 0_usize..140, octet: u8, seq: u32, ack: u32
        ) {
            let mut bytes = packet(seq, ack, 100, Flags::ACK);
            bytes[at] = octet;
            let mut labels = Labels::new(2);
            labels.read(1, &packet(ack, 0, 0, Flags::SYN), recovering).unwrap();
            let read = labels.read(0, &bytes, recovering);
            prop_assert_eq!(u64::from(read.is_none()), labels.strange);
        }
    }
}
