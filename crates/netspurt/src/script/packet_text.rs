//! Reads packet lines.

use crate::segment::{Flags, SackBlock, SackBlocks, Timestamps};

use super::cursor::{Blank, Cursor};
use super::error::Slip;
use super::packet::{EcnMark, FLAG_LETTERS, Packet, PacketOptions};

/// Which way a packet goes, seen from the connection under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    In,
    Out,
}

/// The largest shift (RFC 7323 §2.3).
const MAX_SHIFT: u64 = 14;

/// Reads a packet behind its `<` or `>`.
pub(super) fn packet(cursor: &mut Cursor<'_>, way: Way) -> Result<Packet, Slip> {
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    let ecn = ecn_mark(cursor, way)?;
    refuse_other_protocols(cursor)?;
    let flags = flags(cursor)?;
    let (seq, len) = sequence(cursor)?;
    let ack = ack(cursor, flags)?;
    let window = window(cursor)?;
    if way == Way::In && window.is_none() {
        let slip = Slip::new(start..cursor.at(), "an inbound packet needs a window");
        return Err(slip.fix("add `win 65535` behind the acknowledgment"));
    }
    let options = options(cursor, flags, way)?;
    Ok(Packet { ecn, flags, seq, len, ack, window, options })
}

fn ecn_mark(cursor: &mut Cursor<'_>, way: Way) -> Result<Option<EcnMark>, Slip> {
    if !cursor.take("[") {
        return Ok(None);
    }
    let (name, span) = cursor.word();
    let Some((_, mark)) = EcnMark::ALL.iter().find(|(known, _)| *known == name) else {
        let known = EcnMark::ALL.iter().map(|(name, _)| *name);
        return Err(Slip::unknown(span, "congestion mark", name, known));
    };
    if way == Way::In && *mark == EcnMark::Either {
        let slip = Slip::new(span, "an inbound packet has one of the two marks");
        return Err(slip.fix("write `ect0` or `ect1`"));
    }
    cursor.expect("]", "the mark ends with `]`")?;
    cursor.skip(Blank::Line)?;
    Ok(Some(*mark))
}

fn refuse_other_protocols(cursor: &Cursor<'_>) -> Result<(), Slip> {
    let (word, span) = cursor.clone().word();
    let lower = word.to_ascii_lowercase();
    if !["icmp", "icmpv6", "udp", "sctp", "ipv4", "ipv6", "gre", "mpls"].contains(&lower.as_str()) {
        return Ok(());
    }
    let slip = Slip::new(span, format!("`{word}` packets are not supported"));
    Err(slip.fix("only TCP segments are; take the line out"))
}

fn flags(cursor: &mut Cursor<'_>) -> Result<Flags, Slip> {
    let mut flags = Flags::default();
    let start = cursor.at();
    if cursor.take("-") {
        return Ok(flags);
    }
    while let Some(letter) = cursor.peek().filter(|c| c.is_alphanumeric() || *c == '.') {
        let at = cursor.at();
        let Some((_, flag)) = FLAG_LETTERS.iter().find(|(known, _)| *known == letter) else {
            let slip = Slip::new(at..at + letter.len_utf8(), format!("unknown flag `{letter}`"));
            return Err(slip.fix("there are `S F R P . E W`, and `-` for none"));
        };
        if flags.has(*flag) {
            let slip = Slip::new(at..at + 1, format!("the flag `{letter}` is there already"));
            return Err(slip.fix("write it once"));
        }
        flags = flags.with(*flag);
        cursor.bump();
    }
    if cursor.at() == start {
        let message = format!("flags expected, and not {}", cursor.shown());
        return Err(cursor
            .slip(message)
            .fix("as in `S`, `S.`, `.`, `P.`, `F.`, `R`; `-` for none"));
    }
    Ok(flags)
}

fn sequence(cursor: &mut Cursor<'_>) -> Result<(u32, u16), Slip> {
    let fix = "as in `1:1001(1000)`: first octet, the one after the last, and their number";
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    let seq = cursor.number_u32("a sequence number").map_err(|slip| slip.fix(fix))?;
    cursor.expect(":", fix)?;
    let end = cursor.number_u32("a sequence number")?;
    cursor.expect("(", fix)?;
    let len = cursor.number_u16("the octets of payload")?;
    cursor.expect(")", fix)?;
    if seq.wrapping_add(len.into()) != end {
        let right = seq.wrapping_add(len.into());
        let slip = Slip::new(start..cursor.at(), format!("{seq} and {len} octets end at {right}"));
        return Err(slip.fix(format!("`{seq}:{right}({len})`; SYN and FIN do not count here")));
    }
    Ok((seq, len))
}

fn ack(cursor: &mut Cursor<'_>, flags: Flags) -> Result<Option<u32>, Slip> {
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    if !take_word(cursor, "ack") {
        return Ok(flags.has(Flags::ACK).then_some(0));
    }
    let ack = cursor.number_u32("an acknowledgment number")?;
    if !flags.has(Flags::ACK) {
        let slip = Slip::new(start..cursor.at(), "an acknowledgment without the flag `.`");
        return Err(slip.fix("add `.` to the flags, or take `ack` out"));
    }
    Ok(Some(ack))
}

fn window(cursor: &mut Cursor<'_>) -> Result<Option<u16>, Slip> {
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    if take_word(cursor, "win") {
        return cursor.number_u16("a window").map(Some);
    }
    if cursor.peek().is_some_and(char::is_alphabetic) {
        let (word, _) = cursor.word();
        return Err(Slip::unknown(start..cursor.at(), "field", word, ["ack", "win"]));
    }
    Ok(None)
}

/// Steps over `word` if that is the next whole word.
fn take_word(cursor: &mut Cursor<'_>, word: &str) -> bool {
    let mut ahead = cursor.clone();
    let found = ahead.word().0 == word;
    if found {
        *cursor = ahead;
    }
    found
}

fn options(cursor: &mut Cursor<'_>, flags: Flags, way: Way) -> Result<Option<PacketOptions>, Slip> {
    let mut options = PacketOptions::default();
    cursor.skip(Blank::Line)?;
    if !cursor.take("<") {
        return Ok(Some(options));
    }
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    if cursor.take("...") {
        if way == Way::In {
            let slip = Slip::new(start..cursor.at(), "an inbound packet says which options it has");
            return Err(slip.fix("write them, or take `<...>` out"));
        }
        cursor.skip(Blank::Line)?;
        cursor.expect(">", "`<...>` stands alone")?;
        return Ok(None);
    }
    while !cursor.take_mark(">")? {
        option(cursor, &mut options, flags)?;
        if !cursor.take_mark(",")?
            && !{
                cursor.skip(Blank::Line)?;
                cursor.starts_with(">")
            }
        {
            let message = format!("`,` or `>` expected, and not {}", cursor.shown());
            return Err(cursor.slip(message).fix("options stand between `<` and `>`"));
        }
    }
    Ok(Some(options))
}

const OPTION_NAMES: [&str; 7] = ["mss", "sackOK", "TS", "nop", "eol", "wscale", "sack"];

fn option(cursor: &mut Cursor<'_>, options: &mut PacketOptions, flags: Flags) -> Result<(), Slip> {
    cursor.skip(Blank::Line)?;
    let (name, span) = cursor.word();
    let syn_only = ["mss", "sackOK", "wscale"].contains(&name);
    if syn_only && !flags.has(Flags::SYN) {
        let slip = Slip::new(span, format!("only a SYN carries `{name}`"));
        return Err(slip.fix("take it out, or add `S` to the flags"));
    }
    let again = match name {
        "mss" => options.mss.replace(cursor.number_u16("a segment size")?).is_some(),
        "sackOK" => core::mem::replace(&mut options.sack_permitted, true),
        "wscale" => {
            let shift = cursor.number("a shift", MAX_SHIFT)?;
            let shift = u8::try_from(shift).expect("14 at most");
            options.window_scale.replace(shift).is_some()
        }
        "TS" => options.timestamps.replace(timestamps(cursor)?).is_some(),
        "sack" if flags.has(Flags::SYN) => {
            let slip = Slip::new(span.clone(), "a SYN carries no SACK blocks");
            return Err(slip.fix("write `sackOK` to permit them"));
        }
        "sack" => {
            let again = !options.sack.is_empty();
            options.sack = sack_blocks(cursor)?;
            again
        }
        "nop" | "eol" => false,
        "FO" | "FOEXP" | "md5" | "ao" | "mptcp" => {
            let slip = Slip::new(span, format!("the option `{name}` is not supported"));
            return Err(slip.fix("take it out"));
        }
        "" => {
            let message = format!("an option expected, and not {}", cursor.shown());
            return Err(cursor.slip(message).fix("as in `mss 1460` or `TS val 1 ecr 0`"));
        }
        _ => return Err(Slip::unknown(span, "option", name, OPTION_NAMES)),
    };
    if again {
        let slip = Slip::new(span, format!("the option `{name}` is there already"));
        return Err(slip.fix("write it once"));
    }
    Ok(())
}

fn timestamps(cursor: &mut Cursor<'_>) -> Result<Timestamps, Slip> {
    let fix = "as in `TS val 100 ecr 0`";
    let mut field = |name: &str| {
        cursor.skip(Blank::Line)?;
        if !take_word(cursor, name) {
            let message = format!("`{name}` expected, and not {}", cursor.shown());
            return Err(cursor.slip(message).fix(fix));
        }
        cursor.number_u32("a time stamp")
    };
    Ok(Timestamps { val: field("val")?, ecr: field("ecr")? })
}

fn sack_blocks(cursor: &mut Cursor<'_>) -> Result<Vec<SackBlock>, Slip> {
    let mut blocks = Vec::new();
    loop {
        cursor.skip(Blank::Line)?;
        let start = cursor.at();
        if !cursor.peek().is_some_and(|c| c.is_ascii_digit()) && !blocks.is_empty() {
            return Ok(blocks);
        }
        let left = cursor.number_u32("a SACK block").map_err(|s| s.fix("as in `1001:2001`"))?;
        cursor.expect(":", "a block is its first octet and the one after its last")?;
        let right = cursor.number_u32("the end of a SACK block")?;
        if blocks.len() == SackBlocks::MAX {
            let slip = Slip::new(start..cursor.at(), "a packet carries three SACK blocks at most");
            return Err(slip.fix("take this block out"));
        }
        blocks.push(SackBlock { left, right });
    }
}
