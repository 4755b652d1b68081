//! Reads the code blocks of scripts, `%{ }%`: assertions, `print`, and variables. A script is a
//! test in packetdrill's notation.

use netspurt::place::line_of;

use super::assertion::{Assertion, AssertionMessage, Expression};
use super::cursor::{Blank, Cursor};
use super::error::Mistake;
use super::expression_text::{ARITHMETIC, Expressions};
use super::statement::Statement;

/// Reads the rest of a block after `%{`, including its `}%`. The block may use the variables that
/// earlier statements of the script have set. The variables that the block sets are added to the
/// list `variables`.
pub(super) fn block(
    cursor: &mut Cursor<'_>,
    variables: &mut Vec<String>,
) -> Result<Vec<Statement>, Mistake> {
    let start = cursor.at();
    let Some(length) = cursor.rest().find("}%") else {
        let mistake = Mistake::new(start - 2..start, "this code block does not end");
        return Err(mistake.fix("add `}%`"));
    };
    let code = cursor.within(start..start + length);
    let statements = StatementReader { reader: Expressions::new(code, variables) }.statements()?;
    while cursor.at() < start + length + 2 {
        cursor.bump();
    }
    if statements.is_empty() {
        let mistake = Mistake::new(start - 2..start, "this code block has no statement");
        return Err(mistake.fix(
            "write a statement, as in `%{ assert tcpi_snd_cwnd == 10 }%`, or remove the block",
        ));
    }
    Ok(statements)
}

struct StatementReader<'a, 'v> {
    reader: Expressions<'a, 'v>,
}

impl StatementReader<'_, '_> {
    fn statements(&mut self) -> Result<Vec<Statement>, Mistake> {
        let mut statements = Vec::new();
        loop {
            self.reader.skip()?;
            self.reader.cursor.skip(Blank::Lines)?;
            if self.reader.cursor.take(";") || self.reader.continues() {
                continue;
            }
            if self.reader.cursor.rest().is_empty() {
                return Ok(statements);
            }
            statements.push(self.statement()?);
            self.reader.skip()?;
            if !matches!(self.reader.cursor.peek(), None | Some('\n' | ';')) {
                let message = format!("expected an operator, found {}", self.reader.cursor.shown());
                let fix = "write an operator, or end the statement with `;` or a new line";
                return Err(self.reader.cursor.mistake(message).fix(fix));
            }
        }
    }

    fn statement(&mut self) -> Result<Statement, Mistake> {
        let line = line_of(self.reader.cursor.source(), self.reader.cursor.at());
        let (word, span) = self.reader.cursor.word();
        match word {
            "assert" => self.assertion(line).map(Statement::Assert),
            "print" => self.print(line),
            "" => {
                let message = format!("expected a statement, found {}", self.reader.cursor.shown());
                Err(self.reader.cursor.mistake(message).fix(STATEMENTS))
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
        let expression = self.reader.expression()?;
        self.reader.skip()?;
        let message = if self.reader.cursor.take(",") { Some(self.message()?) } else { None };
        Ok(Assertion { line, expression, message })
    }

    /// Reads `(value, …)` after `print`.
    fn print(&mut self, line: usize) -> Result<Statement, Mistake> {
        self.reader.open("put the values in parentheses, as in `print(tcpi_rtt)`")?;
        let mut values = vec![self.message()?];
        while self.reader.take_comma()? {
            values.push(self.message()?);
        }
        self.reader.close()?;
        Ok(Statement::Print { line, values })
    }

    /// Reads `= value` after a name, or an arithmetic operator and `= value`, as in `+= value`.
    /// `None` if neither follows.
    fn assignment(&mut self, line: usize, name: &str) -> Result<Option<Statement>, Mistake> {
        self.reader.skip()?;
        let mut signs = ARITHMETIC.iter().map(|(sign, _)| *sign);
        let sign = signs.find(|sign| self.reader.cursor.starts_with(&format!("{sign}=")));
        let is_plain = self.reader.cursor.starts_with("=") && !self.reader.cursor.starts_with("==");
        if let Some(sign) = sign {
            let left_operand = self.reader.value_of(name);
            let left_operand = left_operand.ok_or_else(|| {
                let mistake = self.reader.cursor.mistake(format!("`{name}` is not set"));
                mistake.fix(format!("set it before, as in `{name} = 1`"))
            })?;
            let operator = self.reader.binary(sign);
            self.reader.cursor.take("=");
            let value = Expression::Pair(
                Box::new(left_operand),
                operator,
                Box::new(self.reader.expression()?),
            );
            return Ok(Some(Statement::Assign { line, name: name.to_owned(), value }));
        }
        if !is_plain {
            return Ok(None);
        }
        self.reader.cursor.take("=");
        let value = self.reader.expression()?;
        self.reader.define(name);
        Ok(Some(Statement::Assign { line, name: name.to_owned(), value }))
    }

    fn message(&mut self) -> Result<AssertionMessage, Mistake> {
        self.reader.skip()?;
        let start = self.reader.cursor.at();
        let Some(quote) = self.reader.cursor.peek().filter(|c| *c == '"' || *c == '\'') else {
            return self.reader.expression().map(AssertionMessage::Value);
        };
        self.reader.cursor.bump();
        let text = self.reader.cursor.take_while(|c| c != quote && c != '\n').to_owned();
        if self.reader.cursor.peek() != Some(quote) {
            let mistake = Mistake::new(start..self.reader.cursor.at(), "this text does not end");
            return Err(mistake.fix(format!("add `{quote}`")));
        }
        self.reader.cursor.bump();
        let span = start..self.reader.cursor.at();
        self.reader.skip()?;
        if !self.reader.cursor.take("%") {
            return Ok(AssertionMessage::Text(text));
        }
        let values = self.format_values()?;
        let placeholders = text.matches("%d").count();
        if text.matches('%').count() != placeholders {
            let mistake = Mistake::new(span, "in this text, a `%` is not part of `%d`");
            return Err(mistake.fix("write `%d` for each value, and no other `%`"));
        }
        if placeholders != values.len() {
            let message = format!(
                "this text has {placeholders} `%d`, but the number of values is {}",
                values.len()
            );
            return Err(Mistake::new(span, message).fix("write one `%d` for each value"));
        }
        Ok(AssertionMessage::Formatted { text, values })
    }

    /// Reads the values after the `%` that follows a text: one value, or several in parentheses.
    fn format_values(&mut self) -> Result<Vec<Expression>, Mistake> {
        self.reader.skip()?;
        if !self.reader.cursor.starts_with("(") {
            return Ok(vec![self.reader.operand()?]);
        }
        self.reader.open("")?;
        let mut values = vec![self.reader.expression()?];
        while self.reader.take_comma()? {
            values.push(self.reader.expression()?);
        }
        self.reader.close()?;
        Ok(values)
    }
}

const STATEMENTS: &str = "write `assert`, `print(…)`, or `name = value`";
