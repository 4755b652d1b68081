//! Our own connection as a script's subject: a host with sockets and no network.

use std::collections::BTreeMap;

use crate::event::{Events, Wanted};
use crate::segment::Segment;
use crate::stage::Stage;
use crate::tcp::{Connection, Failure, RfcConfig, State};
use crate::units::Time;

use super::call::{Call, Fd, Outcome};
use super::info::Info;
use super::subject::{CallResult, Subject};
use super::tell::linux_info;

/// The first octets of ours wrap soon, so that every script that sends some tests that.
const ISS: u32 = 0xffff_f800;

/// A host with one connection, in virtual time.
///
/// ```
/// use netspurt::script::{Host, Script, run};
/// let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
/// +0 connect(3, ..., ...) = -1 EINPROGRESS
/// +0 > S 0:0(0) <...>";
/// let script = Script::parse("a.pkt", &text.replace("STREAM", "STREAM|SOCK_NONBLOCK"))?;
/// let config = script.config(None, &[])?;
/// assert!(run(&script, &mut Host::new(&config)).is_ok());
/// # Ok::<(), netspurt::script::ScriptError>(())
/// ```
#[derive(Debug)]
pub struct Host {
    /// What the next `connect` or `listen` starts with.
    pub(super) config: RfcConfig,
    pub(super) sockets: BTreeMap<Fd, Socket>,
    pub(super) connection: Connection,
    pub(super) events: Events<Segment>,
    /// A call that blocks.
    waiting: Option<Call>,
    /// Whether the connection's end by failure was told to the application.
    told: bool,
}

/// What a socket is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing yet.
    Fresh,
    /// It waits for a peer; whether `accept` took it already.
    Listening { accepted: bool },
    /// It is an end of the connection.
    Connected,
}

/// A socket, with what was said before there was a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Socket {
    pub(super) role: Role,
    pub(super) nonblocking: bool,
    /// Whether it was told that the connection stands.
    pub(super) greeted: bool,
    /// `SO_LINGER` with no time: closing resets.
    pub(super) resets: bool,
    pub(super) cork: bool,
    /// `shutdown` for reading.
    pub(super) deaf: bool,
    /// `shutdown` for writing.
    pub(super) mute: bool,
}

impl Socket {
    pub(super) fn new(role: Role, nonblocking: bool) -> Self {
        let off = false;
        Self { role, nonblocking, greeted: off, resets: off, cork: off, deaf: off, mute: off }
    }
}

impl Host {
    /// A host whose connection is configured so.
    pub fn new(config: &RfcConfig) -> Self {
        let config = RfcConfig { iss: ISS, ..*config };
        Self {
            config,
            sockets: BTreeMap::new(),
            connection: Connection::new(0, &config.into()),
            events: Events::new(Wanted::default()),
            waiting: None,
            told: false,
        }
    }

    /// A connection with the options set until now.
    pub(super) fn begin(&mut self) {
        self.connection = Connection::new(0, &self.config.into());
        self.connection.read_by_hand();
        self.told = false;
    }

    /// Whether a connection is under way, or was.
    pub(super) fn is_taken(&self) -> bool {
        self.sockets.values().any(|socket| socket.role != Role::Fresh)
            || self.connection.state() != State::Closed
    }

    /// The lowest number that is free.
    pub(super) fn free_fd(&self) -> Fd {
        (3..).find(|fd| !self.sockets.contains_key(fd)).expect("there are enough numbers")
    }

    pub(super) fn has_stood(&self) -> bool {
        !matches!(
            self.connection.state(),
            State::Closed | State::Listen | State::SynSent | State::SynReceived
        )
    }

    /// The error that ended the connection, told once.
    pub(super) fn take_error(&mut self) -> Option<&'static str> {
        let failure = self.connection.failure().filter(|_| !self.told)?;
        self.told = true;
        Some(match failure {
            Failure::Refused => "ECONNREFUSED",
            Failure::Reset => "ECONNRESET",
            Failure::TimedOut => "ETIMEDOUT",
        })
    }
}

impl Subject for Host {
    fn call(&mut self, now: Time, call: &Call) -> CallResult {
        let result = self.make(now, call);
        if result == CallResult::Blocks {
            self.waiting = Some(call.clone());
        }
        result
    }

    fn returned(&mut self, now: Time) -> Option<Outcome> {
        let call = self.waiting.clone()?;
        let CallResult::Returned(outcome) = self.make(now, &call) else { return None };
        self.waiting = None;
        Some(outcome)
    }

    fn inject(&mut self, now: Time, segment: &Segment) {
        self.connection.push(now, 0, *segment, &mut self.events);
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.connection.next_wakeup()
    }

    fn poll(&mut self, now: Time) -> Option<(Time, Segment)> {
        let (at, _, segment) = self.connection.pop(now, &mut self.events)?;
        Some((at, segment))
    }

    fn info(&self, _: Time) -> Info {
        self.connection.info().map(|told| linux_info(&told)).unwrap_or_default()
    }
}
