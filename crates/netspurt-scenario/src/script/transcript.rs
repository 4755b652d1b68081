//! The transcript of a script's run, and the failure of the run. A script is a test in
//! packetdrill's notation.

use core::fmt;

use netspurt::units::Time;

use super::compare::Difference;

/// An entry in the transcript of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptEntry {
    /// The instant at which the entry was made.
    pub at: Time,
    /// What happened. This is a packet or an ICMP message after `<` or `>`, a call that returns or
    /// blocks, an assertion, the values of a `print`, or a change of the host.
    pub text: String,
}

impl fmt::Display for TranscriptEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12} {}", InSeconds(self.at).to_string(), self.text)
    }
}

/// Displays an instant in seconds with six decimals, or with nine decimals if six are not enough.
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

/// How a connection differed from its script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The connection sent a packet that differs from the expected packet.
    Packet(Vec<Difference>),
    /// The connection sent the packet too early or too late, or a call returned too early or too
    /// late.
    Timing,
    /// The connection did not send the expected packet in time.
    Missing,
    /// The connection sent a packet that the script does not list.
    Unexpected,
    /// A call returned a different result.
    Returned,
    /// A call blocked although the script says that it returns, or a call returned although the
    /// script says that it blocks.
    Blocking,
    /// The implementation does not support a call, an ICMP message or a change, or does not support
    /// it in this state.
    NotSupported,
    /// An assertion is false or cannot be evaluated.
    Assertion,
    /// A packet of the remote end echoes a timestamp, but the script has no earlier packet of the
    /// connection with a timestamp.
    Echo,
    /// The run has already passed the instant in the script.
    Behind,
    /// The implementation makes no progress: it does not handle an event that is due, or it sends
    /// packets without end at one instant.
    Stuck,
}

impl FailureKind {
    /// What went wrong, in one line.
    pub fn headline(&self) -> &'static str {
        match self {
            FailureKind::Packet(_) => "the packet differs from the expected one",
            FailureKind::Timing => "this happened at the wrong time",
            FailureKind::Missing => "the expected packet was not sent",
            FailureKind::Unexpected => "the connection sent an unexpected packet",
            FailureKind::Returned => "the call returned a different result",
            FailureKind::Blocking => {
                "the connection and the script differ in whether a call blocks"
            }
            FailureKind::NotSupported => "the connection under test does not support this",
            FailureKind::Assertion => "the assertion does not hold",
            FailureKind::Echo => {
                "the packet echoes a timestamp, but no earlier line has a timestamp to echo"
            }
            FailureKind::Behind => "this instant is already over",
            FailureKind::Stuck => "the implementation makes no progress",
        }
    }
}

/// How a connection failed its script.
///
/// The text of a failure shows the line, what the script expected, what happened instead, and the
/// transcript until the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFailure {
    /// The name of the script.
    pub script: String,
    /// The title of the script.
    pub title: String,
    /// The line at which the script failed, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// The kind of the failure.
    pub kind: FailureKind,
    /// What the script expects.
    pub expected: String,
    /// What happened instead.
    pub actual: String,
    /// What happened until the failure, in order.
    pub transcript: Vec<TranscriptEntry>,
}

impl fmt::Display for ScriptFailure {
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
        write!(f, "transcript:")?;
        self.transcript.iter().try_for_each(|entry| write!(f, "\n{entry}"))
    }
}

impl std::error::Error for ScriptFailure {}
