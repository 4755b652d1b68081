//! The table of connections as CSV, row by row.

use std::io::{self, Write};

use super::{COLUMNS, ColumnCell, ConnectionRow, EndedConnection};

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

fn write_cell(cell: ColumnCell, row: &ConnectionRow<'_>, out: &mut impl Write) -> io::Result<()> {
    match cell {
        ColumnCell::Count(of) => write_whole(of(row), out),
        ColumnCell::Whole(of) => match of(row) {
            Some(value) if value < 0 => write!(out, "{value}"),
            Some(value) => write_whole(value.unsigned_abs(), out),
            None => Ok(()),
        },
        ColumnCell::Number(of) => of(row).map_or(Ok(()), |value| write_tenths(value, out)),
        ColumnCell::Flag(of) => out.write_all(if of(row) { b"true" } else { b"false" }),
        ColumnCell::Tag(texts, of) => out.write_all(texts[usize::from(of(row))].as_bytes()),
        ColumnCell::Address(of) => write!(out, "{}", of(row)),
    }
}

/// Writes a number in decimal digits, sooner than the general formatting does.
fn write_whole(mut value: u64, out: &mut impl Write) -> io::Result<()> {
    let mut digits = [b'0'; 20];
    let mut place = digits.len();
    loop {
        place -= 1;
        digits[place] += (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return out.write_all(&digits[place..]);
        }
    }
}

/// Writes a number with one digit behind the point.
fn write_tenths(value: f64, out: &mut impl Write) -> io::Result<()> {
    /// Below this, tenths are whole numbers of 64 bits.
    const LARGE: f64 = 1e17;
    if !(0.0..LARGE).contains(&value) {
        return write!(out, "{value:.1}");
    }
    let tenths = (value * 10.0).round() as u64;
    write_whole(tenths / 10, out)?;
    out.write_all(&[b'.', b'0' + (tenths % 10) as u8])
}
