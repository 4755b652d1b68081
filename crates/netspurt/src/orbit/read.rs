//! Element sets of a text, whichever of the formats it has.

use super::{Elements, OrbitError, omm, read_omm, read_tle};

/// The element sets of a text: orbit mean-elements messages in key-value notation, or sets in two
/// lines, each with or without a line with its name in front.
///
/// # Errors
/// As [`read_omm`] and [`read_tle`] have them.
pub fn read_elements(text: &str, file: &str) -> Result<Vec<Elements>, OrbitError> {
    if let Some(notation) = unread_notation(text) {
        let message = format!("element sets in {notation} are not read");
        let fix = "two lines (TLE), or OMM in key-value notation: CelesTrak has both, as FORMAT=TLE \
                   and FORMAT=KVN";
        return Err(OrbitError::new(message, fix).within(file));
    }
    if omm::is_omm(text) { read_omm(text, file) } else { read_tle(text, file) }
}

/// The notation of a text that is not read, if it is one of those that hold element sets, too.
fn unread_notation(text: &str) -> Option<&'static str> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    match first.as_bytes()[0] {
        b'[' | b'{' => Some("JSON"),
        b'<' => Some("XML"),
        _ if first.split(',').any(|cell| cell.trim_matches('"') == "MEAN_MOTION") => Some("CSV"),
        _ => None,
    }
}
