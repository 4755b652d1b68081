//! BBR's constants.

use crate::units::Duration;

/// A gain of one.
pub(super) const UNIT: (u32, u32) = (1, 1);

/// Phases of the gain cycle of PROBE_BW.
pub(super) const PHASES: usize = 8;

/// BBR's constants, by default those of the draft; gains are fractions, none of them zero.
///
/// ```
/// use netspurt::congestion::{BbrConfig, CongestionConfig};
/// let draft = BbrConfig { pacing_margin_percent: 0, ..BbrConfig::default() };
/// assert!(CongestionConfig::Bbr(draft).build().owns_window());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BbrConfig {
    /// Gain of pacing and window in STARTUP, 2/ln 2; its inverse paces DRAIN.
    pub high_gain: (u32, u32),
    /// Gain of the window in PROBE_BW.
    pub cwnd_gain: (u32, u32),
    /// Pacing gains of PROBE_BW, one for each least round trip.
    pub cycle: [(u32, u32); PHASES],
    /// The phase in which PROBE_BW begins, 0 to 7. The draft draws one, but never the second.
    pub first_phase: u8,
    /// Rounds over which the delivery rate's maximum is taken.
    pub bw_window_rounds: u32,
    /// Time over which the round trip's minimum is taken.
    pub min_rtt_window: Duration,
    /// Least time in PROBE_RTT once the pipe is as low as it asks for.
    pub probe_rtt_time: Duration,
    /// The window in PROBE_RTT, and the least outside loss recovery, in segments.
    pub min_cwnd_segs: u32,
    /// The growth of the bandwidth within a round below which the pipe may be full.
    pub full_pipe_growth: (u32, u32),
    /// Rounds with less growth than that after which it is.
    pub full_pipe_rounds: u32,
    /// By how many percent pacing stays below the estimate: Linux's 1, the draft's 0.
    pub pacing_margin_percent: u32,
}

impl Default for BbrConfig {
    fn default() -> Self {
        Self {
            high_gain: (2885, 1000),
            cwnd_gain: (2, 1),
            cycle: [(5, 4), (3, 4), UNIT, UNIT, UNIT, UNIT, UNIT, UNIT],
            first_phase: 2,
            bw_window_rounds: 10,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt_time: Duration::from_millis(200),
            min_cwnd_segs: 4,
            full_pipe_growth: (5, 4),
            full_pipe_rounds: 3,
            pacing_margin_percent: 1,
        }
    }
}
