//! Finds the line and column of a mistake in a text, and suggests the right name for a misspelt
//! name.

use core::fmt;
use core::ops::Range;

/// A place in a file, given by its line and column.
///
/// ```
/// use netspurt::place::Place;
/// let place = Place::of("a = 1\nb = x\n", &(10..11));
/// assert_eq!((place.line, place.column, place.text.as_str()), (2, 5, "b = x"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// The line's text.
    pub text: String,
    /// The number of marked characters.
    pub width: usize,
}

/// The maximum number of characters of a line that are shown.
const SHOWN: usize = 160;
/// The maximum number of the shown characters that stand before the place.
const SHOWN_BEFORE: usize = 100;

impl Place {
    /// The place of a span of bytes in a text, clipped to the text and to the span's first line.
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

    /// Writes the text that stands below an error message: the file, the line with `^` below the
    /// mistake, and the fix.
    ///
    /// # Errors
    /// When `f` cannot be written.
    pub fn show(&self, f: &mut fmt::Formatter<'_>, file: &str, fix: &str) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        write!(f, "\n {gutter} --> {file}:{}:{}", self.line, self.column)?;
        // If the line is long, only the part around the place is shown.
        let first = (self.column - 1).saturating_sub(SHOWN_BEFORE);
        let total = self.text.chars().count();
        let shown: String = self.text.chars().skip(first).take(SHOWN).collect();
        let left = if first > 0 { "... " } else { "" };
        let right = if first + SHOWN < total { " ..." } else { "" };
        write!(f, "\n {number} | {left}{shown}{right}")?;
        // The indent repeats the tabs of the line, so the marks stand below the marked text.
        let before =
            left.chars().chain(self.text.chars().skip(first).take(self.column - 1 - first));
        let indent: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
        let width = self.width.min(SHOWN - (self.column - 1 - first).min(SHOWN - 1));
        write!(f, "\n {gutter} | {indent}{} {fix}", "^".repeat(width))
    }
}

/// The last boundary between characters at or before the byte `at`.
fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The number of the line that contains the byte `at` of a text. The first line has the number 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Writes the text that stands below an error message if the mistake has no place in `file`.
///
/// # Errors
/// When `f` cannot be written.
pub fn show_placeless(f: &mut fmt::Formatter<'_>, file: &str, fix: &str) -> fmt::Result {
    write!(f, "\n   --> {file}")?;
    if fix.is_empty() { Ok(()) } else { write!(f, "\n    = {fix}") }
}

/// Returns a question that suggests the names in `known` that are most similar to `word`. A name is
/// also similar if it begins with `word`, or if `word` begins with the name. In this case, the name
/// and `word` must each have at least 4 octets. Returns `None` if no name is similar, or if `word`
/// is longer than 64 octets.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// The minimum length, in octets, of a beginning that a name and `word` share.
    const BEGINNING: usize = 4;
    if word.len() > 64 {
        return None;
    }
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(distance, name)| {
            let begins = word.starts_with(name) || name.starts_with(word);
            let alike = *distance <= (name.len().max(word.len()) / 3).max(1);
            alike || begins && name.len().min(word.len()) >= BEGINNING
        })
        .collect();
    let least = near.iter().map(|(distance, _)| *distance).min()?;
    near.retain(|(distance, _)| *distance == least);
    let names: Vec<String> = near.iter().map(|(_, name)| format!("`{name}`")).collect();
    Some(format!("did you mean {}?", names.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Displays a place in the form that it has below an error message.
    struct Shown(Place);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.show(f, "a.toml", "fix")
        }
    }

    /// The lines below an error message about the bytes `span` of `text`.
    fn lines(text: &str, span: Range<usize>) -> Vec<String> {
        Shown(Place::of(text, &span)).to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_name_with_the_same_beginning_is_suggested_if_no_name_is_more_similar() {
        let known = ["congestion", "receive", "receive_window", "rto"];
        let suggested = |word| did_you_mean(word, known);
        let question = |name: &str| Some(format!("did you mean `{name}`?"));
        assert_eq!(suggested("congestion_control"), question("congestion"));
        assert_eq!(suggested("recv"), None);
        assert_eq!(suggested("receive_win"), question("receive_window"));
        assert_eq!(suggested("rtomin"), None);
    }

    #[test]
    fn only_the_part_of_a_long_line_around_the_place_is_shown() {
        let text = format!("{}here{}", "a".repeat(500), "b".repeat(500));
        let shown = lines(&text, 500..504);
        let marked: Vec<char> = shown[2].chars().collect();
        assert_eq!(shown[2].len(), " 1 | ".len() + "... ".len() + SHOWN + " ...".len());
        let at = shown[3].find('^').expect("marks");
        assert_eq!(marked[at..at + 4].iter().collect::<String>(), "here");
        assert!(shown[3].ends_with("^^^^ fix"), "{}", shown[3]);
        assert!(shown[1].ends_with("a.toml:1:501"));
    }

    #[test]
    fn a_mark_is_at_most_as_long_as_the_shown_part_of_its_line() {
        let shown = lines(&"x".repeat(10_000), 0..10_000);
        assert_eq!(shown[3].matches('^').count(), SHOWN);
        assert_eq!(lines("a = 1\n\tb = x", 11..12)[2..], [" 2 | \tb = x", "   | \t    ^ fix"]);
    }
}
