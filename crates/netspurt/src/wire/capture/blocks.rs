//! Reads the blocks of pcapng files (draft-ietf-opsawg-pcapng). A file consists of sections. The
//! first block of a section gives the byte order, and later blocks describe interfaces or contain
//! packets.

use crate::wire::LinkType;

use super::fault::CaptureTrouble;
use super::interface::{CaptureDrops, Interface, MOST};
use super::number::ByteOrder;

/// The kind of block that begins a section. Its octets are the same in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// The number of octets of a block without its body: its kind, and its length before and after the
/// body.
pub(super) const AROUND: usize = 12;

/// The maximum number of interfaces that a section may describe.
const MOST_INTERFACES: usize = 1 << 16;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const OPTION_TIMESTAMP_RESOLUTION: u16 = 9;
const OPTION_TIMESTAMP_OFFSET: u16 = 14;
const OPTION_INTERFACE_DROPS: u16 = 5;
const OPTION_SYSTEM_DROPS: u16 = 7;

/// A section: the byte order of its numbers, and its interfaces.
#[derive(Debug)]
pub(super) struct Section {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// The drops in the last statistics of each interface.
    drops: Vec<Option<CaptureDrops>>,
}

/// A packet in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPacket {
    /// Nanoseconds since 1970. `None` if the packet has no timestamp, or if the nanoseconds do not
    /// fit into 64 bits.
    pub(super) unix_ns: Option<i64>,
    pub(super) link: LinkType,
    pub(super) interface: u32,
    /// The offset of the packet's octets in the block.
    pub(super) at: usize,
    pub(super) captured_bytes: usize,
    pub(super) original_bytes: u32,
}

/// The result of reading a block: a fault, or the packet if the block has one.
type BlockReading = Result<Option<BlockPacket>, CaptureTrouble>;

const fn malformed(why: &'static str) -> CaptureTrouble {
    CaptureTrouble::Malformed(why)
}

impl Section {
    /// The section whose header begins with `head`.
    ///
    /// # Errors
    /// When the byte order cannot be recognised.
    pub(super) fn begin(head: &[u8; AROUND]) -> Result<Self, CaptureTrouble> {
        const ORDER: u32 = 0x1a2b_3c4d;
        let order = [ByteOrder::Big, ByteOrder::Little].into_iter();
        let order = order.into_iter().find(|order| order.word(head, 8) == ORDER);
        let order = order.ok_or(malformed("its byte order is not recognised"))?;
        Ok(Self { order, interfaces: Vec::new(), drops: Vec::new() })
    }

    /// The length of the block that begins with `head`, and whether its body is of interest.
    ///
    /// # Errors
    /// When the length is below [`AROUND`] or not a multiple of four, or when a block of interest
    /// is longer than 2 MiB.
    pub(super) fn block(&self, head: &[u8; AROUND]) -> Result<(usize, bool), CaptureTrouble> {
        let (kind, length) = (self.order.word(head, 0), self.order.word(head, 4) as usize);
        if length < AROUND || !length.is_multiple_of(4) {
            return Err(malformed("its length is below 12 or not a multiple of 4"));
        }
        let packet = [ENHANCED_PACKET, SIMPLE_PACKET, OBSOLETE_PACKET].contains(&kind);
        let known = packet || [SECTION, INTERFACE, INTERFACE_STATISTICS].contains(&kind);
        if known && length > 2 * MOST {
            return Err(malformed("it has more than 2 MiB"));
        }
        Ok((length, known))
    }

    /// Checks that the length after a block, `behind`, equals the `length` before it.
    ///
    /// # Errors
    /// When the two lengths differ.
    pub(super) fn ends(&self, length: usize, behind: &[u8; 4]) -> Result<(), CaptureTrouble> {
        match self.order.word(behind, 0) as usize == length {
            true => Ok(()),
            false => Err(malformed("its two lengths differ")),
        }
    }

    /// Reads the whole `block`.
    ///
    /// # Errors
    /// When the block is malformed, or when it begins a section of an unknown version.
    pub(super) fn read(&mut self, block: &[u8]) -> BlockReading {
        let body = &block[..block.len() - 4];
        match self.order.word(block, 0) {
            ENHANCED_PACKET => self.enhanced(body),
            SIMPLE_PACKET => self.simple(body),
            OBSOLETE_PACKET => self.obsolete(body),
            INTERFACE => self.describe(body).map(|()| None),
            INTERFACE_STATISTICS => self.statistics(body).map(|()| None),
            _ => self.version(body).map(|()| None),
        }
    }

    /// The sum of the drops in the last statistics of all interfaces. `None` without statistics.
    pub(super) fn drops(&self) -> Option<CaptureDrops> {
        self.drops.iter().flatten().copied().reduce(CaptureDrops::and)
    }

    /// Checks the version of the section.
    fn version(&self, body: &[u8]) -> Result<(), CaptureTrouble> {
        const HEADER: usize = 24;
        if body.len() < HEADER {
            return Err(malformed("a section's header is too short"));
        }
        match (self.order.half(body, 12), self.order.half(body, 14)) {
            // Some programs wrote version 1.2, which has the same format as 1.0.
            (1, 0 | 2) => Ok(()),
            (major, minor) => Err(CaptureTrouble::Version { format: "pcapng", major, minor }),
        }
    }

    /// Reads the description of an interface.
    fn describe(&mut self, body: &[u8]) -> Result<(), CaptureTrouble> {
        const OPTIONS_AT: usize = 16;
        if body.len() < OPTIONS_AT {
            return Err(malformed("an interface's description is too short"));
        }
        if self.interfaces.len() == MOST_INTERFACES {
            return Err(malformed("the section has more than 65536 interfaces"));
        }
        let order = self.order;
        let mut interface = Interface {
            link: LinkType(order.half(body, 8)),
            rate: 1_000_000,
            offset: 0,
            snap_bytes: order.word(body, 12),
        };
        self.each_option(&body[OPTIONS_AT..], |code, value| {
            match (code, value) {
                (OPTION_TIMESTAMP_RESOLUTION, [resolution]) => {
                    let rate = Interface::rate(*resolution);
                    interface.rate =
                        rate.ok_or(malformed("the unit of timestamps is too small"))?;
                }
                (OPTION_TIMESTAMP_OFFSET, value) if value.len() == 8 => {
                    interface.offset = order.long(value, 0).cast_signed();
                }
                _ => {}
            }
            Ok(())
        })?;
        self.interfaces.push(interface);
        self.drops.push(None);
        Ok(())
    }

    /// Reads the statistics of an interface, which say how many packets it dropped.
    fn statistics(&mut self, body: &[u8]) -> Result<(), CaptureTrouble> {
        const OPTIONS_AT: usize = 20;
        if body.len() < OPTIONS_AT {
            return Err(malformed("an interface's statistics are too short"));
        }
        let (order, number) = (self.order, self.order.word(body, 8) as usize);
        let mut counts = [None; 2];
        self.each_option(&body[OPTIONS_AT..], |code, value| {
            let place = match code {
                OPTION_INTERFACE_DROPS => 0,
                OPTION_SYSTEM_DROPS => 1,
                _ => return Ok(()),
            };
            if value.len() == 8 {
                counts[place] = Some(order.long(value, 0));
            }
            Ok(())
        })?;
        let missing = "the statistics belong to an interface that the section does not describe";
        let drops = self.drops.get_mut(number).ok_or(malformed(missing))?;
        if counts != [None; 2] {
            let [interface, system] = counts.map(Option::unwrap_or_default);
            *drops = Some(CaptureDrops { interface, system });
        }
        Ok(())
    }

    /// Calls a function with the code and the value of each option in `options`.
    fn each_option(
        &self,
        options: &[u8],
        mut take: impl FnMut(u16, &[u8]) -> Result<(), CaptureTrouble>,
    ) -> Result<(), CaptureTrouble> {
        let mut at = 0;
        while at + 4 <= options.len() {
            let code = self.order.half(options, at);
            let length = usize::from(self.order.half(options, at + 2));
            if code == OPTION_END {
                break;
            }
            let value = options.get(at + 4..at + 4 + length);
            take(code, value.ok_or(malformed("an option extends beyond the block"))?)?;
            at += 4 + length.next_multiple_of(4);
        }
        Ok(())
    }

    fn interface(&self, number: u32) -> Result<Interface, CaptureTrouble> {
        let interface = usize::try_from(number).ok().and_then(|number| self.interfaces.get(number));
        interface.copied().ok_or(malformed(
            "the packet belongs to an interface that the section does not describe",
        ))
    }

    fn enhanced(&self, body: &[u8]) -> BlockReading {
        if body.len() < 28 {
            return Err(malformed("a packet's header is too short"));
        }
        self.stamped(body, self.order.word(body, 8))
    }

    /// Reads the obsolete packet block, which numbers interfaces in 16 bits.
    fn obsolete(&self, body: &[u8]) -> BlockReading {
        if body.len() < 28 {
            return Err(malformed("a packet's header is too short"));
        }
        self.stamped(body, self.order.half(body, 8).into())
    }

    /// Reads a packet with a timestamp from interface `number`. Enhanced and obsolete packet blocks
    /// differ only in the word that has this number.
    fn stamped(&self, body: &[u8], number: u32) -> BlockReading {
        const DATA_AT: usize = 28;
        let [high, low, captured, original_bytes] =
            [12, 16, 20, 24].map(|at| self.order.word(body, at));
        let interface = self.interface(number)?;
        let captured_bytes = captured as usize;
        if captured_bytes > body.len() - DATA_AT {
            return Err(malformed("a packet is longer than its block"));
        }
        Ok(Some(BlockPacket {
            unix_ns: interface.unix_ns(u64::from(high) << 32 | u64::from(low)),
            link: interface.link,
            interface: number,
            at: DATA_AT,
            captured_bytes,
            original_bytes,
        }))
    }

    /// Reads a packet without a timestamp, which belongs to the first interface. The captured
    /// length is the original length or the interface's limit, whichever is less.
    fn simple(&self, body: &[u8]) -> BlockReading {
        const DATA_AT: usize = 12;
        if body.len() < DATA_AT {
            return Err(malformed("a packet's header is too short"));
        }
        let interface = self.interface(0)?;
        let original_bytes = self.order.word(body, 8);
        let limit = if interface.snap_bytes == 0 { u32::MAX } else { interface.snap_bytes };
        let captured_bytes = original_bytes.min(limit) as usize;
        if captured_bytes > body.len() - DATA_AT {
            return Err(malformed("a packet is longer than its block"));
        }
        Ok(Some(BlockPacket {
            unix_ns: None,
            link: interface.link,
            interface: 0,
            at: DATA_AT,
            captured_bytes,
            original_bytes,
        }))
    }
}
