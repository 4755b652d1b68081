//! Carries out the socket calls of a script on a [`SocketHost`]. Names such as `tcp_recvmsg_locked`
//! are names in Linux's sources. A script is a test in packetdrill's notation.

use netspurt::tcp::{Connection, TcpState};
use netspurt::units::Time;

use super::call::{Call, CallOutcome, Fd, OptionValue, status};
use super::host::{Role, SocketHost, SocketState};
use super::message_flags::MessageFlags;
use super::subject::CallResult;

/// The maximum number of buffers of a message (`UIO_MAXIOV`).
const BUFFERS_MAX: usize = 1024;

pub(super) fn returned(value: i64) -> CallResult {
    CallResult::Returned(CallOutcome::returned(value))
}

pub(super) fn failed(errno: &'static str) -> CallResult {
    CallResult::Returned(CallOutcome::failed(errno))
}

/// Whether the connection of a socket is over. TIME-WAIT counts as over, because Linux closes the
/// full socket then and keeps only a small socket.
pub(super) fn is_over(connection: &Connection) -> bool {
    matches!(connection.state(), TcpState::Closed | TcpState::TimeWait)
}

pub(super) fn not_supported(what: impl Into<String>) -> CallResult {
    CallResult::NotSupported(what.into())
}

impl SocketHost {
    /// Makes a call, or repeats a call that blocked.
    pub(super) fn make(&mut self, now: Time, call: &Call) -> CallResult {
        match call {
            Call::Socket { nonblocking, number } => {
                let fd = self.new_fd(*number);
                self.sockets.insert(fd, SocketState::new(Role::Fresh, *nonblocking));
                return returned(fd.into());
            }
            Call::Poll { entries, wait } => return self.poll_sockets(entries, *wait),
            Call::EpollCreate { number } => return self.epoll_create(*number),
            Call::EpollControl { fd, operation, socket, events } => {
                return self.epoll_control(*fd, *operation, *socket, *events);
            }
            Call::EpollWait { fd, most, wait } => return self.epoll_wait(*fd, *most, *wait),
            Call::Close { fd } if self.epolls.remove(fd).is_some() || self.files.close(*fd) => {
                return returned(0);
            }
            Call::Open { path, number } => return self.open_file(path, *number),
            Call::SendFile { .. } => return self.send_file(now, call),
            _ => {}
        }
        let fd = fd_of(call);
        let Some(socket) = self.sockets.get(&fd).copied() else { return failed("EBADF") };
        match *call {
            Call::Socket { .. }
            | Call::Poll { .. }
            | Call::EpollCreate { .. }
            | Call::EpollControl { .. }
            | Call::EpollWait { .. }
            | Call::Open { .. }
            | Call::SendFile { .. } => unreachable!("handled above"),
            Call::BadBuffer { .. } => failed("EFAULT"),
            Call::Bind { .. } => returned(0),
            Call::Listen { .. } => self.listen(now, fd, socket),
            Call::Accept { number, .. } => self.accept(fd, socket, number),
            Call::Connect { .. } => self.connect(now, fd, socket),
            Call::Write { bytes, flags, .. } => self.write(now, fd, socket, (&[bytes], flags)),
            Call::WriteMessage { ref pieces, .. } if pieces.len() > BUFFERS_MAX => {
                failed("EMSGSIZE")
            }
            Call::WriteMessage { ref pieces, flags, .. } => {
                self.write(now, fd, socket, (pieces, flags))
            }
            Call::Read { bytes, flags, .. } => self.read(now, socket, bytes, flags),
            Call::ReadMessage { bytes, flags, .. } => self.read_message(now, socket, bytes, flags),
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

    pub(super) fn keep(&mut self, fd: Fd, socket: SocketState) -> CallResult {
        self.sockets.insert(fd, socket);
        returned(0)
    }

    fn listen(&mut self, now: Time, fd: Fd, socket: SocketState) -> CallResult {
        if self.is_taken() {
            return not_supported("a second connection on this host");
        }
        self.begin(now, false);
        self.connection.listen();
        self.keep(fd, SocketState { role: Role::Listening { accepted: false }, ..socket })
    }

    fn accept(&mut self, fd: Fd, socket: SocketState, number: Option<Fd>) -> CallResult {
        let Role::Listening { accepted } = socket.role else { return failed("EINVAL") };
        if accepted || !self.was_ever_open {
            return if socket.nonblocking { failed("EAGAIN") } else { CallResult::Blocks };
        }
        self.sockets.insert(fd, SocketState { role: Role::Listening { accepted: true }, ..socket });
        self.connection.set_accepted(true);
        let new = self.new_fd(number);
        // In Linux, the socket that `accept` returns does not inherit O_NONBLOCK.
        self.sockets.insert(
            new,
            SocketState {
                notices: self.notices.inherited,
                cork: socket.cork,
                ..SocketState::new(Role::Connected, false)
            },
        );
        returned(new.into())
    }

    fn connect(&mut self, now: Time, fd: Fd, socket: SocketState) -> CallResult {
        match socket.role {
            Role::Listening { .. } => return failed("EISCONN"),
            Role::Fresh | Role::Disconnected if self.is_taken() => {
                return not_supported("a second connection on this host");
            }
            Role::Fresh | Role::Disconnected => {
                self.begin(now, true);
                self.sockets.insert(fd, SocketState { role: Role::Connected, ..socket });
                self.connection.set_cork(now, socket.cork, &mut self.events);
                self.connection.open(now, &mut self.events);
                return if socket.nonblocking { failed("EINPROGRESS") } else { CallResult::Blocks };
            }
            Role::Connected => {}
        }
        if let Some(error) = self.take_error(socket) {
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

    fn read(
        &mut self,
        now: Time,
        socket: SocketState,
        bytes: u32,
        flags: MessageFlags,
    ) -> CallResult {
        if flags.error_queue {
            return self.read_notice(socket, bytes);
        }
        if socket.role != Role::Connected {
            let error = self.take_error(socket).filter(|_| socket.role == Role::Disconnected);
            return failed(error.unwrap_or("ENOTCONN"));
        }
        let waits = flags.wait_all && !flags.peek && !socket.nonblocking && !flags.dont_wait;
        if waits {
            return self.read_all(now, socket, bytes);
        }
        let taken = self.connection.unread().min(bytes.into());
        if taken > 0 {
            // After any read, even one with `MSG_PEEK`, the host may send an ACK
            // (`tcp_recvmsg_locked`).
            let leaves = if flags.peek { 0 } else { taken };
            self.connection.read(now, leaves, &mut self.events);
            return returned(i64::try_from(taken).unwrap_or(i64::MAX));
        }
        if bytes == 0 {
            return returned(0);
        }
        self.read_nothing(socket, flags.dont_wait)
    }

    /// Reads as many bytes as the call asks for, or all bytes before the end of the stream.
    fn read_all(&mut self, now: Time, socket: SocketState, bytes: u32) -> CallResult {
        let taken = self.connection.unread().min(u64::from(bytes) - self.done);
        if taken > 0 {
            self.connection.read(now, taken, &mut self.events);
            self.done += taken;
        }
        let done = returned(i64::try_from(self.done).unwrap_or(i64::MAX));
        if self.done == u64::from(bytes) {
            return done;
        }
        let over = self.connection.peer_closed() || is_over(&self.connection) || socket.read_shut;
        if over && self.done > 0 { done } else { self.read_nothing(socket, false) }
    }

    /// Returns the result of a read if there is nothing to read.
    fn read_nothing(&mut self, socket: SocketState, at_once: bool) -> CallResult {
        // A read reports the peer's FIN before an error that followed the FIN (`SOCK_DONE`).
        if self.connection.peer_closed() {
            return returned(0);
        }
        if let Some(error) = self.take_error(socket) {
            return failed(error);
        }
        if is_over(&self.connection) || socket.read_shut {
            return returned(0);
        }
        if socket.nonblocking || at_once { failed("EAGAIN") } else { CallResult::Blocks }
    }

    /// Reads as `recvmsg` does. With `TCP_INQ`, the call reports how many bytes are left; the end
    /// of the stream counts as one byte.
    fn read_message(
        &mut self,
        now: Time,
        socket: SocketState,
        bytes: u32,
        flags: MessageFlags,
    ) -> CallResult {
        let result = self.read(now, socket, bytes, flags);
        let CallResult::Returned(mut outcome) = result else { return result };
        if socket.tells_unread && outcome.value >= 0 && !flags.error_queue {
            let left = self.connection.unread() + u64::from(self.connection.peer_closed());
            outcome.out = Some(OptionValue::Unread(i64::try_from(left).unwrap_or(i64::MAX)));
        }
        CallResult::Returned(outcome)
    }
}

fn fd_of(call: &Call) -> Fd {
    match *call {
        Call::Socket { .. } | Call::Poll { .. } | Call::EpollCreate { .. } | Call::Open { .. } => {
            -1
        }
        Call::Bind { fd }
        | Call::Listen { fd, .. }
        | Call::Accept { fd, .. }
        | Call::Connect { fd }
        | Call::Write { fd, .. }
        | Call::WriteMessage { fd, .. }
        | Call::Read { fd, .. }
        | Call::ReadMessage { fd, .. }
        | Call::BadBuffer { fd, .. }
        | Call::EpollControl { fd, .. }
        | Call::EpollWait { fd, .. }
        | Call::Close { fd }
        | Call::Shutdown { fd, .. }
        | Call::GetStatus { fd }
        | Call::SetStatus { fd, .. }
        | Call::SetOption { fd, .. }
        | Call::GetOption { fd, .. }
        | Call::SendFile { fd, .. }
        | Call::Ioctl { fd, .. } => fd,
    }
}
