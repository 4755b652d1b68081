//! Reads code blocks: assertions, `print`, and variables.

use super::assertion::{Assertion, AssertionMessage, Expression};
use super::cursor::{Blank, Cursor};
use super::error::Mistake;
use super::expression_text::Expressions;
use super::statement::Statement;
use crate::place::line_of;

/// Reads the rest of a block after `%{`, including its `}%`. It may use the `variables` that the
/// script has set before, and adds its own.
pub(super) fn block(
    cursor: &mut Cursor<'_>,
    variables: &mut Vec<String>,
) -> Result<Vec<Statement>, Mistake> {
    let start = cursor.at();
    let Some(length) = cursor.rest().find("}%") else {
        let mistake = Mistake::new(start - 2..start, "this code block does not end");
        return Err(mistake.fix("add `}%`"));
    };
    let inner = cursor.within(start..start + length);
    let found = StatementReader { inner: Expressions::new(inner, variables) }.statements()?;
    while cursor.at() < start + length + 2 {
        cursor.bump();
    }
    if found.is_empty() {
        let mistake = Mistake::new(start - 2..start, "this code block has no statement");
        return Err(
            mistake.fix("write one, as in `%{ assert tcpi_snd_cwnd == 10 }%`, or remove the block")
        );
    }
    Ok(found)
}

struct StatementReader<'a, 'v> {
    inner: Expressions<'a, 'v>,
}

impl StatementReader<'_, '_> {
    fn statements(&mut self) -> Result<Vec<Statement>, Mistake> {
        let mut found = Vec::new();
        loop {
            self.inner.skip()?;
            self.inner.cursor.skip(Blank::Lines)?;
            if self.inner.cursor.take(";") || self.inner.continues() {
                continue;
            }
            if self.inner.cursor.rest().is_empty() {
                return Ok(found);
            }
            found.push(self.statement()?);
            self.inner.skip()?;
            if !matches!(self.inner.cursor.peek(), None | Some('\n' | ';')) {
                let message = format!("expected an operator, found {}", self.inner.cursor.shown());
                let fix = "a statement ends at `;` or at the end of the line";
                return Err(self.inner.cursor.mistake(message).fix(fix));
            }
        }
    }

    fn statement(&mut self) -> Result<Statement, Mistake> {
        let line = line_of(self.inner.cursor.source(), self.inner.cursor.at());
        let (word, span) = self.inner.cursor.word();
        match word {
            "assert" => self.assertion(line).map(Statement::Assert),
            "print" => self.print(line),
            "" => {
                let message = format!("expected a statement, found {}", self.inner.cursor.shown());
                Err(self.inner.cursor.mistake(message).fix(STATEMENTS))
            }
            name => match self.assignment(line, name)? {
                Some(statement) => Ok(statement),
                None => {
                    let message = format!("`{name}` is not a statement that scripts have");
                    Err(Mistake::new(span, message).fix(STATEMENTS))
                }
            },
        }
    }

    fn assertion(&mut self, line: usize) -> Result<Assertion, Mistake> {
        let expression = self.inner.whole()?;
        self.inner.skip()?;
        let message = if self.inner.cursor.take(",") { Some(self.message()?) } else { None };
        Ok(Assertion { line, expression, message })
    }

    /// Reads `(value, …)` after `print`.
    fn print(&mut self, line: usize) -> Result<Statement, Mistake> {
        self.inner.open("put what is printed in parentheses, as in `print(tcpi_rtt)`")?;
        let mut values = vec![self.message()?];
        while self.inner.take_comma()? {
            values.push(self.message()?);
        }
        self.inner.close()?;
        Ok(Statement::Print { line, values })
    }

    /// Reads `= value` or `+= value` after a name; `None` if neither follows.
    fn assignment(&mut self, line: usize, name: &str) -> Result<Option<Statement>, Mistake> {
        self.inner.skip()?;
        let signs = ["+", "-", "*", "/", "%", "&", "|"];
        let sign = signs.iter().find(|sign| self.inner.cursor.starts_with(&format!("{sign}=")));
        let plain = self.inner.cursor.starts_with("=") && !self.inner.cursor.starts_with("==");
        if let Some(sign) = sign {
            let left = self.inner.named(name);
            let left = left.ok_or_else(|| {
                let mistake = self.inner.cursor.mistake(format!("`{name}` is not set"));
                mistake.fix(format!("write `{name} = ` before"))
            })?;
            let operator = self.inner.binary(sign);
            self.inner.cursor.take("=");
            let value = Expression::Pair(Box::new(left), operator, Box::new(self.inner.whole()?));
            return Ok(Some(Statement::Assign { line, name: name.to_owned(), value }));
        }
        if !plain {
            return Ok(None);
        }
        self.inner.cursor.take("=");
        let value = self.inner.whole()?;
        self.inner.define(name);
        Ok(Some(Statement::Assign { line, name: name.to_owned(), value }))
    }

    fn message(&mut self) -> Result<AssertionMessage, Mistake> {
        self.inner.skip()?;
        let start = self.inner.cursor.at();
        let Some(quote) = self.inner.cursor.peek().filter(|c| *c == '"' || *c == '\'') else {
            return self.inner.whole().map(AssertionMessage::Value);
        };
        self.inner.cursor.bump();
        let text = self.inner.cursor.take_while(|c| c != quote && c != '\n').to_owned();
        if self.inner.cursor.peek() != Some(quote) {
            let mistake = Mistake::new(start..self.inner.cursor.at(), "this text does not end");
            return Err(mistake.fix(format!("add `{quote}`")));
        }
        self.inner.cursor.bump();
        let span = start..self.inner.cursor.at();
        self.inner.skip()?;
        if !self.inner.cursor.take("%") {
            return Ok(AssertionMessage::Text(text));
        }
        let values = self.format_values()?;
        let places = text.matches("%d").count();
        if places != values.len() || text.matches('%').count() != places {
            let message = format!("this text has {places} `%d` for {} values", values.len());
            return Err(Mistake::new(span, message).fix("write one `%d` for each value"));
        }
        Ok(AssertionMessage::Formatted { text, values })
    }

    /// Reads the values after the `%` of a formatted text: one, or several in parentheses.
    fn format_values(&mut self) -> Result<Vec<Expression>, Mistake> {
        self.inner.skip()?;
        if !self.inner.cursor.starts_with("(") {
            return Ok(vec![self.inner.single()?]);
        }
        self.inner.open("")?;
        let mut values = vec![self.inner.whole()?];
        while self.inner.take_comma()? {
            values.push(self.inner.whole()?);
        }
        self.inner.close()?;
        Ok(values)
    }
}

const STATEMENTS: &str = "write `assert`, `print(…)`, or `name = value`";
