//! The table of connections as CSV, row by row.

use std::io::{self, Write};

use super::{COLUMNS, Cell, ConnectionRow, EndedConnection};

/// Writes the heading.
///
/// # Errors
/// When `out` fails.
pub fn write_heading(out: &mut impl Write) -> io::Result<()> {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    writeln!(out, "{}", names.join(","))
}

/// Writes the rows of `connection`. Values that do not exist are empty; no value has a comma.
///
/// # Errors
/// When `out` fails.
pub fn write_rows(connection: &EndedConnection, out: &mut impl Write) -> io::Result<()> {
    for row in ConnectionRow::of(connection) {
        for (place, (_, cell)) in COLUMNS.iter().enumerate() {
            if place > 0 {
                out.write_all(b",")?;
            }
            write_cell(*cell, &row, out)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn write_cell(cell: Cell, row: &ConnectionRow<'_>, out: &mut impl Write) -> io::Result<()> {
    match cell {
        Cell::Count(of) => write!(out, "{}", of(row)),
        Cell::Whole(of) => of(row).map_or(Ok(()), |value| write!(out, "{value}")),
        Cell::Number(of) => of(row).map_or(Ok(()), |value| write!(out, "{value:.1}")),
        Cell::Flag(of) => write!(out, "{}", of(row)),
        Cell::Tag(texts, of) => out.write_all(texts[usize::from(of(row))].as_bytes()),
        Cell::Address(of) => write!(out, "{}", of(row)),
    }
}
