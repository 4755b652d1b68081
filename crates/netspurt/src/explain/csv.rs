//! Writes the table of connections as CSV, row by row.

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

/// Writes the rows of `connection`. If `file` is given, each row begins with this name. Values that
/// do not exist are empty. Only the file's name can contain a comma.
pub fn write_rows(
    connection: &EndedConnection,
    file: Option<&str>,
    RowRoom(room): &mut RowRoom,
    out: &mut Vec<u8>,
) {
    for row in ConnectionRow::of(connection) {
        if let Some(file) = file {
            out.push(b'"');
            out.extend_from_slice(file.replace('"', "\"\"").as_bytes());
            out.extend_from_slice(b"\",");
        }
        let mut text = RowText::ending(room).octet(b'\n');
        for (place, (_, cell)) in COLUMNS.iter().enumerate().rev() {
            text = text.cell(*cell, &row);
            if place > 0 {
                text = text.octet(b',');
            }
        }
        out.extend_from_slice(text.octets());
    }
}

/// Room for the text of a row.
pub struct RowRoom([u8; RowRoom::OCTETS]);

impl RowRoom {
    /// The maximum number of octets of a row. No value has more than 48 octets, and most have at
    /// most 22. The longest values are IPv6 addresses and the rate, which is at most 8 · 2⁶⁴ bits
    /// in a nanosecond.
    pub const OCTETS: usize = 1 << 12;
}

impl Default for RowRoom {
    fn default() -> Self {
        Self([0; Self::OCTETS])
    }
}

/// The text of a row. The text is written from its end to its beginning, because a division finds
/// the last digit of a number first.
///
/// Each method takes the text and returns a text with more octets before it. So the compiler can
/// keep `start` in a register. If `start` were in memory, each step would wait for the previous
/// step.
struct RowText<'a> {
    room: &'a mut [u8; RowRoom::OCTETS],
    /// The index of the text's first octet in the room.
    start: usize,
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

impl<'a> RowText<'a> {
    /// An empty text at the end of `room`.
    #[inline]
    fn ending(room: &'a mut [u8; RowRoom::OCTETS]) -> Self {
        Self { room, start: RowRoom::OCTETS }
    }

    fn octets(&self) -> &[u8] {
        &self.room[self.start..]
    }

    #[inline]
    fn octet(self, octet: u8) -> Self {
        let Self { room, start } = self;
        room[start - 1] = octet;
        Self { room, start: start - 1 }
    }

    #[inline]
    fn text(self, text: &[u8]) -> Self {
        text.iter().rev().fold(self, |this, octet| this.octet(*octet))
    }

    #[inline]
    fn cell(self, cell: ColumnCell, row: &ConnectionRow<'_>) -> Self {
        match cell {
            ColumnCell::Count(of) => self.whole(of(row)),
            ColumnCell::Whole(of) => match of(row) {
                Some(value) if value < 0 => self.whole(value.unsigned_abs()).octet(b'-'),
                Some(value) => self.whole(value.unsigned_abs()),
                None => self,
            },
            ColumnCell::Number(of) => match of(row) {
                Some(value) => self.tenths(value),
                None => self,
            },
            ColumnCell::Flag(of) => self.flag(of(row)),
            ColumnCell::Tag(texts, of) => self.text(texts[usize::from(of(row))].as_bytes()),
            ColumnCell::Address(of) => self.address(of(row)),
        }
    }

    #[inline]
    fn flag(self, flag: bool) -> Self {
        self.text(if flag { b"true" } else { b"false" })
    }

    fn address(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(four) => {
                let [first, rest @ ..] = four.octets();
                let before = |this: Self, octet: &u8| this.whole((*octet).into()).octet(b'.');
                rest.iter().rev().fold(self, before).whole(first.into())
            }
            IpAddr::V6(six) => self.text(six.to_string().as_bytes()),
        }
    }

    /// Puts the two digits of a number below 100 before the text.
    #[inline]
    fn pair(self, number: usize) -> Self {
        let Self { room, start } = self;
        // The octets are written one by one, because copying a slice may call a function.
        let [tens, ones] = PAIRS[number % 100];
        let two = &mut room[start - 2..start];
        (two[0], two[1]) = (tens, ones);
        Self { room, start: start - 2 }
    }

    /// Puts the decimal digits of a number before the text. This is faster than the general
    /// formatting.
    #[inline]
    fn whole(self, mut value: u64) -> Self {
        let mut this = self;
        // Each division waits for the previous division. Each division finds four digits, so that
        // few divisions are needed.
        while value >= 10_000 {
            let four = (value % 10_000) as usize;
            this = this.pair(four % 100).pair(four / 100);
            value /= 10_000;
        }
        let value = value as usize;
        match value {
            0..10 => this.octet(b'0' + value as u8),
            10..100 => this.pair(value),
            100..1000 => this.pair(value % 100).octet(b'0' + (value / 100) as u8),
            _ => this.pair(value % 100).pair(value / 100),
        }
    }

    /// Puts a number with one digit after the decimal point before the text.
    #[inline]
    fn tenths(self, value: f64) -> Self {
        /// Ten times a number below `LARGE` fits into 64 bits.
        const LARGE: f64 = 1e17;
        if !(0.0..LARGE).contains(&value) {
            return self.text(format!("{value:.1}").as_bytes());
        }
        let tenths = rounded(value * 10.0);
        self.octet(b'0' + (tenths % 10) as u8).octet(b'.').whole(tenths / 10)
    }
}

/// Rounds `value` to the nearest whole number. `value` must be from 0 to 10¹⁸. The result equals
/// the result of [`f64::round`]. But [`f64::round`] is slower, because it calls a library if some
/// processors of the target have no instruction for rounding.
fn rounded(value: f64) -> u64 {
    let below = value as i64;
    let up = value - below as f64 >= 0.5;
    below.unsigned_abs() + u64::from(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_text_that_the_general_formatting_writes() {
        let RowRoom(mut room) = RowRoom::default();
        let edges = (0..20).flat_map(|power| [10_u64.pow(power) - 1, 10_u64.pow(power)]);
        for value in edges.chain([0, 7, 42, 105, 9_090, u64::MAX]) {
            let text = RowText::ending(&mut room).whole(value);
            assert_eq!(str::from_utf8(text.octets()), Ok(&value.to_string()[..]));
        }
        for value in
            [0.0, 0.05, 0.49, 0.5, 1.5, 2.5, 0.499_999_999_999_999_94, 4.5e15 + 0.5, 9.9e17]
        {
            assert_eq!(rounded(value), value.round() as u64, "{value}");
        }
        for address in ["10.0.200.99", "255.255.255.255", "0.0.0.0", "2001:db8::1"] {
            let text = RowText::ending(&mut room).address(address.parse().unwrap());
            assert_eq!(str::from_utf8(text.octets()), Ok(address));
        }
        for flag in [false, true] {
            let text = RowText::ending(&mut room).flag(flag);
            assert_eq!(str::from_utf8(text.octets()), Ok(&flag.to_string()[..]));
        }
    }
}
