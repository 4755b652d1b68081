//! Reads the packets in the lines of a script, as in `> . 1:1001(1000) ack 1`. A script is a test
//! in packetdrill's notation.

use netspurt::segment::{Flags, SackBlock, SackBlocks, Timestamps};

use super::cursor::{Blank, Cursor};
use super::dialect::ScriptDialect;
use super::error::Mistake;
use super::packet::{EcnMark, FLAG_LETTERS, PacketOptions, ScriptPacket};

/// Whether a packet arrives at the connection under test or leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketKind {
    Inbound,
    Outbound,
}

/// The largest shift in a window scale option. A shift above 14 counts as 14 (RFC 7323 §2.3).
const MAX_SHIFT: u64 = 255;

/// Reads a packet after its `<` or `>`.
pub(super) fn packet(
    cursor: &mut Cursor<'_>,
    kind: PacketKind,
    dialect: ScriptDialect,
) -> Result<ScriptPacket, Mistake> {
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    let ecn = ecn_mark(cursor, kind)?;
    refuse_other_protocols(cursor)?;
    let flags = flags(cursor)?;
    let (seq, len) = sequence(cursor)?;
    // In packetdrill's dialect, an inbound packet may have `ack` without the flag `.`. It may also
    // have the options of a SYN without the flag `S`.
    let lax = kind == PacketKind::Inbound && dialect == ScriptDialect::Packetdrill;
    let ack = ack(cursor, flags, lax)?;
    let window = window(cursor)?;
    if kind == PacketKind::Inbound && window.is_none() && dialect == ScriptDialect::Strict {
        let mistake = Mistake::new(start..cursor.at(), "an inbound packet needs a window");
        return Err(mistake.fix("add `win 65535` after the acknowledgment"));
    }
    let options = options(cursor, flags, kind, lax)?;
    Ok(ScriptPacket { ecn, flags, seq, len, ack, window, options })
}

fn ecn_mark(cursor: &mut Cursor<'_>, kind: PacketKind) -> Result<Option<EcnMark>, Mistake> {
    if !cursor.take("[") {
        return Ok(None);
    }
    let (name, span) = cursor.word();
    let Some((_, mark)) = EcnMark::ALL.iter().find(|(known, _)| *known == name) else {
        let known = EcnMark::ALL.iter().map(|(name, _)| *name);
        return Err(Mistake::unknown(span, "ECN codepoint", name, known));
    };
    if kind == PacketKind::Inbound && *mark == EcnMark::Either {
        let mistake = Mistake::new(
            span,
            "`[ect01]` stands for two codepoints; an inbound packet has only one",
        );
        return Err(mistake.fix("write `ect0` or `ect1`"));
    }
    cursor.expect("]", "end the codepoint with `]`")?;
    cursor.skip(Blank::Line)?;
    Ok(Some(*mark))
}

fn refuse_other_protocols(cursor: &Cursor<'_>) -> Result<(), Mistake> {
    let (word, span) = cursor.clone().word();
    let lower = word.to_ascii_lowercase();
    if !["icmp", "icmpv6", "udp", "sctp", "ipv4", "ipv6", "gre", "mpls"].contains(&lower.as_str()) {
        return Ok(());
    }
    let mistake = Mistake::new(span, format!("`{word}` packets are not supported"));
    Err(mistake.fix("only TCP segments are supported; remove the line"))
}

fn flags(cursor: &mut Cursor<'_>) -> Result<Flags, Mistake> {
    let mut flags = Flags::default();
    let start = cursor.at();
    if cursor.take("-") {
        return Ok(flags);
    }
    while let Some(letter) = cursor.peek().filter(|c| c.is_alphanumeric() || *c == '.') {
        let at = cursor.at();
        let Some((_, flag)) = FLAG_LETTERS.iter().find(|(known, _)| *known == letter) else {
            let mistake =
                Mistake::new(at..at + letter.len_utf8(), format!("unknown flag `{letter}`"));
            return Err(mistake.fix("write `S F R P . E W`, or `-` for none"));
        };
        if flags.has(*flag) {
            let mistake = Mistake::new(at..at + 1, format!("the flag `{letter}` is repeated"));
            return Err(mistake.fix("write it once"));
        }
        flags = flags.with(*flag);
        cursor.bump();
    }
    if cursor.at() == start {
        let message = format!("expected flags, found {}", cursor.shown());
        return Err(cursor
            .mistake(message)
            .fix("write flags, as in `S`, `S.`, `.`, `P.`, `F.`, `R`, or `-` for none"));
    }
    Ok(flags)
}

fn sequence(cursor: &mut Cursor<'_>) -> Result<(u32, u16), Mistake> {
    let fix =
        "write the first byte, the byte after the last byte, and the length, as in `1:1001(1000)`";
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    let seq = cursor.number_u32("a sequence number").map_err(|mistake| mistake.fix(fix))?;
    cursor.expect(":", fix)?;
    let end = cursor.number_u32("a sequence number")?;
    cursor.expect("(", fix)?;
    let len = cursor.number_u16("the length of the payload")?;
    cursor.expect(")", fix)?;
    if seq.wrapping_add(len.into()) != end {
        let right = seq.wrapping_add(len.into());
        let mistake = Mistake::new(
            start..cursor.at(),
            format!("a packet of {len} bytes that begins at {seq} ends at {right}"),
        );
        return Err(
            mistake.fix(format!("write `{seq}:{right}({len})`; SYN and FIN do not count here"))
        );
    }
    Ok((seq, len))
}

/// Reads `ack NUMBER`. A packet with the flag `.` but without `ack` acknowledges 0.
fn ack(cursor: &mut Cursor<'_>, flags: Flags, lax: bool) -> Result<Option<u32>, Mistake> {
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    if !take_word(cursor, "ack") {
        return Ok(flags.has(Flags::ACK).then_some(0));
    }
    let ack = cursor.number_u32("an acknowledgment number")?;
    if !flags.has(Flags::ACK) && lax {
        return Ok(None);
    }
    if !flags.has(Flags::ACK) {
        let mistake = Mistake::new(start..cursor.at(), "an acknowledgment needs the flag `.`");
        return Err(mistake.fix("add `.` to the flags, or remove `ack`"));
    }
    Ok(Some(ack))
}

fn window(cursor: &mut Cursor<'_>) -> Result<Option<u16>, Mistake> {
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    if take_word(cursor, "win") {
        return cursor.number_u16("a window").map(Some);
    }
    if cursor.peek().is_some_and(char::is_alphabetic) {
        let (word, _) = cursor.word();
        return Err(Mistake::unknown(start..cursor.at(), "field", word, ["ack", "win"]));
    }
    Ok(None)
}

/// Steps over `word` if it is the next whole word. Returns whether it was next.
fn take_word(cursor: &mut Cursor<'_>, word: &str) -> bool {
    let mut ahead = cursor.clone();
    let found = ahead.word().0 == word;
    if found {
        *cursor = ahead;
    }
    found
}

/// Reads the options. `None` stands for `<...>`: any options.
fn options(
    cursor: &mut Cursor<'_>,
    flags: Flags,
    kind: PacketKind,
    lax: bool,
) -> Result<Option<PacketOptions>, Mistake> {
    let mut options = PacketOptions::default();
    cursor.skip(Blank::Line)?;
    if !cursor.take("<") {
        return Ok(Some(options));
    }
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    if cursor.take("...") {
        if kind == PacketKind::Inbound {
            let mistake =
                Mistake::new(start..cursor.at(), "an inbound packet must list its options");
            return Err(mistake.fix("write them, or remove `<...>`"));
        }
        cursor.skip(Blank::Line)?;
        cursor.expect(">", "nothing else may be in `<...>`")?;
        return Ok(None);
    }
    while !cursor.take_mark(">")? {
        option(cursor, &mut options, flags, lax)?;
        if !cursor.take_mark(",")?
            && !{
                cursor.skip(Blank::Line)?;
                cursor.starts_with(">")
            }
        {
            let message = format!("expected `,` or `>`, found {}", cursor.shown());
            return Err(cursor
                .mistake(message)
                .fix("put options between `<` and `>`, with commas between them"));
        }
    }
    if options.timestamps.is_some() && options.sack.len() > SackBlocks::MAX_STAMPED {
        let message = "a packet with timestamps carries at most three SACK blocks";
        let mistake = Mistake::new(start..cursor.at(), message);
        return Err(mistake.fix("remove a block, or `TS`"));
    }
    if !flags.has(Flags::SYN) {
        options =
            PacketOptions { timestamps: options.timestamps, sack: options.sack, ..<_>::default() };
    }
    Ok(Some(options))
}

const OPTION_NAMES: [&str; 7] = ["mss", "sackOK", "TS", "nop", "eol", "wscale", "sack"];

fn option(
    cursor: &mut Cursor<'_>,
    options: &mut PacketOptions,
    flags: Flags,
    lax: bool,
) -> Result<(), Mistake> {
    cursor.skip(Blank::Line)?;
    let (name, span) = cursor.word();
    let syn_only = ["mss", "sackOK", "wscale"].contains(&name);
    if syn_only && !flags.has(Flags::SYN) && !lax {
        let mistake = Mistake::new(span, format!("only a SYN carries `{name}`"));
        return Err(mistake.fix("remove it, or add `S` to the flags"));
    }
    let is_duplicate = match name {
        "mss" => options.mss.replace(cursor.number_u16("a segment size")?).is_some(),
        "sackOK" => core::mem::replace(&mut options.sack_permitted, true),
        "wscale" => {
            let shift = cursor.number("a shift", MAX_SHIFT)?;
            let shift = u8::try_from(shift).expect("at most 255");
            options.window_scale.replace(shift).is_some()
        }
        "TS" => options.timestamps.replace(timestamps(cursor)?).is_some(),
        "sack" if flags.has(Flags::SYN) => {
            let mistake = Mistake::new(span.clone(), "a SYN carries no SACK blocks");
            return Err(mistake.fix("write `sackOK` to permit them"));
        }
        "sack" => {
            let is_duplicate = !options.sack.is_empty();
            options.sack = sack_blocks(cursor)?;
            is_duplicate
        }
        "nop" | "eol" => false,
        "FO" | "FOEXP" => {
            let message = format!("the option `{name}` of Fast Open is not supported");
            return Err(Mistake::new(span, message).fix("remove it"));
        }
        "md5" | "ao" | "mptcp" => {
            let mistake = Mistake::new(span, format!("the option `{name}` is not supported"));
            return Err(mistake.fix("remove it"));
        }
        "" => {
            let message = format!("expected an option, found {}", cursor.shown());
            return Err(cursor
                .mistake(message)
                .fix("write an option, as in `mss 1460` or `TS val 1 ecr 0`"));
        }
        _ => return Err(Mistake::unknown(span, "option", name, OPTION_NAMES)),
    };
    if is_duplicate {
        let mistake = Mistake::new(span, format!("the option `{name}` is repeated"));
        return Err(mistake.fix("write it once"));
    }
    Ok(())
}

fn timestamps(cursor: &mut Cursor<'_>) -> Result<Timestamps, Mistake> {
    let fix = "write both timestamps, as in `TS val 100 ecr 0`";
    let mut field = |name: &str| {
        cursor.skip(Blank::Line)?;
        if !take_word(cursor, name) {
            let message = format!("expected `{name}`, found {}", cursor.shown());
            return Err(cursor.mistake(message).fix(fix));
        }
        cursor.number_u32("a timestamp")
    };
    Ok(Timestamps { val: field("val")?, ecr: field("ecr")? })
}

fn sack_blocks(cursor: &mut Cursor<'_>) -> Result<Vec<SackBlock>, Mistake> {
    let mut blocks = Vec::new();
    loop {
        cursor.skip(Blank::Line)?;
        let start = cursor.at();
        if !cursor.peek().is_some_and(|c| c.is_ascii_digit()) && !blocks.is_empty() {
            return Ok(blocks);
        }
        let left =
            cursor.number_u32("a SACK block").map_err(|s| s.fix("write it as in `1001:2001`"))?;
        cursor.expect(":", "write the first byte, and the byte after the last byte")?;
        let right = cursor.number_u32("the end of a SACK block")?;
        if blocks.len() == SackBlocks::MAX {
            let mistake =
                Mistake::new(start..cursor.at(), "a packet carries at most four SACK blocks");
            return Err(mistake.fix("remove this block"));
        }
        blocks.push(SackBlock { left, right });
    }
}
