//! What is wrong with a scenario: where, what, and what to write instead.

use core::fmt;

use crate::place::{Place, show_placeless};

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

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        if let Some(place) = &self.place {
            return place.show(f, &self.file, &self.fix);
        }
        let key = match self.key.as_str() {
            key if self.set => format!(" with {key} = {}", self.value),
            "" => String::new(),
            key => format!(" ({key})"),
        };
        show_placeless(f, &format!("{}{key}", self.file), &self.fix)
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
