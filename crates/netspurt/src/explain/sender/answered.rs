//! Takes the acknowledgments that a sender gets while it is in trouble.

use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::super::infer::Arrived;
use super::super::kept::CapturedOctets;
use super::Sender;

impl Sender {
    /// Takes an acknowledgment that has SACK blocks, or whose sender is in trouble.
    pub(super) fn answered_in_trouble(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        after_gap: bool,
        octets: &CapturedOctets,
    ) {
        if packet.sack().is_empty() && self.trouble.is_none() {
            return;
        }
        let una = octets.una();
        let edges = |place: usize| {
            let block = packet.sack().get(place)?;
            let sequence = octets.sequence();
            Some([sequence.octet(block.left), sequence.octet(block.right)])
        };
        let (ack, first) = (octets.sequence().octet(packet.ack()), octets.sequence().first());
        let trouble = self.trouble.get_or_insert_default();
        trouble.passed(at, packet.timestamps().map(|stamps| stamps.val), ack);
        for place in 0..packet.sack().len() {
            let Some([left, right]) = edges(place).filter(|[left, right]| left < right) else {
                continue;
            };
            let within = edges(1).is_some_and(|[l, r]| l <= left && right <= r);
            if place == 0 && (right <= ack || within) {
                trouble.duplicate_reported(left, right, first);
            } else if left >= una {
                trouble.report(at, left, right);
            }
        }
        trouble.judge(&Arrived {
            at,
            una: (self.before.0, una),
            echo: packet.timestamps().map(|stamps| stamps.ecr),
            far: self.path.far(),
            round: self.path.estimate().map_or(Duration::ZERO, |(rtt, rttvar)| rtt + rttvar * 2),
            awaited_bytes: self.acks.awaited_bytes(self.smss_bytes.into()),
            at_once_bytes: self.acks.most_bytes,
            sack: self.sack.known(),
            after_gap,
        });
        trouble.window_grows(at, una, octets.sequence().highest(), packet);
        trouble.acknowledged(una);
    }
}
