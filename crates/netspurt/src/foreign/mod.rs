//! Algorithms that are not the core's: how they are named, who finds them, and how they fail.
//!
//! A name is a place, `timer.py:Peak` or `package.module:Peak`, or a word by which an installed
//! package offers an algorithm; constants may follow, `timer.py:Peak:k=3`. The core knows no
//! language but its own. Whoever knows one gives a [`Seam`] a function that finds algorithms by name.

mod fault;
mod pin;

use std::sync::OnceLock;

use serde::Serialize;

pub use fault::{ForeignFault, fail, watched};
pub use pin::{code_file, fingerprint, has_place, pinned, unpinned};

/// Where an algorithm comes from, for records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Origin {
    /// The text that names it, with the beginning of the code's fingerprint.
    pub text: String,
    /// The file of its code, without folders.
    pub file: String,
    /// The SHA-256 of that file in hexadecimal.
    pub sha256: String,
}

/// Why a text names no algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {fix}")]
pub struct ForeignError {
    /// What is wrong.
    pub message: String,
    /// What to write.
    pub fix: String,
}

/// What is found under a text: nothing, an algorithm, or a mistake.
pub type Lookup<A> = Option<Result<&'static A, ForeignError>>;

/// The place where algorithms of one kind, `A`, come in. Each is found once and kept for as long as
/// the process runs, so that a configuration with it can be copied like any other.
pub struct Seam<A: ?Sized + 'static> {
    finder: OnceLock<Finder<A>>,
}

/// The functions of whoever knows a language.
pub struct Finder<A: ?Sized + 'static> {
    /// The algorithm that a text names.
    pub find: fn(&str) -> Lookup<A>,
    /// The words by which algorithms are offered.
    pub offered: fn() -> Vec<String>,
}

impl<A: ?Sized> Default for Seam<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: ?Sized> Seam<A> {
    /// A seam at which nobody is yet.
    pub const fn new() -> Self {
        Self { finder: OnceLock::new() }
    }

    /// From now on `finder` finds algorithms; the first one stays.
    pub fn open(&self, finder: Finder<A>) {
        let _ = self.finder.set(finder);
    }

    /// What `text` names.
    pub fn find(&self, text: &str) -> Lookup<A> {
        self.finder.get().and_then(|finder| (finder.find)(text))
    }

    /// The words by which algorithms are offered.
    pub fn offered(&self) -> Vec<String> {
        self.finder.get().map_or_else(Vec::new, |finder| (finder.offered)())
    }
}

/// Learns the code of a file: its [pinned](pinned) name and its text.
pub type Learn = fn(&str, &str);

/// Who learns code before a text names what is in it.
static LEARN: OnceLock<Learn> = OnceLock::new();

/// From now on `learn` is told of code; the first one stays.
pub fn learn_with(learn: Learn) {
    let _ = LEARN.set(learn);
}

/// Tells whoever knows languages of the code in a file.
pub fn learn(name: &str, code: &str) {
    if let Some(learn) = LEARN.get() {
        learn(name, code);
    }
}
