//! What is wrong with an orbit, a station or a span, with the place and the fix.

use core::fmt;
use core::ops::Range;

use crate::place::{Place, show_placeless};

/// A mistake in elements, a station or a span of time.
///
/// Its text names the place, if a text is to blame, and the fix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrbitError {
    /// The mistake.
    pub message: String,
    /// The fix; may be empty.
    pub fix: String,
    /// The name of the text, usually the path of its file; empty if no text is to blame.
    pub file: String,
    /// The place in the text.
    pub place: Option<Place>,
}

/// An error, and the bytes that are to blame.
pub(super) type Blamed = (OrbitError, Range<usize>);

impl OrbitError {
    /// An error without a place.
    pub(super) fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { message: message.into(), fix: fix.into(), ..Self::default() }
    }

    /// The same, at a span of bytes of a text.
    pub(super) fn at(self, file: &str, text: &str, span: &Range<usize>) -> Self {
        Self { file: file.to_owned(), place: Some(Place::of(text, span)), ..self }
    }

    /// The same, for a text as a whole.
    pub(super) fn within(self, file: &str) -> Self {
        Self { file: file.to_owned(), ..self }
    }
}

impl fmt::Display for OrbitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.place {
            Some(place) => place.show(f, &self.file, &self.fix),
            None if !self.file.is_empty() => show_placeless(f, &self.file, &self.fix),
            None if !self.fix.is_empty() => write!(f, ": {}", self.fix),
            None => Ok(()),
        }
    }
}

impl core::error::Error for OrbitError {}
