//! Infers the causes of some retransmissions, and the clock ticks (the *grid*) at which timers
//! fire, from all connections of one host together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::ids::Side;
use crate::units::Time;

use super::ended_connections::PackedConnection;
use super::infer::{TimerGrid, Traits, Vantage};
use super::rule::CauseRule;
use super::{ExplainedRetransmission, Habits};

/// Sets the cause of retransmissions with the rule `LoneByTime`: a sender retransmitted its only
/// outstanding segment, and only the length of the silence showed the cause. Such a retransmission
/// gets the cause that all connections of the host show together. The reason is that a setting of
/// the host decides whether its connections send tail loss probes.
pub fn settle(connections: &mut [PackedConnection]) {
    let mut hosts: BTreeMap<IpAddr, Traits> = BTreeMap::new();
    for (host, habits) in connections.iter().flat_map(seen) {
        let known = hosts.entry(host).or_default();
        *known = known.and(&habits.traits);
    }
    settle_by_labels(connections);
    settle_each(connections, |host, one| {
        let open = one.rule == CauseRule::LoneByTime;
        let lone = hosts.get(&host).filter(|_| open).and_then(Traits::lone);
        if let Some(cause) = lone {
            (one.cause, one.rule) = (Some(cause).into(), CauseRule::LoneByHost);
        }
        lone.is_some()
    });
}

/// Calls `settle` with each retransmission and the host that sent it. If `settle` returns true, it
/// has set the cause, and the confidence of the cause then follows the new rule.
fn settle_each(
    connections: &mut [PackedConnection],
    settle: impl Fn(IpAddr, &mut ExplainedRetransmission) -> bool,
) {
    for connection in connections {
        for side in [Side::From, Side::To] {
            let host = connection.end(side).ip();
            let Some(parts) = connection.parts_mut(side) else { continue };
            let far = parts.habits.as_ref().is_some_and(|own| own.vantage.0 == Vantage::Receiver);
            for one in parts.retransmissions.iter_mut() {
                // A cause that the capture cannot show has the confidence 0, and stays unknown.
                if one.cause_confidence > 0.0 && settle(host, one) {
                    one.cause_confidence = one.rule.confidence(far);
                }
            }
        }
    }
}

/// Sets the cause of lone retransmissions that kept the flow label of their sender, if another
/// connection of the host changed its label when a retransmission timer fired. The reason is that a
/// setting of the host decides whether a timeout changes the label.
fn settle_by_labels(connections: &mut [PackedConnection]) {
    let mut hosts: BTreeSet<IpAddr> = BTreeSet::new();
    for (one, side) in connections.iter().flat_map(|one| [(one, Side::From), (one, Side::To)]) {
        let habits = one.parts(side).and_then(|parts| parts.habits.as_deref());
        if habits.is_some_and(|habits| habits.traits.relabels) {
            hosts.insert(one.end(side).ip());
        }
    }
    settle_each(connections, |host, one| {
        one.label_kept && hosts.contains(&host) && one.tell_by_label()
    });
}

/// Finds the timer grid of each sender from the timeouts of all connections of its host. If these
/// timeouts have no common grid, finds the grid from the timeouts of the sender alone, because one
/// address may stand for several hosts.
pub fn find_timer_grids(connections: &mut [PackedConnection]) {
    let mut hosts: BTreeMap<IpAddr, Vec<Time>> = BTreeMap::new();
    for one in connections.iter() {
        for (side, _) in seen_sides(one) {
            hosts.entry(one.end(side).ip()).or_default().extend(timeouts(one, side));
        }
    }
    let grids: BTreeMap<IpAddr, Option<TimerGrid>> =
        hosts.into_iter().map(|(host, instants)| (host, TimerGrid::of(&instants))).collect();
    for one in connections {
        let sides: Vec<Side> = seen_sides(one).map(|(side, _)| side).collect();
        for side in sides {
            let pooled = grids.get(&one.end(side).ip()).copied().flatten();
            let own = || TimerGrid::of(&timeouts(one, side).collect::<Vec<_>>());
            let grid = pooled.or_else(own);
            if let Some(habits) = one.parts_mut(side).and_then(|parts| parts.habits.as_mut()) {
                habits.timer_grid = grid;
            }
        }
    }
}

/// The instants at which the retransmission timer of `side` fired for the first time for a loss.
/// Only retransmissions with the rule `Silence` or `FlowLabel` count. Later timeouts of the same
/// octets do not count, because with any clock they follow at multiples of the first wait.
fn timeouts(connection: &PackedConnection, side: Side) -> impl Iterator<Item = Time> {
    let all = connection.parts(side).map_or(&[][..], |parts| &parts.retransmissions[..]);
    let first = |rule| matches!(rule, CauseRule::Silence | CauseRule::FlowLabel);
    all.iter().filter(move |one| one.is_timeout() && first(one.rule)).map(|one| one.at)
}

/// For each sender of a connection, its host and its habits (its observed behaviour). Directions
/// that were captured at the receiver are left out, because such a capture does not show the
/// sender's timers.
fn seen(connection: &PackedConnection) -> impl Iterator<Item = (IpAddr, &Habits)> {
    seen_sides(connection).map(|(side, habits)| (connection.end(side).ip(), habits))
}

/// Like [`seen`], but with the side of each sender in place of its host.
fn seen_sides(connection: &PackedConnection) -> impl Iterator<Item = (Side, &Habits)> {
    [Side::From, Side::To].into_iter().filter_map(|side| {
        let habits = connection.parts(side)?.habits.as_deref()?;
        (habits.vantage.0 != Vantage::Receiver).then_some((side, habits))
    })
}
