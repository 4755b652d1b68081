//! The state of F-RTO, as in the network simulator ns-2, while F-RTO decides whether a timeout was
//! spurious.

/// F-RTO's state for one timeout (ns-2's `frto_` and `pipe_prev_`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeoutTrial {
    pub(super) step: TrialStep,
    /// ssthresh before the timeout, in segments. If the usable window (`window()`) was larger, the
    /// value is the usable window.
    pub(super) prior_segs: u32,
}

/// The step of F-RTO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TrialStep {
    #[default]
    Off,
    /// A timeout retransmitted the first segment.
    TimedOut,
    /// A new ACK came, and two new segments leave.
    Probes,
}
