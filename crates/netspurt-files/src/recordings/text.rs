//! Reads octets of any encoding as lines of text. Also reads the numbers in these lines.

use std::borrow::Cow;
use std::net::IpAddr;

use netspurt::units::Duration;

/// Decodes a file as UTF-8 or UTF-16. If it is neither, each octet is a character.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let utf16 = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16_lossy(&units)
    };
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)),
        [_, 0, _, 0, ..] => Cow::Owned(utf16(bytes, u16::from_le_bytes)),
        [0, _, 0, _, ..] => Cow::Owned(utf16(bytes, u16::from_be_bytes)),
        _ => match core::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            // The code page is unknown, but its digits and Latin letters have the codes of ASCII.
            Err(_) => Cow::Owned(bytes.iter().map(|octet| char::from(*octet)).collect()),
        },
    };
    plain(text)
}

/// Returns the text without byte-order marks, NUL characters, and the escape sequences of
/// terminals.
fn plain(text: Cow<'_, str>) -> Cow<'_, str> {
    // Three searches for one character each are faster than one search for three characters.
    if !['\u{feff}', '\u{1b}', '\u{0}'].into_iter().any(|one| text.contains(one)) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{feff}' | '\u{0}' => {}
            '\u{1b}' => {
                // ECMA-48 §5.4: parameters and intermediate characters, then one character that
                // ends the sequence.
                if chars.next_if_eq(&'[').is_some() {
                    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
                }
                chars.next();
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns each line of a text with its number, which starts at 1. Blanks at the end of a line are
/// removed. A line may end with LF, CR LF or CR.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.split('\n').flat_map(|line| line.trim_end().split('\r'));
    lines.enumerate().map(|(index, line)| (index + 1, line.trim_end()))
}

/// The number of nanoseconds in a second.
pub(super) const SECOND: u64 = 1_000_000_000;
/// The number of nanoseconds in a millisecond.
pub(super) const MILLISECOND: u64 = 1_000_000;
/// The number of nanoseconds in a microsecond.
pub(super) const MICROSECOND: u64 = 1000;

/// Reads the whole number at the beginning of `text`. Returns the number and the rest.
pub(super) fn integer(text: &str) -> Option<(u64, &str)> {
    let end = text.bytes().position(|c| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Reads the decimal number at the beginning of `text`. Returns the number, multiplied by `unit`,
/// and the rest. `unit` is the number's unit in nanoseconds, so the result is in nanoseconds. The
/// decimal mark may be a comma. Digits below a nanosecond are cut off.
pub(super) fn decimal(text: &str, unit: u64) -> Option<(i64, &str)> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole_part, mut rest) = match integer(digits) {
        Some(found) => found,
        None if digits.starts_with('.') => (0, digits),
        None => return None,
    };
    let mut value = u128::from(whole_part) * u128::from(unit);
    let mut decimals = "";
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let end = fraction.bytes().position(|c| !c.is_ascii_digit()).unwrap_or(fraction.len());
        decimals = &fraction[..end];
        let mut weight = u128::from(unit) * 1_000_000_000;
        let mut below = 0;
        for digit in decimals.bytes() {
            weight /= 10;
            below += u128::from(digit - b'0') * weight;
        }
        // A point without a following digit belongs to the text after the number.
        if end > 0 {
            value += below / 1_000_000_000;
            rest = &fraction[end..];
        }
    }
    if let Some((power, after)) = exponent(rest) {
        rest = after;
        value = with_power(whole_part, decimals, power)?.times(unit)?;
    }
    let value = i64::try_from(value).ok()?;
    Some((if negative { -value } else { value }, rest))
}

/// A number as whole digits times a power of ten.
struct Digits {
    digits: u128,
    power: i32,
}

/// The number `whole_part.decimals` times ten to `power`. At most 28 digits of the number are used.
/// At most 18 of these digits are decimals. Zeros at the beginning of the decimals do not count.
/// `None` if the number of decimal places does not fit in an `i32`.
fn with_power(whole_part: u64, decimals: &str, power: i32) -> Option<Digits> {
    let digits_before = whole_part.checked_ilog10().map_or(0, |power| power as usize + 1);
    let zeros = match whole_part {
        0 => decimals.len() - decimals.trim_start_matches('0').len(),
        _ => 0,
    };
    let most = (28 - digits_before).min(18);
    let decimals = &decimals[zeros..];
    let decimals = &decimals[..decimals.len().min(most)];
    let below: u128 = if decimals.is_empty() { 0 } else { decimals.parse().ok()? };
    let digits = u128::from(whole_part) * 10_u128.pow(decimals.len() as u32) + below;
    let places = i32::try_from(zeros + decimals.len()).ok()?;
    Some(Digits { digits, power: power - places })
}

impl Digits {
    /// The number times `unit`, rounded down. `None` if it is too large.
    fn times(self, unit: u64) -> Option<u128> {
        let value = self.digits.checked_mul(unit.into())?;
        let scale = 10_u128.checked_pow(self.power.unsigned_abs());
        if self.power < 0 {
            return Some(scale.map_or(0, |scale| value / scale));
        }
        value.checked_mul(scale?)
    }
}

/// Reads the power of ten at the beginning of `text`, as in `e-05`.
fn exponent(text: &str) -> Option<(i32, &str)> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let (negative, digits) = match rest.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, rest.strip_prefix('+').unwrap_or(rest)),
    };
    let (power, rest) = integer(digits)?;
    let power = i32::try_from(power.min(30)).ok()?;
    Some((if negative { -power } else { power }, rest))
}

/// Converts `value` to a span of time. `unit` is the unit of `value` in nanoseconds. `None` if
/// `value` is negative, too large or not a number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "range is checked")]
pub(super) fn float_span(value: f64, unit: u64) -> Option<Duration> {
    let ns = (value * unit as f64).round();
    (0.0..9e18).contains(&ns).then(|| Duration::from_nanos(ns as u64))
}

/// Whether a text has an address of loopback, or the name `localhost`, as a word of its own.
pub(super) fn names_loopback(text: &str) -> bool {
    text.split([' ', '\u{a0}', '(', ')', '[', ']', '%', ',']).any(|word| {
        let word = word.strip_suffix(':').unwrap_or(word);
        word == "localhost" || word.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_with_a_point_or_a_comma_is_read_exactly() {
        assert_eq!(decimal("0.041 ms", MILLISECOND), Some((41_000, " ms")));
        assert_eq!(decimal("12,5", MILLISECOND), Some((12_500_000, "")));
        assert_eq!(decimal("1694477135.6833403", SECOND), Some((1_694_477_135_683_340_300, "")));
        assert_eq!(decimal("-1", MILLISECOND), Some((-1_000_000, "")));
        assert_eq!(decimal("7.", MILLISECOND), Some((7_000_000, ".")));
        assert_eq!(decimal("3.5e-05s", SECOND), Some((35_000, "s")));
        assert_eq!(decimal("99999999999999999999", 1), None);
        // The power of ten can turn decimals into whole units. These decimals are not cut off.
        assert_eq!(decimal("1.729591872e+18", 1), Some((1_729_591_872_000_000_000, "")));
        assert_eq!(decimal("4.53e7", 1), Some((45_300_000, "")));
        assert_eq!(decimal("0.00000000000000000000012345e22", 1000), Some((1234, "")));
        let many = "1729591872123456789.123456789012345678e-9";
        assert_eq!(decimal(many, SECOND), Some((1_729_591_872_123_456_789, "")));
        assert_eq!(decimal("1.5E3 ms", MILLISECOND), Some((1_500_000_000, " ms")));
        assert_eq!(decimal("12.000000000000000000000e-30", SECOND), Some((0, "")));
        assert_eq!(decimal("2e19", 1), None);
    }

    #[test]
    fn an_address_of_loopback_is_found_only_as_a_word_of_its_own() {
        for text in [
            "PING localhost (127.0.0.1) 56(84) bytes of data.",
            "PING ::1(::1) 56 data bytes",
            "64 bytes from 127.0.0.53: icmp_seq=1 ttl=64 time=0.04 ms",
            "Pinging PC [::1] with 32 bytes of data:",
            "[::1]",
        ] {
            assert!(names_loopback(text), "{text}");
        }
        for text in [
            "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.",
            "PING 127.0.0.1.example.org (192.0.2.1) 56(84) bytes of data.",
            "PING 2001:db8::1(2001:db8::1) 56 data bytes",
            "mylocalhost",
        ] {
            assert!(!names_loopback(text), "{text}");
        }
    }

    #[test]
    fn a_line_may_end_with_lf_with_cr_lf_or_with_cr_alone() {
        let read: Vec<_> = lines("a\nb\r\nc\rd\r\n\ne").collect();
        assert_eq!(read, [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, ""), (6, "e")]);
    }

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "Zeit<1ms ü";
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut little = vec![0xff, 0xfe];
        little.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        let mut big = vec![0xfe, 0xff];
        big.extend(units.iter().flat_map(|unit| unit.to_be_bytes()));
        let marked = [b"\xef\xbb\xbf\xef\xbb\xbf", text.as_bytes()].concat();
        for bytes in [&little, &big, &marked, &little[2..].to_vec(), &b"Zeit<1ms \xfc".to_vec()] {
            assert_eq!(decode(bytes), text);
        }
        assert_eq!(decode(b"\x1b[1;32m64 bytes\x1b[0m"), "64 bytes");
    }
}
