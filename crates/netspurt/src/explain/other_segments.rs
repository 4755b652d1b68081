//! Captured segments that are not plain, until their connections take them.

use crate::wire::TcpView;

/// The pending segments of all connections that are not plain.
///
/// A list for each connection would be allocated, grown and freed for nearly each connection. Here a
/// new segment takes the place of the one that was taken last, which is still in the processor's cache.
#[derive(Debug, Default)]
pub struct OtherSegments {
    segments: Vec<TcpView>,
    /// The places that are not in use.
    free: Vec<u32>,
}

impl OtherSegments {
    /// Adds `segment`, and returns its place.
    #[inline]
    pub fn add(&mut self, segment: &TcpView) -> u32 {
        if let Some(place) = self.free.pop() {
            self.segments[place as usize] = *segment;
            return place;
        }
        self.segments.push(*segment);
        u32::try_from(self.segments.len() - 1).expect("fewer than 2^32 pending segments")
    }

    /// The segment at `place`.
    #[inline]
    pub fn at(&self, place: u32) -> &TcpView {
        &self.segments[place as usize]
    }

    /// Removes the segment at `place`, and returns it.
    #[inline]
    pub fn take(&mut self, place: u32) -> TcpView {
        self.free.push(place);
        self.segments[place as usize]
    }
}
