//! The options of a [`SocketHost`]'s sockets.

use crate::congestion::CongestionConfig;
use crate::tcp::TcpState;
use crate::units::{Duration, Time};

use super::call::{CallOutcome, Fd, IoctlRequest, OptionValue, SocketOption};
use super::host::{Role, SocketHost, SocketState};
use super::host_calls::{failed, not_supported, returned};
use super::send_buffer::SendBuffer;
use super::subject::CallResult;

/// Linux's numbers of the errors that `SO_ERROR` returns.
const ERROR_NUMBERS: [(&str, i64); 3] =
    [("ECONNREFUSED", 111), ("ECONNRESET", 104), ("ETIMEDOUT", 110)];

impl SocketHost {
    pub(super) fn set_option(
        &mut self,
        now: Time,
        fd: Fd,
        socket: SocketState,
        option: SocketOption,
        value: &OptionValue,
    ) -> CallResult {
        match (option, value) {
            (
                SocketOption::ReuseAddress
                | SocketOption::ReusePort
                | SocketOption::TypeOfService
                | SocketOption::PathMtuDiscovery,
                _,
            ) => return returned(0),
            (SocketOption::Linger, OptionValue::Linger { on, seconds }) => {
                return self.keep(fd, SocketState { resets: *on && *seconds == 0, ..socket });
            }
            (SocketOption::NoDelay, OptionValue::Number(on)) => {
                self.config.nagle = *on == 0;
                self.connection.set_nagle(now, *on == 0, &mut self.events);
                if *on != 0 {
                    // Linux then sends what is held even if the socket is corked.
                    self.connection.set_cork(now, false, &mut self.events);
                    self.connection.set_cork(now, socket.cork, &mut self.events);
                }
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
            (SocketOption::UnreadTold, OptionValue::Number(on)) => {
                return self.keep(fd, SocketState { tells_unread: *on != 0, ..socket });
            }
            (SocketOption::SendBuffer, OptionValue::Number(bytes @ 0..=0x4000_0000)) => {
                return self.fix_send_buffer(bytes.unsigned_abs());
            }
            (SocketOption::NotSentLowWater, OptionValue::Number(bytes @ 0..=0xffff_ffff)) => {
                return self.limit_unsent(bytes.unsigned_abs());
            }
            (SocketOption::UserTimeout, OptionValue::Number(millis @ 0..=0x7fff_ffff)) => {
                let timeout = Duration::from_millis(millis.unsigned_abs());
                self.clocks.set_user_timeout((*millis > 0).then_some(timeout));
                return returned(0);
            }
            (SocketOption::MaxSegment, _) if self.connection.state() == TcpState::Listen => {
                let result = self.set_before_opening(option, value);
                // The connection that waits for a SYN takes the new size.
                self.begin(now, false);
                self.connection.listen();
                return result;
            }
            _ if socket.role != Role::Fresh => {}
            _ => return self.set_before_opening(option, value),
        }
        not_supported(format!("{} on an open connection", option.name()))
    }

    fn fix_send_buffer(&mut self, bytes: u64) -> CallResult {
        self.send_settings.fixed = Some(bytes);
        if let Some(send) = &mut self.send {
            send.fix(bytes);
        }
        returned(0)
    }

    fn limit_unsent(&mut self, bytes: u64) -> CallResult {
        self.send_settings.own_unsent_max = bytes;
        let most = self.send_settings.unsent_max();
        if let Some(send) = &mut self.send {
            send.set_unsent_max(most);
        }
        returned(0)
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

    pub(super) fn get_option(&mut self, socket: SocketState, option: SocketOption) -> CallResult {
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
            SocketOption::UnreadTold => i64::from(socket.tells_unread),
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
