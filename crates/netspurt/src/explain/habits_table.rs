//! The table `habits`: the observed behaviour of sender, receiver and path in each direction.

use crate::ids::Side;
use crate::record::{Column, Data, Table};
use crate::units::Duration;

use super::rows::{ExplainedRows, confidence, direction_columns};
use super::{ConnectionRow, EndedConnection, Habits, Vantage};

/// A row: the number of the connection, the side that sends, and the habits of this direction.
type HabitsRow = (u64, Side, Box<Habits>);

fn counts(name: &'static str, rows: &[HabitsRow], of: fn(&Habits) -> u64) -> Column {
    Column::new(name, Data::U64(rows.iter().map(|row| of(&row.2)).collect()))
}

fn spans(name: &'static str, rows: &[HabitsRow], of: fn(&Habits) -> Option<Duration>) -> Column {
    let ns = |span: Duration| span.as_nanos().cast_signed();
    Column::new(name, Data::OptionalI64(rows.iter().map(|row| of(&row.2).map(ns)).collect()))
}

fn path(rows: &[HabitsRow]) -> Vec<Column> {
    let vantages = rows.iter().map(|row| row.2.vantage.0 as u8).collect();
    let sure = rows.iter().map(|row| Some(confidence(row.2.vantage.1))).collect();
    vec![
        Column::new("vantage", Data::Tag { codes: vantages, texts: &Vantage::NAMES }),
        Column::new("vantage_confidence", Data::OptionalF64(sure)),
        spans("near_ns", rows, |habits| habits.near),
        spans("far_ns", rows, |habits| habits.far),
        counts("overtaken_packets", rows, |habits| habits.late.packets),
        counts("overtaken_by_segs_max", rows, |habits| habits.late.by_max),
        counts("overtaken_distance_segs_max", rows, |habits| habits.late.distance_max),
        spans("overtaken_ns_max", rows, |habits| Some(habits.late.behind_max)),
        counts("overtaken_in_acks_packets", rows, |habits| habits.late_in_acks.packets),
        counts("overtaken_in_acks_distance_segs_max", rows, |habits| {
            habits.late_in_acks.distance_max
        }),
        counts("late_or_again_packets", rows, |habits| habits.late_or_again),
        counts("copied_packets", rows, |habits| habits.copies),
        counts("uncaptured_bytes", rows, |habits| habits.uncaptured_bytes),
    ]
}

fn sender(rows: &[HabitsRow]) -> Vec<Column> {
    vec![
        counts("timeouts", rows, |habits| habits.traits.timeouts.into()),
        spans("timeout_wait_ns_min", rows, |habits| habits.traits.shortest_timeout),
        spans("timer_grid_ns", rows, |habits| Some(habits.timer_grid?.step)),
        counts("timer_grid_timeouts", rows, |habits| {
            habits.timer_grid.map_or(0, |grid| grid.cases.into())
        }),
        spans("stamp_tick_ns", rows, |habits| Some(habits.stamps?.step)),
        counts("stamp_ticks", rows, |habits| habits.stamps.map_or(0, |stamps| stamps.ticks.into())),
        counts("tail_probes", rows, |habits| habits.traits.probes.into()),
        counts("timeouts_without_probe", rows, |habits| {
            habits.traits.timeouts_without_probe.into()
        }),
        counts("limited_transmits", rows, |habits| habits.traits.limited.0.into()),
        counts("third_duplicates", rows, |habits| habits.traits.limited.1.into()),
        counts("repairs_in_order", rows, |habits| habits.traits.in_order.into()),
    ]
}

fn receiver(rows: &[HabitsRow]) -> Vec<Column> {
    let delay = |habits: &Habits| (habits.acks.lone > 0).then_some(habits.acks.longest_delay);
    let reports = rows.iter().map(|row| row.2.reports_duplicates).collect();
    vec![
        counts("acks", rows, |habits| habits.acks.acks),
        counts("acked_segs", rows, |habits| habits.acks.covered),
        counts("lone_acks", rows, |habits| habits.acks.lone.into()),
        spans("lone_ack_delay_ns_max", rows, delay),
        counts("idle_acks_max", rows, |habits| habits.acks.idle.into()),
        Column::new("reports_duplicates", Data::Bool(reports)),
    ]
}

/// The rows of the table `habits`: a row for each direction in which octets were missing or sent
/// again. The row tells what the sender, the receiver and the path were seen to do, and how often.
#[derive(Default)]
pub struct HabitsRows(Vec<HabitsRow>);

impl ExplainedRows for HabitsRows {
    fn take(&mut self, connection: &EndedConnection) {
        for ConnectionRow { side, direction, .. } in ConnectionRow::of(connection) {
            let habits = direction.habits.clone();
            self.0.extend(habits.map(|habits| (connection.number, side, habits)));
        }
    }

    fn table(self: Box<Self>) -> Table {
        let rows = self.0;
        let mut columns = direction_columns(rows.iter().map(|row| (row.0, row.1))).to_vec();
        columns.extend([path(&rows), sender(&rows), receiver(&rows)].into_iter().flatten());
        Table::new("habits", columns)
    }
}
