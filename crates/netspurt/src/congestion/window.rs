//! The congestion window and the slow-start threshold.

use crate::packed::packed_value;

/// The congestion window and the slow-start threshold, in octets. The sender shares them with its
/// congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The congestion window.
    pub cwnd: u64,
    /// The slow-start threshold. It is [`Window::NO_THRESHOLD`] until congestion sets it, or until
    /// an algorithm that ends slow start sets it.
    pub ssthresh: u64,
}

packed_value!(Window { cwnd, ssthresh });

impl Window {
    /// The slow-start threshold at the start of a connection (RFC 5681 §3.1).
    pub const NO_THRESHOLD: u64 = 1 << 62;

    /// Whether cwnd grows by slow start.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// Returns `octets` times a fraction, rounded down, and at most [`Window::NO_THRESHOLD`].
pub(super) fn share(octets: u64, (num, den): (u32, u32)) -> u64 {
    let product = u128::from(octets) * u128::from(num) / u128::from(den);
    u64::try_from(product).unwrap_or(u64::MAX).min(Window::NO_THRESHOLD)
}
