//! Reads a file as a stream, and decompresses it if it is compressed with gzip or zstd.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::guard::guarded;

#[cfg(test)]
mod tests;

/// Contents of at most `ANY_RATIO` octets (64 MiB) are accepted, however short the compressed file
/// is.
const ANY_RATIO: u64 = 1 << 26;
/// Longer contents may be at most `MOST_RATIO` times as long as the part of the file that was read
/// so far. The greatest ratio of gzip is 1032 (RFC 1951), and the greatest ratio of zstd is 32 768
/// (RFC 8878). With zstd, captured segments of 64 KiB of zeros reach a ratio of 4000.
const MOST_RATIO: u64 = 10_000;

/// The first octet of a member of gzip (RFC 1952 §2.3.1).
const MEMBER_BEGINS: u8 = 0x1f;

/// The number of octets of a compressed file that are read at once.
const ROOM: usize = 1 << 16;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip, with one or several members (RFC 1952 §2.2).
    Gzip,
    /// zstd, with one or several frames (RFC 8878 §3).
    Zstd,
}

impl Packing {
    /// The compression of a file that begins with `bytes`. `None` if the file is not compressed.
    ///
    /// ```
    /// use netspurt::unpack::Packing;
    /// assert_eq!(Packing::of(&[0x1f, 0x8b, 8, 0]), Some(Packing::Gzip));
    /// assert_eq!(Packing::of(b"PING"), None);
    /// ```
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [MEMBER_BEGINS, 0x8b, ..] => Some(Self::Gzip),
            // The first pattern is the magic number of a frame. The second is the magic number of a
            // skippable frame, which parallel compressors write first (RFC 8878 §3.1.2).
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The name of the compression of a file that begins with `bytes`. `None` if the file is not
    /// compressed, or if its compression can be read.
    ///
    /// ```
    /// use netspurt::unpack::Packing;
    /// assert_eq!(Packing::unknown(b"BZh91AY"), Some("bzip2"));
    /// assert_eq!(Packing::unknown(b"PING"), None);
    /// ```
    pub fn unknown(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [0xfd, b'7', b'z', b'X', ..] => Some("xz"),
            [b'B', b'Z', b'h', ..] => Some("bzip2"),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
            [b'P', b'K', 3, 4, ..] => Some("zip"),
            _ => None,
        }
    }

    /// The name of the compression.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Reads the contents of a file, whether it is compressed or not.
///
/// The memory is bounded: 128 MiB for the window of zstd, less than 1 MiB for gzip. Contents of
/// more than 64 MiB must not exceed 10 000 times the number of octets that were read from the file
/// so far. A file that exceeds this limit was made to keep readers busy.
///
/// ```
/// use std::io::Read;
/// use netspurt::unpack::Unpacked;
/// let mut text = String::new();
/// Unpacked::new(&b"not compressed"[..]).unwrap().read_to_string(&mut text).unwrap();
/// assert_eq!(text, "not compressed");
/// ```
pub struct Unpacked<R: Read> {
    contents: PackedStream<R>,
    /// The number of octets of contents read so far, if the file is compressed.
    length: u64,
}

enum PackedStream<R: Read> {
    Plain(Begun<R>),
    Gzip(Box<Members<R>>),
    Zstd(Box<Frames<R>>),
}

impl<R: Read> Unpacked<R> {
    /// Reads the first octets of `source`, which show how it is compressed.
    ///
    /// # Errors
    /// When `source` fails.
    pub fn new(source: R) -> io::Result<Self> {
        let begun = Begun::new(source)?;
        let contents = match Packing::of(begun.first()) {
            None => PackedStream::Plain(begun),
            Some(Packing::Gzip) => {
                let source = BufReader::with_capacity(ROOM, begun);
                PackedStream::Gzip(Box::new(Members { current: Some(GzDecoder::new(source)) }))
            }
            Some(Packing::Zstd) => PackedStream::Zstd(Box::new(Frames {
                source: BufReader::with_capacity(ROOM, begun),
                decoder: FrameDecoder::new(),
                within: false,
                cut: false,
            })),
        };
        Ok(Self { contents, length: 0 })
    }

    /// How the file is compressed.
    pub fn packing(&self) -> Option<Packing> {
        match self.contents {
            PackedStream::Plain(_) => None,
            PackedStream::Gzip(_) => Some(Packing::Gzip),
            PackedStream::Zstd(_) => Some(Packing::Zstd),
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let (packing, count, packed) = match &mut self.contents {
            PackedStream::Plain(begun) => return begun.read(out),
            PackedStream::Gzip(members) => (Packing::Gzip, members.read(out), members.length()),
            PackedStream::Zstd(frames) => {
                (Packing::Zstd, frames.read(out), frames.source.get_ref().length)
            }
        };
        let name = packing.name();
        let count = count.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("{name}: {error}")),
        })?;
        self.length += count as u64;
        if self.length > ANY_RATIO.max(packed.saturating_mul(MOST_RATIO)) {
            let message = format!(
                "the part of the {name} file that was read so far expands to more than \
                 {MOST_RATIO} times its length"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(count)
    }
}

/// A source of octets. Its first octets were read in advance, to find out how the source is
/// compressed.
struct Begun<R> {
    first: [u8; 4],
    /// The range `start..end` of the octets in `first` was not yet passed to the reader.
    start: usize,
    end: usize,
    source: R,
    /// The number of octets passed to the reader.
    length: u64,
}

impl<R: Read> Begun<R> {
    fn new(mut source: R) -> io::Result<Self> {
        let (mut first, mut end) = ([0; 4], 0);
        while end < first.len() {
            match source.read(&mut first[end..]) {
                Ok(0) => break,
                Ok(count) => end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { first, start: 0, end, source, length: 0 })
    }

    fn first(&self) -> &[u8] {
        &self.first[self.start..self.end]
    }
}

impl<R: Read> Read for Begun<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = match self.start < self.end {
            true => (&self.first[self.start..self.end]).read(out)?,
            false => return self.source.read(out).inspect(|count| self.length += *count as u64),
        };
        self.start += count;
        self.length += count as u64;
        Ok(count)
    }
}

/// The members of a file of gzip. Zeros after a member are left out, because some programs fill
/// the last block of a file with zeros. The program gzip ignores these zeros as well.
struct Members<R: Read> {
    /// The member that is being read. Never `None` between two calls.
    current: Option<GzDecoder<BufReader<Begun<R>>>>,
}

impl<R: Read> Members<R> {
    /// The number of compressed octets that were read.
    fn length(&self) -> u64 {
        self.current.as_ref().map_or(0, |member| member.get_ref().get_ref().length)
    }

    /// Skips zeros. Returns whether a further member follows.
    ///
    /// # Errors
    /// When other octets follow.
    fn has_more(source: &mut impl BufRead) -> io::Result<bool> {
        loop {
            let rest = source.fill_buf()?;
            let zeros = rest.iter().take_while(|octet| **octet == 0).count();
            let (is_over, has_more) = (rest.is_empty(), zeros < rest.len());
            if has_more && rest[zeros] != MEMBER_BEGINS {
                let message = "other octets follow the compressed contents";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            source.consume(zeros);
            if is_over || has_more {
                return Ok(has_more);
            }
        }
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.current {
            let count = member.read(out)?;
            if count > 0 || out.is_empty() || !Self::has_more(member.get_mut())? {
                return Ok(count);
            }
            self.current = self.current.take().map(|ended| GzDecoder::new(ended.into_inner()));
        }
        Ok(0)
    }
}

/// The frames of a file of zstd.
struct Frames<R: Read> {
    source: BufReader<Begun<R>>,
    decoder: FrameDecoder,
    /// Whether the current frame may have contents. A skippable frame has none.
    within: bool,
    /// Whether the file ended within a frame.
    cut: bool,
}

impl<R: Read> Frames<R> {
    /// The number of octets of a block's header.
    const HEADER: u64 = 3;
    /// A last block without octets, which ends a frame, and zeros in place of a checksum (RFC 8878
    /// §3.1.1).
    const LAST: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

    /// Begins the next frame, and returns whether it has contents.
    fn begin(&mut self) -> io::Result<bool> {
        let Self { source, decoder, .. } = self;
        match guarded(|| decoder.reset(&mut *source)) {
            Some(Ok(())) => Ok(true),
            Some(Err(FrameDecoderError::ReadFrameHeaderError(
                ReadFrameHeaderError::SkipFrame { length, .. },
            ))) => {
                let skipped = io::copy(&mut source.take(length.into()), &mut io::sink())?;
                match skipped == u64::from(length) {
                    true => Ok(false),
                    false => Err(cut()),
                }
            }
            Some(Err(_)) if source.fill_buf()?.is_empty() => Err(cut()),
            Some(Err(FrameDecoderError::WindowSizeTooBig { .. })) => {
                Err(damaged("a frame needs a window of more than 128 MiB (RFC 8878 §3.1.1.1.2)"))
            }
            Some(Err(_)) | None => Err(damaged("a frame is damaged")),
        }
    }

    /// Decodes a block of the frame. If the file ends within the block or within the checksum after
    /// it, this method decodes an empty last block. The empty block ends the frame, so that the
    /// decoder returns the contents that it holds back until a frame ends.
    fn block(&mut self) -> io::Result<()> {
        let mut block = Vec::new();
        self.cut = !self.fetch(Self::HEADER, &mut block)?;
        if let [first, second, third] = block[..] {
            // A block of kind 1 consists of one octet, which is repeated.
            let header = u32::from_le_bytes([first, second, third, 0]);
            let octets = if header >> 1 & 3 == 1 { 1 } else { header >> 3 };
            self.cut = !self.fetch(octets.into(), &mut block)?;
        }
        let Self { source, decoder, .. } = self;
        let one = || BlockDecodingStrategy::UptoBlocks(1);
        let decoded = match self.cut {
            true => None,
            false => Some(guarded(|| decoder.decode_blocks((&block[..]).chain(source), one()))),
        };
        match decoded {
            Some(Some(Ok(_))) => return Ok(()),
            None | Some(Some(Err(FrameDecoderError::FailedToReadChecksum(_)))) => self.cut = true,
            Some(Some(Err(_)) | None) => return Err(damaged("a block is damaged")),
        }
        match guarded(|| self.decoder.decode_blocks(&Self::LAST[..], one())) {
            Some(Ok(_)) => Ok(()),
            Some(Err(_)) | None => Err(cut()),
        }
    }

    /// Adds the next `octets` octets of the file to `block`. Returns whether the file had this
    /// number of octets.
    fn fetch(&mut self, octets: u64, block: &mut Vec<u8>) -> io::Result<bool> {
        let fetched = self.source.by_ref().take(octets).read_to_end(block)?;
        Ok(fetched as u64 == octets)
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            while self.within && self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.block()?;
            }
            if self.within {
                let count = self.decoder.read(out)?;
                if count > 0 {
                    return Ok(count);
                }
            }
            if self.cut {
                return Err(cut());
            }
            if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.within = self.begin()?;
        }
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends within a frame")
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
