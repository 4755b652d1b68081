//! A captured TCP segment of any layout, with the fields of its headers that netspurt uses.

use std::net::SocketAddr;

use crate::observe::Observed;
use crate::segment::{Ecn, Flags, SackBlock, SynOptions, Timestamps};

use super::captured_tcp::{CapturedTcp, SynStyle};
use super::decode::{DecodeError, Fault, fault, locate_tcp};
use super::head::TcpHead;
use super::options::{KnownOption, OptionReader, block_of, timestamps_alone};

/// The options of a captured segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapturedOptions {
    /// The options of a SYN.
    pub syn: SynOptions,
    /// The order of the options of a SYN, as in [`SynStyle::order`].
    pub syn_order: u16,
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks. Only the first [`sack_count`](Self::sack_count) blocks are valid. A header has
    /// room for four blocks (RFC 2018 §3).
    pub blocks: [SackBlock; CapturedOptions::MAX_BLOCKS],
    /// The number of valid SACK blocks.
    pub sack_count: u8,
    /// Whether the options were captured in full and are well-formed.
    pub whole: bool,
    /// The number of octets of all options, captured or not.
    pub bytes: u8,
}

impl CapturedOptions {
    /// The maximum number of SACK blocks in a header.
    pub const MAX_BLOCKS: usize = 4;

    /// Reads options. `syn` shows whether they belong to a SYN, and `missing` is the number of
    /// their octets that were not captured.
    #[inline]
    fn read(octets: &[u8], syn: bool, missing: usize) -> Self {
        let timestamps = timestamps_alone(octets);
        let bytes = (octets.len() + missing) as u8;
        if timestamps.is_some() || octets.is_empty() {
            return Self { timestamps, whole: missing == 0, bytes, ..Self::default() };
        }
        Self { bytes, ..Self::read_each(octets, syn, missing) }
    }

    /// Reads options of any layout.
    #[inline(never)]
    fn read_each(octets: &[u8], syn: bool, missing: usize) -> Self {
        let mut this = Self { whole: missing == 0, ..Self::default() };
        let mut options = OptionReader::new(octets);
        for option in &mut options {
            if let (true, Some(number)) = (syn, option.number_in_syns()) {
                this.syn_order = this.syn_order << 4 | number;
            }
            match option {
                KnownOption::Timestamps(stamps) => this.timestamps = Some(stamps),
                KnownOption::Mss(mss) if syn => this.syn.mss = Some(mss),
                KnownOption::WindowScale(shift) if syn => this.syn.window_scale = Some(shift),
                KnownOption::SackPermitted if syn => this.syn.sack = true,
                KnownOption::Sack(edges) if !syn => this.take_blocks(edges),
                _ => {}
            }
        }
        this.whole &= options.malformed().is_none();
        this
    }

    fn take_blocks(&mut self, edges: &[[u8; 8]]) {
        for (room, edges) in self.blocks.iter_mut().zip(edges) {
            *room = block_of(*edges);
        }
        self.sack_count = edges.len().min(Self::MAX_BLOCKS) as u8;
    }
}

/// A captured TCP segment.
///
/// ```
/// use netspurt::observe::Observed;
/// use netspurt::segment::{Flags, Segment};
/// use netspurt::wire::{Packet, TcpView, encode};
/// let segment = Segment { seq: 7, len: 3, flags: Flags::ACK, ..Segment::default() };
/// let [source, destination] = ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
/// let mut bytes = Vec::new();
/// let packet = Packet { source, destination, ip_id: 1, segment, payload: Some(b"abc") };
/// encode(&packet, &mut bytes);
/// let view = TcpView::of(&bytes, bytes.len()).unwrap();
/// assert_eq!((view.seq, view.len(), view.ends[0]), (7, 3, source));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpView {
    /// The source and the destination of the segment.
    pub ends: [SocketAddr; 2],
    /// The identification of IPv4. It is 0 for IPv6.
    pub ip_id: u16,
    /// The ECN codepoint.
    pub ecn: Ecn,
    /// The time to live of IPv4, or the hop limit of IPv6.
    pub hop_limit: u8,
    /// The flow label of IPv6. It is 0 for IPv4.
    pub flow_label: u32,
    /// The number of octets of the whole IP datagram.
    pub size_bytes: u32,
    /// Sequence number of the first octet of payload, or of the SYN.
    pub seq: u32,
    /// The next sequence number expected from the peer.
    pub ack: u32,
    /// The number of octets of payload, captured or not.
    pub payload_bytes: u32,
    /// The number of octets of payload that were captured.
    pub captured_bytes: u32,
    /// The number of captured octets of the TCP header with options. It is at least 14. Fields that
    /// were not captured are zero.
    pub header_bytes: u8,
    /// The advertised window, before scaling.
    pub window: u16,
    /// The urgent pointer, which is valid if [`Flags::URG`] is set.
    pub urgent: u16,
    /// Control bits.
    pub flags: Flags,
    /// The options of the header.
    pub options: CapturedOptions,
}

impl TcpView {
    /// The segment in the IP packet `ip`, which had `original_bytes` octets on the link. Fewer
    /// octets may have been captured. Checksums are not checked, because a network card may have
    /// filled them in later. The TCP header may be cut after its flags.
    ///
    /// # Errors
    /// There are three kinds of errors: the packet is not TCP or is a fragment; a header
    /// contradicts itself or cannot be read; the packet is cut before the end of TCP's flags.
    #[inline(always)]
    pub fn of(ip: &[u8], original_bytes: usize) -> Result<Self, DecodeError> {
        let located = locate_tcp(ip, original_bytes)?;
        let (at, end) = located.tcp;
        let there = &ip[..end.min(ip.len())];
        let tcp = there.get(at..).unwrap_or_default();
        let filled;
        let head = match TcpHead::of(tcp) {
            Some(head) => head,
            None => {
                filled = TcpHead::filled(tcp).ok_or(fault(ip.len(), Fault::Truncated))?;
                TcpHead::of(&filled).expect("the missing fields were filled with zeros")
            }
        };
        let payload_at = at + head.own_bytes();
        if payload_at < at + TcpHead::BYTES || payload_at > end {
            return Err(fault(at + 12, Fault::HeaderLength));
        }
        let options_at = at + TcpHead::BYTES;
        let options_end = payload_at.min(there.len());
        let options = there.get(options_at..options_end).unwrap_or_default();
        let missing = payload_at - options_at - options.len();
        let flags = head.flags();
        let syn = flags.has(Flags::SYN);
        let [source, destination] = head.ports();
        Ok(Self {
            ends: [
                SocketAddr::new(located.addresses[0], source),
                SocketAddr::new(located.addresses[1], destination),
            ],
            ip_id: located.id,
            ecn: located.ecn,
            hop_limit: located.hop_limit,
            flow_label: located.flow_label,
            size_bytes: end as u32,
            seq: head.seq(),
            ack: head.ack(),
            payload_bytes: (end - payload_at) as u32,
            captured_bytes: there.len().saturating_sub(payload_at) as u32,
            header_bytes: (options_end - at) as u8,
            window: head.window(),
            urgent: head.urgent(),
            flags,
            options: CapturedOptions::read(options, syn, missing),
        })
    }

    /// Whether octets of the header are missing. If no payload was captured, malformed options also
    /// count as missing octets.
    #[inline]
    pub fn header_is_cut(&self) -> bool {
        self.captured_bytes == 0
            && (usize::from(self.header_bytes) < TcpHead::BYTES || !self.options.whole)
    }
}

impl Observed for TcpView {
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
        self.payload_bytes
    }

    #[inline]
    fn flags(&self) -> Flags {
        self.flags
    }

    #[inline]
    fn window(&self) -> u16 {
        self.window
    }

    #[inline]
    fn size_bytes(&self) -> u32 {
        self.size_bytes
    }

    #[inline]
    fn sack(&self) -> &[SackBlock] {
        &self.options.blocks[..usize::from(self.options.sack_count)]
    }
}

impl CapturedTcp for TcpView {
    #[inline]
    fn ip_id(&self) -> u16 {
        self.ip_id
    }

    #[inline]
    fn flow_label(&self) -> u32 {
        self.flow_label
    }

    #[inline]
    fn captured_bytes(&self) -> u32 {
        self.captured_bytes
    }

    #[inline]
    fn advertised(&self) -> Option<u16> {
        (usize::from(self.header_bytes) >= TcpHead::WINDOW_END).then_some(self.window)
    }

    #[inline]
    fn urgent(&self) -> u16 {
        self.urgent
    }

    #[inline]
    fn timestamps(&self) -> Option<Timestamps> {
        self.options.timestamps
    }

    #[inline]
    fn syn_options(&self) -> SynOptions {
        self.options.syn
    }

    #[inline]
    fn syn_style(&self) -> SynStyle {
        SynStyle {
            order: self.options.syn_order,
            options_bytes: self.options.bytes,
            hop_limit: self.hop_limit,
        }
    }

    #[inline]
    fn options_whole(&self) -> bool {
        self.options.whole
    }

    #[inline]
    fn option_bytes(&self) -> u8 {
        self.options.bytes
    }
}
