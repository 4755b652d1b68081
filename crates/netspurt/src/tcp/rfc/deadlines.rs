//! The deadlines of the sending half.

use crate::units::Time;

/// Deadlines beside the retransmission timer's; [`Time::NEVER`] where one does not run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    /// Tail loss probe.
    pub(super) tlp: Time,
    /// RACK's reordering window.
    pub(super) reorder: Time,
    /// Super Fast Retransmit.
    pub(super) sfr: Time,
    /// Zero-window probe, or a short segment held back too long.
    pub(super) persist: Time,
    /// The next segment under pacing.
    pub(super) pace: Time,
}

/// What fell due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The pacer lets the next segment go.
    Pace,
    /// RACK looks again at what was not late enough.
    Reorder,
    /// A tail loss probe.
    TailProbe,
    /// A Super Fast Retransmit.
    Sfr,
    /// A probe of the peer's window, or a short segment.
    Persist,
}

impl Deadlines {
    /// None of them runs.
    pub(super) const NONE: Self = Self {
        tlp: Time::NEVER,
        reorder: Time::NEVER,
        sfr: Time::NEVER,
        persist: Time::NEVER,
        pace: Time::NEVER,
    };

    /// The earliest.
    #[inline]
    pub(super) fn first(&self) -> Time {
        let Self { tlp, reorder, sfr, persist, pace } = *self;
        tlp.min(reorder).min(sfr).min(persist).min(pace)
    }

    /// What is due at `now`, one thing at a time.
    pub(super) fn due(&self, now: Time) -> Option<Due> {
        let Self { tlp, reorder, sfr, persist, pace } = *self;
        let order = [
            (pace, Due::Pace),
            (reorder, Due::Reorder),
            (tlp, Due::TailProbe),
            (sfr, Due::Sfr),
            (persist, Due::Persist),
        ];
        order.into_iter().find(|(at, _)| *at <= now).map(|(_, due)| due)
    }
}

/// Whether a deadline does not run.
pub(super) fn is_idle(at: Time) -> bool {
    at == Time::NEVER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_falls_due_together_the_pacer_and_rack_come_before_probes() {
        let now = Time::from_nanos(5);
        let mut deadlines = Deadlines { tlp: now, reorder: now, pace: now, ..Deadlines::NONE };
        assert_eq!((deadlines.first(), deadlines.due(now)), (now, Some(Due::Pace)));
        deadlines.pace = Time::NEVER;
        assert_eq!(deadlines.due(now), Some(Due::Reorder));
        deadlines.reorder = Time::from_nanos(6);
        assert_eq!(deadlines.due(now), Some(Due::TailProbe));
        assert_eq!(Deadlines::NONE.due(now), None);
    }
}
