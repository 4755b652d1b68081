//! The counts of one direction of a link: how many frames it carried, dropped, marked and lost.

/// The counts of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Frames whose transmission has ended, including frames that were then lost on the way.
    pub carried: u64,
    /// The octets of the carried frames, without framing.
    pub carried_bytes: u64,
    /// Frames dropped for one of four reasons: the queue was full, the queue's algorithm decided
    /// so, the frame was too big, or a handover dropped the frame.
    pub dropped: u64,
    /// Frames marked by the queue's algorithm instead of being dropped.
    pub marked: u64,
    /// Frames lost at the entry or on the way.
    pub lost: u64,
    /// Frames that arrived before a frame that had been transmitted earlier. Copies that a handover
    /// sends on the new path do not count.
    pub overtook: u64,
    /// The maximum length of the queue in frames, including the frame in transmission.
    pub queue_max: u32,
}

impl LinkCount {
    /// Returns the counts, with `carried` and `carried_bytes` reduced by these numbers of frames
    /// and octets.
    pub(super) fn without(self, (packets, bytes): (u32, u64)) -> Self {
        Self {
            carried: self.carried - u64::from(packets),
            carried_bytes: self.carried_bytes - bytes,
            ..self
        }
    }
}
