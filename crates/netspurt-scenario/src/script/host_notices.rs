//! The error queue of a [`SocketHost`]'s connection: its options, the events that fill it, and how
//! it is read. The entries of this queue are notices, which report on octets that the host sent.

use std::collections::BTreeMap;

use netspurt::segment::Segment;
use netspurt::tcp::TcpState;
use netspurt::units::Time;

use super::call::{CallOutcome, Fd, OptionValue, SocketOption};
use super::host::{Role, SocketHost, SocketState};
use super::host_calls::{failed, not_supported};
use super::interest::Epoll;
use super::notice::{NoticeKind, SocketNotice};
use super::notices::{NoticeOptions, Notices};
use super::stamping::Stamping;
use super::subject::CallResult;

/// Sets `SO_ZEROCOPY` or `SO_TIMESTAMPING`.
pub(super) fn set_notices(
    host: &mut SocketHost,
    (fd, socket): (Fd, SocketState),
    option: SocketOption,
    number: i64,
) -> CallResult {
    let notices = socket.notices;
    if option == SocketOption::ZeroCopy {
        let notices = NoticeOptions { zero_copy: number == 1, ..notices };
        return match number {
            0 | 1 => host.keep(fd, SocketState { notices, ..socket }),
            _ => failed("EINVAL"),
        };
    }
    let Some(stamping) = Stamping::of(number) else {
        return not_supported(format!("{} with {number:#x}", option.name()));
    };
    let begins = stamping.counts() && !notices.stamping.counts();
    let has_octets = socket.role == Role::Connected && host.connection.state() != TcpState::Closed;
    if begins && !has_octets || stamping.counts_from_next() && !stamping.counts() {
        return failed("EINVAL");
    }
    if begins {
        host.notices.stamps.key_from = key_from(host, stamping);
    }
    host.keep(fd, SocketState { notices: NoticeOptions { stamping, ..notices }, ..socket })
}

/// The octet that has the key 0 in the notices of timestamps. Keys count octets from this octet
/// (`SOF_TIMESTAMPING_OPT_ID`).
fn key_from(host: &SocketHost, stamping: Stamping) -> u64 {
    let progress = host.progress();
    match stamping.counts_from_next() {
        true => progress.written,
        // The oldest outstanding sequence number belongs to the SYN, directly before octet 0.
        false if host.connection.state() == TcpState::SynSent => u64::MAX,
        false => progress.acked,
    }
}

impl SocketHost {
    /// Called when a segment left, or when the host's queue dropped it.
    pub(super) fn note_sent(&mut self, at: Time, segment: &Segment) {
        if segment.len == 0 {
            return;
        }
        let start = self.connection.written_before(segment.seq);
        let octets = (start, start + u64::from(segment.len));
        let options = options_of(&self.sockets, &self.notices);
        if self.notices.on_packet(octets, at, options, self.drops_all) {
            report_notice(&mut self.epolls);
        }
    }

    /// Adds the notices that are due because octets are acknowledged by now. If the connection
    /// failed, completes all calls with `MSG_ZEROCOPY`.
    pub(super) fn settle_notices(&mut self, now: Time) {
        let (progress, options) = (self.progress(), options_of(&self.sockets, &self.notices));
        let mut news = self.notices.on_acked(progress.acked, now, options);
        if self.connection.failure().is_some() {
            news |= self.notices.on_failure(progress.sent, now);
        }
        if news {
            report_notice(&mut self.epolls);
        }
    }

    /// Reads the oldest notice. netspurt cannot return the packet of a notice. So a call that could
    /// get such a packet must read 0 bytes.
    pub(super) fn read_notice(&mut self, socket: SocketState, bytes: u32) -> CallResult {
        if socket.role != Role::Connected {
            return failed("EAGAIN");
        }
        let Some(waiting) = self.notices.queue.take() else { return failed("EAGAIN") };
        if waiting.has_packet && bytes > 0 {
            return not_supported("the packet that comes with a timestamp; read 0 bytes");
        }
        if !self.notices.queue.is_empty() {
            report_notice(&mut self.epolls);
        }
        let is_stamp = matches!(waiting.kind, NoticeKind::Stamped { .. });
        let at = Some(waiting.at).filter(|_| is_stamp && socket.notices.stamping.tells_time());
        let notice = SocketNotice { kind: waiting.kind, at, is_cut: waiting.has_packet };
        let out = Some(OptionValue::Notice(notice));
        CallResult::Returned(CallOutcome { out, ..CallOutcome::returned(0) })
    }
}

/// The options of the connection's socket. Before `accept` returns this socket, these are the
/// options that the socket will inherit.
fn options_of(sockets: &BTreeMap<Fd, SocketState>, notices: &Notices) -> NoticeOptions {
    let mut connected = sockets.values().filter(|socket| socket.role == Role::Connected);
    connected.next().map_or(notices.inherited, |socket| socket.notices)
}

/// Reports to the epolls that the error queue is not empty (`sk_error_report`).
fn report_notice(epolls: &mut BTreeMap<Fd, Epoll>) {
    for watch in epolls.values_mut().flat_map(Epoll::values_mut) {
        watch.has_news = true;
    }
}
