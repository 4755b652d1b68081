//! The table of a capture's round trips. Two methods measure them: by acknowledgment numbers, and
//! by echoed timestamps.

use std::collections::{HashMap, VecDeque};

use crate::ids::Side;
use crate::observe::Observed;
use crate::record::{Column, Data, Table};
use crate::sample::RttSample;
use crate::segment::Flags;
use crate::seq::is_before;
use crate::units::{Duration, Time};
use crate::wire::TcpView;

use super::columns::DIRECTIONS;

/// How a round trip was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum RttMethod {
    /// By the acknowledgment of octets that were sent once.
    Sequence,
    /// By the echo of a timestamp (RFC 7323 §4.1).
    Timestamp,
}

impl RttMethod {
    /// The names in the table, in the order of the values.
    const NAMES: [&str; 2] = ["sequence", "timestamp"];
}

/// The round trip of data that `side` sent: from the capture to the receiver and back.
struct RoundTripRow {
    at: Time,
    connection: u64,
    side: Side,
    method: RttMethod,
    sent: Time,
    rtt: Duration,
}

/// The timestamps that one side has sent and that the other side has not echoed yet.
#[derive(Debug, Default)]
struct AwaitedStamps {
    /// Timestamp values, each with the time of the first segment that carried it.
    values: VecDeque<(u32, Time)>,
    /// The newest value so far.
    newest: Option<u32>,
    /// The highest acknowledgment so far.
    acked: Option<u32>,
}

impl AwaitedStamps {
    /// The maximum number of values that are remembered. Without a maximum, a hostile capture
    /// without echoes could fill the memory.
    const MOST: usize = 1 << 12;

    /// Notes the timestamp `val` of a segment that was sent and that occupies sequence numbers. If
    /// several segments carry the same value, the first segment is timed.
    fn sent(&mut self, at: Time, val: u32) {
        if self.newest.is_none_or(|newest| is_before(newest, val)) {
            self.newest = Some(val);
            self.values.push_back((val, at));
            if self.values.len() > Self::MOST {
                self.values.pop_front();
            }
        }
    }

    /// Takes an acknowledgment with the number `ack` that echoes the timestamp `ecr`. Returns the
    /// instant at which the first segment with that timestamp was sent. Only acknowledgments of new
    /// octets count, because other acknowledgments may echo an old value (RFC 7323 §4.1). Each
    /// value counts once.
    fn echoed(&mut self, ack: u32, ecr: u32) -> Option<Time> {
        if !self.acked.is_none_or(|acked| is_before(acked, ack)) {
            return None;
        }
        self.acked = Some(ack);
        while self.values.front().is_some_and(|(val, _)| is_before(*val, ecr)) {
            self.values.pop_front();
        }
        let (_, sent) = self.values.front().filter(|(val, _)| *val == ecr).copied()?;
        self.values.pop_front();
        Some(sent)
    }
}

/// Collects the round trips of a capture in the order of its packets.
#[derive(Default)]
pub struct RoundTripRows {
    rows: Vec<RoundTripRow>,
    awaited: HashMap<(u64, Side), AwaitedStamps>,
}

impl RoundTripRows {
    /// Takes a packet that `side` of a connection sent and that was captured at the instant `at`.
    /// `sample` is the round trip that the acknowledgment in this packet ends.
    pub fn take(
        &mut self,
        at: Time,
        (connection, side): (u64, Side),
        view: &TcpView,
        sample: Option<RttSample>,
    ) {
        let timed = |method, side, sent: Time| {
            let rtt = at.saturating_since(sent);
            RoundTripRow { at, connection, side, method, sent, rtt }
        };
        let peer = side.peer();
        self.rows.extend(sample.map(|sample| timed(RttMethod::Sequence, peer, sample.sent)));
        let Some(stamps) = view.options.timestamps else { return };
        if view.seq_len() > 0 && !view.flags.has(Flags::RST) {
            self.awaited.entry((connection, side)).or_default().sent(at, stamps.val);
        }
        if view.flags.has(Flags::ACK)
            && let Some(awaited) = self.awaited.get_mut(&(connection, peer))
            && let Some(sent) = awaited.echoed(view.ack, stamps.ecr)
        {
            self.rows.push(timed(RttMethod::Timestamp, peer, sent));
        }
    }

    /// Returns the table `round_trips` with a row for each round trip. Times count from the instant
    /// `start`.
    pub fn table(self, start: Time) -> Table {
        let rows = self.rows;
        let ns = |span: Duration| span.as_nanos().cast_signed();
        let since = |of: fn(&RoundTripRow) -> Time| {
            Data::I64(rows.iter().map(|row| ns(of(row).saturating_since(start))).collect())
        };
        let sides = rows.iter().map(|row| row.side.index() as u8).collect();
        let methods = rows.iter().map(|row| row.method as u8).collect();
        Table::new(
            "round_trips",
            vec![
                Column::new("t_ns", since(|row| row.at)),
                Column::new(
                    "connection",
                    Data::U64(rows.iter().map(|row| row.connection).collect()),
                ),
                Column::new("direction", Data::Tag { codes: sides, texts: &DIRECTIONS }),
                Column::new("method", Data::Tag { codes: methods, texts: &RttMethod::NAMES }),
                Column::new("sent_ns", since(|row| row.sent)),
                Column::new("rtt_ns", Data::I64(rows.iter().map(|row| ns(row.rtt)).collect())),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn the_first_echo_of_a_timestamp_ends_a_round_trip() {
        let mut stamps = AwaitedStamps::default();
        for (ms, val) in [(0, 7), (1, 7), (10, 8), (20, 9)] {
            stamps.sent(at(ms), val);
        }
        assert_eq!(stamps.echoed(100, 7), Some(at(0)));
        assert_eq!(stamps.echoed(100, 8), None, "a duplicate ACK");
        assert_eq!(stamps.echoed(200, 7), None, "each value counts once");
        assert_eq!(stamps.echoed(300, 9), Some(at(20)), "the value 8 was never echoed");
        assert_eq!(stamps.echoed(400, 8), None);
    }

    #[test]
    fn round_trips_are_right_although_timestamps_and_numbers_wrap() {
        let mut stamps = AwaitedStamps::default();
        stamps.sent(at(0), u32::MAX);
        stamps.sent(at(1), 0);
        assert_eq!(stamps.echoed(u32::MAX, u32::MAX), Some(at(0)));
        assert_eq!(stamps.echoed(5, 0), Some(at(1)));
    }

    #[test]
    fn timestamps_that_are_never_echoed_take_bounded_memory() {
        let mut stamps = AwaitedStamps::default();
        (0..100_000).for_each(|val| stamps.sent(at(0), val));
        assert_eq!(stamps.values.len(), AwaitedStamps::MOST);
    }
}
