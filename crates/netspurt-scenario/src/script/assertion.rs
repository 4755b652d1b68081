//! The expressions in a script's code blocks (`%{ }%`), and the assertions that contain such
//! expressions. An expression can use the fields of `tcp_info`, in which Linux reports the state of
//! a connection. A script is a test in packetdrill's notation.

use core::fmt;
use std::collections::BTreeMap;

use super::info::{Info, InfoField};

/// An expression over integers. A comparison is 1 if it holds and 0 if not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A number.
    Number(i64),
    /// A number with a name, as in `TCP_CA_Open`.
    Constant(&'static str, i64),
    /// A field of `tcp_info`.
    Field(InfoField),
    /// A variable that an earlier statement of the script has set.
    Variable(String),
    /// The minimum or the maximum of several expressions.
    Extreme(Extreme, Vec<Expression>),
    /// `not` before an expression.
    Not(Box<Expression>),
    /// `-` before an expression.
    Negative(Box<Expression>),
    /// Two expressions and the operator between them.
    Pair(Box<Expression>, Operator, Box<Expression>),
}

/// Which of several numbers a function chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// `min`.
    Least,
    /// `max`.
    Largest,
}

impl Extreme {
    pub(super) const ALL: [(&'static str, Extreme); 2] =
        [("min", Extreme::Least), ("max", Extreme::Largest)];
}

/// The variables that the statements of a script have set.
pub type Variables = BTreeMap<String, i64>;

/// What the names in an expression stand for.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The state of the connection.
    pub info: &'a Info,
    /// The variables of the script.
    pub variables: &'a Variables,
}

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the signs below explain them")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    /// Rounds towards zero.
    Divide,
    /// The remainder of the division that rounds towards zero.
    Remainder,
    BitAnd,
    BitOr,
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
    And,
    Or,
}

impl Operator {
    pub(super) const COMPARISONS: [(&'static str, Operator); 6] = [
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("<", Operator::Less),
        (">", Operator::More),
    ];

    fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
            Operator::BitAnd => "&",
            Operator::BitOr => "|",
            Operator::And => "and",
            Operator::Or => "or",
            other => super::names::name_in(&Self::COMPARISONS, other),
        }
    }

    /// The precedence. An operator of higher precedence binds more strongly.
    fn precedence(self) -> u8 {
        match self {
            Operator::Or => 1,
            Operator::And => 2,
            Operator::BitOr => 5,
            Operator::BitAnd => 6,
            Operator::Add | Operator::Subtract => 7,
            Operator::Multiply | Operator::Divide | Operator::Remainder => 8,
            _ => 4,
        }
    }
}

/// What an assertion adds to the report of its failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssertionMessage {
    /// A text.
    Text(String),
    /// The value of an expression.
    Value(Expression),
    /// A text in which each `%d` stands for the value of an expression, in order.
    Formatted {
        /// The text.
        text: String,
        /// The expressions.
        values: Vec<Expression>,
    },
}

impl AssertionMessage {
    /// The text that is added to the report.
    ///
    /// # Errors
    /// When an expression of the message has no value.
    pub fn text(&self, scope: Scope<'_>) -> Result<String, EvaluationError> {
        match self {
            AssertionMessage::Text(text) => Ok(text.clone()),
            AssertionMessage::Value(value) => Ok(value.value(scope)?.to_string()),
            AssertionMessage::Formatted { text, values } => {
                let mut parts = text.split("%d");
                let mut out = parts.next().unwrap_or_default().to_owned();
                for (value, part) in values.iter().zip(parts) {
                    out += &value.value(scope)?.to_string();
                    out += part;
                }
                Ok(out)
            }
        }
    }
}

impl fmt::Display for AssertionMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssertionMessage::Text(text) => write!(f, "\"{text}\""),
            AssertionMessage::Value(value) => write!(f, "{value}"),
            AssertionMessage::Formatted { text, values } => {
                write!(f, "\"{text}\" % ({})", listed(values))
            }
        }
    }
}

/// The expressions with commas between them.
fn listed(values: &[Expression]) -> String {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// An `assert` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The line of the assertion in the script, from 1.
    pub line: usize,
    /// The assertion holds if the value of this expression is not 0.
    pub expression: Expression,
    /// What the report adds if the assertion does not hold.
    pub message: Option<AssertionMessage>,
}

/// Why an expression cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// The connection does not provide this field.
    #[error("the connection does not provide {0}")]
    MissingField(&'static str),
    /// No earlier statement has set this variable.
    #[error("`{0}` is not set")]
    Unset(String),
    /// The expression divides by zero.
    #[error("the expression divides by zero")]
    DivisionByZero,
    /// A value needs more than 64 bits.
    #[error("the value does not fit in 64 bits")]
    TooLarge,
}

impl Expression {
    /// The value in this scope.
    ///
    /// # Errors
    /// When a field is missing, a variable is not set, or the arithmetic has no result.
    pub fn value(&self, scope: Scope<'_>) -> Result<i64, EvaluationError> {
        match self {
            Expression::Number(number) | Expression::Constant(_, number) => Ok(*number),
            Expression::Field(field) => {
                scope.info.get(*field).ok_or(EvaluationError::MissingField(field.name()))
            }
            Expression::Variable(name) => {
                let value = scope.variables.get(name).copied();
                value.ok_or_else(|| EvaluationError::Unset(name.clone()))
            }
            Expression::Extreme(which, values) => {
                let values = values.iter().map(|value| value.value(scope));
                let values: Vec<i64> = values.collect::<Result<_, _>>()?;
                let found = match which {
                    Extreme::Least => values.iter().min(),
                    Extreme::Largest => values.iter().max(),
                };
                Ok(*found.expect("the parser reads at least one value"))
            }
            Expression::Not(inner) => Ok(i64::from(inner.value(scope)? == 0)),
            Expression::Negative(inner) => {
                inner.value(scope)?.checked_neg().ok_or(EvaluationError::TooLarge)
            }
            Expression::Pair(left, Operator::And, right) => {
                Ok(i64::from(left.value(scope)? != 0 && right.value(scope)? != 0))
            }
            Expression::Pair(left, Operator::Or, right) => {
                Ok(i64::from(left.value(scope)? != 0 || right.value(scope)? != 0))
            }
            Expression::Pair(left, operator, right) => {
                join(left.value(scope)?, *operator, right.value(scope)?)
            }
        }
    }

    /// The fields that the expression names, each once.
    pub fn fields(&self) -> Vec<InfoField> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect(&self, found: &mut Vec<InfoField>) {
        match self {
            Expression::Field(field) if !found.contains(field) => found.push(*field),
            Expression::Not(inner) | Expression::Negative(inner) => inner.collect(found),
            Expression::Pair(left, _, right) => {
                left.collect(found);
                right.collect(found);
            }
            Expression::Extreme(_, values) => {
                values.iter().for_each(|value| value.collect(found));
            }
            _ => {}
        }
    }

    fn precedence(&self) -> u8 {
        match self {
            Expression::Pair(_, operator, _) => operator.precedence(),
            Expression::Not(_) => 3,
            Expression::Negative(_) => 9,
            _ => 10,
        }
    }

    /// Writes the expression, in parentheses if its precedence is less than `level_min`.
    fn show(&self, f: &mut fmt::Formatter<'_>, level_min: u8) -> fmt::Result {
        if self.precedence() < level_min {
            return write!(f, "({self})");
        }
        write!(f, "{self}")
    }
}

fn join(left: i64, operator: Operator, right: i64) -> Result<i64, EvaluationError> {
    let number = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide | Operator::Remainder if right == 0 => {
            return Err(EvaluationError::DivisionByZero);
        }
        Operator::Divide => left.checked_div(right),
        Operator::Remainder => left.checked_rem(right),
        Operator::BitAnd => Some(left & right),
        Operator::BitOr => Some(left | right),
        Operator::Equal => Some((left == right).into()),
        Operator::NotEqual => Some((left != right).into()),
        Operator::Less => Some((left < right).into()),
        Operator::AtMost => Some((left <= right).into()),
        Operator::More => Some((left > right).into()),
        Operator::AtLeast => Some((left >= right).into()),
        Operator::And => Some((left != 0 && right != 0).into()),
        Operator::Or => Some((left != 0 || right != 0).into()),
    };
    number.ok_or(EvaluationError::TooLarge)
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Number(number) => write!(f, "{number}"),
            Expression::Constant(name, _) => write!(f, "{name}"),
            Expression::Field(field) => write!(f, "{}", field.name()),
            Expression::Variable(name) => write!(f, "{name}"),
            Expression::Extreme(which, values) => {
                write!(f, "{}({})", super::names::name_in(&Extreme::ALL, *which), listed(values))
            }
            Expression::Not(inner) => {
                write!(f, "not ")?;
                inner.show(f, 3)
            }
            Expression::Negative(inner) => {
                write!(f, "-")?;
                inner.show(f, 10)
            }
            Expression::Pair(left, operator, right) => {
                let precedence = operator.precedence();
                // `(a < b) < c` needs its parentheses, because `a < b < c` means `a < b and b < c`.
                // All other operators associate to the left.
                left.show(f, precedence + u8::from(precedence == 4))?;
                write!(f, " {} ", operator.sign())?;
                right.show(f, precedence + 1)
            }
        }
    }
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assert {}", self.expression)?;
        match &self.message {
            None => Ok(()),
            Some(message) => write!(f, ", {message}"),
        }
    }
}
