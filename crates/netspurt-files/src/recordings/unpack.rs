//! Reads the whole contents of compressed files, within limits.

use std::io::Read;

use netspurt::unpack::{Packing, Unpacked};
use netspurt::wire::is_capture;

use super::reading::RecordingError;

/// The maximum number of octets of a text, and of the contents of a compressed file: 2 GiB.
pub(super) const CONTENT_BYTES_MAX: u64 = 1 << 31;

/// Contents of at most this length (64 MiB) are read at any compression ratio.
const ANY_RATIO: u64 = 1 << 26;
/// Contents longer than [`ANY_RATIO`] may be at most this many times as long as the compressed
/// file. Compression reduces recordings to about a tenth. A file that is reduced far more was
/// probably made to fill the memory.
const RATIO_MAX: u64 = 100;

/// The contents of a compressed file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decompressed {
    /// All octets, or the octets before the fault.
    pub octets: Vec<u8>,
    /// Why the file could not be read to its end. Only a capture is read in spite of a fault.
    pub fault: Option<String>,
}

/// Decompresses a file; `None` if the file is not compressed.
///
/// # Errors
/// When the file is damaged and its contents do not begin as a capture. Also when its contents are
/// longer than `octets_max` or suspiciously long (see [`RATIO_MAX`]).
pub(super) fn unpack(
    bytes: &[u8],
    octets_max: u64,
) -> Result<Option<Decompressed>, RecordingError> {
    let Some(packing) = Packing::of(bytes) else { return Ok(None) };
    let octets_max = octets_max.min(ANY_RATIO.max(RATIO_MAX * bytes.len() as u64));
    let mut unpacked = Vec::new();
    let contents = Unpacked::new(bytes).map(|contents| contents.take(octets_max + 1));
    let read = contents.and_then(|mut contents| contents.read_to_end(&mut unpacked));
    let fault = read.err().map(|error| error.to_string());
    if let Some(fault) = &fault
        && !is_capture(&unpacked)
    {
        return Err(RecordingError::new(fault, "get the complete file"));
    }
    if unpacked.len() as u64 > octets_max {
        let content = format!("the file that {} compressed contains", packing.name());
        return Err(too_long(
            &content,
            octets_max,
            "decompress it first, and split it if it is long",
        ));
    }
    Ok(Some(Decompressed { octets: unpacked, fault }))
}

/// Returns the error for a text or for contents that are longer than the limit. `content` is the
/// beginning of the message, as in `the text has`.
pub(super) fn too_long(content: &str, octets_max: u64, fix: &str) -> RecordingError {
    RecordingError::new(
        format!("{content} more than {octets_max} octets, and netspurt reads no more than that"),
        fix,
    )
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::read::GzEncoder;

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut packed = Vec::new();
        GzEncoder::new(text.as_bytes(), Compression::fast()).read_to_end(&mut packed).unwrap();
        packed
    }

    /// A frame with one raw block, of fewer than 256 octets (RFC 8878 §3.1.1).
    fn zstd(text: &str) -> Vec<u8> {
        let length = u8::try_from(text.len()).unwrap();
        let header = [0x28, 0xb5, 0x2f, 0xfd, 0x20, length];
        let block = (u32::from(length) << 3 | 1).to_le_bytes();
        [&header, &block[..3], text.as_bytes()].concat()
    }

    /// The contents of a whole file.
    fn whole(packed: &[u8], octets_max: u64) -> Vec<u8> {
        let contents = unpack(packed, octets_max).unwrap().unwrap();
        assert_eq!(contents.fault, None);
        contents.octets
    }

    #[test]
    fn all_members_of_gzip_and_all_frames_of_zstd_are_read() {
        let members = [gzip("one\n"), gzip("two\n")].concat();
        assert_eq!(whole(&members, CONTENT_BYTES_MAX), b"one\ntwo\n");
        // RFC 8878 §3.1.2: a skippable frame holds no contents.
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let frames = [zstd("one\n"), skippable.to_vec(), zstd("two\n")].concat();
        assert_eq!(whole(&frames, CONTENT_BYTES_MAX), b"one\ntwo\n");
        assert_eq!(unpack(b"one\n", CONTENT_BYTES_MAX), Ok(None));
    }

    #[test]
    fn contents_beyond_the_limit_are_an_error_that_names_the_limit() {
        for packed in
            [[gzip("12345"), gzip("67890")].concat(), [zstd("12345"), zstd("67890")].concat()]
        {
            assert_eq!(whole(&packed, 10).len(), 10);
            let error = unpack(&packed, 9).unwrap_err().to_string();
            assert!(error.contains("more than 9 octets"), "{error}");
        }
    }

    #[test]
    fn contents_far_longer_than_their_compressed_file_are_an_error() {
        let packed = gzip(&"0".repeat(usize::try_from(ANY_RATIO).unwrap() + 1));
        let error = unpack(&packed, CONTENT_BYTES_MAX).unwrap_err().to_string();
        assert!(error.contains(&format!("more than {ANY_RATIO} octets")), "{error}");
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error() {
        for packed in [gzip("some text of some length\n"), zstd("some text\n")] {
            assert!(unpack(&packed[..packed.len() - 9], CONTENT_BYTES_MAX).is_err());
        }
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 30, 0, 0, 0, 9];
        assert!(unpack(&[zstd("one\n"), skippable.to_vec()].concat(), CONTENT_BYTES_MAX).is_err());
    }
}
