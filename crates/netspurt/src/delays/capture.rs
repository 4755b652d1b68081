//! Captures: packets of pcap and pcapng files, down to their IP headers.

use std::io::Cursor;

use pcap_parser::pcapng::Block;
use pcap_parser::{Linktype, PcapBlockOwned, PcapError, create_reader};

use super::reading::ReadError;
use super::text::MICROSECOND;

/// The largest block that is read, in octets: snapshots are 256 KiB at most.
const BLOCK: usize = 1 << 20;

/// Whether bytes begin as a capture does.
pub(super) fn knows(bytes: &[u8]) -> bool {
    const MAGICS: [[u8; 4]; 5] = [
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0x0a, 0x0d, 0x0d, 0x0a],
    ];
    MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

/// What a capture said beside its packets.
#[derive(Debug, Default)]
pub(super) struct End {
    /// Packets, and those of a kind of link that is not known.
    pub packets: u64,
    pub alien: u64,
    /// What ended the file before its end.
    pub cut: Option<String>,
}

/// An interface: its link and how its stamps count.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Stamps a second.
    rate: u64,
    /// Seconds to add.
    offset: i64,
}

/// Hands each packet of a capture to `each`: nanoseconds since 1970 and the bytes from the IP
/// header on.
///
/// # Errors
/// When the file does not begin as a capture.
pub(super) fn packets(bytes: &[u8], mut each: impl FnMut(i64, &[u8])) -> Result<End, ReadError> {
    let broken = |error: String| ReadError::new(format!("the capture: {error}"), "is it whole?");
    let mut reader =
        create_reader(BLOCK, Cursor::new(bytes)).map_err(|error| broken(format!("{error:?}")))?;
    let mut end = End::default();
    let mut interfaces: Vec<Interface> = Vec::new();
    loop {
        let error = match reader.next() {
            Ok((length, block)) => {
                if let Some((at, link, data)) = packet(block, &mut interfaces) {
                    end.packets += 1;
                    match behind_link(link, data) {
                        Some(ip) => each(at, ip),
                        None => end.alien += 1,
                    }
                }
                reader.consume(length);
                continue;
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => None,
            Err(error) => Some(format!("a block that is none ({})", name(&error))),
        };
        if error.is_none() && !reader.reader_exhausted() && reader.refill().is_ok() {
            continue;
        }
        end.cut = Some(error.unwrap_or_else(|| "it ends within a packet".into()));
        break;
    }
    Ok(end)
}

fn name<T: core::fmt::Debug>(error: &PcapError<T>) -> &'static str {
    match error {
        PcapError::HeaderNotRecognized => "no header",
        PcapError::ReadError => "cannot be read",
        _ => "malformed",
    }
}

/// The packet of a block, if it is one.
fn packet<'a>(
    block: PcapBlockOwned<'a>,
    interfaces: &mut Vec<Interface>,
) -> Option<(i64, Linktype, &'a [u8])> {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let rate = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            interfaces.push(Interface { link: header.network, rate, offset: 0 });
            None
        }
        PcapBlockOwned::Legacy(packet) => {
            let interface = interfaces.first()?;
            let unit = 1_000_000_000 / interface.rate;
            let below = i64::from(packet.ts_usec).checked_mul(unit.cast_signed())?;
            let at = i64::from(packet.ts_sec) * 1_000_000_000 + below;
            Some((at, interface.link, packet.data))
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            None
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(told)) => {
            let rate = told.ts_resolution().unwrap_or(1_000_000).max(1);
            interfaces.push(Interface { link: told.linktype, rate, offset: told.ts_offset() });
            None
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let interface = interfaces.get(usize::try_from(packet.if_id).ok()?)?;
            let stamp = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
            let ns = stamp * u128::from(MICROSECOND * 1_000_000) / u128::from(interface.rate);
            let at = i64::try_from(ns).ok()?;
            let at = at.checked_add(interface.offset.checked_mul(1_000_000_000)?)?;
            let length = usize::try_from(packet.caplen).ok()?;
            Some((at, interface.link, packet.data.get(..length)?))
        }
        PcapBlockOwned::NG(_) => None,
    }
}

/// What follows the header of the link, where that says IP.
fn behind_link(link: Linktype, data: &[u8]) -> Option<&[u8]> {
    let half = |at: usize| Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?));
    let ip = |kind: u16, at: usize| match kind {
        0x0800 | 0x86dd => data.get(at..),
        _ => None,
    };
    match link {
        Linktype::ETHERNET => {
            let mut at = 12;
            // IEEE 802.1Q and 802.1ad: tags of four octets.
            while [0x8100, 0x88a8].contains(&half(at)?) {
                at += 4;
            }
            ip(half(at)?, at + 2)
        }
        // LINKTYPE_NULL and LINKTYPE_LOOP: the family, in the order of the machine or the net.
        Linktype::NULL | Linktype(108) => data.get(4..),
        // LINKTYPE_RAW, and the number it has in old files; IPv4; IPv6.
        Linktype(101 | 12 | 14 | 228 | 229) => Some(data),
        Linktype::LINUX_SLL => ip(half(14)?, 16),
        Linktype(276) => ip(half(0)?, 20),
        _ => None,
    }
}
