//! Lays out and reads the options of a TCP header.

pub use crate::segment::IPV4_HEADER_BYTES;
use crate::segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};

/// The number of octets of an IPv6 header without extensions.
pub const IPV6_HEADER_BYTES: u16 = 40;
/// The number of octets of a TCP header without options.
pub const TCP_HEADER_BYTES: u16 = 20;
/// The number of octets of IPv4 and TCP headers without options.
pub const BARE_HEADER_BYTES: u16 = IPV4_HEADER_BYTES + TCP_HEADER_BYTES;

/// The number of octets of the timestamps option with its padding (RFC 7323 appendix A).
pub const TIMESTAMPS_BYTES: u16 = 12;

/// The number of octets of payload in a full segment to an end that announced `mss`. The number is
/// at least one. If the segments have timestamps, the size of the timestamps option is subtracted
/// (RFC 6691 §2).
pub const fn full_payload(mss: u16, timestamps: bool) -> u16 {
    let octets = mss.saturating_sub(if timestamps { TIMESTAMPS_BYTES } else { 0 });
    if octets > 0 { octets } else { 1 }
}

/// The maximum number of octets of options: a header has at most fifteen words (RFC 9293 §3.1).
pub(super) const ROOM: usize = 40;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The size of the options of `segment` with padding, as `encode` lays them out, in octets. It is a
/// multiple of four.
///
/// A SYN may have timestamps and the options of SYNs. Any other segment may have timestamps and
/// SACK blocks.
#[inline]
pub fn option_bytes(segment: &Segment) -> u16 {
    let stamps = if segment.timestamps().is_some() { TIMESTAMPS_BYTES } else { 0 };
    if !segment.flags.has(Flags::SYN) {
        let blocks = u16::from(segment.sack_count());
        return stamps + if blocks > 0 { 4 + 8 * blocks } else { 0 };
    }
    let SynOptions { mss, window_scale, sack } = segment.syn_options();
    // If the segment has timestamps, SACK-permitted replaces the padding before them.
    let words = u16::from(mss.is_some())
        + u16::from(window_scale.is_some())
        + u16::from(sack && stamps == 0);
    stamps + 4 * words
}

/// The size of the IPv4 and TCP headers of `segment` with options, in octets. The size of a segment
/// on a link is the sum of this size and the payload.
///
/// ```
/// use netspurt::segment::{Flags, Segment, SynOptions, Timestamps};
/// use netspurt::wire::header_bytes;
/// let mut syn = Segment { flags: Flags::SYN, ..Segment::default() };
/// assert_eq!(header_bytes(&syn), 40);
/// syn.set_syn_options(SynOptions { mss: Some(1460), window_scale: Some(7), sack: true });
/// syn.set_timestamps(Timestamps::default());
/// assert_eq!(header_bytes(&syn), 60);
/// ```
#[inline]
pub fn header_bytes(segment: &Segment) -> u16 {
    BARE_HEADER_BYTES + option_bytes(segment)
}

/// The options of a header while they are laid out.
pub(super) struct Layout {
    bytes: [u8; ROOM],
    length: usize,
}

impl Layout {
    /// The options of `segment` in Linux's order: MSS, SACK-permitted, timestamps, window scale,
    /// SACK blocks. No-operations before an option pad it to whole words. If there are timestamps,
    /// SACK-permitted takes the place of the two no-operations before them. RFC 7323 appendix A
    /// recommends the padding of the timestamps.
    pub(super) fn of(segment: &Segment) -> Self {
        let mut this = Self { bytes: [0; ROOM], length: 0 };
        let syn = segment.flags.has(Flags::SYN);
        let says = if syn { segment.syn_options() } else { SynOptions::default() };
        let blocks = if syn { &[] } else { segment.sack() };
        if let Some(mss) = says.mss {
            this.option(MSS, &mss.to_be_bytes());
        }
        let stamps = segment.timestamps();
        if says.sack {
            if stamps.is_none() {
                this.no_operations(2);
            }
            this.option(SACK_PERMITTED, &[]);
        }
        if let Some(Timestamps { val, ecr }) = stamps {
            if !says.sack {
                this.no_operations(2);
            }
            this.option(TIMESTAMPS, &(u64::from(val) << 32 | u64::from(ecr)).to_be_bytes());
        }
        if let Some(shift) = says.window_scale {
            this.no_operations(1);
            this.option(WINDOW_SCALE, &[shift]);
        }
        this.sack(blocks);
        this
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn sack(&mut self, blocks: &[SackBlock]) {
        let mut body = [0; 8 * SackBlocks::MAX];
        for (room, SackBlock { left, right }) in body.as_chunks_mut::<8>().0.iter_mut().zip(blocks)
        {
            *room = (u64::from(*left) << 32 | u64::from(*right)).to_be_bytes();
        }
        if !blocks.is_empty() {
            self.no_operations(2);
            self.option(SACK, &body[..8 * blocks.len()]);
        }
    }

    fn option(&mut self, kind: u8, body: &[u8]) {
        let length = u8::try_from(body.len() + 2).expect("options are short");
        self.put(&[kind, length]);
        self.put(body);
    }

    fn no_operations(&mut self, count: usize) {
        self.put(&[NO_OPERATION; 2][..count]);
    }

    fn put(&mut self, octets: &[u8]) {
        let end = self.length + octets.len();
        self.bytes[self.length..end].copy_from_slice(octets);
        self.length = end;
    }
}

/// The block whose edges have these octets on the wire (RFC 2018 §3).
pub(super) const fn block_of([a, b, c, d, e, f, g, h]: [u8; 8]) -> SackBlock {
    SackBlock { left: u32::from_be_bytes([a, b, c, d]), right: u32::from_be_bytes([e, f, g, h]) }
}

/// An option, with its content if this crate reads options of its kind.
pub(super) enum KnownOption<'a> {
    Timestamps(Timestamps),
    Mss(u16),
    WindowScale(u8),
    SackPermitted,
    /// The left and the right edge of each block.
    Sack(&'a [[u8; 8]]),
    /// An unknown option, or a known option of a wrong length.
    Other,
}

impl<'a> KnownOption<'a> {
    /// The kind of the option if it is the MSS, the window scale, SACK-permitted or timestamps,
    /// which SYNs carry. `None` for any other option.
    pub(super) fn number_in_syns(&self) -> Option<u16> {
        match self {
            Self::Timestamps(_) => Some(TIMESTAMPS.into()),
            Self::Mss(_) => Some(MSS.into()),
            Self::WindowScale(_) => Some(WINDOW_SCALE.into()),
            Self::SackPermitted => Some(SACK_PERMITTED.into()),
            Self::Sack(_) | Self::Other => None,
        }
    }

    #[inline]
    fn of(kind: u8, body: &'a [u8]) -> Self {
        match (kind, body) {
            (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => Self::Timestamps(Timestamps {
                val: u32::from_be_bytes([a, b, c, d]),
                ecr: u32::from_be_bytes([e, f, g, h]),
            }),
            (MSS, &[high, low]) => Self::Mss(u16::from_be_bytes([high, low])),
            (WINDOW_SCALE, &[shift]) => Self::WindowScale(shift),
            (SACK_PERMITTED, []) => Self::SackPermitted,
            (SACK, body) => match body.as_chunks::<8>() {
                (edges, []) if !edges.is_empty() => Self::Sack(edges),
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// The timestamps, if the options hold nothing else and have the layout that RFC 7323 appendix A
/// recommends. Most segments have this layout.
#[inline(always)]
pub(super) fn timestamps_alone(octets: &[u8]) -> Option<Timestamps> {
    let &[NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, a, b, c, d, e, f, g, h] = octets else {
        return None;
    };
    let (val, ecr) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
    Some(Timestamps { val, ecr })
}

/// The options in the octets of a header, one after the other.
///
/// The octets are divided into options by RFC 9293 §3.1. As in common stacks, an option whose
/// length is below two or exceeds the header ends the reading.
pub(super) struct OptionReader<'a> {
    octets: &'a [u8],
    at: usize,
    malformed: Option<usize>,
}

impl<'a> OptionReader<'a> {
    pub(super) const fn new(octets: &'a [u8]) -> Self {
        Self { octets, at: 0, malformed: None }
    }

    /// The offset of the malformed option that ended the reading.
    pub(super) const fn malformed(&self) -> Option<usize> {
        self.malformed
    }
}

impl<'a> Iterator for OptionReader<'a> {
    type Item = KnownOption<'a>;

    #[inline]
    fn next(&mut self) -> Option<KnownOption<'a>> {
        while self.octets.get(self.at) == Some(&NO_OPERATION) {
            self.at += 1;
        }
        let kind = *self.octets.get(self.at).filter(|kind| **kind != END)?;
        let length = self.octets.get(self.at + 1).map_or(0, |length| usize::from(*length));
        let Some(body) = self.octets.get(self.at + 2..self.at + length) else {
            self.malformed = Some(self.at);
            self.octets = &[];
            return None;
        };
        self.at += length;
        Some(KnownOption::of(kind, body))
    }
}

/// Reads the options in `bytes` into `segment`, whose flags are already set. Returns the offset of
/// the first malformed option.
///
/// Unknown options, known options of a wrong length, and options on the wrong segment are skipped.
/// A SYN's options are wrong on other segments, and SACK blocks are wrong on a SYN. If an option
/// occurs twice, the later option counts.
pub(super) fn read_options(bytes: &[u8], segment: &mut Segment) -> Option<usize> {
    let syn = segment.flags.has(Flags::SYN);
    let mut says = SynOptions::default();
    let mut options = OptionReader::new(bytes);
    for option in &mut options {
        match option {
            KnownOption::Timestamps(stamps) => segment.set_timestamps(stamps),
            KnownOption::Mss(mss) => says.mss = Some(mss),
            KnownOption::WindowScale(shift) => says.window_scale = Some(shift),
            KnownOption::SackPermitted => says.sack = true,
            KnownOption::Sack(edges) if !syn => {
                let mut blocks = SackBlocks::default();
                for edges in edges.iter().take(SackBlocks::MAX) {
                    blocks.add(block_of(*edges));
                }
                segment.set_sack(&blocks);
            }
            KnownOption::Sack(_) | KnownOption::Other => {}
        }
    }
    if syn {
        segment.set_syn_options(says);
    }
    options.malformed()
}
