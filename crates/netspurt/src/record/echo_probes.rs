//! Makes the table `echo_probes`. An echo probe is a packet that measures a path: the remote host
//! sends it back immediately. For each reply, the prober waits at most for the give-up time.

use crate::units::{Duration, Time};

use super::names::{Names, nanos};
use super::table::{Column, Data, Table};

/// The outcome of an echo probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoProbeSum {
    /// The number of the flow to which the echo probe belongs.
    pub flow: u32,
    /// The number of the echo probe in its flow, from 1.
    pub number: u32,
    /// When the request left.
    pub sent: Time,
    /// The number of octets in the datagram, which is the same for the request and the reply.
    pub size_bytes: u16,
    /// The round trip, if the reply came before the end of the give-up time.
    pub rtt: Option<Duration>,
    /// True if no reply came before the end of the give-up time.
    pub lost: bool,
    /// The round trip of a late reply, which came at the end of the give-up time or later.
    pub late: Option<Duration>,
    /// The number of replies after the first reply.
    pub duplicates: u32,
}

/// Makes the table `echo_probes`: one row for each element of `sums`, ordered by time.
pub fn echo_probes_table(names: &Names, sums: &[EchoProbeSum]) -> Table {
    let count = |of: fn(&EchoProbeSum) -> u32| Data::U32(sums.iter().map(of).collect());
    let span = |of: fn(&EchoProbeSum) -> Option<Duration>| {
        let nanos = |span: Duration| span.as_nanos().cast_signed();
        Data::OptionalI64(sums.iter().map(|sum| of(sum).map(nanos)).collect())
    };
    let columns = [
        ("number", count(|sum| sum.number)),
        ("size_bytes", Data::U16(sums.iter().map(|sum| sum.size_bytes).collect())),
        ("rtt_ns", span(|sum| sum.rtt)),
        ("lost", Data::Bool(sums.iter().map(|sum| sum.lost).collect())),
        ("late_ns", span(|sum| sum.late)),
        ("duplicates", count(|sum| sum.duplicates)),
    ];
    let sent = Data::I64(sums.iter().map(|sum| nanos(sum.sent)).collect());
    let flow = names.flow_column(sums.iter().map(|sum| sum.flow).collect());
    let columns = columns.map(|(name, data)| Column::new(name, data));
    let columns = [Column::new("t_ns", sent), flow].into_iter().chain(columns);
    Table::new("echo_probes", columns.collect()).in_time()
}
