//! Reads scripts: first option lines, then events.

use core::ops::Range;

use crate::units::Duration;

use super::assertion_text;
use super::call_text;
use super::cursor::{Blank, Cursor, Excerpt};
use super::document::{Script, ScriptAction, ScriptEvent, ScriptOptions, SwitchSetting};
use super::error::{Mistake, ScriptError};
use super::event_time::{EventTime, Seconds};
use super::packet_text::{PacketKind, packet};
use crate::place::line_of;

const OPTION_NAMES: [&str; 7] =
    ["title", "clause", "profile", "set", "fails_with", "tolerance_usecs", "mss"];

/// Sysctls that scripts for Linux set, and the equivalent switch.
const SYSCTLS: [(&str, &str); 16] = [
    ("tcp_sack", "--set=sack=false"),
    ("tcp_dsack", "--set=dsack=false"),
    ("tcp_timestamps", "--set=timestamps=false"),
    ("tcp_window_scaling", "--set=window_scaling=false"),
    ("tcp_ecn", "--set=ecn=true"),
    ("tcp_recovery", "--set=recovery=\"rack\""),
    ("tcp_early_retrans", "--set=tlp=false"),
    ("tcp_frto", "--set=frto=false"),
    ("tcp_reordering", "--set=dup_thresh=3"),
    ("tcp_congestion_control", "--set=congestion=\"reno\""),
    ("tcp_rto_min_us", "--set=rto.min=\"200 ms\""),
    ("tcp_rto_max_ms", "--set=rto.max=\"120 s\""),
    ("rto_min", "--set=rto.min=\"200 ms\""),
    ("initcwnd", "--set=initial_window=\"10 segments\""),
    ("quickack", "--set=acks=\"every segment\""),
    ("congctl", "--set=congestion=\"reno\""),
];

impl Script {
    /// Reads a script from its text.
    ///
    /// # Errors
    /// The first mistake, with its place and what to write instead.
    pub fn parse(name: &str, text: &str) -> Result<Script, ScriptError> {
        let parsed = script(text).map_err(|mistake| ScriptError::new(name, text, mistake))?;
        let lines = text.lines().map(|line| line.trim_end().to_owned()).collect();
        Ok(Script { name: name.to_owned(), options: parsed.0, events: parsed.1, lines })
    }
}

/// Reads a whole script.
fn script(source: &str) -> Result<(ScriptOptions, Vec<ScriptEvent>), Mistake> {
    let mut cursor = Cursor::new(source);
    let mut options = ScriptOptions::default();
    let mut events = Vec::new();
    let mut least = Duration::ZERO;
    loop {
        cursor.skip(Blank::Lines)?;
        if cursor.rest().is_empty() {
            break;
        }
        if cursor.starts_with("--") {
            if !events.is_empty() {
                let mistake =
                    Mistake::new(cursor.at()..cursor.at() + 2, "this option comes after an event");
                return Err(mistake.fix("move it to the top"));
            }
            option_line(&mut cursor, &mut options)?;
        } else {
            refuse_shell(&cursor)?;
            events.push(event(&mut cursor, &mut least)?);
        }
    }
    if events.is_empty() {
        let mistake = Mistake::new(0..0, "the script has no event");
        return Err(mistake.fix("as in `0 < S 0:0(0) win 65535 <mss 1460>`"));
    }
    Ok((options, events))
}

/// Refuses a shell command and suggests the equivalent switch.
fn refuse_shell(cursor: &Cursor<'_>) -> Result<(), Mistake> {
    if !cursor.starts_with("`") {
        return Ok(());
    }
    let rest = &cursor.rest()[1..];
    let command = &rest[..rest.find('`').unwrap_or(rest.len())];
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut fixes: Vec<&str> = Vec::new();
    for word in command.split(|c| !is_name(c)) {
        fixes.extend(SYSCTLS.iter().filter(|(name, _)| *name == word).map(|(_, fix)| *fix));
    }
    let mistake = Mistake::new(
        cursor.at()..cursor.at() + command.len() + 2,
        "shell commands are not supported",
    );
    if fixes.is_empty() {
        return Err(mistake.fix("remove it, and set switches at the top with `--set=path=value`"));
    }
    let fixes: Vec<String> = fixes.iter().map(|fix| format!("`{fix}`")).collect();
    Err(mistake.fix(format!("remove it and write, for example, {} at the top", fixes.join(", "))))
}

/// Reads `--name=value`; the value ends at the end of the line or at a comment `//`.
fn option_line(cursor: &mut Cursor<'_>, options: &mut ScriptOptions) -> Result<(), Mistake> {
    let line = line_of(cursor.source(), cursor.at());
    cursor.take("--");
    let at = cursor.at();
    let text = cursor.take_while(|c| c != '\n');
    let whole = Excerpt::trimmed(&text[..comment_start(text)], at);
    let Some((name, value)) = whole.split('=') else {
        let mistake =
            Mistake::new(whole.at..whole.at + whole.text.len().max(1), "an option needs `=`");
        return Err(mistake.fix("as in `--title=what this script shows`"));
    };
    if value.text.is_empty() {
        let mistake = Mistake::new(name.span(), format!("the option `{}` has no value", name.text));
        return Err(mistake.fix("write one after `=`, or remove the line"));
    }
    set_option(options, &name, &value, line)
}

fn set_option(
    options: &mut ScriptOptions,
    name: &Excerpt<'_>,
    value: &Excerpt<'_>,
    line: usize,
) -> Result<(), Mistake> {
    let number = |most: u64| {
        let mistake =
            || Mistake::new(value.span(), format!("`{}` is not a valid number here", value.text));
        let number = value.text.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| mistake().fix(format!("a whole number up to {most}")))
    };
    let text = value.text.to_owned();
    let again = match name.text {
        "title" => !core::mem::replace(&mut options.title, text).is_empty(),
        "profile" => options.profile.replace(text).is_some(),
        "mss" => {
            let mss = u16::try_from(number(u16::MAX.into())?).expect("held to 16 bits");
            options.mss.replace(mss).is_some()
        }
        "tolerance_usecs" => {
            options.tolerance = Duration::from_micros(number(1_000_000_000)?);
            false
        }
        "clause" => {
            options.clauses.push(text);
            false
        }
        "set" => {
            let new = setting(value, line)?;
            let again = options.set.iter().any(|old| old.path == new.path);
            options.set.push(new);
            again
        }
        "fails_with" => {
            options.fails_with.push(setting(value, line)?);
            false
        }
        _ => return Err(Mistake::unknown(name.span(), "option", name.text, OPTION_NAMES)),
    };
    if again {
        let mistake = Mistake::new(name.span(), "this option is already set");
        return Err(mistake.fix("set it once"));
    }
    Ok(())
}

/// Reads `path=value`.
fn setting(part: &Excerpt<'_>, line: usize) -> Result<SwitchSetting, Mistake> {
    let fix = "write a switch, `=` and a value in TOML, as in `rto.min=\"1 s\"`";
    let Some((path, value)) = part.split('=') else {
        return Err(Mistake::new(part.span(), "expected a switch and its value").fix(fix));
    };
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if !path.text.split('.').all(is_key) {
        let span = path.at..path.at + path.text.len().max(1);
        return Err(
            Mistake::new(span, format!("`{}` is not the name of a switch", path.text)).fix(fix)
        );
    }
    if value.text.parse::<toml_edit::Value>().is_err() {
        let span = value.at..value.at + value.text.len().max(1);
        let mistake = Mistake::new(span, format!("`{}` is not a TOML value", value.text));
        return Err(mistake.fix(format!("put a text in quotes: `{}=\"…\"`", path.text)));
    }
    Ok(SwitchSetting { path: path.text.to_owned(), value: value.text.to_owned(), line })
}

/// Where a comment outside quotes starts.
fn comment_start(text: &str) -> usize {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if !quoted && text[at..].starts_with("//") {
            return at;
        }
    }
    text.len()
}

/// Reads an event; `least` is the earliest time of the previous event.
fn event(cursor: &mut Cursor<'_>, least: &mut Duration) -> Result<ScriptEvent, Mistake> {
    let line = line_of(cursor.source(), cursor.at());
    let start = cursor.at();
    let time = EventTime::read(cursor)?;
    let span = start..cursor.at();
    let earliest = time.earliest(*least);
    if earliest < *least {
        let mistake = Mistake::new(span, "this is earlier than the previous event");
        return Err(mistake.fix(format!("write {} s or later", Seconds(*least))));
    }
    *least = earliest;
    cursor.skip(Blank::Line)?;
    let action = action(cursor)?;
    fit(time, &action, span)?;
    cursor.skip(Blank::Line)?;
    if !matches!(cursor.peek(), None | Some('\n')) {
        let message = format!("expected the end of the line, found {}", cursor.shown());
        return Err(cursor.mistake(message).fix("write one event per line"));
    }
    Ok(ScriptEvent { time, action, line })
}

fn action(cursor: &mut Cursor<'_>) -> Result<ScriptAction, Mistake> {
    if cursor.take("<") {
        return packet(cursor, PacketKind::Inbound).map(ScriptAction::Inbound);
    }
    if cursor.take(">") {
        return packet(cursor, PacketKind::Outbound).map(ScriptAction::Outbound);
    }
    if cursor.take("%{") {
        return assertion_text::block(cursor).map(ScriptAction::Check);
    }
    refuse_shell(cursor)?;
    if cursor.peek().is_some_and(char::is_alphabetic) {
        let (call, expected) = call_text::call(cursor)?;
        return Ok(ScriptAction::Call { call, expected });
    }
    let message = format!("expected an event, found {}", cursor.shown());
    Err(cursor
        .mistake(message)
        .fix("write `<` or `>` and a packet, a socket call, or `%{ assert … }%`"))
}

/// Whether this kind of event may have this kind of time.
fn fit(time: EventTime, action: &ScriptAction, span: Range<usize>) -> Result<(), Mistake> {
    let wrong = |message: &str, fix: &str| Err(Mistake::new(span, message).fix(fix));
    match (time, action) {
        (EventTime::At(_) | EventTime::After(_), _) => Ok(()),
        (EventTime::Lasting(..) | EventTime::AfterLasting(..), ScriptAction::Call { .. }) => Ok(()),
        (EventTime::Lasting(..) | EventTime::AfterLasting(..), _) => {
            wrong("only a call has a start and an end", "write one time")
        }
        (_, ScriptAction::Outbound(_)) => Ok(()),
        _ => wrong("only a packet sent may have a range or `*`", "write one time, as in `+0.1`"),
    }
}
