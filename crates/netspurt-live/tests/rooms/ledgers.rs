//! Tests of ledgers. A ledger has the sums of one direction of a flow, such as its number of
//! retransmissions. The ledger computes these sums from the packets that are seen at the flow's two
//! ends. A shim is a retransmission timer between a host's TCP and the path.

use netspurt::ids::EndId;
use netspurt::segment::{Cause, Flags, Segment};
use netspurt_live::run::Ledger;
use proptest::prelude::*;

use super::common::{ack, data, ms};

fn retransmission(number: u64, cause: Cause) -> Segment {
    Segment { cause: Some(cause).into(), ..data(number) }
}

#[test]
fn each_cause_counts_as_a_timeout_or_as_a_fast_retransmit_or_as_neither() {
    for (cause, timeouts, fast) in [
        (Cause::Rto, 1, 0),
        (Cause::Syn, 1, 0),
        (Cause::Fast, 0, 1),
        (Cause::SackRecovery, 0, 1),
        (Cause::Rack, 0, 1),
        (Cause::GoBackN, 0, 0),
        (Cause::Tlp, 0, 0),
    ] {
        let mut ledger = Ledger::new(None);
        (0..4).for_each(|number| ledger.sent(&data(number)));
        ledger.sent(&retransmission(0, cause));
        let sum = ledger.sum();
        assert_eq!((sum.sent, sum.retransmissions), (5, 1), "{cause:?}");
        assert_eq!((sum.timeouts, sum.fast_retransmits), (timeouts, fast), "{cause:?}");
    }
}

#[test]
fn a_retransmission_of_octets_that_were_sent_in_recovery_begins_a_new_recovery() {
    let mut ledger = Ledger::new(None);
    (0..4).for_each(|number| ledger.sent(&data(number)));
    // Recovery covers the octets that were sent before it began.
    ledger.sent(&retransmission(0, Cause::SackRecovery));
    (4..8).for_each(|number| ledger.sent(&data(number)));
    ledger.sent(&retransmission(3, Cause::SackRecovery));
    assert_eq!(ledger.sum().fast_retransmits, 1);
    ledger.sent(&retransmission(4, Cause::SackRecovery));
    assert_eq!(ledger.sum().fast_retransmits, 2);
    ledger.sent(&retransmission(5, Cause::SackRecovery));
    assert_eq!((ledger.sum().fast_retransmits, ledger.sum().retransmissions), (2, 4));
}

#[test]
fn retransmitted_syns_and_fins_are_counted_but_pure_acks_are_not() {
    let mut ledger = Ledger::new(Some(1000));
    let syn = Segment { flags: Flags::SYN, len: 0, seq: 0, ..data(0) };
    ledger.sent(&syn);
    ledger.sent(&Segment { cause: Some(Cause::Syn).into(), ..syn });
    ledger.sent(&Segment { len: 0, ..data(0) });
    ledger.sent(&data(0));
    let fin = Segment { seq: 1001, len: 0, flags: Flags::FIN.with(Flags::ACK), ..data(0) };
    ledger.sent(&fin);
    ledger.sent(&Segment { cause: Some(Cause::Rto).into(), ..fin });
    let sum = ledger.sum();
    assert_eq!((sum.sent, sum.retransmissions, sum.timeouts), (1, 2, 2));
}

#[test]
fn a_syn_ack_that_answers_a_repeated_syn_is_no_timeout() {
    let mut ledger = Ledger::new(None);
    let syn = Segment { flags: Flags::SYN, ..ack(0, 0) };
    let flags = Flags::SYN.with(Flags::ACK);
    let answer = Segment { seq: 0, len: 0, flags, ..data(0) };
    let again = Segment { cause: Some(Cause::Syn).into(), ..answer };
    ledger.answered(ms(10), &syn);
    ledger.sent(&answer);
    ledger.answered(ms(1010), &syn);
    for (retransmissions, timeouts) in [(1, 0), (2, 1)] {
        ledger.sent(&again);
        let sum = ledger.sum();
        assert_eq!((sum.retransmissions, sum.timeouts), (retransmissions, timeouts));
    }
}

#[test]
fn octets_are_delivered_once_and_in_order() {
    let mut ledger = Ledger::new(None);
    for (number, delivered, duplicates) in
        [(0, 1000, 0), (2, 1000, 0), (2, 1000, 1), (1, 3000, 1), (0, 3000, 2), (3, 4000, 2)]
    {
        ledger.received(&data(number));
        let sum = ledger.sum();
        assert_eq!((sum.delivered_bytes, sum.duplicates), (delivered, duplicates), "{number}");
    }
    ledger.received(&Segment { len: 0, ..data(9) });
    assert_eq!(ledger.sum().received, 6, "pure ACKs do not count");
}

#[test]
fn a_flow_of_known_length_finishes_once() {
    let mut ledger = Ledger::new(Some(2000));
    (0..2).for_each(|number| ledger.sent(&data(number)));
    for (at, up_to, acked, finished) in [
        (10, 1001, 1000, None),
        (20, 1001, 1000, None),
        // The ACK also covers the sequence number of the FIN.
        (30, 2002, 2000, Some(ms(30))),
        (40, 2002, 2000, Some(ms(30))),
        (50, 1001, 2000, Some(ms(30))),
    ] {
        ledger.answered(ms(at), &ack(at, up_to));
        let sum = ledger.sum();
        assert_eq!((sum.acked_bytes, sum.finished), (acked, finished), "at {at} ms");
    }
}

#[test]
fn a_segment_without_an_acknowledgment_is_not_an_answer() {
    let mut ledger = Ledger::new(Some(1000));
    ledger.answered(ms(1), &Segment { flags: Flags::RST, ..ack(0, 1001) });
    assert_eq!((ledger.sum().acked_bytes, ledger.sum().finished), (0, None));
    ledger.answered(ms(2), &Segment { dest: EndId::at(0), ..ack(1, 1001) });
    assert_eq!(ledger.sum().finished, Some(ms(2)));
}

#[test]
fn sums_stay_correct_after_sequence_numbers_have_wrapped() {
    let mut ledger = Ledger::new(None);
    let size = 60_000_u32;
    let count = u32::MAX / size + 3;
    for number in 0..count {
        let seq = 1_u32.wrapping_add(number.wrapping_mul(size));
        let len = u16::try_from(size).unwrap();
        ledger.sent(&Segment { seq, len, ..data(0) });
        ledger.received(&Segment { seq, len, ..data(0) });
        ledger.answered(ms(1), &ack(0, seq.wrapping_add(size)));
    }
    let all = u64::from(count) * u64::from(size);
    assert!(all > 1 << 32);
    assert_eq!((ledger.sum().acked_bytes, ledger.sum().delivered_bytes), (all, all));
    assert_eq!((ledger.sum().sent, ledger.sum().duplicates), (count.into(), 0));
}

#[test]
fn retransmissions_of_a_shim_count_neither_as_timeouts_nor_as_fast_retransmits() {
    let mut ledger = Ledger::new(None);
    (0..3).for_each(|number| ledger.sent(&data(number)));
    ledger.sent(&retransmission(0, Cause::Shim));
    ledger.sent(&retransmission(1, Cause::Sfr));
    let sum = ledger.sum();
    assert_eq!((sum.retransmissions, sum.timeouts, sum.fast_retransmits), (2, 0, 0));
}

#[test]
fn a_recovery_may_begin_where_the_last_recovery_ended() {
    let mut ledger = Ledger::new(None);
    (0..2).for_each(|number| ledger.sent(&data(number)));
    ledger.sent(&retransmission(0, Cause::Fast));
    ledger.sent(&data(2));
    // The third segment begins where the first recovery ended.
    ledger.sent(&retransmission(2, Cause::Fast));
    assert_eq!(ledger.sum().fast_retransmits, 2);
    // A timeout between two recoveries changes no recovery point.
    ledger.sent(&retransmission(0, Cause::Rto));
    ledger.sent(&retransmission(1, Cause::Fast));
    assert_eq!((ledger.sum().fast_retransmits, ledger.sum().timeouts), (2, 1));
}

#[test]
fn a_flow_without_octets_is_finished_at_its_first_acknowledgment() {
    let mut ledger = Ledger::new(None);
    ledger.sent(&Segment { seq: 1, len: 0, flags: Flags::FIN.with(Flags::ACK), ..data(0) });
    ledger.answered(ms(3), &ack(0, 1));
    let sum = ledger.sum();
    assert_eq!((sum.acked_bytes, sum.finished), (0, Some(ms(3))));
    // If the number of octets is known, a FIN does not change it.
    let mut ledger = Ledger::new(Some(5000));
    ledger.sent(&Segment { flags: Flags::FIN.with(Flags::ACK), ..data(0) });
    ledger.answered(ms(4), &ack(0, 1002));
    assert_eq!((ledger.sum().acked_bytes, ledger.sum().finished), (1001, None));
}

proptest! {
    #[test]
    fn the_sums_of_a_receiver_agree_with_the_set_of_octets_that_arrived(
        pieces in prop::collection::vec((0_u32..300, 1_u16..60), 1..80)
    ) {
        let mut ledger = Ledger::new(None);
        let mut arrived = [false; 400];
        let mut duplicates = 0;
        for (from, len) in &pieces {
            ledger.received(&Segment { seq: 1 + from, len: *len, ..data(0) });
            let octets = &mut arrived[*from as usize..*from as usize + usize::from(*len)];
            duplicates += u64::from(octets.iter().all(|octet| *octet));
            octets.fill(true);
        }
        let delivered = arrived.iter().take_while(|octet| **octet).count() as u64;
        let sum = ledger.sum();
        prop_assert_eq!(sum.received, pieces.len() as u64);
        prop_assert_eq!((sum.delivered_bytes, sum.duplicates), (delivered, duplicates));
    }

    #[test]
    fn acknowledged_octets_never_decrease_and_the_flow_ends_once(
        acks in prop::collection::vec(1_u32..3000, 1..60), octets in 1_u64..2500
    ) {
        let mut ledger = Ledger::new(Some(octets));
        let (mut highest, mut finished) = (1, None);
        for (at, number) in acks.iter().enumerate() {
            let now = ms(at as u64);
            ledger.answered(now, &ack(at as u64, *number));
            highest = highest.max(u64::from(*number));
            if highest > octets {
                finished.get_or_insert(now);
            }
            let sum = ledger.sum();
            prop_assert_eq!((sum.acked_bytes, sum.finished), ((highest - 1).min(octets), finished));
        }
    }
}
