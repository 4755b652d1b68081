//! The shim: a retransmission timer at a host's edge. The shim stands between the TCP of an
//! unchanged host and the path, and retransmits the first outstanding segment when its timer fires.
//!
//! The shim sees the segments that the host sends and receives, and keeps copies of outstanding
//! segments. No congestion window limits its retransmissions, and the host does not know of them.
//! The shim does not retransmit SYNs, because no round trip is known before the handshake. The shim
//! does no input or output of its own and gets the time as a parameter. So a live run, a replay or
//! a test can drive it.

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

/// A copy of a segment that the host sent. The shim keeps it until the segment is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// The host's last transmission of the whole segment.
    copy: Segment,
    /// The number of times that the shim retransmitted the segment since that transmission.
    copies: u8,
}

/// A retransmission by the shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// When the timer fired. The retransmission counts as sent at this instant, even if
    /// [`pop`](Shim::pop) is called later.
    pub at: Time,
    /// When the timer was armed.
    pub armed: Time,
    /// The id of the retransmission, as in the tables of a run.
    pub id: TransmissionId,
    /// The first octet of the segment; the SYN is octet 0.
    pub left: u64,
    /// The number of octets of payload.
    pub len: u16,
    /// The cause: `shim` for the timer of an estimator (an algorithm such as RFC 6298), `sfr` for
    /// Super Fast Retransmit.
    pub cause: Cause,
    /// The backoff of the timer after this retransmission.
    pub backoff: u32,
}

/// The timer of a shim, with its state. Super Fast Retransmit (Tarr and Ghita 2005) fires after a
/// multiple of the handshake's round trip. It stops when a given number of octets, the *cutout*, is
/// acknowledged.
#[derive(Debug)]
enum EdgeTimer {
    Estimator(Box<dyn RtoEstimator>),
    Sfr {
        algorithm: SfrConfig,
        /// The handshake's round trip, as soon as it is known.
        handshake: Option<Duration>,
        /// True if the timer stays off until the host sends a new segment.
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
/// let retransmission = shim.pop(due).unwrap();
/// assert_eq!((retransmission.seq, retransmission.cause.get().unwrap().name()), (1, "shim"));
/// ```
#[derive(Debug)]
pub struct Shim {
    algorithm: EdgeTimer,
    retransmissions_max: u8,
    /// The segments that the host sent.
    outgoing: OneWay<Kept>,
    deadline: Time,
    armed: Time,
    /// True if the shim has stopped, because the connection was reset.
    off: bool,
    retransmissions: Vec<Retransmission>,
}

impl Shim {
    /// Makes a shim for a connection that is not open yet.
    pub fn new(config: &ShimConfig) -> Self {
        let algorithm = match config.timer {
            ShimTimer::Estimator(algorithm) => EdgeTimer::Estimator(algorithm.build()),
            ShimTimer::Sfr(algorithm) => EdgeTimer::Sfr { algorithm, handshake: None, rests: true },
        };
        Self {
            algorithm,
            retransmissions_max: config.retransmissions_max,
            outgoing: OneWay::new(Sequence::default()),
            deadline: Time::NEVER,
            armed: Time::ZERO,
            off: false,
            retransmissions: Vec::new(),
        }
    }

    /// The retransmissions so far.
    pub fn retransmissions(&self) -> &[Retransmission] {
        &self.retransmissions
    }

    /// When the timer fires. The result is `None` if the timer is not armed.
    pub fn next_wakeup(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// Processes `segment`, which the host sent into the path at the instant `now`.
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
        match self.outgoing.sent(now, segment, kept) {
            Some(copy) if copy.again => self.host_retransmission(copy, now),
            Some(_) => self.new_segment(now),
            None => {}
        }
    }

    fn new_segment(&mut self, now: Time) {
        if let EdgeTimer::Sfr { rests, .. } = &mut self.algorithm {
            *rests = false;
        }
        if self.deadline == Time::NEVER {
            self.arm(now);
        }
    }

    /// Processes a retransmission by the host. If the retransmission has octets of the first
    /// outstanding segment, an estimator's timer restarts, because the host already repairs that
    /// segment.
    fn host_retransmission(&mut self, copy: Transmission, now: Time) {
        let oldest = self.outgoing.outstanding().front();
        let repairs_oldest =
            oldest.is_some_and(|oldest| oldest.left < copy.right && copy.left < oldest.right);
        if repairs_oldest && matches!(self.algorithm, EdgeTimer::Estimator(_)) {
            self.arm(now);
        }
    }

    /// Processes `segment`, which reached the host at the instant `now`.
    pub fn arrived(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            self.give_up();
        }
        if self.off || !segment.flags.has(Flags::ACK) {
            return;
        }
        // An ACK of octets that were never sent is not acceptable (RFC 9293 §3.10.7.4).
        let sequence = self.outgoing.sequence();
        if sequence.octet(segment.ack) > sequence.highest() {
            return;
        }
        let Answer { acked_bytes, sample } = self.outgoing.answered(now, segment);
        if let Some(sample) = sample {
            self.measure(&sample);
        }
        if acked_bytes > 0 {
            self.arm(now);
        }
    }

    /// Processes the sample of a round trip. Super Fast Retransmit uses only the round trip of the
    /// handshake, and only if no SYN was retransmitted. An estimator also gets an ambiguous sample
    /// of the handshake. From an ambiguous sample of data, an estimator learns only that new data
    /// was acknowledged.
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

    /// Arms the timer at the instant `now`. Stops the timer instead if the first outstanding
    /// segment is a SYN, or if nothing is outstanding. The timer of Super Fast Retransmit is also
    /// stopped in three cases: it must wait for a new segment of the host, the octets of its cutout
    /// are acknowledged, or the handshake gave no round trip.
    fn arm(&mut self, now: Time) {
        self.deadline = Time::NEVER;
        // Octet 0 is the SYN, which the shim does not retransmit.
        let outstanding = self.outgoing.outstanding();
        let Some(oldest) = outstanding.front().filter(|first| first.left > 0) else { return };
        let due = match &self.algorithm {
            EdgeTimer::Estimator(algorithm) => {
                Some(algorithm.deadline(now, oldest.last_sent, outstanding.len() as u64))
            }
            EdgeTimer::Sfr { rests: true, .. } => None,
            EdgeTimer::Sfr { algorithm, handshake, .. } => {
                // The SYN does not count as an octet.
                let stopped = algorithm.has_stopped(self.outgoing.una().saturating_sub(1));
                handshake.filter(|_| !stopped).map(|rtt| now + algorithm.wait(rtt))
            }
        };
        if let Some(due) = due {
            (self.deadline, self.armed) = (due.max(now), now);
        }
    }

    /// Returns a retransmission of the first outstanding segment, if the timer has fired by the
    /// instant `now`. Returns `None` if the timer has not fired, or if the segment was already
    /// retransmitted as often as allowed.
    pub fn pop(&mut self, now: Time) -> Option<Segment> {
        if self.deadline > now {
            return None;
        }
        let armed = self.armed;
        let at = std::mem::replace(&mut self.deadline, Time::NEVER);
        let copies = self.outgoing.outstanding().front()?.kept.copies;
        if copies >= self.retransmissions_max {
            return None;
        }
        let kept = &mut self.outgoing.repeat_first(at)?.kept;
        kept.copies += 1;
        let mut retransmission = kept.copy;
        retransmission.id = retransmission.id.copy(u64::from(kept.copies));
        let left = self.outgoing.sequence().octet(retransmission.seq);
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
        retransmission.cause = Some(cause).into();
        self.retransmissions.push(Retransmission {
            at,
            armed,
            id: retransmission.id,
            left,
            len: retransmission.len,
            cause,
            backoff,
        });
        self.arm(at);
        Some(retransmission)
    }

    fn give_up(&mut self) {
        self.off = true;
        self.deadline = Time::NEVER;
        self.outgoing = OneWay::new(*self.outgoing.sequence());
    }
}
