//! A place in a script's text that moves forward over words, numbers and marks.

use core::ops::Range;

use super::error::Slip;

/// Reads a script from front to back.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    source: &'a str,
    at: usize,
    /// Where reading ends; the source's end or that of a code block.
    end: usize,
}

/// Whether blanks may hold the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blank {
    /// Within a line.
    Line,
    /// Over lines.
    Lines,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, at: 0, end: source.len() }
    }

    /// The same text, read within `span` only.
    pub(super) fn within(&self, span: Range<usize>) -> Self {
        Self { source: self.source, at: span.start, end: span.end }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn source(&self) -> &'a str {
        self.source
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.source[self.at..self.end]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Steps over `text` if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let there = self.starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// Steps over one character.
    pub(super) fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// Steps over characters while they are `wanted`.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Steps over blanks and comments.
    pub(super) fn skip(&mut self, blank: Blank) -> Result<(), Slip> {
        loop {
            self.take_while(|c| c.is_whitespace() && (blank == Blank::Lines || c != '\n'));
            if self.starts_with("/*") {
                let Some(length) = self.rest().find("*/") else {
                    let span = self.at..self.at + 2;
                    return Err(Slip::new(span, "this comment does not end").fix("add `*/`"));
                };
                self.at += length + 2;
            } else if self.starts_with("//") || self.starts_with("#") {
                self.take_while(|c| c != '\n');
            } else {
                return Ok(());
            }
        }
    }

    /// Steps over blanks within the line and then over `text`, if it is next.
    pub(super) fn take_mark(&mut self, text: &str) -> Result<bool, Slip> {
        self.skip(Blank::Line)?;
        Ok(self.take(text))
    }

    /// Steps over `text`, which must be next.
    pub(super) fn expect(&mut self, text: &str, fix: &str) -> Result<(), Slip> {
        self.skip(Blank::Lines)?;
        if self.take(text) {
            return Ok(());
        }
        Err(self.slip(format!("`{text}` expected, and not {}", self.shown())).fix(fix))
    }

    /// A word of letters, digits and underscores; may be empty.
    pub(super) fn word(&mut self) -> (&'a str, Range<usize>) {
        let start = self.at;
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
        (word, start..self.at)
    }

    /// A whole number up to `most`; `what` names it in the message.
    pub(super) fn number(&mut self, what: &str, most: u64) -> Result<u64, Slip> {
        self.skip(Blank::Line)?;
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            let message = format!("{what} expected, and not {}", self.shown());
            return Err(self.slip(message).fix("a whole number"));
        }
        let span = start..self.at;
        digits.parse().ok().filter(|number| *number <= most).ok_or_else(|| {
            Slip::new(span, format!("{digits} is too much for {what}"))
                .fix(format!("at most {most}"))
        })
    }

    /// The same for 32 bits.
    pub(super) fn number_u32(&mut self, what: &str) -> Result<u32, Slip> {
        let number = self.number(what, u32::MAX.into())?;
        Ok(u32::try_from(number).expect("held to 32 bits"))
    }

    /// The same for 16 bits.
    pub(super) fn number_u16(&mut self, what: &str) -> Result<u16, Slip> {
        let number = self.number(what, u16::MAX.into())?;
        Ok(u16::try_from(number).expect("held to 16 bits"))
    }

    /// What is next, for a message.
    pub(super) fn shown(&self) -> String {
        match self.rest()[..self.token_length()].chars().next() {
            None if self.rest().is_empty() => "the end".to_owned(),
            None | Some('\n') => "the end of the line".to_owned(),
            Some(_) => format!("`{}`", &self.rest()[..self.token_length()]),
        }
    }

    fn token_length(&self) -> usize {
        let rest = self.rest();
        let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) }
    }

    /// A mistake in what is next.
    pub(super) fn slip(&self, message: impl Into<String>) -> Slip {
        Slip::new(self.at..self.at + self.token_length(), message)
    }
}
