//! Retransmissions of packets that were too big for the path.

use crate::units::{Duration, Time};

use super::scene::SenderScene;

/// The latest report of a router that a packet of the sender was too big (RFC 1191 §4).
///
/// A sender may send all outstanding octets again in smaller packets as soon as a report comes (RFC
/// 1191 §6.4). Other senders ignore reports, or wait for their timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct TooBigReports {
    /// When the report was captured. `None` without a report.
    at: Option<Time>,
    /// The octet after the highest octet that was sent before the report.
    until: u64,
    /// Whether the sender has sent octets again because of this report or of earlier reports.
    reacted: bool,
}

impl TooBigReports {
    /// Takes a report. The octets from `una` to `highest` are outstanding.
    pub fn report(&mut self, at: Time, una: u64, highest: u64) {
        let reacted = self.reacted && una < self.until;
        *self = Self { at: Some(at), until: highest, reacted };
    }

    /// Whether the sender sent the retransmission of `scene` because of the latest report. Such a
    /// retransmission repeats octets that were last sent before the report. The first such
    /// retransmission comes at once after the report. The others may wait for acknowledgments.
    /// `near` is the time from the capture to the sender and back. `since` is when the last phase
    /// of loss recovery began, or when its last timeout came. If `since` is after the report, the
    /// answer is no.
    pub fn explains(&mut self, scene: &SenderScene, near: Duration, since: Time) -> bool {
        let Some(at) = self.at.filter(|at| *at <= scene.at && since <= *at) else { return false };
        let outstanding =
            scene.right <= self.until && scene.last_sent.is_none_or(|sent| sent <= at);
        let after = scene.at.saturating_since(at) - near;
        self.reacted |= outstanding && scene.is_at_once(after);
        self.reacted && outstanding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a phase of loss recovery began after the report, a later retransmission does not show
    /// that the sender reacts to reports.
    #[test]
    fn a_retransmission_in_a_later_phase_of_recovery_is_no_reaction_to_a_report() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let scene = |ms| SenderScene { at: at(ms), right: 1000, ..SenderScene::default() };
        let mut reports = TooBigReports::default();
        reports.report(at(10), 0, 2000);
        assert!(!reports.explains(&scene(12), Duration::ZERO, at(11)));
        reports.report(at(13), 0, 2000);
        assert!(!reports.explains(&scene(90), Duration::ZERO, at(11)));
        assert!(reports.explains(&scene(15), Duration::ZERO, at(11)));
        assert!(reports.explains(&scene(90), Duration::ZERO, at(11)));
    }
}
