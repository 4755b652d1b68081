//! F-RTO (RFC 5682), as in the network simulator ns-2: two new ACKs in a row after a timeout prove
//! the timeout spurious.

use super::trial::TrialStep;
use super::{Ack, NsSender};

impl NsSender {
    /// Saves the state that the timeout will change.
    pub(super) fn frto_before_timeout(&mut self) {
        self.trial.step = TrialStep::Off;
        let window = u32::try_from(self.whole_window_segs()).unwrap_or(u32::MAX);
        self.trial.prior_segs = window.max(self.ssthresh_segs);
    }

    /// Begins F-RTO after a timeout with octets outstanding. F-RTO does not begin if the timeout
    /// ended a repair of the sender sack1 (`repairing`).
    pub(super) fn frto_on_timeout(&mut self, repairing: bool) {
        if self.config.frto && !repairing {
            self.trial.step = TrialStep::TimedOut;
        }
    }

    /// The window with which F-RTO allows two new segments (`force_wnd`). The result is `None`
    /// while F-RTO does not set the window.
    #[inline]
    pub(super) fn frto_window_segs(&self) -> Option<u64> {
        let beyond = || self.tx.segs(self.recover.saturating_sub(self.tx.una)) + 2;
        (self.trial.step == TrialStep::Probes).then(beyond)
    }

    /// Advances F-RTO on a new ACK. The first new ACK allows two new segments. But F-RTO ends in
    /// three cases: there is no new data, the receiver's window has no room for two segments, or
    /// this ACK covers all octets that were sent before the timeout. The second new ACK proves the
    /// timeout spurious.
    #[inline]
    pub(super) fn frto_on_new_ack(&mut self) {
        match self.trial.step {
            TrialStep::Off => {}
            TrialStep::TimedOut => self.frto_probe(),
            TrialStep::Probes => self.frto_spurious(),
        }
    }

    fn frto_probe(&mut self) {
        let beyond = self.recover + self.tx.smss();
        let full = !self.in_receive_window(beyond);
        if full || self.recover >= self.tx.end || self.tx.una == self.recover {
            self.trial.step = TrialStep::Off;
        } else {
            self.tx.nxt = self.recover;
            self.trial.step = TrialStep::Probes;
        }
    }

    /// Undoes the timeout (`spurious_response_ 1`): cwnd becomes the number of segments from
    /// `previous_una` to the next octet to send (`nxt`), plus one. `previous_una` is the value of
    /// `una` (the oldest octet that is not acknowledged) before the last new ACK. ssthresh becomes
    /// the value saved before the timeout.
    #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^53 segments")]
    fn frto_spurious(&mut self) {
        self.trial.step = TrialStep::Off;
        self.cwnd_segs = (self.tx.segs(self.tx.nxt - self.previous_una) + 1) as f64;
        self.ssthresh_segs = self.trial.prior_segs;
        self.recover = self.tx.start_of(self.tx.una).max(1);
        self.tx.count.undone += 1;
    }

    /// Processes a duplicate ACK. Returns whether this ACK proves that the timeout was not
    /// spurious. If so, the sender starts go-back-N, as without F-RTO.
    pub(super) fn frto_fails(&mut self) -> bool {
        let cwnd_segs = match self.trial.step {
            TrialStep::Off => return false,
            TrialStep::TimedOut => 1.0,
            TrialStep::Probes => 2.0,
        };
        self.tx.nxt = self.tx.una;
        self.cwnd_segs = cwnd_segs;
        self.trial.step = TrialStep::Off;
        true
    }

    /// Processes a duplicate ACK in the sender sack1 after F-RTO has allowed new segments. The flag
    /// `news` says whether the SACK blocks of the ACK report anything new. The timeout counts as
    /// spurious if they report something new, and nothing in the range `after`. This range begins
    /// with the last packet sent before the timeout, and ends before the last packet sent so far.
    pub(super) fn frto_on_blocks(&mut self, news: bool, ack: &Ack<'_>) {
        if self.trial.step != TrialStep::Probes {
            return;
        }
        let after = (self.tx.start_of(self.recover), self.tx.start_of(self.tx.max));
        if news && !ack.reports(self.tx.una, after) {
            self.frto_spurious();
        } else if self.frto_fails() {
            self.dupacks = 0;
        }
    }
}
