//! The state of F-RTO while it finds out whether a timeout was spurious.

/// A timeout on trial (ns-2's `frto_` and `pipe_prev_`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeoutTrial {
    pub(super) step: TrialStep,
    /// ssthresh before the timeout, or the window if that was larger.
    pub(super) prior_segs: u32,
}

/// How far a trial is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TrialStep {
    #[default]
    Off,
    /// A timeout sent the first segment again.
    TimedOut,
    /// A new ACK came; two new segments leave.
    Probes,
}
