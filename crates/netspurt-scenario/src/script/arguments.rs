//! Reads the arguments of a socket call in a script, as in `read(4, ..., 1000)`. A script is a test
//! in packetdrill's notation.

use core::ops::Range;

use super::call::{Fd, SocketOption};
use super::cursor::{Blank, Cursor, Excerpt};
use super::error::Mistake;
use super::message_flags::MessageFlags;
use super::names::named;
use super::refused::refuse;

/// Reads the arguments and the closing parenthesis.
pub(super) fn arguments<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Excerpt<'a>>, Mistake> {
    let source = cursor.source();
    let mut found = Vec::new();
    cursor.skip(Blank::Lines)?;
    let (mut start, mut depth, mut quoted) = (cursor.at(), 0_u32, false);
    let open = cursor.at();
    while let Some(c) = cursor.peek() {
        let at = cursor.at();
        cursor.bump();
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            ')' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                let argument = Excerpt::trimmed(&source[start..at], start);
                if !(c == ')' && found.is_empty() && argument.text.is_empty()) {
                    found.push(argument);
                }
                if c == ')' {
                    return Ok(found);
                }
                start = cursor.at();
            }
            _ => {}
        }
    }
    let mistake = Mistake::new(open.saturating_sub(1)..open, "this parenthesis is not closed");
    Err(mistake.fix("add `)`"))
}

/// The arguments of one call.
pub(super) struct Arguments<'a> {
    pub(super) name: &'a str,
    pub(super) all: &'a [Excerpt<'a>],
    pub(super) span: Range<usize>,
}

impl<'a> Arguments<'a> {
    /// Checks that the number of arguments is in the range `wanted`. `form` is an example of the
    /// call, for the error message.
    pub(super) fn count(&self, wanted: Range<usize>, form: &str) -> Result<(), Mistake> {
        if wanted.contains(&self.all.len()) {
            return Ok(());
        }
        let message =
            format!("the number of arguments of `{}` cannot be {}", self.name, self.all.len());
        Err(Mistake::new(self.span.clone(), message).fix(format!("write it as in `{form}`")))
    }

    pub(super) fn fd(&self) -> Result<Fd, Mistake> {
        let argument = self.all[0];
        argument
            .text
            .parse()
            .map_err(|_| argument.wrong("the number of a socket", "write a number, as in `3`"))
    }

    pub(super) fn number(&self, place: usize) -> Result<u32, Mistake> {
        let argument = self.all[place];
        argument.text.parse().map_err(|_| argument.wrong("a number", "write a whole number"))
    }

    /// Checks that the arguments with these indexes are `...`.
    pub(super) fn ellipsis(&self, places: Range<usize>) -> Result<(), Mistake> {
        for argument in &self.all[places] {
            if argument.text != "..." {
                let fix = "write `...` for addresses and buffers";
                return Err(argument.wrong("`...`", fix));
            }
        }
        Ok(())
    }

    pub(super) fn word<T: Copy>(
        &self,
        place: usize,
        what: &str,
        table: &[(&'static str, T)],
    ) -> Result<T, Mistake> {
        let argument = self.all[place];
        refuse(argument)?;
        named(table, argument.text).ok_or_else(|| {
            let known = table.iter().map(|(name, _)| *name);
            Mistake::unknown(argument.span(), what, argument.text, known)
        })
    }

    /// The flags in the argument with this index, as for `send` and `recv`. If the argument is
    /// absent, no flag is set.
    pub(super) fn message_flags(&self, place: usize) -> Result<MessageFlags, Mistake> {
        let mut flags = MessageFlags::default();
        let Some(argument) = self.all.get(place) else { return Ok(flags) };
        if argument.text == "0" {
            return Ok(flags);
        }
        refuse(*argument)?;
        for word in argument.text.split('|').map(str::trim) {
            if !flags.set(word) {
                let known = MessageFlags::NAMES;
                return Err(Mistake::unknown(argument.span(), "flag", word, known));
            }
        }
        Ok(flags)
    }

    pub(super) fn option(&self) -> Result<SocketOption, Mistake> {
        let option = self.word(2, "socket option", &SocketOption::ALL)?;
        let level = self.all[1];
        let same = level.text == option.level()
            || option.level() == "SOL_TCP" && level.text == "IPPROTO_TCP";
        if same {
            return Ok(option);
        }
        let mistake =
            Mistake::new(level.span(), format!("{} is not an option of this level", option.name()));
        Err(mistake.fix(format!("write `{}`", option.level())))
    }
}
