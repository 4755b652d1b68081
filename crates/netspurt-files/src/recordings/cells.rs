//! Splits a line of a table into cells.

use std::borrow::Cow;

use super::columns::unit_of;
use super::stamp::{begins_with_name, leading, of_line};
use super::text::decimal;
use super::zone::is_zone;

/// Splits a line into its cells. Without a separator, blanks divide the cells.
pub(super) fn cells(line: &str, separator: Option<char>) -> Vec<Cow<'_, str>> {
    let Some(separator) = separator else {
        return words(line);
    };
    if !line.contains('"') {
        let mut from = 0;
        if separator == ',' && begins_with_name(line) && line.get(3..4) == Some(",") {
            // The comma of `Tue, 22 Oct 2024 10:11:12 +0200` (RFC 2822 §3.3) belongs to the
            // timestamp.
            from = leading(line).map_or(0, |(_, rest)| line.len() - rest.len());
        }
        let mut cells: Vec<Cow<'_, str>> =
            line[from..].split(separator).map(|cell| Cow::from(cell.trim())).collect();
        if from > 0 {
            cells[0] = Cow::from(line[..from].trim());
        }
        return cells;
    }
    // RFC 4180 §2: a separator within quotes is text, and a doubled quote stands for one quote.
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            letter if letter == separator && !quoted => {
                cells.push(Cow::from(cell.trim().to_owned()));
                cell.clear();
            }
            letter => cell.push(letter),
        }
    }
    cells.push(Cow::from(cell.trim().to_owned()));
    cells
}

/// Splits a line at blanks. A number and its unit are one cell, and so is a timestamp of several
/// words.
fn words(line: &str) -> Vec<Cow<'_, str>> {
    let mut cells: Vec<Cow<'_, str>> = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        if let Some((stamp, behind)) = stamp_words(rest) {
            cells.push(Cow::from(stamp));
            rest = behind;
            continue;
        }
        let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = behind.trim_start();
        match cells.last_mut() {
            Some(last) if unit_of(word).is_some() && decimal(last, 1).is_some_and(bare) => {
                last.to_mut().push_str(word);
            }
            // `10:11:12 AM`, `10:11:12 +0200`
            Some(last) if last.contains(':') && (is_half_day(word) || is_zone(word)) => {
                let last = last.to_mut();
                last.push(' ');
                last.push_str(word);
            }
            _ => cells.push(Cow::from(word)),
        }
    }
    cells
}

fn is_half_day(word: &str) -> bool {
    matches!(word, "AM" | "PM" | "am" | "pm")
}

/// Finds a timestamp of several words at the beginning of a text. The timestamp is in brackets, or
/// begins with the name of a weekday or month, or with a date such as `22 Oct 2024`. Returns the
/// timestamp and the text after it.
fn stamp_words(text: &str) -> Option<(&str, &str)> {
    let bracketed = text.starts_with('[');
    if !bracketed && !begins_with_name(text) {
        return None;
    }
    let (_, behind) = (of_line(text).0.is_some()).then(|| of_line(text))?;
    let stamp = text[..text.len() - behind.len()].trim_end().trim_end_matches([':', '|']);
    Some((stamp.trim_start_matches('[').trim_end_matches(']'), behind))
}

/// Finds the separator of a line's cells: `;` if the line contains one, otherwise a tab, otherwise
/// `,`. `None` means blanks.
pub(super) fn separator(line: &str) -> Option<char> {
    // `Tue, 22 Oct 2024 10:11:12 +0200` is one value (RFC 2822 §3.3).
    let dated = |text: &str| text.get(..4).is_some_and(|day| day.ends_with(','));
    let text = line.trim_start_matches('[');
    let text = if dated(text) && begins_with_name(text) { &text[4..] } else { text };
    [';', '\t', ','].into_iter().find(|mark| text.contains(*mark))
}

/// True if nothing follows a number in its cell.
pub(super) fn bare((_, rest): (i64, &str)) -> bool {
    rest.trim().is_empty()
}
