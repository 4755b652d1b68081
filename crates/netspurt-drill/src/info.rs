//! The connection's state as the octets of Linux's `struct tcp_info` and of `SO_MEMINFO` (a socket
//! option that reports the use of memory).

use netspurt_scenario::script::{Info, InfoField};

/// The number of octets of `struct tcp_info`, including the counters of accurate ECN.
pub const TCP_INFO_BYTES: usize = 280;
/// The number of octets of `SO_MEMINFO`, which has nine numbers of four octets each.
pub const MEMORY_BYTES: usize = 36;

/// The fields of `struct tcp_info`, each with its offset and its number of octets.
const PLACES: [(InfoField, usize, usize); 54] = [
    (InfoField::State, 0, 1),
    (InfoField::CaState, 1, 1),
    (InfoField::Retransmits, 2, 1),
    (InfoField::Probes, 3, 1),
    (InfoField::Backoff, 4, 1),
    (InfoField::Options, 5, 1),
    (InfoField::DeliveryRateAppLimited, 7, 1),
    (InfoField::Rto, 8, 4),
    (InfoField::Ato, 12, 4),
    (InfoField::SndMss, 16, 4),
    (InfoField::RcvMss, 20, 4),
    (InfoField::Unacked, 24, 4),
    (InfoField::Sacked, 28, 4),
    (InfoField::Lost, 32, 4),
    (InfoField::Retrans, 36, 4),
    (InfoField::Fackets, 40, 4),
    (InfoField::LastDataSent, 44, 4),
    (InfoField::LastAckSent, 48, 4),
    (InfoField::LastDataRecv, 52, 4),
    (InfoField::LastAckRecv, 56, 4),
    (InfoField::Pmtu, 60, 4),
    (InfoField::RcvSsthresh, 64, 4),
    (InfoField::Rtt, 68, 4),
    (InfoField::Rttvar, 72, 4),
    (InfoField::SndSsthresh, 76, 4),
    (InfoField::SndCwnd, 80, 4),
    (InfoField::Advmss, 84, 4),
    (InfoField::Reordering, 88, 4),
    (InfoField::RcvRtt, 92, 4),
    (InfoField::RcvSpace, 96, 4),
    (InfoField::TotalRetrans, 100, 4),
    (InfoField::PacingRate, 104, 8),
    (InfoField::BytesAcked, 120, 8),
    (InfoField::BytesReceived, 128, 8),
    (InfoField::SegsOut, 136, 4),
    (InfoField::SegsIn, 140, 4),
    (InfoField::NotsentBytes, 144, 4),
    (InfoField::MinRtt, 148, 4),
    (InfoField::DataSegsIn, 152, 4),
    (InfoField::DataSegsOut, 156, 4),
    (InfoField::DeliveryRate, 160, 8),
    (InfoField::BusyTime, 168, 8),
    (InfoField::RwndLimited, 176, 8),
    (InfoField::SndbufLimited, 184, 8),
    (InfoField::Delivered, 192, 4),
    (InfoField::DeliveredCe, 196, 4),
    (InfoField::BytesSent, 200, 8),
    (InfoField::BytesRetrans, 208, 8),
    (InfoField::DsackDups, 216, 4),
    (InfoField::ReordSeen, 220, 4),
    (InfoField::RcvOoopack, 224, 4),
    (InfoField::SndWnd, 228, 4),
    (InfoField::Rehash, 236, 4),
    (InfoField::TotalRto, 240, 2),
];

/// The offset of the octet with both window shifts. The lower half of the octet has the peer's
/// shift, and the upper half has our shift.
const SHIFTS_AT: usize = 6;
/// The offset and the number of octets of our receive window.
const RCV_WND: (usize, usize) = (232, 4);
/// The numbers of `SO_MEMINFO` that our host provides, each with its offset and its number of
/// octets.
const MEMORY: [(InfoField, usize, usize); 4] = [
    (InfoField::ReceiveBufferUsed, 0, 4),
    (InfoField::ReceiveBufferSize, 4, 4),
    (InfoField::SendBufferSize, 12, 4),
    (InfoField::SendBufferQueued, 20, 4),
];

/// Returns the octets of `struct tcp_info`. A field that our connection does not have is 0.
///
/// ```
/// use netspurt_scenario::script::{Info, InfoField};
/// let mut info = Info::default();
/// info.set(InfoField::SndCwnd, 10);
/// assert_eq!(netspurt_drill::info::tcp_info(&info)[80..84], 10_u32.to_ne_bytes());
/// ```
pub fn tcp_info(info: &Info) -> [u8; TCP_INFO_BYTES] {
    let mut octets = [0; TCP_INFO_BYTES];
    for (field, at, size) in PLACES {
        put(&mut octets, (at, size), info.get(field));
    }
    let shift = |field| info.get(field).and_then(|shift| u8::try_from(shift).ok()).unwrap_or(0);
    octets[SHIFTS_AT] = shift(InfoField::SndWscale) & 15 | shift(InfoField::RcvWscale) << 4;
    put(&mut octets, RCV_WND, info.get(InfoField::RcvWnd));
    octets
}

/// Returns the octets of the socket option `SO_MEMINFO`.
pub fn memory(info: &Info) -> [u8; MEMORY_BYTES] {
    let mut octets = [0; MEMORY_BYTES];
    for (field, at, size) in MEMORY {
        put(&mut octets, (at, size), info.get(field));
    }
    octets
}

/// Writes a number. If it is too large, writes the largest number that fits. Writes 0 for a missing
/// or negative number.
fn put(octets: &mut [u8], (at, size): (usize, usize), value: Option<i64>) {
    let value = value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
    let place = &mut octets[at..at + size];
    match size {
        1 => place.copy_from_slice(&u8::try_from(value).unwrap_or(u8::MAX).to_ne_bytes()),
        2 => place.copy_from_slice(&u16::try_from(value).unwrap_or(u16::MAX).to_ne_bytes()),
        4 => place.copy_from_slice(&u32::try_from(value).unwrap_or(u32::MAX).to_ne_bytes()),
        _ => place.copy_from_slice(&value.to_ne_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct tcp_info` of Linux: `tcpi_snd_wscale : 4, tcpi_rcv_wscale : 4` is its seventh octet,
    /// and `tcpi_rcv_wnd` is the number before `tcpi_rehash`.
    #[test]
    fn both_window_shifts_share_an_octet_and_the_receive_window_has_four_octets() {
        let mut info = Info::default();
        info.set(InfoField::SndWscale, 3);
        info.set(InfoField::RcvWscale, 7);
        info.set(InfoField::RcvWnd, 0x1_0203);
        let octets = tcp_info(&info);
        assert_eq!(octets[6], 0x73);
        assert_eq!(octets[232..236], 0x1_0203_u32.to_ne_bytes());
        assert_eq!(octets.iter().filter(|octet| **octet != 0).count(), 4);
        info.set(InfoField::RcvWnd, 1 << 40);
        assert_eq!(tcp_info(&info)[232..236], [0xff; 4], "the largest number that fits");
    }

    #[test]
    fn every_field_of_a_connection_has_its_own_place() {
        let mut taken = [false; TCP_INFO_BYTES];
        for (field, at, size) in PLACES {
            assert!(taken[at..at + size].iter().all(|taken| !taken), "{}", field.name());
            taken[at..at + size].fill(true);
        }
        for (name, field) in InfoField::ALL {
            let mut info = Info::default();
            info.set(*field, 1);
            let told = tcp_info(&info).iter().chain(&memory(&info)).any(|octet| *octet != 0);
            assert!(told, "{name} has no place");
        }
    }

    #[test]
    fn a_count_that_is_too_large_becomes_the_maximum() {
        let mut info = Info::default();
        info.set(InfoField::Retransmits, 300);
        info.set(InfoField::SndWscale, 7);
        info.set(InfoField::RcvWscale, 8);
        let octets = tcp_info(&info);
        assert_eq!((octets[2], octets[SHIFTS_AT]), (255, 0x87));
    }
}
