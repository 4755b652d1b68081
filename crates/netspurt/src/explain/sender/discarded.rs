//! Octets that came to the receiver's host, and that the host dropped.
//!
//! A capture beside the receiver has the packets that come to the host. The host may drop some of
//! them. Examples of reasons are a full queue of a listener, a full receive buffer, and a wrong
//! checksum. A host may also refuse data that comes with a SYN (RFC 7413 §4.2.2). The receiver's
//! later packets show that its host dropped octets.

use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::super::kept::{CapturedOctets, Repeat};
use super::super::rule::CauseRule;
use super::Sender;

impl Sender {
    /// The number of latest retransmissions that are searched for other transmissions of the same
    /// octets.
    pub(super) const LATEST: usize = 64;

    /// The maximum time from a packet in the capture to the answer of the receiver beside the
    /// capture. This time includes a margin for busy hosts.
    fn answer_time(&self) -> Duration {
        self.path.far().unwrap_or_default() * 3 / 2 + Duration::from_millis(1)
    }

    /// Whether the receiver's host dropped an earlier transmission of the octets of the
    /// retransmission `packet`. This earlier transmission came to the host at the instant
    /// `last_sent`.
    pub(super) fn is_discarded(
        &self,
        packet: &impl CapturedTcp,
        old: &Repeat,
        last_sent: Option<Time>,
    ) -> bool {
        let Some(sent) = last_sent else { return false };
        if old.left != old.una {
            // A receiver that lacks octets answers each segment at once (RFC 5681 §4.2). If these
            // octets had arrived, a SACK block would report them by now.
            let next = self.trouble.as_ref().and_then(|known| known.sacked.next_from(old.left));
            let unreported = next.is_some_and(|block| block.0 >= old.right);
            return unreported && self.heard.told_at > sent + self.answer_time();
        }
        let [syn, ack] = [Flags::SYN, Flags::ACK].map(|flag| packet.flags().has(flag));
        match (syn, ack) {
            // A host answers a SYN at once. So if the SYN is sent again, the host seems to have
            // dropped the earlier SYN.
            (true, false) => true,
            (true, true) if self.current.answers_syn => true,
            // A SYN-ACK answers the SYN and the data in it.
            _ => {
                let syn_at = Some(self.heard.syn_at).filter(|at| *at > Time::ZERO);
                self.heard.packet_at > sent + self.answer_time() || syn_at >= Some(sent)
            }
        }
    }

    /// Whether the host did not answer the last retransmission of octets that come again at the
    /// instant `at`, and begin at the offset `left`. Also notes this at that retransmission.
    ///
    /// A host answers at once if octets arrive twice (RFC 9293 §3.10.7.4). So a host that stayed
    /// silent took none of the earlier transmissions.
    pub(super) fn stayed_silent(&mut self, at: Time, left: u64) -> bool {
        let (heard, answer) = (self.heard.packet_at, self.answer_time());
        let Some(trouble) = &mut self.trouble else { return false };
        let mut latest = trouble.found.iter_mut().rev().take(Self::LATEST);
        let Some(last) = latest.find(|one| one.left == left) else { return false };
        let silent = heard < last.at && at > last.at + answer && !last.original_missing;
        last.discarded |= silent;
        silent
    }

    /// Takes a packet of the receiver that was captured at the instant `at`. It acknowledges
    /// `acked_bytes` new octets.
    #[inline]
    pub fn heard_packet(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        acked_bytes: u64,
        octets: &CapturedOctets,
    ) {
        self.heard.packet_at = at;
        let syn = packet.flags().has(Flags::SYN);
        if syn {
            self.heard.syn_at = at;
        }
        if self.trouble.is_some() {
            self.note_discarded(at, (syn, acked_bytes), octets);
        }
    }

    /// Notes for which retransmissions the host dropped the earlier transmissions.
    fn note_discarded(
        &mut self,
        at: Time,
        (syn, acked_bytes): (bool, u64),
        octets: &CapturedOctets,
    ) {
        let before = at.saturating_before(self.answer_time());
        let late = syn && acked_bytes > 0 && at.saturating_since(self.sent_at) >= Self::SYN_WAIT;
        let Some(trouble) = &mut self.trouble else { return };
        for number in trouble.watch.outstanding_from(octets.una(), before) {
            trouble.found[number].discarded = true;
        }
        // Some hosts answer a SYN late, for example a proxy that first opens another connection.
        if late {
            let syns = trouble.found.iter_mut().filter(|one| one.rule == CauseRule::Syn);
            syns.for_each(|one| one.discarded = false);
        }
    }
}
