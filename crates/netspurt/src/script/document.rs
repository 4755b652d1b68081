//! A script as data.

use crate::units::Duration;

use super::assertion::Assertion;
use super::call::{Call, Expected};
use super::error::ScriptError;
use super::moment::Moment;
use super::packet::Packet;
use super::parse;

/// A switch and its value, which is TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The switch, as in `rto.min`.
    pub path: String,
    /// The value, as in `"1 s"` with its quotes.
    pub value: String,
    /// The line that sets it.
    pub line: usize,
}

/// The lines before the first event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What the script shows, in a line.
    pub title: String,
    /// The clauses it obeys, as in `RFC 6298 §5.5`.
    pub clauses: Vec<String>,
    /// The named set of switches to start from.
    pub profile: Option<String>,
    /// What differs from it.
    pub set: Vec<Setting>,
    /// Changes with each of which, alone, the script must fail.
    pub fails_with: Vec<Setting>,
    /// How far an instant may be off.
    pub tolerance: Duration,
    /// The segment size of the connection under test.
    pub mss: Option<u16>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            title: String::new(),
            clauses: Vec::new(),
            profile: None,
            set: Vec::new(),
            fails_with: Vec::new(),
            tolerance: Duration::from_millis(4),
            mss: None,
        }
    }
}

/// What happens, or must happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `<`: a packet comes from the remote end.
    Inbound(Packet),
    /// `>`: the connection must send this.
    Outbound(Packet),
    /// The application calls.
    Call {
        /// What.
        call: Call,
        /// And what must come back.
        expected: Expected,
    },
    /// `%{ }%`: these must hold.
    Check(Vec<Assertion>),
}

/// One event of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub moment: Moment,
    /// What.
    pub action: Action,
    /// Its first line.
    pub line: usize,
}

/// A script: a story that a connection must tell word for word.
///
/// ```
/// use netspurt::script::Script;
/// let text = "--title=a SYN\n0 < S 0:0(0) win 65535 <mss 1460>\n+0 > S. 0:0(0) ack 1 <...>";
/// let script = Script::parse("syn.pkt", text)?;
/// assert_eq!((script.options.title.as_str(), script.events.len()), ("a SYN", 2));
/// # Ok::<(), netspurt::script::ScriptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its name, usually its file's path.
    pub name: String,
    /// What it says before the first event.
    pub options: Options,
    /// What happens, in order.
    pub events: Vec<Event>,
    /// The lines of its text, for reports.
    pub lines: Vec<String>,
}

impl Script {
    /// Reads a script from its text.
    ///
    /// # Errors
    /// The first mistake, with its place and what to write instead.
    pub fn parse(name: &str, text: &str) -> Result<Script, ScriptError> {
        let parsed = parse::script(text).map_err(|slip| ScriptError::new(name, text, slip))?;
        let lines = text.lines().map(|line| line.trim_end().to_owned()).collect();
        Ok(Script { name: name.to_owned(), options: parsed.0, events: parsed.1, lines })
    }
}
