//! In a capture away from a sender, acknowledgments reach the sender some time after they pass the
//! capture. This file takes these acknowledgments into account when they reach the sender.

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::Time;
use crate::wire::CapturedTcp;

use super::passed_acks::ReachedBy;
use super::{CapturedConnection, CapturedDirection, WaitingFor};

impl CapturedDirection {
    /// Returns the next event that an acknowledgment causes at the sender. There are two kinds of
    /// events: the sender learns of the acknowledgment, or it has had time to use the window in the
    /// acknowledgment. Also returns the time at which the effect of the event passes the capture.
    /// `None` if it is not certain that the event has happened by the instant `at`.
    fn reached(&self, at: Time) -> Option<(ReachedBy, Time)> {
        self.limits.reached(at, self.sender.path.near_now())
    }
}

impl CapturedConnection {
    /// Whether there is an event that [`let_reach`](Self::let_reach) has not taken yet. Such an
    /// event happened at a sender by the instant `at`, and an acknowledgment caused it.
    pub(super) fn has_reached(&self, at: Time) -> bool {
        self.afar
            && self.directions.iter().flatten().any(|direction| direction.reached(at).is_some())
    }

    /// Prepares for a packet of `side` that was captured at the instant `at`. Takes the
    /// acknowledgments that have reached one of the two senders by then. The time until the last of
    /// these acknowledgments reached a sender counts as time spent.
    ///
    /// Even if all captured data is acknowledged, newer data may be on its way from the sender to
    /// the capture. The packet may carry this data. `until_reached` says whether data counts as on
    /// its way until the acknowledgments reached the sender. `soon` says whether data counts as on
    /// its way after that. The caller sets `soon` only if little time has passed since data was
    /// last sent or acknowledged: at most about one round trip between the sender and the capture.
    /// If `soon` is true, returns what has held the sender back since the last acknowledgment
    /// reached the sender. Otherwise returns `None`.
    #[inline(never)]
    pub(super) fn let_reach(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
        (until_reached, soon): (bool, bool),
    ) -> Option<WaitingFor> {
        let stamps = packet.timestamps().filter(|_| packet.flags().has(Flags::ACK));
        if let (Some(stamps), Some(direction)) =
            (stamps, self.directions[side.index()].as_deref_mut())
        {
            direction.limits.echoed(at, stamps.ecr);
        }
        while let Some((receiver, by, reached)) = self.next_reached(at) {
            let waited = self.held_back(side, until_reached);
            let direction = self.directions[receiver.index()].as_deref_mut();
            let ended = direction
                .and_then(|direction| direction.limits.take_reached(by, &direction.octets));
            let waiting = self.waiting();
            self.spent.packet(reached, waited, waiting);
            self.spent.sent_in_repair(ended.unwrap_or_default());
        }
        self.held_back(side, soon)
    }

    /// The next event that an acknowledgment has caused at one of the two senders by the instant
    /// `at`. Returns the sender, the event, and the time at which the effect of the event passes
    /// the capture.
    fn next_reached(&self, at: Time) -> Option<(Side, ReachedBy, Time)> {
        let one = |side: Side| {
            let (by, reached) = self.directions[side.index()].as_deref()?.reached(at)?;
            Some((side, by, reached))
        };
        match (one(Side::From), one(Side::To)) {
            (Some(from), Some(to)) if to.2 < from.2 => Some(to),
            (from, to) => from.or(to),
        }
    }

    /// What holds back the sender `side` while its data is on its way. `None` unless `on_its_way`
    /// is true.
    pub(super) fn held_back(&self, side: Side, on_its_way: bool) -> Option<WaitingFor> {
        let direction = self.directions[side.index()].as_deref().filter(|_| on_its_way)?;
        Some(direction.limits.held_back_by(&direction.octets))
    }
}
