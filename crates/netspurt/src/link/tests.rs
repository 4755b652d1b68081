//! Tests of links with a drop-tail queue, and of effects on frames.

use super::alone::SingleLink;
use super::*;
use crate::event::{DropReason, Event, Wanted, What};
use crate::ids::TransmissionId;
use crate::rng::Stream;
use crate::segment::Segment;
use crate::timeline::{Interpolation, Timeline};
use crate::units::{BitRate, Duration, Time};

const ALL: Wanted =
    Wanted { seen: true, drops: true, queue: true, cwnd: true, rtt: true, rto: true };

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

/// A link of 8 kbit/s, without delay and with a queue of three frames. A frame of 1000 octets takes
/// a second.
fn modem() -> LinkConfig {
    LinkConfig {
        rate: BitRate::new(8000).unwrap().into(),
        framing: Framing::NONE,
        delay: Delay::constant(Duration::ZERO),
        order: Order::Fifo,
        mtu: None,
        queue: Queue::DropTail(QueueLimit::Packets(3)),
        effects: None,
        handovers: Vec::new(),
    }
}

/// A frame of 1000 octets with this number.
fn frame(id: u64) -> Segment {
    Segment { id: TransmissionId::from_bits(id), size_bytes: 1000, ..Segment::default() }
}

/// Sends frame `i` into a link at `times[i]`, for all `i`. Returns the arrivals, as (milliseconds,
/// id), and the reported events.
fn arrivals(config: LinkConfig, times: &[Time]) -> (Vec<(u64, u64)>, Vec<Event<Segment>>) {
    let mut link = SingleLink::new(0, config, ALL);
    let mut out = Vec::new();
    let drain = |link: &mut SingleLink, now, out: &mut Vec<_>| {
        while let Some((t, f)) = link.pop(now) {
            out.push((t.as_nanos() / 1_000_000, f.id.bits()));
        }
    };
    for (id, &time) in (0..).zip(times) {
        drain(&mut link, time, &mut out);
        link.push(time, frame(id));
    }
    drain(&mut link, Time::NEVER, &mut out);
    (out, link.finish().0)
}

#[test]
fn three_buffers_hold_one_frame_in_transmission_and_two_that_wait() {
    let (out, events) = arrivals(modem(), &[Time::ZERO; 5]);
    assert_eq!(out, [(1000, 0), (2000, 1), (3000, 2)]);
    let dropped: Vec<u64> = events
        .iter()
        .filter_map(|e| match e.what {
            What::Dropped { reason: DropReason::QueueFull, frame, .. } => Some(frame.id.bits()),
            _ => None,
        })
        .collect();
    assert_eq!(dropped, [3, 4]);
}

#[test]
fn a_departure_makes_room_for_a_frame_that_arrives_at_the_same_instant() {
    let times = [Time::ZERO, Time::ZERO, Time::ZERO, at(1000)];
    let (out, _) = arrivals(modem(), &times);
    assert_eq!(out.len(), 4, "the first frame left at 1 s and made room");
}

/// The link is full until 1.5 s. The first frame then leaves. Its transmission began at 0.5 s. A
/// departure and an arrival coincide if they are at most 2 ns apart.
#[test]
fn if_a_departure_and_an_arrival_coincide_the_event_scheduled_first_happens_first() {
    let dropped = |at_ns: u64, since: Time| {
        let mut link = SingleLink::new(0, modem(), ALL);
        for id in 0..3 {
            link.push(at(500), frame(id));
        }
        let at = Time::from_nanos(at_ns);
        link.offer((at, since), frame(3));
        link.count().dropped == 1
    };
    let end = at(1500).as_nanos();
    for near in end - 2..=end + 2 {
        assert!(
            dropped(near, at(499)),
            "the frame is dropped if its arrival was scheduled before the transmission began"
        );
        assert!(
            !dropped(near, at(500)),
            "the departure comes first if the arrival was not scheduled before the transmission"
        );
    }
    assert!(dropped(end - 3, at(501)), "the departure is not due yet");
    assert!(!dropped(end + 3, at(0)), "the frame has left");
}

#[test]
fn a_link_of_unlimited_rate_drops_nothing() {
    let config = LinkConfig { rate: BitRate::UNLIMITED.into(), ..modem() };
    let mut link = SingleLink::new(0, config, ALL);
    for id in 0..9 {
        link.offer((at(5), at(1)), frame(id));
    }
    assert_eq!(link.count().dropped, 0);
}

#[test]
fn a_byte_limit_counts_the_frame_in_transmission() {
    let config = LinkConfig { queue: Queue::DropTail(QueueLimit::Bytes(2999)), ..modem() };
    assert_eq!(arrivals(config, &[Time::ZERO; 4]).0.len(), 2);
    let config = LinkConfig { queue: Queue::DropTail(QueueLimit::Unlimited), ..modem() };
    assert_eq!(arrivals(config, &[Time::ZERO; 4]).0.len(), 4);
}

#[test]
fn every_change_of_the_queue_is_reported_in_the_order_of_time() {
    let (_, events) = arrivals(modem(), &[Time::ZERO, at(500), at(2500)]);
    let queue: Vec<(u64, u32)> = events
        .iter()
        .filter_map(|e| match e.what {
            What::Queue { packets, .. } => Some((e.at.as_nanos() / 1_000_000, packets)),
            _ => None,
        })
        .collect();
    assert_eq!(queue, [(0, 1), (500, 2), (1000, 1), (2000, 0), (2500, 1), (3500, 0)]);
}

#[test]
fn a_constant_timeline_of_delays_gives_the_same_results_as_a_constant_delay() {
    let times: Vec<Time> = (0..200).map(|i| at(i * 37 % 5000)).collect();
    let mut times = times;
    times.sort_unstable();
    let fixed = LinkConfig { delay: Delay::constant(ms(150)), ..modem() };
    let points = vec![(at(0), ms(150)), (at(900), ms(150)), (at(4000), ms(150))];
    for between in [Interpolation::Step, Interpolation::Linear] {
        let timeline = Timeline::new(points.clone(), between).unwrap();
        let moving = LinkConfig { delay: Delay::following(timeline), ..modem() };
        assert_eq!(arrivals(fixed.clone(), &times), arrivals(moving, &times));
    }
}

#[test]
fn a_falling_delay_reorders_frames_only_if_the_link_allows_it() {
    let falling = || {
        let points = vec![(at(0), ms(5000)), (at(1000), ms(100))];
        Delay::following(Timeline::new(points, Interpolation::Step).unwrap())
    };
    let times = [Time::ZERO, at(1000)];
    let fifo = LinkConfig { delay: falling(), ..modem() };
    assert_eq!(arrivals(fifo, &times).0, [(6000, 0), (6000, 1)]);
    let over = LinkConfig { delay: falling(), order: Order::Overtaking, ..modem() };
    assert_eq!(arrivals(over, &times).0, [(2100, 1), (6000, 0)]);
}

#[test]
fn only_frames_lost_at_the_entry_take_no_transmission_time() {
    let pick = || Some(Pick::default().nth(vec![1]));
    let on_the_way = Effects { loss: pick(), ..Effects::default() };
    let out = arrivals(LinkConfig { effects: Some(on_the_way), ..modem() }, &[Time::ZERO; 2]).0;
    assert_eq!(out, [(2000, 1)]);
    let at_entry = Effects { loss_at_entry: pick(), ..Effects::default() };
    let out = arrivals(LinkConfig { effects: Some(at_entry), ..modem() }, &[Time::ZERO; 2]).0;
    assert_eq!(out, [(1000, 1)]);
}

#[test]
fn a_packet_number_given_twice_selects_two_transmissions() {
    let mut pick = Pick::default().packets(vec![3, 3]);
    let third = Segment { seq: 1921, len: 960, ..Segment::default() };
    let other = Segment { seq: 961, len: 960, ..Segment::default() };
    let picked: Vec<bool> =
        [third, other, third, third].iter().map(|f| pick.picks(Time::ZERO, f)).collect();
    assert_eq!(picked, [true, false, true, false]);
}

#[test]
fn copies_and_delayed_frames_arrive_later_by_the_given_times() {
    let effects = Effects {
        duplicate: Some((Pick::default().nth(vec![1]), ms(10))),
        reorder: Some((Pick::default().nth(vec![2]), ms(2500))),
        ..Effects::default()
    };
    let config = LinkConfig { effects: Some(effects), order: Order::Overtaking, ..modem() };
    let out = arrivals(config, &[Time::ZERO; 3]).0;
    assert_eq!(out, [(1000, 0), (1010, 0), (3000, 2), (4500, 1)]);
}

/// Frames 2 and 3 arrive before frame 1, which is delayed. Frame 4 arrives after frame 1.
#[test]
fn frames_that_arrive_before_an_earlier_frame_are_counted() {
    let reorder = Some((Pick::default().nth(vec![2]), ms(2500)));
    let effects = Effects { reorder, ..Effects::default() };
    let queue = Queue::DropTail(QueueLimit::Unlimited);
    let config = |order| LinkConfig {
        effects: Some(effects.clone()),
        order,
        queue: queue.clone(),
        ..modem()
    };
    let overtook = |order, until: u64| {
        let mut link = SingleLink::new(0, config(order), ALL);
        (0..5).for_each(|id| link.push(Time::ZERO, frame(id)));
        while link.pop(at(until)).is_some() {}
        link.count().overtook
    };
    assert_eq!(overtook(Order::Overtaking, 9000), 2);
    assert_eq!(overtook(Order::Overtaking, 3000), 1, "frame 3 has not arrived");
    assert_eq!(overtook(Order::Fifo, 9000), 0);
}

#[test]
fn random_losses_have_the_given_rate_and_bursts_have_the_given_mean_length() {
    let n = 200_000;
    let mut even = Pick::default().random(Chance::Frame(0.02), Stream::named(1, "even"));
    let lost = (0..n).filter(|_| even.picks(Time::ZERO, &frame(0))).count();
    // The expected number of losses is 4000, and the standard deviation is 63.
    assert!((3750..4250).contains(&lost), "{lost}");

    // The stationary share of the bad state is 0.01 / (0.01 + 0.25) = 1/26. The bad state lasts 4
    // frames on average.
    let mut bursts = Pick::default().bursts([0.01, 0.25, 0.0, 1.0], Stream::named(1, "bursts"));
    let picks: Vec<bool> = (0..n).map(|_| bursts.picks(Time::ZERO, &frame(0))).collect();
    let lost = picks.iter().filter(|p| **p).count();
    let runs = picks.windows(2).filter(|w| !w[0] && w[1]).count();
    assert!((6900..8500).contains(&lost), "{lost}");
    let mean = lost as f64 / runs as f64;
    assert!((3.7..4.3).contains(&mean), "{mean}");
}

#[test]
fn if_bursts_change_by_time_their_length_does_not_depend_on_the_rate_of_frames() {
    // The bad state lasts 20 ms of every 420 ms on average, so 1 frame in 21 is lost at either
    // rate. The next frame after a lost frame is lost with probability 1/21 + 20/21 (1 - 0.05 -
    // 0.0025)^gap_ms.
    for (gap_ms, again) in [(2_u64, 0.9026), (10, 0.6031)] {
        let chances = [0.0025, 0.05, 0.0, 1.0];
        let mut bursts = Pick::default()
            .bursts(chances, Stream::named(1, "bursts"))
            .by_time(Duration::from_millis(1));
        let at = |n: u64| Time::ZERO + Duration::from_millis(n * gap_ms);
        let picks: Vec<bool> = (0..200_000).map(|n| bursts.picks(at(n), &frame(0))).collect();
        let lost = picks.iter().filter(|p| **p).count() as f64;
        let both = picks.windows(2).filter(|w| w[0] && w[1]).count() as f64;
        assert!((lost / 200_000.0 - 1.0 / 21.0).abs() < 0.004, "{lost}");
        assert!((both / lost - again).abs() < 0.02, "{both} of {lost}");
    }
}
