//! The table of connections as CSV, row by row.

use std::io::{self, Write};

use super::{COLUMNS, Cell, ConnectionRow, EndedConnection};

/// Writes the heading; `file` says whether the rows name their files.
///
/// # Errors
/// When `out` fails.
pub fn write_heading(file: bool, out: &mut impl Write) -> io::Result<()> {
    if file {
        out.write_all(b"file,")?;
    }
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    writeln!(out, "{}", names.join(","))
}

/// Writes the rows of `connection`, behind the name of its `file` if that is given. Values that do
/// not exist are empty; only the name can have a comma.
///
/// # Errors
/// When `out` fails.
pub fn write_rows(
    connection: &EndedConnection,
    file: Option<&str>,
    out: &mut impl Write,
) -> io::Result<()> {
    for row in ConnectionRow::of(connection) {
        if let Some(file) = file {
            write!(out, "\"{}\",", file.replace('"', "\"\""))?;
        }
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
