//! The table `ceilings`: directions whose outstanding octets came back to the same maximum (the
//! *ceiling*) in many round trips.

use crate::ids::Side;
use crate::record::{Column, Data, Table};

use super::rows::{ExplainedRows, direction_columns};
use super::{CeilingSeries, ConnectionRow, EndedConnection};

/// The rows of the table `ceilings`: a row for each direction whose outstanding octets came back to
/// the same ceiling in many round trips.
#[derive(Default)]
pub struct CeilingRows(Vec<(u64, Side, CeilingSeries)>);

impl ExplainedRows for CeilingRows {
    fn take(&mut self, connection: &EndedConnection) {
        let number = connection.number;
        for ConnectionRow { side, direction, .. } in ConnectionRow::of(connection) {
            let course = direction.statistics.course.as_ref();
            let series = course.and_then(|course| course.ceiling.series());
            self.0.extend(series.map(|series| (number, side, series)));
        }
    }

    fn table(self: Box<Self>) -> Table {
        let rows = self.0;
        let [connection, direction] = direction_columns(rows.iter().map(|row| (row.0, row.1)));
        let count =
            |of: fn(&CeilingSeries) -> u64| Data::U64(rows.iter().map(|row| of(&row.2)).collect());
        let time = |of: fn(&CeilingSeries) -> u64| {
            Data::I64(rows.iter().map(|row| of(&row.2).cast_signed()).collect())
        };
        Table::new(
            "ceilings",
            vec![
                connection,
                direction,
                Column::new("t_ns", time(|one| one.from.as_nanos())),
                Column::new("span_ns", time(|one| one.until.saturating_since(one.from).as_nanos())),
                Column::new("outstanding_bytes", count(|one| one.bytes)),
                Column::new("round_trips", count(|one| one.trips)),
                Column::new("full_round_trips", count(|one| one.full)),
            ],
        )
    }
}
