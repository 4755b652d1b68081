//! The error for a mistake in an orbit, a station or a span of time, with its place and fix.

use core::fmt;
use core::ops::Range;

use netspurt::place::{Place, show_placeless};

/// A mistake in elements, a station or a span of time.
///
/// The printed error has the mistake, the fix, and the name of the text if there is a text. It also
/// shows the place in the text, if the place is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrbitError {
    /// The mistake.
    pub message: String,
    /// The fix; empty if none is known.
    pub fix: String,
    /// The name of the text with the mistake, usually the path of its file; empty if the mistake is
    /// not in a text.
    pub file: String,
    /// The place of the mistake in the text, if it is known.
    pub place: Option<Place>,
}

/// An error, and the range of the mistake's bytes in the text.
pub(super) type LocatedError = (OrbitError, Range<usize>);

impl OrbitError {
    /// Makes an error without a place.
    pub(super) fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { message: message.into(), fix: fix.into(), ..Self::default() }
    }

    /// Adds the place to the error: the bytes `span` of `text`. `file` is the name of this text.
    pub(super) fn at(self, file: &str, text: &str, span: &Range<usize>) -> Self {
        Self { file: file.to_owned(), place: Some(Place::of(text, span)), ..self }
    }

    /// Adds the name of the file to the error, for a mistake that concerns the whole text.
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
