//! Reads code blocks, which contain only assertions.

use super::assertion::{Assertion, AssertionMessage, Expression, Operator};
use super::cursor::{Blank, Cursor};
use super::error::Mistake;
use super::info::{CONSTANTS, Field};
use crate::place::line_of;

/// The maximum depth of nested parentheses, signs and `not`.
const DEPTH: u32 = 64;
/// The maximum number of operators in an expression. The tree of a long sum is as deep as the sum
/// is long, and functions walk it by recursion.
const OPERATORS: u32 = 1000;

/// Reads the rest of a block after `%{`, including its `}%`.
pub(super) fn block(cursor: &mut Cursor<'_>) -> Result<Vec<Assertion>, Mistake> {
    let start = cursor.at();
    let Some(length) = cursor.rest().find("}%") else {
        let mistake = Mistake::new(start - 2..start, "this code block does not end");
        return Err(mistake.fix("add `}%`"));
    };
    let mut reader = Reader {
        cursor: cursor.within(start..start + length),
        depth: 0,
        parentheses: 0,
        operators: 0,
    };
    let assertions = reader.statements()?;
    while cursor.at() < start + length + 2 {
        cursor.bump();
    }
    if assertions.is_empty() {
        let mistake = Mistake::new(start - 2..start, "this code block has no assertion");
        return Err(
            mistake.fix("write one, as in `%{ assert tcpi_snd_cwnd == 10 }%`, or remove the block")
        );
    }
    Ok(assertions)
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    depth: u32,
    parentheses: u32,
    operators: u32,
}

impl Reader<'_> {
    /// Steps over blanks. In parentheses and after a backslash, it steps over the end of a line too.
    fn skip(&mut self) -> Result<(), Mistake> {
        loop {
            self.cursor.skip(if self.parentheses > 0 { Blank::Lines } else { Blank::Line })?;
            if !self.cursor.take("\\\n") && !self.cursor.take("\\\r\n") {
                return Ok(());
            }
        }
    }

    fn statements(&mut self) -> Result<Vec<Assertion>, Mistake> {
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
                let message = format!("expected an operator, found {}", self.cursor.shown());
                let fix =
                    "comparisons do not chain; an assertion ends at `;` or at the end of the line";
                return Err(self.cursor.mistake(message).fix(fix));
            }
        }
    }

    fn assertion(&mut self) -> Result<Assertion, Mistake> {
        let line = line_of(self.cursor.source(), self.cursor.at());
        let (word, span) = self.cursor.word();
        if word != "assert" {
            let message = if word.is_empty() {
                format!("expected `assert`, found {}", self.cursor.shown())
            } else {
                format!("expected `assert`, found `{word}`")
            };
            let mistake = if word.is_empty() {
                self.cursor.mistake(message)
            } else {
                Mistake::new(span, message)
            };
            return Err(mistake.fix("a code block may only contain assertions"));
        }
        self.operators = 0;
        let expression = self.expression(0)?;
        self.skip()?;
        let message = if self.cursor.take(",") { Some(self.message()?) } else { None };
        Ok(Assertion { line, expression, message })
    }

    fn message(&mut self) -> Result<AssertionMessage, Mistake> {
        self.skip()?;
        let start = self.cursor.at();
        let Some(quote) = self.cursor.peek().filter(|c| *c == '"' || *c == '\'') else {
            return self.expression(0).map(AssertionMessage::Value);
        };
        self.cursor.bump();
        let text = self.cursor.take_while(|c| c != quote && c != '\n').to_owned();
        if self.cursor.peek() != Some(quote) {
            let mistake = Mistake::new(start..self.cursor.at(), "this text does not end");
            return Err(mistake.fix(format!("add `{quote}`")));
        }
        self.cursor.bump();
        Ok(AssertionMessage::Text(text))
    }

    /// Reads an expression whose operators are of level `least` or higher: 0 is `or`, 1 `and`,
    /// 2 `not`, 3 comparisons, 4 sums, 5 products.
    fn expression(&mut self, least: u32) -> Result<Expression, Mistake> {
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

    /// Reads an operator of this level, if one is next.
    fn operator(&mut self, level: u32) -> Result<Option<Operator>, Mistake> {
        self.skip()?;
        let found = match level {
            0 => self.take_word("or").then_some(Operator::Or),
            1 => self.take_word("and").then_some(Operator::And),
            3 => self.comparison()?,
            4 => self.sign(&[("+", Operator::Add), ("-", Operator::Subtract)]),
            _ => self.sign(&[("*", Operator::Multiply), ("/", Operator::Divide)]),
        };
        if found.is_some() {
            self.operators += 1;
            if self.operators > OPERATORS {
                let mistake = self.cursor.mistake("this expression is too long");
                return Err(mistake.fix("write several assertions"));
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

    fn comparison(&mut self) -> Result<Option<Operator>, Mistake> {
        let start = self.cursor.at();
        let found = self.sign(&Operator::COMPARISONS);
        if found.is_none() && self.cursor.starts_with("=") {
            let mistake = Mistake::new(start..start + 1, "`=` is not a comparison");
            return Err(mistake.fix("write `==`"));
        }
        Ok(found)
    }

    fn negation(&mut self) -> Result<Expression, Mistake> {
        self.skip()?;
        if !self.take_word("not") {
            return self.expression(3);
        }
        self.enter()?;
        let inner = self.negation()?;
        self.depth -= 1;
        Ok(Expression::Not(Box::new(inner)))
    }

    fn enter(&mut self) -> Result<(), Mistake> {
        self.depth += 1;
        if self.depth > DEPTH {
            let mistake = self.cursor.mistake("this nests too deeply");
            return Err(mistake.fix("write several assertions"));
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<Expression, Mistake> {
        self.skip()?;
        let start = self.cursor.at();
        if self.cursor.take("(") {
            self.enter()?;
            self.parentheses += 1;
            let inner = self.expression(0)?;
            self.skip()?;
            if !self.cursor.take(")") {
                let message = format!("expected `)`, found {}", self.cursor.shown());
                return Err(self.cursor.mistake(message).fix("close the parenthesis"));
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
            let message = format!("expected a field or a number, found {}", self.cursor.shown());
            return Err(Mistake { span: start..start + 1, ..self.cursor.mistake(message) }
                .fix("write one, as in `tcpi_snd_cwnd == 10`"));
        }
        term(word).ok_or_else(|| {
            let fields = Field::ALL.iter().map(|(name, _)| *name);
            let constants = CONSTANTS.iter().map(|(name, _)| *name);
            Mistake::unknown(span, "field", word, fields.chain(constants))
        })
    }
}

/// The field or constant called `word`.
fn term(word: &str) -> Option<Expression> {
    match word {
        "True" => return Some(Expression::Constant("True", 1)),
        "False" => return Some(Expression::Constant("False", 0)),
        _ => {}
    }
    let constant = CONSTANTS.iter().find(|(name, _)| *name == word);
    let constant = constant.map(|(name, value)| Expression::Constant(name, *value));
    constant.or_else(|| Field::named(word).map(Expression::Field))
}
