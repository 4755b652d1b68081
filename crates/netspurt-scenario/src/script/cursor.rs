//! A position in a script's text that moves forward over words, numbers and marks. A script is a
//! test in packetdrill's notation.

use core::ops::Range;

use super::error::Mistake;

/// Reads a script from front to back.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    source: &'a str,
    at: usize,
    /// Where reading ends: the end of the source or of a code block.
    end: usize,
}

/// Whether blanks may include the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blank {
    /// Blanks end at the end of the line.
    Line,
    /// Blanks include the ends of lines.
    Lines,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, at: 0, end: source.len() }
    }

    /// A cursor over the same text that reads only within `span`.
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

    /// Steps over `text` if it is next. Returns whether it was next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// Steps over one character.
    pub(super) fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// Steps over the characters for which the function `wanted` returns true, and returns them.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Steps over blanks and comments.
    pub(super) fn skip(&mut self, blank: Blank) -> Result<(), Mistake> {
        loop {
            self.take_while(|c| c.is_whitespace() && (blank == Blank::Lines || c != '\n'));
            if self.starts_with("/*") {
                let Some(length) = self.rest().find("*/") else {
                    let span = self.at..self.at + 2;
                    return Err(Mistake::new(span, "this comment does not end").fix("add `*/`"));
                };
                self.at += length + 2;
            } else if self.starts_with("//") || self.starts_with("#") {
                self.take_while(|c| c != '\n');
            } else {
                return Ok(());
            }
        }
    }

    /// Steps over blanks within the line and then over `text` if it is next. Returns whether it was
    /// next.
    pub(super) fn take_mark(&mut self, text: &str) -> Result<bool, Mistake> {
        self.skip(Blank::Line)?;
        Ok(self.take(text))
    }

    /// Steps over blanks and ends of lines, and then over `text`, which must be next.
    pub(super) fn expect(&mut self, text: &str, fix: &str) -> Result<(), Mistake> {
        self.skip(Blank::Lines)?;
        if self.take(text) {
            return Ok(());
        }
        Err(self.mistake(format!("expected `{text}`, found {}", self.shown())).fix(fix))
    }

    /// Steps over a word of letters, digits and underscores, which may be empty.
    pub(super) fn word(&mut self) -> (&'a str, Range<usize>) {
        let start = self.at;
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
        (word, start..self.at)
    }

    /// Steps over a whole number up to `number_max`; the text `what` names the number in error
    /// messages.
    pub(super) fn number(&mut self, what: &str, number_max: u64) -> Result<u64, Mistake> {
        self.skip(Blank::Line)?;
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            let message = format!("expected {what}, found {}", self.shown());
            return Err(self.mistake(message).fix("write a whole number"));
        }
        let span = start..self.at;
        digits.parse().ok().filter(|number| *number <= number_max).ok_or_else(|| {
            Mistake::new(span, format!("{digits} is too large for {what}"))
                .fix(format!("write at most {number_max}"))
        })
    }

    /// Steps over a number of at most 32 bits.
    pub(super) fn number_u32(&mut self, what: &str) -> Result<u32, Mistake> {
        let number = self.number(what, u32::MAX.into())?;
        Ok(u32::try_from(number).expect("the maximum has 32 bits"))
    }

    /// Steps over a number of at most 16 bits.
    pub(super) fn number_u16(&mut self, what: &str) -> Result<u16, Mistake> {
        let number = self.number(what, u16::MAX.into())?;
        Ok(u16::try_from(number).expect("the maximum has 16 bits"))
    }

    /// The next token, for an error message.
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

    /// A mistake at the next token.
    pub(super) fn mistake(&self, message: impl Into<String>) -> Mistake {
        Mistake::new(self.at..self.at + self.token_length(), message)
    }
}

/// A part of the source without the blanks around it, and where it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excerpt<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Excerpt<'a> {
    /// Makes the excerpt of `text` without the blanks around it. The text starts at the place `at`.
    pub(super) fn trimmed(text: &'a str, at: usize) -> Self {
        let lead = text.len() - text.trim_start().len();
        Self { text: text.trim(), at: at + lead }
    }

    /// The parts before and after the first `mark`; `None` if there is no `mark`.
    pub(super) fn split(&self, mark: char) -> Option<(Excerpt<'a>, Excerpt<'a>)> {
        let (head, tail) = self.text.split_once(mark)?;
        let tail_at = self.at + head.len() + mark.len_utf8();
        Some((Excerpt::trimmed(head, self.at), Excerpt::trimmed(tail, tail_at)))
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// Makes the error for a script that has this text where the thing `what` is expected.
    pub(super) fn wrong(&self, what: &str, fix: &str) -> Mistake {
        Mistake::new(self.span(), format!("expected {what}, found `{}`", self.text)).fix(fix)
    }
}
