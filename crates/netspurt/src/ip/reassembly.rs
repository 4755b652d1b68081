//! Reassembles IP datagrams from fragments at a host. A *stage* is anything that takes frames or
//! sends frames (`stage.rs`).

use std::collections::{BTreeMap, VecDeque};

use crate::event::{DropReason, Events, What};
use crate::ids::TransmissionId;
use crate::segment::{Ecn, IPV4_HEADER_BYTES};
use crate::stage::{Frame, Host, Port, Stage};
use crate::units::{Duration, Time};

/// A host that reassembles datagrams before it passes them to its inner stage `E`.
///
/// Fragments may come in any order, with duplicates and overlaps. The datagram is passed on when
/// all its octets have arrived (RFC 791 §3.2). A datagram's timer starts when its first fragment
/// arrives. The length of the timer is constant, as RFC 1122 §3.3.2 requires. An incomplete
/// datagram is dropped when the timer fires. If any fragment has the CE mark of a congested queue,
/// the datagram also has this mark (RFC 3168 §5.3).
///
/// All fragments of one transmission have the same id. If a copy of a fragment arrives after its
/// datagram is complete, the copy begins another datagram. That datagram times out, unless copies
/// of all fragments arrive.
///
/// departs: RFC 791 §3.2 - a transmission's id is not the header's 16 bits, which a fast sender
/// reuses within the time for reassembly (RFC 4963), so parts of two datagrams are never mixed.
///
/// ```
/// use netspurt::app::Echo;
/// use netspurt::event::{Events, Wanted};
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::ip::{Reassembling, fragments};
/// use netspurt::segment::Segment;
/// use netspurt::stage::Stage;
/// use netspurt::units::{Duration, Time};
/// let end = FlowId(0).end(Side::To);
/// let echo = Echo::new(end, Duration::ZERO);
/// let mut host = Reassembling::new(echo, Reassembling::<Segment, Echo>::TIMER);
/// let mut events = Events::new(Wanted::default());
/// let datagram = Segment { dest: end, size_bytes: 1000, ..Segment::default() };
/// for part in fragments(datagram, 576) {
///     assert!(host.pop(Time::ZERO, &mut events).is_none());
///     host.push(Time::ZERO, 0, part, &mut events);
/// }
/// let (_, _, reply) = host.pop(Time::ZERO, &mut events).unwrap();
/// assert_eq!(reply.size_bytes, 1000);
/// ```
#[derive(Debug)]
pub struct Reassembling<F, E> {
    inner: E,
    timer: Duration,
    /// The incomplete datagrams. The value is `None` until the first fragment arrives. Most hosts
    /// never get a fragment.
    waiting: Option<Box<PartialDatagrams<F>>>,
}

/// The incomplete datagrams of a host.
#[derive(Debug)]
struct PartialDatagrams<F> {
    /// The datagrams by the id of their transmission.
    partial: BTreeMap<TransmissionId, Partial<F>>,
    /// The deadlines in order, each with the id of its datagram. Deadlines of complete datagrams
    /// may remain in this queue, but not at its front.
    deadlines: VecDeque<(Time, TransmissionId)>,
    given_up: u64,
}

/// The parts of a datagram that have arrived.
#[derive(Debug)]
struct Partial<F> {
    deadline: Time,
    frame: F,
    /// The octets of the payload that have arrived: ranges in order, with gaps between them.
    there: Vec<(u32, u32)>,
    /// The number of octets of the payload. The value is `None` until the fragment with the last
    /// octet arrives.
    end: Option<u32>,
}

impl<F: Frame, E> Reassembling<F, E> {
    /// The default reassembly time: the minimum that RFC 1122 §3.3.2 allows.
    pub const TIMER: Duration = Duration::from_secs(60);

    /// Makes a host that waits the time `timer` for the rest of a datagram, and passes datagrams to
    /// the stage `inner`.
    pub fn new(inner: E, timer: Duration) -> Self {
        Self { inner, timer, waiting: None }
    }

    /// The inner stage that gets the datagrams.
    pub fn inner(&self) -> &E {
        &self.inner
    }

    /// The number of datagrams that were dropped because fragments were missing.
    pub fn given_up(&self) -> u64 {
        self.waiting.as_ref().map_or(0, |waiting| waiting.given_up)
    }

    /// The earliest deadline of an incomplete datagram.
    fn deadline(&self) -> Option<Time> {
        let (at, _) = self.waiting.as_ref()?.deadlines.front()?;
        Some(*at)
    }

    fn give_up(&mut self, now: Time, events: &mut Events<F>) {
        if let Some(waiting) = &mut self.waiting {
            waiting.give_up(now, events);
        }
    }

    /// Takes a fragment. Returns the datagram if it is now complete.
    fn collect(&mut self, now: Time, fragment: F, events: &mut Events<F>) -> Option<F> {
        let waiting = self.waiting.get_or_insert_with(|| Box::new(PartialDatagrams::new()));
        // A datagram whose deadline is `now` is dropped before the fragment is processed.
        waiting.give_up(now, events);
        waiting.add(now + self.timer, fragment)
    }

    /// Takes `frame`. Returns `frame` if it is a whole datagram, or the reassembled datagram if
    /// `frame` is its last missing fragment.
    pub fn take_in(&mut self, now: Time, frame: F, events: &mut Events<F>) -> Option<F> {
        if frame.part().is_whole() { Some(frame) } else { self.collect(now, frame, events) }
    }
}

impl<F: Frame> PartialDatagrams<F> {
    fn new() -> Self {
        Self { partial: BTreeMap::new(), deadlines: VecDeque::new(), given_up: 0 }
    }

    /// Takes a fragment. If no other fragment of its datagram has arrived, the datagram waits until
    /// `deadline`. Returns the datagram if it is now complete.
    fn add(&mut self, deadline: Time, fragment: F) -> Option<F> {
        let id = fragment.id();
        let partial = self.partial.entry(id).or_insert_with(|| {
            self.deadlines.push_back((deadline, id));
            Partial { deadline, frame: fragment, there: Vec::new(), end: None }
        });
        partial.add(fragment);
        let whole = partial.whole()?;
        self.partial.remove(&id);
        self.tidy();
        Some(whole)
    }

    /// Drops the incomplete datagrams whose deadline is at or before the instant `now`.
    fn give_up(&mut self, now: Time, events: &mut Events<F>) {
        while let Some((at, id)) = self.deadlines.front().copied()
            && at <= now
        {
            self.deadlines.pop_front();
            if let Some(partial) = self.partial.remove(&id) {
                self.given_up += 1;
                if events.wanted().drops {
                    let frame = partial.so_far();
                    let reason = DropReason::Reassembly;
                    events.report(at, What::Dropped { link: None, reason, frame });
                }
            }
            self.tidy();
        }
    }

    /// Removes deadlines of complete datagrams from the front.
    fn tidy(&mut self) {
        while let Some((at, id)) = self.deadlines.front()
            && self.partial.get(id).is_none_or(|partial| partial.deadline != *at)
        {
            self.deadlines.pop_front();
        }
    }
}

impl<F: Frame> Partial<F> {
    fn add(&mut self, fragment: F) {
        if fragment.ecn() == Ecn::CE {
            self.frame = self.frame.with_mark();
        }
        let from = fragment.part().offset_bytes();
        let to = from + fragment.size_bytes().saturating_sub(IPV4_HEADER_BYTES.into());
        if !fragment.part().more_follow() {
            self.end = Some(to);
        }
        // Ranges that touch or overlap the new range are joined with it.
        let first = self.there.partition_point(|range| range.1 < from);
        let behind = self.there.partition_point(|range| range.0 <= to);
        let joined = self.there[first..behind]
            .iter()
            .fold((from, to), |(from, to), range| (from.min(range.0), to.max(range.1)));
        self.there.splice(first..behind, [joined]);
    }

    /// The datagram, if it is complete.
    fn whole(&self) -> Option<F> {
        let end = self.end?;
        (self.there == [(0, end)])
            .then(|| self.frame.reassembled(u32::from(IPV4_HEADER_BYTES) + end))
    }

    /// A frame for the incomplete datagram with the octets that have arrived.
    fn so_far(&self) -> F {
        let octets: u32 = self.there.iter().map(|(from, to)| to - from).sum();
        self.frame.reassembled(u32::from(IPV4_HEADER_BYTES) + octets)
    }
}

impl<F: Frame, E: Host<F>> Host<F> for Reassembling<F, E> {
    fn gather(&mut self, now: Time, frame: F, events: &mut Events<F>) -> Option<F> {
        self.take_in(now, frame, events)
    }

    fn act_before(&mut self, now: Time, since: Time, events: &mut Events<F>) {
        self.inner.act_before(now, since, events);
    }

    fn rest(&mut self) {
        self.inner.rest();
    }
}

/// These methods are not inlined, so that the compiler still inlines the methods of hosts that do
/// not reassemble.
impl<F: Frame, E: Stage<F>> Stage<F> for Reassembling<F, E> {
    #[inline(never)]
    fn push(&mut self, now: Time, port: Port, frame: F, events: &mut Events<F>) {
        if let Some(whole) = self.take_in(now, frame, events) {
            self.inner.push(now, port, whole, events);
        }
    }

    #[inline(never)]
    fn next_wakeup(&self) -> Option<Time> {
        match (self.deadline(), self.inner.next_wakeup()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    #[inline(never)]
    fn pop(&mut self, now: Time, events: &mut Events<F>) -> Option<(Time, Port, F)> {
        self.give_up(now, events);
        self.inner.pop(now, events)
    }
}
