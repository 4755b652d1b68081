//! Accounts for the time of a TCP sender: how long it repaired losses, and how long each limit
//! (cwnd, the peer's window, pacing) held it back.

use crate::packed::{packed, packed_variants};
use crate::units::{Duration, Time};

/// How a sender spent its time. The time in which losses were repaired may overlap the other times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendTimes {
    /// The time in which losses were repaired.
    pub repairing: Duration,
    /// The time in which the congestion window held back octets that were ready to be sent.
    pub cwnd_limited: Duration,
    /// The time in which the peer's window held back octets that were ready to be sent.
    pub rwnd_limited: Duration,
    /// The time in which pacing held back octets that were ready to be sent.
    pub paced: Duration,
}

packed!(SendTimes { repairing, cwnd_limited, rwnd_limited, paced });

/// The reason why the next octets are held back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HeldBy {
    /// Nothing: the next octets may be sent, or there are no octets to send.
    #[default]
    Nothing,
    /// The congestion window.
    Cwnd,
    /// The peer's window.
    Peer,
    /// The pacer.
    Pacer,
}

packed_variants!(HeldBy { Nothing, Cwnd, Peer, Pacer });

impl HeldBy {
    /// Returns which of two windows holds the next segment back: cwnd or the peer's window. Each
    /// parameter has two numbers of octets: the room in one window, and the room that the segment
    /// needs there. If both windows lack room, returns the window with less room.
    pub(super) fn lack_of_room(of_cwnd: (u64, u64), of_peer: (u64, u64)) -> Self {
        match (of_cwnd.0 >= of_cwnd.1, of_peer.0 >= of_peer.1) {
            (true, true) => Self::Nothing,
            (true, false) => Self::Peer,
            (false, false) if of_peer.0 < of_cwnd.0 => Self::Peer,
            (false, _) => Self::Cwnd,
        }
    }
}

/// The account of a sender's time.
#[derive(Debug, Default)]
pub(super) struct TimeAccount {
    times: SendTimes,
    /// What has held the next octets back since the last call of [`advance`](Self::advance).
    pub(super) held_by: HeldBy,
    /// The instant up to which `times` is counted.
    counted_until: Time,
}

packed!(TimeAccount { times, held_by, counted_until });

impl TimeAccount {
    /// The times up to the last call of [`advance`](Self::advance).
    pub(super) fn times(&self) -> SendTimes {
        self.times
    }

    /// Adds to the account the time since the last call of this method. The state of the sender
    /// must not have changed in this time. The time counts only if the flag `busy` is true.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, busy: bool, repairing: bool) {
        let span = now.saturating_since(self.counted_until);
        self.counted_until = now;
        if !busy {
            return;
        }
        let SendTimes { repairing: repairs, cwnd_limited, rwnd_limited, paced } = &mut self.times;
        if repairing {
            *repairs = *repairs + span;
        }
        match self.held_by {
            HeldBy::Nothing => {}
            HeldBy::Cwnd => *cwnd_limited = *cwnd_limited + span,
            HeldBy::Peer => *rwnd_limited = *rwnd_limited + span,
            HeldBy::Pacer => *paced = *paced + span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the switch `whole_segments`, cwnd needs room for a full segment even if the next
    /// segment is short.
    #[test]
    fn a_window_with_room_for_the_next_segment_does_not_hold_this_segment_back() {
        let held = |cwnd, peer| HeldBy::lack_of_room((cwnd, 1000), (peer, 300));
        assert_eq!(held(1000, 300), HeldBy::Nothing);
        assert_eq!(held(900, 400), HeldBy::Cwnd);
        assert_eq!(held(1000, 200), HeldBy::Peer);
        assert_eq!((held(200, 200), held(201, 200)), (HeldBy::Cwnd, HeldBy::Peer));
    }

    #[test]
    fn a_span_of_time_counts_for_the_limit_that_applied_at_its_beginning() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut account = TimeAccount::default();
        account.advance(at(5), true, false);
        account.held_by = HeldBy::Peer;
        account.advance(at(12), true, true);
        account.held_by = HeldBy::Cwnd;
        account.advance(at(20), false, true);
        account.advance(at(21), true, false);
        let [repairing, cwnd_limited, rwnd_limited, paced] =
            [7, 1, 7, 0].map(Duration::from_millis);
        assert_eq!(account.times(), SendTimes { repairing, cwnd_limited, rwnd_limited, paced });
    }
}
