//! Connections that have ended.

use std::net::SocketAddr;

use crate::ids::Side;
use crate::observe::Retired;
use crate::units::{Duration, Time};

use super::{CapturedConnection, EndedDirection, SharedState, Statistics, TimeSpent};

/// How a connection ended, as far as the capture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// Neither closed nor reset.
    Open,
    /// Both sides sent a FIN.
    Closed,
    /// A side sent a RST, and no other packet after it. A host that resets a connection sends
    /// nothing more, so any other RST was forged or without effect.
    Reset,
}

impl Ending {
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; 3] = ["open", "closed", "reset"];
}

/// A connection that has ended. [`Flows`](crate::observe::Flows) decides when a connection ends.
/// All connections end when the capture ends.
#[derive(Clone, Debug)]
pub struct EndedConnection {
    /// The number of the connection, in the order of the first packets.
    pub number: u64,
    /// The addresses and ports of the two ends. The first end is the initiator.
    pub ends: [SocketAddr; 2],
    /// The side that sent the first captured packet.
    pub first_side: Side,
    /// The time that the connection spent on each thing that it waited for.
    pub spent: TimeSpent,
    /// The directions, indexed by the side that sends. `None` if neither packets nor
    /// acknowledgments of the direction were captured.
    pub directions: [Option<EndedDirection>; 2],
}

impl EndedConnection {
    /// Returns a connection whose repairs count only as far as they delayed new data. `ends` has
    /// the two ends, and the side that sent the first captured packet.
    pub fn new(
        number: u64,
        (ends, first_side): ([SocketAddr; 2], Side),
        spent: TimeSpent,
        directions: [Option<EndedDirection>; 2],
    ) -> Self {
        let sent = directions.iter().flatten().map(|one| one.statistics.data.unique_bytes).sum();
        let spent = spent.repairs_that_waited(sent);
        Self { number, ends, first_side, spent, directions }
    }

    /// Ends a connection of the capture. Before that, the connection processes the segments that it
    /// has kept. `shared` is the state that all connections share.
    pub fn of(retired: Retired<CapturedConnection>, shared: &mut SharedState) -> Self {
        let Retired { number, ends, mut state } = retired;
        state.take_pending(shared);
        let first_side = state.first_side();
        let (spent, directions) = state.finish_unpacked(shared);
        Self::new(number, (ends, first_side), spent, directions)
    }

    /// What `side` sent.
    pub fn direction(&self, side: Side) -> Option<&EndedDirection> {
        self.directions[side.index()].as_ref()
    }

    fn statistics(&self) -> impl Iterator<Item = &Statistics> {
        self.directions.iter().flatten().map(|direction| &direction.statistics)
    }

    /// When the first packet of the connection was captured.
    pub fn first(&self) -> Time {
        self.statistics().filter_map(|one| one.times.first).min().unwrap_or(Time::ZERO)
    }

    /// When the latest packet of the connection was captured.
    pub fn last(&self) -> Time {
        self.statistics().map(|one| one.times.last).max().unwrap_or(Time::ZERO)
    }

    /// The time from the first packet of the connection to the latest.
    pub fn span(&self) -> Duration {
        self.last().saturating_since(self.first())
    }

    /// How the connection ended.
    pub fn ending(&self) -> Ending {
        if self.statistics().any(|one| one.packets.ends_with_reset) {
            Ending::Reset
        } else if self.statistics().filter(|one| one.packets.fins > 0).count() == 2 {
            Ending::Closed
        } else {
            Ending::Open
        }
    }
}
