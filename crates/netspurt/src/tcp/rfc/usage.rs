//! How much of its window a sender uses, as Linux counts it (`tcp_cwnd_validate`).

use crate::units::Time;

use super::Tcb;
use super::repair::Phase;

/// What was used of the window of late.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Whether the window was full.
    limited: bool,
    /// The most that was out, in octets of whole segments.
    most_out: u64,
    /// The octet up to which the two above hold.
    until: u64,
    /// The most that was out since the window was last used, and when that was.
    used: u64,
    used_at: Time,
}

impl Usage {
    /// The window is what it is for other reasons than use.
    pub(super) fn begin(&mut self, now: Time) {
        (self.used, self.used_at) = (0, now);
    }
}

impl Tcb {
    /// Whether growth is earned: the window was full, or in slow start more than half so
    /// (`tcp_is_cwnd_limited`).
    pub(super) fn uses_window(&self) -> bool {
        let window = &self.window;
        self.usage.limited || window.in_slow_start() && window.cwnd < 2 * self.usage.most_out
    }

    /// Something was `sent`, or was to be sent.
    pub(super) fn count_usage(&mut self, sent: bool, now: Time) {
        let limited = self.pipe() + self.smss > self.window.cwnd;
        if !sent && !limited {
            return;
        }
        let out = self.counted_flight();
        let usage = &mut self.usage;
        if self.una >= usage.until || limited || !usage.limited && out > usage.most_out {
            (usage.limited, usage.most_out, usage.until) = (limited, out, self.nxt);
        }
        if self.uses_window() {
            self.usage.begin(now);
            return;
        }
        self.usage.used = self.usage.used.max(out);
        let since = now.saturating_since(self.usage.used_at);
        if since >= self.timer.rto() && !self.congestion.owns_window() {
            self.give_up_unused(now);
        }
    }

    /// After a timer's time in which the application held it back, half of what it did not use of
    /// the window goes (RFC 2861 §3.1, `tcp_cwnd_application_limited`).
    fn give_up_unused(&mut self, now: Time) {
        if self.repair.phase == Phase::Open && self.unsent() == 0 {
            let initial = self.config.initial_window(self.smss) * self.smss;
            let used = self.usage.used.max(initial);
            if used < self.window.cwnd {
                self.remember_window();
                let segs = (self.window.cwnd + used) / self.smss / 2;
                self.window.cwnd = segs * self.smss;
            }
            self.usage.used = 0;
        }
        self.usage.used_at = now;
    }

    /// The threshold keeps three quarters of a window that is given up (RFC 2861 §3.1).
    pub(super) fn remember_window(&mut self) {
        let segs = self.window.cwnd / self.smss;
        let kept = (segs / 2 + segs / 4) * self.smss;
        self.window.ssthresh = self.window.ssthresh.max(kept);
    }
}
