//! Linux's numeric values of the errors, options and flags that scripts name.

use std::ffi::c_int;

use netspurt_scenario::script::{
    EpollOperation, IoctlRequest, MessageFlags, Shutdown, SocketOption,
};

/// The numeric values of the errors that our host returns.
const ERRORS: [(&str, c_int); 23] = [
    ("EAGAIN", libc::EAGAIN),
    ("EALREADY", libc::EALREADY),
    ("EBADF", libc::EBADF),
    ("ECONNABORTED", libc::ECONNABORTED),
    ("ECONNREFUSED", libc::ECONNREFUSED),
    ("ECONNRESET", libc::ECONNRESET),
    ("EDESTADDRREQ", libc::EDESTADDRREQ),
    ("EEXIST", libc::EEXIST),
    ("EFAULT", libc::EFAULT),
    ("EHOSTDOWN", libc::EHOSTDOWN),
    ("EHOSTUNREACH", libc::EHOSTUNREACH),
    ("EINPROGRESS", libc::EINPROGRESS),
    ("EINTR", libc::EINTR),
    ("EINVAL", libc::EINVAL),
    ("EISCONN", libc::EISCONN),
    ("EMSGSIZE", libc::EMSGSIZE),
    ("ENETUNREACH", libc::ENETUNREACH),
    ("ENOENT", libc::ENOENT),
    ("ENOPROTOOPT", libc::ENOPROTOOPT),
    ("ENOTCONN", libc::ENOTCONN),
    ("EOPNOTSUPP", libc::EOPNOTSUPP),
    ("EPIPE", libc::EPIPE),
    ("ETIMEDOUT", libc::ETIMEDOUT),
];

/// Returns the number of the error called `name`. An unknown name gives `EIO`.
///
/// ```
/// assert_eq!(netspurt_drill::numbers::error("EAGAIN"), 11);
/// ```
pub fn error(name: &str) -> c_int {
    let known = ERRORS.iter().find(|(known, _)| *known == name);
    known.map_or(libc::EIO, |(_, number)| *number)
}

/// The options by their levels and numbers.
const OPTIONS: [(c_int, c_int, SocketOption); 28] = [
    (libc::SOL_SOCKET, libc::SO_REUSEADDR, SocketOption::ReuseAddress),
    (libc::SOL_SOCKET, libc::SO_REUSEPORT, SocketOption::ReusePort),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE, SocketOption::KeepAlive),
    (libc::SOL_SOCKET, libc::SO_SNDBUF, SocketOption::SendBuffer),
    (libc::SOL_SOCKET, libc::SO_RCVBUF, SocketOption::ReceiveBuffer),
    (libc::SOL_SOCKET, libc::SO_LINGER, SocketOption::Linger),
    (libc::SOL_SOCKET, libc::SO_ERROR, SocketOption::Error),
    (libc::SOL_SOCKET, libc::SO_MARK, SocketOption::Mark),
    (libc::SOL_SOCKET, libc::SO_ZEROCOPY, SocketOption::ZeroCopy),
    (libc::SOL_SOCKET, libc::SO_TIMESTAMPING, SocketOption::Timestamping),
    (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, SocketOption::MaxPacingRate),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY, SocketOption::NoDelay),
    (libc::IPPROTO_TCP, libc::TCP_MAXSEG, SocketOption::MaxSegment),
    (libc::IPPROTO_TCP, libc::TCP_CORK, SocketOption::Cork),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, SocketOption::KeepIdle),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, SocketOption::KeepInterval),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, SocketOption::KeepCount),
    (libc::IPPROTO_TCP, libc::TCP_SYNCNT, SocketOption::SynCount),
    (libc::IPPROTO_TCP, libc::TCP_QUICKACK, SocketOption::QuickAck),
    (libc::IPPROTO_TCP, libc::TCP_CONGESTION, SocketOption::Congestion),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, SocketOption::UserTimeout),
    (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, SocketOption::NotSentLowWater),
    (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, SocketOption::WindowClamp),
    (libc::IPPROTO_TCP, libc::TCP_INQ, SocketOption::UnreadTold),
    (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, SocketOption::DeferAccept),
    (libc::IPPROTO_TCP, libc::TCP_LINGER2, SocketOption::OrphanTime),
    (libc::IPPROTO_IP, libc::IP_TOS, SocketOption::TypeOfService),
    (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, SocketOption::PathMtuDiscovery),
];

/// The option with this level and number.
///
/// # Errors
/// When our host has no such option. The error names the option's mechanism if this function knows
/// the mechanism, else the level and the number.
pub fn option(level: c_int, number: c_int) -> Result<SocketOption, String> {
    let named = OPTIONS.iter().find(|(of, known, _)| (*of, *known) == (level, number));
    named.map(|(_, _, option)| *option).ok_or_else(|| match (level, number) {
        (libc::IPPROTO_TCP, libc::TCP_ZEROCOPY_RECEIVE) => "receiving without a copy".to_owned(),
        (libc::IPPROTO_TCP, libc::TCP_FASTOPEN | libc::TCP_FASTOPEN_CONNECT) => fast_open(),
        (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_KEY | libc::TCP_FASTOPEN_NO_COOKIE) => fast_open(),
        (libc::IPPROTO_TCP, libc::TCP_MD5SIG) => "MD5 signatures".to_owned(),
        _ => format!("option {number} of level {level}"),
    })
}

fn fast_open() -> String {
    "Fast Open".to_owned()
}

/// The flags of `send` and `recv`.
///
/// # Errors
/// When our host does not have the mechanism of a flag. The error is `Fast Open`, or contains the
/// bits of the flags that our host does not have.
pub fn message_flags(flags: c_int) -> Result<MessageFlags, String> {
    if flags & libc::MSG_FASTOPEN != 0 {
        return Err(fast_open());
    }
    let sending = libc::MSG_MORE | libc::MSG_EOR | libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL;
    let receiving = libc::MSG_PEEK | libc::MSG_WAITALL | libc::MSG_TRUNC | libc::MSG_ERRQUEUE;
    match flags & !(libc::MSG_DONTWAIT | sending | receiving) {
        0 => Ok(MessageFlags {
            dont_wait: flags & libc::MSG_DONTWAIT != 0,
            more: flags & libc::MSG_MORE != 0,
            end_of_record: flags & libc::MSG_EOR != 0,
            peek: flags & libc::MSG_PEEK != 0,
            wait_all: flags & libc::MSG_WAITALL != 0,
            discards: flags & libc::MSG_TRUNC != 0,
            error_queue: flags & libc::MSG_ERRQUEUE != 0,
            zero_copy: flags & libc::MSG_ZEROCOPY != 0,
        }),
        other => Err(format!("the message flags {other:#x}")),
    }
}

/// The direction that `shutdown` closes, or `None` if the number stands for no direction.
pub fn shutdown(how: c_int) -> Option<Shutdown> {
    match how {
        libc::SHUT_RD => Some(Shutdown::Read),
        libc::SHUT_WR => Some(Shutdown::Write),
        libc::SHUT_RDWR => Some(Shutdown::Both),
        _ => None,
    }
}

/// The operation of `epoll_ctl` with this number.
pub fn epoll_operation(number: c_int) -> Option<EpollOperation> {
    match number {
        libc::EPOLL_CTL_ADD => Some(EpollOperation::Add),
        libc::EPOLL_CTL_MOD => Some(EpollOperation::Modify),
        libc::EPOLL_CTL_DEL => Some(EpollOperation::Remove),
        _ => None,
    }
}

/// The request of `ioctl` with this number.
pub fn request(number: u64) -> Option<IoctlRequest> {
    match number {
        0x541b => Some(IoctlRequest::Unread),
        0x5411 => Some(IoctlRequest::Unacknowledged),
        0x894b => Some(IoctlRequest::Unsent),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_mechanism_that_our_host_lacks() {
        let receiving = option(libc::IPPROTO_TCP, libc::TCP_ZEROCOPY_RECEIVE);
        assert_eq!(receiving.unwrap_err(), "receiving without a copy");
        assert_eq!(option(libc::IPPROTO_TCP, 999).unwrap_err(), "option 999 of level 6");
        assert_eq!(message_flags(0x2000_0000).unwrap_err(), "Fast Open");
        assert!(message_flags(libc::MSG_OOB).unwrap_err().contains("0x1"));
        let eor = message_flags(libc::MSG_EOR | libc::MSG_NOSIGNAL).unwrap();
        assert!(eor.end_of_record && !eor.more);
    }
}
