//! Reads the element sets of a text in any supported format.

use super::{Elements, OrbitError, omm, read_omm, read_tle};

/// Reads the element sets of a text: orbit mean-elements messages in key-value notation, or sets of
/// two lines. A line with the satellite's name may precede each set of two lines.
///
/// # Errors
/// For the same reasons as [`read_omm`] and [`read_tle`], and when the text is in an unsupported
/// notation.
pub fn read_elements(text: &str, file: &str) -> Result<Vec<Elements>, OrbitError> {
    if let Some(notation) = unread_notation(text) {
        let message = format!("element sets in {notation} are not read");
        let fix = "use two lines (TLE), or OMM in key-value notation; CelesTrak has both, as \
                   FORMAT=TLE and FORMAT=KVN";
        return Err(OrbitError::new(message, fix).within(file));
    }
    if omm::is_omm(text) { read_omm(text, file) } else { read_tle(text, file) }
}

/// Returns the name of the text's notation, if it is a notation of element sets that is not
/// supported.
fn unread_notation(text: &str) -> Option<&'static str> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    match first.as_bytes()[0] {
        b'[' | b'{' => Some("JSON"),
        b'<' => Some("XML"),
        _ if first.split(',').any(|cell| cell.trim_matches('"') == "MEAN_MOTION") => Some("CSV"),
        _ => None,
    }
}
