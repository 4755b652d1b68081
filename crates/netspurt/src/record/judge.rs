//! The verdict on every resend: was it needed?
//!
//! A resend is needless when every octet of it was in an earlier transmission that arrived, or was
//! still to arrive when it left. Only who watches both ends can tell; no sender could.

use std::collections::BTreeMap;

use crate::ranges::Ranges;
use crate::segment::{Cause, Segment};
use crate::seq;
use crate::sim::Witness;
use crate::units::{Duration, Time};

/// Octets a segment can have at most: how far before an arrival a resend of its octets may begin.
const LONGEST: u64 = 1 << 17;

/// How many resends of each cause there were, and how many of them were needless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resends {
    /// All, in the order of [`Cause::ALL`].
    pub sent: [u64; Cause::ALL.len()],
    /// Those that were needless.
    pub needless: [u64; Cause::ALL.len()],
}

/// What was found out about what one endpoint sent.
#[derive(Debug, Default)]
struct Sender {
    arrived: Ranges,
    /// The highest octet seen: to unwrap sequence numbers.
    near: u64,
    /// Resends whose octets have not all arrived in an earlier transmission, by their first octet
    /// and transmission.
    open: BTreeMap<(u64, u64), Open>,
    /// The octet after the highest that `open` is about.
    open_end: u64,
    resends: Resends,
    /// When the endpoint last sent or received.
    last: Time,
    waited: Duration,
}

#[derive(Debug)]
struct Open {
    missing: Ranges,
    cause: Cause,
}

/// Watches both ends of every flow.
///
/// ```
/// use netspurt::record::Judge;
/// use netspurt::segment::{Cause, Segment};
/// use netspurt::sim::Witness;
/// use netspurt::units::Time;
/// let mut judge = Judge::new(2);
/// let first = Segment { id: 1, dest: 1, seq: 1, len: 1000, ..Segment::default() };
/// let again = Segment { id: 2, cause: Some(Cause::Rto).into(), ..first };
/// judge.left(Time::ZERO, &first);
/// judge.left(Time::ZERO, &again);
/// judge.reached(Time::ZERO, &first);
/// judge.reached(Time::ZERO, &again);
/// assert_eq!(judge.needless(), [2]);
/// ```
#[derive(Debug)]
pub struct Judge {
    senders: Vec<Sender>,
    needless: Vec<u64>,
}

impl Judge {
    /// For endpoints numbered below `endpoints`.
    pub fn new(endpoints: usize) -> Self {
        let senders = (0..endpoints).map(|_| Sender::default()).collect();
        Self { senders, needless: Vec::new() }
    }

    /// The needless transmissions so far, in the order in which they proved so.
    pub fn needless(&self) -> &[u64] {
        &self.needless
    }

    /// The resends of the endpoint numbered `endpoint`.
    pub fn resends(&self, endpoint: u32) -> Resends {
        self.senders[endpoint as usize].resends
    }

    /// How long that endpoint had neither sent nor received anything when its retransmission
    /// timer fired, all timeouts together, but for those of a FIN without data, which nobody
    /// waits for.
    pub fn waited(&self, endpoint: u32) -> Duration {
        self.senders[endpoint as usize].waited
    }
}

impl Sender {
    /// The octets of a segment.
    fn octets(&mut self, segment: &Segment) -> (u64, u64) {
        let left = seq::from_wire(seq::SIMULATED_ISN, segment.seq, self.near);
        let right = left + u64::from(segment.seq_len());
        self.near = self.near.max(right);
        (left, right)
    }

    #[cold]
    fn resent(&mut self, segment: &Segment, cause: Cause, needless: &mut Vec<u64>) {
        let (left, right) = self.octets(segment);
        self.resends.sent[cause as usize] += 1;
        if self.arrived.holds(left, right) {
            self.resends.needless[cause as usize] += 1;
            return needless.push(segment.id);
        }
        let mut missing = Ranges::default();
        let mut at = left;
        while at < right {
            let next = self.arrived.next_from(at).unwrap_or((right, right));
            missing.insert(at, next.0.clamp(at, right));
            at = next.1;
        }
        self.open_end = self.open_end.max(right);
        self.open.insert((left, segment.id), Open { missing, cause });
    }

    /// An arrival settles later resends of the same octets.
    #[cold]
    fn settle(&mut self, (left, right): (u64, u64), id: u64, needless: &mut Vec<u64>) {
        let mut settled = None;
        let from = (left.saturating_sub(LONGEST), 0);
        for (key, open) in self.open.range_mut(from..(right, 0)) {
            if key.1 <= id {
                continue;
            }
            open.missing.remove(left, right);
            if open.missing.is_empty() {
                self.resends.needless[open.cause as usize] += 1;
                needless.push(key.1);
                settled = Some(*key);
            }
        }
        if settled.is_some() {
            self.open.retain(|_, open| !open.missing.is_empty());
        }
    }
}

impl Witness<Segment> for Judge {
    #[inline]
    fn left(&mut self, at: Time, segment: &Segment) {
        let sender = &mut self.senders[segment.source() as usize];
        if let Some(cause) = segment.cause.get() {
            if cause == Cause::Rto && segment.len > 0 || cause == Cause::Syn {
                sender.waited = sender.waited + at.saturating_since(sender.last);
            }
            sender.resent(segment, cause, &mut self.needless);
        }
        sender.last = at;
    }

    #[inline]
    fn reached(&mut self, at: Time, segment: &Segment) {
        self.senders[segment.dest as usize].last = at;
        if segment.seq_len() == 0 {
            return;
        }
        let sender = &mut self.senders[segment.source() as usize];
        let octets = sender.octets(segment);
        if octets.0 < sender.open_end {
            sender.settle(octets, segment.id, &mut self.needless);
        }
        sender.arrived.insert(octets.0, octets.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(id: u64, seq: u32, len: u16, cause: Option<Cause>) -> Segment {
        Segment { id, dest: 1, seq, len, cause: cause.into(), ..Segment::default() }
    }

    fn judge(steps: &[(bool, Segment)]) -> Judge {
        let mut judge = Judge::new(2);
        for (leaves, segment) in steps {
            if *leaves {
                judge.left(Time::ZERO, segment);
            } else {
                judge.reached(Time::ZERO, segment);
            }
        }
        judge
    }

    #[test]
    fn a_resend_of_what_was_lost_is_needed() {
        let (first, again) = (segment(1, 1, 10, None), segment(2, 1, 10, Some(Cause::Fast)));
        let judge = judge(&[(true, first), (true, again), (false, again)]);
        assert!(judge.needless().is_empty());
        assert_eq!(judge.resends(0).sent[Cause::Fast as usize], 1);
    }

    #[test]
    fn a_resend_of_what_has_arrived_or_will_is_needless() {
        let (first, again) = (segment(1, 1, 10, None), segment(2, 1, 10, Some(Cause::Rto)));
        for steps in [
            [(true, first), (false, first), (true, again)],
            [(true, first), (true, again), (false, first)],
        ] {
            assert_eq!(judge(&steps).needless(), [2]);
        }
        // The later copy may even overtake the earlier one.
        let overtaken = [(true, first), (true, again), (false, again), (false, first)];
        assert_eq!(judge(&overtaken).needless(), [2]);
    }

    /// An earlier resend counts as well as the original.
    #[test]
    fn a_second_resend_while_the_first_is_on_its_way_is_needless() {
        let resend = |id| segment(id, 1, 10, Some(Cause::Rto));
        let steps = [
            (true, segment(1, 1, 10, None)),
            (true, resend(2)),
            (true, resend(3)),
            (false, resend(2)),
            (false, resend(3)),
        ];
        assert_eq!(judge(&steps).needless(), [3]);
    }

    #[test]
    fn a_resend_is_needless_only_with_every_octet() {
        let steps = |last: u32| {
            [
                (true, segment(1, 1, 10, None)),
                (true, segment(2, 11, 10, None)),
                (true, segment(3, 1, 20, Some(Cause::GoBackN))),
                (false, segment(1, 1, 10, None)),
                (false, segment(2, last, 10, None)),
            ]
        };
        assert_eq!(judge(&steps(11)).needless(), [3]);
        assert!(judge(&steps(31)).needless().is_empty());
    }
}
