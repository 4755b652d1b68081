//! The constants of BBR, a congestion control algorithm that paces at the estimated delivery rate.
//! BBR has four states: STARTUP, DRAIN, PROBE_BW and PROBE_RTT.

use crate::units::Duration;

/// A gain (a factor for the pacing rate or for cwnd) of one.
pub(super) const UNIT: (u32, u32) = (1, 1);

/// The number of phases in the cycle of pacing gains of PROBE_BW.
pub(super) const PHASES: usize = 8;

/// The constants of BBR. The defaults come from draft-cardwell-iccrg-bbr-congestion-control-00,
/// with two exceptions: the pacing margin comes from Linux, and the first phase is fixed. In the
/// draft, the first phase is random. Gains are fractions above zero.
///
/// ```
/// use netspurt::congestion::{BbrConfig, CongestionConfig};
/// let draft = BbrConfig { pacing_margin_percent: 0, ..BbrConfig::default() };
/// assert!(CongestionConfig::Bbr(draft).build().owns_window());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BbrConfig {
    /// The gain of pacing in STARTUP, and of cwnd in STARTUP and DRAIN: 2/ln 2. DRAIN paces with
    /// the inverse of this gain.
    pub high_gain: (u32, u32),
    /// The gain of cwnd in PROBE_BW.
    pub cwnd_gain: (u32, u32),
    /// The pacing gains of PROBE_BW. Each phase lasts about one minimum round trip.
    pub cycle: [(u32, u32); PHASES],
    /// The phase in which PROBE_BW begins, 0 to 7. In the draft the first phase is random, but
    /// never phase 1.
    pub first_phase: u8,
    /// The number of rounds over which the maximum of the delivery rate is taken.
    pub bw_window_rounds: u32,
    /// The time over which the minimum of the round trip is taken.
    pub min_rtt_window: Duration,
    /// The minimum time in PROBE_RTT after the octets in the network (the pipe) have fallen to
    /// `min_cwnd_segs` segments or less.
    pub probe_rtt_time: Duration,
    /// cwnd in PROBE_RTT, in segments. It is also the minimum cwnd at each ACK that delivers data,
    /// except in the first round of a loss recovery.
    pub min_cwnd_segs: u32,
    /// A round counts as growth if its bandwidth is at least this factor times the bandwidth of the
    /// last round that counted as growth.
    pub full_pipe_growth: (u32, u32),
    /// The path counts as full after this number of rounds in a row that do not count as growth
    /// (see `full_pipe_growth`).
    pub full_pipe_rounds: u32,
    /// The percentage by which the pacing rate is below the gain times the estimated bandwidth: 1
    /// in Linux, 0 in the draft.
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
