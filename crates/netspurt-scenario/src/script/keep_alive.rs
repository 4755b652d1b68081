//! Sends keep-alive probes to a peer from which nothing arrives (RFC 9293 §3.8.4), as the function
//! `tcp_keepalive_timer` of Linux does.

use netspurt::clock::Clock;
use netspurt::units::{Duration, Time};

use super::call::SocketOption;

/// The maximum number of seconds of `TCP_KEEPIDLE` and `TCP_KEEPINTVL`.
const SECONDS_MAX: i64 = 32_767;
/// The maximum number of probes of `TCP_KEEPCNT`.
const COUNT_MAX: i64 = 127;

/// The step that the keep-alive timer requires when it fires (`tcp_keepalive_timer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeepAliveStep {
    /// Wait longer.
    Wait,
    /// Send a probe.
    Probe,
    /// Give up the connection, because the peer is gone.
    GiveUp,
}

/// The state of the connection when the timer fires.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuietPeer {
    /// When the last segment of the peer arrived.
    pub(super) since: Time,
    /// Whether any data is unacknowledged or unsent. If so, other timers watch the peer.
    pub(super) is_busy: bool,
    /// `TCP_USER_TIMEOUT`.
    pub(super) user_timeout: Option<Duration>,
}

/// The settings and the state of keep-alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepAlive {
    /// `SO_KEEPALIVE`.
    pub(super) is_on: bool,
    /// `TCP_KEEPIDLE`: how long the peer is quiet before the first probe.
    pub(super) idle: Duration,
    /// `TCP_KEEPINTVL`: the time from one probe to the next.
    pub(super) interval: Duration,
    /// `TCP_KEEPCNT`: after how many unanswered probes the connection is given up, if there is no
    /// `TCP_USER_TIMEOUT`.
    pub(super) count: u32,
    /// When the timer fires.
    due: Option<Time>,
    /// The number of probes since the last segment of the peer arrived.
    unanswered: u32,
}

impl Default for KeepAlive {
    /// Linux's defaults.
    fn default() -> Self {
        Self {
            is_on: false,
            idle: Duration::from_secs(7200),
            interval: Duration::from_secs(75),
            count: 9,
            due: None,
            unanswered: 0,
        }
    }
}

impl KeepAlive {
    /// Sets one of the four options. For an open connection, `open` has the present time and the
    /// instant at which the last segment of the peer arrived. Returns whether the option accepts
    /// the number.
    pub(super) fn set(
        &mut self,
        option: SocketOption,
        number: i64,
        open: Option<(Time, Time)>,
        clock: Clock,
    ) -> bool {
        let within =
            |most: i64| u64::try_from(number).ok().filter(|_| (1..=most).contains(&number));
        let seconds = within(SECONDS_MAX).map(Duration::from_secs);
        match option {
            SocketOption::KeepAlive => {
                let changes = self.is_on != (number != 0);
                self.is_on = number != 0;
                if let Some((now, _)) = open.filter(|_| changes) {
                    self.start(now, clock);
                }
                true
            }
            SocketOption::KeepIdle => {
                self.idle = seconds.unwrap_or(self.idle);
                if let Some((now, since)) = open.filter(|_| seconds.is_some()) {
                    self.restart(now, since, clock);
                }
                seconds.is_some()
            }
            SocketOption::KeepInterval => {
                self.interval = seconds.unwrap_or(self.interval);
                seconds.is_some()
            }
            _ => {
                let count = within(COUNT_MAX).and_then(|count| u32::try_from(count).ok());
                self.count = count.unwrap_or(self.count);
                count.is_some()
            }
        }
    }

    /// When the timer fires.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// The number of probes since the last segment of the peer arrived.
    pub(super) fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Stops the timer and sets the number of unanswered probes to 0. The settings stay.
    pub(super) fn begin(&mut self) {
        (self.due, self.unanswered) = (None, 0);
    }

    /// Starts the timer if keep-alive is on; otherwise stops it.
    pub(super) fn start(&mut self, now: Time, clock: Clock) {
        self.due = self.is_on.then(|| clock.expiry(now, self.idle));
    }

    /// Sets the timer to the end of the idle time. The last segment of the peer arrived at the
    /// instant `since`.
    pub(super) fn restart(&mut self, now: Time, since: Time, clock: Clock) {
        let rest = (since + self.idle).saturating_since(now);
        self.due = self.is_on.then(|| clock.expiry(now, rest));
    }

    /// Called when the peer shows that it is alive.
    pub(super) fn on_segment_from_peer(&mut self) {
        self.unanswered = 0;
    }

    /// Called when the timer fires. Returns the required step.
    pub(super) fn fire(&mut self, now: Time, peer: &QuietPeer, clock: Clock) -> KeepAliveStep {
        let quiet = now.saturating_since(peer.since);
        if peer.is_busy {
            self.start(now, clock);
            return KeepAliveStep::Wait;
        }
        if quiet < self.idle {
            self.restart(now, peer.since, clock);
            return KeepAliveStep::Wait;
        }
        let gives_up = match peer.user_timeout {
            Some(timeout) => quiet >= timeout && self.unanswered > 0,
            None => self.unanswered >= self.count,
        };
        if gives_up {
            self.due = None;
            return KeepAliveStep::GiveUp;
        }
        self.unanswered += 1;
        self.due = Some(clock.expiry(now, self.interval));
        KeepAliveStep::Probe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux's `tcp_keepalive_timer` waits one more interval after the last of `TCP_KEEPCNT`
    /// probes.
    #[test]
    fn a_silent_peer_is_given_up_one_interval_after_the_last_probe() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mut keep = KeepAlive {
            is_on: true,
            idle: Duration::from_secs(10),
            interval: Duration::from_secs(2),
            count: 2,
            ..KeepAlive::default()
        };
        let peer = QuietPeer { since: at(3), is_busy: false, user_timeout: None };
        keep.restart(at(5), peer.since, Clock::EXACT);
        assert_eq!(keep.due(), Some(at(13)));
        let mut steps = Vec::new();
        while let Some(due) = keep.due() {
            steps.push((due, keep.fire(due, &peer, Clock::EXACT)));
        }
        let (probe, give_up) = (KeepAliveStep::Probe, KeepAliveStep::GiveUp);
        assert_eq!(steps, [(at(13), probe), (at(15), probe), (at(17), give_up)]);
    }

    #[test]
    fn outstanding_data_and_arriving_segments_delay_keep_alive_probes() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mut keep =
            KeepAlive { is_on: true, idle: Duration::from_secs(10), ..KeepAlive::default() };
        let busy = QuietPeer { since: at(0), is_busy: true, user_timeout: None };
        assert_eq!(keep.fire(at(10), &busy, Clock::EXACT), KeepAliveStep::Wait);
        assert_eq!(keep.due(), Some(at(20)));
        let heard = QuietPeer { since: at(14), is_busy: false, ..busy };
        assert_eq!(keep.fire(at(20), &heard, Clock::EXACT), KeepAliveStep::Wait);
        assert_eq!(keep.due(), Some(at(24)));
        // `TCP_USER_TIMEOUT` replaces the maximum number of probes.
        let limited = QuietPeer { user_timeout: Some(Duration::from_secs(10)), ..heard };
        assert_eq!(keep.fire(at(24), &limited, Clock::EXACT), KeepAliveStep::Probe);
        assert_eq!(keep.fire(at(99), &limited, Clock::EXACT), KeepAliveStep::GiveUp);
    }
}
