//! Frames that wait, first in, first out.

use std::collections::VecDeque;

use crate::stage::Frame;
use crate::units::Time;

/// Frames with the instant of their arrival, and their octets together.
#[derive(Debug)]
pub(in crate::link) struct Fifo<F> {
    frames: VecDeque<(Time, F)>,
    bytes: u64,
}

impl<F> Default for Fifo<F> {
    fn default() -> Self {
        Self { frames: VecDeque::new(), bytes: 0 }
    }
}

impl<F: Frame> Fifo<F> {
    pub(super) fn add(&mut self, now: Time, frame: F) {
        self.bytes += u64::from(frame.size_bytes());
        self.frames.push_back((now, frame));
    }

    /// The frame that has waited longest, and since when.
    pub(super) fn take(&mut self) -> Option<(Time, F)> {
        let (since, frame) = self.frames.pop_front()?;
        self.bytes -= u64::from(frame.size_bytes());
        Some((since, frame))
    }

    /// Frames and octets.
    #[expect(clippy::cast_possible_truncation, reason = "no queue holds 2^32 frames")]
    pub(super) fn held(&self) -> (u32, u64) {
        (self.frames.len() as u32, self.bytes)
    }
}
