//! A prober with one volley in flight: a request, and its reply from an echo host.

use crate::event::{Events, What};
use crate::segment::{IPV4_HEADER_BYTES, Segment};
use crate::stage::{Port, Stage};
use crate::units::{Duration, Time};

/// The prober's orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolleyPlan {
    /// When the first request leaves.
    pub start: Time,
    /// Octets of each IP datagram, in turn and from the start again; one at least. Of these
    /// [`HEADER_BYTES`](Self::HEADER_BYTES) are headers.
    pub sizes_bytes: Vec<u16>,
    /// How many volleys.
    pub count: u32,
    /// How long a reply is waited for; then the volley is lost.
    pub timeout: Duration,
    /// How long after a reply, or a loss, the next request leaves.
    pub pause: Duration,
}

impl VolleyPlan {
    /// How long the hosts of RFC 889's experiments waited before they called a volley lost.
    pub const TIMEOUT: Duration = Duration::from_secs(30);

    /// Octets of the headers of IPv4 and of an ICMP echo (RFC 792): the shortest datagram.
    pub const HEADER_BYTES: u16 = IPV4_HEADER_BYTES + 8;
}

/// What came of one volley.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volley {
    /// When the request left.
    pub sent: Time,
    /// Octets of its datagram, and the reply's.
    pub size_bytes: u16,
    /// How long until the reply came; `None` if it was given up.
    pub rtt: Option<Duration>,
    /// How long until the reply came after it was given up.
    pub late: Option<Duration>,
    /// Replies that came after the first.
    pub duplicates: u32,
}

/// Sends volleys to the other end of its flow, one after the other.
///
/// ```
/// use netspurt::app::{VolleyPlan, Volleys};
/// use netspurt::stage::Stage;
/// use netspurt::units::{Duration, Time};
/// let prober = Volleys::new(0, VolleyPlan {
///     start: Time::ZERO, sizes_bytes: vec![40, 256], count: 512,
///     timeout: VolleyPlan::TIMEOUT, pause: Duration::ZERO,
/// });
/// assert_eq!(prober.next_wakeup(), Some(Time::ZERO));
/// ```
#[derive(Debug)]
pub struct Volleys {
    endpoint: u32,
    plan: VolleyPlan,
    done: Vec<Volley>,
    /// When the request left whose reply is waited for.
    in_flight: Option<Time>,
    /// When the next request leaves, if none is in flight.
    next: Time,
}

impl Volleys {
    /// The prober at the endpoint numbered `endpoint`.
    ///
    /// # Panics
    /// When the plan has no sizes, or one too short for the headers.
    pub fn new(endpoint: u32, plan: VolleyPlan) -> Self {
        let shortest = plan.sizes_bytes.iter().min().expect("a volley has a size");
        assert!(*shortest >= VolleyPlan::HEADER_BYTES, "a volley has headers");
        let next = plan.start;
        Self { endpoint, plan, done: Vec::new(), in_flight: None, next }
    }

    /// The volleys that are over, in order.
    pub fn done(&self) -> &[Volley] {
        &self.done
    }

    /// When the request left, and its size, of the volley whose reply is waited for.
    pub fn in_flight(&self) -> Option<(Time, u16)> {
        self.in_flight.map(|sent| (sent, self.size()))
    }

    fn size(&self) -> u16 {
        self.plan.sizes_bytes[self.done.len() % self.plan.sizes_bytes.len()]
    }

    /// The number of the volley to send or in flight, from 1.
    #[expect(clippy::cast_possible_truncation, reason = "a plan counts in 32 bits")]
    fn number(&self) -> u32 {
        self.done.len() as u32 + 1
    }

    /// Files a reply that nobody waits for: it is late, or a copy.
    fn stray(&mut self, now: Time, number: u32, in_flight: Option<Time>) {
        if let Some(sent) = in_flight.filter(|_| number == self.number()) {
            // Its deadline is this instant.
            self.finish(sent, None);
        }
        let Some(volley) = self.done.get_mut(number.wrapping_sub(1) as usize) else { return };
        if volley.rtt.or(volley.late).is_none() {
            volley.late = Some(now - volley.sent);
        } else {
            volley.duplicates += 1;
        }
    }

    fn finish(&mut self, sent: Time, rtt: Option<Duration>) {
        let size_bytes = self.size();
        self.done.push(Volley { sent, size_bytes, rtt, late: None, duplicates: 0 });
        self.in_flight = None;
        self.next = sent + rtt.unwrap_or(self.plan.timeout) + self.plan.pause;
    }
}

impl Stage<Segment> for Volleys {
    fn push(&mut self, now: Time, _port: Port, reply: Segment, events: &mut Events<Segment>) {
        // A deadline at this instant has passed before the reply is judged.
        match self.in_flight {
            Some(sent) if reply.seq == self.number() && now < sent + self.plan.timeout => {
                let rtt = now - sent;
                self.finish(sent, Some(rtt));
                if events.wanted().rtt {
                    events.report(now, What::Rtt { endpoint: self.endpoint, sent, rtt });
                }
            }
            in_flight => self.stray(now, reply.seq, in_flight),
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
            id: super::transmission(self.endpoint, number.into()),
            dest: self.endpoint ^ 1,
            seq: number,
            len: self.size() - VolleyPlan::HEADER_BYTES,
            size_bytes: self.size(),
            ..Segment::default()
        };
        request.set_echo();
        request.set_stamp(self.next);
        self.in_flight = Some(self.next);
        Some((self.next, 0, request))
    }
}
