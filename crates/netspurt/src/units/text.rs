//! The text form of quantities: a number, a space and a unit, as in `25 ms`.
//!
//! Decimals are read exactly and must give a whole number of the base unit (nanoseconds, bits per
//! second, bytes). A quantity that was read from a text can be written and read again without a
//! change.

use core::fmt;
use core::str::FromStr;

use super::{BitRate, Duration};

/// A number of bytes.
///
/// ```
/// use netspurt::units::ByteCount;
/// assert_eq!("72 kB".parse(), Ok(ByteCount(72_000)));
/// assert_eq!(ByteCount(1000).to_string(), "1000 B");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteCount(pub u64);

/// A number of packets.
///
/// ```
/// use netspurt::units::PacketCount;
/// assert_eq!("3 packets".parse(), Ok(PacketCount(3)));
/// assert_eq!(PacketCount(1).to_string(), "1 packet");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketCount(pub u64);

/// A number of full segments.
///
/// ```
/// use netspurt::units::SegmentCount;
/// assert_eq!("4 segments".parse(), Ok(SegmentCount(4)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentCount(pub u64);

/// A mistake in a quantity, and the correct form.
///
/// ```
/// use netspurt::units::BitRate;
/// let slip = "9600".parse::<BitRate>().unwrap_err();
/// assert_eq!(slip.to_string(), "`9600` has no unit: write `9600 bit/s`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text is a number without a unit.
    #[error("`{text}` has no unit: write {fix}")]
    MissingUnit {
        /// The text as it was written.
        text: String,
        /// The text to write instead, or several texts.
        fix: String,
    },
    /// The unit belongs to another kind of quantity or is unknown, or the quantity is not a whole
    /// number of base units.
    #[error("`{text}` is not {what}: write {hint}")]
    WrongUnit {
        /// The text as it was written.
        text: String,
        /// The kind of quantity wanted, with its article.
        what: &'static str,
        /// The text to write instead, or a description of it.
        hint: String,
    },
    /// The text before the unit is not a number.
    #[error("`{text}` is not {what}: write a plain decimal number and a unit, as in `{example}`")]
    NotANumber {
        /// The text as it was written.
        text: String,
        /// The kind of quantity wanted, with its article.
        what: &'static str,
        /// A correct example.
        example: &'static str,
    },
    /// The number is negative, is too large, or is zero although zero is not allowed.
    #[error("`{text}` is out of range for {what}: write {bound}")]
    OutOfRange {
        /// The text as it was written.
        text: String,
        /// The kind of quantity wanted, with its article.
        what: &'static str,
        /// The values that are allowed, in words.
        bound: String,
    },
}

/// A unit: its name, its size in the base unit, and the least quantity that is written in this
/// unit.
type Unit = (&'static str, u64, u64);

/// The least quantity of a unit that is read but never written.
const READ_ONLY: u64 = u64::MAX;

/// A kind of quantity: its name, its units, and an example. The field `near` lists common units
/// that are not accepted, each with the unit to write instead.
struct QuantityKind {
    what: &'static str,
    units: &'static [Unit],
    near: &'static [(&'static str, &'static str)],
    /// The units that the writer of a number without a unit may have meant.
    bare: &'static [&'static str],
    example: &'static str,
    base: &'static str,
    /// The maximum number of digits of a quantity in base units.
    digits: usize,
    /// The least value, in words for error messages.
    least: &'static str,
    /// Whether the only units of this kind are the singular and the plural of one word.
    counts: bool,
}

const TIME: QuantityKind = QuantityKind {
    what: "a time",
    units: &[
        ("ns", 1, 0),
        ("us", 1_000, 1_000),
        ("ms", 1_000_000, 1_000_000),
        ("s", 1_000_000_000, 1_000_000_000),
        ("min", 60_000_000_000, READ_ONLY),
        ("h", 3_600_000_000_000, READ_ONLY),
    ],
    near: &[
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("msec", "ms"),
        ("usec", "us"),
        ("µs", "us"),
        ("μs", "us"),
        ("m", "min"),
        ("hour", "h"),
        ("hours", "h"),
    ],
    bare: &["ms", "s"],
    example: "25 ms",
    base: "nanoseconds",
    digits: 18,
    least: "a time of zero or more",
    counts: false,
};

const RATE: QuantityKind = QuantityKind {
    what: "a bit rate",
    units: &[
        ("bit/s", 1, 0),
        ("kbit/s", 1_000, 10_000),
        ("Mbit/s", 1_000_000, 1_000_000),
        ("Gbit/s", 1_000_000_000, 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000, 1_000_000_000_000),
    ],
    near: &[
        ("bps", "bit/s"),
        ("b/s", "bit/s"),
        ("bits/s", "bit/s"),
        ("baud", "bit/s"),
        ("kbps", "kbit/s"),
        ("kb/s", "kbit/s"),
        ("Kbps", "kbit/s"),
        ("Kbit/s", "kbit/s"),
        ("Mbps", "Mbit/s"),
        ("Mb/s", "Mbit/s"),
        ("mbit/s", "Mbit/s"),
        ("Mbits/s", "Mbit/s"),
        ("Mbit", "Mbit/s"),
        ("Gbps", "Gbit/s"),
        ("Gb/s", "Gbit/s"),
        ("Gbit", "Gbit/s"),
    ],
    bare: &["bit/s"],
    example: "1.544 Mbit/s",
    base: "bits per second",
    digits: 18,
    least: "a rate above zero, or `unlimited`",
    counts: false,
};

const BYTES: QuantityKind = QuantityKind {
    what: "a size in bytes",
    units: &[
        ("B", 1, 0),
        ("kB", 1_000, 10_000),
        ("MB", 1_000_000, 1_000_000),
        ("GB", 1_000_000_000, 1_000_000_000),
        ("KiB", 1 << 10, READ_ONLY),
        ("MiB", 1 << 20, READ_ONLY),
        ("GiB", 1 << 30, READ_ONLY),
    ],
    near: &[
        ("byte", "B"),
        ("bytes", "B"),
        ("octets", "B"),
        ("KB", "kB"),
        ("Kb", "kB"),
        ("k", "kB"),
    ],
    bare: &["B"],
    example: "1000 B",
    base: "bytes",
    digits: 18,
    least: "a size of zero or more",
    counts: false,
};

const PACKETS: QuantityKind = QuantityKind {
    what: "a number of packets",
    units: &[("packets", 1, 0), ("packet", 1, READ_ONLY)],
    near: &[("pkts", "packets"), ("p", "packets"), ("segments", "packets"), ("segment", "packet")],
    bare: &["packets"],
    example: "3 packets",
    base: "packets",
    digits: 9,
    least: "a number of zero or more",
    counts: true,
};

const SEGMENTS: QuantityKind = QuantityKind {
    what: "a number of segments",
    units: &[("segments", 1, 0), ("segment", 1, READ_ONLY)],
    near: &[("packets", "segments"), ("packet", "segments"), ("segs", "segments")],
    bare: &["segments"],
    example: "4 segments",
    base: "segments",
    digits: 12,
    least: "a number of zero or more",
    counts: true,
};

/// All kinds of quantities.
const KINDS: [&QuantityKind; 5] = [&TIME, &RATE, &BYTES, &PACKETS, &SEGMENTS];

/// The number of equal steps in a unit: each quantity in this unit is a whole number of steps.
/// `None` if no quantity has such a unit.
///
/// ```
/// use netspurt::units::steps_of;
/// assert_eq!(steps_of("ms"), Some(1_000_000));
/// assert_eq!(steps_of("packets"), Some(1));
/// assert_eq!(steps_of("KiB"), Some(4), "a step is a quarter");
/// assert_eq!(steps_of("mile"), None);
/// ```
pub fn steps_of(unit: &str) -> Option<u64> {
    let mut units = KINDS.iter().flat_map(|kind| kind.units);
    let (_, scale, _) = units.find(|(name, ..)| *name == unit)?;
    Some(match places(*scale) {
        0 if *scale > 1 => QUARTERS,
        places => 10_u64.pow(places),
    })
}

impl QuantityKind {
    /// Reads `text` as a whole number of base units.
    fn read(&self, text: &str) -> Result<u64, UnitError> {
        let (number, unit) = split(text.trim_matches(' '));
        let not_a_number =
            || UnitError::NotANumber { text: text.into(), what: self.what, example: self.example };
        let (whole, fraction) = decimal(number.trim_start_matches('-')).ok_or_else(not_a_number)?;
        let out_of_range =
            |bound| UnitError::OutOfRange { text: text.into(), what: self.what, bound };
        if number.starts_with('-') {
            return Err(out_of_range(self.least.into()));
        }
        if unit.is_empty() {
            let fixes: Vec<String> = self.bare.iter().map(|u| format!("`{number} {u}`")).collect();
            return Err(UnitError::MissingUnit { text: text.into(), fix: fixes.join(" or ") });
        }
        let Some(&(_, scale, _)) = self.units.iter().find(|(name, ..)| *name == unit) else {
            // A comma is a decimal point or a separator of thousands, and only the writer knows
            // which.
            return Err(if is_exponent(unit) || unit.starts_with(',') {
                not_a_number()
            } else {
                self.wrong_unit(text, number, unit)
            });
        };
        let most = self.digits - digits(scale);
        if whole.len() > most {
            return Err(out_of_range(format!("at most `{} {unit}`", "9".repeat(most))));
        }
        in_base_units(whole, fraction, scale).ok_or_else(|| UnitError::WrongUnit {
            text: text.into(),
            what: self.what,
            hint: format!("a whole number of {}", self.base),
        })
    }

    fn wrong_unit(&self, text: &str, number: &str, unit: &str) -> UnitError {
        let near = self.near.iter().find(|(name, _)| *name == unit).map(|(_, ours)| *ours);
        let units = || self.units.iter().map(|(name, ..)| *name);
        // `b` may mean bits, and `B` means octets.
        let alike = |name: &&str| {
            name.eq_ignore_ascii_case(unit) && name.ends_with('B') == unit.ends_with('B')
        };
        let hint = match near.or_else(|| units().find(alike)) {
            Some(ours) => format!("`{number} {ours}`"),
            None if self.counts => format!("{}, as in `{}`", self.what, self.example),
            None => {
                let names: Vec<&str> = units().collect();
                format!("one of the units {}, as in `{}`", names.join(", "), self.example)
            }
        };
        UnitError::WrongUnit { text: text.into(), what: self.what, hint }
    }

    /// Writes `base` units in the largest possible unit. A unit is possible if `base` is not below
    /// the least quantity of the unit, and if the number needs at most `decimals` decimals.
    fn write(&self, f: &mut fmt::Formatter<'_>, base: u64, decimals: usize) -> fmt::Result {
        for &(name, scale, least) in self.units.iter().rev() {
            if least > base {
                continue;
            }
            if let Some(number) = exact(base, scale, decimals) {
                return write!(f, "{number} {name}");
            }
        }
        unreachable!("every whole number can be written in the base unit")
    }
}

/// Splits `"25 ms"` into `("25", "ms")`.
fn split(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start_matches(' '))
}

/// Whether the text after a number begins like the exponent of a number in floating point: `e3 s`.
fn is_exponent(unit: &str) -> bool {
    let digits = unit.strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
    digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Splits a plain decimal into its whole part, without leading zeros, and its decimals.
fn decimal(text: &str) -> Option<(&str, &str)> {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = match text.split_once('.') {
        None => (text, ""),
        Some((whole, fraction)) if digits(fraction) => (whole, fraction),
        Some(_) => return None,
    };
    digits(whole).then_some((whole.trim_start_matches('0'), fraction))
}

/// The maximum number of digits by which a multiplication with `scale` lengthens a number.
fn digits(scale: u64) -> usize {
    if scale == 1 { 0 } else { (scale - 1).ilog10() as usize + 1 }
}

/// The number of steps in a unit that is a power of two. Such a unit allows quarters, and so two
/// decimals.
const QUARTERS: u64 = 4;

/// The number of zeros at the end of `scale`. In a unit of the size `scale`, a number with at most
/// this number of decimals is a whole number of base units.
fn places(scale: u64) -> u32 {
    (1..).take_while(|n| scale.is_multiple_of(10_u64.pow(*n))).last().unwrap_or(0)
}

/// Returns `whole.fraction · scale`. Returns `None` if the product is not a whole number, or if the
/// unit does not allow this number of decimals.
fn in_base_units(whole: &str, fraction: &str, scale: u64) -> Option<u64> {
    let decimals = u32::try_from(fraction.len()).ok()?;
    let most = match places(scale) {
        0 if scale > 1 => QUARTERS.ilog2(),
        places => places,
    };
    if decimals > most {
        return None;
    }
    let digits: u128 = format!("0{whole}{fraction}").parse().ok()?;
    let divisor = 10_u128.pow(decimals);
    let product = digits * u128::from(scale);
    if product.is_multiple_of(divisor) { u64::try_from(product / divisor).ok() } else { None }
}

/// Returns `base / scale` as an exact number with at most `decimals` decimals. Returns `None` if
/// there is no such number.
fn exact(base: u64, scale: u64, decimals: usize) -> Option<String> {
    let (whole, mut rest) = (base / scale, base % scale);
    let mut text = whole.to_string();
    for place in 0..decimals {
        if rest == 0 {
            break;
        }
        if place == 0 {
            text.push('.');
        }
        let wide = u128::from(rest) * 10;
        text.push(char::from(b'0' + u8::try_from(wide / u128::from(scale)).ok()?));
        rest = u64::try_from(wide % u128::from(scale)).ok()?;
    }
    (rest == 0).then_some(text)
}

impl FromStr for Duration {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        TIME.read(text).map(Duration::from_nanos)
    }
}

impl FromStr for BitRate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim_matches(' ') == "unlimited" {
            return Ok(BitRate::UNLIMITED);
        }
        BitRate::new(RATE.read(text)?).ok_or_else(|| UnitError::OutOfRange {
            text: text.into(),
            what: RATE.what,
            bound: RATE.least.into(),
        })
    }
}

impl FromStr for ByteCount {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        BYTES.read(text).map(ByteCount)
    }
}

impl FromStr for PacketCount {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        PACKETS.read(text).map(PacketCount)
    }
}

impl FromStr for SegmentCount {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        SEGMENTS.read(text).map(SegmentCount)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0 s");
        }
        TIME.write(f, self.as_nanos(), 6)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits_per_second() {
            Some(bits) => RATE.write(f, bits, 3),
            None => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BYTES.write(f, self.0, 0)
    }
}

impl fmt::Display for PacketCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} packet{plural}", self.0)
    }
}

impl fmt::Display for SegmentCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} segment{plural}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Result<u64, UnitError> {
        text.parse::<Duration>().map(Duration::as_nanos)
    }

    #[test]
    fn decimals_are_read_exactly() {
        assert_eq!(time("25 ms"), Ok(25_000_000));
        assert_eq!(time("5.558807 ms"), Ok(5_558_807));
        assert_eq!(time("0 s"), Ok(0));
        assert_eq!(time("1.5min"), Ok(90_000_000_000));
        assert_eq!("1.544 Mbit/s".parse(), Ok(BitRate::new(1_544_000).unwrap()));
        assert_eq!("4 KiB".parse(), Ok(ByteCount(4096)));
    }

    #[test]
    fn each_error_names_its_fix() {
        let message = |r: Result<u64, UnitError>| r.unwrap_err().to_string();
        assert_eq!(message(time("25")), "`25` has no unit: write `25 ms` or `25 s`");
        assert_eq!(message(time("25 sec")), "`25 sec` is not a time: write `25 s`");
        assert!(message(time("25 bit/s")).contains("one of the units ns, us, ms, s, min, h"));
        assert!(message(time("-1 s")).contains("zero or more"));
        assert!(
            message(time("-3")).contains("zero or more"),
            "the sign is the mistake, and not the missing unit"
        );
        let window = "10 kB".parse::<SegmentCount>().unwrap_err().to_string();
        assert!(window.ends_with("write a number of segments, as in `4 segments`"), "{window}");
        assert!(message(time("fast")).contains("plain decimal number"));
        assert!(message(time("1.2.3 s")).contains("plain decimal number"));
        assert!(message(time("1e3 s")).contains("plain decimal number"));
        assert!(message(time("1e-3")).contains("plain decimal number"));
        assert!(
            message(time("3,5 ms")).contains("plain decimal number"),
            "the comma is the mistake, and not the unit"
        );
        assert!(message(time("25 MS")).ends_with("write `25 ms`"), "upper-case letters");
        assert!(message(time("0.5 ns")).contains("whole number of nanoseconds"));
        assert!(message(time("99999999999 h")).contains("at most `99999 h`"));
        let zero = "0 bit/s".parse::<BitRate>().unwrap_err().to_string();
        assert!(zero.contains("above zero"), "{zero}");
    }

    #[test]
    fn written_quantities_are_read_as_the_same_values() {
        for ns in [0, 1, 999, 1000, 5_558_807, 25_000_000, 240_000_000_000, 61_000_000_001] {
            let text = Duration::from_nanos(ns).to_string();
            assert_eq!(time(&text), Ok(ns), "{text}");
        }
        for bits in [1, 9600, 1_544_000, 100_000_000, 1_234_567] {
            let rate = BitRate::new(bits).unwrap();
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        assert_eq!(Duration::from_millis(240_000).to_string(), "240 s");
        assert_eq!(BitRate::new(9600).unwrap().to_string(), "9600 bit/s");
        assert_eq!(BitRate::new(1_544_000).unwrap().to_string(), "1.544 Mbit/s");
        assert_eq!(BitRate::new(1_544_400).unwrap().to_string(), "1544.4 kbit/s");
        assert_eq!(ByteCount(1_500).to_string(), "1500 B");
    }
}
