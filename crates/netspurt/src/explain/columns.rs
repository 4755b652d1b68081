//! The columns of the table of connections. Only this file defines their names and their order.

use std::net::IpAddr;

use crate::ids::Side;
use crate::units::{Duration, Time};

use super::ended::{EndedConnection, Ending};
use super::ended_direction::EndedDirection;
use super::{Repairs, Spread, Statistics, Stops};

/// A row: one direction of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionRow<'a> {
    /// The connection.
    pub connection: &'a EndedConnection,
    /// The side that sends.
    pub side: Side,
    /// What this side sends.
    pub direction: &'a EndedDirection,
}

impl<'a> ConnectionRow<'a> {
    /// Returns the one or two rows of `connection`.
    pub fn of(connection: &'a EndedConnection) -> impl Iterator<Item = Self> {
        Side::BOTH.into_iter().filter_map(move |side| {
            Some(Self { connection, side, direction: connection.direction(side)? })
        })
    }

    fn statistics(&self) -> &'a Statistics {
        &self.direction.statistics
    }

    fn repairs(&self) -> Repairs {
        self.statistics().repairs.as_deref().copied().unwrap_or_default()
    }
}

/// How a column's value is read from a row.
#[derive(Clone, Copy)]
pub enum ColumnCell {
    /// A number that always exists.
    Count(fn(&ConnectionRow<'_>) -> u64),
    /// A whole number that may not exist.
    Whole(fn(&ConnectionRow<'_>) -> Option<i64>),
    /// A number with a fraction that may not exist.
    Number(fn(&ConnectionRow<'_>) -> Option<f64>),
    /// A value that is true or false.
    Flag(fn(&ConnectionRow<'_>) -> bool),
    /// One of several texts. The function returns the index of the text.
    Tag(&'static [&'static str], fn(&ConnectionRow<'_>) -> u8),
    /// An address.
    Address(fn(&ConnectionRow<'_>) -> IpAddr),
}

use ColumnCell::{Address, Count, Flag, Number, Tag, Whole};

/// The names of the directions in tables. `forward` is the direction in which the initiator sends.
pub const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

fn ns(at: Time) -> i64 {
    at.as_nanos().cast_signed()
}

fn span_ns(span: Duration) -> i64 {
    span.as_nanos().cast_signed()
}

fn signed(value: Option<u64>) -> Option<i64> {
    value.map(u64::cast_signed)
}

/// `value`, or `None` if it is zero.
fn above_zero(value: u64) -> Option<i64> {
    (value > 0).then_some(value.cast_signed())
}

/// The four columns of a [`Spread`], in this order: minimum, maximum, mean, standard deviation.
macro_rules! spread {
    ($row:ident, $of:expr) => {
        [
            Whole(|$row| signed(Spread::min_ns(&$of))),
            Whole(|$row| signed(Spread::max_ns(&$of))),
            Number(|$row| Spread::mean_ns(&$of)),
            Number(|$row| Spread::deviation_ns(&$of)),
        ]
    };
}

const GAPS: [ColumnCell; 4] = spread!(row, row.repairs().gaps);
const AMBIGUOUS: [ColumnCell; 4] = spread!(row, row.repairs().ambiguous);
const RTT: [ColumnCell; 4] = spread!(row, row.statistics().round_trips.all);
const FULL: [ColumnCell; 4] = spread!(row, row.statistics().round_trips.full_size);

/// The column with the number of the connection.
pub const CONNECTION: (&str, ColumnCell) = ("connection", Count(|row| row.connection.number));

/// The column with the direction.
pub const DIRECTION: (&str, ColumnCell) = ("direction", Tag(&DIRECTIONS, |row| row.side as u8));

/// The columns. Each has a name and a value. If the value has a unit, the name contains the unit.
pub const COLUMNS: &[(&str, ColumnCell)] = &[
    CONNECTION,
    DIRECTION,
    ("source", Address(|row| row.connection.ends[row.side.index()].ip())),
    ("source_port", Count(|row| row.connection.ends[row.side.index()].port().into())),
    ("destination", Address(|row| row.connection.ends[row.side.peer().index()].ip())),
    ("destination_port", Count(|row| row.connection.ends[row.side.peer().index()].port().into())),
    ("ending", Tag(&Ending::NAMES, |row| row.connection.ending() as u8)),
    ("t_ns", Whole(|row| Some(ns(row.connection.first())))),
    ("duration_ns", Whole(|row| Some(span_ns(row.connection.span())))),
    ("application_ns", Whole(|row| Some(span_ns(row.connection.spent.pause_ended_by(row.side))))),
    ("write_wait_ns", Whole(|row| Some(span_ns(row.stops().write)))),
    ("buffer_wait_ns", Whole(|row| Some(span_ns(row.stops().buffer)))),
    ("short_wait_ns", Whole(|row| Some(span_ns(row.stops().short)))),
    ("first_ns", Whole(|row| row.statistics().times.first.map(ns))),
    ("last_ns", Whole(|row| row.statistics().times.first.map(|_| ns(row.statistics().times.last)))),
    ("packets", Count(|row| row.statistics().packets.all.into())),
    ("resets", Count(|row| row.statistics().packets.resets.into())),
    ("syns", Count(|row| row.statistics().packets.syns.into())),
    ("fins", Count(|row| row.statistics().packets.fins.into())),
    ("acks", Count(|row| row.statistics().packets.acks.into())),
    ("pure_acks", Count(|row| row.statistics().packets.pure_acks.into())),
    ("sack_packets", Count(|row| row.statistics().packets.sacks.into())),
    ("sack_acks", Count(|row| row.statistics().packets.sack_acks.into())),
    ("dsack_acks", Count(|row| row.statistics().packets.dsacks.into())),
    ("sack_blocks_max", Count(|row| row.statistics().packets.sack_blocks_max.into())),
    ("ece_packets", Count(|row| row.statistics().packets.ece.into())),
    ("cwr_packets", Count(|row| row.statistics().packets.cwr.into())),
    ("pushes", Count(|row| row.statistics().packets.pushes.into())),
    ("urgent_packets", Count(|row| row.statistics().packets.urgent.into())),
    ("urgent_bytes", Count(|row| row.statistics().packets.urgent_bytes)),
    ("hardware_duplicates", Count(|row| row.statistics().copies.count)),
    ("initial_seq", Whole(|row| row.direction.initial_seq().map(i64::from))),
    ("mss_bytes", Whole(|row| row.statistics().offers.mss.map(i64::from))),
    ("window_scale", Whole(|row| row.statistics().offers.window_scale.map(i64::from))),
    ("sack_permitted", Flag(|row| row.statistics().offers.sack)),
    ("ecn_permitted", Flag(|row| row.statistics().offers.ecn)),
    ("timestamps", Flag(|row| row.statistics().offers.timestamps)),
    ("data_packets", Count(|row| row.statistics().data.packets)),
    ("data_bytes", Count(|row| row.statistics().data.bytes)),
    ("unique_bytes", Count(|row| row.statistics().data.unique_bytes)),
    ("segment_bytes_max", Whole(|row| above_zero(row.statistics().data.bytes_max.into()))),
    ("segment_bytes_min", Whole(|row| above_zero(row.statistics().data.bytes_min.into()))),
    ("segment_bytes_mean", Number(|row| row.statistics().data.bytes_mean())),
    ("retransmissions", Count(|row| row.statistics().data.retransmissions)),
    ("retransmitted_bytes", Count(|row| row.statistics().data.retransmitted_bytes)),
    ("retransmissions_of_one_max", Count(|row| row.repairs().of_one_max)),
    ("retransmission_gap_ns_min", GAPS[0]),
    ("retransmission_gap_ns_max", GAPS[1]),
    ("retransmission_gap_ns_mean", GAPS[2]),
    ("retransmission_gap_ns_deviation", GAPS[3]),
    ("out_of_order", Count(|row| row.statistics().data.out_of_order)),
    ("window_probes", Count(|row| row.statistics().data.window_probes)),
    ("window_probe_bytes", Count(|row| row.statistics().data.window_probe_bytes)),
    ("window_bytes_max", Whole(|row| row.windowed(|windows| windows.max.into()))),
    ("window_bytes_min", Whole(|row| above_zero(row.statistics().windows.min.into()))),
    ("window_bytes_mean", Number(|row| row.statistics().windows.mean())),
    ("window_bytes_time_mean", Number(|row| row.window_over_time().map(|both| both.0))),
    ("window_open_share", Number(|row| row.window_over_time().map(|both| both.1))),
    ("zero_windows", Count(|row| row.statistics().windows.zeros)),
    ("window_closings", Count(|row| row.statistics().windows.closings)),
    (
        "window_closed_ns",
        Whole(|row| Some(span_ns(row.statistics().windows.closed(row.statistics().times.last)))),
    ),
    ("windows_scaled", Flag(|row| row.statistics().windows.scaled)),
    ("outstanding_bytes_max", Whole(|row| row.looked(|flight| flight.max))),
    ("outstanding_bytes_min", Whole(|row| above_zero(row.statistics().flight.min))),
    ("outstanding_bytes_mean", Number(|row| row.statistics().flight.mean())),
    (
        "outstanding_bytes_time_mean",
        Number(|row| {
            let (first, last) = (row.connection.first(), row.connection.last());
            row.statistics().flight.mean_over_time(first, last)
        }),
    ),
    ("initial_window_bytes", Whole(|row| row.begun(|flight| flight.bytes.into()))),
    ("initial_window_packets", Whole(|row| row.begun(|flight| flight.packets.into()))),
    ("stream_bytes", Whole(|row| signed(row.statistics().stream_bytes()))),
    ("missing_bytes", Whole(|row| row.statistics().missing_bytes())),
    ("cut_bytes", Count(|row| row.statistics().data.cut_bytes)),
    ("cut_packets", Count(|row| row.statistics().data.cut_packets)),
    ("data_span_ns", Whole(|row| row.statistics().times.data_span().map(span_ns))),
    (
        "idle_ns_max",
        Whole(|row| row.statistics().times.first.map(|_| span_ns(row.statistics().times.idle_max))),
    ),
    ("throughput_bps", Number(|row| row.statistics().throughput_bps(row.connection.span()))),
    ("rtt_samples", Count(|row| row.statistics().round_trips.all.count())),
    ("rtt_ns_min", RTT[0]),
    ("rtt_ns_max", RTT[1]),
    ("rtt_ns_mean", RTT[2]),
    ("rtt_ns_deviation", RTT[3]),
    ("handshake_rtt_ns", Whole(|row| signed(row.statistics().handshake_ns()))),
    ("full_rtt_samples", Count(|row| row.statistics().round_trips.full_size.count())),
    ("full_rtt_ns_min", FULL[0]),
    ("full_rtt_ns_max", FULL[1]),
    ("full_rtt_ns_mean", FULL[2]),
    ("full_rtt_ns_deviation", FULL[3]),
    ("post_loss_acks", Count(|row| row.statistics().round_trips.post_loss)),
    ("ambiguous_acks", Count(|row| row.repairs().ambiguous.count())),
    ("ambiguous_rtt_ns_min", AMBIGUOUS[0]),
    ("ambiguous_rtt_ns_max", AMBIGUOUS[1]),
    ("ambiguous_rtt_ns_mean", AMBIGUOUS[2]),
    ("ambiguous_rtt_ns_deviation", AMBIGUOUS[3]),
    ("cumulatively_acked", Count(|row| row.statistics().round_trips.cumulative)),
    ("duplicate_acks", Count(|row| row.statistics().duplicate_acks.count)),
    ("triple_duplicate_acks", Count(|row| row.statistics().duplicate_acks.triples)),
];

impl ConnectionRow<'_> {
    /// What the sender waited for when it had stopped sending, and how long it waited.
    fn stops(&self) -> Stops {
        self.connection.spent.stops(self.side)
    }

    /// A value of the advertised windows. `None` if no window was advertised.
    fn windowed(&self, of: fn(&super::Windows) -> u64) -> Option<i64> {
        let windows = &self.statistics().windows;
        (windows.count > 0).then(|| of(windows).cast_signed())
    }

    /// The mean window over time, and this mean as a share of the mean that the window would have
    /// if it never shrank. `None` if no window above zero was advertised, or if all packets came at
    /// one instant.
    fn window_over_time(&self) -> Option<(f64, f64)> {
        let Statistics { windows, times, .. } = self.statistics();
        windows.over_time(times.first?, times.last)
    }

    /// A value of the outstanding octets. `None` if they were never counted.
    fn looked(&self, of: fn(&super::FlightSize) -> u64) -> Option<i64> {
        let flight = &self.statistics().flight;
        (flight.count > 0).then(|| of(flight).cast_signed())
    }

    /// A value of the initial window. `None` if the SYN of the direction was not captured, or if
    /// the capture was not taken beside the sender.
    fn begun(&self, of: fn(&super::FirstFlight) -> i64) -> Option<i64> {
        let Statistics { packets, first_flight, .. } = self.statistics();
        let known = packets.syns > 0 && first_flight.beside_sender;
        known.then(|| of(first_flight))
    }
}
