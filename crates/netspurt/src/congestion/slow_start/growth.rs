//! By how much an ACK opens the window in slow start (RFC 3465).

use crate::congestion::AckInfo;

/// From so many segments on an ACK's growth is not limited: all it acknowledges counts, after a
/// timeout, too, but no further than the threshold. Linux's slow start.
pub const NO_ABC_LIMIT: u32 = 1_000_000;

/// The octets by which an ACK opens the window, `limit_segs` segments at most.
pub(super) fn growth(ack: &AckInfo, limit_segs: Option<u32>) -> u64 {
    match limit_segs {
        Some(NO_ABC_LIMIT..) => ack.acked_bytes,
        // RFC 3465 §2.3: the limit is 1 while the repair of a timeout goes on.
        Some(_) if ack.after_timeout => ack.acked_bytes.min(ack.smss),
        Some(limit) => ack.acked_bytes.min(u64::from(limit).saturating_mul(ack.smss)),
        None => ack.acked_bytes,
    }
}
