//! The error for a mistake in a scenario, with its place and its fix.

use core::fmt;

use netspurt::place::{Place, show_placeless};

/// A mistake in a scenario.
///
/// The text of the error has the mistake, the file and the fix. If the place of the mistake is
/// known, the text shows the line. Otherwise the text names the key, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The mistake.
    pub message: String,
    /// The fix; may be empty.
    pub fix: String,
    /// The scenario's name, usually the path of its file. A followed file is a file that a link
    /// names with the key `follows`. If the mistake is in a followed file, this is the name of that
    /// file.
    pub file: String,
    /// The key: a dotted path from the top of the file. Entries of lists are numbers from 0 in
    /// brackets. Empty if the mistake concerns the whole file.
    pub key: String,
    /// The wrong value: the value that was given with `--set`, or the value as it is written in the
    /// file. If a key is missing in an inline table, this is the text of the table. Otherwise this
    /// field is empty, for example if a key is unknown, if the mistake is in a followed file, or if
    /// the file is not TOML.
    pub value: String,
    /// The place in `file`. A mistake in a key or a value of a followed file always has a place.
    /// `None` if a value given with `--set` is wrong, if keys were removed with `--unset`, or if
    /// the mistake concerns no single place in the file.
    pub place: Option<Place>,
    /// Whether the mistake is certainly or probably in a value that overrides the file, for example
    /// with `--set`.
    pub set: bool,
    /// The paths of the keys that were removed from the scenario's text before it was read, for
    /// example with `--unset`. Empty if the mistake is certainly in a value that was set, or if it
    /// is in a key or a value of a followed file. Also empty if the file is not TOML.
    pub unset: Vec<String>,
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
        let without = match self.unset.as_slice() {
            [] => String::new(),
            removed => format!(" without {}", removed.join(", ")),
        };
        show_placeless(f, &format!("{}{key}{without}", self.file), &self.fix)
    }
}

impl std::error::Error for ScenarioError {}

/// A mistake, with the path of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The path from the top of the file, key by key.
    pub(super) path: Vec<String>,
    /// Paths of other keys that contribute to the mistake.
    pub(super) also: Vec<Vec<String>>,
    /// Whether the mistake is in the key itself, and not in its value.
    pub(super) key: bool,
    /// Whether the table at `path` lacks a required key.
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

    /// Adds another key that contributes to the mistake.
    pub(super) fn also<const N: usize>(mut self, path: [&str; N]) -> Self {
        self.also.push(path.into_iter().map(str::to_owned).collect());
        self
    }

    /// Marks that the table at `path` lacks a required key.
    pub(super) fn incomplete(mut self) -> Self {
        self.incomplete = true;
        self
    }

    /// Blames the key and not its value.
    pub(super) fn of_the_key(mut self) -> Self {
        self.key = true;
        self
    }

    pub(super) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }
}
