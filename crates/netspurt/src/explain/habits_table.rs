//! The table `habits`: the observed behaviour of sender, receiver and path in each direction.

use crate::record::Table;

use super::columns::{CONNECTION, DIRECTION};
use super::row_columns::{NamedCells, RowColumns};
use super::rows::{ExplainedRows, confidence, span_ns};
use super::{ColumnCell, ConnectionRow, EndedConnection, Habits, Vantage};

use ColumnCell::{Count, Flag, Number, Tag, Whole};

/// A cell with a count from the habits of a direction. The count is 0 if the direction has no
/// habits.
macro_rules! count {
    (|$habits:ident| $of:expr) => {
        Count(|row| row.habits().map_or(0, |$habits| $of))
    };
}

/// A cell with a time from the habits of a direction. The cell is empty if there is no such time.
macro_rules! span {
    (|$habits:ident| $of:expr) => {
        Whole(|row| row.habits().and_then(|$habits| $of).map(span_ns))
    };
}

impl<'a> ConnectionRow<'a> {
    fn habits(&self) -> Option<&'a Habits> {
        self.direction.habits.as_deref()
    }

    fn vantage(&self) -> (Vantage, f32) {
        self.habits().map(|habits| habits.vantage).unwrap_or_default()
    }
}

/// The columns with the habits (the observed behaviour) of the sender, the path and the receiver of
/// a direction.
const HABITS: NamedCells = &[
    CONNECTION,
    DIRECTION,
    ("vantage", Tag(&Vantage::NAMES, |row| row.vantage().0 as u8)),
    ("vantage_confidence", Number(|row| Some(confidence(row.vantage().1)))),
    ("near_ns", span!(|habits| habits.near)),
    ("far_ns", span!(|habits| habits.far)),
    ("overtaken_packets", count!(|habits| habits.late.packets)),
    ("overtaken_by_segs_max", count!(|habits| habits.late.by_max)),
    ("overtaken_distance_segs_max", count!(|habits| habits.late.distance_max)),
    ("overtaken_ns_max", span!(|habits| Some(habits.late.behind_max))),
    ("overtaken_in_acks_packets", count!(|habits| habits.late_in_acks.packets)),
    ("overtaken_in_acks_distance_segs_max", count!(|habits| habits.late_in_acks.distance_max)),
    ("late_or_again_packets", count!(|habits| habits.late_or_again)),
    ("copied_packets", count!(|habits| habits.copies)),
    ("uncaptured_bytes", count!(|habits| habits.uncaptured_bytes)),
    ("timeouts", count!(|habits| habits.traits.timeouts.into())),
    ("timeout_wait_ns_min", span!(|habits| habits.traits.shortest_timeout)),
    ("timer_grid_ns", span!(|habits| Some(habits.timer_grid?.step))),
    ("timer_grid_timeouts", count!(|habits| habits.timer_grid.map_or(0, |grid| grid.cases.into()))),
    ("stamp_tick_ns", span!(|habits| Some(habits.stamps?.step))),
    ("stamp_ticks", count!(|habits| habits.stamps.map_or(0, |stamps| stamps.ticks.into()))),
    ("tail_probes", count!(|habits| habits.traits.probes.into())),
    ("timeouts_without_probe", count!(|habits| habits.traits.timeouts_without_probe.into())),
    ("limited_transmits", count!(|habits| habits.traits.limited.0.into())),
    ("third_duplicates", count!(|habits| habits.traits.limited.1.into())),
    ("repairs_in_order", count!(|habits| habits.traits.in_order.into())),
    ("acks", count!(|habits| habits.acks.acks)),
    ("acked_segs", count!(|habits| habits.acks.covered)),
    ("lone_acks", count!(|habits| habits.acks.lone.into())),
    (
        "lone_ack_delay_ns_max",
        span!(|habits| (habits.acks.lone > 0).then_some(habits.acks.longest_delay)),
    ),
    ("idle_acks_max", count!(|habits| habits.acks.idle.into())),
    (
        "reports_duplicates",
        Flag(|row| row.habits().is_some_and(|habits| habits.reports_duplicates)),
    ),
];

/// The rows of the table `habits`: a row for each direction in which something unusual was seen,
/// such as octets that were missing or sent again. The row tells what the sender, the receiver and
/// the path were seen to do, and how often.
pub struct HabitsRows(RowColumns);

impl Default for HabitsRows {
    fn default() -> Self {
        Self(RowColumns::with_capacity(HABITS, 0))
    }
}

impl ExplainedRows for HabitsRows {
    fn take(&mut self, connection: &EndedConnection) {
        let rows = ConnectionRow::of(connection).filter(|row| row.habits().is_some());
        rows.for_each(|row| self.0.take(&row));
    }

    fn table(self: Box<Self>) -> Table {
        Table::new("habits", self.0.columns())
    }
}
