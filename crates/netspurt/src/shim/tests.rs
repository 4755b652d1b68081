//! Tests of the shim, a retransmission timer at a host's edge. Its timer is an algorithm such as
//! RFC 6298, or Super Fast Retransmit (`sfr`). Super Fast Retransmit stops when a given number of
//! octets is acknowledged. This number is called the cutout.

use super::*;
use crate::ids::EndId;
use proptest::prelude::*;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn at(count: u64) -> Time {
    Time::ZERO + ms(count)
}

/// A shim with the configuration `text`, before its connection is open.
fn shim(text: &str) -> Shim {
    Shim::new(&ShimConfig::parse(text).unwrap())
}

/// The segment with the number `packet`, from 0. Each segment has 1000 octets.
fn data(packet: u64) -> Segment {
    let dest = EndId::at(1);
    let id = TransmissionId::of_packet(dest.peer(), packet);
    Segment { id, dest, seq: 1 + 1000 * packet as u32, len: 1000, ..Segment::default() }
}

fn ack(ack: u32) -> Segment {
    Segment { ack, flags: Flags::ACK, ..Segment::default() }
}

/// A shim with the configuration `text`, after its connection has opened with a round trip of 20
/// ms.
fn opened(text: &str) -> Shim {
    let mut shim = shim(text);
    shim.sent(at(0), &Segment { flags: Flags::SYN, ..Segment::default() });
    assert_eq!(shim.next_wakeup(), None, "the shim does not retransmit SYNs");
    shim.arrived(at(20), &ack(1));
    shim
}

#[test]
fn super_fast_retransmit_fires_after_three_round_trips_and_then_waits_for_new_data() {
    let mut shim = opened("sfr");
    (0..3).for_each(|n| shim.sent(at(30 + n), &data(n)));
    assert_eq!(shim.next_wakeup(), Some(at(90)));
    assert_eq!(shim.pop(at(89)), None);
    let again = shim.pop(at(90)).unwrap();
    assert_eq!((again.seq, again.cause.get(), again.id), (1, Some(Cause::Sfr), data(0).id.copy(1)));
    assert_eq!(shim.next_wakeup(), None, "the timer stays off until a new segment is sent");
    shim.arrived(at(110), &ack(1001));
    assert_eq!(shim.next_wakeup(), None);
    shim.sent(at(120), &data(3));
    assert_eq!(shim.next_wakeup(), Some(at(180)));
    assert_eq!(shim.pop(at(180)).unwrap().seq, 1001);
}

#[test]
fn super_fast_retransmit_restarts_with_acks_of_new_data_and_stops_at_its_cutout() {
    let mut shim = opened("sfr:factor=2,cutout=2kB");
    (0..4).for_each(|n| shim.sent(at(30), &data(n)));
    shim.arrived(at(50), &ack(1001));
    assert_eq!(shim.next_wakeup(), Some(at(90)));
    shim.arrived(at(60), &ack(1001));
    assert_eq!(shim.next_wakeup(), Some(at(90)), "a duplicate ACK does not restart the timer");
    shim.arrived(at(70), &ack(2001));
    assert_eq!(shim.next_wakeup(), None, "2 kB are acknowledged");
}

#[test]
fn super_fast_retransmit_never_fires_after_an_ambiguous_handshake() {
    let mut shim = shim("sfr");
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    shim.sent(at(0), &syn);
    shim.sent(at(1000), &syn);
    shim.arrived(at(1020), &ack(1));
    shim.sent(at(1030), &data(0));
    assert_eq!(shim.next_wakeup(), None);
}

#[test]
fn after_an_ambiguous_ack_a_doubled_rfc_6298_timer_stays_doubled() {
    // After one sample of 20 ms, the timer is 20 + 4 · 10 = 60 ms.
    let mut shim = opened("rfc6298:min=10ms");
    shim.sent(at(30), &data(0));
    shim.sent(at(35), &data(1));
    assert_eq!(shim.next_wakeup(), Some(at(90)));
    assert_eq!(shim.pop(at(90)).unwrap().seq, 1);
    assert_eq!(shim.next_wakeup(), Some(at(210)), "the timer has doubled to 120 ms");
    assert_eq!(
        shim.pop(at(210)).unwrap().id,
        data(0).id.copy(2),
        "the second retransmission of the same transmission"
    );
    let backoffs: Vec<u32> =
        shim.retransmissions().iter().map(|retransmission| retransmission.backoff).collect();
    assert_eq!(backoffs, [2, 4]);
    // An ACK of a retransmitted segment gives no sample, so the timer stays backed off.
    shim.arrived(at(230), &ack(1001));
    assert_eq!(shim.next_wakeup(), Some(at(470)));
    shim.arrived(at(240), &ack(2001));
    assert_eq!(shim.next_wakeup(), None, "nothing is outstanding");
}

#[test]
fn a_retransmission_by_the_host_gives_no_sample_and_restarts_an_estimators_timer() {
    let mut shim = opened("rfc6298:min=10ms");
    shim.sent(at(30), &data(0));
    shim.sent(at(80), &Segment { id: data(7).id, ..data(0) });
    assert_eq!(shim.next_wakeup(), Some(at(140)));
    let again = shim.pop(at(140)).unwrap();
    assert_eq!(again.id, data(7).id.copy(1), "the shim repeats the host's retransmission");
    shim.arrived(at(160), &ack(1001));
    shim.sent(at(170), &data(1));
    assert_eq!(shim.next_wakeup(), Some(at(290)), "the timer is still 120 ms");
}

#[test]
fn a_segment_is_retransmitted_at_most_the_given_number_of_times() {
    let mut shim = opened("fixed:rto=50ms,max=50ms,retransmissions=2");
    shim.sent(at(30), &data(0));
    assert!(shim.pop(at(80)).is_some() && shim.pop(at(130)).is_some());
    assert_eq!((shim.pop(at(180)), shim.next_wakeup()), (None, None));
    shim.arrived(at(200), &ack(1001));
    shim.sent(at(210), &data(1));
    assert_eq!(shim.next_wakeup(), Some(at(260)), "the count of the next segment starts at 0");
}

#[test]
fn after_a_reset_the_timer_is_not_armed() {
    let mut shim = opened("fixed:rto=50ms");
    shim.sent(at(30), &data(0));
    shim.arrived(at(40), &Segment { flags: Flags::RST, ..Segment::default() });
    shim.sent(at(50), &data(1));
    assert_eq!(shim.next_wakeup(), None);
}

#[test]
fn a_mistake_in_a_shims_text_is_reported_with_its_fix() {
    let slip = |text: &str| ShimConfig::parse(text).unwrap_err().to_string();
    assert!(slip("sfr:factr=2").contains("did you mean `factor`"), "{}", slip("sfr:factr=2"));
    assert!(slip("sfr:factor=2.3").contains("steps of a half"));
    assert!(slip("sfr:cutout=lots").contains("`lots` is not a size in bytes"));
    assert!(slip("sfr:cutout=lots").contains("or `none`"));
    assert!(slip("rfc6298:retransmissions=1000").contains("0 to 255"));
    assert!(slip("rfc6298:mim=1ms").contains("min"));
    assert!(slip("sffr").ends_with("experts, rfc2988, mills-single, or `sfr`"), "{}", slip("sffr"));
    assert!(slip("rfc6298:").ends_with("there are no settings after `rfc6298:`: write `rfc6298`"));
}

/// An event at a host's edge.
#[derive(Clone, Debug)]
enum Step {
    /// The host sends a segment: sequence number, octets of payload, flags.
    Sent(u32, u16, u8),
    /// A segment reaches the host: acknowledgment number, flags.
    Came(u32, u8),
    /// Time passes, in milliseconds.
    Wait(u64),
}

/// Random steps.
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..20_000_u32, 0..1500_u16, any::<u8>()).prop_map(|(s, l, f)| Step::Sent(s, l, f)),
        (0..20_000_u32, any::<u8>()).prop_map(|(a, f)| Step::Came(a, f)),
        (0..200_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn the_shim_retransmits_only_the_first_segment_and_wakes_only_in_the_future(
        steps in proptest::collection::vec(step(), 0..80), name in 0..4_usize
    ) {
        let text = ["sfr", "rfc6298:min=1ms", "linux:rto_min=5ms", "quic"][name];
        let mut shim = shim(text);
        let mut now = Time::ZERO;
        for step in steps {
            match step {
                Step::Sent(seq, len, flags) => {
                    let flags = Flags(flags & 0b1_0011);
                    shim.sent(now, &Segment { seq, len, flags, ..Segment::default() });
                }
                Step::Came(ack, flags) => {
                    let flags = Flags(flags & 0b1_0011);
                    shim.arrived(now, &Segment { ack, flags, ..Segment::default() });
                }
                Step::Wait(wait) => {
                    let until = now + ms(wait);
                    while let Some(due) = shim.next_wakeup().filter(|due| *due <= until) {
                        prop_assert!(due >= now);
                        now = due;
                        let una = shim.outgoing.una();
                        if let Some(again) = shim.pop(due) {
                            let first = shim.outgoing.outstanding().front().unwrap();
                            prop_assert!(first.right > una);
                            prop_assert_eq!(again.seq, first.kept.copy.seq);
                            prop_assert!(first.left > 0, "a SYN was retransmitted");
                        }
                    }
                    now = until;
                }
            }
        }
    }
}
