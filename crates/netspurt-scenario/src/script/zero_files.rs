//! Files of zeros that a script makes. They exist only as lengths and are not on a disk. A script
//! is a test in packetdrill's notation.

use std::collections::BTreeMap;

use super::call::Fd;

/// The files of a host: the files that its script has made, and the open files.
#[derive(Debug, Default)]
pub(super) struct ZeroFiles {
    /// The length of each file in octets, by path.
    pub(super) made: BTreeMap<String, u64>,
    pub(super) open: BTreeMap<Fd, OpenFile>,
}

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFile {
    /// The length of the file.
    pub(super) bytes: u64,
    /// The octet at which the next `sendfile` without an offset begins.
    pub(super) at: u64,
}

impl ZeroFiles {
    /// Gives the file at `path` this length. `None` removes the file.
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

    /// Closes a file. Returns whether `fd` was an open file.
    pub(super) fn close(&mut self, fd: Fd) -> bool {
        self.open.remove(&fd).is_some()
    }
}
