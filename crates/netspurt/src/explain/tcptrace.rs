//! Writes connections in the layout of another program, tcptrace (`-lr --csv -n`, version 6.6.7),
//! for scripts that read its output. There are 140 columns. Their names, the padding and the text
//! `NA` come from tcptrace, and netspurt computes the values. The last column is empty, because
//! each line ends in a comma. With tcptrace's option `-W`, there are eight more columns of
//! outstanding octets (`owin`).

use std::io::{self, Write};

use crate::units::{Duration, Time};

use super::ended::EndedConnection;
use super::ended_direction::EndedDirection;
use super::{Repairs, Spread, Statistics};

/// Whether there are columns of outstanding octets, as with tcptrace's option `-W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owin {
    /// 148 columns.
    With,
    /// 140 columns.
    Without,
}

impl Owin {
    fn columns(self) -> impl Iterator<Item = &'static TcptraceColumn> {
        COLUMNS.iter().filter(move |(stem, _)| self == Self::With || !stem.ends_with("owin"))
    }
}

/// What was captured of one direction of a connection. The statistics are zero if the direction was
/// not captured.
struct TcptraceDirection<'a> {
    statistics: &'a Statistics,
    repairs: Repairs,
    /// When the first packet of the connection was captured.
    first: Time,
    /// When the last packet of the connection was captured.
    last: Time,
}

type Text = String;

/// A column that exists for each direction: its name without the direction, and the function that
/// returns its value.
type TcptraceColumn = (&'static str, fn(&TcptraceDirection<'_>) -> Text);

/// The value, or `NA` if there is none.
fn or_na(value: Option<impl ToString>) -> Text {
    value.map_or("NA".to_owned(), |value| value.to_string())
}

/// The mean of octets, rounded down. Zero if there is no mean.
fn whole(value: Option<f64>) -> u64 {
    value.map_or(0, |value| value as u64)
}

fn yes(flag: bool) -> Text {
    if flag { "Y" } else { "N" }.to_owned()
}

/// Nanoseconds as milliseconds with one digit after the decimal point.
fn ms(ns: f64) -> Text {
    format!("{:.1}", ns / 1e6)
}

fn least(spread: &Spread) -> Text {
    ms(spread.min_ns().unwrap_or(0) as f64)
}

fn greatest(spread: &Spread) -> Text {
    ms(spread.max_ns().unwrap_or(0) as f64)
}

fn mean(spread: &Spread) -> Text {
    ms(spread.mean_ns().unwrap_or(0.0))
}

fn deviation(spread: &Spread) -> Text {
    ms(spread.deviation_ns().unwrap_or(0.0))
}

/// The columns after the first seven, in order. Each entry stands for two columns, one for each
/// direction.
const COLUMNS: &[TcptraceColumn] = &[
    ("total_packets", |d| d.statistics.packets.all.to_string()),
    ("resets_sent", |d| d.statistics.packets.resets.to_string()),
    ("ack_pkts_sent", |d| d.statistics.packets.acks.to_string()),
    ("pure_acks_sent", |d| d.statistics.packets.pure_acks.to_string()),
    ("sack_pkts_sent", |d| d.statistics.packets.sack_acks.to_string()),
    ("dsack_pkts_sent", |d| d.statistics.packets.dsacks.to_string()),
    ("max_sack_blks/ack", |d| d.statistics.packets.sack_blocks_max.to_string()),
    ("unique_bytes_sent", |d| d.statistics.data.unique_bytes.to_string()),
    ("actual_data_pkts", |d| d.statistics.data.packets.to_string()),
    ("actual_data_bytes", |d| d.statistics.data.bytes.to_string()),
    ("rexmt_data_pkts", |d| d.statistics.data.retransmissions.to_string()),
    ("rexmt_data_bytes", |d| d.statistics.data.retransmitted_bytes.to_string()),
    ("zwnd_probe_pkts", |d| d.statistics.data.window_probes.to_string()),
    ("zwnd_probe_bytes", |d| d.statistics.data.window_probe_bytes.to_string()),
    ("outoforder_pkts", |d| d.statistics.data.out_of_order.to_string()),
    ("pushed_data_pkts", |d| d.statistics.packets.pushes.to_string()),
    ("SYN/FIN_pkts_sent", |d| {
        format!("{}/{}", d.statistics.packets.syns, d.statistics.packets.fins)
    }),
    ("req_1323_ws/ts", |d| {
        let offers = &d.statistics.offers;
        format!("{}/{}", yes(offers.window_scale.is_some()), yes(offers.timestamps))
    }),
    ("adv_wind_scale", |d| d.statistics.offers.window_scale.unwrap_or(0).to_string()),
    ("req_sack", |d| yes(d.statistics.offers.sack)),
    ("sacks_sent", |d| d.statistics.packets.sacks.to_string()),
    ("urgent_data_pkts", |d| d.statistics.packets.urgent.to_string()),
    ("urgent_data_bytes", |d| d.statistics.packets.urgent_bytes.to_string()),
    ("mss_requested", |d| d.statistics.offers.mss.unwrap_or(0).to_string()),
    ("max_segm_size", |d| d.statistics.data.bytes_max.to_string()),
    ("min_segm_size", |d| d.statistics.data.bytes_min.to_string()),
    ("avg_segm_size", |d| whole(d.statistics.data.bytes_mean()).to_string()),
    ("max_win_adv", |d| d.statistics.windows.max.to_string()),
    ("min_win_adv", |d| d.statistics.windows.min.to_string()),
    ("zero_win_adv", |d| d.statistics.windows.zeros.to_string()),
    ("avg_win_adv", |d| whole(d.statistics.windows.mean()).to_string()),
    ("max_owin", |d| d.statistics.flight.max.to_string()),
    ("min_non-zero_owin", |d| d.statistics.flight.min.to_string()),
    ("avg_owin", |d| whole(d.statistics.flight.mean()).to_string()),
    ("wavg_owin", |d| {
        or_na(d.statistics.flight.mean_over_time(d.first, d.last).map(|value| value as u64))
    }),
    ("initial_window_bytes", |d| d.begun(d.statistics.data.initial_window_bytes)),
    ("initial_window_pkts", |d| d.begun(d.statistics.data.initial_window_packets)),
    ("ttl_stream_length", |d| or_na(d.statistics.stream_bytes())),
    ("missed_data", |d| or_na(d.statistics.missing_bytes())),
    ("truncated_data", |d| d.statistics.data.cut_bytes.to_string()),
    ("truncated_packets", |d| d.statistics.data.cut_packets.to_string()),
    ("data_xmit_time", |d| {
        format!("{:.3}", d.statistics.times.data_span().unwrap_or_default().as_secs_f64())
    }),
    ("idletime_max", |d| {
        let times = &d.statistics.times;
        or_na(times.first.map(|_| ms(times.idle_max.as_nanos() as f64)))
    }),
    ("hardware_dups", |d| d.statistics.copies.count.to_string()),
    ("throughput", |d| {
        let bps = d.statistics.throughput_bps(d.span());
        or_na(bps.map(|bps| format!("{:.0}", bps / 8.0)))
    }),
    ("RTT_samples", |d| d.statistics.round_trips.all.count().to_string()),
    ("RTT_min", |d| least(&d.statistics.round_trips.all)),
    ("RTT_max", |d| greatest(&d.statistics.round_trips.all)),
    ("RTT_avg", |d| mean(&d.statistics.round_trips.all)),
    ("RTT_stdev", |d| deviation(&d.statistics.round_trips.all)),
    ("RTT_from_3WHS", |d| ms(d.statistics.handshake_ns().unwrap_or(0) as f64)),
    ("RTT_full_sz_smpls", |d| d.statistics.round_trips.full_size.count().to_string()),
    ("RTT_full_sz_min", |d| least(&d.statistics.round_trips.full_size)),
    ("RTT_full_sz_max", |d| greatest(&d.statistics.round_trips.full_size)),
    ("RTT_full_sz_avg", |d| mean(&d.statistics.round_trips.full_size)),
    ("RTT_full_sz_stdev", |d| deviation(&d.statistics.round_trips.full_size)),
    ("post-loss_acks", |d| d.statistics.round_trips.post_loss.to_string()),
    ("ambiguous_acks", |d| d.repairs.ambiguous.count().to_string()),
    ("RTT_min_(last)", |d| least(&d.repairs.ambiguous)),
    ("RTT_max_(last)", |d| greatest(&d.repairs.ambiguous)),
    ("RTT_avg_(last)", |d| mean(&d.repairs.ambiguous)),
    ("RTT_sdv_(last)", |d| deviation(&d.repairs.ambiguous)),
    ("segs_cum_acked", |d| d.statistics.round_trips.cumulative.to_string()),
    ("duplicate_acks", |d| d.statistics.duplicate_acks.count.to_string()),
    ("triple_dupacks", |d| d.statistics.duplicate_acks.triples.to_string()),
    ("max_#_retrans", |d| d.repairs.of_one_max.to_string()),
    ("min_retr_time", |d| least(&d.repairs.gaps)),
    ("max_retr_time", |d| greatest(&d.repairs.gaps)),
    ("avg_retr_time", |d| mean(&d.repairs.gaps)),
    ("sdv_retr_time", |d| deviation(&d.repairs.gaps)),
];

/// The name of the column `stem` for a direction. tcptrace spells one of these names differently.
fn spelt(stem: &str, direction: &str) -> Text {
    match (stem, direction) {
        ("RTT_full_sz_stdev", "a2b") => "RTT full_sz_stdev_a2b".to_owned(),
        _ => format!("{stem}_{direction}"),
    }
}

/// Writes the heading, and an empty line after it. The heading ends in a comma.
///
/// # Errors
/// When writing to the output fails.
pub fn write_tcptrace_heading(owin: Owin, out: &mut impl Write) -> io::Result<()> {
    write!(out, "conn_#,host_a,host_b,port_a,port_b,first_packet,last_packet,")?;
    for (stem, _) in owin.columns() {
        write!(out, "{},{},", spelt(stem, "a2b"), spelt(stem, "b2a"))?;
    }
    writeln!(out, "\n")
}

/// Writes the row of `connection`. As in tcptrace, `a` is the side that sent the first captured
/// packet.
///
/// # Errors
/// When writing to the output fails.
pub fn write_tcptrace_row(
    connection: &EndedConnection,
    owin: Owin,
    out: &mut impl Write,
) -> io::Result<()> {
    let sides = [connection.first_side, connection.first_side.peer()];
    let [a, b] = sides.map(|side| connection.ends[side.index()]);
    let (first, last) = (connection.first(), connection.last());
    let (number, [since, until]) = (connection.number + 1, [first, last].map(stamp));
    write!(out, "{number},{},{},{},{},{since} , {until} ,", a.ip(), b.ip(), a.port(), b.port())?;
    let nothing = Statistics::default();
    let directions = sides.map(|side| {
        let statistics = connection.direction(side).map_or(&nothing, EndedDirection::statistics);
        let repairs = statistics.repairs.as_deref().copied().unwrap_or_default();
        TcptraceDirection { statistics, repairs, first, last }
    });
    for (_, value) in owin.columns() {
        for direction in &directions {
            write!(out, "{:>15},", value(direction))?;
        }
    }
    writeln!(out)
}

/// Seconds since 1970 with six digits after the decimal point.
fn stamp(at: Time) -> Text {
    let us = at.as_nanos() / 1000;
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

impl TcptraceDirection<'_> {
    /// A value of the initial window (the data before the first acknowledgment of data). It is 0 if
    /// the SYN of the direction was not captured.
    fn begun(&self, value: u64) -> Text {
        if self.statistics.packets.syns > 0 { value } else { 0 }.to_string()
    }

    fn span(&self) -> Duration {
        self.last.saturating_since(self.first)
    }
}
