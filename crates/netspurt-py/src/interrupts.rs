//! Ends the reading or writing of long files if a signal has arrived, such as the signal of Ctrl-C.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

use netspurt::results::Folder;
use netspurt_live::folder::DiskFolder;
use pyo3::prelude::*;

/// The exception that a signal's handler raised.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Runs the handlers of the signals that have arrived.
    ///
    /// # Errors
    /// When a handler raised an exception. [`raise`](Self::raise) then raises this exception.
    pub fn check(&self) -> io::Result<()> {
        let Err(raised) = Python::attach(|py| py.check_signals()) else { return Ok(()) };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
        Err(io::Error::other("interrupted"))
    }

    /// Raises the exception, if there is one.
    ///
    /// # Errors
    /// When a handler raised an exception.
    pub fn raise(&self) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// A folder on the disk. If a signal's handler raises an exception, the writing of a file in this
/// folder stops.
pub struct InterruptibleFolder {
    folder: DiskFolder,
    raised: Raised,
}

impl InterruptibleFolder {
    /// Returns the folder at `path`. The exception of a handler is kept in `raised`.
    pub fn at(path: &str, raised: Raised) -> Self {
        Self { folder: DiskFolder::at(path), raised }
    }
}

impl Folder for InterruptibleFolder {
    type File = InterruptibleFile;

    fn create(&mut self, name: &str) -> io::Result<InterruptibleFile> {
        self.raised.check()?;
        let file = self.folder.create(name)?;
        Ok(InterruptibleFile { file, raised: self.raised.clone(), unchecked: 0 })
    }

    fn finish(&mut self, file: InterruptibleFile) -> io::Result<()> {
        self.raised.check()?;
        self.folder.finish(file.file)
    }
}

/// A file of an [`InterruptibleFolder`].
pub struct InterruptibleFile {
    file: BufWriter<File>,
    raised: Raised,
    /// The number of octets that were written since the last check for signals.
    unchecked: usize,
}

/// The number of octets after which signals are checked.
const CHECKED_EVERY: usize = 1 << 18;

impl Write for InterruptibleFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let count = self.file.write(octets)?;
        self.unchecked += count;
        if self.unchecked >= CHECKED_EVERY {
            self.unchecked = 0;
            self.raised.check()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
