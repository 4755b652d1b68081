//! What happened in a run, and what went wrong.

use core::fmt;

use crate::units::Time;

use super::compare::Difference;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub at: Time,
    /// What: a packet behind `<` or `>`, a call and what it returned, or an assertion.
    pub text: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12} {}", InSeconds(self.at).to_string(), self.text)
    }
}

/// An instant in seconds: microseconds, or nanoseconds where those count.
pub(super) struct InSeconds(pub(super) Time);

impl fmt::Display for InSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) =
            (self.0.as_nanos() / 1_000_000_000, self.0.as_nanos() % 1_000_000_000);
        if nanos % 1000 == 0 {
            write!(f, "{seconds}.{:06}", nanos / 1000)
        } else {
            write!(f, "{seconds}.{nanos:09}")
        }
    }
}

/// In what way a connection did not follow its script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// It sent another packet than the one expected.
    Packet(Vec<Difference>),
    /// It sent the packet, or a call returned, too early or too late.
    Timing,
    /// It sent nothing in time.
    Missing,
    /// It sent a packet that the script does not have.
    Unexpected,
    /// A call returned something else.
    Returned,
    /// A call blocked, or returned at once, against the script.
    Blocking,
    /// The implementation has no such call, or not in this state.
    NotSupported,
    /// An assertion does not hold, or has no value.
    Assertion,
    /// The script echoes a time stamp before it can know one.
    Echo,
    /// The script's instant had passed when its turn came.
    Behind,
    /// The implementation does not get on: what is due stays due.
    Stuck,
}

impl FailureKind {
    /// What went wrong, in a line.
    pub fn headline(&self) -> &'static str {
        match self {
            FailureKind::Packet(_) => "another packet than expected",
            FailureKind::Timing => "not at the time expected",
            FailureKind::Missing => "no packet where one was expected",
            FailureKind::Unexpected => "a packet that nobody expected",
            FailureKind::Returned => "the call returned something else",
            FailureKind::Blocking => "a call's start and end are not as expected",
            FailureKind::NotSupported => "the connection under test does not support this",
            FailureKind::Assertion => "the assertion does not hold",
            FailureKind::Echo => "this echoes a time stamp that is not known yet",
            FailureKind::Behind => "this instant has passed already",
            FailureKind::Stuck => "the implementation does not get on",
        }
    }
}

/// How a connection failed its script.
///
/// Shown as text it has the line, what was expected and what happened instead, and the story so
/// far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The script's name.
    pub script: String,
    /// What it shows.
    pub title: String,
    /// The line it failed at, from 1.
    pub line: usize,
    /// That line.
    pub text: String,
    /// In what way.
    pub kind: FailureKind,
    /// What the script says.
    pub expected: String,
    /// What happened.
    pub actual: String,
    /// What happened until then, in order.
    pub story: Vec<Entry>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gutter = " ".repeat(self.line.to_string().len());
        writeln!(f, "{}", self.kind.headline())?;
        if !self.title.is_empty() {
            writeln!(f, " {gutter} the script shows: {}", self.title)?;
        }
        writeln!(f, " {gutter} --> {}:{}", self.script, self.line)?;
        writeln!(f, " {} | {}", self.line, self.text)?;
        writeln!(f, " {gutter} | expected  {}", self.expected)?;
        writeln!(f, " {gutter} | actual    {}", self.actual)?;
        if let FailureKind::Packet(differences) = &self.kind {
            for difference in differences {
                writeln!(f, " {gutter} | {difference}")?;
            }
        }
        write!(f, "the story so far:")?;
        self.story.iter().try_for_each(|entry| write!(f, "\n{entry}"))
    }
}

impl std::error::Error for Failure {}
