//! The octets that the application writes, in the parts that a host's buffers accept.

/// Which octets may leave when a part is accepted (`tcp_sendmsg_locked`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leaving {
    /// All octets that cwnd and the peer's window allow.
    #[default]
    All,
    /// One packet for segmentation offload (`tcp_push_one`).
    Packet,
    /// No octets.
    Nothing,
}

/// A part of what the application writes.
#[derive(Clone, Copy, Debug)]
pub struct WrittenPart {
    /// The number of octets of the part.
    pub octets: u64,
    /// Whether the part starts a new buffer of the host. If so, the last segment of the octets
    /// written before keeps its PSH.
    pub starts: bool,
    /// Whether the segment that ends with this part has PSH.
    pub pushed: bool,
    /// Which octets leave now.
    pub leaving: Leaving,
}

impl WrittenPart {
    /// The part for a whole write of `octets`, if the host has no buffers.
    pub fn whole(octets: u64) -> Self {
        Self { octets, starts: false, pushed: true, leaving: Leaving::All }
    }
}
