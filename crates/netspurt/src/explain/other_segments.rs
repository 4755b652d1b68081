//! Keeps captured segments that are not plain. They are kept until their connections process them.
//! A plain segment (`PlainSegment`) has no unusual flags or options.

use crate::wire::TcpView;

/// The segments of all connections that are not plain and not processed yet.
///
/// If each connection had a list of its own, the program would allocate, grow and free a list for
/// nearly every connection. Here a new segment gets the place of the segment that was removed last.
/// This place is still in the processor's cache.
#[derive(Debug, Default)]
pub struct OtherSegments {
    segments: Vec<TcpView>,
    /// The places that are not in use.
    free: Vec<u32>,
}

impl OtherSegments {
    /// Adds `segment`, and returns its place (an index).
    #[inline]
    pub fn add(&mut self, segment: &TcpView) -> u32 {
        if let Some(place) = self.free.pop() {
            self.segments[place as usize] = *segment;
            return place;
        }
        self.segments.push(*segment);
        u32::try_from(self.segments.len() - 1).expect("fewer than 2^32 pending segments")
    }

    /// The segment at the place `place`.
    #[inline]
    pub fn at(&self, place: u32) -> &TcpView {
        &self.segments[place as usize]
    }

    /// Removes the segment at this place, and returns it.
    #[inline]
    pub fn take(&mut self, place: u32) -> TcpView {
        self.free.push(place);
        self.segments[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Flags, Segment};
    use crate::wire::{Packet, encode};

    fn segment(seq: u32) -> TcpView {
        let segment = Segment { seq, flags: Flags::SYN, ..Segment::default() };
        let [source, destination] =
            ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut bytes);
        TcpView::of(&bytes, bytes.len()).unwrap()
    }

    #[test]
    fn a_new_segment_gets_the_place_of_the_segment_that_was_removed_last() {
        let mut others = OtherSegments::default();
        let places = [1, 2, 3].map(|seq| others.add(&segment(seq)));
        assert_eq!(places.map(|place| others.at(place).seq), [1, 2, 3]);
        assert_eq!([places[0], places[2]].map(|place| others.take(place).seq), [1, 3]);
        assert_eq!(others.add(&segment(4)), places[2]);
        assert_eq!(others.add(&segment(5)), places[0]);
        assert_eq!(places.map(|place| others.at(place).seq), [5, 2, 4]);
    }
}
