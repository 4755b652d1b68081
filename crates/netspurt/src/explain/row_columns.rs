//! Collects the columns of a table that has a row for each direction of a connection. For each
//! column, a [`ColumnCell`] says how the column's value is computed for a direction.

use std::net::IpAddr;
use std::sync::Arc;

use indexmap::IndexSet;

use crate::record::{Column, Data, Existence, NarrowColumn, NarrowNumbers};

use super::{ColumnCell, ConnectionRow};

/// The name of each column, and how the column's value is read from a row.
pub type NamedCells = &'static [(&'static str, ColumnCell)];

/// The values of a column.
enum Cells {
    Counts(NarrowNumbers),
    /// The numbers that exist, and which rows have them.
    Wholes(NarrowNumbers, Existence),
    Numbers(Vec<f64>, Existence),
    Flags(Vec<bool>),
    Tags(&'static [&'static str], Vec<u8>),
    /// The index of each row's address among all addresses of the table.
    Addresses(Vec<u32>),
}

impl Cells {
    fn with_capacity(cell: &ColumnCell, rows: usize) -> Self {
        match cell {
            ColumnCell::Count(_) => Self::Counts(NarrowNumbers::with_capacity(rows)),
            ColumnCell::Whole(_) => {
                Self::Wholes(NarrowNumbers::with_capacity(rows), Existence::default())
            }
            ColumnCell::Number(_) => Self::Numbers(Vec::new(), Existence::default()),
            ColumnCell::Flag(_) => Self::Flags(Vec::with_capacity(rows)),
            ColumnCell::Tag(texts, _) => Self::Tags(texts, Vec::with_capacity(rows)),
            ColumnCell::Address(_) => Self::Addresses(Vec::with_capacity(rows)),
        }
    }

    /// Adds the value of a row. `cell` must be the cell that was given to `with_capacity`.
    /// `addresses` has all addresses of the table. A new address is added to them.
    fn take(
        &mut self,
        cell: &ColumnCell,
        row: &ConnectionRow<'_>,
        addresses: &mut IndexSet<IpAddr>,
    ) {
        match (self, cell) {
            (Self::Counts(values), ColumnCell::Count(of)) => values.push(of(row)),
            (Self::Wholes(existing, exist), ColumnCell::Whole(of)) => {
                let value = of(row);
                exist.push(value.is_some());
                if let Some(value) = value {
                    existing.push(value.cast_unsigned());
                }
            }
            (Self::Numbers(existing, exist), ColumnCell::Number(of)) => {
                let value = of(row);
                exist.push(value.is_some());
                existing.extend(value);
            }
            (Self::Flags(values), ColumnCell::Flag(of)) => values.push(of(row)),
            (Self::Tags(_, codes), ColumnCell::Tag(_, of)) => codes.push(of(row)),
            (Self::Addresses(codes), ColumnCell::Address(of)) => {
                codes.push(addresses.insert_full(of(row)).0 as u32);
            }
            _ => unreachable!("the column was made for another kind of cell"),
        }
    }

    fn data(self, addresses: &Arc<[String]>) -> Data {
        match self {
            Self::Counts(values) => Data::Narrow(NarrowColumn::U64(values)),
            Self::Wholes(existing, exist) => {
                Data::Narrow(NarrowColumn::OptionalI64(existing, exist))
            }
            Self::Numbers(existing, exist) => {
                Data::Narrow(NarrowColumn::OptionalF64(existing, exist))
            }
            Self::Flags(values) => Data::Bool(values),
            Self::Tags(texts, codes) => Data::Tag { codes, texts },
            Self::Addresses(codes) => Data::Text { codes, texts: Arc::clone(addresses) },
        }
    }
}

/// Columns that are filled row by row.
pub struct RowColumns {
    cells: NamedCells,
    columns: Vec<Cells>,
    /// The addresses of all columns. Each address is stored once.
    addresses: IndexSet<IpAddr>,
}

impl RowColumns {
    /// Makes columns for `cells`, with room for `rows` rows.
    pub fn with_capacity(cells: NamedCells, rows: usize) -> Self {
        let columns = cells.iter().map(|(_, cell)| Cells::with_capacity(cell, rows)).collect();
        Self { cells, columns, addresses: IndexSet::new() }
    }

    /// Adds a row.
    pub fn take(&mut self, row: &ConnectionRow<'_>) {
        for (column, (_, cell)) in self.columns.iter_mut().zip(self.cells) {
            column.take(cell, row, &mut self.addresses);
        }
    }

    /// Returns the columns.
    pub fn columns(self) -> Vec<Column> {
        let addresses = self.addresses.into_iter().map(|address| address.to_string()).collect();
        let named = self.cells.iter().zip(self.columns);
        named.map(|((name, _), cells)| Column::new(*name, cells.data(&addresses))).collect()
    }
}
