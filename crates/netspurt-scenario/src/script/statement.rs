//! The statements of a script's code blocks, `%{ … }%`: assertions, `print`, and variables. A
//! script is a test in packetdrill's notation.

use core::fmt;

use super::assertion::{Assertion, AssertionMessage, Expression};

/// A statement of a code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `assert`: the assertion must hold.
    Assert(Assertion),
    /// `print(…)`: the transcript notes the values.
    Print {
        /// The line of the statement in the script, from 1.
        line: usize,
        /// The values that the transcript notes.
        values: Vec<AssertionMessage>,
    },
    /// `name = value`. `name += value` is read as `name = name + value`.
    Assign {
        /// The line of the statement in the script, from 1.
        line: usize,
        /// The variable. It keeps its value until a later statement changes it.
        name: String,
        /// The variable's new value.
        value: Expression,
    },
}

impl Statement {
    /// The line of the statement in the script, from 1.
    pub fn line(&self) -> usize {
        match self {
            Statement::Assert(assertion) => assertion.line,
            Statement::Print { line, .. } | Statement::Assign { line, .. } => *line,
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Assert(assertion) => write!(f, "{assertion}"),
            Statement::Print { values, .. } => {
                let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "print({})", texts.join(", "))
            }
            Statement::Assign { name, value, .. } => write!(f, "{name} = {value}"),
        }
    }
}
