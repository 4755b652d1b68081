//! Element sets of a text, whichever of the formats it has.

use super::{Elements, OrbitError, omm, read_omm, read_tle};

/// The element sets of a text: orbit mean-elements messages in key-value notation, or sets in two
/// lines, each with or without a line with its name in front.
///
/// # Errors
/// As [`read_omm`] and [`read_tle`] have them.
pub fn read_elements(text: &str, file: &str) -> Result<Vec<Elements>, OrbitError> {
    if omm::is_omm(text) { read_omm(text, file) } else { read_tle(text, file) }
}
