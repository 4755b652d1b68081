//! Tests of links whose queue is managed by an algorithm: RED, CoDel, FQ-CoDel or PIE.

use proptest::prelude::*;

use super::*;
use crate::event::DropReason;
use crate::event::{Event, Wanted, What};
use crate::ids::{EndId, TransmissionId};
use crate::link::QueueLimit;
use crate::link::alone::SingleLink;
use crate::link::{Chance, Delay, Effects, Framing, LinkConfig, Order, Pick};
use crate::rng::Stream;
use crate::segment::{Ecn, Segment};
use crate::timeline::{Interpolation, Timeline};
use crate::units::Time;
use crate::units::{BitRate, Duration};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at_us(n: u64) -> Time {
    Time::ZERO + Duration::from_micros(n)
}

/// A link of 8 Mbit/s without propagation delay. A frame of 1000 octets takes a millisecond.
fn line(queue: Queue) -> LinkConfig {
    LinkConfig {
        rate: BitRate::new(8_000_000).unwrap().into(),
        framing: Framing::NONE,
        delay: Delay::constant(Duration::ZERO),
        order: Order::Fifo,
        mtu: None,
        queue,
        effects: None,
        handovers: Vec::new(),
    }
}

/// A frame with this number, destination and size.
fn frame(id: u64, dest: u32, size_bytes: u16) -> Segment {
    Segment {
        id: TransmissionId::from_bits(id),
        dest: EndId::at(dest),
        size_bytes,
        ..Segment::default()
    }
}

/// A frame of an ECN-capable sender.
fn capable(id: u64) -> Segment {
    Segment { ecn: Ecn::ECT0, ..frame(id, 0, 1000) }
}

/// The frames that a link delivered, and the events that it reported.
#[derive(Debug, PartialEq)]
struct Outcome {
    delivered: Vec<(Time, Segment)>,
    events: Vec<Event<Segment>>,
}

impl Outcome {
    /// For each drop with the reason `reason`: the instant in microseconds (rounded up), and the
    /// number of the frame.
    fn drops(&self, reason: DropReason) -> Vec<(u64, u64)> {
        let of = |event: &Event<Segment>| match event.what {
            What::Dropped { reason: why, frame, .. } if why == reason => {
                Some((event.at.as_nanos().div_ceil(1000), frame.id.bits()))
            }
            _ => None,
        };
        // A loss on the way may be reported after later events, so the drops are sorted by time
        // here.
        let mut drops: Vec<_> = self.events.iter().filter_map(of).collect();
        drops.sort_by_key(|drop| drop.0);
        drops
    }

    /// The instants of the marks, in microseconds, rounded up.
    fn marks(&self) -> Vec<u64> {
        let of = |event: &Event<Segment>| match event.what {
            What::Marked { frame, .. } => {
                assert_eq!(frame.ecn, Ecn::CE);
                Some(event.at.as_nanos().div_ceil(1000))
            }
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }

    /// For each reported length of the queue: the instant, the number of frames, and the number of
    /// octets.
    fn queue(&self) -> Vec<(Time, u32, u64)> {
        let of = |event: &Event<Segment>| match event.what {
            What::Queue { packets, bytes, .. } => Some((event.at, packets, bytes)),
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }

    /// The numbers of the delivered frames, in the order of arrival.
    fn ids(&self) -> Vec<u64> {
        self.delivered.iter().map(|(_, frame)| frame.id.bits()).collect()
    }
}

/// Sends frames through a link. If `woken` is true, the link's wake-ups are served before each
/// frame. If it is false, they are served only after the last frame.
fn run(config: LinkConfig, frames: &[(Time, Segment)], woken: bool) -> Outcome {
    let mut link =
        SingleLink::new(0, config, Wanted { drops: true, queue: true, ..Wanted::default() });
    let mut delivered = Vec::new();
    let mut drain = |link: &mut SingleLink, until: Time| {
        while let Some(at) = link.next_wakeup().filter(|at| *at <= until) {
            while let Some(arrived) = link.pop(at) {
                delivered.push(arrived);
            }
        }
    };
    for &(at, frame) in frames {
        if woken {
            drain(&mut link, at);
        }
        link.push(at, frame);
    }
    drain(&mut link, Time::NEVER);
    let (events, count) = link.finish();
    let outcome = Outcome { delivered, events };
    let marks = outcome.marks().len() as u64;
    assert_eq!(count.marked, marks);
    outcome
}

/// Frames of 1000 octets, one every half millisecond. Their rate is twice the link's rate.
fn overload(frames: u64, of: impl Fn(u64) -> Segment) -> Vec<(Time, Segment)> {
    (0..frames).map(|i| (at_us(500 * i), of(i))).collect()
}

/// CoDel with its default constants and without a limit.
fn codel() -> CoDelConfig {
    CoDelConfig { limit: QueueLimit::Unlimited, ..CoDelConfig::default() }
}

/// The instants of CoDel's first ten drops on a link at twice its rate, in ms.
///
/// Frames are counted from 0. Until the first drop, frame n arrives at n/2 ms and leaves the queue
/// at n ms. Frame 10 is therefore the first that has waited 5 ms. The first drop is due 100 ms
/// later. The following gaps between due drops are 100 ms, 100 ms/√2 = 70.710678 ms, 100 ms/√3 =
/// 57.735026 ms, 50 ms, and 44.721359, 40.824829, 37.796447, 35.355339 and 33.333333 ms. So drops
/// are due at 110, 210, 280.71, 338.45, 388.45, 433.17, 473.99, 511.79, 547.14 and 580.48 ms. Each
/// drop happens at the next departure.
const CODEL_MS: [u64; 10] = [110, 210, 281, 339, 389, 434, 474, 512, 548, 581];

#[test]
fn codel_drops_after_an_interval_above_target_and_then_at_ever_shorter_gaps() {
    let frames = overload(1000, |id| frame(id, 0, 1000));
    let outcome = run(line(Queue::CoDel(codel())), &frames, true);
    let drops: Vec<u64> = outcome.drops(DropReason::Aqm).iter().map(|drop| drop.0).collect();
    assert_eq!(drops[..10], CODEL_MS.map(|ms| 1000 * ms));
    // CoDel never makes the line idle.
    for (n, (left, _)) in (1..).zip(&outcome.delivered).take(900) {
        assert_eq!(*left, at_us(1000 * n));
    }
}

#[test]
fn codel_marks_ecn_capable_frames_instead_of_dropping_them() {
    let config = CoDelConfig { ecn: true, ..codel() };
    let outcome = run(line(Queue::CoDel(config)), &overload(1000, capable), true);
    assert_eq!(outcome.marks()[..10], CODEL_MS.map(|ms| 1000 * ms));
    assert_eq!((outcome.drops(DropReason::Aqm), outcome.delivered.len()), (vec![], 1000));
    let unmarked = run(line(Queue::CoDel(codel())), &overload(1000, capable), true);
    assert!(unmarked.marks().is_empty(), "without `ecn`, CoDel marks nothing");
}

#[test]
fn codel_drops_nothing_if_the_queue_becomes_empty_within_an_interval() {
    // 150 frames at once take 150 ms. From 5 ms on, each frame that leaves has waited for 5 ms or
    // more. The first drop follows after an interval of 100 ms. A burst of 100 frames has left
    // before that.
    let burst = |n| (0..n).map(|id| (Time::ZERO, frame(id, 0, 1000))).collect::<Vec<_>>();
    let drops = |n| run(line(Queue::CoDel(codel())), &burst(n), true).drops(DropReason::Aqm);
    assert_eq!(drops(100), []);
    assert_eq!(drops(150)[0], (105_000, 105), "the first drop comes 105 ms after the burst");
}

#[test]
fn codel_drops_nothing_while_at_most_one_frame_of_the_largest_size_waits() {
    // `count` frames come at once. One of these frames is transmitted immediately,
    // and the other frames wait. When a waiting frame leaves the queue, `count` - 2 frames wait
    // behind it. Then a frame comes.
    let drops = |count| {
        let ahead = (0..count).map(|id| (Time::ZERO, frame(id, 0, 1000)));
        let steady = (1..200).map(|i| (at_us(1000 * i), frame(1000 + i, 0, 1000)));
        let frames: Vec<_> = ahead.chain(steady).collect();
        let config = CoDelConfig { target: Duration::ZERO, interval: ms(10), ..codel() };
        run(line(Queue::CoDel(config)), &frames, true).drops(DropReason::Aqm).len()
    };
    assert_eq!(drops(3), 0);
    assert!(drops(4) > 0);
}

/// FQ-CoDel with its default constants, after the function `change` has changed some of them.
fn fq(change: impl FnOnce(&mut FqCoDelConfig)) -> Queue {
    let mut config = FqCoDelConfig::default();
    change(&mut config);
    Queue::FqCoDel(config)
}

#[test]
fn a_sparse_flow_does_not_wait_for_a_greedy_flow() {
    let greedy = (0..8000).map(|i| (at_us(250 * i), frame(i, 0, 1000)));
    let sparse = (0..100).map(|i| (at_us(20_000 * i + 20_130), frame(10_000 + i, 3, 100)));
    let mut frames: Vec<_> = greedy.chain(sparse).collect();
    frames.sort_by_key(|frame| frame.0);
    let came: std::collections::BTreeMap<u64, Time> =
        frames.iter().map(|(at, frame)| (frame.id.bits(), *at)).collect();
    let slowest = |queue| {
        let outcome = run(line(queue), &frames, true);
        let sparse = outcome.delivered.iter().filter(|(_, frame)| frame.dest == EndId::at(3));
        let delays: Vec<Duration> =
            sparse.map(|(left, frame)| *left - came[&frame.id.bits()]).collect();
        (delays.len(), delays.into_iter().max().unwrap())
    };
    // A frame of the sparse flow waits at most 1 ms, for one frame in transmission. The
    // transmission of the sparse flow's frame takes 0.1 ms.
    let (delivered, slowest_delay) = slowest(fq(|_| {}));
    assert!(delivered == 100 && slowest_delay <= Duration::from_micros(1100), "{slowest_delay}");
    assert!(slowest(Queue::CoDel(codel())).1 > ms(100));
}

#[test]
fn two_greedy_flows_share_the_line_by_octets() {
    let small = (0..20_000).map(|i| (at_us(100 * i), frame(i, 0, 300)));
    let large = (0..8000).map(|i| (at_us(250 * i), frame(100_000 + i, 3, 1500)));
    let mut frames: Vec<_> = small.chain(large).collect();
    frames.sort_by_key(|frame| frame.0);
    let outcome = run(line(fq(|_| {})), &frames, true);
    let both = outcome.delivered.iter().filter(|(left, _)| *left < at_us(1_900_000));
    let mut bytes = [0_i64; 4];
    both.for_each(|(_, frame)| bytes[frame.dest.index()] += i64::from(frame.size_bytes));
    assert!((bytes[0] - bytes[3]).abs() <= 2 * (1514 + 1500), "{bytes:?}");
}

#[test]
fn flows_take_turns_of_a_quantum_and_a_new_flow_comes_first() {
    // The quantum is one frame. The first frame leaves immediately. A frame of the new flow leaves
    // next, and then the flows alternate.
    let queue = fq(|config| config.quantum_bytes = 1000);
    let ids = [(0, 0), (1, 0), (2, 0), (10, 3), (11, 3), (12, 3)];
    let frames: Vec<_> =
        ids.iter().map(|(id, dest)| (Time::ZERO, frame(*id, *dest, 1000))).collect();
    assert_eq!(run(line(queue), &frames, true).ids(), [0, 10, 1, 11, 2, 12]);
    let twice = fq(|config| config.quantum_bytes = 2000);
    assert_eq!(run(line(twice), &frames, true).ids(), [0, 1, 10, 11, 2, 12]);
}

#[test]
fn a_new_queue_that_becomes_empty_goes_behind_the_old_queues() {
    // The quantum is two frames. The queue of the second flow is empty at 3 ms, and moves behind
    // the queue of the first flow. When a frame of the second flow comes at 3.5 ms, this queue is
    // not a new queue. So the frame waits until the first flow's turn is over.
    let queue = fq(|config| config.quantum_bytes = 2000);
    let greedy = (0..6).map(|id| (Time::ZERO, frame(id, 0, 1000)));
    let sparse = [(500, 10), (3500, 11)].map(|(us, id)| (at_us(us), frame(id, 3, 1000)));
    let frames: Vec<_> = greedy.chain(sparse).collect();
    assert_eq!(run(line(queue), &frames, true).ids(), [0, 1, 10, 2, 3, 11, 4, 5]);
}

#[test]
fn frames_above_the_limit_are_dropped_from_the_head_of_the_longest_queue() {
    let queue = fq(|config| config.limit = QueueLimit::Packets(5));
    let mut frames: Vec<_> = (0..7).map(|id| (Time::ZERO, frame(id, 0, 1000))).collect();
    frames.push((Time::ZERO, frame(10, 3, 1000)));
    let outcome = run(line(queue), &frames, true);
    let dropped: Vec<u64> =
        outcome.drops(DropReason::QueueFull).iter().map(|drop| drop.1).collect();
    assert_eq!(dropped, [1, 2, 3], "frame 0 is in transmission");
    assert_eq!(outcome.ids(), [0, 4, 10, 5, 6], "a quantum of 1514 takes two frames of 1000");
}

#[test]
fn ecn_capable_frames_are_marked_if_they_wait_beyond_the_ce_threshold() {
    let queue = fq(|config| config.ce_threshold = Some(ms(1)));
    let frames: Vec<_> = (0..5).map(|id| (Time::ZERO, capable(id))).collect();
    // The second frame waits for 1 ms, which is not longer than 1 ms.
    assert_eq!(run(line(queue), &frames, true).marks(), [2000, 3000, 4000]);
}

/// RED with low thresholds.
fn red(seed: u64) -> RedConfig {
    RedConfig {
        limit: QueueLimit::Packets(40),
        unit: RedUnit::Packets,
        min_th: 3,
        max_th: 9,
        wq: 0.1,
        max_p: 0.3,
        gentle: true,
        packet_bytes: 1000,
        ecn: true,
        stream: Stream::named(seed, "red"),
    }
}

/// PIE with a low target.
fn pie(seed: u64) -> PieConfig {
    PieConfig {
        target: ms(2),
        t_update: ms(1),
        alpha: 10.0,
        beta: 100.0,
        max_burst: ms(3),
        packet_bytes: 500,
        limit: QueueLimit::Packets(60),
        ecn: true,
        mark_ecnth: 0.9,
        stream: Stream::named(seed, "pie"),
    }
}

#[test]
fn red_counts_idle_time_from_the_departure_of_the_last_frame() {
    // The eight frames meet queues of 0, 1, 2 and then always 3 frames. With weight 1/2, the
    // average rises to 2.95. The queue drops frames while the average is 2 or more, so three frames
    // remain. All three have left at 3 ms. Half a millisecond of idle time has room for no whole
    // frame. A whole millisecond has room for one frame, which halves the average.
    let late = |us| {
        let config =
            RedConfig { min_th: 1, max_th: 2, wq: 0.5, max_p: 0.0, gentle: false, ..red(1) };
        let mut frames: Vec<_> = (0..8).map(|id| (Time::ZERO, frame(id, 0, 1000))).collect();
        frames.push((at_us(us), frame(9, 0, 1000)));
        run(line(Queue::Red(config)), &frames, true).ids()
    };
    assert_eq!(late(3500), [0, 1, 2]);
    assert_eq!(late(4000), [0, 1, 2, 9]);
}

#[test]
fn red_and_pie_mark_ecn_capable_frames_and_drop_the_others() {
    for queue in [Queue::Red(red(1)), Queue::Pie(pie(1))] {
        let plain = run(line(queue.clone()), &overload(300, |id| frame(id, 0, 1000)), true);
        assert!(plain.marks().is_empty() && !plain.drops(DropReason::Aqm).is_empty());
        let marked = run(line(queue), &overload(300, capable), true);
        assert!(!marked.marks().is_empty());
    }
}

/// The algorithm with this number. Its constants make it act on a queue of only a few frames.
fn eager(algorithm: usize, seed: u64) -> Queue {
    match algorithm {
        0 => Queue::Red(red(seed)),
        1 => Queue::CoDel(CoDelConfig { target: ms(1), interval: ms(4), ecn: true, ..codel() }),
        2 => fq(|config| {
            (config.target, config.interval, config.flows) = (ms(1), ms(4), 3);
            config.limit = QueueLimit::Packets(25);
            config.ce_threshold = Some(ms(6));
            config.salt = seed;
        }),
        _ => Queue::Pie(pie(seed)),
    }
}

/// The algorithm with this number. Its constants are so high that it never acts.
fn idle(algorithm: usize, limit: QueueLimit) -> Queue {
    let never = Duration::from_secs(1_000_000);
    match algorithm {
        0 => Queue::Red(RedConfig { limit, min_th: 1_000_000, max_th: 1_000_001, ..red(1) }),
        1 => Queue::CoDel(CoDelConfig { target: never, limit, ..codel() }),
        2 => Queue::Pie(PieConfig { target: never, limit, ..pie(1) }),
        _ => fq(|config| (config.target, config.flows, config.limit) = (never, 1, limit)),
    }
}

/// Random frames that arrive at multiples of a quarter millisecond. Many of them arrive at the
/// instant of a departure.
fn traffic() -> impl Strategy<Value = Vec<(Time, Segment)>> {
    let one = (0_u64..7, 0_u32..4, 1_u16..6, 0_u8..2, any::<bool>());
    prop::collection::vec(one, 1..250).prop_map(|all| {
        let mut now = 0;
        let mut frames = Vec::new();
        for (id, (gap, dest, size, ect, odd)) in (0..).zip(all) {
            now += 250 * gap;
            let size = size * 250 + u16::from(odd);
            let ecn = Ecn::from_bits(2 * ect);
            frames.push((at_us(now), Segment { ecn, ..frame(id, dest, size) }));
        }
        frames
    })
}

/// Random limits of a queue.
fn limits() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1_u32..12).prop_map(QueueLimit::Packets),
        (1500_u64..9000).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited),
    ]
}

/// A link with every effect that `order` allows. A queue must not change the effects.
fn busy(queue: Queue, order: Order) -> LinkConfig {
    let points = vec![(at_us(0), ms(20)), (at_us(40_000), ms(3)), (at_us(90_000), ms(30))];
    let pick = |name| Pick::default().random(Chance::Frame(0.1), Stream::named(3, name));
    LinkConfig {
        delay: Delay::following(Timeline::new(points, Interpolation::Linear).unwrap()),
        framing: Framing { overhead_bytes: 7, bits_per_octet: 9 },
        order,
        effects: Some(Effects {
            loss_at_entry: Some(pick("entry")),
            loss: Some(pick("way")),
            duplicate: Some((pick("copy"), ms(2))),
            reorder: (order == Order::Overtaking).then(|| (pick("detour"), ms(9))),
            long: Some((700, ms(1))),
        }),
        ..line(queue)
    }
}

proptest! {
    #[test]
    fn an_algorithm_that_never_acts_has_the_results_of_drop_tail(
        frames in traffic(), limit in limits(), algorithm in 0_usize..4, overtaking: bool, woken: bool,
        plain: bool,
    ) {
        // FQ-CoDel drops frames from the head of a queue, and drop-tail drops arriving frames. So
        // FQ-CoDel and drop-tail are compared without a limit.
        let limit = if algorithm == 3 { QueueLimit::Unlimited } else { limit };
        let order = if overtaking { Order::Overtaking } else { Order::Fifo };
        let config = |queue| if plain { line(queue) } else { busy(queue, order) };
        let drop_tail = run(config(Queue::DropTail(limit)), &frames, true);
        let managed = run(config(idle(algorithm, limit)), &frames, woken);
        prop_assert_eq!(&managed.delivered, &drop_tail.delivered);
        let drops = [DropReason::QueueFull, DropReason::Loss];
        prop_assert_eq!(
            drops.map(|why| managed.drops(why)),
            drops.map(|why| drop_tail.drops(why))
        );
        prop_assert_eq!(managed.queue(), drop_tail.queue());
    }

    #[test]
    fn every_frame_is_delivered_or_dropped_once_and_each_flow_keeps_its_order(
        frames in traffic(), algorithm in 0_usize..4, seed: u64,
    ) {
        let outcome = run(line(eager(algorithm, seed)), &frames, true);
        let mut gone: Vec<u64> = outcome.ids();
        gone.extend(outcome.drops(DropReason::Aqm).iter().map(|drop| drop.1));
        gone.extend(outcome.drops(DropReason::QueueFull).iter().map(|drop| drop.1));
        gone.sort_unstable();
        prop_assert_eq!(gone, (0..frames.len() as u64).collect::<Vec<_>>());
        for dest in 0..4 {
            let own = outcome.delivered.iter().filter(|(_, frame)| frame.dest == EndId::at(dest));
            let ids: Vec<u64> = own.map(|(_, frame)| frame.id.bits()).collect();
            prop_assert!(ids.is_sorted(), "{:?}", ids);
        }
        let last = outcome.events.iter().rev().find_map(|event| match event.what {
            What::Queue { packets, bytes, .. } => Some((packets, bytes)),
            _ => None,
        });
        prop_assert_eq!(last, Some((0, 0)));
    }

    #[test]
    fn the_line_is_never_idle_while_a_frame_waits(
        frames in traffic(), algorithm in 0_usize..4, seed: u64,
    ) {
        let outcome = run(line(eager(algorithm, seed)), &frames, true);
        let times: Vec<(Time, Duration)> = outcome
            .delivered
            .iter()
            .map(|(left, frame)| (*left, Duration::from_micros(u64::from(frame.size_bytes))))
            .collect();
        let came: Vec<Time> = outcome.ids().iter().map(|id| frames[*id as usize].0).collect();
        for (n, &(left, took)) in times.iter().enumerate() {
            let free = if n == 0 { Time::ZERO } else { times[n - 1].0 };
            let start = at_us(left.as_nanos() / 1000) - Time::ZERO - took;
            prop_assert_eq!(Time::ZERO + start, free.max(came[n]), "frame {} of {:?}", n, times);
        }
    }

    #[test]
    fn a_link_has_the_same_results_with_and_without_wake_ups_between_frames(frames in traffic(), algorithm in 0_usize..4, seed: u64) {
        let [often, seldom] =
            [true, false].map(|woken| run(line(eager(algorithm, seed)), &frames, woken));
        prop_assert_eq!(often, seldom);
    }
}
