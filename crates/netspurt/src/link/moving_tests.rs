//! Tests of links whose rate, losses or path change while they carry frames.

use super::alone::SingleLink;
use super::*;
use crate::event::{DropReason, Wanted, What};
use crate::ids::TransmissionId;
use crate::rng::Stream;
use crate::segment::Segment;
use crate::timeline::{Interpolation, Rates, Timeline};
use crate::units::{BitRate, Duration, Time};
use proptest::prelude::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

fn rate(bits: u64) -> BitRate {
    BitRate::new(bits).unwrap()
}

/// A link of 8 kbit/s with a delay of a second. A frame of 1000 octets takes a second.
fn slow() -> LinkConfig {
    LinkConfig {
        rate: rate(8000).into(),
        framing: Framing::NONE,
        delay: Delay::constant(ms(1000)),
        order: Order::Fifo,
        mtu: None,
        queue: Queue::DropTail(QueueLimit::Packets(10)),
        effects: None,
        handovers: Vec::new(),
    }
}

/// A frame of 1000 octets with this number.
fn frame(id: u64) -> Segment {
    Segment { id: TransmissionId::from_bits(id), size_bytes: 1000, ..Segment::default() }
}

/// The arrivals, the drops by handovers, and the counts of a link. For each arrival and drop: the
/// instant in milliseconds, and the number of the frame.
type Fates = (Vec<(u64, u64)>, Vec<(u64, u64)>, LinkCount);

/// Sends frame `i` at `times[i]` milliseconds through a link, for all `i`.
fn fates(config: LinkConfig, times: &[u64]) -> Fates {
    let mut link = SingleLink::new(0, config, Wanted { drops: true, ..Wanted::default() });
    let mut arrived = Vec::new();
    let drain = |link: &mut SingleLink, now, arrived: &mut Vec<_>| {
        while let Some((t, f)) = link.pop(now) {
            arrived.push((t.as_nanos() / 1_000_000, f.id.bits()));
        }
    };
    for (id, &time) in (0..).zip(times) {
        drain(&mut link, at(time), &mut arrived);
        link.push(at(time), frame(id));
    }
    drain(&mut link, Time::NEVER, &mut arrived);
    let (events, count) = link.finish();
    let dropped = |what: What<Segment>| match what {
        What::Dropped { reason: DropReason::Handover, frame, .. } => Some(frame.id.bits()),
        _ => None,
    };
    let dropped = events
        .into_iter()
        .filter_map(|event| Some((event.at.as_nanos() / 1_000_000, dropped(event.what)?)));
    (arrived, dropped.collect(), count)
}

/// A handover at 1500 ms with a dead time (in which the link transmits nothing) of `dead`
/// milliseconds. It drops no frames.
fn handover(dead: u64) -> Handover {
    Handover {
        at: at(1500),
        dead: ms(dead),
        queue: QueueFate::Keep,
        arrivals: ArrivalFate::Queue,
        in_flight: FlightFate::Pass,
    }
}

/// The link `slow` with one handover.
fn with(handover: Handover) -> LinkConfig {
    LinkConfig { handovers: vec![handover], ..slow() }
}

#[test]
fn a_rate_step_applies_to_the_frame_in_transmission() {
    let rates = Rates::new(vec![(at(0), rate(8000)), (at(1500), rate(16_000))]).unwrap();
    let config = LinkConfig { rate: Rate::Following(rates), ..slow() };
    let (arrived, _, _) = fates(config, &[0, 0, 0]);
    // Half of the second frame takes 500 ms, and the other half takes 250 ms.
    assert_eq!(arrived, [(2000, 0), (2750, 1), (3250, 2)]);
}

#[test]
fn after_a_dead_time_an_interrupted_transmission_continues() {
    let (arrived, dropped, count) = fates(with(handover(3000)), &[0, 0, 0, 2000]);
    assert_eq!(arrived, [(2000, 0), (6000, 1), (7000, 2), (8000, 3)]);
    assert!(dropped.is_empty());
    assert_eq!((count.carried, count.dropped), (4, 0));
}

#[test]
fn frames_that_arrive_in_a_dead_time_are_dropped_if_the_handover_says_so() {
    let dropping = Handover { arrivals: ArrivalFate::Drop, ..handover(3000) };
    let (arrived, dropped, count) = fates(with(dropping), &[0, 1500, 4499, 4500]);
    assert_eq!((arrived, dropped), (vec![(2000, 0), (6500, 3)], vec![(1500, 1), (4499, 2)]));
    assert_eq!((count.carried, count.dropped), (2, 2));
}

#[test]
fn a_flushed_queue_is_dropped_with_the_frame_in_transmission() {
    let flushing = Handover { queue: QueueFate::Flush, ..handover(0) };
    let (arrived, dropped, count) = fates(with(flushing), &[0, 0, 0, 1400, 1500, 1600]);
    assert_eq!(arrived, [(2000, 0), (3500, 4), (4500, 5)]);
    assert_eq!(dropped, [(1500, 1), (1500, 2), (1500, 3)]);
    assert_eq!((count.carried, count.carried_bytes, count.dropped), (3, 3000, 3));
}

/// The flushed frames would have left after the dead time. Frames that come after the flush still
/// wait for the end of the dead time.
#[test]
fn a_flush_does_not_end_a_dead_time() {
    let flushing = Handover { queue: QueueFate::Flush, ..handover(3000) };
    let (arrived, dropped, _) = fates(with(flushing), &[0, 0, 1400, 1600, 4400]);
    assert_eq!(arrived, [(2000, 0), (6500, 3), (7500, 4)]);
    assert_eq!(dropped, [(1500, 1), (1500, 2)]);
}

#[test]
fn a_flushed_queue_has_room_immediately() {
    let flushing = Handover { queue: QueueFate::Flush, ..handover(0) };
    let queue = Queue::DropTail(QueueLimit::Packets(2));
    let config = LinkConfig { queue, ..with(flushing) };
    let (arrived, dropped, _) = fates(config, &[0, 0, 1500, 1500]);
    assert_eq!((arrived, dropped), (vec![(2000, 0), (3500, 2), (4500, 3)], vec![(1500, 1)]));
}

/// The frame is on its way from 1000 to 2000 ms, and the handover is at 1500 ms.
#[test]
fn frames_in_flight_at_a_handover_pass_or_are_delayed_dropped_or_copied() {
    let over = |this| LinkConfig { order: Order::Overtaking, ..with(this) };
    let fate = |in_flight| fates(over(Handover { in_flight, ..handover(500) }), &[0]);
    assert_eq!(fate(FlightFate::Pass).0, [(2000, 0)]);
    assert_eq!(fate(FlightFate::Hold).0, [(2500, 0)]);
    let (arrived, _, count) = fate(FlightFate::Copy);
    assert_eq!((arrived, count.overtook), (vec![(2000, 0), (3000, 0)], 0));
    let (arrived, dropped, count) = fate(FlightFate::Drop);
    assert_eq!((arrived, dropped, count.carried), (vec![], vec![(1500, 0)], 1));
}

#[test]
fn the_copy_of_a_frame_has_the_delay_of_the_new_path() {
    let points = vec![(at(0), ms(1000)), (at(1500), ms(100))];
    let delay = Delay::following(Timeline::new(points, Interpolation::Step).unwrap());
    let copying = Handover { in_flight: FlightFate::Copy, ..handover(0) };
    let config = LinkConfig { delay, order: Order::Overtaking, ..with(copying) };
    assert_eq!(fates(config, &[0]).0, [(1600, 0), (2000, 0)]);
}

#[test]
fn frames_above_the_given_length_arrive_later() {
    let long = |octets| Effects { long: Some((octets, ms(500))), ..Effects::default() };
    let arrived = |octets| fates(LinkConfig { effects: Some(long(octets)), ..slow() }, &[0]).0;
    assert_eq!((arrived(1000), arrived(999)), (vec![(2000, 0)], vec![(2500, 0)]));
}

#[test]
fn losses_match_a_bit_error_rate_and_a_probability_that_changes_with_time() {
    let fade = vec![(at(0), 1.0), (at(1000), 0.0)];
    let fade = Timeline::new(fade, Interpolation::Linear).unwrap();
    let mut pick = Pick::default().random(Chance::FrameOverTime(fade), Stream::named(1, "fade"));
    let n = 100_000;
    let lost = (0..n).filter(|i| pick.picks(Time::from_nanos(i * 20_000), &frame(0))).count();
    // The probability falls from one to zero in the first second, and is zero in the next second.
    // The expected number of losses is 25000, and the standard deviation is 91.
    assert!((24_600..25_400).contains(&lost), "{lost}");
    // A frame of 8000 bits has a wrong bit with the probability 1 - (1 - 1e-5)^8000 = 0.0769.
    let mut bits = Pick::default().random(Chance::Bits(1e-5), Stream::named(1, "bits"));
    let lost = (0..n).filter(|_| bits.picks(Time::ZERO, &frame(0))).count();
    assert!((7300..8050).contains(&lost), "{lost}");
}

proptest! {
    /// For any handovers and rates, each frame either arrives once or is dropped once, unless a
    /// handover copies frames. The link counts all drops.
    #[test]
    fn every_frame_arrives_or_is_dropped(
        steps in prop::collection::vec((1_u64..2000, 1000_u64..1_000_000), 1..6),
        handovers in prop::collection::vec((1_u64..2000, 0_u64..1000, 0_usize..2, 0_usize..2, 0_usize..4), 0..5),
        mut times in prop::collection::vec(0_u64..8000, 1..60),
    ) {
        times.sort_unstable();
        let mut instant = 0;
        let points = steps.into_iter().map(|(span, bits)| {
            let point = (at(instant), rate(bits));
            instant += span;
            point
        });
        let rates = Rates::new(points.collect()).unwrap();
        let mut end = 0;
        let all: Vec<Handover> = handovers.iter().map(|&(after, dead, queue, arrivals, flight)| {
            let from = end + after;
            end = from + dead;
            Handover {
                at: at(from),
                dead: ms(dead),
                queue: [QueueFate::Keep, QueueFate::Flush][queue],
                arrivals: [ArrivalFate::Queue, ArrivalFate::Drop][arrivals],
                in_flight: [FlightFate::Pass, FlightFate::Drop, FlightFate::Hold, FlightFate::Copy]
                    [flight],
            }
        }).collect();
        let doubles = all.iter().any(|this| this.in_flight == FlightFate::Copy);
        let queue = Queue::DropTail(QueueLimit::Unlimited);
        let order = if doubles { Order::Overtaking } else { Order::Fifo };
        let rate = Rate::Following(rates);
        let config = LinkConfig { rate, handovers: all, queue, order, ..slow() };
        let (arrived, dropped, count) = fates(config, &times);
        prop_assert!(arrived.is_sorted_by_key(|(ms, _)| *ms));
        prop_assert_eq!(count.dropped, dropped.len() as u64);
        for id in 0..times.len() as u64 {
            let copies = arrived.iter().filter(|(_, of)| *of == id).count();
            let drops = dropped.iter().filter(|(_, of)| *of == id).count();
            prop_assert!(copies + drops >= 1, "frame {id} neither arrived nor was dropped");
            prop_assert!(
                copies + drops == 1 || doubles,
                "frame {id}: {copies} arrivals, {drops} drops"
            );
        }
        let flushed = times.len() as u64 - count.carried;
        prop_assert!(flushed <= count.dropped);
    }
}
