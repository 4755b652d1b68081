//! The socket calls of a script, and their results. A script is a test in packetdrill's notation.

use core::fmt;

use super::message_flags::MessageFlags;
use super::names::name_in;
use super::notice::SocketNotice;
use super::readiness::Readiness;

/// The number of a socket, an epoll or a file. In packetdrill's dialect, a new socket, epoll or
/// file gets the number that the script expects as the call's result. In our own, strict dialect,
/// or if the expected number is missing or not free, it gets the lowest free number from 3 on.
pub type Fd = i32;

/// A socket call.
///
/// ```
/// use netspurt_scenario::script::{ScriptAction, Call, Script};
/// let script = Script::parse("a.pkt", "0 write(4, ..., 1000) = 1000")?;
/// let ScriptAction::Call { call, .. } = &script.events[0].action else { panic!() };
/// assert!(matches!(call, Call::Write { fd: 4, bytes: 1000, .. }));
/// assert_eq!(call.to_string(), "write(4, ..., 1000)");
/// # Ok::<(), netspurt_scenario::script::ScriptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `socket(..., SOCK_STREAM, IPPROTO_TCP)`.
    Socket {
        /// Whether the type of the socket has the flag `SOCK_NONBLOCK`.
        nonblocking: bool,
        /// The number that the script gives the socket.
        number: Option<Fd>,
    },
    /// `bind(3, ..., ...)`.
    Bind {
        /// The socket.
        fd: Fd,
    },
    /// `listen(3, 1)`.
    Listen {
        /// The socket.
        fd: Fd,
        /// How many connections may wait for `accept`.
        backlog: u32,
    },
    /// `accept(3, ..., ...)`.
    Accept {
        /// The listening socket.
        fd: Fd,
        /// The number that the script gives the new socket.
        number: Option<Fd>,
    },
    /// `connect(3, ..., ...)`.
    Connect {
        /// The socket.
        fd: Fd,
    },
    /// `write(4, ..., 1000)`, `send(4, ..., 1000, FLAGS)` or
    /// `sendto(4, ..., 1000, FLAGS, ..., ...)`.
    Write {
        /// The socket.
        fd: Fd,
        /// The number of bytes.
        bytes: u32,
        /// The flags of `send`.
        flags: MessageFlags,
    },
    /// `sendmsg`.
    WriteMessage {
        /// The socket.
        fd: Fd,
        /// The number of bytes of each buffer.
        pieces: Vec<u32>,
        /// The flags of `sendmsg`.
        flags: MessageFlags,
    },
    /// `read(4, ..., 1000)`, `recv(4, ..., 1000, FLAGS)` or
    /// `recvfrom(4, ..., 1000, FLAGS, ..., ...)`.
    Read {
        /// The socket.
        fd: Fd,
        /// The maximum number of bytes.
        bytes: u32,
        /// The flags of `recv`.
        flags: MessageFlags,
    },
    /// `recvmsg`.
    ReadMessage {
        /// The socket.
        fd: Fd,
        /// The maximum number of bytes.
        bytes: u32,
        /// The flags of `recvmsg`.
        flags: MessageFlags,
    },
    /// A call with the buffer `NULL`.
    BadBuffer {
        /// The socket.
        fd: Fd,
        /// The name of the call.
        name: &'static str,
    },
    /// `poll([{fd=4, events=POLLIN, revents=0}], 1, 0)`.
    Poll {
        /// The sockets, each with the events that the call asks for.
        entries: Vec<(Fd, Readiness)>,
        /// How long the call may wait.
        wait: Wait,
    },
    /// `epoll_create(1)`.
    EpollCreate {
        /// The number that the script gives the epoll.
        number: Option<Fd>,
    },
    /// `epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4})`.
    EpollControl {
        /// The epoll.
        fd: Fd,
        /// Whether the socket is added, modified or removed.
        operation: EpollOperation,
        /// The socket.
        socket: Fd,
        /// The events to watch.
        events: Readiness,
    },
    /// `epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0)`.
    EpollWait {
        /// The epoll.
        fd: Fd,
        /// The maximum number of sockets that the call reports.
        most: u32,
        /// How long the call may wait.
        wait: Wait,
    },
    /// `close(4)`.
    Close {
        /// The socket.
        fd: Fd,
    },
    /// `shutdown(4, SHUT_WR)`.
    Shutdown {
        /// The socket.
        fd: Fd,
        /// The direction that the call closes.
        how: Shutdown,
    },
    /// `fcntl(3, F_GETFL)`: returns [`status`](crate::script::status) bits.
    GetStatus {
        /// The socket.
        fd: Fd,
    },
    /// `fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK)`.
    SetStatus {
        /// The socket.
        fd: Fd,
        /// Whether calls return without blocking.
        nonblocking: bool,
    },
    /// `setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4)`.
    SetOption {
        /// The socket.
        fd: Fd,
        /// The option.
        option: SocketOption,
        /// The new value of the option.
        value: OptionValue,
    },
    /// `getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4])`.
    GetOption {
        /// The socket.
        fd: Fd,
        /// The option.
        option: SocketOption,
    },
    /// `open("/tmp/zeros", O_RDONLY)`: a file that the script has made.
    Open {
        /// The path of the file.
        path: String,
        /// The number that the script gives the file.
        number: Option<Fd>,
    },
    /// `sendfile(4, 5, [0], 1000)`.
    SendFile {
        /// The socket.
        fd: Fd,
        /// The file.
        file: Fd,
        /// The offset in the file. `None`, written `NULL`, stands for the offset at which the last
        /// call with `NULL` ended.
        offset: Option<u64>,
        /// The number of bytes.
        bytes: u32,
    },
    /// `ioctl(4, SIOCINQ, [1000])`.
    Ioctl {
        /// The socket.
        fd: Fd,
        /// The request.
        request: IoctlRequest,
    },
}

/// The bits that `fcntl(F_GETFL)` returns.
pub mod status {
    /// The socket reads and writes.
    pub const O_RDWR: i64 = 0o2;
    /// Calls return without blocking.
    pub const O_NONBLOCK: i64 = 0o4000;
}

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The call waits without a limit.
    Forever,
    /// The call waits at most this number of milliseconds. With 0, it does not wait.
    Millis(u32),
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Forever => write!(f, "-1"),
            Wait::Millis(millis) => write!(f, "{millis}"),
        }
    }
}

/// What `epoll_ctl` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpollOperation {
    /// `EPOLL_CTL_ADD`.
    Add,
    /// `EPOLL_CTL_MOD`.
    Modify,
    /// `EPOLL_CTL_DEL`.
    Remove,
}

impl EpollOperation {
    pub(super) const ALL: [(&'static str, EpollOperation); 3] = [
        ("EPOLL_CTL_ADD", EpollOperation::Add),
        ("EPOLL_CTL_MOD", EpollOperation::Modify),
        ("EPOLL_CTL_DEL", EpollOperation::Remove),
    ];
}

/// Which direction `shutdown` closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// `SHUT_RD`.
    Read,
    /// `SHUT_WR`.
    Write,
    /// `SHUT_RDWR`.
    Both,
}

impl Shutdown {
    pub(super) const ALL: [(&'static str, Shutdown); 3] =
        [("SHUT_RD", Shutdown::Read), ("SHUT_WR", Shutdown::Write), ("SHUT_RDWR", Shutdown::Both)];
}

/// The request of an `ioctl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoctlRequest {
    /// `SIOCINQ`: bytes received but not read.
    Unread,
    /// `SIOCOUTQ`: bytes written but not acknowledged.
    Unacknowledged,
    /// `SIOCOUTQNSD`: bytes written but not sent.
    Unsent,
}

impl IoctlRequest {
    pub(super) const ALL: [(&'static str, IoctlRequest); 3] = [
        ("SIOCINQ", IoctlRequest::Unread),
        ("SIOCOUTQ", IoctlRequest::Unacknowledged),
        ("SIOCOUTQNSD", IoctlRequest::Unsent),
    ];
}

/// A socket option of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table below has Linux's names, which manuals explain")]
pub enum SocketOption {
    ReuseAddress,
    ReusePort,
    KeepAlive,
    SendBuffer,
    ReceiveBuffer,
    Mark,
    ZeroCopy,
    Timestamping,
    Linger,
    Error,
    NoDelay,
    MaxSegment,
    Cork,
    KeepIdle,
    KeepInterval,
    KeepCount,
    SynCount,
    QuickAck,
    Congestion,
    UserTimeout,
    NotSentLowWater,
    WindowClamp,
    MaxPacingRate,
    DelayedAckMax,
    RtoMin,
    RtoMax,
    UnreadTold,
    DeferAccept,
    OrphanTime,
    TypeOfService,
    PathMtuDiscovery,
}

impl SocketOption {
    /// Each option with its name. The names of the options of the level `SOL_SOCKET` start with
    /// `SO_`, and the names of the options of the level `SOL_IP` start with `IP_`.
    pub(super) const ALL: [(&'static str, SocketOption); 31] = [
        ("SO_REUSEADDR", SocketOption::ReuseAddress),
        ("SO_REUSEPORT", SocketOption::ReusePort),
        ("SO_KEEPALIVE", SocketOption::KeepAlive),
        ("SO_SNDBUF", SocketOption::SendBuffer),
        ("SO_RCVBUF", SocketOption::ReceiveBuffer),
        ("SO_MARK", SocketOption::Mark),
        ("SO_ZEROCOPY", SocketOption::ZeroCopy),
        ("SO_TIMESTAMPING", SocketOption::Timestamping),
        ("SO_LINGER", SocketOption::Linger),
        ("SO_ERROR", SocketOption::Error),
        ("SO_MAX_PACING_RATE", SocketOption::MaxPacingRate),
        ("TCP_NODELAY", SocketOption::NoDelay),
        ("TCP_MAXSEG", SocketOption::MaxSegment),
        ("TCP_CORK", SocketOption::Cork),
        ("TCP_KEEPIDLE", SocketOption::KeepIdle),
        ("TCP_KEEPINTVL", SocketOption::KeepInterval),
        ("TCP_KEEPCNT", SocketOption::KeepCount),
        ("TCP_SYNCNT", SocketOption::SynCount),
        ("TCP_QUICKACK", SocketOption::QuickAck),
        ("TCP_CONGESTION", SocketOption::Congestion),
        ("TCP_USER_TIMEOUT", SocketOption::UserTimeout),
        ("TCP_NOTSENT_LOWAT", SocketOption::NotSentLowWater),
        ("TCP_WINDOW_CLAMP", SocketOption::WindowClamp),
        ("TCP_DELACK_MAX_US", SocketOption::DelayedAckMax),
        ("TCP_RTO_MIN_US", SocketOption::RtoMin),
        ("TCP_RTO_MAX_MS", SocketOption::RtoMax),
        ("TCP_INQ", SocketOption::UnreadTold),
        ("TCP_DEFER_ACCEPT", SocketOption::DeferAccept),
        ("TCP_LINGER2", SocketOption::OrphanTime),
        ("IP_TOS", SocketOption::TypeOfService),
        ("IP_MTU_DISCOVER", SocketOption::PathMtuDiscovery),
    ];

    /// Returns Linux's name for the option, as in `TCP_NODELAY`.
    pub fn name(self) -> &'static str {
        name_in(&Self::ALL, self)
    }

    /// Returns the level of the option, such as `SOL_SOCKET`.
    pub fn level(self) -> &'static str {
        match self.name().split('_').next() {
            Some("SO") => "SOL_SOCKET",
            Some("IP") => "SOL_IP",
            _ => "SOL_TCP",
        }
    }
}

/// A value that a call reads or writes, for example the value of a socket option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// `[1]`.
    Number(i64),
    /// `"cubic"`.
    Text(String),
    /// `{onoff=1, linger=5}`.
    Linger {
        /// Whether `close` waits.
        on: bool,
        /// The number of seconds that `close` waits.
        seconds: u32,
    },
    /// The sockets that `poll` or `epoll_wait` reports.
    Ready(Vec<(Fd, Readiness)>),
    /// The number of unread bytes that `recvmsg` reports: `TCP_CM_INQ`.
    Unread(i64),
    /// The notice that `recvmsg` reads from the error queue.
    Notice(SocketNotice),
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOutcome {
    /// The value that the call returns in C, such as a number of bytes. A failure returns -1.
    pub value: i64,
    /// The name of the error, as in `EAGAIN`.
    pub errno: Option<&'static str>,
    /// The value that the call wrote into one of its arguments, as `getsockopt`, `poll` and
    /// `recvmsg` do.
    pub out: Option<OptionValue>,
}

impl CallOutcome {
    /// Makes the outcome of a call that succeeds with `value`.
    pub const fn returned(value: i64) -> Self {
        Self { value, errno: None, out: None }
    }

    /// Makes the outcome of a call that fails, as in `CallOutcome::failed("EAGAIN")`.
    pub const fn failed(errno: &'static str) -> Self {
        Self { value: -1, errno: Some(errno), out: None }
    }
}

/// The result that a script expects of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The returned value; `None` if the script has `?` in its place.
    pub value: Option<i64>,
    /// The name of the error.
    pub errno: Option<&'static str>,
    /// Whether any error is accepted, because the script names no error.
    pub any_errno: bool,
    /// The value that the call must write; `None` if the script does not give this value.
    pub out: Option<OptionValue>,
}

impl Expected {
    /// Whether a call may end with this outcome. A time in the outcome may differ by at most
    /// `tolerance_ns`.
    pub(super) fn admits(&self, outcome: &CallOutcome, tolerance_ns: u64) -> bool {
        let value = self.value.is_none_or(|value| value == outcome.value);
        let errno = self.value.is_none() || self.any_errno || self.errno == outcome.errno;
        // A call that fails writes nothing.
        let out = match (&self.out, &outcome.out) {
            _ if outcome.errno.is_some() => true,
            (None, _) => true,
            (Some(OptionValue::Notice(wanted)), Some(OptionValue::Notice(notice))) => {
                wanted.admits(notice, tolerance_ns)
            }
            (wanted, found) => wanted == found,
        };
        value && errno && out
    }
}

/// The errors that a call may return.
pub(super) const ERRNOS: [&str; 26] = [
    "EAGAIN",
    "EALREADY",
    "EADDRINUSE",
    "EBADF",
    "ECONNABORTED",
    "ECONNREFUSED",
    "ECONNRESET",
    "EDESTADDRREQ",
    "EEXIST",
    "EFAULT",
    "EHOSTDOWN",
    "EHOSTUNREACH",
    "EINPROGRESS",
    "EINTR",
    "EINVAL",
    "EISCONN",
    "EMSGSIZE",
    "ENETUNREACH",
    "ENOBUFS",
    "ENOENT",
    "ENOPROTOOPT",
    "ENOTCONN",
    "EOPNOTSUPP",
    "EPIPE",
    "EPROTONOSUPPORT",
    "ETIMEDOUT",
];

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Number(number) => write!(f, "[{number}]"),
            OptionValue::Text(text) => write!(f, "\"{text}\""),
            OptionValue::Linger { on, seconds } => {
                write!(f, "{{onoff={}, linger={seconds}}}", u8::from(*on))
            }
            OptionValue::Ready(sockets) => {
                let shown = sockets.iter().map(|(fd, bits)| format!("{{events={bits}, fd={fd}}}"));
                write!(f, "[{}]", shown.collect::<Vec<_>>().join(", "))
            }
            OptionValue::Unread(bytes) => write!(f, "{{TCP_CM_INQ={bytes}}}"),
            OptionValue::Notice(notice) => write!(f, "{notice}"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Socket { nonblocking, .. } => {
                let extra = if *nonblocking { "|SOCK_NONBLOCK" } else { "" };
                write!(f, "socket(..., SOCK_STREAM{extra}, IPPROTO_TCP)")
            }
            Call::Bind { fd } => write!(f, "bind({fd}, ..., ...)"),
            Call::Listen { fd, backlog } => write!(f, "listen({fd}, {backlog})"),
            Call::Accept { fd, .. } => write!(f, "accept({fd}, ..., ...)"),
            Call::Connect { fd } => write!(f, "connect({fd}, ..., ...)"),
            Call::Write { fd, bytes, flags } if *flags == MessageFlags::default() => {
                write!(f, "write({fd}, ..., {bytes})")
            }
            Call::Write { fd, bytes, flags } => write!(f, "send({fd}, ..., {bytes}, {flags})"),
            Call::WriteMessage { fd, pieces, flags } => {
                let texts: Vec<String> =
                    pieces.iter().map(|bytes| format!("{{..., {bytes}}}")).collect();
                let (count, texts) = (pieces.len(), texts.join(", "));
                write!(f, "sendmsg({fd}, {{msg_iov({count})=[{texts}]}}, {flags})")
            }
            Call::Read { fd, bytes, flags } if *flags == MessageFlags::default() => {
                write!(f, "read({fd}, ..., {bytes})")
            }
            Call::Read { fd, bytes, flags } => write!(f, "recv({fd}, ..., {bytes}, {flags})"),
            Call::ReadMessage { fd, bytes, flags } => {
                write!(f, "recvmsg({fd}, {{msg_iov(1)=[{{..., {bytes}}}]}}, {flags})")
            }
            Call::BadBuffer { fd, name } => write!(f, "{name}({fd}, NULL, …)"),
            Call::Poll { entries, wait } => {
                let texts = entries.iter().map(|(fd, bits)| format!("{{fd={fd}, events={bits}}}"));
                let texts: Vec<String> = texts.collect();
                write!(f, "poll([{}], {}, {wait})", texts.join(", "), entries.len())
            }
            Call::EpollCreate { .. } => write!(f, "epoll_create(1)"),
            Call::EpollControl { fd, operation, socket, events } => {
                let name = name_in(&EpollOperation::ALL, *operation);
                write!(f, "epoll_ctl({fd}, {name}, {socket}, {{events={events}, fd={socket}}})")
            }
            Call::EpollWait { fd, most, wait } => {
                write!(f, "epoll_wait({fd}, ..., {most}, {wait})")
            }
            Call::Close { fd } => write!(f, "close({fd})"),
            Call::Shutdown { fd, how } => {
                write!(f, "shutdown({fd}, {})", name_in(&Shutdown::ALL, *how))
            }
            Call::GetStatus { fd } => write!(f, "fcntl({fd}, F_GETFL)"),
            Call::SetStatus { fd, nonblocking } => {
                let extra = if *nonblocking { "|O_NONBLOCK" } else { "" };
                write!(f, "fcntl({fd}, F_SETFL, O_RDWR{extra})")
            }
            Call::SetOption { fd, option, value } => {
                write!(f, "setsockopt({fd}, {}, {}, {value})", option.level(), option.name())
            }
            Call::GetOption { fd, option } => {
                write!(f, "getsockopt({fd}, {}, {})", option.level(), option.name())
            }
            Call::Open { path, .. } => write!(f, "open(\"{path}\", O_RDONLY)"),
            Call::SendFile { fd, file, offset: Some(at), bytes } => {
                write!(f, "sendfile({fd}, {file}, [{at}], {bytes})")
            }
            Call::SendFile { fd, file, offset: None, bytes } => {
                write!(f, "sendfile({fd}, {file}, NULL, {bytes})")
            }
            Call::Ioctl { fd, request } => {
                write!(f, "ioctl({fd}, {})", name_in(&IoctlRequest::ALL, *request))
            }
        }
    }
}

fn ending(
    f: &mut fmt::Formatter<'_>,
    value: Option<i64>,
    errno: Option<&str>,
    out: Option<&OptionValue>,
) -> fmt::Result {
    match value {
        Some(value) => write!(f, "{value}")?,
        None => write!(f, "?")?,
    }
    if let Some(errno) = errno {
        write!(f, " {errno}")?;
    }
    out.map_or(Ok(()), |out| write!(f, ", {out}"))
}

impl fmt::Display for CallOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ending(f, Some(self.value), self.errno, self.out.as_ref())
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ending(f, self.value, self.errno, self.out.as_ref())
    }
}
