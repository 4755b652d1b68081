//! The code that several tables of `netspurt explain` share.

use crate::ids::Side;
use crate::record::{Column, Data, NarrowColumn, Table};
use crate::units::Duration;

use super::EndedConnection;
use super::columns::DIRECTIONS;

/// The rows of a table that is filled from the connections of a capture.
pub trait ExplainedRows {
    /// Adds the rows of a connection.
    fn take(&mut self, connection: &EndedConnection);

    /// Returns the table.
    fn table(self: Box<Self>) -> Table;
}

/// Returns the nanoseconds of `span` as the signed number that tables store.
pub fn span_ns(span: Duration) -> i64 {
    span.as_nanos().cast_signed()
}

/// The columns `connection` and `direction`. Each of `rows` has the number of a connection and the
/// side that sends.
pub fn direction_columns(rows: impl Iterator<Item = (u64, Side)> + Clone) -> [Column; 2] {
    let connections = rows.clone().map(|(connection, _)| connection).collect();
    let codes = rows.map(|(_, side)| side as u8).collect();
    [
        Column::new("connection", Data::Narrow(NarrowColumn::U64(connections))),
        Column::new("direction", Data::Tag { codes, texts: &DIRECTIONS }),
    ]
}

/// Rounds a confidence for a table to four decimals, because the confidences are not known more
/// precisely.
pub fn confidence(share: f32) -> f64 {
    (f64::from(share) * 1e4).round() / 1e4
}
