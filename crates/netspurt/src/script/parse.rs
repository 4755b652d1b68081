//! Reads scripts: option lines, then events.

use core::ops::Range;

use crate::units::Duration;

use super::assertion_text;
use super::call_text;
use super::cursor::{Blank, Cursor};
use super::document::{Action, Event, Options, Setting};
use super::error::Slip;
use super::moment::{Moment, Seconds};
use super::packet_text::{Way, packet};
use crate::place::line_of;

const OPTION_NAMES: [&str; 7] =
    ["title", "clause", "profile", "set", "fails_with", "tolerance_usecs", "mss"];

/// Sysctls that scripts written for Linux set, and the switch that stands for them.
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

/// Reads a whole script.
pub(super) fn script(source: &str) -> Result<(Options, Vec<Event>), Slip> {
    let mut cursor = Cursor::new(source);
    let mut options = Options::default();
    let mut events = Vec::new();
    let mut least = Duration::ZERO;
    loop {
        cursor.skip(Blank::Lines)?;
        if cursor.rest().is_empty() {
            break;
        }
        if cursor.starts_with("--") {
            if !events.is_empty() {
                let slip = Slip::new(cursor.at()..cursor.at() + 2, "an option behind an event");
                return Err(slip.fix("options stand at the top"));
            }
            option_line(&mut cursor, &mut options)?;
        } else {
            refuse_shell(&cursor)?;
            events.push(event(&mut cursor, &mut least)?);
        }
    }
    if events.is_empty() {
        let slip = Slip::new(0..0, "the script has no event");
        return Err(slip.fix("as in `0 < S 0:0(0) win 65535 <mss 1460>`"));
    }
    Ok((options, events))
}

/// Shell commands are refused, with the switch that is meant.
fn refuse_shell(cursor: &Cursor<'_>) -> Result<(), Slip> {
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
    let slip =
        Slip::new(cursor.at()..cursor.at() + command.len() + 2, "shell commands are not supported");
    if fixes.is_empty() {
        return Err(slip.fix("take it out; switches are set with `--set=path=value` at the top"));
    }
    let fixes: Vec<String> = fixes.iter().map(|fix| format!("`{fix}`")).collect();
    Err(slip.fix(format!("take it out and write, for example, {} at the top", fixes.join(", "))))
}

/// A part of a line, and where it stands.
struct Part<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Part<'a> {
    fn trimmed(text: &'a str, at: usize) -> Self {
        let lead = text.len() - text.trim_start().len();
        Self { text: text.trim(), at: at + lead }
    }

    /// Splits at the first `=`.
    fn split(&self) -> Option<(Part<'a>, Part<'a>)> {
        let (name, value) = self.text.split_once('=')?;
        let behind = self.at + name.len() + 1;
        Some((Part::trimmed(name, self.at), Part::trimmed(value, behind)))
    }

    fn span(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }
}

/// Reads `--name=value`; the value goes on to the line's end or a comment `//`.
fn option_line(cursor: &mut Cursor<'_>, options: &mut Options) -> Result<(), Slip> {
    let line = line_of(cursor.source(), cursor.at());
    cursor.take("--");
    let at = cursor.at();
    let text = cursor.take_while(|c| c != '\n');
    let whole = Part::trimmed(&text[..comment_start(text)], at);
    let Some((name, value)) = whole.split() else {
        let slip = Slip::new(whole.at..whole.at + whole.text.len().max(1), "an option needs `=`");
        return Err(slip.fix("as in `--title=what this script shows`"));
    };
    if value.text.is_empty() {
        let slip = Slip::new(name.span(), format!("the option `{}` has no value", name.text));
        return Err(slip.fix("write one behind `=`, or take the line out"));
    }
    set_option(options, &name, &value, line)
}

fn set_option(
    options: &mut Options,
    name: &Part<'_>,
    value: &Part<'_>,
    line: usize,
) -> Result<(), Slip> {
    let number = |most: u64| {
        let slip = || Slip::new(value.span(), format!("`{}` is no number for this", value.text));
        let number = value.text.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| slip().fix(format!("a whole number up to {most}")))
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
        _ => return Err(Slip::unknown(name.span(), "option", name.text, OPTION_NAMES)),
    };
    if again {
        let slip = Slip::new(name.span(), "this is set already");
        return Err(slip.fix("set it once"));
    }
    Ok(())
}

/// Reads `path=value`.
fn setting(part: &Part<'_>, line: usize) -> Result<Setting, Slip> {
    let fix = "as in `rto.min=\"1 s\"`: a switch, `=`, a value in TOML";
    let Some((path, value)) = part.split() else {
        return Err(Slip::new(part.span(), "a switch and its value expected").fix(fix));
    };
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if !path.text.split('.').all(is_key) {
        let span = path.at..path.at + path.text.len().max(1);
        return Err(Slip::new(span, format!("`{}` names no switch", path.text)).fix(fix));
    }
    if value.text.parse::<toml_edit::Value>().is_err() {
        let span = value.at..value.at + value.text.len().max(1);
        let slip = Slip::new(span, format!("`{}` is no value in TOML", value.text));
        return Err(slip.fix(format!("texts stand in quotes: `{}=\"…\"`", path.text)));
    }
    Ok(Setting { path: path.text.to_owned(), value: value.text.to_owned(), line })
}

/// Where a comment starts that stands outside quotes.
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

/// Reads an event; `least` is the earliest that the one before it can happen.
fn event(cursor: &mut Cursor<'_>, least: &mut Duration) -> Result<Event, Slip> {
    let line = line_of(cursor.source(), cursor.at());
    let start = cursor.at();
    let moment = Moment::read(cursor)?;
    let span = start..cursor.at();
    let earliest = moment.earliest(*least);
    if earliest < *least {
        let slip = Slip::new(span, "this comes before the event above it");
        return Err(slip.fix(format!("{} s or later", Seconds(*least))));
    }
    *least = earliest;
    cursor.skip(Blank::Line)?;
    let action = action(cursor)?;
    fit(moment, &action, span)?;
    cursor.skip(Blank::Line)?;
    if !matches!(cursor.peek(), None | Some('\n')) {
        let message = format!("the end of the line expected, and not {}", cursor.shown());
        return Err(cursor.slip(message).fix("one event a line"));
    }
    Ok(Event { moment, action, line })
}

fn action(cursor: &mut Cursor<'_>) -> Result<Action, Slip> {
    if cursor.take("<") {
        return packet(cursor, Way::In).map(Action::Inbound);
    }
    if cursor.take(">") {
        return packet(cursor, Way::Out).map(Action::Outbound);
    }
    if cursor.take("%{") {
        return assertion_text::block(cursor).map(Action::Check);
    }
    refuse_shell(cursor)?;
    if cursor.peek().is_some_and(char::is_alphabetic) {
        let (call, expected) = call_text::call(cursor)?;
        return Ok(Action::Call { call, expected });
    }
    let message = format!("an event expected, and not {}", cursor.shown());
    Err(cursor.slip(message).fix("`<` or `>` and a packet, a socket call, or `%{ assert … }%`"))
}

/// Whether this kind of time goes with this kind of event.
fn fit(moment: Moment, action: &Action, span: Range<usize>) -> Result<(), Slip> {
    let wrong = |message: &str, fix: &str| Err(Slip::new(span, message).fix(fix));
    match (moment, action) {
        (Moment::At(_) | Moment::After(_), _) => Ok(()),
        (Moment::Lasting(..) | Moment::AfterLasting(..), Action::Call { .. }) => Ok(()),
        (Moment::Lasting(..) | Moment::AfterLasting(..), _) => {
            wrong("only a call starts and ends", "write one time")
        }
        (_, Action::Outbound(_)) => Ok(()),
        _ => wrong("the script decides when this happens", "write one time, as in `+0.1`"),
    }
}
