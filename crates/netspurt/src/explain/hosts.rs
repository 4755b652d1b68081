//! What the connections of one host tell of each other's lone segments.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::ids::Side;

use super::infer::{Traits, Vantage};
use super::rule::CauseRule;
use super::{EndedConnection, Habits};

/// Gives lone segments that left again, and whose cause only time told, the cause that other
/// connections of the same host show: whether a sender has tail loss probes is a setting of its host.
pub fn settle(connections: &mut [EndedConnection]) {
    let mut hosts: BTreeMap<IpAddr, Traits> = BTreeMap::new();
    for (host, habits) in connections.iter().flat_map(seen) {
        let known = hosts.entry(host).or_default();
        known.probes = known.probes.saturating_add(habits.traits.probes);
        known.timeouts_without_probe =
            known.timeouts_without_probe.saturating_add(habits.traits.timeouts_without_probe);
    }
    for connection in connections {
        for side in [Side::From, Side::To] {
            let host = connection.ends[side.index()].ip();
            let Some(cause) = hosts.get(&host).and_then(Traits::lone) else { continue };
            let Some(way) = &mut connection.ways[side.index()] else { continue };
            let far = way.habits.as_ref().is_some_and(|own| own.vantage.0 == Vantage::Receiver);
            let lone = |rule| rule == CauseRule::LoneByTime;
            for one in way.retransmissions.iter_mut().filter(|one| lone(one.rule)) {
                (one.cause, one.rule) = (Some(cause).into(), CauseRule::LoneByHost);
                one.cause_confidence = one.rule.confidence(far);
            }
        }
    }
}

/// The directions of a connection whose senders' habits show, by their hosts: beside a receiver
/// timers do not.
fn seen(connection: &EndedConnection) -> impl Iterator<Item = (IpAddr, &Habits)> {
    [Side::From, Side::To].into_iter().filter_map(|side| {
        let habits = connection.way(side)?.habits.as_deref()?;
        let host = connection.ends[side.index()].ip();
        (habits.vantage.0 != Vantage::Receiver).then_some((host, habits))
    })
}
