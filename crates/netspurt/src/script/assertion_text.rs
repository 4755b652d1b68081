//! Reads code blocks: assertions, and nothing else.

use super::assertion::{Assertion, Expression, Message, Operator};
use super::cursor::{Blank, Cursor};
use super::error::Slip;
use super::info::{CONSTANTS, Field};
use crate::place::line_of;

/// How deeply parentheses and signs may nest.
const DEPTH: u32 = 64;
/// How many signs one expression may join; its tree leans, and is walked by recursion.
const LENGTH: u32 = 1000;

/// Reads a block behind its `%{`, and its `}%`.
pub(super) fn block(cursor: &mut Cursor<'_>) -> Result<Vec<Assertion>, Slip> {
    let start = cursor.at();
    let Some(length) = cursor.rest().find("}%") else {
        let slip = Slip::new(start - 2..start, "this code block does not end");
        return Err(slip.fix("add `}%`"));
    };
    let mut reader =
        Reader { cursor: cursor.within(start..start + length), depth: 0, parentheses: 0, signs: 0 };
    let assertions = reader.statements()?;
    while cursor.at() < start + length + 2 {
        cursor.bump();
    }
    if assertions.is_empty() {
        let slip = Slip::new(start - 2..start, "this code block asserts nothing");
        return Err(slip.fix("as in `%{ assert tcpi_snd_cwnd == 10 }%`, or take it out"));
    }
    Ok(assertions)
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    depth: u32,
    parentheses: u32,
    signs: u32,
}

impl Reader<'_> {
    /// Steps over blanks: over lines too within parentheses and behind a backslash.
    fn skip(&mut self) -> Result<(), Slip> {
        loop {
            self.cursor.skip(if self.parentheses > 0 { Blank::Lines } else { Blank::Line })?;
            if !self.cursor.take("\\\n") && !self.cursor.take("\\\r\n") {
                return Ok(());
            }
        }
    }

    fn statements(&mut self) -> Result<Vec<Assertion>, Slip> {
        let mut found = Vec::new();
        loop {
            self.cursor.skip(Blank::Lines)?;
            if self.cursor.take(";") {
                continue;
            }
            if self.cursor.rest().is_empty() {
                return Ok(found);
            }
            found.push(self.assertion()?);
            self.skip()?;
            if !matches!(self.cursor.peek(), None | Some('\n' | ';')) {
                let message = format!("an operator expected, and not {}", self.cursor.shown());
                let fix = "comparisons do not chain; assertions end at `;` or the line's end";
                return Err(self.cursor.slip(message).fix(fix));
            }
        }
    }

    fn assertion(&mut self) -> Result<Assertion, Slip> {
        let line = line_of(self.cursor.source(), self.cursor.at());
        let (word, span) = self.cursor.word();
        if word != "assert" {
            let message = if word.is_empty() {
                format!("`assert` expected, and not {}", self.cursor.shown())
            } else {
                format!("`assert` expected, and not `{word}`")
            };
            let slip =
                if word.is_empty() { self.cursor.slip(message) } else { Slip::new(span, message) };
            return Err(slip.fix("code blocks hold assertions only"));
        }
        self.signs = 0;
        let expression = self.expression(0)?;
        self.skip()?;
        let message = if self.cursor.take(",") { Some(self.message()?) } else { None };
        Ok(Assertion { line, expression, message })
    }

    fn message(&mut self) -> Result<Message, Slip> {
        self.skip()?;
        let start = self.cursor.at();
        let Some(quote) = self.cursor.peek().filter(|c| *c == '"' || *c == '\'') else {
            return self.expression(0).map(Message::Value);
        };
        self.cursor.bump();
        let text = self.cursor.take_while(|c| c != quote && c != '\n').to_owned();
        if self.cursor.peek() != Some(quote) {
            let slip = Slip::new(start..self.cursor.at(), "this text does not end");
            return Err(slip.fix(format!("add `{quote}`")));
        }
        self.cursor.bump();
        Ok(Message::Text(text))
    }

    /// An expression of operators that bind at least as strongly as level `least`: 0 `or`,
    /// 1 `and`, 2 `not`, 3 comparisons, 4 sums, 5 products.
    fn expression(&mut self, least: u32) -> Result<Expression, Slip> {
        if least == 2 {
            return self.negation();
        }
        if least > 5 {
            return self.operand();
        }
        let mut left = self.expression(least + 1)?;
        while let Some(operator) = self.operator(least)? {
            let right = self.expression(least + 1)?;
            left = Expression::Pair(Box::new(left), operator, Box::new(right));
            if least == 3 {
                break;
            }
        }
        Ok(left)
    }

    /// Steps over an operator of this level.
    fn operator(&mut self, level: u32) -> Result<Option<Operator>, Slip> {
        self.skip()?;
        let found = match level {
            0 => self.take_word("or").then_some(Operator::Or),
            1 => self.take_word("and").then_some(Operator::And),
            3 => self.comparison()?,
            4 => self.sign(&[("+", Operator::Add), ("-", Operator::Subtract)]),
            _ => self.sign(&[("*", Operator::Multiply), ("/", Operator::Divide)]),
        };
        if found.is_some() {
            self.signs += 1;
            if self.signs > LENGTH {
                let slip = self.cursor.slip("this expression is too long");
                return Err(slip.fix("write several assertions"));
            }
        }
        Ok(found)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let mut ahead = self.cursor.clone();
        let found = ahead.word().0 == word;
        if found {
            self.cursor = ahead;
        }
        found
    }

    fn sign(&mut self, table: &[(&'static str, Operator)]) -> Option<Operator> {
        table.iter().find(|(sign, _)| self.cursor.take(sign)).map(|(_, operator)| *operator)
    }

    fn comparison(&mut self) -> Result<Option<Operator>, Slip> {
        let start = self.cursor.at();
        let found = self.sign(&Operator::COMPARISONS);
        if found.is_none() && self.cursor.starts_with("=") {
            let slip = Slip::new(start..start + 1, "`=` does not compare");
            return Err(slip.fix("write `==`"));
        }
        Ok(found)
    }

    fn negation(&mut self) -> Result<Expression, Slip> {
        self.skip()?;
        if !self.take_word("not") {
            return self.expression(3);
        }
        self.enter()?;
        let inner = self.negation()?;
        self.depth -= 1;
        Ok(Expression::Not(Box::new(inner)))
    }

    fn enter(&mut self) -> Result<(), Slip> {
        self.depth += 1;
        if self.depth > DEPTH {
            let slip = self.cursor.slip("this nests too deeply");
            return Err(slip.fix("write several assertions"));
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<Expression, Slip> {
        self.skip()?;
        let start = self.cursor.at();
        if self.cursor.take("(") {
            self.enter()?;
            self.parentheses += 1;
            let inner = self.expression(0)?;
            self.skip()?;
            if !self.cursor.take(")") {
                let message = format!("`)` expected, and not {}", self.cursor.shown());
                return Err(self.cursor.slip(message).fix("close the parenthesis"));
            }
            self.parentheses -= 1;
            self.depth -= 1;
            return Ok(inner);
        }
        if self.cursor.take("-") {
            self.enter()?;
            let inner = self.operand()?;
            self.depth -= 1;
            return Ok(Expression::Negative(Box::new(inner)));
        }
        if self.cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            let most = i64::MAX.unsigned_abs();
            let number = self.cursor.number("a number", most)?;
            return Ok(Expression::Number(number.cast_signed()));
        }
        let (word, span) = self.cursor.word();
        if word.is_empty() {
            let message = format!("a field or a number expected, and not {}", self.cursor.shown());
            return Err(Slip { span: start..start + 1, ..self.cursor.slip(message) }
                .fix("as in `tcpi_snd_cwnd == 10`"));
        }
        named(word).ok_or_else(|| {
            let fields = Field::ALL.iter().map(|(name, _)| *name);
            let constants = CONSTANTS.iter().map(|(name, _)| *name);
            Slip::unknown(span, "field", word, fields.chain(constants))
        })
    }
}

fn named(word: &str) -> Option<Expression> {
    match word {
        "True" => return Some(Expression::Constant("True", 1)),
        "False" => return Some(Expression::Constant("False", 0)),
        _ => {}
    }
    let constant = CONSTANTS.iter().find(|(name, _)| *name == word);
    let constant = constant.map(|(name, value)| Expression::Constant(name, *value));
    constant.or_else(|| Field::named(word).map(Expression::Field))
}
