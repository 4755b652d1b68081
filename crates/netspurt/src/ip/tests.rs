//! Tests of IP reassembly at a host.

use proptest::prelude::*;

use super::*;
use crate::event::{DropReason, Event, Events, Wanted, What};
use crate::ids::TransmissionId;
use crate::segment::{Ecn, Part, Segment};
use crate::stage::{Frame, Port, Stage};
use crate::units::{Duration, Time};

/// A stage that stores the frames that it gets.
#[derive(Debug, Default)]
struct FrameStore(Vec<(Time, Segment)>);

impl Stage<Segment> for FrameStore {
    fn push(&mut self, now: Time, _: Port, segment: Segment, _: &mut Events<Segment>) {
        self.0.push((now, segment));
    }
    fn next_wakeup(&self) -> Option<Time> {
        None
    }
    fn pop(&mut self, _: Time, _: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        None
    }
}

type Host = Reassembling<Segment, FrameStore>;

/// A host that reassembles datagrams and stores them, and a buffer for its events.
fn host() -> (Host, Events<Segment>) {
    let wanted = Wanted { drops: true, ..Wanted::default() };
    (Reassembling::new(FrameStore::default(), Host::TIMER), Events::new(wanted))
}

/// A whole datagram: a transmission with this id and size.
fn datagram(id: u64, size_bytes: u16) -> Segment {
    Segment {
        id: TransmissionId::from_bits(id),
        seq: 7,
        len: size_bytes - 40,
        size_bytes,
        ..Segment::default()
    }
}

/// The fragments of `datagram` on a link with the MTU `mtu`.
fn parts(datagram: Segment, mtu: u32) -> Vec<Segment> {
    fragments(datagram, mtu).collect()
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

/// For each dropped datagram: the instant, the id of the transmission, and the number of octets.
fn drops(events: &mut Events<Segment>) -> Vec<(Time, u64, u16)> {
    let drop = |event: Event<Segment>| match event.what {
        What::Dropped { link: None, reason: DropReason::Reassembly, frame } => {
            (event.at, frame.id.bits(), frame.size_bytes)
        }
        other => panic!("{other:?}"),
    };
    events.drain().map(drop).collect()
}

#[test]
fn a_datagram_is_complete_when_all_its_fragments_have_arrived_in_any_order() {
    let whole = datagram(1, 1500);
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]] {
        let (mut host, mut events) = host();
        let parts = parts(whole, 576);
        for (second, place) in order.into_iter().enumerate() {
            assert!(host.inner().0.is_empty());
            host.push(at(second as u64), 0, parts[place], &mut events);
        }
        assert_eq!(host.inner().0, [(at(2), whole)]);
        assert_eq!(host.next_wakeup(), None, "no timer is left behind");
    }
}

#[test]
fn a_whole_datagram_is_passed_on_immediately() {
    let (mut host, mut events) = host();
    host.push(at(1), 0, datagram(1, 1500), &mut events);
    assert_eq!(host.inner().0, [(at(1), datagram(1, 1500))]);
}

#[test]
fn ids_distinguish_the_fragments_of_two_datagrams() {
    let (mut host, mut events) = host();
    let (one, two) = (datagram(1, 1000), datagram(2, 900));
    for part in parts(one, 576).into_iter().zip(parts(two, 576)).flat_map(|(a, b)| [a, b]) {
        host.push(at(0), 0, part, &mut events);
    }
    assert_eq!(host.inner().0, [(at(0), one), (at(0), two)]);
}

#[test]
fn the_timer_runs_from_the_first_arrived_fragment_and_is_not_set_again() {
    // RFC 1122 §3.3.2: the reassembly time is a fixed value between 60 and 120 seconds.
    let (mut host, mut events) = host();
    let parts = parts(datagram(1, 1500), 576);
    host.push(at(1), 0, parts[0], &mut events);
    host.push(at(50), 0, parts[1], &mut events);
    assert_eq!(host.next_wakeup(), Some(at(61)));
    assert!(host.pop(at(61), &mut events).is_none());
    // Two parts of 552 octets had arrived, each with a header. The dropped frame has the octets of
    // both parts and one header.
    assert_eq!((drops(&mut events), host.given_up()), (vec![(at(61), 1, 20 + 2 * 552)], 1));
    assert_eq!(host.next_wakeup(), None);
}

#[test]
fn a_fragment_that_comes_when_the_timer_fires_begins_another_datagram() {
    let (mut host, mut events) = host();
    let parts = parts(datagram(1, 1000), 576);
    host.push(at(0), 0, parts[0], &mut events);
    host.push(at(60), 0, parts[1], &mut events);
    assert_eq!(drops(&mut events), [(at(60), 1, 572)]);
    assert_eq!((host.next_wakeup(), host.inner().0.len()), (Some(at(120)), 0));
}

#[test]
fn a_duplicate_fragment_of_a_complete_datagram_waits_in_vain_and_times_out() {
    let (mut host, mut events) = host();
    let parts = parts(datagram(1, 1000), 576);
    for part in [parts[0], parts[0], parts[1]] {
        host.push(at(0), 0, part, &mut events);
    }
    assert_eq!(host.inner().0.len(), 1);
    host.push(at(5), 0, parts[1], &mut events);
    assert_eq!(host.next_wakeup(), Some(at(65)));
    host.pop(at(65), &mut events);
    assert_eq!((drops(&mut events), host.inner().0.len()), (vec![(at(65), 1, 448)], 1));
}

#[test]
fn overlapping_fragments_of_two_sizes_complete_the_datagram() {
    let (mut host, mut events) = host();
    let whole = datagram(1, 1500);
    let (wide, tight) = (parts(whole, 1000), parts(whole, 300));
    // Octets 0 to 560 and 840 to 1480 arrive in small parts, and octets 0 to 976 in one part.
    for part in [tight[0], tight[1], tight[3], tight[4], tight[5], wide[0]] {
        assert!(host.inner().0.is_empty());
        host.push(at(0), 0, part, &mut events);
    }
    assert_eq!(host.inner().0, [(at(0), whole)]);
}

#[test]
fn one_marked_fragment_marks_the_datagram() {
    // RFC 3168 §5.3: if any fragment has CE, the datagram has CE.
    for marked in 0..2 {
        let (mut host, mut events) = host();
        let whole = Segment { ecn: Ecn::ECT0, ..datagram(1, 1000) };
        for (place, part) in parts(whole, 576).into_iter().enumerate() {
            let part = if place == marked { part.with_mark() } else { part };
            host.push(at(0), 0, part, &mut events);
        }
        assert_eq!(host.inner().0, [(at(0), Segment { ecn: Ecn::CE, ..whole })]);
    }
}

proptest! {
    #[test]
    fn fragments_of_any_sizes_in_any_order_make_the_same_datagram(
        size in 40..=u16::MAX,
        mtus in proptest::collection::vec(68..4000_u32, 0..4),
        shuffle in any::<u64>(),
    ) {
        let whole = datagram(3, size);
        let mut parts = vec![whole];
        for mtu in &mtus {
            parts = parts.into_iter().flat_map(|part| fragments(part, *mtu)).collect();
            prop_assert!(parts.iter().all(|part| u32::from(part.size_bytes) <= *mtu));
        }
        // The fragments carry the octets of the datagram in order. Each further fragment adds one
        // header.
        let mut next = 0;
        for (place, part) in parts.iter().enumerate() {
            prop_assert_eq!(part.part.offset_bytes(), next);
            prop_assert_eq!(part.part.more_follow(), place + 1 < parts.len());
            next += u32::from(part.size_bytes) - 20;
        }
        prop_assert_eq!(next, u32::from(size) - 20);
        let mut stream = crate::rng::Stream::named(shuffle, "order");
        parts.sort_by_cached_key(|_| stream.bits());
        let (mut host, mut events) = host();
        for part in parts {
            prop_assert!(host.inner().0.is_empty());
            host.push(at(0), 0, part, &mut events);
        }
        prop_assert_eq!(&host.inner().0, &[(at(0), whole)]);
        prop_assert_eq!(host.next_wakeup(), None);
    }

    #[test]
    fn a_datagram_with_a_missing_fragment_is_dropped_and_not_delivered(
        size in 600..=u16::MAX,
        mtu in 68..500_u32,
        hole in any::<prop::sample::Index>(),
    ) {
        let mut parts = parts(datagram(3, size), mtu);
        let lost = parts.remove(hole.index(parts.len()));
        let (mut host, mut events) = host();
        for part in parts {
            host.push(at(0), 0, part, &mut events);
        }
        host.pop(at(60), &mut events);
        prop_assert!(host.inner().0.is_empty());
        let left = size - (lost.size_bytes - 20);
        prop_assert_eq!(drops(&mut events), vec![(at(60), 3, left)]);
    }
}

#[test]
fn the_offset_of_a_part_is_a_multiple_of_eight_below_65536() {
    assert_eq!(Part::new(65_528, false).offset_bytes(), 65_528);
    assert!(std::panic::catch_unwind(|| Part::new(12, false)).is_err());
    assert!(std::panic::catch_unwind(|| Part::new(65_536, false)).is_err());
}
