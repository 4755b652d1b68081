//! Computes the initial window: the cwnd at the start of a connection (RFC 3390 §1, RFC 6928 §2).

use super::config::RfcConfig;

/// The initial window of a connection (RFC 3390 §1, RFC 6928 §2).
///
/// ```
/// use netspurt::tcp::{InitialWindow, RfcConfig};
/// let window = InitialWindow::of(&RfcConfig::rfc_2026());
/// assert_eq!((window.segs(1448), window.segs(8948)), (10, 2));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InitialWindow {
    segs: u32,
    bytes: Option<u32>,
}

impl InitialWindow {
    /// Returns the initial window that the switches of `config` set.
    pub const fn of(config: &RfcConfig) -> Self {
        Self { segs: config.initial_window_segs, bytes: config.initial_window_bytes }
    }

    /// Returns the window as a number of segments of `smss` octets.
    #[inline]
    pub fn segs(self, smss: u64) -> u64 {
        let segs = u64::from(self.segs);
        self.bytes.map_or(segs, |most| segs.min((u64::from(most) / smss).max(2)))
    }

    /// Returns the window in octets. It is a multiple of `smss`.
    #[inline]
    pub(super) fn octets(self, smss: u64) -> u64 {
        self.segs(smss) * smss
    }
}
