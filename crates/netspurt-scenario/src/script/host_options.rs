//! Sets and reads the options of a [`SocketHost`]'s sockets, and answers `ioctl`.

use netspurt::tcp::TcpState;
use netspurt::units::{Duration, Time};

use crate::scenario::congestion_called;

use super::call::{CallOutcome, Fd, IoctlRequest, OptionValue, SocketOption};
use super::host::{Role, SocketHost, SocketState};
use super::host_calls::{failed, not_supported, returned};
use super::host_notices::set_notices;
use super::send_buffer::SendBuffer;
use super::subject::CallResult;

/// The largest buffer that an application can request (Linux's `rmem_max`).
const RECEIVE_BUFFER_MAX: u64 = 4 << 20;

/// The memory in octets of a receive buffer whose size an application requests (`SO_RCVBUF`). It is
/// twice the requested size, to leave room for bookkeeping. A requested size above
/// [`RECEIVE_BUFFER_MAX`] counts as this maximum.
fn received_memory(requested: i64) -> u64 {
    2 * requested.unsigned_abs().min(RECEIVE_BUFFER_MAX)
}

fn seconds(span: Duration) -> i64 {
    i64::try_from(span.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX)
}

impl SocketHost {
    pub(super) fn set_option(
        &mut self,
        now: Time,
        fd: Fd,
        socket: SocketState,
        option: SocketOption,
        value: &OptionValue,
    ) -> CallResult {
        let number = if let OptionValue::Number(number) = value { Some(*number) } else { None };
        if let Some(result) = number.and_then(|number| self.set_number(now, option, number)) {
            return result;
        }
        match (option, value) {
            (
                SocketOption::ReuseAddress
                | SocketOption::ReusePort
                | SocketOption::TypeOfService
                | SocketOption::PathMtuDiscovery
                | SocketOption::Mark,
                _,
            ) => returned(0),
            (SocketOption::ZeroCopy | SocketOption::Timestamping, OptionValue::Number(number)) => {
                set_notices(self, (fd, socket), option, *number)
            }
            (SocketOption::Linger, OptionValue::Linger { on, seconds }) => {
                self.keep(fd, SocketState { linger: on.then_some(*seconds), ..socket })
            }
            (SocketOption::NoDelay, OptionValue::Number(on)) => {
                self.config.nagle = *on == 0;
                self.connection.set_nagle(now, *on == 0, &mut self.events);
                if *on != 0 {
                    // When `TCP_NODELAY` is set, Linux sends held data even if the socket is
                    // corked.
                    self.connection.set_cork(now, false, &mut self.events);
                    self.connection.set_cork(now, socket.cork, &mut self.events);
                }
                returned(0)
            }
            (SocketOption::Cork, OptionValue::Number(on)) => {
                let listens = socket.role.listens();
                if !listens {
                    self.connection.set_cork(now, *on != 0, &mut self.events);
                }
                self.keep(fd, SocketState { cork: *on != 0, ..socket })
            }
            (SocketOption::QuickAck, OptionValue::Number(on)) => {
                self.connection.set_quick_acks(now, *on != 0, &mut self.events);
                returned(0)
            }
            (SocketOption::UnreadTold, OptionValue::Number(on)) => {
                self.keep(fd, SocketState { tells_unread: *on != 0, ..socket })
            }
            (SocketOption::Congestion, OptionValue::Text(name))
                if socket.role == Role::Connected =>
            {
                self.change_congestion(name)
            }
            _ => self.set_connection_option(now, socket, option, value),
        }
    }

    /// Sets an option of the connection. Most of these options are not supported on an open
    /// connection.
    fn set_connection_option(
        &mut self,
        now: Time,
        socket: SocketState,
        option: SocketOption,
        value: &OptionValue,
    ) -> CallResult {
        let listens = self.connection.state() == TcpState::Listen;
        match (option, value) {
            (
                SocketOption::MaxSegment
                | SocketOption::Congestion
                | SocketOption::SynCount
                | SocketOption::ReceiveBuffer,
                _,
            ) if listens => {
                let result = self.set_before_opening(option, value);
                // The connection that waits for a SYN takes the new value.
                self.begin(now, false);
                self.connection.listen();
                result
            }
            (SocketOption::ReceiveBuffer, OptionValue::Number(bytes @ 1..=0x4000_0000))
                if socket.role == Role::Connected && self.config.receive_rules.counts_memory =>
            {
                self.connection.set_receive_memory(received_memory(*bytes));
                returned(0)
            }
            _ if socket.role.is_unused() => self.set_before_opening(option, value),
            _ => not_supported(format!("{} on an open connection", option.name())),
        }
    }

    /// Sets `TCP_CONGESTION` of an open connection.
    fn change_congestion(&mut self, name: &str) -> CallResult {
        match congestion_called(name, &self.config) {
            Some(algorithm) => {
                if algorithm.name() != self.config.congestion.name() {
                    self.config.congestion = algorithm;
                    self.connection.set_congestion(&algorithm);
                }
                returned(0)
            }
            None => not_supported(format!("the congestion control algorithm `{name}`")),
        }
    }

    /// Sets a numeric option of the host. Returns `None` for any other option. For some options,
    /// also returns `None` if the number is out of range.
    fn set_number(&mut self, now: Time, option: SocketOption, number: i64) -> Option<CallResult> {
        let valid = match option {
            SocketOption::KeepAlive
            | SocketOption::KeepIdle
            | SocketOption::KeepInterval
            | SocketOption::KeepCount => {
                let open = self.was_established().then(|| (now, self.clocks.quiet_since()));
                self.keep_alive.set(option, number, open, self.config.timer_clock)
            }
            SocketOption::OrphanTime => {
                self.orphan.set(number);
                true
            }
            SocketOption::DeferAccept => {
                self.deferral.set(u64::try_from(number).unwrap_or(0));
                true
            }
            SocketOption::UserTimeout => {
                let valid = (0..=0x7fff_ffff).contains(&number);
                if valid {
                    let timeout = Duration::from_millis(number.unsigned_abs());
                    self.clocks.set_user_timeout((number > 0).then_some(timeout));
                }
                valid
            }
            SocketOption::SendBuffer if (0..=0x4000_0000).contains(&number) => {
                let state = self.connection.state();
                if self.send.is_none() && !matches!(state, TcpState::Closed | TcpState::Listen) {
                    let what = "SO_SNDBUF on an open connection without a send buffer";
                    return Some(not_supported(what));
                }
                self.send_settings.fixed = Some(number.unsigned_abs());
                if let Some(send) = &mut self.send {
                    send.fix(number.unsigned_abs());
                } else if state == TcpState::Listen {
                    // The connection that waits for a SYN gets the buffer.
                    self.begin(now, false);
                    self.connection.listen();
                }
                true
            }
            SocketOption::NotSentLowWater if (0..=0xffff_ffff).contains(&number) => {
                self.send_settings.own_unsent_max = number.unsigned_abs();
                let most = self.send_settings.unsent_max();
                if let Some(send) = &mut self.send {
                    send.set_unsent_max(most);
                }
                true
            }
            _ => return None,
        };
        Some(if valid { returned(0) } else { failed("EINVAL") })
    }

    /// Sets an option for the next connection, which has not begun yet.
    fn set_before_opening(&mut self, option: SocketOption, value: &OptionValue) -> CallResult {
        let config = &mut self.config;
        match (option, value) {
            (SocketOption::ReceiveBuffer, OptionValue::Number(bytes @ 1..=0x4000_0000)) => {
                config.receive_buffer_bytes = bytes.unsigned_abs();
                config.receive_memory_bytes = Some(received_memory(*bytes));
            }
            // Linux accepts 0 (no limit), and `TCP_MIN_MSS` to `MAX_TCP_WINDOW`.
            (SocketOption::MaxSegment, OptionValue::Number(bytes @ (0 | 88..=32_767))) => {
                let limit = u16::try_from(*bytes).ok().filter(|bytes| *bytes > 0);
                config.mss = limit.map_or(self.interface_mss, |mss| mss.min(self.interface_mss));
            }
            (SocketOption::SynCount, OptionValue::Number(count @ 1..=127)) => {
                config.syn_retries = u32::try_from(*count).expect("within range");
            }
            (SocketOption::Congestion, OptionValue::Text(name)) => {
                let Some(algorithm) = congestion_called(name, config) else {
                    return not_supported(format!("the congestion control algorithm `{name}`"));
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

    pub(super) fn get_option(&mut self, socket: SocketState, option: SocketOption) -> CallResult {
        let Some(info) = self.connection.info() else { return not_supported(option.name()) };
        let number = match option {
            SocketOption::Error if socket.role.listens() => 0,
            SocketOption::Error => self.errors.take_number(self.connection.failure()),
            SocketOption::MaxSegment if socket.role == Role::Connected => {
                i64::try_from(info.smss).unwrap_or(i64::MAX)
            }
            SocketOption::MaxSegment => self.config.mss.into(),
            SocketOption::ReceiveBuffer => {
                let bytes = self.config.receive_buffer_bytes;
                let size = info.receiving.memory.map_or(bytes, |memory| memory.size);
                i64::try_from(size).unwrap_or(i64::MAX)
            }
            SocketOption::SendBuffer => {
                let size = self.send.as_ref().map(SendBuffer::size);
                let Some(size) = size.or(self.send_settings.fixed.map(|bytes| 2 * bytes)) else {
                    return not_supported("a send buffer without a limit");
                };
                i64::try_from(size).unwrap_or(i64::MAX)
            }
            SocketOption::NotSentLowWater => {
                i64::try_from(self.send_settings.own_unsent_max).unwrap_or(i64::MAX)
            }
            SocketOption::UserTimeout => {
                let timeout = self.clocks.user_timeout().map_or(0, Duration::as_nanos);
                i64::try_from(timeout / 1_000_000).unwrap_or(i64::MAX)
            }
            SocketOption::KeepAlive => i64::from(self.keep_alive.is_on),
            SocketOption::KeepIdle => seconds(self.keep_alive.idle),
            SocketOption::KeepInterval => seconds(self.keep_alive.interval),
            SocketOption::KeepCount => self.keep_alive.count.into(),
            SocketOption::OrphanTime => self.orphan.seconds(),
            SocketOption::DeferAccept => i64::try_from(self.deferral.seconds()).unwrap_or(i64::MAX),
            SocketOption::Congestion => {
                let out = Some(OptionValue::Text(self.config.congestion.name().to_owned()));
                return CallResult::Returned(CallOutcome { out, ..CallOutcome::returned(0) });
            }
            SocketOption::UnreadTold => i64::from(socket.tells_unread),
            SocketOption::ZeroCopy => i64::from(socket.notices.zero_copy),
            SocketOption::Timestamping => socket.notices.stamping.number(),
            SocketOption::NoDelay => i64::from(!self.config.nagle),
            SocketOption::Cork => i64::from(socket.cork),
            SocketOption::SynCount => self.config.syn_retries.into(),
            _ => return not_supported(option.name()),
        };
        let out = Some(OptionValue::Number(number));
        CallResult::Returned(CallOutcome { out, ..CallOutcome::returned(0) })
    }

    pub(super) fn ioctl(&mut self, request: IoctlRequest) -> CallResult {
        let bytes = match request {
            IoctlRequest::Unread => self.connection.unread(),
            IoctlRequest::Unacknowledged => self.connection.unacknowledged(),
            IoctlRequest::Unsent => self.connection.info().map_or(0, |info| info.unsent),
        };
        let out = OptionValue::Number(i64::try_from(bytes).unwrap_or(i64::MAX));
        CallResult::Returned(CallOutcome { out: Some(out), ..CallOutcome::returned(0) })
    }
}
