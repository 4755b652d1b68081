//! The table of directions whose round trip changed.

use crate::ids::Side;
use crate::record::{Column, Data, Table};

use super::columns::DIRECTIONS;
use super::tables::directions;
use super::{ChangeSums, DelayChanges, Explanation};

/// The table `delay_changes`: a row for each direction and kind of change of its round trip.
pub fn delay_changes_table(explanation: &Explanation) -> Table {
    let rows: Vec<(u64, Side, u8, ChangeSums)> = directions(explanation)
        .filter_map(|(number, side, direction)| {
            let changes = direction.statistics.course.as_ref()?.changes;
            Some((0..).zip(changes.sums).map(move |(kind, sums)| (number, side, kind, sums)))
        })
        .flatten()
        .filter(|row| row.3 != ChangeSums::default())
        .collect();
    let whole = |of: fn(&ChangeSums) -> u64| {
        Data::I64(rows.iter().map(|row| of(&row.3).cast_signed()).collect())
    };
    let sides = rows.iter().map(|row| row.1.index() as u8).collect();
    let kinds = rows.iter().map(|row| row.2).collect();
    Table::new(
        "delay_changes",
        vec![
            Column::new("connection", Data::U64(rows.iter().map(|row| row.0).collect())),
            Column::new("direction", Data::Tag { codes: sides, texts: &DIRECTIONS }),
            Column::new("kind", Data::Tag { codes: kinds, texts: &DelayChanges::KINDS }),
            Column::new("change_ns", whole(|sums| sums.rtt_ns)),
            Column::new("lasted_ns", whole(|sums| sums.lasted_ns)),
            Column::new("bytes", whole(|sums| sums.bytes)),
        ],
    )
}
