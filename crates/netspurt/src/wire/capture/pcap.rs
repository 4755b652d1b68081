//! Reads the records of pcap files (draft-ietf-opsawg-pcap), including the files of Kuznetzov's
//! patched libpcap.

use crate::wire::LinkType;

use super::fault::CaptureTrouble;
use super::number::ByteOrder;

/// The layout of a pcap file.
#[derive(Clone, Copy, Debug)]
pub(super) struct PcapLayout {
    order: ByteOrder,
    link: LinkType,
    /// The unit of a timestamp's fraction of a second, in nanoseconds.
    unit_ns: u64,
    /// The number of octets of a record before its packet.
    pub(super) record_bytes: usize,
    lengths: PcapLengths,
}

/// The order of a packet's two lengths in its record.
#[derive(Clone, Copy, Debug)]
enum PcapLengths {
    CapturedFirst,
    /// Versions 2.0 to 2.2, and version 543, which DG/UX wrote.
    OriginalFirst,
    /// Version 2.3: some programs wrote the captured length first, and other programs wrote the
    /// original length first. The captured length is the smaller number.
    SmallerIsCaptured,
}

/// The fields of a record's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct PcapRecord {
    /// Nanoseconds since 1970.
    pub(super) unix_ns: i64,
    pub(super) captured_bytes: u32,
    pub(super) original_bytes: u32,
}

/// The number of octets of a file's header.
pub(super) const HEADER_BYTES: usize = 24;

/// The properties of a file that begins with `magic`: the byte order, the timestamp units per
/// second, and whether records have the longer header of the patched libpcap. `None` if the file
/// is not pcap.
pub(super) fn magic(magic: [u8; 4]) -> Option<(ByteOrder, u64, bool)> {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        match order.word(&magic, 0) {
            0xa1b2_c3d4 => return Some((order, 1_000_000, false)),
            0xa1b2_3c4d => return Some((order, 1_000_000_000, false)),
            // Files of Alexey Kuznetzov's patched libpcap. Their records also have an interface
            // and a protocol.
            0xa1b2_cd34 => return Some((order, 1_000_000, true)),
            _ => {}
        }
    }
    None
}

impl PcapLayout {
    /// The layout of a file with this `header`.
    ///
    /// # Errors
    /// When the version is not known.
    ///
    /// # Panics
    /// When the header does not belong to a pcap file.
    pub(super) fn of(header: &[u8; HEADER_BYTES]) -> Result<Self, CaptureTrouble> {
        let first = *header.first_chunk().expect("a header has more than 4 octets");
        let (order, rate, longer) =
            magic(first).expect("the caller recognised the magic number of pcap");
        let lengths = match (order.half(header, 4), order.half(header, 6)) {
            (2, ..=2) | (543, _) => PcapLengths::OriginalFirst,
            (2, 3) => PcapLengths::SmallerIsCaptured,
            (2, 4) => PcapLengths::CapturedFirst,
            (major, minor) => {
                return Err(CaptureTrouble::Version { format: "pcap", major, minor });
            }
        };
        // The upper half of the field may have the length of the link's checksum, which then
        // follows each packet.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the link type is the lower half of the field"
        )]
        let link = LinkType(order.word(header, 20) as u16);
        let (unit_ns, record_bytes) = (1_000_000_000 / rate, if longer { 24 } else { 16 });
        Ok(Self { order, link, unit_ns, record_bytes, lengths })
    }

    pub(super) fn link(&self) -> LinkType {
        self.link
    }

    /// The record that begins with `octets`.
    ///
    /// # Panics
    /// When there are fewer than 16 octets.
    #[inline]
    pub(super) fn record(&self, octets: &[u8]) -> PcapRecord {
        let head: &[u8; 16] = octets.first_chunk().expect("the caller checked the length");
        let [seconds, below, third, fourth] = self.order.words(head);
        let (captured_bytes, original_bytes) = match self.lengths {
            PcapLengths::CapturedFirst => (third, fourth),
            PcapLengths::OriginalFirst => (fourth, third),
            PcapLengths::SmallerIsCaptured => (third.min(fourth), third.max(fourth)),
        };
        // The sum is at most about 4.3 · 10¹⁸, so it fits into an `i64`.
        let unix_ns = u64::from(seconds) * 1_000_000_000 + u64::from(below) * self.unit_ns;
        PcapRecord { unix_ns: unix_ns.cast_signed(), captured_bytes, original_bytes }
    }
}
