//! Reads captures: the packets of pcap and pcapng files, one after the other.
//!
//! Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. The file is read as a stream, so
//! the reader keeps at most 2 MiB of the file in memory.

mod blocks;
mod buffer;
mod fault;
mod interface;
mod number;
mod pcap;

#[cfg(test)]
mod tests;

use std::io::Read;

use crate::unpack::{Packing, Unpacked};

use super::link_type::{LinkType, PacketDirection};
use blocks::{AROUND, SECTION_HEADER, Section};
use buffer::Buffer;
pub use fault::{CaptureFault, CaptureTrouble};
pub use interface::CaptureDrops;
use interface::MOST;
use pcap::{HEADER_BYTES, PcapLayout};

/// Whether a file that begins with `bytes` is a capture.
///
/// ```
/// assert!(netspurt::wire::is_capture(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0]));
/// ```
pub fn is_capture(bytes: &[u8]) -> bool {
    let begins = |magic: &[u8; 4]| *magic == SECTION_HEADER || pcap::magic(*magic).is_some();
    bytes.first_chunk().is_some_and(begins)
}

/// A packet as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// The time of the packet, in nanoseconds since 1970. A packet without a time of its own has
    /// the time of the previous packet. The time is 0 if no previous packet has a time.
    pub unix_ns: i64,
    /// Whether the packet has a time of its own. Simple packets of pcapng have no time. If a time
    /// does not fit into 64 bits, the packet also counts as a packet without a time.
    pub timed: bool,
    /// The link type of the packet's interface.
    pub link: LinkType,
    /// The number of the packet's interface in the section of a pcapng file, from 0. It is always 0
    /// in pcap.
    pub interface: u32,
    /// The number of octets of the packet on the link, captured or not. The number is at least the
    /// number of captured octets.
    pub original_bytes: u32,
    /// The captured octets, from the link's header on.
    pub bytes: &'a [u8],
}

/// A captured IP packet.
///
/// ```
/// use netspurt::wire::{CapturedIp, Datagrams};
/// let bytes: &[u8] = &[0x45, 0, 5, 220];
/// let ip = CapturedIp { bytes, original_bytes: 1500 };
/// assert_eq!(Datagrams::default().take(0, ip), Some(ip));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedIp<'a> {
    /// The captured octets, from the IP header on. Octets of the link, such as padding, may follow
    /// the packet.
    pub bytes: &'a [u8],
    /// The number of octets on the link from the IP header on, captured or not.
    pub original_bytes: u32,
}

impl<'a> CapturedPacket<'a> {
    /// The packet from its IP header on. `None` if the link's header is incomplete or names another
    /// protocol, or if the link type is not supported.
    #[inline]
    pub fn ip(&self) -> Option<&'a [u8]> {
        self.link.behind(self.bytes)
    }

    /// The direction of the packet, as the capturing host saw it. `None` if the capture does not
    /// show it.
    #[inline]
    pub fn direction(&self) -> Option<PacketDirection> {
        self.link.direction(self.bytes)
    }

    /// The packet from its IP header on, with its length on the link. `None` for the same reasons
    /// as in [`ip`](Self::ip).
    #[inline]
    pub fn captured_ip(&self) -> Option<CapturedIp<'a>> {
        let bytes = self.ip()?;
        let missing = self.original_bytes as usize - self.bytes.len();
        let original_bytes = u32::try_from(bytes.len() + missing).ok()?;
        Some(CapturedIp { bytes, original_bytes })
    }
}

/// The format of a capture.
#[derive(Debug)]
enum CaptureFormat {
    Pcap(PcapLayout),
    /// pcapng, with the current section. `None` before the first section.
    Pcapng(Option<Section>),
}

/// Where a capture is read from: a file, the standard input, or octets in memory.
pub type CaptureSource = Box<dyn Read + Send + Sync>;

/// Reads captures.
///
/// ```
/// use netspurt::wire::{CaptureReader, PcapngWriter};
/// let mut file = PcapngWriter::new(Vec::new(), "source", "netspurt").unwrap();
/// file.packet(7_000, &[0x45, 0, 0, 20], None).unwrap();
/// let bytes = file.finish().unwrap();
/// let mut reader = CaptureReader::new(&bytes[..]).unwrap();
/// let packet = reader.next_packet().unwrap().unwrap();
/// assert_eq!((packet.unix_ns, packet.ip()), (7_000, Some(&[0x45, 0, 0, 20][..])));
/// assert!(reader.next_packet().unwrap().is_none());
/// ```
#[derive(Debug)]
pub struct CaptureReader<R> {
    buffer: Buffer<R>,
    format: CaptureFormat,
    /// The number of packets read so far.
    packets: u64,
    /// The time of the last packet that had a time.
    last_ns: i64,
    /// The drops that the statistics of completed sections reported.
    drops: Option<CaptureDrops>,
    /// Whether the reading has ended, at the end of the file or at a fault.
    over: bool,
}

/// The next item of a capture.
enum CaptureItem {
    /// A packet, with the index of its octets in the buffer.
    Packet(FoundPacket),
    /// An item that is not a packet.
    Other,
    /// The end of the file.
    End,
}

/// A packet, with the index of its octets in the buffer.
struct FoundPacket {
    unix_ns: Option<i64>,
    link: LinkType,
    interface: u32,
    original_bytes: u32,
    place: usize,
    captured_bytes: usize,
}

type NextItem = Result<CaptureItem, CaptureTrouble>;

impl<R: Read> CaptureReader<Unpacked<R>> {
    /// Starts to read a capture that may be compressed with gzip or zstd.
    ///
    /// # Errors
    /// When `source` fails, or for the same reasons as [`new`](Self::new).
    pub fn unpacking(source: R) -> Result<Self, CaptureFault> {
        let contents = Unpacked::new(source);
        Self::new(contents.map_err(|error| CaptureFault {
            what: error.into(),
            offset: 0,
            packets: 0,
        })?)
    }
}

impl<R: Read> CaptureReader<R> {
    /// Starts to read a capture.
    ///
    /// # Errors
    /// When `source` fails or is not a capture, or when the header of a pcap file is cut short or
    /// has an unknown version.
    pub fn new(source: R) -> Result<Self, CaptureFault> {
        let mut buffer = Buffer::new(source);
        match Self::format(&mut buffer) {
            Ok(format) => {
                Ok(Self { buffer, format, packets: 0, last_ns: 0, drops: None, over: false })
            }
            Err(what) => Err(CaptureFault { what, offset: 0, packets: 0 }),
        }
    }

    /// Recognises the format by the first octets, and skips the header of a pcap file.
    fn format(buffer: &mut Buffer<R>) -> Result<CaptureFormat, CaptureTrouble> {
        let begins = buffer.fill(4)? && is_capture(buffer.unread());
        if !begins {
            let first = buffer.unread();
            let twice = Packing::of(first).map(|packing| packing.name());
            return Err(match Packing::unknown(first).or(twice) {
                Some(name) => CaptureTrouble::Packed(name),
                None if first.is_empty() => CaptureTrouble::Empty,
                None => CaptureTrouble::Unknown,
            });
        }
        if buffer.unread().starts_with(&SECTION_HEADER) {
            return Ok(CaptureFormat::Pcapng(None));
        }
        if !buffer.fill(HEADER_BYTES)? {
            return Err(CaptureTrouble::Cut("its header"));
        }
        let header = buffer.unread().first_chunk().expect("the buffer was filled");
        let layout = PcapLayout::of(header)?;
        buffer.pass(HEADER_BYTES);
        Ok(CaptureFormat::Pcap(layout))
    }

    /// The next packet. `None` at the end of the file.
    ///
    /// # Errors
    /// When the file cannot be read, ends within a packet or a block, or is malformed. After an
    /// error, no more packets are read.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<CapturedPacket<'_>>, CaptureFault> {
        match self.next_buffered() {
            Some(found) => Ok(Some(self.give(&found))),
            None => self.next_item(),
        }
    }

    /// Gives the next packets, at most `most` of them, to the function `take`. Returns whether
    /// there may be more packets.
    ///
    /// # Errors
    /// For the same reasons as [`next_packet`](Self::next_packet).
    #[inline]
    pub fn each_packet(
        &mut self,
        most: usize,
        mut take: impl FnMut(&CapturedPacket<'_>),
    ) -> Result<bool, CaptureFault> {
        for _ in 0..most {
            // A packet comes from one of two functions, and each has its own call of `take`. With
            // one common call, the packet would be written to memory and read again immediately,
            // and the processor would wait for the write.
            match self.next_buffered() {
                Some(found) => take(&self.give(&found)),
                None => match self.next_item()? {
                    Some(packet) => take(&packet),
                    None => return Ok(false),
                },
            }
        }
        Ok(true)
    }

    /// The next packet if the file is a pcap file and the packet is in memory as a whole. `None` in
    /// all other cases, and after the reading has ended.
    #[inline(always)]
    fn next_buffered(&mut self) -> Option<FoundPacket> {
        match &self.format {
            CaptureFormat::Pcap(layout) if !self.over => Self::buffered(&mut self.buffer, layout),
            _ => None,
        }
    }

    /// The next packet of a pcap file with this `layout`, if it is in memory as a whole.
    #[inline(always)]
    fn buffered(buffer: &mut Buffer<R>, layout: &PcapLayout) -> Option<FoundPacket> {
        let unread = buffer.unread();
        if unread.len() < layout.record_bytes {
            return None;
        }
        let record = layout.record(unread);
        let captured_bytes = record.captured_bytes as usize;
        let whole = layout.record_bytes + captured_bytes;
        if captured_bytes > MOST || unread.len() < whole {
            return None;
        }
        Some(FoundPacket {
            unix_ns: Some(record.unix_ns),
            link: layout.link(),
            interface: 0,
            original_bytes: record.original_bytes,
            place: buffer.pass(whole) + layout.record_bytes,
            captured_bytes,
        })
    }

    /// The next packet of any format. If its octets are not in memory, they are read first.
    #[inline(never)]
    fn next_item(&mut self) -> Result<Option<CapturedPacket<'_>>, CaptureFault> {
        while !self.over {
            let offset = self.buffer.offset();
            let item = match &self.format {
                CaptureFormat::Pcap(layout) => Self::record(&mut self.buffer, layout),
                CaptureFormat::Pcapng(_) => self.block(),
            };
            match item {
                Ok(CaptureItem::Packet(found)) => return Ok(Some(self.give(&found))),
                Ok(CaptureItem::Other) => {}
                Ok(CaptureItem::End) => self.over = true,
                Err(what) => {
                    self.over = true;
                    return Err(CaptureFault { what, offset, packets: self.packets });
                }
            }
        }
        Ok(None)
    }

    /// The number of packets read so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The number of octets read so far. For a compressed file, the octets of its contents count.
    pub fn octets(&self) -> u64 {
        self.buffer.offset()
    }

    /// How many packets the capture missed, according to the statistics read so far. `None` without
    /// statistics. pcap has no statistics, but pcapng usually has them at the end of a section.
    pub fn drops(&self) -> Option<CaptureDrops> {
        let section = match &self.format {
            CaptureFormat::Pcapng(Some(section)) => section.drops(),
            _ => None,
        };
        [self.drops, section].into_iter().flatten().reduce(CaptureDrops::and)
    }

    #[inline(always)]
    fn give(&mut self, found: &FoundPacket) -> CapturedPacket<'_> {
        self.packets += 1;
        if let Some(unix_ns) = found.unix_ns {
            self.last_ns = unix_ns;
        }
        let bytes = self.buffer.at(found.place, found.captured_bytes);
        #[expect(clippy::cast_possible_truncation, reason = "a packet has at most `MOST` octets")]
        let captured_bytes = found.captured_bytes as u32;
        CapturedPacket {
            unix_ns: self.last_ns,
            timed: found.unix_ns.is_some(),
            link: found.link,
            interface: found.interface,
            original_bytes: found.original_bytes.max(captured_bytes),
            bytes,
        }
    }

    /// The next record of a pcap file.
    #[inline]
    fn record(buffer: &mut Buffer<R>, layout: &PcapLayout) -> NextItem {
        if !buffer.fill(layout.record_bytes)? {
            return Self::end(buffer, "a packet's header");
        }
        let captured_bytes = layout.record(buffer.unread()).captured_bytes;
        if captured_bytes as usize > MOST {
            return Err(CaptureTrouble::Length(captured_bytes));
        }
        if !buffer.fill(layout.record_bytes + captured_bytes as usize)? {
            return Err(CaptureTrouble::Cut("a packet"));
        }
        let found = Self::buffered(buffer, layout).expect("the buffer was filled");
        Ok(CaptureItem::Packet(found))
    }

    /// The next block of a pcapng file.
    fn block(&mut self) -> NextItem {
        let Self { buffer, format: CaptureFormat::Pcapng(section), drops, .. } = self else {
            unreachable!("the caller checked that the format is pcapng");
        };
        if !buffer.fill(AROUND)? {
            return Self::end(buffer, "a block");
        }
        let head = buffer.unread().first_chunk().expect("the buffer was filled");
        if head.starts_with(&SECTION_HEADER) {
            let before = section.replace(Section::begin(head)?);
            let known_drops = [*drops, before.and_then(|section| section.drops())];
            *drops = known_drops.into_iter().flatten().reduce(CaptureDrops::and);
        }
        let section = section.as_mut().expect("a file begins with a section");
        let (length, known) = section.block(head)?;
        let before = if known { 0 } else { length - 4 };
        if !(buffer.skip(before)? && buffer.fill(length - before)?) {
            return Err(CaptureTrouble::Cut("a block"));
        }
        let block = &buffer.unread()[..length - before];
        section.ends(length, block.last_chunk().expect("the buffer was filled"))?;
        let found = if known { section.read(block)? } else { None };
        let place = buffer.pass(length - before);
        let Some(found) = found else { return Ok(CaptureItem::Other) };
        if found.captured_bytes > MOST {
            return Err(CaptureTrouble::Length(found.captured_bytes as u32));
        }
        Ok(CaptureItem::Packet(FoundPacket {
            unix_ns: found.unix_ns,
            link: found.link,
            interface: found.interface,
            original_bytes: found.original_bytes,
            place: place + found.at,
            captured_bytes: found.captured_bytes,
        }))
    }

    /// Returns the end of the file. If octets are left, the file ends within the item `what`, which
    /// is an error.
    fn end(buffer: &Buffer<R>, what: &'static str) -> NextItem {
        if buffer.is_empty() { Ok(CaptureItem::End) } else { Err(CaptureTrouble::Cut(what)) }
    }
}
