//! Segments with octets that were sent before, and acknowledgments that acknowledge nothing new.

use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::super::infer::{BeforeProbe, SenderScene, Vantage, is_bare_fin};
use super::super::kept::{Acknowledged, CapturedOctets, is_duplicate, reports_duplicate};
use super::Sender;

impl Sender {
    /// Whether a segment with old octets is neither a retransmission nor a late original nor a
    /// copy. The octets below `una` are acknowledged, and the octets from octet `known` on are new.
    /// Such a segment is one of four things:
    /// * a probe of the receiver,
    /// * a segment that begins with the octet of a window probe,
    /// * a SYN-ACK after a SYN of the same side,
    /// * an acknowledgment that carries the FIN again.
    pub(super) fn repeats_nothing(
        &self,
        packet: &impl CapturedTcp,
        octets: (u64, u64),
        known: u64,
        una: u64,
    ) -> bool {
        let before = BeforeProbe { known, una, closed: self.window == Some(0) };
        // If both sides open the connection, each sends a SYN and a SYN-ACK (RFC 9293 §3.5).
        let both =
            self.opens && [Flags::SYN, Flags::ACK].iter().all(|one| packet.flags().has(*one));
        both || self.carries_fin_again(packet)
            || before.is_probe(packet, octets)
            || self.probed.begins(octets, una, known)
    }

    /// Whether `packet` is an acknowledgment that carries the FIN again. FreeBSD sets FIN in each
    /// packet that it sends after its FIN. While the sender retransmits, the packet may also be a
    /// retransmission, so the answer is no. The answer is also no in a capture away from the
    /// sender, because the path may have lost the packet that acknowledged the octets first.
    fn carries_fin_again(&self, packet: &impl CapturedTcp) -> bool {
        let repairs = self.trouble.as_ref().is_some_and(|trouble| trouble.repairs());
        self.current.acks_anew && is_bare_fin(packet) && self.path.is_beside_sender() && !repairs
    }

    /// Whether `packet` is a first SYN or SYN-ACK that was captured after its answer. This happens
    /// if a host captures the two directions on two interfaces. If such a packet comes much later
    /// than its answer, it is a retransmission, and the capture lacks the original.
    ///
    /// Far from the sender, a SYN is also late if packets without a SYN came before it from the same
    /// side. When a side sends such packets, it knows that its SYN has arrived, and so does not send
    /// the SYN again (RFC 9293 §3.5). So the later packets overtook this SYN on the path.
    pub(super) fn is_late_opening(&self, at: Time, packet: &impl CapturedTcp) -> bool {
        let first = self.sent_at == Time::ZERO
            && at.saturating_since(self.heard.answered_at) < Self::SYN_WAIT;
        let overtaken = self.current.is_late_syn && self.path.vantage().0 == Vantage::Receiver;
        packet.flags().has(Flags::SYN) && (first || overtaken)
    }

    /// An application that waits for data reads the data within the time `READING`. If the window
    /// grows within this time, such a read made it grow.
    const READING: Duration = Duration::from_millis(1);

    /// Counts duplicate acknowledgments in a row. An acknowledgment of new octets ends the row
    /// (`news`). A segment that repeats the acknowledgment, but has data or another window, also
    /// ends the row, because it is no duplicate acknowledgment (RFC 5681 §2).
    #[inline]
    pub(super) fn count_in_row(
        &mut self,
        packet: &impl CapturedTcp,
        news: bool,
        same_window: bool,
        octets: &CapturedOctets,
    ) {
        if !news && same_window && is_duplicate(packet, octets) {
            self.duplicates.same_window += 1;
            self.duplicates.row += 1;
        } else if news {
            (self.duplicates.same_window, self.duplicates.row) = (0, 0);
        } else if octets.sequence().octet(packet.ack()) == octets.una() {
            self.duplicates.row = 0;
        }
    }

    /// Takes a duplicate acknowledgment. Away from the sender, an acknowledgment that only reports a
    /// duplicate segment is no sign of a loss (RFC 6675 §2). It may answer a retransmission that
    /// passed the capture just before, and then the next retransmissions had left the sender
    /// already.
    pub(super) fn duplicate(&mut self, at: Time, packet: &impl CapturedTcp) {
        let afar = self.path.near() > SenderScene::SLACK;
        let only_a_duplicate = packet.sack().len() == 1 && reports_duplicate(packet);
        self.duplicates.count += u32::from(!(afar && only_a_duplicate));
        (self.heard.answered_at, self.heard.told_at) = (at, at);
        if self.heard.una_at == Time::ZERO {
            // The capture lacks the first acknowledgment with this number. So the time of this
            // duplicate is used.
            self.heard.una_at = at;
        }
        self.sack.duplicate(packet);
        if self.duplicates.count == 3
            && let Some(trouble) = &mut self.trouble
        {
            trouble.machine.traits.limited.1 += 1;
        }
    }

    /// Takes an acknowledgment that acknowledges nothing new. Counts this acknowledgment under
    /// three conditions: it occupies no sequence numbers, the sender has sent segments, and nothing
    /// is outstanding. `last` is the window of the previous acknowledgment.
    pub(super) fn answered_when_idle(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        octets: &CapturedOctets,
        last: Option<u16>,
    ) {
        if packet.seq_len() > 0 || !octets.outstanding().is_empty() || !self.started {
            return;
        }
        self.idle_acks += 1;
        self.acks.idle = self.acks.idle.max(self.idle_acks);
        // If the window grows just after an acknowledgment of new octets, the application has read
        // them. Some receivers then send a window update, which answers no segment.
        let updates = self.window > last && at.saturating_since(self.heard.una_at) <= Self::READING;
        if self.window == last || self.sack.known() == Some(false) && !updates {
            self.answered_copy(at, packet, octets);
        }
    }

    /// Takes an acknowledgment that repeats the previous acknowledgment. If the outstanding
    /// segments were sent too late to cause it, the cause was a segment whose octets had already
    /// arrived (RFC 5681 §4.2). A receiver that sends D-SACK blocks adds a block to such an
    /// acknowledgment (RFC 2883 §4). So if the receiver is known to send D-SACK blocks, an
    /// acknowledgment without a block does not count.
    pub(super) fn answered_copy(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        octets: &CapturedOctets,
    ) {
        let (Some(trouble), Some(far)) = (&mut self.trouble, self.path.far()) else { return };
        if !packet.sack().is_empty() || !packet.options_whole() {
            return;
        }
        let since = |one: &Acknowledged| at.saturating_since(one.first_sent);
        if self.sack.known() == Some(false) {
            let most = self.path.estimate().map_or(far, |(rtt, rttvar)| far.max(rtt + rttvar * 2));
            let newest = octets.outstanding().back();
            if newest.is_none_or(|one| since(one) > most * 2)
                && trouble.next_answered(at, octets.una(), far..=most * 2)
            {
                return;
            }
        }
        let silent = self.sack.known().is_some_and(|sack| !sack || !trouble.reports_duplicates);
        let older = octets.outstanding().front().is_some_and(|one| since(one) >= far * 7 / 8);
        if silent && !older {
            trouble.duplicate_answered(at, far);
        } else if self.sack.known() == Some(false) {
            trouble.unclear_duplicates += 1;
        }
    }
}
