//! The faults that stop the reading of a capture.

use core::fmt;
use std::io;

/// A kind of fault in a capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureTrouble {
    /// The file has no octets.
    #[error("the file is empty")]
    Empty,
    /// The file does not begin like a capture.
    #[error("neither pcap nor pcapng")]
    Unknown,
    /// The file is compressed in a way that cannot be read. The field names the compression.
    #[error("compressed with {0}: decompress the file first")]
    Packed(&'static str),
    /// The version of the format is not known.
    #[error("version {major}.{minor} of {format} is not known")]
    Version {
        /// pcap or pcapng.
        format: &'static str,
        /// The major version.
        major: u16,
        /// The minor version.
        minor: u16,
    },
    /// The capture ends in the middle of the part that the field names.
    #[error("the capture ends within {0}")]
    Cut(&'static str),
    /// The file says that a packet has a length that no packet can have.
    #[error("a packet has {0} captured octets, more than any packet can have")]
    Length(u32),
    /// A block of a pcapng file breaks the rules of the format. The field says how.
    #[error("malformed block: {0}")]
    Malformed(&'static str),
    /// Reading the file failed.
    #[error("the rest of the capture cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// The fault that stopped the reading of a capture, and the offset of this fault.
///
/// ```
/// use netspurt::wire::{CaptureReader, CaptureTrouble};
/// let fault = CaptureReader::new(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0][..]).unwrap_err();
/// assert!(matches!(fault.what, CaptureTrouble::Cut(_)));
/// assert_eq!(
///     fault.to_string(),
///     "the capture ends within its header, at octet 0, before packet 1"
/// );
/// ```
#[derive(Debug)]
pub struct CaptureFault {
    /// The kind of fault.
    pub what: CaptureTrouble,
    /// The offset at which the header, the record or the block with the fault begins, in octets of
    /// the file. For a compressed file, this is the offset in the decompressed contents.
    pub offset: u64,
    /// The number of packets before the fault. All of them were read.
    pub packets: u64,
}

impl fmt::Display for CaptureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.what.fmt(f)?;
        match self.what {
            CaptureTrouble::Empty | CaptureTrouble::Unknown | CaptureTrouble::Packed(_) => Ok(()),
            _ => write!(f, ", at octet {}, before packet {}", self.offset, self.packets + 1),
        }
    }
}

impl core::error::Error for CaptureFault {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.what.source()
    }
}
