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
/// Values that do not exist are empty. Only the name can contain a comma. `text` is room for a row.
pub fn write_rows(
    connection: &EndedConnection,
    file: Option<&str>,
    text: &mut RowText,
    out: &mut Vec<u8>,
) {
    for row in ConnectionRow::of(connection) {
        if let Some(file) = file {
            out.push(b'"');
            out.extend_from_slice(file.replace('"', "\"\"").as_bytes());
            out.extend_from_slice(b"\",");
        }
        text.clear();
        text.put_octet(b'\n');
        for (place, (_, cell)) in COLUMNS.iter().enumerate().rev() {
            text.put_cell(*cell, &row);
            if place > 0 {
                text.put_octet(b',');
            }
        }
        out.extend_from_slice(text.octets());
    }
}

/// The text of a row. It is written from its end, because the last digit of a number is found first.
pub struct RowText {
    room: [u8; RowText::ROOM],
    /// The place of the first octet.
    start: usize,
}

impl Default for RowText {
    fn default() -> Self {
        Self { room: [0; Self::ROOM], start: Self::ROOM }
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

impl RowText {
    /// The most octets of a row. No value has more than 48: a rate has 8 · 2⁶⁴ bits in a nanosecond
    /// at most.
    pub const ROOM: usize = 1 << 12;

    fn clear(&mut self) {
        self.start = Self::ROOM;
    }

    fn octets(&self) -> &[u8] {
        &self.room[self.start..]
    }

    #[inline]
    fn put_octet(&mut self, octet: u8) {
        self.start -= 1;
        self.room[self.start] = octet;
    }

    /// Puts `octets` before the text.
    #[inline]
    fn put(&mut self, octets: &[u8]) {
        let end = self.start;
        self.start -= octets.len();
        self.room[self.start..end].copy_from_slice(octets);
    }

    fn put_cell(&mut self, cell: ColumnCell, row: &ConnectionRow<'_>) {
        match cell {
            ColumnCell::Count(of) => self.put_whole(of(row)),
            ColumnCell::Whole(of) => {
                if let Some(value) = of(row) {
                    self.put_whole(value.unsigned_abs());
                    if value < 0 {
                        self.put_octet(b'-');
                    }
                }
            }
            ColumnCell::Number(of) => {
                if let Some(value) = of(row) {
                    self.put_tenths(value);
                }
            }
            ColumnCell::Flag(of) => self.put_flag(of(row)),
            ColumnCell::Tag(texts, of) => self.put(texts[usize::from(of(row))].as_bytes()),
            ColumnCell::Address(of) => self.put_address(of(row)),
        }
    }

    #[inline]
    fn put_flag(&mut self, flag: bool) {
        let text: &[u8] = if flag { b"true" } else { b"false" };
        text.iter().rev().for_each(|octet| self.put_octet(*octet));
    }

    fn put_address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(four) => {
                for (place, octet) in four.octets().into_iter().enumerate().rev() {
                    self.put_whole(octet.into());
                    if place > 0 {
                        self.put_octet(b'.');
                    }
                }
            }
            IpAddr::V6(six) => self.put(six.to_string().as_bytes()),
        }
    }

    /// Puts a number in decimal digits, faster than the general formatting does.
    #[inline]
    fn put_whole(&mut self, mut value: u64) {
        if value < 10 {
            return self.put_octet(b'0' + value as u8);
        }
        // The place is not in memory, where each step would have to wait for the one before.
        let mut start = self.start;
        while value >= 10 {
            start -= 2;
            // Two octets one by one: a copy of a slice may be a call of a function.
            let [tens, ones] = PAIRS[(value % 100) as usize];
            (self.room[start], self.room[start + 1]) = (tens, ones);
            value /= 100;
        }
        if value > 0 {
            start -= 1;
            self.room[start] = b'0' + value as u8;
        }
        self.start = start;
    }

    /// Puts a number with one digit after the decimal point.
    fn put_tenths(&mut self, value: f64) {
        /// Below this, tenths are whole numbers of 64 bits.
        const LARGE: f64 = 1e17;
        if !(0.0..LARGE).contains(&value) {
            return self.put(format!("{value:.1}").as_bytes());
        }
        let tenths = rounded(value * 10.0);
        self.put_octet(b'0' + (tenths % 10) as u8);
        self.put_octet(b'.');
        self.put_whole(tenths / 10);
    }
}

/// The whole number nearest to `value`, which is neither negative nor above 10¹⁸. As
/// [`f64::round`], which is a call of a library where processors need not know how to round.
fn rounded(value: f64) -> u64 {
    let below = value as i64;
    let up = value - below as f64 >= 0.5;
    below.unsigned_abs() + u64::from(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_addresses_and_flags_are_written_as_the_general_formatting_writes_them() {
        let edges = (0..20).flat_map(|power| [10_u64.pow(power) - 1, 10_u64.pow(power)]);
        for value in edges.chain([0, 7, 42, 105, 9_090, u64::MAX]) {
            let mut text = RowText::default();
            text.put_whole(value);
            assert_eq!(str::from_utf8(text.octets()), Ok(&value.to_string()[..]));
        }
        for value in
            [0.0, 0.05, 0.49, 0.5, 1.5, 2.5, 0.499_999_999_999_999_94, 4.5e15 + 0.5, 9.9e17]
        {
            assert_eq!(rounded(value), value.round() as u64, "{value}");
        }
        for address in ["10.0.200.99", "255.255.255.255", "0.0.0.0", "2001:db8::1"] {
            let mut text = RowText::default();
            text.put_address(address.parse().unwrap());
            assert_eq!(str::from_utf8(text.octets()), Ok(address));
        }
        for flag in [false, true] {
            let mut text = RowText::default();
            text.put_flag(flag);
            assert_eq!(str::from_utf8(text.octets()), Ok(&flag.to_string()[..]));
        }
    }
}
