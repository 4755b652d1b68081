//! A TCP segment in flight: what simulated links carry, what the wire encodes, what records show.

use crate::units::Time;

/// Why a segment went out again.
///
/// The same causes serve the model's own sender, the kernel's and a capture's, so that every
/// table and plot can put them side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// Third duplicate ACK (RFC 5681 §3.2), partial ACKs that follow it included (RFC 6582).
    Fast,
    /// A hole reported by SACK during recovery (RFC 6675).
    SackRecovery,
    /// Declared lost by time (RFC 8985).
    Rack,
    /// The retransmission timer fired (RFC 6298 §5.4).
    Rto,
    /// Tail loss probe (RFC 8985 §7).
    Tlp,
    /// Super Fast Retransmit (Tarr and Ghita 2005, §5).
    Sfr,
    /// Sent again in order after a timeout pulled snd_nxt back.
    GoBackN,
    /// A SYN or SYN-ACK sent again.
    Syn,
}

impl Cause {
    /// Every cause, in the order of their codes.
    pub const ALL: [Cause; 8] = [
        Cause::Fast,
        Cause::SackRecovery,
        Cause::Rack,
        Cause::Rto,
        Cause::Tlp,
        Cause::Sfr,
        Cause::GoBackN,
        Cause::Syn,
    ];

    /// The name tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Fast => "fast",
            Cause::SackRecovery => "sack-recovery",
            Cause::Rack => "rack",
            Cause::Rto => "rto",
            Cause::Tlp => "tlp",
            Cause::Sfr => "sfr",
            Cause::GoBackN => "go-back-n",
            Cause::Syn => "syn",
        }
    }
}

/// `Option<Cause>` in a byte of its own. Without the spare values that an `Option` hides its
/// `None` in, a segment is copied as four plain words of 16 bytes; with them the copies are
/// ragged and cost half the simulator's speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseCode(u8);

impl CauseCode {
    /// The cause, if there is one.
    pub fn get(self) -> Option<Cause> {
        Cause::ALL.get(usize::from(self.0).wrapping_sub(1)).copied()
    }

    /// 0 for no cause, else the cause's place in [`Cause::ALL`], from 1.
    pub const fn code(self) -> u8 {
        self.0
    }
}

impl From<Option<Cause>> for CauseCode {
    fn from(cause: Option<Cause>) -> Self {
        Self(cause.map_or(0, |cause| cause as u8 + 1))
    }
}

/// TCP's control bits (RFC 9293 §3.1), in wire order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// Push.
    pub const PSH: Flags = Flags(0x08);

    /// Whether every bit of `other` is set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of both.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// A SACK block: the octets from `left` up to, not including, `right` have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: u32,
    /// The sequence number after the last.
    pub right: u32,
}

/// The SACK blocks of one segment, three at most: what fits beside a time stamp (RFC 2018 §3).
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
    /// How many fit.
    pub const MAX: usize = 3;

    /// Adds a block behind the others.
    ///
    /// # Panics
    /// When there is no room.
    pub fn add(&mut self, block: SackBlock) {
        self.blocks[usize::from(self.count)] = block;
        self.count += 1;
    }

    /// Whether there is room for no more.
    pub const fn is_full(&self) -> bool {
        self.count as usize == Self::MAX
    }

    /// The blocks, in wire order.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// One transmission of a segment: 64 bytes, copied from hop to hop.
///
/// Endpoints are numbered so that flow *f* has 2*f* at the side that opened it and 2*f* + 1 at
/// the other.
///
/// ```
/// use netspurt::segment::Segment;
/// let ack = Segment { dest: 6, ack: 961, size_bytes: 40, ..Segment::default() };
/// assert_eq!((ack.flow(), ack.source()), (3, 7));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segment {
    /// Unique to this transmission in its run: two copies of one octet never share it.
    pub id: u64,
    /// When the segment was sent or, on an ACK, the stamp it echoes; nothing on the wire
    /// accounts for it (ns-2 carries both in every packet).
    pub stamp: Time,
    /// The endpoint it goes to.
    pub dest: u32,
    /// Sequence number of the first octet of payload.
    pub seq: u32,
    /// The next sequence number expected from the other side.
    pub ack: u32,
    /// Octets of payload.
    pub len: u16,
    /// Octets of the whole IP datagram: what links charge for.
    pub size_bytes: u16,
    /// The advertised window as the wire has it, before scaling.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Why it went out again; none on the first transmission.
    pub cause: CauseCode,
    /// The SACK blocks it carries.
    pub sack: SackBlocks,
}

const _: () = assert!(size_of::<Segment>() <= 64, "a segment is at most one cache line");

impl Segment {
    /// The flow this segment belongs to.
    pub const fn flow(&self) -> u32 {
        self.dest >> 1
    }

    /// The endpoint that sent it.
    pub const fn source(&self) -> u32 {
        self.dest ^ 1
    }

    /// The segment's number in its flow, from 1, where the flow sends equal segments; `None`
    /// without payload.
    pub fn packet_number(&self) -> Option<u64> {
        let len = u64::from(self.len);
        (len > 0).then(|| u64::from(self.seq.wrapping_sub(1)) / len + 1)
    }
}
