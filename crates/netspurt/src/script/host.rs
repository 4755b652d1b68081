//! Our own connection as the subject of a script: a host with sockets but no network.

use std::collections::BTreeMap;

use crate::event::{Events, Wanted};
use crate::ids::EndId;
use crate::segment::Segment;
use crate::stage::Stage;
use crate::tcp::{Connection, Failure, RfcConfig, TcpState};
use crate::units::Time;

use super::call::{Call, CallOutcome, Fd};
use super::info::Info;
use super::subject::{CallResult, Subject};
use super::tcp_info::linux_info;

/// Our initial sequence number. The sequence numbers soon wrap, so every script that sends data
/// tests that too.
const ISS: u32 = 0xffff_f800;

/// A host with sockets and one connection, in virtual time.
///
/// ```
/// use netspurt::script::{SocketHost, Script, run};
/// let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
/// +0 connect(3, ..., ...) = -1 EINPROGRESS
/// +0 > S 0:0(0) <...>";
/// let script = Script::parse("a.pkt", &text.replace("STREAM", "STREAM|SOCK_NONBLOCK"))?;
/// let config = script.config(None, &[])?;
/// assert!(run(&script, &mut SocketHost::new(&config)).is_ok());
/// # Ok::<(), netspurt::script::ScriptError>(())
/// ```
#[derive(Debug)]
pub struct SocketHost {
    /// The configuration of the next `connect` or `listen`.
    pub(super) config: RfcConfig,
    pub(super) sockets: BTreeMap<Fd, SocketState>,
    pub(super) connection: Connection,
    pub(super) events: Events<Segment>,
    /// The call that blocks.
    waiting: Option<Call>,
    /// Whether a call has returned the error that ended the connection.
    error_returned: bool,
}

/// The use of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is not used yet.
    Fresh,
    /// It listens; `accepted` says whether `accept` has returned its connection.
    Listening { accepted: bool },
    /// It is an end of the connection.
    Connected,
}

/// A socket and its options.
#[derive(Clone, Copy, Debug)]
pub(super) struct SocketState {
    pub(super) role: Role,
    pub(super) nonblocking: bool,
    /// Whether a call has reported that the connection is established.
    pub(super) announced: bool,
    /// `SO_LINGER` with a time of 0: `close` sends an RST.
    pub(super) resets: bool,
    pub(super) cork: bool,
    /// `shutdown` for reading.
    pub(super) read_shut: bool,
    /// `shutdown` for writing.
    pub(super) write_shut: bool,
}

impl SocketState {
    pub(super) fn new(role: Role, nonblocking: bool) -> Self {
        Self {
            role,
            nonblocking,
            announced: false,
            resets: false,
            cork: false,
            read_shut: false,
            write_shut: false,
        }
    }
}

impl SocketHost {
    /// A host whose connection has this configuration.
    pub fn new(config: &RfcConfig) -> Self {
        let config = RfcConfig { iss: ISS, ..*config };
        Self {
            config,
            sockets: BTreeMap::new(),
            connection: Connection::new(EndId::default(), &config.into()),
            events: Events::new(Wanted::default()),
            waiting: None,
            error_returned: false,
        }
    }

    /// Creates a connection with the options that are set so far.
    pub(super) fn begin(&mut self) {
        self.connection = Connection::new(EndId::default(), &self.config.into());
        self.connection.read_by_hand();
        self.error_returned = false;
    }

    /// Whether the host has or had a connection.
    pub(super) fn is_taken(&self) -> bool {
        self.sockets.values().any(|socket| socket.role != Role::Fresh)
            || self.connection.state() != TcpState::Closed
    }

    /// The lowest free number.
    pub(super) fn free_fd(&self) -> Fd {
        (3..).find(|fd| !self.sockets.contains_key(fd)).expect("some number is free")
    }

    /// Whether the handshake was completed.
    pub(super) fn was_established(&self) -> bool {
        !matches!(
            self.connection.state(),
            TcpState::Closed | TcpState::Listen | TcpState::SynSent | TcpState::SynReceived
        )
    }

    /// The error that ended the connection, which is returned once.
    pub(super) fn take_error(&mut self) -> Option<&'static str> {
        let failure = self.connection.failure().filter(|_| !self.error_returned)?;
        self.error_returned = true;
        Some(match failure {
            Failure::Refused => "ECONNREFUSED",
            Failure::Reset => "ECONNRESET",
            Failure::TimedOut => "ETIMEDOUT",
        })
    }
}

impl Subject for SocketHost {
    fn call(&mut self, now: Time, call: &Call) -> CallResult {
        let result = self.make(now, call);
        if result == CallResult::Blocks {
            self.waiting = Some(call.clone());
        }
        result
    }

    fn returned(&mut self, now: Time) -> Option<CallOutcome> {
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
        self.connection.info().map(|info| linux_info(&info)).unwrap_or_default()
    }
}
