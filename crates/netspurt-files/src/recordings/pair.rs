//! A TCP segment that occupies sequence numbers, as one or two captures saw it.

use std::net::SocketAddr;

/// A TCP segment that occupies sequence numbers (with data, SYN or FIN), and the times at which two
/// captures saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The source of the segment.
    pub from: SocketAddr,
    /// The destination of the segment.
    pub to: SocketAddr,
    /// The sequence number of the segment.
    pub seq: u32,
    /// The number of octets of payload.
    pub len: u32,
    /// Whether the segment has a SYN, which opens its direction.
    pub opens: bool,
    /// The number of segments for which the pair stands. It is above one only if a single capture
    /// has these segments, in one packet.
    pub segments: u32,
    /// The number of additional copies of the segment in each capture.
    pub copies: [u32; 2],
    /// When each capture saw the segment, in nanoseconds since 1970; `None` if the capture did not
    /// see it.
    pub seen_ns: [Option<i64>; 2],
}

/// A pair with the IP identification of its packet.
#[derive(Clone, Copy)]
pub(super) struct FoundPair {
    pub pair: Pair,
    pub ip_id: u16,
}

/// The identity of a segment in both captures: source and destination, sequence number, octets of
/// payload, SYN and FIN, and the IPv4 identification. Most senders give each transmission an
/// identification of its own.
pub(super) type SegmentKey = (SocketAddr, SocketAddr, u32, u32, u8, u16);

/// A segment of one capture. Its pair has only the time of this capture.
pub(super) struct SeenSegment {
    pub found: FoundPair,
    /// Whether the segment has a FIN.
    pub closes: bool,
}

impl SeenSegment {
    pub(super) fn key(&self) -> SegmentKey {
        let FoundPair { pair, ip_id } = self.found;
        let control = u8::from(pair.opens) | u8::from(self.closes) << 1;
        (pair.from, pair.to, pair.seq, pair.len, control, ip_id)
    }
}

/// The segments of two captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedSegments {
    /// The segments. First come the segments that the first capture has, in the order of this
    /// capture.
    pub pairs: Vec<Pair>,
    /// For each direction whose packets have other addresses or ports in the second capture: its
    /// source and destination in the first capture, and its source and destination in the second.
    pub translated: Vec<[[SocketAddr; 2]; 2]>,
}
