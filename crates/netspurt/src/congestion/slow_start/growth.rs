//! Computes how far an ACK opens cwnd in slow start (RFC 3465).

use crate::congestion::AckInfo;

/// A limit of at least this number of segments counts as no limit on the growth of cwnd by one ACK.
/// As in Linux, all acknowledged octets then count, even after a timeout, but cwnd does not grow
/// beyond ssthresh.
pub const NO_ABC_LIMIT: u32 = 1_000_000;

/// Returns by how many octets an ACK opens cwnd in slow start. Without a limit (`limit_segs` is
/// `None`, or [`NO_ABC_LIMIT`] or more), an ACK opens cwnd by the acknowledged octets. With a
/// limit, an ACK opens cwnd by at most `limit_segs` segments, and by at most one segment until the
/// repair after a timeout is finished.
pub(super) fn growth(ack: &AckInfo, limit_segs: Option<u32>) -> u64 {
    match limit_segs {
        Some(NO_ABC_LIMIT..) => ack.acked_bytes,
        // RFC 3465 §2.3: the limit is 1 until the repair after a timeout is finished.
        Some(_) if ack.after_timeout => ack.acked_bytes.min(ack.smss),
        Some(limit) => ack.acked_bytes.min(u64::from(limit).saturating_mul(ack.smss)),
        None => ack.acked_bytes,
    }
}
