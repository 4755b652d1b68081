//! Captured TCP segments of the most common layout.

use crate::observe::{EndPair, Observed};
use crate::segment::{Flags, SackBlock, SynOptions, Timestamps};

use super::captured_tcp::{CapturedTcp, SynStyle};
use super::head::{IpHead, TcpHead, V4};
use super::options::{TIMESTAMPS_BYTES, timestamps_alone};
use super::{CapturedIp, TCP};

/// The number of octets of a TCP header whose only option is timestamps.
const STAMPED_BYTES: usize = TcpHead::BYTES + TIMESTAMPS_BYTES as usize;

/// A captured segment in the middle of a connection. It has an acknowledgment, does not open or
/// close the connection, and has no options other than timestamps. Its headers were captured in
/// full.
///
/// Nearly all segments are plain. A plain segment takes a fraction of the memory of a
/// [`TcpView`](super::TcpView). Code for plain segments alone needs fewer branches.
///
/// ```
/// use netspurt::observe::Observed;
/// use netspurt::segment::{Flags, Segment};
/// use netspurt::wire::{CapturedIp, Packet, PlainSegment, encode};
/// let segment = Segment { seq: 7, len: 3, flags: Flags::ACK, ..Segment::default() };
/// let [source, destination] = ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
/// let mut bytes = Vec::new();
/// encode(&Packet { source, destination, ip_id: 1, segment, payload: Some(b"abc") }, &mut bytes);
/// let ip = CapturedIp { bytes: &bytes, original_bytes: 43 };
/// let (_, plain) = PlainSegment::of(ip).unwrap();
/// assert_eq!((plain.seq(), plain.len()), (7, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainSegment {
    seq: u32,
    ack: u32,
    /// The timestamps of the segment. They are zero if it has no timestamps option.
    timestamps: Timestamps,
    payload_bytes: u16,
    captured_bytes: u16,
    window: u16,
    /// The identification of IPv4, or the lower part of the flow label of IPv6.
    mark: u16,
    /// The upper part of the flow label of IPv6.
    mark_high: u8,
    /// The number of octets of all headers.
    header_bytes: u8,
    flags: Flags,
    layout: PlainLayout,
}

/// Which headers a plain segment has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum PlainLayout {
    Four,
    FourStamped,
    Six,
    SixStamped,
}

impl PlainLayout {
    /// All layouts, in the order of their numbers.
    const ALL: [Self; 4] = [Self::Four, Self::FourStamped, Self::Six, Self::SixStamped];
}

impl PlainSegment {
    /// The control bits that plain segments may have. ACK must be set.
    const FLAGS: Flags = Flags::ACK.with(Flags::PSH).with(Flags::ECE).with(Flags::CWR);

    /// The segment in the packet `ip` with its two ends. `None` if the segment is not plain, or if
    /// a header is malformed. [`TcpView::of`](super::TcpView::of) reads any segment.
    #[inline]
    pub fn of(ip: CapturedIp<'_>) -> Option<(EndPair, Self)> {
        let head = IpHead::of(ip.bytes)?;
        let (TCP, at) = head.payload() else { return None };
        let end = head.total_bytes();
        let there = &ip.bytes[..end.min(ip.bytes.len())];
        let tcp = there.get(at..)?;
        let fields = TcpHead::of(tcp)?;
        let flags = fields.flags();
        if !flags.has(Flags::ACK) || flags.without(Self::FLAGS) != Flags(0) {
            return None;
        }
        let payload_at = at + fields.own_bytes();
        let (stamped, timestamps) = match fields.own_bytes() {
            STAMPED_BYTES => (true, timestamps_alone(tcp.get(TcpHead::BYTES..STAMPED_BYTES)?)?),
            TcpHead::BYTES => (false, Timestamps::default()),
            _ => return None,
        };
        if at < V4 || payload_at > end || !head.part().is_whole() {
            return None;
        }
        let six = matches!(head, IpHead::V6(_));
        let ends = EndPair::new(head.numbers(), fields.port_pair(), six);
        let mark = if six { head.flow_label() } else { head.id().into() };
        let segment = Self {
            seq: fields.seq(),
            ack: fields.ack(),
            timestamps,
            // An IPv6 packet may have more than 65535 octets, but its segment's payload has fewer.
            payload_bytes: (end - payload_at) as u16,
            captured_bytes: (there.len() - payload_at) as u16,
            window: fields.window(),
            mark: mark as u16,
            mark_high: (mark >> 16) as u8,
            header_bytes: payload_at as u8,
            flags,
            layout: match (six, stamped) {
                (false, false) => PlainLayout::Four,
                (false, true) => PlainLayout::FourStamped,
                (true, false) => PlainLayout::Six,
                (true, true) => PlainLayout::SixStamped,
            },
        };
        Some((ends, segment))
    }

    /// Returns all fields as four words. The upper half of the first word is zero.
    #[inline]
    pub fn to_words(self) -> [u64; 4] {
        let Timestamps { val, ecr } = self.timestamps;
        [
            self.seq.into(),
            u64::from(self.ack) << 32 | u64::from(ecr),
            u64::from(val) << 32 | u64::from(self.mark) << 16 | u64::from(self.payload_bytes),
            u64::from(self.captured_bytes) << 48
                | u64::from(self.window) << 32
                | u64::from(self.mark_high) << 24
                | u64::from(self.header_bytes) << 16
                | u64::from(self.flags.0) << 8
                | self.layout as u64,
        ]
    }

    /// Returns the segment from the words that [`to_words`](Self::to_words) made of it. The upper
    /// half of the first word does not matter.
    #[inline]
    pub fn of_words([first, second, third, fourth]: [u64; 4]) -> Self {
        let [_, _, _, _, mark_high, header_bytes, flags, layout] = fourth.to_be_bytes();
        Self {
            seq: first as u32,
            ack: (second >> 32) as u32,
            timestamps: Timestamps { val: (third >> 32) as u32, ecr: second as u32 },
            payload_bytes: third as u16,
            captured_bytes: (fourth >> 48) as u16,
            window: (fourth >> 32) as u16,
            mark: (third >> 16) as u16,
            mark_high,
            header_bytes,
            flags: Flags(flags),
            layout: PlainLayout::ALL[usize::from(layout) % PlainLayout::ALL.len()],
        }
    }

    /// Compares two segments. `first` and `own` are their words, made by
    /// [`to_words`](Self::to_words). In a *series*, each segment carries the octets that follow the
    /// octets of the previous segment. Apart from the sequence number, only two fields may differ
    /// in a series: the timestamp value (TSval), and the identification or the lower part of the
    /// flow label.
    ///
    /// Returns a number if the segment `own` can come `many` places after the segment `first` in a
    /// series. The upper half of the number is how far the TSval moved from the segment `first` to
    /// the segment `own`. The lower half is the identification of the segment `own`, or the lower
    /// part of its flow label. Returns `None` if the segment `own` cannot come at this place, or if
    /// the TSval moved by more than 65535.
    #[inline]
    pub fn continuation(first: [u64; 4], many: u32, own: [u64; 4]) -> Option<u32> {
        let payload_bytes = own[2] as u16;
        let seq = (first[0] as u32).wrapping_add(many.wrapping_mul(payload_bytes.into()));
        let ticks = ((own[2] >> 32) as u32).wrapping_sub((first[2] >> 32) as u32);
        let alike = own[0] as u32 == seq
            && own[1] == first[1]
            && own[3] == first[3]
            && payload_bytes == first[2] as u16
            && payload_bytes > 0
            && ticks <= u16::MAX.into();
        alike.then_some(ticks << 16 | (own[2] >> 16) as u32 & 0xffff)
    }

    /// The segment that comes `many` places after this segment in a series. The method
    /// [`continuation`](Self::continuation) gives the number `continuation`, which says how the two
    /// segments differ.
    #[inline]
    pub fn continued(&self, many: u32, continuation: u32) -> Self {
        let Timestamps { val, ecr } = self.timestamps;
        let val = val.wrapping_add(continuation >> 16);
        Self {
            seq: self.seq.wrapping_add(many.wrapping_mul(self.payload_bytes.into())),
            timestamps: Timestamps { val, ecr },
            mark: continuation as u16,
            ..*self
        }
    }

    #[inline]
    fn is_six(&self) -> bool {
        matches!(self.layout, PlainLayout::Six | PlainLayout::SixStamped)
    }
}

impl Observed for PlainSegment {
    #[inline]
    fn seq(&self) -> u32 {
        self.seq
    }

    #[inline]
    fn ack(&self) -> u32 {
        self.ack
    }

    #[inline]
    fn len(&self) -> u32 {
        self.payload_bytes.into()
    }

    #[inline]
    fn flags(&self) -> Flags {
        // The constants show the compiler that ACK is set, and that SYN, FIN, RST and URG are not.
        // It therefore omits the tests of these bits.
        Flags(self.flags.0 & Self::FLAGS.0).with(Flags::ACK)
    }

    #[inline]
    fn window(&self) -> u16 {
        self.window
    }

    #[inline]
    fn size_bytes(&self) -> u32 {
        u32::from(self.header_bytes) + u32::from(self.payload_bytes)
    }

    #[inline]
    fn sack(&self) -> &[SackBlock] {
        &[]
    }
}

impl CapturedTcp for PlainSegment {
    #[inline]
    fn ip_id(&self) -> u16 {
        if self.is_six() { 0 } else { self.mark }
    }

    #[inline]
    fn flow_label(&self) -> u32 {
        if self.is_six() { u32::from(self.mark_high) << 16 | u32::from(self.mark) } else { 0 }
    }

    #[inline]
    fn captured_bytes(&self) -> u32 {
        self.captured_bytes.into()
    }

    #[inline]
    fn advertised(&self) -> Option<u16> {
        Some(self.window)
    }

    #[inline]
    fn urgent(&self) -> u16 {
        0
    }

    #[inline]
    fn timestamps(&self) -> Option<Timestamps> {
        let stamped = matches!(self.layout, PlainLayout::FourStamped | PlainLayout::SixStamped);
        stamped.then_some(self.timestamps)
    }

    #[inline]
    fn syn_options(&self) -> SynOptions {
        SynOptions::default()
    }

    #[inline]
    fn syn_style(&self) -> SynStyle {
        SynStyle::default()
    }

    #[inline]
    fn options_whole(&self) -> bool {
        true
    }

    #[inline]
    fn option_bytes(&self) -> u8 {
        if self.timestamps().is_some() { 12 } else { 0 }
    }
}
