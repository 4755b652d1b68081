//! Places in texts that people write, and what they may have meant there.

use core::fmt;
use core::ops::Range;

/// A place in a file.
///
/// ```
/// use netspurt::place::Place;
/// let place = Place::of("a = 1\nb = x\n", &(10..11));
/// assert_eq!((place.line, place.column, place.text.as_str()), (2, 5, "b = x"));
/// ```
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
    /// The place of a span of bytes in a text; clipped to the text and to the span's first line.
    pub fn of(text: &str, span: &Range<usize>) -> Self {
        let start = boundary(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let end = boundary(text, span.end.clamp(start, line_end));
        let characters = |range: Range<usize>| text[range].chars().count();
        Self {
            line: line_of(text, start),
            column: characters(line_start..start) + 1,
            text: text[line_start..line_end].trim_end().to_owned(),
            width: characters(start..end).max(1),
        }
    }

    /// Shows the place below a message: the file, the line with marks, and the fix.
    pub(crate) fn show(&self, f: &mut fmt::Formatter<'_>, file: &str, fix: &str) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        write!(f, "\n {gutter} --> {file}:{}:{}", self.line, self.column)?;
        write!(f, "\n {number} | {}", self.text)?;
        // The indent repeats tabs, so that the marks stand below what they mark.
        let before = self.text.chars().take(self.column - 1);
        let indent: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
        write!(f, "\n {gutter} | {indent}{} {fix}", "^".repeat(self.width))
    }
}

/// The last boundary between characters at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The line of a byte of a text, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Shows what is wrong with no place in `file` to blame.
pub(crate) fn show_placeless(f: &mut fmt::Formatter<'_>, file: &str, fix: &str) -> fmt::Result {
    write!(f, "\n   --> {file}")?;
    if fix.is_empty() { Ok(()) } else { write!(f, "\n    = {fix}") }
}

/// Asks for the names in `known` that `word` was probably meant to be: all that are nearest.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    if word.len() > 64 {
        return None;
    }
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
