//! The circumstances of a retransmission, as its sender knew them.
//!
//! In this file, `near` is the time from the capture to the sender and back.

use crate::units::Time;

use super::super::infer::{AcksOnTheirWay, LabelHint, ScenePlace, SenderScene};
use super::super::kept::Repeat;
use super::super::retransmission::VerdictEvidence;
use super::Sender;

impl Sender {
    /// Returns the circumstances of a retransmission.
    pub(super) fn scene(&mut self, at: Time, old: &Repeat) -> SenderScene {
        let &Repeat { left, right, known, una, first_sent, before_tail, .. } = old;
        // If a queue between the sender and the capture dropped the original, the retransmission
        // waited in this queue.
        let queue = self.path.queue_before().filter(|_| old.missing).unwrap_or_default();
        let near = self.path.near() + queue;
        let round = self.path.least().map_or(near, |least| least + queue);
        let (rtt, rttvar) = self.path.estimate().unwrap_or_default();
        let rtt = rtt + queue;
        let sack = self.sack.known();
        self.trouble.get_or_insert_default();
        let place = self.place(at, old);
        // If the capture has an acknowledgment of the retransmitted octets, this acknowledgment had
        // not reached the sender. The sender knew only the earlier state (`before`). If the clock
        // of the capture was set back, the times of this state may be too late. Then the state is
        // not used.
        let unheard = self.last_acked.unheard((left, right)).filter(|before| {
            before.heard.una_at <= self.heard.una_at && before.heard.answered_at <= at
        });
        let acks = unheard.unwrap_or_else(|| self.known_acks(una));
        let trouble = self.trouble.get_or_insert_default();
        let head = trouble.head(acks.una);
        let last_again = trouble.watch.last_sent(left);
        let last_sent = last_again.or(first_sent);
        let head_sent = trouble.watch.last_sent(head).or(first_sent).unwrap_or(Time::ZERO);
        // The sender's answer to a packet passes the capture later than the packet, by the time
        // `near`.
        let una_heard = acks.heard.una_at + near;
        // If the capture is far from the sender, the retransmission answers an acknowledgment that
        // passed the capture before the retransmission, by about the time `near`.
        let passed_by = at.saturating_before(near * 7 / 8);
        let heard = trouble.passed_before(passed_by).filter(|_| near > SenderScene::SLACK);
        let heard = heard.unwrap_or(acks.heard.answered_at).min(acks.heard.answered_at);
        SenderScene {
            left,
            right,
            head,
            highest: known.max(right),
            at,
            last_sent,
            sent_again: last_again.is_some(),
            waited: at.saturating_since(una_heard.max(head_sent)),
            since_una: at.saturating_since(una_heard),
            lag: at.saturating_since(heard) - near,
            quiet: at.saturating_since(heard.max(self.sent_at)),
            rtt,
            rttvar,
            rtt_min: round,
            hole: acks.reported > left,
            duplicates: acks.duplicates,
            acks: AcksOnTheirWay {
                untold: right <= una && at.saturating_since(self.heard.told_at) > near + rtt * 2,
                known: right > una || unheard.is_some(),
            },
            since_lone: self.waking.since_lone(at, self.path.estimate()),
            overtaken: last_sent.is_some_and(|sent| trouble.newest > (sent, right)),
            proven_for: last_sent.map(|sent| trouble.newest.0.saturating_since(sent)),
            place,
            sack,
            probing: self.sack.probing,
            may_be_probed: before_tail >= rtt * 3 / 2 && !before_tail.is_zero(),
            label: LabelHint::None,
        }
    }

    /// Returns where the retransmitted octets lie among the other octets of the direction.
    fn place(&self, at: Time, old: &Repeat) -> ScenePlace {
        let &Repeat { left, right, una, first_sent, .. } = old;
        let near = self.path.near();
        let round = self.path.least().unwrap_or(near);
        let (rtt, rttvar) = self.path.estimate().unwrap_or_default();
        let Some(trouble) = &self.trouble else { return ScenePlace::default() };
        // Only Linux repeats pieces of its send buffer.
        let linux = self.sack.probing.may_be_linux();
        let piece_bytes_max = if linux { self.current.piece_bytes_max } else { 0 };
        let near_now = self.path.near_now();
        // SACK blocks that passed the capture after the time `passed_by` had not reached the
        // sender.
        let passed_by = at.saturating_before(near_now);
        let same_trigger =
            near > SenderScene::SLACK && trouble.has_same_trigger(at, near_now, left);
        // If the capture missed the acknowledgment that triggered this retransmission, the captured
        // ones end one segment below it.
        let beyond = near > SenderScene::SLACK && left > una + (right - left);
        let untriggered = same_trigger || beyond;
        let smss_bytes = u64::from(self.smss_bytes);
        ScenePlace {
            follows: trouble.follows(at, left, (self.heard.answered_at, untriggered), round)
                && trouble.found.last().is_none_or(|one| one.left + smss_bytes < right),
            same_trigger,
            soon_after_previous: right <= una
                && trouble.found.last().is_some_and(|found| {
                    let (rtt, since) = (rtt + rttvar * 2, at.saturating_since(found.at));
                    found.right <= left && since < rtt + SenderScene::FLOOR
                }),
            reported: !trouble.overflowed
                && match trouble.arrived_before(left, right, una) {
                    Some(VerdictEvidence::Reported) => true,
                    // The acknowledgment may have passed the capture just before, but the sender has
                    // known the SACK block for long.
                    Some(_) => trouble.reported_by(passed_by, left, right),
                    None => false,
                }
                && first_sent.is_none_or(|sent| at.saturating_since(sent) >= round)
                && !(near > SenderScene::SLACK && trouble.reported_since(passed_by, left, right)),
            in_burst: trouble.continues_burst(at, left)
                && right - trouble.burst.0 <= piece_bytes_max,
            burst_repeats_reported: trouble.continues_burst(at, left)
                && right - trouble.burst.0 > piece_bytes_max
                && trouble.burst.1,
            near,
            skips_reported: trouble.found.last().is_some_and(|found| {
                found.right < left && trouble.sacked.holds(found.right.max(una), left)
            }),
            acknowledged: right <= una,
            joins: old.joins || old.right > old.known,
            shortens_tail: old.shortens_tail,
            begins_below_previous: trouble.found.last().is_some_and(|found| left < found.right),
        }
    }
}
