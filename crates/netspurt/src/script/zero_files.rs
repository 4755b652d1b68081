//! Files of zeros that a script makes. None is on a disk.

use std::collections::BTreeMap;

use super::call::Fd;

/// The files of a host: what its scripts have made, and what is open. None is on a disk.
#[derive(Debug, Default)]
pub(super) struct ZeroFiles {
    /// Octets of each, by its path.
    pub(super) made: BTreeMap<String, u64>,
    pub(super) open: BTreeMap<Fd, OpenFile>,
}

/// A file that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFile {
    /// Its octets.
    pub(super) bytes: u64,
    /// Where `sendfile` without an offset goes on.
    pub(super) at: u64,
}

impl ZeroFiles {
    /// The file at `path` has this many octets, or is there no more.
    pub(super) fn make(&mut self, path: &str, bytes: Option<u64>) {
        match bytes {
            Some(bytes) => self.made.insert(path.to_owned(), bytes),
            None => self.made.remove(path),
        };
    }

    /// Whether `fd` is an open file.
    pub(super) fn holds(&self, fd: Fd) -> bool {
        self.open.contains_key(&fd)
    }

    /// Closes a file; whether it was one.
    pub(super) fn close(&mut self, fd: Fd) -> bool {
        self.open.remove(&fd).is_some()
    }
}
