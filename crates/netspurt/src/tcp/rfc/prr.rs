//! Proportional rate reduction (RFC 9937 §6), which reduces cwnd step by step during recovery.

use crate::packed::packed;

/// cwnd in recovery: it falls to ssthresh in proportion to the delivered octets.
#[derive(Debug, Default)]
pub(super) struct Prr {
    /// Octets delivered since recovery began.
    delivered: u64,
    /// Octets sent since recovery began.
    out: u64,
    /// The flight size when recovery began (`RecoverFS`). In Linux, it is cwnd when recovery began.
    recover_fs: u64,
    /// True until a segment, usually the first retransmission, is sent in this recovery.
    first: bool,
}

packed!(Prr { delivered, out, recover_fs, first });

/// The facts about one ACK that the algorithm needs.
pub(super) struct PrrAck {
    /// Octets that the ACK delivered (`DeliveredData`).
    pub(super) delivered: u64,
    /// Octets in the network.
    pub(super) pipe: u64,
    /// The slow-start threshold, to which cwnd falls.
    pub(super) ssthresh: u64,
    /// Sender maximum segment size.
    pub(super) smss: u64,
    /// Whether the acknowledgment number rose and the ACK showed no further loss (`SafeACK`).
    pub(super) safe: bool,
    /// Whether the sender rounds the octets that it may send up to whole segments while pipe is
    /// above ssthresh, as in Linux.
    pub(super) whole: bool,
}

impl Prr {
    /// Begins a recovery. `flight` is the value of `RecoverFS` in octets.
    pub(super) fn begin(&mut self, flight: u64) {
        *self = Self { delivered: 0, out: 0, recover_fs: flight.max(1), first: true };
    }

    /// True until a segment is sent in this recovery.
    pub(super) fn owes_first(&self) -> bool {
        self.first
    }

    /// Notes that `octets` octets were sent.
    pub(super) fn sent(&mut self, octets: u64) {
        self.out += octets;
        self.first = false;
    }

    /// Returns cwnd after an ACK. cwnd is at least one segment.
    pub(super) fn on_ack(&mut self, ack: &PrrAck) -> u64 {
        self.delivered += ack.delivered;
        let mut allowance = if ack.pipe > ack.ssthresh {
            let share = u128::from(self.delivered) * u128::from(ack.ssthresh);
            let due = share.div_ceil(u128::from(self.recover_fs));
            let due = u64::try_from(due).unwrap_or(u64::MAX);
            let due = if ack.whole { due.div_ceil(ack.smss).saturating_mul(ack.smss) } else { due };
            due.saturating_sub(self.out)
        } else {
            let owed = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let more = if ack.safe { ack.smss } else { 0 };
            (owed + more).min(ack.ssthresh - ack.pipe)
        };
        if self.first {
            allowance = allowance.max(ack.smss);
        }
        (ack.pipe + allowance).max(ack.smss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;

    /// An ACK that delivered one segment, with ssthresh at ten segments. The flag `safe` is as in
    /// [`PrrAck`].
    fn ack(pipe: u64, safe: bool) -> PrrAck {
        PrrAck { delivered: SMSS, pipe, ssthresh: 10 * SMSS, smss: SMSS, safe, whole: false }
    }

    /// RFC 9937 §6.2, first branch: if ssthresh is half of cwnd, one segment is sent for every two
    /// segments that are delivered.
    #[test]
    fn with_pipe_above_ssthresh_one_segment_is_sent_for_every_two_delivered() {
        let mut prr = Prr::default();
        prr.begin(20 * SMSS);
        let mut pipe = 19 * SMSS;
        let mut sent = Vec::new();
        for _ in 0..8 {
            pipe -= SMSS;
            let room = prr.on_ack(&ack(pipe, false)) - pipe;
            let segs = room / SMSS;
            prr.sent(segs * SMSS);
            pipe += segs * SMSS;
            sent.push(segs);
        }
        // The first retransmission is sent immediately. In all, the sender sends half as many
        // segments as are delivered.
        assert_eq!(sent, [1, 0, 0, 1, 0, 1, 0, 1]);
    }

    /// Linux rounds up the octets to send, so the second segment follows the third delivery, not
    /// the fourth.
    #[test]
    fn with_whole_segments_the_second_segment_is_sent_one_ack_earlier() {
        let sent = |whole| {
            let mut prr = Prr::default();
            prr.begin(20 * SMSS);
            let mut pipe = 19 * SMSS;
            let leave = |_| {
                pipe -= SMSS;
                let room = prr.on_ack(&PrrAck { whole, ..ack(pipe, false) }) - pipe;
                prr.sent(room / SMSS * SMSS);
                pipe += room / SMSS * SMSS;
                room / SMSS
            };
            (0..6).map(leave).collect::<Vec<_>>()
        };
        assert_eq!(sent(true), [1, 0, 1, 0, 1, 0]);
        assert_eq!(sent(false), [1, 0, 0, 1, 0, 1]);
    }

    /// RFC 9937 §6.2, second branch: with pipe at or below ssthresh, the sender sends as many
    /// octets as were delivered. It sends one segment more if the ACK shows no further loss. In
    /// this branch cwnd exceeds ssthresh only for the first retransmission.
    #[test]
    fn with_pipe_below_ssthresh_the_sender_sends_at_most_one_segment_more_than_was_delivered() {
        for (safe, room) in [(false, SMSS), (true, 2 * SMSS)] {
            let mut prr = Prr::default();
            prr.begin(20 * SMSS);
            prr.sent(SMSS);
            assert_eq!(prr.on_ack(&ack(4 * SMSS, safe)), 4 * SMSS + room);
        }
        let mut prr = Prr::default();
        prr.begin(20 * SMSS);
        assert_eq!(
            prr.on_ack(&ack(10 * SMSS, true)),
            11 * SMSS,
            "the first retransmission is not sent yet"
        );
        prr.sent(SMSS);
        assert_eq!(prr.on_ack(&ack(10 * SMSS, true)), 10 * SMSS);
    }
}
