//! Reads the time zone after a time of day: an offset, or an abbreviation that has only one
//! meaning.

/// The zone after a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zone {
    /// No zone is written.
    Unnamed,
    /// Seconds east of Greenwich.
    East(i64),
    /// An abbreviation that several zones share, with a message that names the text to write
    /// instead.
    Ambiguous(&'static str),
}

/// Abbreviations and their minutes east of Greenwich. They come from RFC 2822 §4.3 (without
/// UT and CST), and from the IANA time zone database for Europe, Japan and Korea (without BST and
/// IST). UTC is added.
const UNIQUE_ABBREVIATIONS: [(&str, i64); 18] = [
    ("UTC", 0),
    ("GMT", 0),
    ("WET", 0),
    ("WEST", 60),
    ("CET", 60),
    ("CEST", 120),
    ("EET", 120),
    ("EEST", 180),
    ("MSK", 180),
    ("JST", 540),
    ("KST", 540),
    ("EST", -300),
    ("EDT", -240),
    ("CDT", -300),
    ("MST", -420),
    ("MDT", -360),
    ("PST", -480),
    ("PDT", -420),
];

/// Abbreviations that several zones share, with the message about each.
const AMBIGUOUS_ABBREVIATIONS: [(&str, &str); 3] = [
    ("IST", "IST is India's, Ireland's and Israel's time: write the offset, as in +05:30"),
    ("CST", "CST is America's, China's and Cuba's time: write the offset, as in -06:00"),
    ("BST", "BST is Britain's and Bangladesh's time: write the offset, as in +01:00"),
];

/// Returns the zone with the abbreviation `word`.
fn by_abbreviation(word: &str) -> Option<Zone> {
    let known = UNIQUE_ABBREVIATIONS.iter().find(|(name, _)| *name == word);
    let shared = || AMBIGUOUS_ABBREVIATIONS.iter().find(|(name, _)| *name == word);
    known
        .map(|(_, minutes)| Zone::East(minutes * 60))
        .or_else(|| shared().map(|(_, why)| Zone::Ambiguous(why)))
}

/// True if a word that follows a blank is a zone: `Z`, an abbreviation, `+0200` or `+02:00`.
pub(super) fn is_zone(word: &str) -> bool {
    matches!(after_blank(word), Some((_, "")))
}

/// If a text has a colon and an abbreviation of several zones, returns why its time cannot be read.
pub(super) fn ambiguous(text: &str) -> Option<&'static str> {
    let timed = text.contains(':');
    let why = |word: &str| match by_abbreviation(word) {
        Some(Zone::Ambiguous(why)) => Some(why),
        _ => None,
    };
    timed.then(|| text.split_whitespace().find_map(why)).flatten()
}

/// Reads the zone at the beginning of `text`, directly or after a blank. Returns the zone and the
/// text that follows it.
pub(super) fn zone(text: &str) -> (Zone, &str) {
    let trimmed = text.trim_start();
    let found = if trimmed.len() < text.len() { after_blank(trimmed) } else { without_blank(text) };
    found.unwrap_or((Zone::Unnamed, text))
}

/// Reads a zone that follows a time without a blank.
fn without_blank(text: &str) -> Option<(Zone, &str)> {
    offset(text).or_else(|| after_blank(text))
}

/// Reads a zone that follows a blank. After a blank, a short number with a sign, such as `+02`, is
/// not a zone, but another value.
fn after_blank(text: &str) -> Option<(Zone, &str)> {
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (word, rest) = text.split_at(letters);
    if word == "Z" {
        return Some((Zone::East(0), rest));
    }
    if letters > 0 {
        return by_abbreviation(word).map(|zone| (zone, rest));
    }
    let (zone, rest) = offset(text)?;
    let has_minutes = text.len() - rest.len() >= "+0200".len();
    let ends = !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ':');
    (has_minutes && ends).then_some((zone, rest))
}

/// Reads `+02`, `+0200` or `+02:00`.
fn offset(text: &str) -> Option<(Zone, &str)> {
    let sign = match text.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let two_digits = |text: &str| -> Option<i64> {
        let digits = text.get(..2)?;
        digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let hours = two_digits(&text[1..])?;
    let rest = &text[3..];
    let after = rest.strip_prefix(':').unwrap_or(rest);
    Some(match two_digits(after) {
        Some(minutes) => (Zone::East(sign * (hours * 3600 + minutes * 60)), &after[2..]),
        None => (Zone::East(sign * hours * 3600), rest),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_an_offset_or_an_abbreviation_with_one_meaning() {
        for (text, hours, rest) in [
            ("Z,x", 0, ",x"),
            ("+02", 2, ""),
            (" +0200 20.1", 2, " 20.1"),
            ("-05:00]", -5, "]"),
            (" CEST", 2, ""),
            (" EST 2024", -5, " 2024"),
            (" PDT", -7, ""),
            (" JST", 9, ""),
        ] {
            assert_eq!(zone(text), (Zone::East(hours * 3600), rest), "{text}");
        }
        for text in ["", " 20.1", " -1", " -20.5", " AM", " bytes", " +02"] {
            assert_eq!(zone(text), (Zone::Unnamed, text), "{text}");
        }
        assert!(matches!(zone(" IST"), (Zone::Ambiguous(_), "")));
    }
}
