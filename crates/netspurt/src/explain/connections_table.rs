//! The table of the connections of a capture.

use crate::record::Table;

use super::row_columns::RowColumns;
use super::rows::ExplainedRows;
use super::{COLUMNS, ConnectionRow, EndedConnection};

/// The columns of the table `connections`, which has a row for each direction of each connection.
pub struct ConnectionColumns(RowColumns);

impl ConnectionColumns {
    /// Makes columns with room for `rows` rows.
    pub fn with_capacity(rows: usize) -> Self {
        Self(RowColumns::with_capacity(COLUMNS, rows))
    }
}

impl ExplainedRows for ConnectionColumns {
    fn take(&mut self, connection: &EndedConnection) {
        ConnectionRow::of(connection).for_each(|row| self.0.take(&row));
    }

    fn table(self: Box<Self>) -> Table {
        Table::new("connections", self.0.columns())
    }
}
