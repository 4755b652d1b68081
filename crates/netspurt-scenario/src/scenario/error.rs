//! The error for a mistake in a scenario, with its place and its fix.

use core::fmt;

use netspurt::place::{Place, show_placeless};

/// A mistake in a scenario.
///
/// Its text has the mistake, the file and the fix. If the mistake is in a line of a file, the text
/// shows this line. Otherwise it names the key, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The mistake.
    pub message: String,
    /// The fix; may be empty.
    pub fix: String,
    /// The scenario's name, usually the path of its file. If the mistake is in a file that a link
    /// follows, the name of this file.
    pub file: String,
    /// The key: a dotted path from the top of the file. Entries of lists are numbers from 0 in
    /// brackets. Empty if the mistake concerns the whole file.
    pub key: String,
    /// The value that was set over the file, if it is to blame. Otherwise the wrong value in the
    /// file, as written. Empty if a key of the file is missing or unknown, if keys were removed
    /// from the file before, or if the mistake is in a file that a link follows.
    pub value: String,
    /// The place in the file; `None` if a setting is wrong, if keys were removed from the file
    /// before, or if the mistake has no place in the file.
    pub place: Option<Place>,
    /// Whether the mistake is in a value that was set over the file, for example with `--set`.
    pub set: bool,
    /// The paths of the keys that were removed from the file before, for example with `--unset`.
    /// Empty if the mistake is in a value that was set, or in a file that a link follows.
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

/// A mistake found after parsing, with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The path from the top of the file, key by key.
    pub(super) path: Vec<String>,
    /// Paths of other keys that contribute to the mistake.
    pub(super) also: Vec<Vec<String>>,
    /// Whether the key itself is to blame, and not its value.
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
