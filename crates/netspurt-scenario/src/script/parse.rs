//! Reads scripts: first option lines, then events. A script is a test in packetdrill's notation.

use core::ops::Range;

use netspurt::place::line_of;
use netspurt::units::Duration;

use crate::scenario::{LiveSwitch, SwitchError};

use super::call_text;
use super::change::{Change, HostChange};
use super::command_text::{NamedFiles, backquoted};
use super::cursor::{Blank, Cursor};
use super::dialect::{ScriptDialect, without_mark};
use super::document::{Script, ScriptAction, ScriptEvent, ScriptOptions};
use super::error::{Mistake, ScriptError};
use super::event_time::{EventTime, Seconds};
use super::option_text::option_line;
use super::packet_text::{PacketKind, packet};
use super::refused::refuse_mechanisms;
use super::statement_text;
use super::unreachable::unreachable;

/// Sysctls and attributes of routes that scripts for Linux set, each with an example of the option
/// line that replaces it.
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
    /// Reads a script from its text. The option lines of the script decide its dialect, as
    /// [`ScriptDialect::of`] says.
    ///
    /// # Errors
    /// When the script has a mistake. The error has the first mistake, its place and its fix. In
    /// packetdrill's dialect, a mechanism that is not supported is reported before any other
    /// mistake.
    pub fn parse(name: &str, text: &str) -> Result<Script, ScriptError> {
        Self::parse_with(ScriptDialect::of(text), name, text, &mut |_| None)
    }

    /// Reads a script in this dialect. The function `files` gives the text of a file that the
    /// script names, as in `../common/defaults.sh`. Only the sysctls in such a file are read.
    ///
    /// # Errors
    /// For the same reasons as [`parse`](Self::parse).
    ///
    /// ```
    /// use netspurt_scenario::script::{ScriptDialect, Script};
    /// let text = "`./quick.sh`\n0 socket(..., SOCK_STREAM, 0) = 3";
    /// let mut files = |name: &str| {
    ///     (name == "./quick.sh").then(|| "sysctl -q net.ipv4.tcp_reordering=2".to_owned())
    /// };
    /// let script = Script::parse_with(ScriptDialect::of(text), "a.pkt", text, &mut files)?;
    /// assert_eq!(script.config(None, &[])?.dup_thresh, 2);
    /// # Ok::<(), netspurt_scenario::script::ScriptError>(())
    /// ```
    pub fn parse_with(
        dialect: ScriptDialect,
        name: &str,
        text: &str,
        files: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<Script, ScriptError> {
        let text = without_mark(text);
        let lines = text.lines().map(|line| line.trim_end().to_owned()).collect();
        let mut script = Script {
            name: name.to_owned(),
            options: ScriptOptions::of(dialect),
            setup: Vec::new(),
            events: Vec::new(),
            lines,
        };
        let read = fill(&mut script, text, files);
        read.map_err(|mistake| ScriptError::new(name, text, mistake))?;
        Ok(script)
    }
}

/// The state of the reader, apart from the script itself.
#[derive(Default)]
struct ParseState {
    /// The earliest time at which the previous event may happen.
    least: Duration,
    /// The variables that code blocks have set.
    variables: Vec<String>,
}

/// Reads a whole script.
fn fill(script: &mut Script, source: &str, files: &mut NamedFiles<'_>) -> Result<(), Mistake> {
    if script.options.dialect == ScriptDialect::Packetdrill {
        refuse_mechanisms(source)?;
    }
    let mut cursor = Cursor::new(source);
    let mut progress = ParseState::default();
    loop {
        cursor.skip(Blank::Lines)?;
        if cursor.rest().is_empty() {
            break;
        }
        if cursor.starts_with("--") {
            if !script.events.is_empty() {
                let mistake =
                    Mistake::new(cursor.at()..cursor.at() + 2, "this option comes after an event");
                return Err(mistake.fix("move it to the top"));
            }
            option_line(&mut cursor, &mut script.options)?;
        } else if cursor.starts_with("`") {
            bare_commands(&mut cursor, script, files)?;
        } else {
            let dialect = script.options.dialect;
            script.events.push(event(&mut cursor, dialect, &mut progress, files)?);
        }
    }
    if script.events.is_empty() {
        let mistake = Mistake::new(0..0, "the script has no event");
        return Err(mistake.fix("write an event, as in `0 < S 0:0(0) win 65535 <mss 1460>`"));
    }
    Ok(())
}

/// Reads shell commands without a time. Commands before the first event set up the connection.
/// After the first event, a command without a time is a mistake if it changes the connection or the
/// host. Commands that are ignored, such as `ethtool -K`, are allowed.
fn bare_commands(
    cursor: &mut Cursor<'_>,
    script: &mut Script,
    files: &mut NamedFiles<'_>,
) -> Result<(), Mistake> {
    let start = cursor.at();
    let found = commands(cursor, script.options.dialect, files)?;
    if script.events.is_empty() {
        script.setup.extend(found);
        return Ok(());
    }
    if !found.is_empty() {
        let mistake = Mistake::new(start..cursor.at(), "this command after an event has no time");
        return Err(mistake.fix("write a time before it, as in `+0`, or move it to the top"));
    }
    Ok(())
}

/// Reads shell commands between backticks. Only packetdrill's dialect has them.
fn commands(
    cursor: &mut Cursor<'_>,
    dialect: ScriptDialect,
    files: &mut NamedFiles<'_>,
) -> Result<Vec<Change>, Mistake> {
    if dialect == ScriptDialect::Strict {
        refuse_shell(cursor)?;
    }
    cursor.take("`");
    backquoted(cursor, files)
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
        "shell commands are not supported in our own dialect (scripts with `--title=`)",
    );
    if fixes.is_empty() {
        return Err(mistake.fix("remove it, and set switches at the top with `--set=path=value`"));
    }
    let fixes: Vec<String> = fixes.iter().map(|fix| format!("`{fix}`")).collect();
    Err(mistake.fix(format!("remove it and write, for example, {} at the top", fixes.join(", "))))
}

/// Reads an event.
fn event(
    cursor: &mut Cursor<'_>,
    dialect: ScriptDialect,
    progress: &mut ParseState,
    files: &mut NamedFiles<'_>,
) -> Result<ScriptEvent, Mistake> {
    let line = line_of(cursor.source(), cursor.at());
    let start = cursor.at();
    let time = EventTime::read(cursor)?;
    let span = start..cursor.at();
    let earliest = time.earliest(progress.least);
    if earliest < progress.least {
        let mistake = Mistake::new(span, "this is earlier than the previous event");
        return Err(mistake.fix(format!("write {} s or later", Seconds(progress.least))));
    }
    progress.least = earliest;
    cursor.skip(Blank::Line)?;
    let action = action(cursor, dialect, progress, files)?;
    check_time(time, &action, span)?;
    cursor.skip(Blank::Line)?;
    if !matches!(cursor.peek(), None | Some('\n')) {
        let message = format!("expected the end of the line, found {}", cursor.shown());
        return Err(cursor.mistake(message).fix("write one event per line"));
    }
    Ok(ScriptEvent { time, action, line })
}

fn action(
    cursor: &mut Cursor<'_>,
    dialect: ScriptDialect,
    progress: &mut ParseState,
    files: &mut NamedFiles<'_>,
) -> Result<ScriptAction, Mistake> {
    if cursor.take("<") {
        if let Some(message) = unreachable(cursor)? {
            return Ok(ScriptAction::Unreachable(message));
        }
        return packet(cursor, PacketKind::Inbound, dialect).map(ScriptAction::Inbound);
    }
    if cursor.take(">") {
        return packet(cursor, PacketKind::Outbound, dialect).map(ScriptAction::Outbound);
    }
    if cursor.take("%{") {
        let statements = statement_text::block(cursor, &mut progress.variables);
        return statements.map(ScriptAction::Check);
    }
    if cursor.starts_with("`") {
        let start = cursor.at();
        let found = commands(cursor, dialect, files)?;
        return later_changes(found, start..cursor.at()).map(ScriptAction::Change);
    }
    if cursor.peek().is_some_and(char::is_alphabetic) {
        let (call, expected) = call_text::call(cursor, dialect)?;
        return Ok(ScriptAction::Call { call, expected });
    }
    let message = format!("expected an event, found {}", cursor.shown());
    Err(cursor
        .mistake(message)
        .fix("write `<` or `>` and a packet, a socket call, or `%{ assert … }%`"))
}

/// Converts the changes of a command that is an event. A change that is not possible during a run
/// is a mistake.
fn later_changes(found: Vec<Change>, span: Range<usize>) -> Result<Vec<HostChange>, Mistake> {
    let of_host = |change| match change {
        Change::Host(change) => Ok(change),
        Change::Switch(set) => match LiveSwitch::of(&set.path, &set.value) {
            Ok(Some(switch)) => Ok(HostChange::Live(switch)),
            Ok(None) => {
                let message = format!("`{}` cannot change during a run", set.path);
                let fix = "move the command before the first event, and write no time before it";
                Err(Mistake::new(span.clone(), message).fix(fix))
            }
            Err(SwitchError { message, fix, .. }) => {
                Err(Mistake::new(span.clone(), format!("`{}`: {message}", set.path)).fix(fix))
            }
        },
    };
    found.into_iter().map(of_host).collect()
}

/// Checks that an event with this action may have this kind of time.
fn check_time(time: EventTime, action: &ScriptAction, span: Range<usize>) -> Result<(), Mistake> {
    let wrong = |message: &str, fix: &str| Err(Mistake::new(span, message).fix(fix));
    match (time, action) {
        (EventTime::At(_) | EventTime::After(_), _) => Ok(()),
        (EventTime::Lasting(..) | EventTime::AfterLasting(..), ScriptAction::Call { .. }) => Ok(()),
        (EventTime::Lasting(..) | EventTime::AfterLasting(..), _) => {
            wrong("only a call has a start and an end", "write one time")
        }
        (_, ScriptAction::Outbound(_)) => Ok(()),
        _ => wrong(
            "only an expected packet (`>`) may have a range of times or `*`",
            "write one time, as in `+0.1`",
        ),
    }
}
