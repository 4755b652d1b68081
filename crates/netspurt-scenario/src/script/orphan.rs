//! Computes how long a connection whose socket is closed waits for the peer's FIN. Linux calls such
//! a connection an orphan.

use netspurt::clock::Clock;
use netspurt::units::{Duration, Time};

/// The longest wait that the socket option `TCP_LINGER2` sets (Linux's `TCP_FIN_TIMEOUT_MAX`).
const ORPHAN_MAX_S: i64 = 120;

/// How long a connection whose socket is closed waits in FIN-WAIT-2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Orphan {
    /// The sysctl `tcp_fin_timeout`; `None` for a wait without limit, as in RFC 9293.
    pub(super) time: Option<Duration>,
    /// `TCP_LINGER2` in seconds. If 0, the time of the sysctl applies. If negative, the connection
    /// does not wait.
    pub(super) own: i64,
    /// When the wait is over.
    pub(super) until: Option<Time>,
}

impl Orphan {
    /// Called when a connection begins.
    pub(super) fn begin(&mut self) {
        self.until = None;
    }

    /// Sets `TCP_LINGER2`.
    pub(super) fn set(&mut self, seconds: i64) {
        self.own = seconds.clamp(-1, ORPHAN_MAX_S);
    }

    /// The value that `getsockopt` returns for `TCP_LINGER2`.
    pub(super) fn seconds(&self) -> i64 {
        let of_all = self.time.map_or(0, |time| time.as_nanos() / 1_000_000_000);
        if self.own == 0 { i64::try_from(of_all).unwrap_or(i64::MAX) } else { self.own }
    }

    /// Starts, continues or cancels the wait. `waits` is true if the socket of the connection is
    /// closed and the connection is in FIN-WAIT-2. Returns true if the connection ends immediately.
    pub(super) fn watch(&mut self, waits: bool, rto: Duration, now: Time, clock: Clock) -> bool {
        if !waits {
            self.until = None;
        } else if self.own >= 0 && self.until.is_none() {
            self.until = self.wait(rto).map(|wait| clock.expiry(now, wait));
        }
        waits && self.own < 0
    }

    /// Returns true once, when the wait is over.
    pub(super) fn is_over(&mut self, now: Time) -> bool {
        self.until.take_if(|until| *until <= now).is_some()
    }

    /// How long a connection with this RTO waits (`tcp_fin_time`).
    fn wait(&self, rto: Duration) -> Option<Duration> {
        let own = u64::try_from(self.own).ok().filter(|own| *own > 0).map(Duration::from_secs);
        Some(own.or(self.time)?.max(rto * 7 / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux's `tcp_fin_time` is at least three and a half RTOs.
    #[test]
    fn an_orphan_waits_at_least_three_and_a_half_rtos() {
        let (second, now) = (Duration::from_secs(1), Time::ZERO);
        let mut orphan = Orphan { time: Some(second * 60), ..Orphan::default() };
        assert!(!orphan.watch(true, second, now, Clock::EXACT));
        assert_eq!((orphan.until, orphan.seconds()), (Some(now + second * 60), 60));
        assert!(!orphan.watch(false, second, now, Clock::EXACT) && orphan.until.is_none());
        orphan.set(2);
        orphan.watch(true, second, now, Clock::EXACT);
        assert_eq!((orphan.until, orphan.seconds()), (Some(now + second * 7 / 2), 2));
        assert!(!orphan.is_over(now + second) && orphan.is_over(now + second * 4));
        orphan.set(-9);
        assert!(orphan.watch(true, second, now, Clock::EXACT) && orphan.seconds() == -1);
    }
}
