//! Skips the headers of IEEE 802.11 frames, with or without a radiotap header.

use super::headers::{Behind, LinkHeader};

/// The frame after a header of radiotap. The third and fourth octet of that header have its length.
/// A frame with padding between its header and its body is not read.
pub(super) fn behind_radiotap(data: &[u8]) -> Behind<'_> {
    let [0, _, low, high, ..] = data else { return None };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    let frame = data.get(length.max(8)..)?;
    match padded(&data[..length.max(8)])? {
        true => None,
        false => Some((LinkHeader::Wireless, frame)),
    }
}

/// Whether the flags in a header of radiotap say that the frame's header is padded. `None` if the
/// radiotap header is too short.
fn padded(header: &[u8]) -> Option<bool> {
    const TIME: u32 = 1;
    const FLAGS: u32 = 2;
    const MORE_WORDS: u32 = 1 << 31;
    const PADDED: u8 = 0x20;
    let (words, _) = header[4..].as_chunks::<4>();
    let present = u32::from_le_bytes(*words.first()?);
    if present & FLAGS == 0 {
        return Some(false);
    }
    let more = |word: &&[u8; 4]| u32::from_le_bytes(**word) & MORE_WORDS != 0;
    let mut at = 4 + 4 * (words.iter().take_while(more).count() + 1);
    if present & TIME != 0 {
        // The time has 8 octets, and begins at a multiple of 8 octets from the start of the header.
        at = at.next_multiple_of(8) + 8;
    }
    Some(header.get(at)? & PADDED != 0)
}

/// Returns what follows the 802.11 header of a data frame (IEEE 802.11 §9.2.4). The
/// returned octets begin with an LLC header. Encrypted frames and frames with several packets are
/// not read.
pub(super) fn behind_wireless(data: &[u8]) -> Behind<'_> {
    const DATA: u8 = 2;
    const NO_BODY: u8 = 4;
    const QUALITY: u8 = 8;
    const BOTH_SYSTEMS: u8 = 3;
    const ENCRYPTED: u8 = 0x40;
    const ORDER: u8 = 0x80;
    const SEVERAL: u8 = 0x80;
    let [control, flags, ..] = data else { return None };
    let (version, kind, subtype) = (control & 3, control >> 2 & 3, control >> 4);
    if version != 0 || kind != DATA || subtype & NO_BODY != 0 || flags & ENCRYPTED != 0 {
        return None;
    }
    // Frames between access points have a fourth address.
    let mut at = if flags & BOTH_SYSTEMS == BOTH_SYSTEMS { 30 } else { 24 };
    if subtype & QUALITY != 0 {
        if data.get(at)? & SEVERAL != 0 {
            return None;
        }
        at += if flags & ORDER == 0 { 2 } else { 6 };
    }
    Some((LinkHeader::Llc, data.get(at..)?))
}
