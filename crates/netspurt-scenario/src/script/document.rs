//! The data of a script. A script is a test in packetdrill's notation.

use super::call::{Call, Expected};
use super::change::{Change, HostChange, SwitchSetting};
use super::dialect::{ScriptDialect, Tolerance};
use super::event_time::EventTime;
use super::packet::ScriptPacket;
use super::statement::Statement;
use super::unreachable::Unreachable;

/// The option lines of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOptions {
    /// The behaviour that the script shows, in one line.
    pub title: String,
    /// The clauses that require the behaviour, as in `RFC 6298 §5.5`.
    pub clauses: Vec<String>,
    /// The profile: the named set of switches from which the script starts.
    pub profile: Option<String>,
    /// The switches whose values differ from the profile's values.
    pub set: Vec<SwitchSetting>,
    /// Settings of switches. The script is played with one of them at a time, and must fail each
    /// time.
    pub fails_with: Vec<SwitchSetting>,
    /// The dialect whose rules the script follows.
    pub dialect: ScriptDialect,
    /// How much an instant may differ from the script.
    pub tolerance: Tolerance,
    /// The segment size (MSS) of the connection under test, in octets.
    pub mss: Option<u16>,
    /// The octets of payload of each segment that was merged into an arriving packet (GRO):
    /// packetdrill's `--mss`.
    pub merged_mss: Option<u16>,
    /// Whether the connection's timestamps (RFC 7323) must have the values in the script.
    pub compares_stamps: bool,
    /// Whether each line stands for one segment: packetdrill's `--strict_segments`.
    pub strict_segments: bool,
}

impl ScriptOptions {
    /// The options of a script without option lines.
    pub fn of(dialect: ScriptDialect) -> Self {
        Self {
            title: String::new(),
            clauses: Vec::new(),
            profile: None,
            set: Vec::new(),
            fails_with: Vec::new(),
            dialect,
            tolerance: Tolerance::of(dialect),
            mss: None,
            merged_mss: None,
            compares_stamps: dialect == ScriptDialect::Strict,
            strict_segments: dialect == ScriptDialect::Strict,
        }
    }
}

/// The action of an event: something that happens, or something that the connection must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptAction {
    /// `<`: a packet arrives from the remote end.
    Inbound(ScriptPacket),
    /// `< icmp`: a router or the remote end reports that a packet did not arrive.
    Unreachable(Unreachable),
    /// `>`: the connection must send this packet.
    Outbound(ScriptPacket),
    /// The application makes a socket call.
    Call {
        /// The call.
        call: Call,
        /// What the call must return.
        expected: Expected,
    },
    /// `%{ }%`: assertions that must hold, and other statements.
    Check(Vec<Statement>),
    /// The changes that a shell command between events makes.
    Change(Vec<HostChange>),
}

/// One event of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptEvent {
    /// When the event happens.
    pub time: EventTime,
    /// What happens.
    pub action: ScriptAction,
    /// The first line of the event in the script, from 1.
    pub line: usize,
}

/// A script: what happens to a connection, and what the connection must do.
///
/// ```
/// use netspurt_scenario::script::Script;
/// let text = "--title=a SYN\n0 < S 0:0(0) win 65535 <mss 1460>\n+0 > S. 0:0(0) ack 1 <...>";
/// let script = Script::parse("syn.pkt", text)?;
/// assert_eq!((script.options.title.as_str(), script.events.len()), ("a SYN", 2));
/// # Ok::<(), netspurt_scenario::script::ScriptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The name of the script, usually the path of its file.
    pub name: String,
    /// The option lines of the script.
    pub options: ScriptOptions,
    /// The changes that shell commands before the first event make.
    pub setup: Vec<Change>,
    /// The events, in order.
    pub events: Vec<ScriptEvent>,
    /// The lines of the script's text, for error messages.
    pub lines: Vec<String>,
}
