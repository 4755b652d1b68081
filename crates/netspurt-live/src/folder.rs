//! A folder on the disk into which the files of a run are written.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use netspurt::results::{Folder, FolderWriter};

/// An existing folder. Files in it are never overwritten.
#[derive(Clone, Debug)]
pub struct DiskFolder(PathBuf);

impl DiskFolder {
    /// Returns the folder at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Folder for DiskFolder {
    type File = BufWriter<File>;

    fn create(&mut self, name: &str) -> io::Result<BufWriter<File>> {
        File::create_new(self.0.join(name)).map(BufWriter::new)
    }

    fn finish(&mut self, file: BufWriter<File>) -> io::Result<()> {
        file.into_inner().map_err(io::Error::from)?.sync_all()
    }
}

/// Registers every file in the folder at `path` that `writer` did not write itself. Then the list
/// of files that `writer` makes includes these files.
///
/// # Errors
/// When the folder or a file cannot be read.
pub fn note_others(writer: &mut FolderWriter<DiskFolder>, path: &Path) -> io::Result<()> {
    for entry in path.read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !writer.has(&name) && entry.file_type()?.is_file() {
            writer.note(&name, File::open(entry.path())?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    #[test]
    fn files_are_not_overwritten_and_other_files_are_registered() {
        let place = std::env::temp_dir().join(format!("netspurt-folder-{}", std::process::id()));
        fs::create_dir(&place).unwrap();
        fs::write(place.join("server.log"), "listening").unwrap();
        fs::create_dir(place.join("below")).unwrap();
        let mut writer = FolderWriter::new(DiskFolder::at(&place));
        let fill = |mut out: netspurt::results::Hashed<BufWriter<File>>| {
            out.write_all(b"words")?;
            Ok(out)
        };
        writer.put("own", fill).unwrap();
        let error = writer.put("own", fill).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(error.to_string().starts_with("own: "), "{error}");
        assert!(!writer.has("server.log"));
        note_others(&mut writer, &place).unwrap();
        assert!(writer.has("server.log") && !writer.has("below"));
        assert_eq!(fs::read(place.join("own")).unwrap(), b"words");
        fs::remove_dir_all(&place).unwrap();
    }
}
