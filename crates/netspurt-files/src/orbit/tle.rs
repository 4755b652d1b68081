//! Reads element sets of satellites in two lines (TLE), or in three lines if the first one is the
//! satellite's name.
//!
//! The columns come from the US Air Force's format. A catalogue number may begin with a letter
//! (Alpha-5). The derivatives of the mean motion are not read, because SGP4 does not use them.

use core::ops::Range;
use core::str::FromStr;

use super::error::LocatedError;
use super::{Elements, OrbitError, Utc};

/// The length of each line in characters, with its checksum.
const LENGTH: usize = 69;
/// The column of the checksum, counted from 0.
const CHECKSUM: usize = 68;
/// For each of the two lines, the columns that separate its fields, counted from 0. These columns
/// must be blank.
const BLANK: [&[usize]; 2] = [&[1, 8, 17, 32, 43, 52, 61, 63], &[1, 7, 16, 25, 33, 42, 51]];

/// Reads the element sets of a text. Blank lines and lines that begin with `#` are skipped. Any
/// other line before a set is the name of the satellite.
///
/// # Errors
/// When a line has a wrong checksum, length or field, when a line is missing or belongs to no set,
/// or when the text has no set. Also when an element is out of its range, or an orbit is inside the
/// Earth, in its dense atmosphere, or beyond the Earth's pull. The error names the line and the
/// column, unless the text has no set.
///
/// ```
/// use netspurt_files::orbit::read_tle;
/// let text = "\
/// OURS
/// 1 00001U 99001A   99182.00000000  .00000000  00000-0  00000-0 0    13
/// 2 00001  51.6000  88.0000 0010000  10.0000  20.0000 15.50000000    15
/// ";
/// let error = read_tle(text, "ours.tle").unwrap_err();
/// assert!(error.to_string().contains("ours.tle:3:69"));
/// ```
pub fn read_tle(text: &str, file: &str) -> Result<Vec<Elements>, OrbitError> {
    let checked_set = |(set, span): (Elements, Range<usize>)| {
        set.checked().map_err(|error| error.at(file, text, &span))
    };
    read_any_tle(text, file)?.into_iter().map(checked_set).collect()
}

/// Reads the element sets of a text as [`read_tle`] does, but does not check the orbits. Returns
/// each set and the range of bytes of the set's second line.
pub(super) fn read_any_tle(
    text: &str,
    file: &str,
) -> Result<Vec<(Elements, Range<usize>)>, OrbitError> {
    let mut found = Vec::new();
    let mut name = "";
    let mut lines = lines(text).peekable();
    while let Some(first) = lines.next() {
        let placed = |error: OrbitError, span: Range<usize>| error.at(file, text, &span);
        if !first.text.starts_with("1 ") {
            if first.text.starts_with("2 ")
                || lines.peek().is_none_or(|n| !n.text.starts_with("1 "))
            {
                let fix = "a set is a line that begins with `1 `, and one that begins with `2 `";
                let error = OrbitError::new("this line belongs to no element set", fix);
                return Err(placed(error, first.span()));
            }
            name = first.text.strip_prefix("0 ").unwrap_or(first.text).trim();
            continue;
        }
        let Some(second) = lines.next_if(|next| next.text.starts_with("2 ")) else {
            let error =
                OrbitError::new("the set has no second line", "add a line that begins with `2 `");
            return Err(placed(error, first.span()));
        };
        let set = TleSet([first, second]);
        let elements = set.elements(name).map_err(|(error, span)| placed(error, span))?;
        found.push((elements, second.span()));
        name = "";
    }
    if found.is_empty() {
        let fix = "write two lines of 69 characters for each satellite";
        return Err(OrbitError::new("the text has no element set", fix).within(file));
    }
    Ok(found)
}

/// A line of the text, and the byte at which it starts.
#[derive(Clone, Copy)]
struct TleLine<'a> {
    text: &'a str,
    start: usize,
}

impl TleLine<'_> {
    fn span(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

fn lines(text: &str) -> impl Iterator<Item = TleLine<'_>> {
    let mut start = 0;
    let each = text.split_inclusive('\n').map(move |line| {
        let placed = TleLine { text: line.trim_end(), start };
        start += line.len();
        placed
    });
    each.filter(|line| !line.text.is_empty() && !line.text.starts_with('#'))
}

/// The two lines of a set.
struct TleSet<'a>([TleLine<'a>; 2]);

impl TleSet<'_> {
    fn elements(&self, name: &str) -> Result<Elements, LocatedError> {
        self.check_form()?;
        let catalogue = self.field(0, 2..7);
        if self.field(1, 2..7) != catalogue {
            let fix = format!("the first line has the number {catalogue}");
            return Err(self.wrong(1, 2..7, "the second line belongs to another satellite", fix));
        }
        if ![" ", "0", "2"].contains(&&self.0[0].text[62..63]) {
            let fix = "use type 0 or a blank; type 4 is for SGP4-XP, which is not supported";
            return Err(self.wrong(0, 62..63, "elements of this type are not for SGP4", fix));
        }
        let eccentricity = self.after_point(1, 26..33, "the eccentricity")?;
        Ok(Elements {
            name: if name.is_empty() { catalogue } else { name }.to_owned(),
            catalogue: catalogue.to_owned(),
            epoch: self.epoch()?,
            inclination: self.number(1, 8..16, "the inclination")?,
            node: self.number(1, 17..25, "the ascending node")?,
            eccentricity,
            argument: self.number(1, 34..42, "the argument of perigee")?,
            anomaly: self.number(1, 43..51, "the mean anomaly")?,
            revolutions: self.number(1, 52..63, "the mean motion")?,
            drag: self.drag()?,
        })
    }

    /// Checks characters, lengths, separators and checksums.
    fn check_form(&self) -> Result<(), LocatedError> {
        for (nth, line) in self.0.iter().enumerate() {
            if let Some(at) = line.text.bytes().position(|byte| !(b' '..=b'~').contains(&byte)) {
                let fix = "use only digits, letters, blanks, `.`, `+` and `-`";
                return Err(self.wrong(nth, at..at + 1, "this character is not allowed", fix));
            }
            let length = line.text.len();
            if length != LENGTH {
                let at = length.min(LENGTH);
                let message = format!("the line has {length} characters");
                return Err(self.wrong(nth, at..length.max(at), message, "a line needs 69"));
            }
            if let Some(&at) = BLANK[nth].iter().find(|at| line.text.as_bytes()[**at] != b' ') {
                let fix = "write a blank here; fields are found by their columns";
                return Err(self.wrong(nth, at..at + 1, "this column separates two fields", fix));
            }
            let sum = checksum(&line.text[..CHECKSUM]);
            let given = &line.text[CHECKSUM..];
            if given.as_bytes() != [b'0' + sum] {
                let message = format!("the checksum is {given}, and the line's digits give {sum}");
                let fix = "a character of this line is damaged: fetch the set again";
                return Err(self.wrong(nth, CHECKSUM..LENGTH, message, fix));
            }
        }
        Ok(())
    }

    /// Returns the text in some columns of a line, without the blanks around the text. Columns are
    /// counted from 0.
    fn field(&self, line: usize, columns: Range<usize>) -> &str {
        self.0[line].text[columns].trim()
    }

    fn read<T: FromStr>(
        &self,
        line: usize,
        columns: Range<usize>,
        text: &str,
        what: &str,
    ) -> Result<T, LocatedError> {
        let fix = "write a number in these columns, or fetch the set again";
        text.parse().map_err(|_| self.wrong(line, columns, format!("{what} is not a number"), fix))
    }

    fn number(&self, line: usize, columns: Range<usize>, what: &str) -> Result<f64, LocatedError> {
        let text = self.field(line, columns.clone());
        let digits = text.bytes().all(|b| b.is_ascii_digit() || b".+-".contains(&b));
        self.read(line, columns, if digits { text } else { "" }, what)
    }

    /// Reads a number of seven digits that follow a decimal point. The point is not written.
    fn after_point(
        &self,
        line: usize,
        columns: Range<usize>,
        what: &str,
    ) -> Result<f64, LocatedError> {
        let text = self.field(line, columns.clone());
        let whole: u32 = self.read(line, columns, text, what)?;
        Ok(f64::from(whole) / 1e7)
    }

    /// Reads the epoch: two digits of the year, the day of the year, and a fraction of the day. If
    /// the two digits are below 57, the year is 2000 or later.
    fn epoch(&self) -> Result<Utc, LocatedError> {
        let year: u16 = self.read(0, 18..20, self.field(0, 18..20), "the epoch's year")?;
        let year = i32::from(year) + if year < 57 { 2000 } else { 1900 };
        let day: u32 = self.read(0, 20..23, self.field(0, 20..23), "the epoch's day")?;
        let fraction = self.field(0, 24..32);
        let share: i64 = self.read(0, 24..32, fraction, "the epoch's fraction of a day")?;
        let scale = 10_i64.pow(u32::try_from(fraction.len()).unwrap_or(0));
        let of_day = i128::from(share) * 86_400_000_000_000 / i128::from(scale);
        let start = Utc::of_day(year, day);
        let epoch = start.map(|start| start.after_nanos(i64::try_from(of_day).unwrap_or(0)));
        if self.0[0].text.as_bytes()[23] != b'.' {
            let fix = "write year, day and fraction as in `08264.51782528`";
            return Err(self.wrong(0, 23..24, "the epoch's day has no decimal point", fix));
        }
        epoch.ok_or_else(|| {
            self.wrong(0, 20..23, format!("{year} has no day {day}"), "write a day from 001 on")
        })
    }

    /// Reads B*: a sign, five digits that follow a decimal point, and an exponent of ten. The point
    /// is not written.
    fn drag(&self) -> Result<f64, LocatedError> {
        let text = self.field(0, 53..61);
        let (digits, exponent) = text.split_at(text.len().saturating_sub(2));
        let (sign, digits) = match digits.strip_prefix('-') {
            Some(digits) => (-1.0, digits),
            None => (1.0, digits.strip_prefix('+').unwrap_or(digits)),
        };
        let written = format!("0.{digits}e{exponent}");
        let value: f64 = self.read(0, 53..61, &written, "the drag term B*")?;
        Ok(sign * value)
    }

    fn wrong(
        &self,
        line: usize,
        columns: Range<usize>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> LocatedError {
        let start = self.0[line].start;
        (OrbitError::new(message, fix), start + columns.start..start + columns.end)
    }
}

/// Returns the sum of the digits modulo 10, where each minus sign counts as 1.
fn checksum(text: &str) -> u8 {
    let worth = |byte: u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'-' => 1,
        _ => 0,
    };
    u8::try_from(text.bytes().map(worth).sum::<u32>() % 10).unwrap_or(0)
}
