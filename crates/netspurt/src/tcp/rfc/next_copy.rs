//! Decides whether the cwnd of a sender has room, and which segment the sender retransmits next.

use crate::segment::Cause;

use super::config::{Recovery, RfcConfig};
use super::recovery::LossRecovery;
use super::repair::Phase;
use super::send_window::SendWindow;

impl LossRecovery {
    /// Returns the number of octets that fill cwnd. Usually this is `pipe`, the octets in the
    /// network. Without Limited Transmit and outside a repair, it is the number of all outstanding
    /// octets, including those that were reported as arrived.
    pub(super) fn filled_of(&self, pipe: u64, window: &SendWindow, config: &RfcConfig) -> u64 {
        let careful = !config.limited_transmit && !self.repair.phase.is_repairing();
        if careful { self.loss.counted_flight(window, config) } else { pipe }
    }

    /// Whether the congestion window has room for `octets`.
    pub(super) fn fits(&self, octets: u64, window: &SendWindow, config: &RfcConfig) -> bool {
        let octets = if config.cwnd_rules.whole_segments { window.smss } else { octets };
        let filled = self.filled_of(self.pipe(window, config), window, config);
        filled + octets <= self.cwnd.window.cwnd
    }

    /// Returns the place (the index in the scoreboard) of the next lost segment that may be
    /// retransmitted, and the cause.
    pub(super) fn next_lost(
        &mut self,
        window: &SendWindow,
        config: &RfcConfig,
    ) -> Option<(usize, Cause)> {
        let rests = self.repair.pauses || !self.repair.phase.is_repairing();
        if rests || self.loss.scoreboard.waiting() == 0 {
            return None;
        }
        let place = self.loss.scoreboard.next_waiting()?;
        let sent = *self.loss.scoreboard.get(place);
        if !window.takes_copy(sent.seq, config) || self.copies_match_losses(config) {
            return None;
        }
        if !self.repair.forced && !self.fits(sent.len(), window, config) {
            self.cwnd.note_full(window.nxt);
            return None;
        }
        Some((place, self.repair.take_cause(sent.lost)))
    }

    /// Whether the rule `lost_outnumber_copies` forbids the retransmission of a lost segment,
    /// because at least as many retransmissions are outstanding as segments are lost. The rule does
    /// not apply to the first outstanding segment after a timeout.
    fn copies_match_losses(&self, config: &RfcConfig) -> bool {
        let timed_out = self.repair.phase == Phase::Loss && self.repair.forced;
        let rule = config.send_rules.lost_outnumber_copies;
        rule && !timed_out && self.loss.scoreboard.copies_match_losses()
    }

    /// Returns the place of the segment that rule 3 or 4 of RFC 6675 §4 retransmits. The rules
    /// apply if neither a lost segment nor new data can be sent. Rule 3 retransmits segments that
    /// may be lost, below the highest reported octet. Rule 4 retransmits the last segment, once in
    /// a recovery.
    pub(super) fn next_doubtful(
        &mut self,
        window: &SendWindow,
        config: &RfcConfig,
    ) -> Option<usize> {
        let by_blocks = self.loss.uses_sack && config.recovery == Recovery::Sack;
        let recovers = self.repair.phase == Phase::Recovery;
        if !by_blocks || !recovers || !self.fits(window.smss, window, config) {
            return None;
        }
        match self.loss.scoreboard.first_doubtful() {
            Some(place) => Some(place),
            None if self.repair.rescued => None,
            None => {
                let last = self.loss.scoreboard.back().filter(|sent| !sent.sacked);
                self.repair.rescued = last.is_some();
                last.map(|_| self.loss.scoreboard.len() - 1)
            }
        }
    }
}
