//! What the tables of an explanation have in common.

use crate::record::Table;

use super::EndedConnection;

/// The rows of a table of connections.
pub trait ExplainedRows {
    /// Adds the rows of a connection.
    fn take(&mut self, connection: &EndedConnection);

    /// Returns the table.
    fn table(self: Box<Self>) -> Table;
}

/// Rounds a confidence for a table to four decimals. Further decimals would mean nothing.
pub fn confidence(share: f32) -> f64 {
    (f64::from(share) * 1e4).round() / 1e4
}
