//! The table `steady`: directions whose rate was about constant for a long time.

use crate::ids::Side;
use crate::record::{Column, Data, Table};

use super::rows::{ExplainedRows, direction_columns};
use super::{ConnectionRow, EndedConnection, SteadyCourse};

/// The rows of the table `steady`: a row for each direction whose rate was about constant for a
/// long time.
#[derive(Default)]
pub struct SteadyRows(Vec<(u64, Side, SteadyCourse)>);

impl ExplainedRows for SteadyRows {
    fn take(&mut self, connection: &EndedConnection) {
        let number = connection.number;
        for ConnectionRow { side, direction, .. } in ConnectionRow::of(connection) {
            let course = direction.statistics.course.as_ref();
            let steady = course.and_then(|course| course.steady());
            self.0.extend(steady.map(|steady| (number, side, steady)));
        }
    }

    fn table(self: Box<Self>) -> Table {
        let rows = self.0;
        let [connection, direction] = direction_columns(rows.iter().map(|row| (row.0, row.1)));
        let number = |of: fn(&SteadyCourse) -> f64| {
            Data::OptionalF64(rows.iter().map(|row| Some(of(&row.2))).collect())
        };
        let variation = |of: fn(&SteadyCourse) -> Option<f64>| {
            Data::OptionalF64(rows.iter().map(|row| of(&row.2)).collect())
        };
        let whole = |of: fn(&SteadyCourse) -> u64| {
            Data::I64(rows.iter().map(|row| of(&row.2).cast_signed()).collect())
        };
        Table::new(
            "steady",
            vec![
                connection,
                direction,
                Column::new("t_ns", whole(|one| one.from.as_nanos())),
                Column::new("span_ns", whole(|one| one.lasted.as_nanos())),
                Column::new("rate_bps", number(SteadyCourse::rate_bps)),
                Column::new("rtt_ns_mean", number(|one| one.rtt_ns_mean)),
                Column::new("rtt_ns_low", whole(|one| one.rtt_ns_low)),
                Column::new("sent_variation", variation(|one| one.sent_variation)),
                Column::new("delivered_variation", variation(|one| one.delivered_variation)),
            ],
        )
    }
}
