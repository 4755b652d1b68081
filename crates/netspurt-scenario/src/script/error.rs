//! The error for a mistake in a script: what is wrong, where, and what to write instead. A script
//! is a test in packetdrill's notation.

use core::fmt;
use core::ops::Range;

use netspurt::place::{Place, did_you_mean, show_placeless};

/// A mistake in a script.
///
/// ```
/// use netspurt_scenario::script::Script;
/// let error = Script::parse("a.pkt", "0 < S 0:0(0) wni 100").unwrap_err();
/// let place = error.place.as_ref().unwrap();
/// assert_eq!((place.line, place.column), (1, 14));
/// assert!(error.to_string().contains("--> a.pkt:1:14"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// What is wrong.
    pub message: String,
    /// The fix; may be empty.
    pub fix: String,
    /// The script's name, usually its file's path.
    pub file: String,
    /// The place in the script; `None` if the mistake is not in the lines of the script.
    pub place: Option<Place>,
}

impl ScriptError {
    /// Makes the error for `mistake` in the script called `file`, whose text is `source`.
    pub(super) fn new(file: &str, source: &str, mistake: Mistake) -> Self {
        let place = Some(Place::of(source, &mistake.span));
        Self { message: mistake.message, fix: mistake.fix, file: file.to_owned(), place }
    }

    /// Makes the error for a mistake outside the lines of the script called `file`.
    pub(super) fn placeless(file: &str, message: String, fix: String) -> Self {
        Self { message, fix, file: file.to_owned(), place: None }
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

/// A mistake and the range of bytes in the source where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) fix: String,
}

impl Mistake {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), fix: String::new() }
    }

    pub(super) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// The mistake of an unknown `word`. The fix suggests the most similar known words, or lists
    /// all known words.
    pub(super) fn unknown<'a>(
        span: Range<usize>,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let fix = did_you_mean(word, known.clone()).unwrap_or_else(|| {
            let names: Vec<String> = known.into_iter().map(|n| format!("`{n}`")).collect();
            format!("write one of {}", names.join(", "))
        });
        Self::new(span, format!("unknown {what} `{word}`")).fix(fix)
    }
}
