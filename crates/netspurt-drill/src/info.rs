//! The connection's state as the octets of Linux's `struct tcp_info` and of `SO_MEMINFO`.

use netspurt_scenario::script::{Field, Info};

/// The number of octets of `struct tcp_info`, including the counters of accurate ECN.
pub const TCP_INFO_BYTES: usize = 280;
/// The number of octets of `SO_MEMINFO`, which has nine numbers of four octets each.
pub const MEMORY_BYTES: usize = 36;

/// The fields, each with its offset and its number of octets.
const PLACES: [(Field, usize, usize); 54] = [
    (Field::State, 0, 1),
    (Field::CaState, 1, 1),
    (Field::Retransmits, 2, 1),
    (Field::Probes, 3, 1),
    (Field::Backoff, 4, 1),
    (Field::Options, 5, 1),
    (Field::DeliveryRateAppLimited, 7, 1),
    (Field::Rto, 8, 4),
    (Field::Ato, 12, 4),
    (Field::SndMss, 16, 4),
    (Field::RcvMss, 20, 4),
    (Field::Unacked, 24, 4),
    (Field::Sacked, 28, 4),
    (Field::Lost, 32, 4),
    (Field::Retrans, 36, 4),
    (Field::Fackets, 40, 4),
    (Field::LastDataSent, 44, 4),
    (Field::LastAckSent, 48, 4),
    (Field::LastDataRecv, 52, 4),
    (Field::LastAckRecv, 56, 4),
    (Field::Pmtu, 60, 4),
    (Field::RcvSsthresh, 64, 4),
    (Field::Rtt, 68, 4),
    (Field::Rttvar, 72, 4),
    (Field::SndSsthresh, 76, 4),
    (Field::SndCwnd, 80, 4),
    (Field::Advmss, 84, 4),
    (Field::Reordering, 88, 4),
    (Field::RcvRtt, 92, 4),
    (Field::RcvSpace, 96, 4),
    (Field::TotalRetrans, 100, 4),
    (Field::PacingRate, 104, 8),
    (Field::BytesAcked, 120, 8),
    (Field::BytesReceived, 128, 8),
    (Field::SegsOut, 136, 4),
    (Field::SegsIn, 140, 4),
    (Field::NotsentBytes, 144, 4),
    (Field::MinRtt, 148, 4),
    (Field::DataSegsIn, 152, 4),
    (Field::DataSegsOut, 156, 4),
    (Field::DeliveryRate, 160, 8),
    (Field::BusyTime, 168, 8),
    (Field::RwndLimited, 176, 8),
    (Field::SndbufLimited, 184, 8),
    (Field::Delivered, 192, 4),
    (Field::DeliveredCe, 196, 4),
    (Field::BytesSent, 200, 8),
    (Field::BytesRetrans, 208, 8),
    (Field::DsackDups, 216, 4),
    (Field::ReordSeen, 220, 4),
    (Field::RcvOoopack, 224, 4),
    (Field::SndWnd, 228, 4),
    (Field::Rehash, 236, 4),
    (Field::TotalRto, 240, 2),
];

/// The offset of the octet with both window shifts. The lower half of the octet has the peer's
/// shift, and the upper half has our shift.
const SHIFTS_AT: usize = 6;
/// The offset and the number of octets of our receive window.
const RCV_WND: (usize, usize) = (232, 4);
/// The numbers of `SO_MEMINFO` that our host provides, each with its offset and its number of
/// octets.
const MEMORY: [(Field, usize, usize); 4] = [
    (Field::ReceiveBufferUsed, 0, 4),
    (Field::ReceiveBufferSize, 4, 4),
    (Field::SendBufferSize, 12, 4),
    (Field::SendBufferQueued, 20, 4),
];

/// Returns the octets of `struct tcp_info`. A field that our connection does not have is 0.
///
/// ```
/// use netspurt_scenario::script::{Field, Info};
/// let mut info = Info::default();
/// info.set(Field::SndCwnd, 10);
/// assert_eq!(netspurt_drill::info::tcp_info(&info)[80..84], 10_u32.to_ne_bytes());
/// ```
pub fn tcp_info(info: &Info) -> [u8; TCP_INFO_BYTES] {
    let mut octets = [0; TCP_INFO_BYTES];
    for (field, at, size) in PLACES {
        put(&mut octets, (at, size), info.get(field));
    }
    let shift = |field| info.get(field).and_then(|shift| u8::try_from(shift).ok()).unwrap_or(0);
    octets[SHIFTS_AT] = shift(Field::SndWscale) & 15 | shift(Field::RcvWscale) << 4;
    put(&mut octets, RCV_WND, info.get(Field::RcvWnd));
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

/// Writes a number. If it does not fit, writes the largest number that fits.
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

    #[test]
    fn every_field_of_a_connection_has_its_own_place() {
        let mut taken = [false; TCP_INFO_BYTES];
        for (field, at, size) in PLACES {
            assert!(taken[at..at + size].iter().all(|taken| !taken), "{}", field.name());
            taken[at..at + size].fill(true);
        }
        for (name, field) in Field::ALL {
            let mut info = Info::default();
            info.set(*field, 1);
            let told = tcp_info(&info).iter().chain(&memory(&info)).any(|octet| *octet != 0);
            assert!(told, "{name} has no place");
        }
    }

    #[test]
    fn a_too_large_count_becomes_the_maximum_and_window_shifts_share_an_octet() {
        let mut info = Info::default();
        info.set(Field::Retransmits, 300);
        info.set(Field::SndWscale, 7);
        info.set(Field::RcvWscale, 8);
        let octets = tcp_info(&info);
        assert_eq!((octets[2], octets[SHIFTS_AT]), (255, 0x87));
    }
}
