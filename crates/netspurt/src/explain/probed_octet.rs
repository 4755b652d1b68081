//! The octet of a window probe: a segment of one octet that a sender sends although the receive
//! window is zero.

use crate::wire::CapturedTcp;

/// The octet of the last window probe with new data (RFC 9293 §3.8.6.1). A receiver with a closed
/// window discards this octet. When the window opens, the sender sends it again as the first octet
/// of a longer segment. The octet was discarded and not lost, so the longer segment does not count
/// as a retransmission.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbedOctet(Option<u64>);

impl ProbedOctet {
    /// Takes a segment that begins with the octet `left`. `closed` says whether the receiver's
    /// window is closed.
    #[inline]
    pub fn take(&mut self, left: u64, packet: &impl CapturedTcp, closed: bool) {
        if closed && packet.len() == 1 && packet.seq_len() == 1 {
            self.0 = Some(left);
        }
    }

    /// Whether the segment with the octets `left..right` begins with the octet of the last window
    /// probe, and has only new octets after this octet. The octets below `una` are acknowledged.
    /// The octets from octet `known` on are new.
    pub fn begins(&self, (left, right): (u64, u64), una: u64, known: u64) -> bool {
        self.0 == Some(left) && una <= left && known == left + 1 && right > known
    }
}
