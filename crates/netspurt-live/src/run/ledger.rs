//! Computes the sums of a flow, such as its counts of retransmissions, from the flow's real
//! packets. A simulated connection keeps these sums itself.

use netspurt::observe::{Acks, Arrivals, Brought, Sequence};
use netspurt::record::FlowSum;
use netspurt::segment::{Cause, Flags, Segment};
use netspurt::units::Time;

/// The sums of one direction of a flow, computed from the packets at the flow's two ends. The
/// source is the end that sends the data of this direction, and the sink is the other end.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The octets that the application of the source sends in total. `None` until the number is
    /// known. The FIN of the source shows the number.
    octets: Option<u64>,
    sum: FlowSum,
    sent: Sequence,
    /// The octet at which the current recovery ends.
    recovery_point: u64,
    /// The acknowledgments that reached the source.
    acks: Acks,
    /// When an acknowledgment last covered new octets.
    advanced: Option<Time>,
    arrivals: Arrivals,
    /// Whether a SYN has reached the source, and the source has not sent a SYN after that.
    asked: bool,
}

impl Ledger {
    /// Creates the ledger of a direction. `octets` is the number of octets that are sent. `None`
    /// means that the number is not known, or that the flow does not end.
    pub fn new(octets: Option<u64>) -> Self {
        Self { octets, ..Self::default() }
    }

    /// Records that the source sent `segment`.
    pub fn sent(&mut self, segment: &Segment) {
        let left = self.sent.take(segment).left;
        if segment.flags.has(Flags::FIN) {
            // The FIN shows how many octets the source sends.
            self.octets.get_or_insert((left + u64::from(segment.len)).saturating_sub(1));
            self.finish_if_covered();
        }
        self.sum.sent += u64::from(segment.len > 0);
        // A SYN-ACK that answers a repeated SYN was not sent because of a timer.
        let answers = segment.flags.has(Flags::SYN) && std::mem::take(&mut self.asked);
        // Retransmissions of SYN and FIN count.
        let Some(cause) = segment.cause.get().filter(|_| segment.seq_len() > 0) else { return };
        self.sum.retransmissions += 1;
        match cause {
            Cause::Syn if answers => {}
            Cause::Rto | Cause::Syn => self.sum.timeouts += 1,
            Cause::Fast | Cause::SackRecovery | Cause::Rack if left >= self.recovery_point => {
                self.sum.fast_retransmits += 1;
                self.recovery_point = self.sent.highest();
            }
            _ => {}
        }
    }

    /// Records that `segment` reached the sink.
    pub fn received(&mut self, segment: &Segment) {
        if segment.len == 0 {
            return;
        }
        self.sum.received += 1;
        let brought = self.arrivals.take(segment);
        self.sum.duplicates += u64::from(brought == Brought::Duplicate);
    }

    /// Records that `segment` reached the source at the instant `at`.
    pub fn answered(&mut self, at: Time, segment: &Segment) {
        self.asked |= segment.flags.has(Flags::SYN);
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        let before = self.acks.highest();
        self.acks.take(segment);
        if self.acks.highest() > before {
            self.advanced = Some(at);
        }
        self.finish_if_covered();
    }

    /// Records when the last octet was acknowledged, if it is known which octet is the last.
    fn finish_if_covered(&mut self) {
        let covered = self.octets.is_some_and(|octets| self.acks.highest() > octets);
        if covered {
            self.sum.finished = self.sum.finished.or(self.advanced);
        }
    }

    /// Returns the sums. Acknowledged octets are counted without SYN and FIN.
    pub fn sum(&self) -> FlowSum {
        let acked = self.acks.highest().saturating_sub(1);
        FlowSum {
            acked_bytes: acked.min(self.octets.unwrap_or(u64::MAX)),
            // The count of octets begins at 1, so one is subtracted.
            delivered_bytes: self.arrivals.in_order() - 1,
            ..self.sum
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment with 100 octets. It is a retransmission if it has a cause.
    fn data(seq: u32, cause: Option<Cause>) -> Segment {
        Segment { seq, len: 100, cause: cause.into(), ..Segment::default() }
    }

    fn ack(ack: u32) -> Segment {
        Segment { ack, flags: Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn a_recovery_with_several_retransmissions_counts_as_one_fast_retransmit() {
        let mut ledger = Ledger::new(None);
        (0..5).for_each(|n| ledger.sent(&data(1 + 100 * n, None)));
        ledger.sent(&data(1, Some(Cause::Fast)));
        ledger.sent(&data(101, Some(Cause::Fast)));
        ledger.sent(&data(501, None));
        ledger.sent(&data(501, Some(Cause::Fast)));
        let sum = ledger.sum();
        assert_eq!(
            (sum.sent, sum.retransmissions, sum.fast_retransmits, sum.timeouts),
            (9, 3, 2, 0)
        );
    }

    #[test]
    fn a_flow_is_finished_when_its_last_octet_is_acknowledged() {
        let mut ledger = Ledger::new(Some(200));
        ledger.answered(Time::from_nanos(5), &ack(200));
        assert_eq!((ledger.sum().finished, ledger.sum().acked_bytes), (None, 199));
        ledger.answered(Time::from_nanos(6), &ack(201));
        ledger.answered(Time::from_nanos(7), &ack(202));
        assert_eq!(ledger.sum().finished, Some(Time::from_nanos(6)));
        assert_eq!(ledger.sum().acked_bytes, 200);
    }

    #[test]
    fn a_fin_shows_how_many_octets_its_sender_sends() {
        let mut ledger = Ledger::new(None);
        ledger.sent(&data(1, None));
        ledger.sent(&Segment {
            seq: 101,
            flags: Flags::ACK.with(Flags::FIN),
            ..Segment::default()
        });
        ledger.answered(Time::from_nanos(7), &ack(102));
        assert_eq!(ledger.sum().acked_bytes, 100);
        assert_eq!(ledger.sum().finished, Some(Time::from_nanos(7)));
    }

    #[test]
    fn a_late_fin_does_not_change_the_finish_time() {
        let mut ledger = Ledger::new(None);
        ledger.sent(&data(1, None));
        ledger.answered(Time::from_nanos(5), &ack(101));
        ledger.answered(Time::from_nanos(6), &ack(101));
        let flags = Flags::ACK.with(Flags::FIN);
        ledger.sent(&Segment { seq: 101, flags, ..Segment::default() });
        ledger.answered(Time::from_nanos(9), &ack(102));
        assert_eq!(ledger.sum().finished, Some(Time::from_nanos(5)));
    }

    #[test]
    fn a_segment_without_new_octets_is_a_duplicate() {
        let mut ledger = Ledger::new(None);
        for seq in [1, 201, 1, 101] {
            ledger.received(&data(seq, None));
        }
        assert_eq!((ledger.sum().received, ledger.sum().duplicates), (4, 1));
    }
}
