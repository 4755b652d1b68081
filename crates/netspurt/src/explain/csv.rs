//! The table of connections as CSV, row by row.

use std::net::IpAddr;

use super::{COLUMNS, ColumnCell, ConnectionRow, EndedConnection};

/// Writes the heading. `file` says whether the rows name their files.
pub fn write_heading(file: bool, out: &mut Vec<u8>) {
    if file {
        out.extend_from_slice(b"file,");
    }
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    out.extend_from_slice(names.join(",").as_bytes());
    out.push(b'\n');
}

/// Writes the rows of `connection`. Each row begins with the name of the `file` if one is given.
/// Values that do not exist are empty. Only the name can contain a comma.
pub fn write_rows(connection: &EndedConnection, file: Option<&str>, out: &mut Vec<u8>) {
    for row in ConnectionRow::of(connection) {
        if let Some(file) = file {
            out.push(b'"');
            out.extend_from_slice(file.replace('"', "\"\"").as_bytes());
            out.extend_from_slice(b"\",");
        }
        for (place, (_, cell)) in COLUMNS.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            write_cell(*cell, &row, out);
        }
        out.push(b'\n');
    }
}

fn write_cell(cell: ColumnCell, row: &ConnectionRow<'_>, out: &mut Vec<u8>) {
    match cell {
        ColumnCell::Count(of) => write_whole(of(row), out),
        ColumnCell::Whole(of) => {
            if let Some(value) = of(row) {
                if value < 0 {
                    out.push(b'-');
                }
                write_whole(value.unsigned_abs(), out);
            }
        }
        ColumnCell::Number(of) => {
            if let Some(value) = of(row) {
                write_tenths(value, out);
            }
        }
        ColumnCell::Flag(of) => out.extend_from_slice(if of(row) { b"true" } else { b"false" }),
        ColumnCell::Tag(texts, of) => out.extend_from_slice(texts[usize::from(of(row))].as_bytes()),
        ColumnCell::Address(of) => write_address(of(row), out),
    }
}

fn write_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(four) => {
            for (place, octet) in four.octets().into_iter().enumerate() {
                if place > 0 {
                    out.push(b'.');
                }
                write_whole(octet.into(), out);
            }
        }
        IpAddr::V6(six) => out.extend_from_slice(six.to_string().as_bytes()),
    }
}

/// The digits of the numbers below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// The number of digits of the largest 64-bit number.
const MOST_DIGITS: usize = u64::MAX.ilog10() as usize + 1;

/// Writes a number in decimal digits, faster than the general formatting does.
fn write_whole(mut value: u64, out: &mut Vec<u8>) {
    if value < 10 {
        out.push(b'0' + value as u8);
        return;
    }
    let many = value.ilog10() as usize + 1;
    let mut digits = [0; MOST_DIGITS];
    let mut place = many;
    while place > 1 {
        place -= 2;
        digits[place..place + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    if place == 1 {
        digits[0] = b'0' + value as u8;
    }
    // A copy of a fixed length takes a few instructions; a copy of a variable length takes a call.
    let end = out.len() + many;
    out.extend_from_slice(&digits);
    out.truncate(end);
}

/// Writes a number with one digit after the decimal point.
fn write_tenths(value: f64, out: &mut Vec<u8>) {
    /// Below this, tenths are whole numbers of 64 bits.
    const LARGE: f64 = 1e17;
    if !(0.0..LARGE).contains(&value) {
        out.extend_from_slice(format!("{value:.1}").as_bytes());
        return;
    }
    let tenths = (value * 10.0).round() as u64;
    write_whole(tenths / 10, out);
    out.extend_from_slice(&[b'.', b'0' + (tenths % 10) as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_addresses_are_written_as_the_general_formatting_writes_them() {
        let edges = (0..20).flat_map(|power| [10_u64.pow(power) - 1, 10_u64.pow(power)]);
        for value in edges.chain([0, 7, 42, 105, 9_090, u64::MAX]) {
            let mut out = Vec::new();
            write_whole(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
        for address in ["10.0.200.99", "255.255.255.255", "0.0.0.0", "2001:db8::1"] {
            let mut out = Vec::new();
            write_address(address.parse().unwrap(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), address);
        }
    }
}
