//! The socket calls of a [`SocketHost`].

use crate::congestion::CongestionConfig;
use crate::tcp::TcpState;
use crate::units::Time;

use super::call::{
    Call, CallOutcome, Fd, IoctlRequest, MessageFlags, OptionValue, Shutdown, SocketOption, status,
};
use super::host::{Role, SocketHost, SocketState};
use super::subject::CallResult;

/// Linux's numbers of the errors that `SO_ERROR` returns.
const ERROR_NUMBERS: [(&str, i64); 3] =
    [("ECONNREFUSED", 111), ("ECONNRESET", 104), ("ETIMEDOUT", 110)];

fn returned(value: i64) -> CallResult {
    CallResult::Returned(CallOutcome::returned(value))
}

fn failed(errno: &'static str) -> CallResult {
    CallResult::Returned(CallOutcome::failed(errno))
}

fn not_supported(what: impl Into<String>) -> CallResult {
    CallResult::NotSupported(what.into())
}

impl SocketHost {
    /// Makes a call, or repeats one that blocked.
    pub(super) fn make(&mut self, now: Time, call: &Call) -> CallResult {
        if let Call::Socket { nonblocking } = *call {
            let fd = self.free_fd();
            self.sockets.insert(fd, SocketState::new(Role::Fresh, nonblocking));
            return returned(fd.into());
        }
        let fd = fd_of(call);
        let Some(socket) = self.sockets.get(&fd).copied() else { return failed("EBADF") };
        match *call {
            Call::Socket { .. } => unreachable!("handled above"),
            Call::Bind { .. } => returned(0),
            Call::Listen { .. } => self.listen(fd, socket),
            Call::Accept { .. } => self.accept(fd, socket),
            Call::Connect { .. } => self.connect(now, fd, socket),
            Call::Write { bytes, flags, .. } => self.write(now, fd, socket, bytes, flags),
            Call::Read { bytes, flags, .. } => self.read(now, socket, bytes, flags),
            Call::Close { .. } => self.close(now, fd, socket),
            Call::Shutdown { how, .. } => self.shutdown(now, fd, socket, how),
            Call::GetStatus { .. } => {
                let extra = if socket.nonblocking { status::O_NONBLOCK } else { 0 };
                returned(status::O_RDWR | extra)
            }
            Call::SetStatus { nonblocking, .. } => {
                self.keep(fd, SocketState { nonblocking, ..socket })
            }
            Call::SetOption { option, ref value, .. } => {
                self.set_option(now, fd, socket, option, value)
            }
            Call::GetOption { option, .. } => self.get_option(socket, option),
            Call::Ioctl { request, .. } => self.ioctl(request),
        }
    }

    fn keep(&mut self, fd: Fd, socket: SocketState) -> CallResult {
        self.sockets.insert(fd, socket);
        returned(0)
    }

    fn listen(&mut self, fd: Fd, socket: SocketState) -> CallResult {
        if self.is_taken() {
            return not_supported("a second connection on this host");
        }
        self.begin();
        self.connection.listen();
        self.keep(fd, SocketState { role: Role::Listening { accepted: false }, ..socket })
    }

    fn accept(&mut self, fd: Fd, socket: SocketState) -> CallResult {
        let Role::Listening { accepted } = socket.role else { return failed("EINVAL") };
        if accepted || !self.was_established() {
            return if socket.nonblocking { failed("EAGAIN") } else { CallResult::Blocks };
        }
        self.sockets.insert(fd, SocketState { role: Role::Listening { accepted: true }, ..socket });
        let new = self.free_fd();
        // In Linux the socket that `accept` returns does not inherit O_NONBLOCK.
        self.sockets.insert(
            new,
            SocketState { role: Role::Connected, ..SocketState::new(socket.role, false) },
        );
        returned(new.into())
    }

    fn connect(&mut self, now: Time, fd: Fd, socket: SocketState) -> CallResult {
        match socket.role {
            Role::Listening { .. } => return failed("EINVAL"),
            Role::Fresh if self.is_taken() => {
                return not_supported("a second connection on this host");
            }
            Role::Fresh => {
                self.begin();
                self.sockets.insert(fd, SocketState { role: Role::Connected, ..socket });
                self.connection.open(now, &mut self.events);
                return if socket.nonblocking { failed("EINPROGRESS") } else { CallResult::Blocks };
            }
            Role::Connected => {}
        }
        if let Some(error) = self.take_error() {
            return failed(error);
        }
        match self.connection.state() {
            _ if self.was_established() && !socket.announced => {
                self.keep(fd, SocketState { announced: true, ..socket })
            }
            _ if self.was_established() => failed("EISCONN"),
            TcpState::Closed => failed("EINVAL"),
            _ if socket.nonblocking => failed("EALREADY"),
            _ => CallResult::Blocks,
        }
    }

    fn write(
        &mut self,
        now: Time,
        fd: Fd,
        socket: SocketState,
        bytes: u32,
        flags: MessageFlags,
    ) -> CallResult {
        if let Some(error) = self.take_error() {
            return failed(error);
        }
        if socket.role != Role::Connected || socket.write_shut {
            return failed("EPIPE");
        }
        match self.connection.state() {
            TcpState::SynSent | TcpState::SynReceived if socket.nonblocking || flags.dont_wait => {
                return failed("EAGAIN");
            }
            TcpState::SynSent | TcpState::SynReceived => return CallResult::Blocks,
            TcpState::Established | TcpState::CloseWait => {}
            _ => return failed("EPIPE"),
        }
        self.sockets.insert(fd, SocketState { announced: true, ..socket });
        let (connection, events) = (&mut self.connection, &mut self.events);
        connection.write_some(now, bytes.into(), flags.more, events);
        returned(bytes.into())
    }

    fn read(
        &mut self,
        now: Time,
        socket: SocketState,
        bytes: u32,
        flags: MessageFlags,
    ) -> CallResult {
        if socket.role != Role::Connected {
            return failed("ENOTCONN");
        }
        let taken = self.connection.unread().min(bytes.into());
        if taken > 0 {
            self.connection.read(now, taken, &mut self.events);
            return returned(i64::try_from(taken).unwrap_or(i64::MAX));
        }
        if let Some(error) = self.take_error() {
            return failed(error);
        }
        let over = self.connection.peer_closed() || self.connection.state() == TcpState::Closed;
        if over || socket.read_shut || bytes == 0 {
            return returned(0);
        }
        if socket.nonblocking || flags.dont_wait { failed("EAGAIN") } else { CallResult::Blocks }
    }

    /// Closes a socket. If data is unread, the connection sends an RST (RFC 9293 §3.6.1).
    fn close(&mut self, now: Time, fd: Fd, socket: SocketState) -> CallResult {
        self.sockets.remove(&fd);
        let (connection, events) = (&mut self.connection, &mut self.events);
        match socket.role {
            Role::Connected if socket.resets || connection.unread() > 0 => {
                connection.abort(now, events);
            }
            Role::Connected | Role::Listening { accepted: false } => connection.close(now, events),
            _ => {}
        }
        returned(0)
    }

    fn shutdown(&mut self, now: Time, fd: Fd, socket: SocketState, how: Shutdown) -> CallResult {
        if socket.role != Role::Connected || !self.was_established() {
            return failed("ENOTCONN");
        }
        let (read_shut, write_shut) = match how {
            Shutdown::Read => (true, socket.write_shut),
            Shutdown::Write => (socket.read_shut, true),
            Shutdown::Both => (true, true),
        };
        if write_shut {
            self.connection.close(now, &mut self.events);
        }
        self.keep(fd, SocketState { read_shut, write_shut, ..socket })
    }

    fn set_option(
        &mut self,
        now: Time,
        fd: Fd,
        socket: SocketState,
        option: SocketOption,
        value: &OptionValue,
    ) -> CallResult {
        match (option, value) {
            (SocketOption::ReuseAddress | SocketOption::ReusePort, _) => return returned(0),
            (SocketOption::Linger, OptionValue::Linger { on, seconds }) => {
                return self.keep(fd, SocketState { resets: *on && *seconds == 0, ..socket });
            }
            (SocketOption::NoDelay, OptionValue::Number(on)) => {
                self.config.nagle = *on == 0;
                self.connection.set_nagle(now, *on == 0, &mut self.events);
                return returned(0);
            }
            (SocketOption::Cork, OptionValue::Number(on)) => {
                self.connection.set_cork(now, *on != 0, &mut self.events);
                return self.keep(fd, SocketState { cork: *on != 0, ..socket });
            }
            (SocketOption::QuickAck, OptionValue::Number(on)) => {
                self.connection.set_quick_acks(now, *on != 0, &mut self.events);
                return returned(0);
            }
            _ if socket.role != Role::Fresh => {}
            _ => return self.set_before_opening(option, value),
        }
        not_supported(format!("{} on an open connection", option.name()))
    }

    /// Sets an option that only a new connection takes.
    fn set_before_opening(&mut self, option: SocketOption, value: &OptionValue) -> CallResult {
        let config = &mut self.config;
        match (option, value) {
            (SocketOption::ReceiveBuffer, OptionValue::Number(bytes @ 1..=0x4000_0000)) => {
                config.receive_buffer_bytes = bytes.unsigned_abs();
            }
            (SocketOption::MaxSegment, OptionValue::Number(bytes @ 1..=0xffd7)) => {
                config.mss = u16::try_from(*bytes).expect("within range");
            }
            (SocketOption::SynCount, OptionValue::Number(count @ 1..=127)) => {
                config.syn_retries = u32::try_from(*count).expect("within range");
            }
            (SocketOption::Congestion, OptionValue::Text(name)) => {
                let Some(algorithm) = CongestionConfig::named(name) else {
                    return not_supported(format!("the congestion algorithm `{name}`"));
                };
                config.congestion = algorithm;
            }
            (
                SocketOption::ReceiveBuffer | SocketOption::MaxSegment | SocketOption::SynCount,
                _,
            ) => return failed("EINVAL"),
            _ => return not_supported(option.name()),
        }
        returned(0)
    }

    fn get_option(&mut self, socket: SocketState, option: SocketOption) -> CallResult {
        let Some(info) = self.connection.info() else { return not_supported(option.name()) };
        let number = match option {
            SocketOption::Error => {
                let error = self.take_error();
                ERROR_NUMBERS.iter().find(|(name, _)| Some(*name) == error).map_or(0, |(_, n)| *n)
            }
            SocketOption::MaxSegment if socket.role == Role::Connected => {
                i64::try_from(info.smss).unwrap_or(i64::MAX)
            }
            SocketOption::MaxSegment => self.config.mss.into(),
            SocketOption::ReceiveBuffer => {
                i64::try_from(self.config.receive_buffer_bytes).unwrap_or(i64::MAX)
            }
            SocketOption::NoDelay => i64::from(!self.config.nagle),
            SocketOption::Cork => i64::from(socket.cork),
            SocketOption::SynCount => self.config.syn_retries.into(),
            _ => return not_supported(option.name()),
        };
        let out = Some(OptionValue::Number(number));
        CallResult::Returned(CallOutcome { out, ..CallOutcome::returned(0) })
    }

    fn ioctl(&mut self, request: IoctlRequest) -> CallResult {
        let bytes = match request {
            IoctlRequest::Unread => self.connection.unread(),
            IoctlRequest::Unacknowledged => self.connection.unacknowledged(),
            IoctlRequest::Unsent => self.connection.info().map_or(0, |info| info.unsent),
        };
        let out = OptionValue::Number(i64::try_from(bytes).unwrap_or(i64::MAX));
        CallResult::Returned(CallOutcome { out: Some(out), ..CallOutcome::returned(0) })
    }
}

fn fd_of(call: &Call) -> Fd {
    match *call {
        Call::Socket { .. } => -1,
        Call::Bind { fd }
        | Call::Listen { fd, .. }
        | Call::Accept { fd }
        | Call::Connect { fd }
        | Call::Write { fd, .. }
        | Call::Read { fd, .. }
        | Call::Close { fd }
        | Call::Shutdown { fd, .. }
        | Call::GetStatus { fd }
        | Call::SetStatus { fd, .. }
        | Call::SetOption { fd, .. }
        | Call::GetOption { fd, .. }
        | Call::Ioctl { fd, .. } => fd,
    }
}
