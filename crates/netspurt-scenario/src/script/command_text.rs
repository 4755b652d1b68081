//! Reads the shell commands of a script as changes. Nothing is ever executed. A script is a test in
//! packetdrill's notation.

use core::ops::Range;

use netspurt::place::line_of;

use super::change::{Change, HostChange, SwitchSetting};
use super::cursor::Cursor;
use super::error::Mistake;
use super::shell::{ShellCommand, commands, on_linux};
use super::sysctl;

/// A function that finds the text of a file by the name that a script gives the file.
pub(super) type NamedFiles<'f> = dyn FnMut(&str) -> Option<String> + 'f;

/// Reads the commands between backticks. The cursor is after the opening backtick.
pub(super) fn backquoted(
    cursor: &mut Cursor<'_>,
    files: &mut NamedFiles<'_>,
) -> Result<Vec<Change>, Mistake> {
    let start = cursor.at();
    let Some(length) = cursor.rest().find('`') else {
        return Err(Mistake::new(start - 1..start, "this command does not end").fix("add `` ` ``"));
    };
    let text = &cursor.rest()[..length];
    let mut changes = Vec::new();
    for command in commands(text) {
        let span = start + command.span.start..start + command.span.end;
        let line = line_of(cursor.source(), span.start);
        changes.extend(CommandReader { files: &mut *files, line }.read(&command, span)?);
    }
    while cursor.at() < start + length + 1 {
        cursor.bump();
    }
    Ok(changes)
}

/// Reads one command. Some methods return an error as two texts: the wrong part of the command, and
/// the rest of the sentence that says why it is wrong.
struct CommandReader<'f, 'g> {
    files: &'f mut NamedFiles<'g>,
    /// The number of the script's line that has the command.
    line: usize,
}

impl CommandReader<'_, '_> {
    fn read(&mut self, command: &ShellCommand, span: Range<usize>) -> Result<Vec<Change>, Mistake> {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let (name, arguments) = words.split_first().expect("a command has at least one word");
        let wrong = |(what, why): (String, String)| {
            Mistake::new(span.clone(), format!("`{what}` {why}")).fix(FIX)
        };
        match (name.rsplit('/').next().unwrap_or(name), arguments) {
            ("sysctl" | "set_sysctls.py", settings) => self.sysctls(settings).map_err(wrong),
            (script, []) if script.starts_with("sysctl_restore_") => Ok(Vec::new()),
            (script, []) if script.ends_with(".sh") => self.file(name, &span, FILES_DEPTH),
            ("ethtool", ["-K", _, ..]) => Ok(Vec::new()),
            ("rm", ["-f", path]) => Ok(vec![file(path, None)]),
            ("dd", operands) => zeros(operands).map_err(wrong),
            ("ip", ["tcp_metrics", "flush", "all"]) => Ok(Vec::new()),
            ("ip", ["route", "change" | "replace", route @ ..])
            | ("ip", ["-6", "route", "change" | "replace", route @ ..]) => {
                self.route(route).map_err(wrong)
            }
            ("tc", ["qdisc", verb, "dev", _, "root", queue @ ..]) => {
                self.queue(verb, queue).map_err(wrong)
            }
            ("echo", [value]) if command.target.as_deref() == Some(HYSTART) => {
                self.hystart(value).map_err(wrong)
            }
            _ => {
                let why = "is a command that scripts cannot use here".to_owned();
                Err(wrong((words.join(" "), why)))
            }
        }
    }

    /// Reads `name=value` settings. A name may also be the name of a file below `/proc/sys`.
    fn sysctls(&self, words: &[&str]) -> Result<Vec<Change>, (String, String)> {
        let mut changes = Vec::new();
        for word in words.iter().filter(|word| !word.starts_with('-')) {
            let Some((path, value)) = word.split_once('=') else {
                return Err(((*word).to_owned(), "is not `name=value`".to_owned()));
            };
            let path = path.trim_start_matches("/proc/sys/").replace('/', ".");
            let Some(name) = path.strip_prefix("net.ipv4.") else {
                return Err((path, "is not a sysctl of `net.ipv4`".to_owned()));
            };
            let found = sysctl::changes(name, value, self.line);
            changes.extend(found.map_err(|why| (name.to_owned(), why))?);
        }
        Ok(changes)
    }

    /// Reads the sysctls that a file sets on Linux, and the sysctls of the files that it includes
    /// with `.` or `source`. Included files may include other files, at most `depth` levels deep.
    /// All other commands are ignored.
    fn file(
        &mut self,
        name: &str,
        span: &Range<usize>,
        depth: u32,
    ) -> Result<Vec<Change>, Mistake> {
        let Some(text) = (self.files)(name) else {
            let mistake = Mistake::new(span.clone(), format!("there is no file `{name}`"));
            return Err(mistake.fix(
                "the script needs the sysctls of this file; netspurt looks for it from the script's \
                 folder and from the current folder, so keep packetdrill's scripts in their source \
                 tree",
            ));
        };
        let mut changes = Vec::new();
        for command in on_linux(commands(&text)) {
            let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
            match words.as_slice() {
                ["sysctl", settings @ ..] => {
                    let found = self.sysctls(settings);
                    changes.extend(found.map_err(|(what, why)| {
                        Mistake::new(span.clone(), format!("in `{name}`: `{what}` {why}")).fix(FIX)
                    })?);
                }
                ["." | "source", other] if depth > 0 => {
                    changes.extend(self.file(other, span, depth - 1)?);
                }
                _ => {}
            }
        }
        Ok(changes)
    }

    /// Reads the properties that a route sets for the connections over it.
    fn route(&self, words: &[&str]) -> Result<Vec<Change>, (String, String)> {
        let mut changes = Vec::new();
        let mut rest = words.get(1..).unwrap_or_default();
        while let [key, value, after @ ..] = rest {
            match *key {
                "via" | "dev" => {}
                "initcwnd" => {
                    changes.push(self.switch("initial_window", format!("\"{value} segments\"")));
                }
                "rto_min" => {
                    let number = value.trim_end_matches(char::is_alphabetic);
                    // For `ip route`, a number without a unit is in milliseconds.
                    let unit = match &value[number.len()..] {
                        "s" | "sec" | "secs" => "s",
                        "" | "ms" | "msec" | "msecs" => "ms",
                        _ => {
                            return Err((
                                (*value).to_owned(),
                                "has neither the unit `s` nor the unit `ms`".to_owned(),
                            ));
                        }
                    };
                    changes.push(self.switch("rto.min", format!("\"{number} {unit}\"")));
                }
                "congctl" => changes.push(self.switch("congestion", format!("\"{value}\""))),
                "advmss" | "mtu" => {
                    let why =
                        "is a property of routes that simulated connections do not have".to_owned();
                    return Err(((*key).to_owned(), why));
                }
                _ => {
                    return Err((
                        (*key).to_owned(),
                        "is not a known property of routes".to_owned(),
                    ));
                }
            }
            rest = after;
        }
        match rest.first() {
            Some(key) => Err(((*key).to_owned(), "has no value".to_owned())),
            None => Ok(changes),
        }
    }

    /// Reads the queue of the link.
    fn queue(&self, verb: &str, words: &[&str]) -> Result<Vec<Change>, (String, String)> {
        let drops = |drops| Ok(vec![Change::Host(HostChange::DropsAll(drops))]);
        match (verb, words) {
            ("delete" | "del", []) | ("add" | "replace", ["pfifo" | "pfifo_fast"]) => drops(false),
            ("add" | "replace", ["pfifo", "limit", "0"]) => drops(true),
            ("add" | "replace", ["fq"]) => Ok(vec![self.switch("pacing", "true".to_owned())]),
            _ => Err((words.join(" "), "is not a queue that the link can have here".to_owned())),
        }
    }

    /// Reads `hystart_detect`. The bit 1 of its value turns on HyStart's rule for trains of ACKs,
    /// and the bit 2 turns on the rule for delay. Only the values 0 (no rule) and 3 (both rules)
    /// are supported.
    fn hystart(&self, value: &str) -> Result<Vec<Change>, (String, String)> {
        match value {
            "0" => Ok(vec![self.switch("slow_start_exit", "\"none\"".to_owned())]),
            "3" => Ok(vec![self.switch("slow_start_exit", "\"hystart\"".to_owned())]),
            _ => Err((
                value.to_owned(),
                "is not supported: write 0 (no rule of HyStart) or 3 (both rules)".to_owned(),
            )),
        }
    }

    fn switch(&self, path: &str, value: String) -> Change {
        Change::Switch(SwitchSetting { path: path.to_owned(), value, line: self.line })
    }
}

/// Returns the change that makes a file with this number of octets, or removes the file if `bytes`
/// is `None`.
fn file(path: &str, bytes: Option<u64>) -> Change {
    Change::Host(HostChange::File { path: path.to_owned(), bytes })
}

/// Reads a `dd` command, which must make a file of zeros.
fn zeros(operands: &[&str]) -> Result<Vec<Change>, (String, String)> {
    let operand = |name: &str| {
        let of = |word: &&str| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        operands.iter().find_map(of)
    };
    let number = |name| operand(name).and_then(|text| text.parse::<u64>().ok());
    let source = operand("if").filter(|source| source == "/dev/zero");
    match (source, operand("of"), number("bs"), number("count")) {
        (Some(_), Some(path), Some(size), Some(count)) => {
            Ok(vec![file(&path, Some(size.saturating_mul(count)))])
        }
        _ => {
            let why = "makes no file of zeros: write `bs`, `count`, `if=/dev/zero` and `of`";
            Err((format!("dd {}", operands.join(" ")), why.to_owned()))
        }
    }
}

/// The maximum depth of files that include other files.
const FILES_DEPTH: u32 = 4;

/// The file that says which rules of HyStart are on.
const HYSTART: &str = "/sys/module/tcp_cubic/parameters/hystart_detect";

const FIX: &str = "remove it, or set a switch with an option line `--set=path=value`";
