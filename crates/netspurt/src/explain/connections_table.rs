//! The table of the connections of a capture.

use std::net::IpAddr;

use indexmap::IndexSet;

use crate::record::{Column, Data, OptionalValues, Table};

use super::rows::ExplainedRows;
use super::{COLUMNS, ColumnCell, ConnectionRow, EndedConnection};

/// The values of a column.
enum Cells {
    Counts(Vec<u64>),
    Wholes(OptionalValues<i64>),
    Numbers(OptionalValues<f64>),
    Flags(Vec<bool>),
    Tags(&'static [&'static str], Vec<u8>),
    /// The index of each row's address, and the addresses. Each address is stored once.
    Addresses(Vec<u32>, IndexSet<IpAddr>),
}

impl Cells {
    fn with_capacity(cell: &ColumnCell, rows: usize) -> Self {
        match cell {
            ColumnCell::Count(_) => Self::Counts(Vec::with_capacity(rows)),
            ColumnCell::Whole(_) => Self::Wholes(OptionalValues::with_capacity(rows)),
            ColumnCell::Number(_) => Self::Numbers(OptionalValues::with_capacity(rows)),
            ColumnCell::Flag(_) => Self::Flags(Vec::with_capacity(rows)),
            ColumnCell::Tag(texts, _) => Self::Tags(texts, Vec::with_capacity(rows)),
            ColumnCell::Address(_) => Self::Addresses(Vec::with_capacity(rows), IndexSet::new()),
        }
    }

    /// Adds the value of a row. `cell` must be the one for which the column was made.
    fn take(&mut self, cell: &ColumnCell, row: &ConnectionRow<'_>) {
        match (self, cell) {
            (Self::Counts(values), ColumnCell::Count(of)) => values.push(of(row)),
            (Self::Wholes(values), ColumnCell::Whole(of)) => values.push(of(row)),
            (Self::Numbers(values), ColumnCell::Number(of)) => values.push(of(row)),
            (Self::Flags(values), ColumnCell::Flag(of)) => values.push(of(row)),
            (Self::Tags(_, codes), ColumnCell::Tag(_, of)) => codes.push(of(row)),
            (Self::Addresses(codes, known), ColumnCell::Address(of)) => {
                codes.push(known.insert_full(of(row)).0 as u32);
            }
            _ => unreachable!("the column was made for another kind of cell"),
        }
    }

    fn data(self) -> Data {
        match self {
            Self::Counts(values) => Data::U64(values),
            Self::Wholes(values) => Data::OptionalI64(values),
            Self::Numbers(values) => Data::OptionalF64(values),
            Self::Flags(values) => Data::Bool(values),
            Self::Tags(texts, codes) => Data::Tag { codes, texts },
            Self::Addresses(codes, known) => {
                Data::Text { codes, texts: known.iter().map(IpAddr::to_string).collect() }
            }
        }
    }
}

/// The columns of the table `connections`, which has a row for each direction of each connection.
pub struct ConnectionColumns(Vec<Cells>);

impl ConnectionColumns {
    /// Makes columns that need no further memory for up to `rows` rows.
    pub fn with_capacity(rows: usize) -> Self {
        Self(COLUMNS.iter().map(|(_, cell)| Cells::with_capacity(cell, rows)).collect())
    }
}

impl ExplainedRows for ConnectionColumns {
    fn take(&mut self, connection: &EndedConnection) {
        for row in ConnectionRow::of(connection) {
            let cells = COLUMNS.iter().map(|(_, cell)| cell);
            self.0.iter_mut().zip(cells).for_each(|(column, cell)| column.take(cell, &row));
        }
    }

    fn table(self: Box<Self>) -> Table {
        let named = COLUMNS.iter().zip(self.0);
        let columns = named.map(|((name, _), cells)| Column::new(*name, cells.data()));
        Table::new("connections", columns.collect())
    }
}
