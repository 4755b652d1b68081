//! The errors that the calls of a connection's socket report, and that the socket option `SO_ERROR`
//! returns. Names such as `sk_err_soft` are names in Linux's sources.

use netspurt::tcp::Failure;

use super::error_numbers::ERROR_NUMBERS;
use super::names::named;

/// Records which of the connection's errors a call has already returned, and which errors later
/// calls will return.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SocketErrors {
    /// Whether a call has returned the error that ended the connection.
    returned: bool,
    /// Whether the peer had closed before it reset the connection.
    pub(super) reset_after_fin: bool,
    /// The error that ICMP reported last (`sk_err_soft`). `SO_ERROR` returns it. If the connection
    /// times out, other calls also return it.
    pub(super) reported: Option<&'static str>,
    /// Whether the error that ICMP reported ended a handshake. If so, only one call returns the
    /// error.
    pub(super) ended_handshake: bool,
}

impl SocketErrors {
    /// Whether there is a `failure` whose error no call has returned yet.
    pub(super) fn is_waiting(&self, failure: Option<Failure>) -> bool {
        failure.is_some() && !self.returned
    }

    /// Returns the error that ended the connection. Returns the error only once.
    pub(super) fn take(&mut self, failure: Option<Failure>) -> Option<&'static str> {
        let failure = failure.filter(|_| !self.returned)?;
        self.returned = true;
        Some(match failure {
            Failure::Refused => "ECONNREFUSED",
            Failure::Reset if self.reset_after_fin => "EPIPE",
            Failure::Reset => "ECONNRESET",
            Failure::TimedOut => self.reported.unwrap_or("ETIMEDOUT"),
        })
    }

    /// Returns the number for `SO_ERROR`. If an error ended the connection, this is the number of
    /// that error. Otherwise it is the number of the error that ICMP reported (`sk_getsockopt`).
    /// Each of these two errors is returned once. After a timeout, both errors may have the same
    /// number. An error that ICMP reported may end a handshake. It is then also the error that
    /// ended the connection, and is returned only once. Without an error, the number is 0.
    pub(super) fn take_number(&mut self, failure: Option<Failure>) -> i64 {
        let error = self.take(failure).or_else(|| {
            let soft = self.reported.take();
            soft.filter(|_| !self.ended_handshake)
        });
        error.and_then(|error| named(&ERROR_NUMBERS, error)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_so_error_returns_each_pending_error_once() {
        let reported = Some("EHOSTUNREACH");
        let mut open = SocketErrors { reported, ..SocketErrors::default() };
        let mut numbers = || open.take_number(Some(Failure::TimedOut));
        assert_eq!([numbers(), numbers(), numbers()], [113, 113, 0]);
        let mut opening =
            SocketErrors { reported, ended_handshake: true, ..SocketErrors::default() };
        let mut numbers = || opening.take_number(Some(Failure::TimedOut));
        assert_eq!([numbers(), numbers()], [113, 0]);
    }
}
