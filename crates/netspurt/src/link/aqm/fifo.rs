//! Frames that wait, first in, first out.

use crate::link::Parcel;
use crate::ring::Ring;
use crate::units::Time;

/// Frames with the instant of their arrival, and their octets together.
#[derive(Debug, Default)]
pub(in crate::link) struct Fifo {
    frames: Ring<(Time, Parcel)>,
    bytes: u64,
}

impl Fifo {
    pub(super) fn add(&mut self, now: Time, parcel: Parcel) {
        self.bytes += u64::from(parcel.size_bytes);
        self.frames.push((now, parcel));
    }

    /// The frame that has waited longest, and since when.
    pub(super) fn take(&mut self) -> Option<(Time, Parcel)> {
        let (since, parcel) = self.frames.pop()?;
        self.bytes -= u64::from(parcel.size_bytes);
        Some((since, parcel))
    }

    /// Frames and octets.
    pub(super) fn held(&self) -> (u32, u64) {
        (self.frames.len(), self.bytes)
    }
}
