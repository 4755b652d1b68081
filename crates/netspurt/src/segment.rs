//! A TCP segment in flight, used by simulated links, by the wire format and by records.

mod cause;

use core::num::NonZero;
use core::ops::Range;

use crate::ids::{EndId, FlowId, TransmissionId};
use crate::units::Time;

pub use cause::{Cause, CauseCode};

/// Octets of an IPv4 header without options. Simulated IPv4 datagrams have no options.
pub const IPV4_HEADER_BYTES: u16 = 20;

/// TCP's control bits (RFC 9293 §3.1, RFC 3168 §6.1), in wire order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push: the receiver delivers the data without waiting for more.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent pointer is significant. No sender in netspurt sets this flag.
    pub const URG: Flags = Flags(0x20);
    /// The receiver echoes a congestion mark.
    pub const ECE: Flags = Flags(0x40);
    /// The congestion window was reduced.
    pub const CWR: Flags = Flags(0x80);

    /// Whether every bit of the flags `other` is set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits that are set in these flags or in the flags `other`.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// The bits of these flags that are not set in the flags `other`.
    #[must_use]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

/// The ECN field of the IP header (RFC 3168 §5), by its value on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn(u8);

impl Ecn {
    /// The transport is not ECN-capable.
    pub const NOT_ECT: Ecn = Ecn(0);
    /// The transport is ECN-capable and uses the codepoint of RFC 9331's low-latency senders.
    pub const ECT1: Ecn = Ecn(1);
    /// The transport is ECN-capable.
    pub const ECT0: Ecn = Ecn(2);
    /// A queue marked the packet.
    pub const CE: Ecn = Ecn(3);

    /// The codepoint in the lower two bits of `octet`.
    pub const fn from_bits(octet: u8) -> Ecn {
        Ecn(octet & 3)
    }

    /// The two bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether a queue may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        self.0 != 0
    }
}

/// The part of a datagram that one IPv4 packet carries: the part's offset in the payload, and
/// whether more fragments follow. A `Part` has 16 bits, with the layout of the word in the IP
/// header that has the flags and the fragment offset (RFC 791 §3.1).
///
/// ```
/// use netspurt::segment::Part;
/// let middle = Part::new(256, true);
/// assert_eq!((middle.offset_bytes(), middle.more_follow(), middle.bits()), (256, true, 0x2020));
/// assert!(Part::WHOLE.is_whole() && !Part::new(256, false).is_whole());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part(u16);

impl Part {
    /// The whole datagram.
    pub const WHOLE: Part = Part(0);
    /// Offsets count units of this many octets.
    pub const UNIT_BYTES: u32 = 8;
    const MORE: u16 = 0x2000;
    const OFFSET: u16 = 0x1fff;

    /// The part that begins `offset_bytes` into the payload.
    ///
    /// # Panics
    /// When `offset_bytes` is not a multiple of eight, or has too many units for 13 bits.
    pub fn new(offset_bytes: u32, more_follow: bool) -> Part {
        let units = u16::try_from(offset_bytes / Self::UNIT_BYTES).unwrap_or(u16::MAX);
        let counted = offset_bytes.is_multiple_of(Self::UNIT_BYTES) && units <= Self::OFFSET;
        assert!(counted, "a fragment begins at a multiple of eight octets, below 65536");
        Part(units | if more_follow { Self::MORE } else { 0 })
    }

    /// The part that this word of the IP header describes. The flag "don't fragment" is ignored.
    pub const fn from_bits(bits: u16) -> Part {
        Part(bits & (Self::MORE | Self::OFFSET))
    }

    /// Whether the part is the whole datagram.
    pub const fn is_whole(self) -> bool {
        self.0 == 0
    }

    /// The offset of the part in the datagram's payload.
    pub const fn offset_bytes(self) -> u32 {
        (self.0 & Self::OFFSET) as u32 * Self::UNIT_BYTES
    }

    /// Whether another part of the datagram follows.
    pub const fn more_follow(self) -> bool {
        self.0 & Self::MORE != 0
    }

    /// The word of the IP header. The flag "don't fragment" is never set.
    pub const fn bits(self) -> u16 {
        self.0
    }
}

/// A SACK block: the octets from the octet `left` up to the octet `right`, which is not included,
/// have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: u32,
    /// The sequence number after the last sequence number of the block.
    pub right: u32,
}

/// The SACK blocks of one segment. At most four blocks fit, or three beside timestamps (RFC 2018
/// §3).
///
/// ```
/// use netspurt::segment::{SackBlock, SackBlocks};
/// let mut blocks = SackBlocks::default();
/// blocks.add(SackBlock { left: 1921, right: 2881 });
/// assert_eq!(blocks.as_slice().len(), 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; SackBlocks::MAX],
    count: u8,
}

impl SackBlocks {
    /// The maximum number of blocks that fit.
    pub const MAX: usize = 4;
    /// The maximum number of blocks that fit beside timestamps.
    pub const MAX_STAMPED: usize = 3;

    /// Appends a block.
    ///
    /// # Panics
    /// When the list is full.
    pub fn add(&mut self, block: SackBlock) {
        self.blocks[usize::from(self.count)] = block;
        self.count += 1;
    }

    /// Whether the list is full.
    pub const fn is_full(&self) -> bool {
        self.count as usize == Self::MAX
    }

    /// The blocks, in wire order.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// The timestamps of RFC 7323 §3.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The time of the sender's clock.
    pub val: u32,
    /// The time of the peer's clock, echoed to the peer.
    pub ecr: u32,
}

/// Options that only a SYN carries.
///
/// ```
/// use netspurt::segment::{Segment, SynOptions};
/// let offer = SynOptions { mss: Some(1460), window_scale: Some(7), sack: true };
/// let mut syn = Segment::default();
/// syn.set_syn_options(offer);
/// assert_eq!(syn.syn_options(), offer);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// The largest payload that the sender of the option accepts (RFC 9293 §3.7.1).
    pub mss: Option<u16>,
    /// The shift of the windows that the sender of the option will advertise (RFC 7323 §2.2).
    pub window_scale: Option<u8>,
    /// Whether the sender of the option accepts SACK blocks (RFC 2018 §2).
    pub sack: bool,
}

/// Which options a segment carries, and whether it is a TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present(u8);

impl Present {
    const TIMESTAMPS: u8 = 1;
    /// The segment is an echo request or reply, not TCP.
    const ECHO: u8 = 2;
    /// The segment is a packet of another protocol, or TCP that cannot be read.
    const OTHER: u8 = 4;
    /// These four bits hold the number of SACK blocks, or show which options of a SYN exist.
    const AREA: u8 = 0xf0;
    const AREA_SHIFT: u32 = 4;
    const OF_SYN: u8 = 0x80;
    const MSS: u8 = Self::OF_SYN | 0x10;
    const WINDOW_SCALE: u8 = Self::OF_SYN | 0x20;
    const SACK_PERMITTED: u8 = Self::OF_SYN | 0x40;

    const fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }

    const fn set(&mut self, bits: u8) {
        self.0 |= bits;
    }

    const fn sack_count(self) -> u8 {
        if self.0 & Self::OF_SYN == 0 { self.0 >> Self::AREA_SHIFT } else { 0 }
    }

    const fn set_sack_count(&mut self, count: u8) {
        self.0 = self.0 & !Self::AREA | count << Self::AREA_SHIFT;
    }
}

/// One transmission of a segment, in 64 bytes: one cache line.
///
/// Options that no segment carries together share memory. ns-2's [`stamp`](Self::stamp), timestamps
/// and the fourth SACK block share one field. A SYN's options and the first three SACK blocks share
/// other fields.
///
/// ```
/// use netspurt::segment::Segment;
/// use netspurt::ids::{FlowId, Side};
/// let dest = FlowId(3).end(Side::From);
/// let ack = Segment { dest, ack: 961, size_bytes: 40, ..Segment::default() };
/// assert_eq!((ack.flow(), ack.source()), (FlowId(3), FlowId(3).end(Side::To)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segment {
    /// The id of the transmission, unique in the run. A retransmission has an id of its own.
    pub id: TransmissionId,
    /// The destination end.
    pub dest: EndId,
    /// Sequence number of the first octet of payload, or of the SYN.
    pub seq: u32,
    /// The next sequence number expected from the peer.
    pub ack: u32,
    /// Octets of payload.
    pub len: u16,
    /// Octets of the whole IP datagram. A link computes from this size how long a transmission
    /// takes.
    pub size_bytes: u16,
    /// The advertised window as on the wire, before scaling.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// The cause of the retransmission. A first transmission has no cause.
    pub cause: CauseCode,
    /// SACK blocks or a SYN's options, and a stamp or timestamps: see [`sack`](Self::sack),
    /// [`syn_options`](Self::syn_options), [`stamp`](Self::stamp) and
    /// [`timestamps`](Self::timestamps).
    pub option_area: [SackBlock; SackBlocks::MAX],
    /// Which options the segment has.
    pub present: Present,
    /// The ECN codepoint of the IP header.
    pub ecn: Ecn,
    /// The part of the datagram that this packet carries. A fragment has its own size, but its
    /// other fields come from the whole segment.
    pub part: Part,
}

/// The rule that divides the octets of one end of a flow into packets.
///
/// ```
/// use netspurt::segment::Packetization;
/// let bulk = Packetization { full_bytes: 1000, message_bytes: None };
/// assert_eq!((bulk.packet_of(999), bulk.packet_of(1000), bulk.packets_in(2500)), (1, 2, 3));
/// let replies = Packetization { message_bytes: std::num::NonZero::new(2500), ..bulk };
/// assert_eq!((replies.packet_of(2499), replies.packet_of(2500), replies.packets_in(3500)), (3, 4, 4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packetization {
    /// Octets of payload in a full packet.
    pub full_bytes: u16,
    /// Octets of each message. The value is `None` without messages. Each message begins a new
    /// packet.
    pub message_bytes: Option<NonZero<u64>>,
}

impl Packetization {
    /// The number of the packet that contains `octet`. Packets count from 1, octets from 0.
    #[inline]
    pub fn packet_of(self, octet: u64) -> u64 {
        let (before, octet) = self.message_of(octet);
        before + octet / u64::from(self.full_bytes.max(1)) + 1
    }

    /// The number of packets that contain the first `octets` octets.
    #[inline]
    pub fn packets_in(self, octets: u64) -> u64 {
        let (before, octets) = self.message_of(octets);
        before + octets.div_ceil(self.full_bytes.max(1).into())
    }

    /// Returns the number of packets in all messages before the message that contains an octet, and
    /// the octet's position in this message.
    #[inline]
    fn message_of(self, octet: u64) -> (u64, u64) {
        let Some(length) = self.message_bytes else { return (0, octet) };
        let each = length.get().div_ceil(self.full_bytes.max(1).into());
        (octet / length * each, octet % length)
    }
}

const _: () = assert!(size_of::<Segment>() <= 64, "a segment is at most one cache line");
const _: () = assert!(
    size_of::<Option<Segment>>() > size_of::<Segment>(),
    "no field of a segment has invalid values, so a copy is fast"
);

impl Segment {
    /// The flow to which this segment belongs.
    pub const fn flow(&self) -> FlowId {
        self.dest.flow()
    }

    /// The end that sent the segment.
    pub const fn source(&self) -> EndId {
        self.dest.peer()
    }

    /// The length in the sequence space: payload, SYN and FIN (RFC 9293 §3.4).
    pub const fn seq_len(&self) -> u32 {
        self.len as u32 + self.flags.has(Flags::SYN) as u32 + self.flags.has(Flags::FIN) as u32
    }

    /// The segment's packet number in its flow, from 1. The result is `None` without payload. The
    /// function assumes that the first octet of data has the sequence number 1. For an echo, the
    /// number is the echo's sequence number.
    pub fn packet_number(&self, packetization: Packetization) -> Option<u64> {
        if self.is_echo() {
            return Some(self.seq.into());
        }
        (self.len > 0).then(|| packetization.packet_of(self.seq.wrapping_sub(1).into()))
    }

    /// Whether the segment is an echo request or reply instead of TCP. In an echo, `seq` counts
    /// requests, and `len` is the number of octets after the headers.
    pub const fn is_echo(&self) -> bool {
        self.present.has(Present::ECHO)
    }

    /// Turns the segment into an echo request or reply.
    pub const fn set_echo(&mut self) {
        self.present.set(Present::ECHO);
    }

    /// Whether the segment is a packet of another protocol, or TCP that cannot be read. In such a
    /// packet, the TCP fields have no meaning.
    pub const fn is_other(&self) -> bool {
        self.present.has(Present::OTHER)
    }

    /// Turns the segment into a packet of another protocol.
    pub const fn set_other(&mut self) {
        self.present.set(Present::OTHER);
    }

    /// The fragment that carries the octets `payload` of this packet, counted from the end of the
    /// packet's IP header (RFC 791 §3.2). The packet may be a fragment itself. The fragment has its
    /// own offset in the datagram, and its own size: payload plus IP header. All other fields are
    /// copied from this packet.
    ///
    /// # Panics
    /// When the fragment does not begin at a multiple of eight octets below 65,536, or exceeds
    /// 65,535 octets.
    #[must_use]
    pub fn fragment(self, payload: Range<u32>) -> Segment {
        let size = u32::from(IPV4_HEADER_BYTES) + (payload.end - payload.start);
        let last = payload.end + u32::from(IPV4_HEADER_BYTES) == u32::from(self.size_bytes);
        let more = self.part.more_follow() || !last;
        let part = Part::new(self.part.offset_bytes() + payload.start, more);
        Segment { size_bytes: octets(size), part, ..self }
    }

    /// The whole datagram of `size_bytes` octets to which this fragment belongs.
    ///
    /// # Panics
    /// When `size_bytes` exceeds the largest datagram.
    #[must_use]
    pub fn reassembled(self, size_bytes: u32) -> Segment {
        Segment { size_bytes: octets(size_bytes), part: Part::WHOLE, ..self }
    }

    /// ns-2's stamp: when the segment was sent or, in an ACK, the stamp that the ACK echoes. Every
    /// packet of ns-2 has a field for the time of sending and a field for the echoed stamp. These
    /// fields count in the packet's size only in segments with data, and only if `useHeaders_` and
    /// `timestamps_` are on.
    pub const fn stamp(&self) -> Time {
        let [.., SackBlock { left, right }] = self.option_area;
        Time::from_nanos((left as u64) << 32 | right as u64)
    }

    /// Sets ns-2's stamp.
    pub const fn set_stamp(&mut self, stamp: Time) {
        let bits = stamp.as_nanos();
        self.set_last((bits >> 32) as u32, bits as u32);
    }

    /// The timestamps option.
    pub const fn timestamps(&self) -> Option<Timestamps> {
        let [.., SackBlock { left, right }] = self.option_area;
        if self.present.has(Present::TIMESTAMPS) {
            Some(Timestamps { val: left, ecr: right })
        } else {
            None
        }
    }

    /// Writes the memory that stamps share with the fourth SACK block.
    const fn set_last(&mut self, left: u32, right: u32) {
        debug_assert!(
            self.sack_count() < SackBlocks::MAX as u8,
            "a stamp does not fit beside four SACK blocks"
        );
        self.option_area[SackBlocks::MAX - 1] = SackBlock { left, right };
    }

    /// Whether the segment has only the expected options: the timestamps option if `stamped` is
    /// true, and none if it is false.
    pub const fn is_bare(&self, stamped: bool) -> bool {
        self.present.0 == if stamped { Present::TIMESTAMPS } else { 0 }
    }

    /// Sets the timestamps option. The caller sets the segment's size.
    pub const fn set_timestamps(&mut self, stamps: Timestamps) {
        self.set_last(stamps.val, stamps.ecr);
        self.present.set(Present::TIMESTAMPS);
    }

    /// The SACK blocks, in wire order; none for a SYN.
    #[inline]
    pub fn sack(&self) -> &[SackBlock] {
        &self.option_area[..usize::from(self.sack_count())]
    }

    /// The number of SACK blocks.
    pub const fn sack_count(&self) -> u8 {
        self.present.sack_count()
    }

    /// Sets the SACK blocks. The caller sets the segment's size.
    ///
    /// # Panics
    /// When there are four blocks and the segment has timestamps.
    pub fn set_sack(&mut self, blocks: &SackBlocks) {
        let fourth = usize::from(blocks.count) > SackBlocks::MAX_STAMPED;
        assert!(
            !fourth || self.timestamps().is_none(),
            "a fourth SACK block does not fit beside timestamps"
        );
        let places = if fourth { SackBlocks::MAX } else { SackBlocks::MAX_STAMPED };
        self.option_area[..places].copy_from_slice(&blocks.blocks[..places]);
        self.present.set_sack_count(blocks.count);
    }

    /// The options of a SYN.
    pub fn syn_options(&self) -> SynOptions {
        let [SackBlock { left: mss, right: shift }, ..] = self.option_area;
        let has = |bits| self.present.has(bits);
        SynOptions {
            mss: has(Present::MSS).then_some(mss as u16),
            window_scale: has(Present::WINDOW_SCALE).then_some(shift as u8),
            sack: has(Present::SACK_PERMITTED),
        }
    }

    /// Sets the options of a SYN, which replace any SACK blocks. The caller sets the segment's
    /// size.
    pub fn set_syn_options(&mut self, options: SynOptions) {
        let left = options.mss.unwrap_or_default().into();
        let right = options.window_scale.unwrap_or_default().into();
        self.set_sack(&SackBlocks::default());
        self.option_area[0] = SackBlock { left, right };
        let mut mark = |has, bits| self.present.set(if has { bits } else { 0 });
        mark(options.mss.is_some(), Present::MSS);
        mark(options.window_scale.is_some(), Present::WINDOW_SCALE);
        mark(options.sack, Present::SACK_PERMITTED);
    }
}

fn octets(size: u32) -> u16 {
    u16::try_from(size).expect("a datagram's length fits 16 bits")
}
