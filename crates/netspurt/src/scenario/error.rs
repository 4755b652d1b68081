//! What is wrong with a scenario: where, what, and what to write instead.

use core::fmt;
use core::ops::Range;

/// A mistake in a scenario.
///
/// Shown as text it is one message that names the file, the line, the key and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// What is wrong.
    pub message: String,
    /// What to do about it; may be empty.
    pub fix: String,
    /// The scenario's name, usually its file's path.
    pub file: String,
    /// The key, dotted from the top, entries of lists from 0 in brackets; empty for the file as
    /// a whole.
    pub key: String,
    /// The value that is wrong, as written; empty where a key is missing or unknown.
    pub value: String,
    /// Where in the file; `None` where nothing in it is to blame.
    pub place: Option<Place>,
    /// Whether the key was set over what is in the file.
    pub set: bool,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// The line's text.
    pub text: String,
    /// How many characters are to blame.
    pub width: usize,
}

impl Place {
    /// The place of a span of bytes in a text; clipped to the span's first line.
    pub(super) fn of(text: &str, span: &Range<usize>) -> Self {
        let start = span.start.min(text.len());
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let end = span.end.clamp(start, line_end);
        let characters = |range: Range<usize>| text[range].chars().count();
        Self {
            line: text[..start].matches('\n').count() + 1,
            column: characters(line_start..start) + 1,
            text: text[line_start..line_end].trim_end().to_owned(),
            width: characters(start..end).max(1),
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        let Some(place) = &self.place else {
            let key = match self.key.as_str() {
                key if self.set => format!(" with {key} = {}", self.value),
                "" => String::new(),
                key => format!(" ({key})"),
            };
            write!(f, "\n   --> {}{key}", self.file)?;
            return if self.fix.is_empty() { Ok(()) } else { write!(f, "\n    = {}", self.fix) };
        };
        let number = place.line.to_string();
        let gutter = " ".repeat(number.len());
        write!(f, "\n {gutter} --> {}:{}:{}", self.file, place.line, place.column)?;
        write!(f, "\n {number} | {}", place.text)?;
        // The indent repeats tabs, so that the marks stand below what they mark.
        let before = place.text.chars().take(place.column - 1);
        let indent: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
        write!(f, "\n {gutter} | {indent}{} {}", "^".repeat(place.width), self.fix)
    }
}

impl std::error::Error for ScenarioError {}

/// A mistake found behind the parser, by the key it lies at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Key by key from the top.
    pub(super) path: Vec<String>,
    /// Other keys that have a part in it.
    pub(super) also: Vec<Vec<String>>,
    /// Whether the key itself is to blame, and not its value.
    pub(super) key: bool,
    /// Whether the table at `path` lacks what it must have.
    pub(super) incomplete: bool,
    pub(super) message: String,
    pub(super) fix: String,
}

impl Problem {
    pub(super) fn at<const N: usize>(path: [&str; N], message: impl Into<String>) -> Self {
        Self {
            path: path.into_iter().map(str::to_owned).collect(),
            also: Vec::new(),
            key: false,
            incomplete: false,
            message: message.into(),
            fix: String::new(),
        }
    }

    /// The same, with another key that has a part in it.
    pub(super) fn also<const N: usize>(mut self, path: [&str; N]) -> Self {
        self.also.push(path.into_iter().map(str::to_owned).collect());
        self
    }

    /// The same, as one of a table that lacks what it must have.
    pub(super) fn incomplete(mut self) -> Self {
        self.incomplete = true;
        self
    }

    /// The same, as one of the key and not of its value.
    pub(super) fn of_the_key(mut self) -> Self {
        self.key = true;
        self
    }

    pub(super) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }
}

/// Asks for the names in `known` that `word` was probably meant to be: all that are nearest.
pub(super) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(distance, name)| *distance <= (name.len().max(word.len()) / 3).max(1))
        .collect();
    let least = near.iter().map(|(distance, _)| *distance).min()?;
    near.retain(|(distance, _)| *distance == least);
    let names: Vec<String> = near.iter().map(|(_, name)| format!("`{name}`")).collect();
    Some(format!("did you mean {}?", names.join(" or ")))
}
