//! Reads element sets of satellites that are written as orbit mean-elements messages (OMM, CCSDS
//! 502.0) in key-value notation.
//!
//! The notations in JSON, XML and CSV are not supported.

use core::ops::Range;

use super::error::LocatedError;
use super::{Elements, OrbitError, Utc};

/// The key with which a message begins.
const BEGIN: &str = "CCSDS_OMM_VERS";
/// Keys for which only some values are accepted: those that fit SGP4.
const ONLY: [(&str, &[&str]); 4] = [
    ("MEAN_ELEMENT_THEORY", &["SGP4", "SGP/SGP4", "SGP"]),
    ("REF_FRAME", &["TEME", "TEMEOFDATE"]),
    ("TIME_SYSTEM", &["UTC"]),
    ("CENTER_NAME", &["EARTH"]),
];

/// Whether a text looks like an OMM in key-value notation.
pub(super) fn is_omm(text: &str) -> bool {
    entries(text).next().is_some_and(|entry| entry.key == BEGIN)
}

/// Reads the element sets of the messages in a text. Comments, units in brackets, and keys
/// that SGP4 does not need are skipped.
///
/// # Errors
/// When the text does not begin with `CCSDS_OMM_VERS`, or a key is missing or given twice. Also
/// when a value cannot be read or is out of range, or the elements are not for SGP4. Also when an
/// orbit is inside the Earth, in its dense atmosphere, or beyond the Earth's pull. The error names
/// a line: the line of the mistake, or the first line of the message.
///
/// ```
/// use netspurt_files::orbit::read_omm;
/// let text = "CCSDS_OMM_VERS = 2.0\nOBJECT_NAME = OURS\nEPOCH = 1999-07-01T00:00:00\n\
///     MEAN_MOTION = 15.5 [rev/day]\nECCENTRICITY = 0.001\nINCLINATION = 51.6\n\
///     RA_OF_ASC_NODE = 88\nARG_OF_PERICENTER = 10\nMEAN_ANOMALY = 20\nBSTAR = 0\n";
/// assert_eq!(read_omm(text, "ours.omm").unwrap()[0].inclination, 51.6);
/// ```
pub fn read_omm(text: &str, file: &str) -> Result<Vec<Elements>, OrbitError> {
    let mut messages: Vec<Vec<OmmEntry<'_>>> = Vec::new();
    let no_begin = || {
        let fix = "begin each message with a line such as `CCSDS_OMM_VERS = 2.0`";
        OrbitError::new("the text does not begin with CCSDS_OMM_VERS", fix)
    };
    for entry in entries(text) {
        if entry.key == BEGIN {
            messages.push(Vec::new());
        }
        let Some(message) = messages.last_mut() else {
            return Err(no_begin().at(file, text, &entry.span));
        };
        if message.iter().any(|earlier| earlier.key == entry.key && entry.key != "COMMENT") {
            let error = OrbitError::new(format!("{} is given twice", entry.key), "keep one");
            return Err(error.at(file, text, &entry.span));
        }
        message.push(entry);
    }
    if messages.is_empty() {
        return Err(no_begin().at(file, text, &(0..0)));
    }
    let read = |entries: Vec<OmmEntry<'_>>| {
        let span = entries.first().map_or(0..0, |entry| entry.span.clone());
        let message = Message { entries, span };
        message.elements().map_err(|(error, span)| error.at(file, text, &span))
    };
    messages.into_iter().map(read).collect()
}

/// A line `KEY = VALUE`.
struct OmmEntry<'a> {
    key: &'a str,
    value: &'a str,
    /// The bytes of the line.
    span: Range<usize>,
}

fn entries(text: &str) -> impl Iterator<Item = OmmEntry<'_>> {
    let mut start = 0;
    let each = text.split_inclusive('\n').map(move |line| {
        let span = start..start + line.trim_end().len();
        start += line.len();
        (line.trim(), span)
    });
    each.filter(|(line, _)| !line.is_empty()).map(|(line, span)| {
        let pair = line.split_once('=').filter(|_| !line.starts_with("COMMENT"));
        let (key, value) = pair.unwrap_or(("COMMENT", line));
        let value = value.split('[').next().unwrap_or_default();
        OmmEntry { key: key.trim(), value: value.trim(), span }
    })
}

struct Message<'a> {
    entries: Vec<OmmEntry<'a>>,
    /// The bytes of the message's first line.
    span: Range<usize>,
}

impl Message<'_> {
    fn elements(&self) -> Result<Elements, LocatedError> {
        for (key, allowed) in ONLY {
            if let Some(entry) = self.find(key)
                && !allowed.contains(&entry.value)
            {
                let fix = format!("write {}", allowed.join(" or "));
                let error = OrbitError::new(format!("{key} is {}", entry.value), fix);
                return Err((error, entry.span.clone()));
            }
        }
        let epoch = self.entry("EPOCH")?;
        let at: Utc = epoch.value.parse().map_err(|error| (error, epoch.span.clone()))?;
        let catalogue = self.find("NORAD_CAT_ID").map_or("", |entry| entry.value);
        let name = self.find("OBJECT_NAME").map_or(catalogue, |entry| entry.value);
        let elements = Elements {
            name: name.to_owned(),
            catalogue: catalogue.to_owned(),
            epoch: at,
            inclination: self.number("INCLINATION")?,
            node: self.number("RA_OF_ASC_NODE")?,
            eccentricity: self.number("ECCENTRICITY")?,
            argument: self.number("ARG_OF_PERICENTER")?,
            anomaly: self.number("MEAN_ANOMALY")?,
            revolutions: self.number("MEAN_MOTION")?,
            drag: self.number("BSTAR")?,
        };
        elements.checked().map_err(|error| (error, self.span.clone()))
    }

    fn find(&self, key: &str) -> Option<&OmmEntry<'_>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn entry(&self, key: &str) -> Result<&OmmEntry<'_>, LocatedError> {
        let missing = || {
            let error = OrbitError::new(format!("this message has no {key}"), "add this key");
            (error, self.span.clone())
        };
        self.find(key).ok_or_else(missing)
    }

    fn number(&self, key: &str) -> Result<f64, LocatedError> {
        let entry = self.entry(key)?;
        let number = entry.value.parse::<f64>().ok().filter(|value| value.is_finite());
        let fix = "write a number, as in 51.6";
        let error = || OrbitError::new(format!("{key} is not a number"), fix);
        number.ok_or_else(|| (error(), entry.span.clone()))
    }
}
