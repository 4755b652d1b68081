//! What is wrong with a script: where, what, and what to write instead.

use core::fmt;
use core::ops::Range;

use super::document::Script;

/// A mistake in a script. Every one has a place.
///
/// ```
/// use netspurt::script::Script;
/// let error = Script::parse("a.pkt", "0 < S 0:0(0) wni 100").unwrap_err();
/// assert_eq!((error.line, error.column), (1, 14));
/// assert!(error.to_string().contains("--> a.pkt:1:14"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// What is wrong.
    pub message: String,
    /// What to do about it; may be empty.
    pub fix: String,
    /// The script's name, usually its file's path.
    pub file: String,
    /// The line, from 1; 0 where no line of the script is to blame.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// The line's text.
    pub text: String,
    /// How many characters are to blame.
    pub width: usize,
}

impl ScriptError {
    /// The mistake `slip` in a script called `file`.
    pub(super) fn new(file: &str, source: &str, slip: Slip) -> Self {
        let start = floor(source, slip.span.start);
        let line_start = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |length| start + length);
        let end = floor(source, slip.span.end.clamp(start, line_end));
        let characters = |range: Range<usize>| source[range].chars().count();
        Self {
            message: slip.message,
            fix: slip.fix,
            file: file.to_owned(),
            line: line_of(source, start),
            column: characters(line_start..start) + 1,
            text: source[line_start..line_end].trim_end().to_owned(),
            width: characters(start..end).max(1),
        }
    }

    /// A mistake in what stands behind `behind` in a line of `script`, found after it was read.
    pub(super) fn in_line(
        script: &Script,
        line: usize,
        behind: &str,
        message: String,
        fix: String,
    ) -> Self {
        let text = line.checked_sub(1).and_then(|line| script.lines.get(line));
        let text = text.cloned().unwrap_or_default();
        let at = text.find(behind).map_or(0, |at| at + behind.len());
        let (before, value) = text.split_at(at);
        let (column, width) = (before.chars().count() + 1, value.chars().count().max(1));
        Self { message, fix, file: script.name.clone(), line, column, text, width }
    }
}

/// The line of a byte of `source`, from 1.
pub(super) fn line_of(source: &str, at: usize) -> usize {
    source.as_bytes()[..at.min(source.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The last boundary between characters at or before `at`.
fn floor(source: &str, at: usize) -> usize {
    let at = at.min(source.len());
    (0..=at).rev().find(|at| source.is_char_boundary(*at)).unwrap_or(0)
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}\n   --> {}", self.message, self.file)?;
            return if self.fix.is_empty() { Ok(()) } else { write!(f, "\n    = {}", self.fix) };
        }
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "{}", self.message)?;
        writeln!(f, " {gutter} --> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, " {number} | {}", self.text)?;
        // The indent repeats tabs, so that the marks stand below what they mark.
        let before = self.text.chars().take(self.column - 1);
        let indent: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
        write!(f, " {gutter} | {indent}{} {}", "^".repeat(self.width), self.fix)
    }
}

impl std::error::Error for ScriptError {}

/// A mistake by the bytes it lies at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slip {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) fix: String,
}

impl Slip {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), fix: String::new() }
    }

    pub(super) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// An unknown `word`: the message, and the known word it was probably meant to be.
    pub(super) fn unknown<'a>(
        span: Range<usize>,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let fix = match nearest(word, known.clone()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                let names: Vec<String> = known.into_iter().map(|n| format!("`{n}`")).collect();
                format!("there are {}", names.join(", "))
            }
        };
        Self::new(span, format!("unknown {what} `{word}`")).fix(fix)
    }
}

/// The name in `known` that `word` was probably meant to be.
fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(distance, name)| *distance <= (name.len().max(word.len()) / 3).max(1))
        .min()
        .map(|(_, name)| name)
}
