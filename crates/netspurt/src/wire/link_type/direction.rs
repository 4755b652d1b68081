//! Finds the direction of packets in Linux's cooked captures (`tcpdump -i any`).

use super::headers::half;

/// The direction of a packet, as the capturing host saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDirection {
    /// The host received the packet.
    Inbound,
    /// The host sent the packet.
    Outbound,
}

/// The direction that the header of a packet in a cooked capture of version 1 shows.
pub(super) fn cooked_direction(data: &[u8]) -> Option<PacketDirection> {
    direction_of_type(half(data, 0)?)
}

/// The direction that the header of a packet in a cooked capture of version 2 shows.
pub(super) fn cooked_2_direction(data: &[u8]) -> Option<PacketDirection> {
    direction_of_type(u16::from(*data.get(10)?))
}

/// The direction of packets with the type `packet_type` (`PACKET_HOST` and so on in `packet(7)`).
/// Packets to other hosts have no direction, because the capturing host is neither of their ends.
fn direction_of_type(packet_type: u16) -> Option<PacketDirection> {
    match packet_type {
        0..=2 => Some(PacketDirection::Inbound),
        4 => Some(PacketDirection::Outbound),
        _ => None,
    }
}
