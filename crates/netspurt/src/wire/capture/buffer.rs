//! The octets of a capture file that the reader has not yet taken. The file is read as a stream.

use std::io::{self, Read};

/// The initial memory, in octets. The memory grows if more octets are needed at once.
pub(super) const ROOM: usize = 1 << 16;

/// The octets of a stream that are not yet taken. Some of them are in memory.
#[derive(Debug)]
pub(super) struct Buffer<R> {
    source: R,
    pub(super) octets: Vec<u8>,
    /// The range `start..end` of `octets` was read from the stream and is not yet taken.
    start: usize,
    end: usize,
    /// The number of octets of the stream before the range `start..end`.
    passed: u64,
}

impl<R: Read> Buffer<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, octets: vec![0; ROOM], start: 0, end: 0, passed: 0 }
    }

    /// Reads until `octets` octets that are not yet taken are in memory. Returns whether the stream
    /// had enough octets.
    #[inline]
    pub(super) fn fill(&mut self, octets: usize) -> io::Result<bool> {
        if self.end - self.start >= octets { Ok(true) } else { self.read_on(octets) }
    }

    #[cold]
    fn read_on(&mut self, octets: usize) -> io::Result<bool> {
        if self.octets.len() - self.start < octets {
            self.octets.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.octets.resize(self.octets.len().max(octets), 0);
        }
        while self.end - self.start < octets {
            match self.source.read(&mut self.octets[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Takes `octets` octets, which must be in memory. Returns their index in memory.
    #[inline]
    pub(super) fn pass(&mut self, octets: usize) -> usize {
        let place = self.start;
        self.start += octets;
        self.passed += octets as u64;
        place
    }

    /// Skips `octets` octets, in memory or not. Returns whether the stream had enough octets.
    pub(super) fn skip(&mut self, mut octets: usize) -> io::Result<bool> {
        while octets > 0 {
            let part = octets.min(ROOM);
            if !self.fill(part)? {
                return Ok(false);
            }
            self.pass(part);
            octets -= part;
        }
        Ok(true)
    }

    /// Whether all octets in memory are taken.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The offset of the next octet in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.passed
    }

    /// The octets in memory that are not yet taken.
    #[inline]
    pub(super) fn unread(&self) -> &[u8] {
        &self.octets[self.start..self.end]
    }

    /// The octets at the index `place` that [`pass`](Self::pass) returned. The index is valid until
    /// the next call of [`fill`](Self::fill) or [`skip`](Self::skip).
    #[inline]
    pub(super) fn at(&self, place: usize, octets: usize) -> &[u8] {
        &self.octets[place..place + octets]
    }
}
