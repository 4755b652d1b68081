//! The tables that `netspurt explain` makes from the connections of a capture.

use crate::record::Table;

use super::EndedConnections;
use super::ceilings_table::CeilingRows;
use super::connections_table::ConnectionColumns;
use super::delay_changes_table::DelayChangeRows;
use super::habits_table::HabitsRows;
use super::retransmissions_table::RetransmissionRows;
use super::rows::ExplainedRows;
use super::steady_table::SteadyRows;
use super::waits::{FloorRows, SpentRows, WaitRows};

impl EndedConnections {
    /// The tables of the connections: `connections`, `retransmissions`, `spent`, `waits`, `floors`,
    /// `habits`, `steady`, `ceilings` and `delay_changes`. Each connection is stored in a packed
    /// form. This method unpacks it once, and frees its packed form.
    pub fn into_tables(self) -> Vec<Table> {
        let mut tables: Vec<Box<dyn ExplainedRows>> = vec![
            Box::new(ConnectionColumns::with_capacity(2 * self.len())),
            Box::new(RetransmissionRows::default()),
            Box::new(SpentRows::default()),
            Box::new(WaitRows::default()),
            Box::new(FloorRows::default()),
            Box::new(HabitsRows::default()),
            Box::new(SteadyRows::default()),
            Box::new(CeilingRows::default()),
            Box::new(DelayChangeRows::default()),
        ];
        for connection in self {
            tables.iter_mut().for_each(|rows| rows.take(&connection));
        }
        tables.into_iter().map(ExplainedRows::table).collect()
    }
}
