//! Measures how much of cwnd a sender uses, as Linux does (`tcp_cwnd_validate`).

use crate::congestion::Window;
use crate::packed::packed;
use crate::units::{Duration, Time};

/// How much of cwnd the sender used in the last flight.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Whether cwnd was full.
    limited: bool,
    /// The maximum of the field [`Sending::out`].
    most_out: u64,
    /// The end of the flight to which the fields `limited` and `most_out` belong. When all octets
    /// below this end are acknowledged, the measurement of both fields begins again.
    until: u64,
    /// The maximum of the outstanding octets since the measurement last began.
    used: u64,
    /// The instant from which the time without full use of cwnd is counted.
    used_at: Time,
}

packed!(Usage { limited, most_out, until, used, used_at });

/// The state of the sender after it tried to send. `una` is the oldest octet that is not
/// acknowledged, and `nxt` is the next octet to send.
pub(super) struct Sending {
    pub(super) now: Time,
    /// True if a segment was sent.
    pub(super) sent: bool,
    /// Octets in the network.
    pub(super) pipe: u64,
    /// The outstanding octets. If cwnd is counted in whole segments, each segment counts as a full
    /// segment.
    pub(super) out: u64,
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) smss: u64,
    /// The retransmission timeout.
    pub(super) rto: Duration,
    /// The initial window in octets.
    pub(super) initial: u64,
    /// True if the application has no unsent data, no loss is suspected, and the rules let cwnd
    /// shrink after an idle time (`idle_restart`).
    pub(super) is_application_limited: bool,
}

impl Usage {
    /// Begins to measure again, because a rule has set cwnd, or because the sender used enough of
    /// cwnd for cwnd to grow.
    pub(super) fn begin(&mut self, now: Time) {
        (self.used, self.used_at) = (0, now);
    }

    /// Starts the count of the time without full use of cwnd again at the instant `now`, because an
    /// ACK that may open cwnd has arrived (`tcp_cong_avoid`).
    #[inline]
    pub(super) fn refresh(&mut self, now: Time) {
        self.used_at = now;
    }

    /// True if cwnd may grow: it was full, or in slow start more than half full
    /// (`tcp_is_cwnd_limited`).
    pub(super) fn earns_growth(&self, window: &Window) -> bool {
        self.limited || window.in_slow_start() && window.cwnd < 2 * self.most_out
    }

    /// Measures how much of cwnd is used. cwnd loses half of its unused part if the application
    /// limited the sender and cwnd was not fully used for an RTO. If `owns` is true, the congestion
    /// control alone sets cwnd, and cwnd loses nothing here.
    pub(super) fn count(&mut self, sending: &Sending, window: &mut Window, owns: bool) {
        let &Sending { now, out, una, nxt, .. } = sending;
        let limited = sending.pipe + sending.smss > window.cwnd;
        if !sending.sent && !limited {
            return;
        }
        if una >= self.until || limited || !self.limited && out > self.most_out {
            (self.limited, self.most_out, self.until) = (limited, out, nxt);
        }
        if self.earns_growth(window) {
            return self.begin(now);
        }
        self.used = self.used.max(out);
        if now.saturating_since(self.used_at) >= sending.rto && !owns {
            self.give_up_unused(sending, window);
        }
    }

    /// After an RTO in which the application limited the sender, cwnd loses half of its unused part
    /// (RFC 2861 §3.1, `tcp_cwnd_application_limited`).
    fn give_up_unused(&mut self, sending: &Sending, window: &mut Window) {
        if sending.is_application_limited {
            let used = self.used.max(sending.initial);
            if used < window.cwnd {
                raise_ssthresh(window, sending.smss);
                let segs = (window.cwnd + used) / sending.smss / 2;
                window.cwnd = segs * sending.smss;
            }
            self.used = 0;
        }
        self.used_at = sending.now;
    }
}

/// Raises ssthresh to at least three quarters of cwnd before cwnd shrinks (RFC 2861 §3.1). Half of
/// cwnd and a quarter of cwnd are each rounded down to whole segments.
pub(super) fn raise_ssthresh(window: &mut Window, smss: u64) {
    let segs = window.cwnd / smss;
    let kept = (segs / 2 + segs / 4) * smss;
    window.ssthresh = window.ssthresh.max(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender that has just sent a segment. The number of its outstanding octets is `out`.
    fn sending(ms: u64, out: u64) -> Sending {
        Sending {
            now: Time::ZERO + Duration::from_millis(ms),
            sent: true,
            pipe: out,
            out,
            una: ms,
            nxt: ms + 1,
            smss: 1000,
            rto: Duration::from_millis(200),
            initial: 10_000,
            is_application_limited: true,
        }
    }

    /// Linux's rule (`tcp_is_cwnd_limited`): in slow start cwnd may grow if it is more than half
    /// full.
    #[test]
    fn cwnd_grows_only_if_full_but_in_slow_start_more_than_half_full_is_enough() {
        let mut usage = Usage::default();
        let mut window = Window { cwnd: 20_000, ssthresh: 1 };
        usage.count(&sending(1, 19_000), &mut window, false);
        assert!(!usage.earns_growth(&window));
        window.ssthresh = Window::NO_THRESHOLD;
        assert!(usage.earns_growth(&window));
        window = Window { cwnd: 20_000, ssthresh: 1 };
        usage.count(&sending(2, 19_500), &mut window, false);
        assert!(usage.earns_growth(&window));
    }

    /// RFC 2861 §3.1: cwnd becomes (cwnd + used) / 2, and ssthresh becomes at least 3/4 of cwnd.
    #[test]
    fn cwnd_loses_half_of_its_unused_part_after_an_rto() {
        let mut usage = Usage::default();
        let mut window = Window { cwnd: 40_000, ssthresh: 1 };
        usage.begin(Time::ZERO);
        usage.count(&sending(100, 12_000), &mut window, false);
        assert_eq!(window.cwnd, 40_000);
        usage.count(&sending(200, 5_000), &mut window, true);
        assert_eq!(window.cwnd, 40_000, "an algorithm that owns cwnd sets it itself");
        usage.count(&sending(201, 5_000), &mut window, false);
        assert_eq!(window, Window { cwnd: 26_000, ssthresh: 30_000 });
    }
}
