//! Reads the expressions in the code blocks of a script, `%{ }%`. A script is a test in
//! packetdrill's notation.

use super::assertion::{Expression, Extreme, Operator};
use super::cursor::{Blank, Cursor};
use super::error::Mistake;
use super::info::{CONSTANTS, InfoField};
use super::names::named;

/// The maximum depth of nested parentheses, signs and `not`.
const DEPTH: u32 = 64;
/// The maximum number of operators in an expression. Functions walk the tree of an expression by
/// recursion, and the tree of a sum is as deep as the sum is long. Without this limit, a long sum
/// could exhaust the stack.
const OPERATORS: u32 = 1000;

/// The levels of precedence, from `or` up to products.
mod level {
    pub(super) const OR: u32 = 0;
    pub(super) const AND: u32 = 1;
    pub(super) const NOT: u32 = 2;
    pub(super) const COMPARISON: u32 = 3;
    pub(super) const BIT_OR: u32 = 4;
    pub(super) const BIT_AND: u32 = 5;
    pub(super) const SUM: u32 = 6;
    pub(super) const PRODUCT: u32 = 7;
}

/// The arithmetic operators. They may also stand before `=` in an assignment.
pub(super) const ARITHMETIC: [(&str, Operator); 7] = [
    ("+", Operator::Add),
    ("-", Operator::Subtract),
    ("*", Operator::Multiply),
    ("/", Operator::Divide),
    ("%", Operator::Remainder),
    ("&", Operator::BitAnd),
    ("|", Operator::BitOr),
];

/// Reads the expressions of a code block.
pub(super) struct Expressions<'a, 'v> {
    pub(super) cursor: Cursor<'a>,
    variables: &'v mut Vec<String>,
    depth: u32,
    parentheses: u32,
    operators: u32,
}

impl<'a, 'v> Expressions<'a, 'v> {
    /// Reads the text at `cursor`. `variables` are the variables that the script has set so far.
    pub(super) fn new(cursor: Cursor<'a>, variables: &'v mut Vec<String>) -> Self {
        Self { cursor, variables, depth: 0, parentheses: 0, operators: 0 }
    }

    /// Records that a statement sets the variable `name`.
    pub(super) fn define(&mut self, name: &str) {
        if !self.variables.iter().any(|known| known == name) {
            self.variables.push(name.to_owned());
        }
    }

    /// Steps over blanks. In parentheses and after a backslash, the function also steps over the
    /// end of a line.
    pub(super) fn skip(&mut self) -> Result<(), Mistake> {
        loop {
            self.cursor.skip(if self.parentheses > 0 { Blank::Lines } else { Blank::Line })?;
            if !self.continues() {
                return Ok(());
            }
        }
    }

    /// Steps over a `\` and the end of the line, if both are next. Returns whether they were next.
    pub(super) fn continues(&mut self) -> bool {
        self.cursor.take("\\\n") || self.cursor.take("\\\r\n")
    }

    /// Steps over an opening parenthesis.
    pub(super) fn open(&mut self, fix: &str) -> Result<(), Mistake> {
        self.skip()?;
        if !self.cursor.take("(") {
            let message = format!("expected `(`, found {}", self.cursor.shown());
            return Err(self.cursor.mistake(message).fix(fix));
        }
        self.enter()?;
        self.parentheses += 1;
        Ok(())
    }

    /// Steps over a closing parenthesis.
    pub(super) fn close(&mut self) -> Result<(), Mistake> {
        self.skip()?;
        if !self.cursor.take(")") {
            let message = format!("expected `)`, found {}", self.cursor.shown());
            return Err(self.cursor.mistake(message).fix("close the parenthesis"));
        }
        self.parentheses -= 1;
        self.depth -= 1;
        Ok(())
    }

    /// Steps over a comma if it is next. Returns whether it was next.
    pub(super) fn take_comma(&mut self) -> Result<bool, Mistake> {
        self.skip()?;
        Ok(self.cursor.take(","))
    }

    /// Reads an expression with operators of any level.
    pub(super) fn expression(&mut self) -> Result<Expression, Mistake> {
        if self.parentheses == 0 {
            self.operators = 0;
        }
        self.at_level(level::OR)
    }

    /// Reads an expression whose operators are of level `lowest` or higher, except in parentheses.
    fn at_level(&mut self, lowest: u32) -> Result<Expression, Mistake> {
        match lowest {
            level::NOT => return self.negation(),
            level::COMPARISON => return self.comparisons(),
            level::OR..=level::PRODUCT => {}
            _ => return self.operand(),
        }
        let mut left = self.at_level(lowest + 1)?;
        while let Some(operator) = self.operator(lowest)? {
            let right = self.at_level(lowest + 1)?;
            left = Expression::Pair(Box::new(left), operator, Box::new(right));
        }
        Ok(left)
    }

    /// Reads `a < b`, or `a < b < c`, which means `a < b and b < c`.
    fn comparisons(&mut self) -> Result<Expression, Mistake> {
        let mut left = self.at_level(level::BIT_OR)?;
        let mut all: Option<Expression> = None;
        while let Some(operator) = self.operator(level::COMPARISON)? {
            let right = self.at_level(level::BIT_OR)?;
            let pair = Expression::Pair(Box::new(left), operator, Box::new(right.clone()));
            all = Some(match all {
                None => pair,
                Some(before) => Expression::Pair(Box::new(before), Operator::And, Box::new(pair)),
            });
            left = right;
        }
        Ok(all.unwrap_or(left))
    }

    /// Reads an operator of this level, if one is next.
    fn operator(&mut self, level: u32) -> Result<Option<Operator>, Mistake> {
        self.skip()?;
        let found = match level {
            level::OR => self.take_word("or").then_some(Operator::Or),
            level::AND => self.take_word("and").then_some(Operator::And),
            level::COMPARISON => self.comparison()?,
            level::BIT_OR => self.sign(&ARITHMETIC[6..]),
            level::BIT_AND => self.sign(&ARITHMETIC[5..6]),
            level::SUM => self.sign(&ARITHMETIC[..2]),
            _ => self.sign(&ARITHMETIC[2..5]),
        };
        if found.is_some() {
            self.operators += 1;
            if self.operators > OPERATORS {
                let mistake = self.cursor.mistake("this expression is too long");
                return Err(mistake.fix("divide it into several statements"));
            }
        }
        Ok(found)
    }

    /// Steps over the arithmetic sign `sign`, which is next, and returns its operator.
    pub(super) fn binary(&mut self, sign: &str) -> Operator {
        self.cursor.take(sign);
        named(&ARITHMETIC, sign).expect("an operator of the table")
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
            return self.at_level(level::COMPARISON);
        }
        self.enter()?;
        let negated = self.negation()?;
        self.depth -= 1;
        Ok(Expression::Not(Box::new(negated)))
    }

    fn enter(&mut self) -> Result<(), Mistake> {
        self.depth += 1;
        if self.depth > DEPTH {
            let mistake = self.cursor.mistake("this expression is nested too deeply");
            return Err(mistake.fix("divide it into several statements"));
        }
        Ok(())
    }

    /// Reads a number, a name, a call, or an expression in parentheses. A `-` may precede it.
    pub(super) fn operand(&mut self) -> Result<Expression, Mistake> {
        self.skip()?;
        let start = self.cursor.at();
        if self.cursor.starts_with("(") {
            self.open("")?;
            let expression = self.at_level(level::OR)?;
            self.close()?;
            return Ok(expression);
        }
        if self.cursor.take("-") {
            self.enter()?;
            let negated = self.operand()?;
            self.depth -= 1;
            return Ok(Expression::Negative(Box::new(negated)));
        }
        if self.cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            return self.number();
        }
        let (word, span) = self.cursor.word();
        if word.is_empty() {
            let message = format!("expected a field or a number, found {}", self.cursor.shown());
            return Err(Mistake { span: start..start + 1, ..self.cursor.mistake(message) }
                .fix("write a field or a number, as in `tcpi_snd_cwnd == 10`"));
        }
        if let Some(which) = named(&Extreme::ALL, word) {
            return self.extreme(which);
        }
        self.value_of(word).ok_or_else(|| {
            let fields = InfoField::ALL.iter().map(|(name, _)| *name);
            let constants = CONSTANTS.iter().map(|(name, _)| *name);
            Mistake::unknown(span, "field", word, fields.chain(constants))
        })
    }

    /// Reads a whole number, which may be hexadecimal.
    fn number(&mut self) -> Result<Expression, Mistake> {
        let start = self.cursor.at();
        if self.cursor.take("0x") {
            let digits = self.cursor.take_while(|c| c.is_ascii_hexdigit());
            let number = i64::from_str_radix(digits, 16);
            let mistake = || Mistake::new(start..self.cursor.at(), "this is not a number");
            return number.map(Expression::Number).map_err(|_| {
                mistake().fix("write `0x` and hexadecimal digits, at most `0x7fffffffffffffff`")
            });
        }
        let number_max = i64::MAX.unsigned_abs();
        let number = self.cursor.number("a number", number_max)?;
        Ok(Expression::Number(number.cast_signed()))
    }

    /// Reads the arguments of `min` or `max`.
    fn extreme(&mut self, which: Extreme) -> Result<Expression, Mistake> {
        self.open("put the numbers in parentheses, as in `min(1, 2)`")?;
        let mut values = vec![self.at_level(level::OR)?];
        while self.take_comma()? {
            values.push(self.at_level(level::OR)?);
        }
        self.close()?;
        Ok(Expression::Extreme(which, values))
    }

    /// The variable, constant or field called `word`.
    pub(super) fn value_of(&self, word: &str) -> Option<Expression> {
        if self.variables.iter().any(|known| known == word) {
            return Some(Expression::Variable(word.to_owned()));
        }
        match word {
            "True" => return Some(Expression::Constant("True", 1)),
            "False" => return Some(Expression::Constant("False", 0)),
            _ => {}
        }
        let constant = CONSTANTS.iter().find(|(name, _)| *name == word);
        let constant = constant.map(|(name, value)| Expression::Constant(name, *value));
        constant.or_else(|| InfoField::named(word).map(Expression::Field))
    }
}
