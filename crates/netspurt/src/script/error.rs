//! What is wrong with a script: where, what, and what to write instead.

use core::fmt;
use core::ops::Range;

use crate::place::{Place, did_you_mean, show_placeless};

use super::document::Script;

/// A mistake in a script.
///
/// ```
/// use netspurt::script::Script;
/// let error = Script::parse("a.pkt", "0 < S 0:0(0) wni 100").unwrap_err();
/// let place = error.place.as_ref().unwrap();
/// assert_eq!((place.line, place.column), (1, 14));
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
    /// Where in the script; `None` where no line of it is to blame.
    pub place: Option<Place>,
}

impl ScriptError {
    /// The mistake `slip` in a script called `file`.
    pub(super) fn new(file: &str, source: &str, slip: Slip) -> Self {
        let place = Some(Place::of(source, &slip.span));
        Self { message: slip.message, fix: slip.fix, file: file.to_owned(), place }
    }

    /// A mistake that no line of the script called `file` is to blame for.
    pub(super) fn placeless(file: &str, message: String, fix: String) -> Self {
        Self { message, fix, file: file.to_owned(), place: None }
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
        let place = Some(Place { line, column, text, width });
        Self { message, fix, file: script.name.clone(), place }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        match &self.place {
            Some(place) => place.show(f, &self.file, &self.fix),
            None => show_placeless(f, &self.file, &self.fix),
        }
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
        let fix = did_you_mean(word, known.clone()).unwrap_or_else(|| {
            let names: Vec<String> = known.into_iter().map(|n| format!("`{n}`")).collect();
            format!("there are {}", names.join(", "))
        });
        Self::new(span, format!("unknown {what} `{word}`")).fix(fix)
    }
}
