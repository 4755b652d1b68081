//! Names of algorithms, pinned to code: `timer.py@0f3a5c7e9b1d2f46:Peak` is the class `Peak` of one
//! version of `timer.py`, even if the file changes later. The *pin* is the part after the `@`: the
//! beginning of the file's fingerprint.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The number of hexadecimal digits of a fingerprint in a pinned name.
const DIGITS: usize = 16;

/// The end of the name of a file with code.
const CODE: &str = ".py";

/// The `.py` file that `text` names. `None` if `text` has a pin or names no `.py` file.
///
/// ```
/// use netspurt::foreign::code_file;
/// assert_eq!(code_file("timer.py:Peak:k=3"), Some("timer.py"));
/// assert_eq!(code_file("timer.py@e3b0c44298fc1c14:Peak"), None);
/// ```
pub fn code_file(text: &str) -> Option<&str> {
    let (file, pin, _) = parts(text).filter(|_| has_place(text))?;
    (pin.is_none() && file.ends_with(CODE)).then_some(file)
}

/// The SHA-256 of code in hexadecimal.
///
/// ```
/// use netspurt::foreign::fingerprint;
/// assert!(fingerprint("").starts_with("e3b0c44298fc1c14"));
/// ```
pub fn fingerprint(code: &str) -> String {
    Sha256::digest(code).iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Divides a text at its first colon into the file or module, its pin, and the rest.
fn parts(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let (place, rest) = text.split_once(':')?;
    let place = place.trim();
    let pin = place.rsplit_once('@').filter(|(_, pin)| {
        pin.len() == DIGITS && pin.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    Some(pin.map_or((place, None, rest), |(file, pin)| (file, Some(pin), rest)))
}

/// Whether a text begins with the name of a file or a module, then a colon, and then the name of an
/// algorithm. Constants may follow.
///
/// ```
/// use netspurt::foreign::has_place;
/// assert!(has_place("timer.py:Peak:k=3") && has_place("package.module:Peak"));
/// assert!(!has_place("linux:rto_min=50ms") && !has_place("peak"));
/// ```
pub fn has_place(text: &str) -> bool {
    let Some((place, _, rest)) = parts(text) else { return false };
    let name = rest.split_once(':').map_or(rest, |(name, _)| name).trim();
    let first = |c: char| c.is_alphabetic() || c == '_';
    let word = |c: char| c.is_alphanumeric() || c == '_';
    !place.is_empty() && name.starts_with(first) && name.chars().all(word)
}

/// Pins `text` to the code of its file. Returns the pinned text and the pinned name of the file.
/// Returns `None` in three cases: `text` does not begin with the name of a file or a module, the
/// file is not a `.py` file in `files`, or `text` is pinned to other code.
///
/// ```
/// use netspurt::foreign::{pinned, unpinned};
/// use std::collections::BTreeMap;
/// let files = BTreeMap::from([("timer.py".to_owned(), String::new())]);
/// let (text, file) = pinned("timer.py:Peak:k=3", &files).unwrap();
/// assert_eq!(file, "timer.py@e3b0c44298fc1c14");
/// assert_eq!(text, "timer.py@e3b0c44298fc1c14:Peak:k=3");
/// assert_eq!(unpinned(&text), "timer.py:Peak:k=3");
/// assert_eq!(pinned("other.py:Peak", &files), None);
/// assert_eq!(pinned("timer.py@0000000000000000:Peak", &files), None);
/// ```
pub fn pinned(text: &str, files: &BTreeMap<String, String>) -> Option<(String, String)> {
    let (file, pin, rest) = parts(text).filter(|_| has_place(text))?;
    let code = files.get(file).filter(|_| file.ends_with(CODE))?;
    let is = &fingerprint(code)[..DIGITS];
    let name = format!("{file}@{is}");
    pin.is_none_or(|pin| pin == is).then(|| (format!("{name}:{rest}"), name))
}

/// Returns `text` without its pin, as people write it.
pub fn unpinned(text: &str) -> String {
    match parts(text) {
        Some((place, Some(_), rest)) => format!("{place}:{rest}"),
        _ => text.to_owned(),
    }
}
