//! The packets that arrived beyond a hole (a range of octets that has not arrived), and the memory
//! that they take in Linux's receive buffer.

use crate::packed::packed_value;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeldPacket {
    /// The first octet.
    pub(super) left: u64,
    /// The octet after the last octet.
    pub(super) end: u64,
    /// The octets of memory that the packet takes.
    pub(super) memory: u64,
    /// The number of octets that still fit into this memory.
    pub(super) room: u64,
}

packed_value!(HeldPacket { left, end, memory, room });

impl HeldPacket {
    /// Appends the packet `next` if it continues this packet and fits into this packet's memory
    /// (`tcp_try_coalesce`). Returns whether it was appended. The memory of the appended packet is
    /// then free.
    pub(super) fn append(&mut self, next: &Self) -> bool {
        let len = next.end - next.left;
        let fits = next.left == self.end && len <= self.room;
        if fits {
            (self.end, self.room) = (next.end, self.room - len);
        }
        fits
    }
}

/// The packets beyond a hole, in the order of their first octets (`out_of_order_queue`). No packet
/// contains another one completely, but packets may overlap.
#[derive(Debug, Default)]
pub(super) struct PacketsBeyond {
    packets: Vec<HeldPacket>,
    /// The memory of all these packets.
    memory: u64,
}

packed_value!(PacketsBeyond { packets, memory });

impl PacketsBeyond {
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Adds a packet. A packet that another packet contains is dropped. Returns whether the packet
    /// was kept.
    pub(super) fn add(&mut self, new: HeldPacket) -> bool {
        let mut place = self.packets.partition_point(|packet| packet.left <= new.left);
        if let Some(before) = place.checked_sub(1).map(|at| &mut self.packets[at]) {
            if new.end <= before.end {
                return false;
            }
            if before.append(&new) {
                return true;
            }
            place -= usize::from(before.left == new.left);
        }
        let later = &self.packets[place..];
        let contained = later.iter().take_while(|packet| packet.end <= new.end).count();
        for packet in self.packets.splice(place..place + contained, [new]) {
            self.memory -= packet.memory;
        }
        self.memory += new.memory;
        true
    }

    /// Removes the packets that begin before the octet `next`, which is now the next expected
    /// octet. Returns them in their order.
    pub(super) fn take_before(&mut self, next: u64) -> Vec<HeldPacket> {
        let count = self.packets.partition_point(|packet| packet.left < next);
        let taken: Vec<HeldPacket> = self.packets.drain(..count).collect();
        self.memory -= taken.iter().map(|packet| packet.memory).sum::<u64>();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds these packets in this order. Each packet takes 100 octets of memory, and has room for
    /// 50 more octets.
    fn packets(list: &[(u64, u64)]) -> PacketsBeyond {
        let mut packets = PacketsBeyond::default();
        for &(left, end) in list {
            packets.add(HeldPacket { left, end, memory: 100, room: 50 });
        }
        packets
    }

    /// Removes all packets. Returns their octets.
    fn ranges(packets: &mut PacketsBeyond) -> Vec<(u64, u64)> {
        packets.take_before(u64::MAX).iter().map(|packet| (packet.left, packet.end)).collect()
    }

    #[test]
    fn a_packet_joins_the_previous_packet_while_the_previous_packet_has_room() {
        let mut joined = packets(&[(10, 60), (60, 90), (90, 110), (110, 111)]);
        assert_eq!(joined.memory(), 200);
        assert_eq!(ranges(&mut joined), [(10, 110), (110, 111)]);
        assert_eq!(joined.memory(), 0);
    }

    #[test]
    fn a_packet_that_another_packet_contains_is_dropped() {
        for list in [[(10, 60), (20, 60)], [(20, 60), (10, 60)], [(10, 20), (10, 60)]] {
            let mut kept = packets(&list);
            assert_eq!(kept.memory(), 100, "{list:?}");
            assert_eq!(ranges(&mut kept), [(10, 60)]);
        }
    }

    #[test]
    fn a_packet_that_overlaps_two_packets_is_kept_beside_them() {
        let mut kept = packets(&[(10, 110), (110, 210), (60, 160)]);
        assert_eq!(kept.memory(), 300);
        assert_eq!(ranges(&mut kept), [(10, 110), (60, 160), (110, 210)]);
    }

    #[test]
    fn only_packets_below_the_next_octet_are_taken() {
        let mut packets = packets(&[(10, 110), (150, 250)]);
        assert_eq!(packets.take_before(110).len(), 1);
        assert_eq!((packets.memory(), packets.is_empty()), (100, false));
    }
}
