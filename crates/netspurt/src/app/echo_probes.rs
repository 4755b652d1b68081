//! A prober, which sends echo probes to an echo host. An echo probe is a request that the echo host
//! sends back as a reply. The prober waits for one reply at a time.

use crate::event::{Events, What};
use crate::ids::{EndId, TransmissionId};
use crate::segment::{IPV4_HEADER_BYTES, Segment};
use crate::stage::{Port, Stage};
use crate::units::{Duration, Time};

/// The plan of the prober.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EchoProbePlan {
    /// When the first request leaves.
    pub start: Time,
    /// The sizes of the IP datagrams in octets. The plan has at least one size. The prober uses the
    /// sizes in turn, and begins again after the last size. The sizes include
    /// [`HEADER_BYTES`](Self::HEADER_BYTES) of headers.
    pub sizes_bytes: Vec<u16>,
    /// The number of echo probes.
    pub count: u32,
    /// The give-up time. If no reply arrives within this time, the echo probe counts as lost.
    pub timeout: Duration,
    /// The time from a reply, or from the end of the give-up time, until the next request leaves.
    pub pause: Duration,
}

impl EchoProbePlan {
    /// The give-up time in RFC 889's experiments.
    pub const TIMEOUT: Duration = Duration::from_secs(30);

    /// The number of octets in the headers of IPv4 and of an ICMP echo (RFC 792). The shortest
    /// datagram has only these headers.
    pub const HEADER_BYTES: u16 = IPV4_HEADER_BYTES + 8;
}

/// The outcome of one echo probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoProbe {
    /// When the request left.
    pub sent: Time,
    /// The number of octets in the datagram. The request and the reply have the same number of
    /// octets.
    pub size_bytes: u16,
    /// The round trip, or `None` if no reply came before the end of the give-up time.
    pub rtt: Option<Duration>,
    /// The round trip of a late reply, which came at the end of the give-up time or later.
    pub late: Option<Duration>,
    /// The number of replies after the first reply.
    pub duplicates: u32,
}

/// A prober that sends echo probes to the other end of its flow, one after the other.
///
/// ```
/// use netspurt::app::{EchoProbePlan, EchoProbes};
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::stage::Stage;
/// use netspurt::units::{Duration, Time};
/// let prober = EchoProbes::new(FlowId(0).end(Side::From), EchoProbePlan {
///     start: Time::ZERO, sizes_bytes: vec![40, 256], count: 512,
///     timeout: EchoProbePlan::TIMEOUT, pause: Duration::ZERO,
/// });
/// assert_eq!(prober.next_wakeup(), Some(Time::ZERO));
/// ```
#[derive(Debug)]
pub struct EchoProbes {
    end: EndId,
    plan: EchoProbePlan,
    done: Vec<EchoProbe>,
    /// When the outstanding request left. The value is `None` if no request is outstanding.
    in_flight: Option<Time>,
    /// When the next request leaves. The value applies only while no request is in flight.
    next: Time,
}

impl EchoProbes {
    /// Makes the prober at this end.
    ///
    /// # Panics
    /// When the plan has no sizes, or a size that is too short for the headers.
    pub fn new(end: EndId, plan: EchoProbePlan) -> Self {
        let shortest = plan.sizes_bytes.iter().min().expect("a plan has at least one size");
        assert!(*shortest >= EchoProbePlan::HEADER_BYTES, "each size has room for the headers");
        let next = plan.start;
        Self { end, plan, done: Vec::new(), in_flight: None, next }
    }

    /// The echo probes that were answered or given up, in order.
    pub fn done(&self) -> &[EchoProbe] {
        &self.done
    }

    /// When the request of the outstanding echo probe left, and its size in octets.
    pub fn in_flight(&self) -> Option<(Time, u16)> {
        self.in_flight.map(|sent| (sent, self.size()))
    }

    fn size(&self) -> u16 {
        self.plan.sizes_bytes[self.done.len() % self.plan.sizes_bytes.len()]
    }

    /// The number of the echo probe in flight or, if none is in flight, of the next echo probe. The
    /// first echo probe has the number 1.
    #[expect(clippy::cast_possible_truncation, reason = "a plan has fewer than 2^32 probes")]
    fn number(&self) -> u32 {
        self.done.len() as u32 + 1
    }

    /// Counts an unexpected reply as late or as a duplicate. A reply to an unknown echo probe is
    /// ignored.
    fn unexpected_reply(&mut self, now: Time, number: u32, in_flight: Option<Time>) {
        if let Some(sent) = in_flight.filter(|_| number == self.number()) {
            // The reply arrives exactly at the end of the give-up time. So the probe first ends
            // without a reply, and then this reply counts as late.
            self.finish(sent, None);
        }
        let Some(echo_probe) = self.done.get_mut(number.wrapping_sub(1) as usize) else { return };
        if echo_probe.rtt.or(echo_probe.late).is_none() {
            echo_probe.late = Some(now - echo_probe.sent);
        } else {
            echo_probe.duplicates += 1;
        }
    }

    fn finish(&mut self, sent: Time, rtt: Option<Duration>) {
        let size_bytes = self.size();
        self.done.push(EchoProbe { sent, size_bytes, rtt, late: None, duplicates: 0 });
        self.in_flight = None;
        self.next = sent + rtt.unwrap_or(self.plan.timeout) + self.plan.pause;
    }
}

impl Stage<Segment> for EchoProbes {
    fn push(&mut self, now: Time, _port: Port, reply: Segment, events: &mut Events<Segment>) {
        // A reply that arrives exactly at the end of the give-up time is late.
        match self.in_flight {
            Some(sent) if reply.seq == self.number() && now < sent + self.plan.timeout => {
                let rtt = now - sent;
                self.finish(sent, Some(rtt));
                if events.wanted().rtt {
                    events.report(now, What::Rtt { end: self.end, sent, rtt });
                }
            }
            in_flight => self.unexpected_reply(now, reply.seq, in_flight),
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        match self.in_flight {
            Some(sent) => Some(sent + self.plan.timeout),
            None => (self.number() <= self.plan.count).then_some(self.next),
        }
    }

    fn pop(&mut self, now: Time, _: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        if let Some(sent) = self.in_flight
            && sent + self.plan.timeout <= now
        {
            self.finish(sent, None);
        }
        if self.in_flight.is_some() || self.next_wakeup()? > now {
            return None;
        }
        let number = self.number();
        let mut request = Segment {
            id: TransmissionId::new(self.end, number.into()),
            dest: self.end.peer(),
            seq: number,
            len: self.size() - EchoProbePlan::HEADER_BYTES,
            size_bytes: self.size(),
            ..Segment::default()
        };
        request.set_echo();
        request.set_stamp(self.next);
        self.in_flight = Some(self.next);
        Some((self.next, 0, request))
    }
}
