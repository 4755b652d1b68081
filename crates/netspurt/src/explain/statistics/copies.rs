//! Counts packets that a capture contains twice.

use crate::packed::PackedValue;
use crate::wire::CapturedTcp;

/// Finds copies of packets that the network or the capturing host made. A copy has the IP
/// identification and the sequence number of one of the last eight packets.
///
/// Copies of packets without an identification are not found. IPv6 packets have no identification.
/// The identification 0 counts as none, because it means that the sender does not number its
/// packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// For each of the last packets, the identification in the high bits and the sequence number in
    /// the low bits.
    last: [u64; Copies::REMEMBERED],
    next: u8,
    /// The number of copies.
    pub count: u64,
}

impl Copies {
    const REMEMBERED: usize = 8;

    /// Takes a packet of the direction.
    #[inline]
    pub fn take(&mut self, packet: &impl CapturedTcp) {
        if packet.ip_id() == 0 {
            return;
        }
        let name = u64::from(packet.ip_id()) << 32 | u64::from(packet.seq());
        // The loop compares all remembered packets, because this needs no branches.
        if self.last.iter().fold(false, |any, one| any | (*one == name)) {
            self.count += 1;
            return;
        }
        self.last[usize::from(self.next)] = name;
        self.next = (self.next + 1) % Self::REMEMBERED as u8;
    }
}

/// Only the count is packed. The last packets are not packed, because a copy comes soon after its
/// original.
impl PackedValue for Copies {
    fn put(&self, into: &mut Vec<u8>) {
        self.count.put(into);
    }

    fn get(from: &mut &[u8]) -> Self {
        Self { count: u64::get(from), ..Self::default() }
    }
}
