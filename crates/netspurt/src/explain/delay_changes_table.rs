//! The table `delay_changes`: how the round trips of directions changed. The round trip of a
//! direction is the time from its data to the ACKs of this data.

use crate::ids::Side;
use crate::record::{Column, Data, Table};

use super::rows::{ExplainedRows, direction_columns};
use super::{ChangeSums, ConnectionRow, DelayChanges, EndedConnection};

/// The rows of the table `delay_changes`. Each direction has a row for each kind of change that its
/// round trip made, for example a slow change to longer round trips.
#[derive(Default)]
pub struct DelayChangeRows(Vec<(u64, Side, u8, ChangeSums)>);

impl ExplainedRows for DelayChangeRows {
    fn take(&mut self, connection: &EndedConnection) {
        let number = connection.number;
        for ConnectionRow { side, direction, .. } in ConnectionRow::of(connection) {
            let Some(course) = &direction.statistics.course else { continue };
            let kinds = (0..).zip(course.changes.sums);
            let changed = kinds.filter(|(_, sums)| *sums != ChangeSums::default());
            self.0.extend(changed.map(|(kind, sums)| (number, side, kind, sums)));
        }
    }

    fn table(self: Box<Self>) -> Table {
        let rows = self.0;
        let whole = |of: fn(&ChangeSums) -> u64| {
            Data::I64(rows.iter().map(|row| of(&row.3).cast_signed()).collect())
        };
        let [connection, direction] = direction_columns(rows.iter().map(|row| (row.0, row.1)));
        let kinds = rows.iter().map(|row| row.2).collect();
        Table::new(
            "delay_changes",
            vec![
                connection,
                direction,
                Column::new("kind", Data::Tag { codes: kinds, texts: &DelayChanges::KINDS }),
                Column::new("change_ns", whole(|sums| sums.rtt_ns)),
                Column::new("lasted_ns", whole(|sums| sums.lasted_ns)),
                Column::new("bytes", whole(|sums| sums.bytes)),
            ],
        )
    }
}
