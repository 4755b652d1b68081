//! Foreign algorithms: retransmission timers and congestion control from outside the core (this
//! crate). This module has their names, the search for them, and their failures.
//!
//! The name of a foreign algorithm says where its code is, as in `timer.py:Peak` or
//! `package.module:Peak`. The name may also be a word by which an installed package offers the
//! algorithm. Constants may follow: `timer.py:Peak:k=3`. The core itself runs only Rust. A crate
//! that can run another language gives a [`Seam`] a function that finds algorithms by name.

mod fault;
mod pin;

use std::sync::OnceLock;

use serde::Serialize;

pub use fault::{ForeignFault, fail, watched};
pub use pin::{code_file, fingerprint, has_place, pinned, unpinned};

/// The origin of an algorithm. The record of a run contains it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Origin {
    /// The text that names the algorithm, with the beginning of the code's fingerprint.
    pub text: String,
    /// The name of the file with the algorithm's code, without folders.
    pub file: String,
    /// The SHA-256 of the file in hexadecimal.
    pub sha256: String,
}

/// The reason why a text does not name an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {fix}")]
pub struct ForeignError {
    /// The mistake.
    pub message: String,
    /// The fix: what to write or to do.
    pub fix: String,
}

/// The result of looking up a text. It is `None` if the text names no foreign algorithm. Otherwise
/// it is the algorithm or an error.
pub type Lookup<A> = Option<Result<&'static A, ForeignError>>;

/// The access to foreign algorithms of one kind, `A`. Each algorithm is found once and kept until
/// the process ends. A configuration that contains the algorithm can therefore be copied like any
/// other configuration.
pub struct Seam<A: ?Sized + 'static> {
    finder: OnceLock<Finder<A>>,
}

/// The functions of a crate that can run another language.
pub struct Finder<A: ?Sized + 'static> {
    /// Looks up the algorithm that a text names.
    pub find: fn(&str) -> Lookup<A>,
    /// The words by which installed packages offer algorithms.
    pub offered: fn() -> Vec<String>,
}

impl<A: ?Sized> Default for Seam<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: ?Sized> Seam<A> {
    /// Makes a seam without a finder.
    pub const fn new() -> Self {
        Self { finder: OnceLock::new() }
    }

    /// Lets `finder` find algorithms from now on. Only the first call has an effect.
    pub fn open(&self, finder: Finder<A>) {
        let _ = self.finder.set(finder);
    }

    /// Looks up the algorithm that `text` names. Without a finder, the result is `None`.
    pub fn find(&self, text: &str) -> Lookup<A> {
        self.finder.get().and_then(|finder| (finder.find)(text))
    }

    /// The words by which installed packages offer algorithms.
    pub fn offered(&self) -> Vec<String> {
        self.finder.get().map_or_else(Vec::new, |finder| (finder.offered)())
    }
}

/// A function that receives the code of a file: the file's [pinned](pinned) name and its text.
pub type Learn = fn(&str, &str);

/// The function that receives each code file that a scenario names. It is called before an
/// algorithm of this file is looked up.
static LEARN: OnceLock<Learn> = OnceLock::new();

/// Sets the function that receives the code of files. Only the first call has an effect.
pub fn learn_with(learn: Learn) {
    let _ = LEARN.set(learn);
}

/// Passes the code of a file to the function that [`learn_with`] has set, if there is one.
pub fn learn(name: &str, code: &str) {
    if let Some(learn) = LEARN.get() {
        learn(name, code);
    }
}
