//! A prober with one volley in flight: a request, and its reply from an echo host.

use crate::event::{Events, What};
use crate::segment::Segment;
use crate::stage::{Port, Stage};
use crate::units::{Duration, Time};

/// The prober's orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolleyPlan {
    /// When the first request leaves.
    pub start: Time,
    /// Octets of each IP datagram, in turn and from the start again; one at least.
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
    strays: u64,
}

impl Volleys {
    /// The prober at the endpoint numbered `endpoint`.
    ///
    /// # Panics
    /// When the plan has no sizes.
    pub fn new(endpoint: u32, plan: VolleyPlan) -> Self {
        assert!(!plan.sizes_bytes.is_empty(), "a volley has a size");
        let next = plan.start;
        Self { endpoint, plan, done: Vec::new(), in_flight: None, next, strays: 0 }
    }

    /// The volleys that are over, in order.
    pub fn done(&self) -> &[Volley] {
        &self.done
    }

    /// Replies that came a second time, or after they were given up.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    fn size(&self) -> u16 {
        self.plan.sizes_bytes[self.done.len() % self.plan.sizes_bytes.len()]
    }

    /// The number of the volley to send or in flight, from 1.
    #[expect(clippy::cast_possible_truncation, reason = "a plan counts in 32 bits")]
    fn number(&self) -> u32 {
        self.done.len() as u32 + 1
    }

    fn finish(&mut self, sent: Time, rtt: Option<Duration>) {
        self.done.push(Volley { sent, size_bytes: self.size(), rtt });
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
            _ => self.strays += 1,
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
            size_bytes: self.size(),
            ..Segment::default()
        };
        request.set_stamp(self.next);
        self.in_flight = Some(self.next);
        Some((self.next, 0, request))
    }
}
