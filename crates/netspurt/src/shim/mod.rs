//! A retransmission timer at a host's edge: it stands between a host's TCP, which it leaves as it
//! is, and the path, and sends the first segment not acknowledged once more when its time is up.
//!
//! It sees what the host sends and what reaches it, keeps copies of what is outstanding, and has no
//! other knowledge: no congestion window follows its retransmissions, and the host does not know of
//! them. SYNs are left to the host, since a round trip is known only after them. Without input or
//! output, so it is driven by a live run's clock, by a replay or by a test alike.

mod config;

#[cfg(test)]
mod tests;

pub use config::{ShimConfig, ShimError, ShimTimer};

use crate::ids::TransmissionId;
use crate::observe::{Answer, OneWay, Sequence, Transmission};
use crate::rto::{RtoEstimator, SfrConfig, TimeoutKind};
use crate::sample::RttSample;
use crate::segment::{Cause, Flags, Segment};
use crate::units::{Duration, Time};

/// What is kept of a segment that the host sent, until it is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// The newest copy that the host sent.
    copy: Segment,
    /// Times the shim sent this copy again.
    copies: u8,
}

/// A retransmission of the shim's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// When it was due, and left in logical time.
    pub at: Time,
    /// When the timer that ran out was set.
    pub armed: Time,
    /// The transmission, as in the other tables.
    pub id: TransmissionId,
    /// Its first octet, counted from the SYN.
    pub left: u64,
    /// Why.
    pub cause: Cause,
    /// The factor that timeouts have put on the next timer.
    pub backoff: u32,
}

/// What decides when the time is up.
#[derive(Debug)]
enum EdgeTimer {
    Estimator(Box<dyn RtoEstimator>),
    Sfr {
        algorithm: SfrConfig,
        /// The handshake's round trip, once it is known.
        handshake: Option<Duration>,
        /// Whether it waits for a new segment before it may run again.
        rests: bool,
    },
}

/// A retransmission timer at the edge of one connection's host.
///
/// ```
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::segment::Segment;
/// use netspurt::shim::{Shim, ShimConfig};
/// use netspurt::units::{Duration, Time};
///
/// let mut shim = Shim::new(&ShimConfig::parse("fixed:rto=50ms").unwrap());
/// let dest = FlowId(0).end(Side::To);
/// let data = Segment { dest, seq: 1, len: 1000, ..Segment::default() };
/// shim.sent(Time::ZERO, &data);
/// let due = Time::ZERO + Duration::from_millis(50);
/// assert_eq!(shim.next_wakeup(), Some(due));
/// let again = shim.pop(due).unwrap();
/// assert_eq!((again.seq, again.cause.get().unwrap().name()), (1, "shim"));
/// ```
#[derive(Debug)]
pub struct Shim {
    algorithm: EdgeTimer,
    most_retransmissions: u8,
    /// What the host sends.
    way: OneWay<Kept>,
    deadline: Time,
    armed: Time,
    /// The connection was reset, or the shim gave it up.
    off: bool,
    retransmissions: Vec<Retransmission>,
}

impl Shim {
    /// One for a connection that is still to open.
    pub fn new(config: &ShimConfig) -> Self {
        let algorithm = match config.timer {
            ShimTimer::Estimator(algorithm) => EdgeTimer::Estimator(algorithm.build()),
            ShimTimer::Sfr(algorithm) => EdgeTimer::Sfr { algorithm, handshake: None, rests: true },
        };
        Self {
            algorithm,
            most_retransmissions: config.most_retransmissions,
            way: OneWay::new(Sequence::default()),
            deadline: Time::NEVER,
            armed: Time::ZERO,
            off: false,
            retransmissions: Vec::new(),
        }
    }

    /// What it sent again so far.
    pub fn retransmissions(&self) -> &[Retransmission] {
        &self.retransmissions
    }

    /// When its time is up, if it runs.
    pub fn next_wakeup(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// The host sent `segment` into the path at `now`.
    pub fn sent(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            self.give_up();
        }
        if self.off || segment.seq_len() == 0 {
            return;
        }
        if let EdgeTimer::Estimator(algorithm) = &mut self.algorithm {
            algorithm.on_send(now, segment.size_bytes.into());
        }
        let kept = Kept { copy: *segment, copies: 0 };
        match self.way.sent(now, segment, kept) {
            Some(copy) if copy.again => self.repeated(copy, now),
            Some(_) => self.fresh(now),
            None => {}
        }
    }

    fn fresh(&mut self, now: Time) {
        if let EdgeTimer::Sfr { rests, .. } = &mut self.algorithm {
            *rests = false;
        }
        if self.deadline == Time::NEVER {
            self.arm(now);
        }
    }

    /// The host sent octets again: where they are those of the first segment outstanding, an
    /// estimator's timer starts anew, since that repair is under way.
    fn repeated(&mut self, copy: Transmission, now: Time) {
        let first = self.way.outstanding().front();
        let first = first.is_some_and(|first| first.left < copy.right && copy.left < first.right);
        if first && matches!(self.algorithm, EdgeTimer::Estimator(_)) {
            self.arm(now);
        }
    }

    /// `segment` reached the host at `now`.
    pub fn came(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            self.give_up();
        }
        if self.off || !segment.flags.has(Flags::ACK) {
            return;
        }
        // What acknowledges octets that were never sent is not acceptable (RFC 9293 §3.10.7.4).
        let sequence = self.way.sequence();
        if sequence.octet(segment.ack) > sequence.highest() {
            return;
        }
        let Answer { acked_bytes, sample } = self.way.answered(now, segment);
        if let Some(sample) = sample {
            self.measure(&sample);
        }
        if acked_bytes > 0 {
            self.arm(now);
        }
    }

    /// Takes in a round trip. Of a SYN sent twice Super Fast Retransmit is not told which of them was
    /// answered, and an estimator is told that the handshake's round trip is ambiguous.
    fn measure(&mut self, sample: &RttSample) {
        match &mut self.algorithm {
            EdgeTimer::Sfr { handshake, .. } => {
                if sample.handshake && !sample.ambiguous {
                    *handshake = Some(sample.rtt);
                }
            }
            EdgeTimer::Estimator(algorithm) if sample.handshake => algorithm.on_handshake(sample),
            EdgeTimer::Estimator(algorithm) if sample.ambiguous => algorithm.on_progress(false),
            EdgeTimer::Estimator(algorithm) => algorithm.on_sample(sample),
        }
    }

    /// Sets the timer at `now`, or stops it where there is nothing to send again.
    fn arm(&mut self, now: Time) {
        self.deadline = Time::NEVER;
        // What is outstanding is a SYN where nothing was acknowledged.
        let outstanding = self.way.outstanding();
        let Some(oldest) = outstanding.front().filter(|first| first.left > 0) else { return };
        let due = match &self.algorithm {
            EdgeTimer::Estimator(algorithm) => {
                Some(algorithm.deadline(now, oldest.last_sent, outstanding.len() as u64))
            }
            EdgeTimer::Sfr { rests: true, .. } => None,
            EdgeTimer::Sfr { algorithm, handshake, .. } => {
                // The SYN is no octet.
                let done = algorithm.is_over(self.way.una().saturating_sub(1));
                handshake.filter(|_| !done).map(|rtt| now + algorithm.wait(rtt))
            }
        };
        if let Some(due) = due {
            (self.deadline, self.armed) = (due.max(now), now);
        }
    }

    /// The first segment not acknowledged once more, where its time is up at `now`.
    pub fn pop(&mut self, now: Time) -> Option<Segment> {
        if self.deadline > now {
            return None;
        }
        let armed = self.armed;
        let at = std::mem::replace(&mut self.deadline, Time::NEVER);
        let copies = self.way.outstanding().front()?.kept.copies;
        if copies >= self.most_retransmissions {
            return None;
        }
        let kept = &mut self.way.repeat_first(at)?.kept;
        kept.copies += 1;
        let mut again = kept.copy;
        again.id = again.id.copy(u64::from(kept.copies));
        let left = self.way.sequence().octet(again.seq);
        let (cause, backoff) = match &mut self.algorithm {
            EdgeTimer::Estimator(algorithm) => {
                algorithm.on_timeout(at, TimeoutKind::Rto);
                (Cause::Shim, algorithm.state().backoff)
            }
            EdgeTimer::Sfr { rests, .. } => {
                *rests = true;
                (Cause::Sfr, 1)
            }
        };
        again.cause = Some(cause).into();
        self.retransmissions.push(Retransmission { at, armed, id: again.id, left, cause, backoff });
        self.arm(at);
        Some(again)
    }

    fn give_up(&mut self) {
        self.off = true;
        self.deadline = Time::NEVER;
        self.way = OneWay::new(*self.way.sequence());
    }
}
