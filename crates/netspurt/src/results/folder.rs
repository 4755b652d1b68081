//! Writes a run's files into a folder, which the caller provides.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::foreign::Origin;
use crate::record::write_table;

use super::contents::RunContents;
use super::files::{FORMAT, MANIFEST, SCENARIO, table_file};
use super::run::Results;

/// A folder in which files can be created.
pub trait Folder {
    /// A file that is being written.
    type File: Write + Send;

    /// Begins a file.
    ///
    /// # Errors
    /// When the file exists already, or cannot be created.
    fn create(&mut self, name: &str) -> io::Result<Self::File>;

    /// Ends a file and makes sure that its octets are stored.
    ///
    /// # Errors
    /// When the octets cannot be stored.
    fn finish(&mut self, file: Self::File) -> io::Result<()>;
}

/// The facts that identify a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunIdentity<'a> {
    /// One line that says what the run shows.
    pub title: &'a str,
    /// Where the scenario came from.
    pub source: &'a str,
    /// The seed of the run's random draws.
    pub seed: u64,
    /// The scenario with every default written out, as TOML.
    pub scenario: &'a str,
    /// The algorithms in the scenario whose code is not in this crate.
    pub algorithms: &'a [Origin],
}

/// The manifest of a run folder: the facts that identify the run, the list of its contents, and the
/// checksums of its files.
#[derive(Serialize)]
struct Manifest<'a> {
    format: u32,
    /// The version of netspurt that wrote the folder.
    netspurt: &'static str,
    title: &'a str,
    source: &'a str,
    seed: u64,
    /// The algorithms whose code is not in this crate, and the SHA-256 of their files.
    #[serde(skip_serializing_if = "<[Origin]>::is_empty")]
    algorithms: &'a [Origin],
    #[serde(flatten)]
    contents: &'a RunContents,
    /// The SHA-256 of each file in hexadecimal, by the file's name.
    files: BTreeMap<String, String>,
}

/// Writes a run's files, and keeps the SHA-256 of each.
#[derive(Debug)]
pub struct FolderWriter<F> {
    folder: F,
    files: BTreeMap<String, String>,
}

impl<F: Folder> FolderWriter<F> {
    /// Creates a writer of the files of `folder`.
    pub fn new(folder: F) -> Self {
        Self { folder, files: BTreeMap::new() }
    }

    /// Creates the file `name`. The function `fill` writes the content and returns the file.
    ///
    /// # Errors
    /// When the file cannot be written. The error names the file.
    pub fn put(
        &mut self,
        name: &str,
        fill: impl FnOnce(Hashed<F::File>) -> io::Result<Hashed<F::File>>,
    ) -> io::Result<()> {
        let written = || {
            let out = Hashed { out: self.folder.create(name)?, hash: Sha256::new() };
            let Hashed { out, hash } = fill(out)?;
            self.folder.finish(out)?;
            Ok(hex(hash))
        };
        let hash = written().map_err(|error| of_file(name, error))?;
        self.files.insert(name.to_owned(), hash);
        Ok(())
    }

    /// Adds the existing file `name`, whose content is `octets`, to the files of the manifest.
    ///
    /// # Errors
    /// When the octets cannot be read. The error names the file.
    pub fn note(&mut self, name: &str, mut octets: impl Read) -> io::Result<()> {
        let mut all = Hashed { out: io::sink(), hash: Sha256::new() };
        io::copy(&mut octets, &mut all).map_err(|error| of_file(name, error))?;
        self.files.insert(name.to_owned(), hex(all.hash));
        Ok(())
    }

    /// Whether the file called `name` was written, or was added with [`note`](Self::note).
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Writes the tables.
    ///
    /// # Errors
    /// When a table cannot be written.
    pub fn tables(&mut self, results: &Results) -> io::Result<()> {
        for table in results.tables() {
            self.put(&table_file(&table.name), |mut out| {
                write_table(table, &mut out)?;
                Ok(out)
            })?;
        }
        Ok(())
    }

    /// Writes the captures of a simulated run.
    ///
    /// # Errors
    /// When a capture cannot be written, or segments were not recorded.
    pub fn captures(&mut self, results: &Results) -> io::Result<()> {
        for (node, file) in results.captured().iter().zip(results.captures().values()) {
            self.put(file, |out| results.write_capture(*node, out).map_err(io::Error::other))?;
        }
        Ok(())
    }

    /// Writes a file of JSON.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn json(&mut self, name: &str, value: &impl Serialize) -> io::Result<()> {
        self.put(name, |mut out| {
            serde_json::to_writer_pretty(&mut out, value)?;
            out.write_all(b"\n")?;
            Ok(out)
        })
    }

    /// Writes a file with the code `text` of algorithms that the scenario names. The name of the
    /// file is the last part of `name`, without folders.
    ///
    /// # Errors
    /// When the file cannot be written, or when the folder already has a file of this name.
    pub fn code(&mut self, name: &str, text: &str) -> io::Result<()> {
        let file = name.rsplit('/').next().unwrap_or(name);
        if self.has(file) {
            let message = format!("another file has the same name as `{name}`: rename one of them");
            return Err(of_file(file, io::Error::new(io::ErrorKind::AlreadyExists, message)));
        }
        self.put(file, |mut out| {
            out.write_all(text.as_bytes())?;
            Ok(out)
        })
    }

    /// Writes the scenario, and then the manifest as the last file.
    ///
    /// # Errors
    /// When the scenario or the manifest cannot be written.
    pub fn end(mut self, identity: RunIdentity<'_>, contents: &RunContents) -> io::Result<()> {
        self.put(SCENARIO, |mut out| {
            out.write_all(identity.scenario.as_bytes())?;
            Ok(out)
        })?;
        let manifest = Manifest {
            format: FORMAT,
            netspurt: env!("CARGO_PKG_VERSION"),
            title: identity.title,
            source: identity.source,
            seed: identity.seed,
            algorithms: identity.algorithms,
            contents,
            files: std::mem::take(&mut self.files),
        };
        self.json(MANIFEST, &manifest)
    }
}

/// A file, with the SHA-256 of all octets written to it.
#[derive(Debug)]
pub struct Hashed<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let count = self.out.write(octets)?;
        self.hash.update(&octets[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|octet| format!("{octet:02x}")).collect()
}

fn of_file(name: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}
