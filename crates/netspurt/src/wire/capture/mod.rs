//! Captures: the packets of pcap and pcapng files, one after the other.
//!
//! Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. The file is read as a stream, with
//! memory for one packet.

use std::io::{self, Read};

use super::link_type::LinkType;

#[cfg(test)]
mod tests;

/// Octets that are read at once.
const ROOM: usize = 1 << 18;

/// The longest packet, or block that is read, in octets: snapshots are at most 256 KiB.
const MOST: usize = 1 << 20;

/// The most interfaces that a section may describe.
const MOST_INTERFACES: usize = 1 << 16;

const NANOSECONDS: u64 = 1_000_000_000;

/// Whether a file that begins with `bytes` is a capture.
///
/// ```
/// assert!(netspurt::wire::is_capture(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0]));
/// ```
pub fn is_capture(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|magic| CaptureFormat::of(*magic).is_some())
}

/// Why reading a capture stopped.
#[derive(Debug, thiserror::Error)]
pub enum CaptureFault {
    /// It does not begin like a capture.
    #[error("neither pcap nor pcapng")]
    Unknown,
    /// It ends too early.
    #[error("the capture ends within a packet")]
    Cut,
    /// The lengths or the numbers of a block contradict each other.
    #[error("malformed block at octet {0}")]
    Malformed(u64),
    /// Reading the file failed.
    #[error("the capture cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// A packet as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// Its time, in nanoseconds since 1970.
    pub unix_ns: i64,
    /// The link type of its interface.
    pub link: LinkType,
    /// The captured octets, from the link's header on.
    pub bytes: &'a [u8],
}

impl<'a> CapturedPacket<'a> {
    /// The packet from its IP header on; `None` if the link's header names another protocol, or the
    /// link type is not supported.
    pub fn ip(&self) -> Option<&'a [u8]> {
        self.link.behind(self.bytes)
    }
}

/// An interface: its link type, and the unit of its stamps.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: LinkType,
    /// Stamps per second.
    rate: u64,
    /// Seconds to add.
    offset: i64,
}

impl Interface {
    /// The nanoseconds since 1970 of a stamp; `None` if they do not fit into 64 bits.
    fn unix_ns(self, stamp: u64) -> Option<i64> {
        let ns = match self.rate {
            NANOSECONDS => i64::try_from(stamp).ok()?,
            1_000_000 => i64::try_from(stamp).ok()?.checked_mul(1000)?,
            rate => {
                let ns = u128::from(stamp) * u128::from(NANOSECONDS) / u128::from(rate);
                i64::try_from(ns).ok()?
            }
        };
        ns.checked_add(self.offset.checked_mul(NANOSECONDS.cast_signed())?)
    }
}

/// The two formats, and the byte order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaptureFormat {
    Pcap { big: bool, rate: u64 },
    Pcapng { big: bool },
}

impl CaptureFormat {
    /// The format of a file that begins with `magic`.
    fn of(magic: [u8; 4]) -> Option<Self> {
        match magic {
            SECTION_HEADER => Some(Self::Pcapng { big: false }),
            [0xa1, 0xb2, 0xc3, 0xd4] => Some(Self::Pcap { big: true, rate: 1_000_000 }),
            [0xd4, 0xc3, 0xb2, 0xa1] => Some(Self::Pcap { big: false, rate: 1_000_000 }),
            [0xa1, 0xb2, 0x3c, 0x4d] => Some(Self::Pcap { big: true, rate: NANOSECONDS }),
            [0x4d, 0x3c, 0xb2, 0xa1] => Some(Self::Pcap { big: false, rate: NANOSECONDS }),
            _ => None,
        }
    }

    const fn is_big(self) -> bool {
        match self {
            Self::Pcap { big, .. } | Self::Pcapng { big } => big,
        }
    }
}

/// The kind of block that begins a section; it is the same in both byte orders.
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// Octets of a block other than its body: its kind, and twice its length.
const AROUND: usize = 12;

const OPTION_END: u16 = 0;
const OPTION_TIMESTAMP_RESOLUTION: u16 = 9;
const OPTION_TIMESTAMP_OFFSET: u16 = 14;

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
    source: R,
    buffer: Vec<u8>,
    /// The range of unread octets in the buffer.
    start: usize,
    end: usize,
    /// The octets of the file before these.
    used: u64,
    format: CaptureFormat,
    interfaces: Vec<Interface>,
    /// Whether the source has no more octets.
    over: bool,
}

/// The next item of a capture.
enum CaptureStep {
    /// A packet: its place in the buffer, and its description.
    Packet { unix_ns: i64, link: LinkType, start: usize, end: usize },
    /// Another item.
    Other,
    /// The end.
    End,
}

impl<R: Read> CaptureReader<R> {
    /// Starts to read a capture.
    ///
    /// # Errors
    /// When `source` fails or is not a capture.
    pub fn new(source: R) -> Result<Self, CaptureFault> {
        const PCAP_HEADER: usize = 24;
        let mut this = Self {
            source,
            buffer: vec![0; ROOM],
            start: 0,
            end: 0,
            used: 0,
            format: CaptureFormat::Pcapng { big: false },
            interfaces: Vec::new(),
            over: false,
        };
        if !this.fill(4)? {
            return Err(CaptureFault::Unknown);
        }
        this.format = CaptureFormat::of(this.array(0)).ok_or(CaptureFault::Unknown)?;
        if let CaptureFormat::Pcap { rate, .. } = this.format {
            if !this.fill(PCAP_HEADER)? {
                return Err(CaptureFault::Cut);
            }
            // The upper half holds the length of the link's checksum behind packets.
            #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
            let link = LinkType(this.word(20) as u16);
            this.interfaces.push(Interface { link, rate, offset: 0 });
            this.pass(PCAP_HEADER);
        }
        Ok(this)
    }

    /// The next packet; `None` at the end of the file.
    ///
    /// # Errors
    /// When the file fails, ends within a packet, or is malformed. Nothing is read after that.
    pub fn next_packet(&mut self) -> Result<Option<CapturedPacket<'_>>, CaptureFault> {
        while !self.over {
            let next = match self.format {
                CaptureFormat::Pcap { .. } => self.record(),
                CaptureFormat::Pcapng { .. } => self.block(),
            };
            self.over = matches!(next, Ok(CaptureStep::End) | Err(_));
            if let CaptureStep::Packet { unix_ns, link, start, end } = next? {
                return Ok(Some(CapturedPacket { unix_ns, link, bytes: &self.buffer[start..end] }));
            }
        }
        Ok(None)
    }

    /// The next record of a pcap file.
    fn record(&mut self) -> Result<CaptureStep, CaptureFault> {
        const HEADER: usize = 16;
        if !self.begins(HEADER)? {
            return Ok(CaptureStep::End);
        }
        let [seconds, below, length] = [0, 4, 8].map(|at| self.word(at));
        let length = self.whole(HEADER, length)?;
        let interface = self.interfaces[0];
        let stamp = u64::from(seconds) * interface.rate + u64::from(below);
        let start = self.start + HEADER;
        self.pass(HEADER + length);
        Ok(interface.unix_ns(stamp).map_or(CaptureStep::Other, |unix_ns| CaptureStep::Packet {
            unix_ns,
            link: interface.link,
            start,
            end: start + length,
        }))
    }

    /// The next block of a pcapng file.
    fn block(&mut self) -> Result<CaptureStep, CaptureFault> {
        const ORDER: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
        if !self.begins(AROUND)? {
            return Ok(CaptureStep::End);
        }
        let section = self.array(0) == SECTION_HEADER;
        if section {
            let order: [u8; 4] = self.array(8);
            self.format = CaptureFormat::Pcapng { big: order == ORDER };
            let reversed = [ORDER[3], ORDER[2], ORDER[1], ORDER[0]];
            if order != ORDER && order != reversed {
                return Err(self.malformed());
            }
            self.interfaces.clear();
        }
        let (kind, length) = (self.word(0), self.word(4));
        let length = usize::try_from(length).map_err(|_| self.malformed())?;
        if length < AROUND || !length.is_multiple_of(4) {
            return Err(self.malformed());
        }
        if section || ![INTERFACE, ENHANCED_PACKET].contains(&kind) {
            self.skip(length)?;
            return Ok(CaptureStep::Other);
        }
        if length > MOST {
            return Err(self.malformed());
        }
        if !self.fill(length)? {
            return Err(CaptureFault::Cut);
        }
        if self.word(length - 4) as usize != length {
            return Err(self.malformed());
        }
        let next = match kind {
            INTERFACE => self.describe(length),
            _ => self.packet(length),
        };
        let next = next.ok_or_else(|| self.malformed());
        self.pass(length);
        next
    }

    /// Reads the description of an interface in a block of `length` octets; `None` if it is
    /// malformed.
    fn describe(&mut self, length: usize) -> Option<CaptureStep> {
        const OPTIONS_AT: usize = 16;
        if length < OPTIONS_AT + 4 || self.interfaces.len() == MOST_INTERFACES {
            return None;
        }
        let mut interface = Interface { link: LinkType(self.half(8)), rate: 1_000_000, offset: 0 };
        let (mut at, end) = (OPTIONS_AT, length - 4);
        while at + 4 <= end {
            let (code, size) = (self.half(at), usize::from(self.half(at + 2)));
            match (code, size) {
                (OPTION_END, _) => break,
                _ if at + 4 + size > end => return None,
                (OPTION_TIMESTAMP_RESOLUTION, 1) => {
                    interface.rate = rate(self.array::<1>(at + 4)[0])?;
                }
                (OPTION_TIMESTAMP_OFFSET, 8) => {
                    let [first, second] = [self.word(at + 4), self.word(at + 8)].map(u64::from);
                    let big = self.format.is_big();
                    let (high, low) = if big { (first, second) } else { (second, first) };
                    interface.offset = (high << 32 | low).cast_signed();
                }
                _ => {}
            }
            at += 4 + size.next_multiple_of(4);
        }
        self.interfaces.push(interface);
        Some(CaptureStep::Other)
    }

    /// The packet in a block of `length` octets; `None` if the block is malformed.
    fn packet(&self, length: usize) -> Option<CaptureStep> {
        const DATA_AT: usize = 28;
        let room = length.checked_sub(DATA_AT + 4)?;
        let [number, high, low, captured] = [8, 12, 16, 20].map(|at| self.word(at));
        let captured = usize::try_from(captured).ok().filter(|octets| *octets <= room)?;
        let interface = self.interfaces.get(usize::try_from(number).ok()?)?;
        let start = self.start + DATA_AT;
        let unix_ns = interface.unix_ns(u64::from(high) << 32 | u64::from(low));
        Some(unix_ns.map_or(CaptureStep::Other, |unix_ns| CaptureStep::Packet {
            unix_ns,
            link: interface.link,
            start,
            end: start + captured,
        }))
    }

    /// Whether an item begins here; its first `octets` are then in the buffer.
    fn begins(&mut self, octets: usize) -> Result<bool, CaptureFault> {
        if !self.fill(octets)? {
            return if self.start == self.end { Ok(false) } else { Err(CaptureFault::Cut) };
        }
        Ok(true)
    }

    /// The length in the header of a pcap record, whose octets are then in the buffer.
    fn whole(&mut self, header: usize, length: u32) -> Result<usize, CaptureFault> {
        let length = usize::try_from(length).ok().filter(|length| *length <= MOST);
        let length = length.ok_or_else(|| self.malformed())?;
        if !self.fill(header + length)? {
            return Err(CaptureFault::Cut);
        }
        Ok(length)
    }

    /// Reads until the buffer has `octets`; returns whether there were enough.
    fn fill(&mut self, octets: usize) -> Result<bool, CaptureFault> {
        if self.end - self.start >= octets {
            return Ok(true);
        }
        if self.buffer.len() - self.start < octets {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.buffer.resize(self.buffer.len().max(octets), 0);
        }
        while self.end - self.start < octets {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Marks `octets` of the buffer as read.
    fn pass(&mut self, octets: usize) {
        self.start += octets;
        self.used += octets as u64;
    }

    /// Skips `octets`, in the buffer or not.
    fn skip(&mut self, mut octets: usize) -> Result<(), CaptureFault> {
        while octets > 0 {
            let part = octets.min(ROOM);
            if !self.fill(part)? {
                return Err(CaptureFault::Cut);
            }
            self.pass(part);
            octets -= part;
        }
        Ok(())
    }

    fn malformed(&self) -> CaptureFault {
        CaptureFault::Malformed(self.used)
    }

    /// The octets at offset `at` in the unread part of the buffer.
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.buffer[self.start + at..].first_chunk().expect("it was filled")
    }

    fn half(&self, at: usize) -> u16 {
        let octets = self.array(at);
        if self.format.is_big() { u16::from_be_bytes(octets) } else { u16::from_le_bytes(octets) }
    }

    fn word(&self, at: usize) -> u32 {
        let octets = self.array(at);
        if self.format.is_big() { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) }
    }
}

/// Stamps per second by the option `if_tsresol`: a negative power of 10, or of 2 if the highest bit
/// is set.
fn rate(option: u8) -> Option<u64> {
    let power = u32::from(option & 0x7f);
    if option & 0x80 == 0 { 10_u64.checked_pow(power) } else { 2_u64.checked_pow(power) }
}
