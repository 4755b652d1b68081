//! A first-in, first-out queue of frames.

use crate::link::transit::Parcel;
use crate::ring::Ring;
use crate::units::Time;

/// Frames with the instants of their arrival, and the sum of their octets.
#[derive(Debug, Default)]
pub(in crate::link) struct Fifo {
    frames: Ring<(Time, Parcel)>,
    bytes: u64,
}

impl Fifo {
    pub(super) fn add(&mut self, now: Time, parcel: Parcel) {
        self.bytes += u64::from(parcel.size_bytes());
        self.frames.push((now, parcel));
    }

    /// Removes the frame that has waited longest and returns this frame with the instant of its
    /// arrival.
    pub(super) fn take(&mut self) -> Option<(Time, Parcel)> {
        let (since, parcel) = self.frames.pop()?;
        self.bytes -= u64::from(parcel.size_bytes());
        Some((since, parcel))
    }

    /// The numbers of waiting frames and octets.
    pub(super) fn held(&self) -> (u32, u64) {
        (self.frames.len(), self.bytes)
    }
}
