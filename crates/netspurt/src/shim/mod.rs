//! A retransmission timer at a host's edge: it stands between a host's TCP, which it leaves as it
//! is, and the path, and sends the first segment not acknowledged once more when its time is up.
//!
//! It sees what the host sends and what reaches it, keeps copies of what is outstanding, and has
//! no other knowledge: no congestion window follows its resends, and the host does not know of
//! them. SYNs are left to the host, since a round trip is known only after them. Without input or
//! output, so it is driven by a live run's clock, by a replay or by a test alike.

mod config;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

pub use config::{ShimConfig, ShimError, ShimTimer, SuperFast};

use crate::rto::{RtoEstimator, TimeoutKind};
use crate::sample::{RttSample, SampleSource};
use crate::segment::{Cause, Flags, Segment};
use crate::seq;
use crate::units::{Duration, Time};

/// A segment that the host sent, until it is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Its place in the sequence space, counted from the SYN.
    left: u64,
    right: u64,
    /// The newest copy that the host sent.
    copy: Segment,
    first_sent: Time,
    last_sent: Time,
    /// Times it went out again, whoever sent it.
    again: u32,
    /// Times the shim sent this copy again.
    copies: u8,
}

/// A resend of the shim's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resend {
    /// When it was due, and left in logical time.
    pub at: Time,
    /// When the timer that ran out was set.
    pub armed: Time,
    /// The transmission, as in the other tables.
    pub id: u64,
    /// Its first octet, counted from the SYN.
    pub left: u64,
    /// Why.
    pub cause: Cause,
    /// The factor that timeouts have put on the next timer.
    pub backoff: u32,
}

/// What decides when the time is up.
#[derive(Debug)]
enum Law {
    Estimator(Box<dyn RtoEstimator>),
    SuperFast {
        law: SuperFast,
        /// The handshake's round trip, once it is known.
        handshake: Option<Duration>,
        /// Whether it waits for a new segment before it may run again.
        rests: bool,
    },
}

/// A retransmission timer at the edge of one connection's host.
///
/// ```
/// use netspurt::segment::Segment;
/// use netspurt::shim::{Shim, ShimConfig};
/// use netspurt::units::{Duration, Time};
///
/// let mut shim = Shim::new(&ShimConfig::parse("fixed:rto=50ms").unwrap());
/// let data = Segment { dest: 1, seq: 1, len: 1000, ..Segment::default() };
/// shim.sent(Time::ZERO, &data);
/// let due = Time::ZERO + Duration::from_millis(50);
/// assert_eq!(shim.next_wakeup(), Some(due));
/// let again = shim.pop(due).unwrap();
/// assert_eq!((again.seq, again.cause.get().unwrap().name()), (1, "shim"));
/// ```
#[derive(Debug)]
pub struct Shim {
    law: Law,
    most_resends: u8,
    held: VecDeque<Held>,
    /// The first octet not acknowledged.
    una: u64,
    /// The octet after the highest sent.
    highest: u64,
    deadline: Time,
    armed: Time,
    smss_bytes: u32,
    /// Windows of data counted, and the octet that ends the present one.
    round: (u64, u64),
    /// The connection was reset, or the shim gave it up.
    off: bool,
    resends: Vec<Resend>,
}

impl Shim {
    /// One for a connection that is still to open.
    pub fn new(config: &ShimConfig) -> Self {
        let law = match config.timer {
            ShimTimer::Estimator(law) => Law::Estimator(law.build()),
            ShimTimer::SuperFast(law) => Law::SuperFast { law, handshake: None, rests: true },
        };
        Self {
            law,
            most_resends: config.most_resends,
            held: VecDeque::new(),
            una: 0,
            highest: 0,
            deadline: Time::NEVER,
            armed: Time::ZERO,
            smss_bytes: 0,
            round: (0, 0),
            off: false,
            resends: Vec::new(),
        }
    }

    /// What it sent again so far.
    pub fn resends(&self) -> &[Resend] {
        &self.resends
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
        let left = seq::from_wire(seq::SIMULATED_ISN, segment.seq, self.highest);
        let right = left + u64::from(segment.seq_len());
        if let Law::Estimator(law) = &mut self.law {
            law.on_send(now, segment.size_bytes.into());
        }
        if left >= self.highest {
            self.fresh((left, right), segment, now);
        } else {
            self.repeated((left, right), segment, now);
        }
    }

    fn fresh(&mut self, (left, right): (u64, u64), segment: &Segment, now: Time) {
        self.highest = right;
        self.smss_bytes = self.smss_bytes.max(segment.len.into());
        self.held.push_back(Held {
            left,
            right,
            copy: *segment,
            first_sent: now,
            last_sent: now,
            again: 0,
            copies: 0,
        });
        if let Law::SuperFast { rests, .. } = &mut self.law {
            *rests = false;
        }
        if self.deadline == Time::NEVER {
            self.arm(now);
        }
    }

    /// The host sent octets again: no sample is taken of them, and where it was the first segment
    /// outstanding an estimator's timer starts anew, since that repair is under way.
    fn repeated(&mut self, (left, right): (u64, u64), segment: &Segment, now: Time) {
        for held in self.held.iter_mut().filter(|held| held.left < right && left < held.right) {
            held.again += 1;
            held.last_sent = now;
            if (held.left, held.right) == (left, right) {
                (held.copy, held.copies) = (*segment, 0);
            }
        }
        let first = self.held.front().is_some_and(|held| held.left < right && left < held.right);
        if first && matches!(self.law, Law::Estimator(_)) {
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
        let ack = seq::from_wire(seq::SIMULATED_ISN, segment.ack, self.una);
        if ack <= self.una || ack > self.highest {
            return;
        }
        let acked = ack - self.una;
        self.una = ack;
        let mut oldest: Option<Held> = None;
        let mut again = 0;
        while let Some(held) = self.held.front().filter(|held| held.right <= ack) {
            oldest.get_or_insert(*held);
            again += held.again;
            self.held.pop_front();
        }
        if let Some(oldest) = oldest {
            self.measure(&oldest, again, acked, now);
        }
        self.arm(now);
    }

    /// Takes the round trip of the oldest segment that an ACK covers; of an ACK that covers any
    /// that went out twice none is taken, as in Linux, since the others may have waited for it.
    fn measure(&mut self, oldest: &Held, again: u32, acked_bytes: u64, now: Time) {
        let rtt = now.saturating_since(oldest.first_sent);
        let handshake = oldest.left == 0;
        match &mut self.law {
            Law::SuperFast { handshake: known, .. } => {
                // Of a SYN sent twice it is not told which of them was answered.
                if handshake && again == 0 {
                    *known = Some(rtt);
                }
            }
            Law::Estimator(law) => {
                if again > 0 && !handshake {
                    return law.on_progress(false);
                }
                if oldest.right > self.round.1 {
                    self.round = (self.round.0 + 1, self.highest);
                }
                let sample = RttSample {
                    at: now,
                    sent: oldest.first_sent,
                    rtt,
                    ambiguous: again > 0,
                    source: SampleSource::EachSegment,
                    wire_bytes: oldest.copy.size_bytes.into(),
                    acked_bytes,
                    flight_bytes: self.highest - self.una,
                    smss_bytes: self.smss_bytes,
                    resends: u8::try_from(again).unwrap_or(u8::MAX),
                    ack_delay: Duration::ZERO,
                    round: self.round.0,
                    handshake,
                };
                if handshake {
                    law.on_handshake(&sample);
                } else {
                    law.on_sample(&sample);
                }
            }
        }
    }

    /// Sets the timer at `now`, or stops it where there is nothing to send again.
    fn arm(&mut self, now: Time) {
        self.deadline = Time::NEVER;
        // What is outstanding is a SYN where nothing was acknowledged.
        let Some(oldest) = self.held.front().filter(|held| held.left > 0) else { return };
        let due = match &self.law {
            Law::Estimator(law) => {
                Some(law.deadline(now, oldest.last_sent, self.held.len() as u64))
            }
            Law::SuperFast { rests: true, .. } => None,
            Law::SuperFast { law, handshake, .. } => {
                // The SYN is no octet.
                let done = law.cutout_bytes.is_some_and(|most| self.una.saturating_sub(1) >= most);
                handshake.filter(|_| !done).map(|rtt| now + law.wait(rtt))
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
        let first = self.held.front_mut()?;
        if first.copies >= self.most_resends {
            return None;
        }
        first.copies += 1;
        first.again += 1;
        first.last_sent = at;
        let (left, mut again) = (first.left, first.copy);
        again.id += u64::from(first.copies);
        let (cause, backoff) = match &mut self.law {
            Law::Estimator(law) => {
                law.on_timeout(at, TimeoutKind::Rto);
                (Cause::Shim, law.state().backoff)
            }
            Law::SuperFast { rests, .. } => {
                *rests = true;
                (Cause::Sfr, 1)
            }
        };
        again.cause = Some(cause).into();
        self.resends.push(Resend { at, armed, id: again.id, left, cause, backoff });
        self.arm(at);
        Some(again)
    }

    fn give_up(&mut self) {
        self.off = true;
        self.deadline = Time::NEVER;
        self.held.clear();
    }
}
