//! Draws the connections of a population, one after the other. A population is many connections of
//! one kind that start at different instants of a run.

use std::sync::Arc;

use crate::app::{Bulk, PlannedRequest, RequestPlan, Task};
use crate::distribution::{Distribution, Sampler};
use crate::rng::Stream;
use crate::shim::ShimConfig;
use crate::units::{Duration, Time};

use super::traffic::PlannedEnd;

/// A population, with the distributions from which its connections are drawn.
#[derive(Debug)]
pub struct PlannedPopulation {
    /// The name of the population.
    pub name: String,
    /// The number of the node that opens the connections.
    pub from: u32,
    /// The number of the node to which the connections are opened.
    pub to: u32,
    /// Whether the packets are IPv6.
    pub ipv6: bool,
    /// The TCP at both ends.
    pub end: PlannedEnd,
    /// The shims, which are retransmission timers between the TCP of each host and the path. For a
    /// host without a shim, the value is `None`.
    pub shims: [Option<ShimConfig>; 2],
    /// The distributions from which a connection is drawn.
    pub drawn: ConnectionDistributions,
    /// The time from one arrival to the next.
    pub gap: Distribution,
    /// Whether the first connection arrives at the start, and not after the first gap.
    pub at_once: bool,
    /// When connections begin to arrive.
    pub start: Time,
    /// No connection arrives from this instant on.
    pub until: Time,
    /// The maximum number of connections.
    pub connections_max: u64,
    /// The seed of the random draws.
    pub seed: u64,
}

/// The distributions from which a connection is drawn.
#[derive(Debug)]
pub struct ConnectionDistributions {
    /// The octets of a transfer or of a request.
    pub send: Distribution,
    /// The octets of a reply. The value is `None` if the connections have no replies.
    pub reply: Option<Distribution>,
    /// The time that the server takes for a reply.
    pub serve: Distribution,
    /// The number of requests of a connection.
    pub requests: Distribution,
    /// The time from a reply to the next request.
    pub think: Distribution,
}

/// The connections of a population, in the order of their arrival.
#[derive(Debug)]
pub struct ArrivingConnections {
    /// The population.
    pub population: Arc<PlannedPopulation>,
    next: Time,
    count: u32,
    gap: Sampler,
    send: Sampler,
    reply: Option<Sampler>,
    serve: Sampler,
    requests: Sampler,
    think: Sampler,
}

impl PlannedPopulation {
    /// Whether both ends of the population's connections use the kernel's TCP.
    pub fn is_real(&self) -> bool {
        matches!(self.end, PlannedEnd::Kernel(_))
    }

    /// Whether the population's connections are transfers without replies.
    pub fn is_of_transfers(&self) -> bool {
        self.drawn.reply.is_none()
    }
}

impl ArrivingConnections {
    /// Begins the series of connections of `population`. Each quantity is drawn from its own random
    /// stream. So if the distribution of one quantity changes, the values that are drawn for the
    /// other quantities stay the same.
    pub fn new(population: Arc<PlannedPopulation>) -> Self {
        let sampler = |from: &Distribution, of: &str| {
            let stream = format!("populations.{}/{of}", population.name);
            Sampler::new(from, Stream::named(population.seed, &stream))
        };
        let drawn = &population.drawn;
        let mut arrivals = Self {
            next: population.start,
            count: 0,
            gap: sampler(&population.gap, "arrivals"),
            send: sampler(&drawn.send, "send"),
            reply: drawn.reply.as_ref().map(|from| sampler(from, "reply")),
            serve: sampler(&drawn.serve, "serve"),
            requests: sampler(&drawn.requests, "requests"),
            think: sampler(&drawn.think, "think"),
            population,
        };
        if !arrivals.population.at_once {
            arrivals.next += arrivals.gap.span();
        }
        arrivals
    }

    /// The nodes at the two ends of the connections.
    pub fn nodes(&self) -> [u32; 2] {
        [self.population.from, self.population.to]
    }

    /// When the next connection arrives. The result is [`Time::NEVER`] if no more arrive.
    #[inline]
    pub fn next(&self) -> Time {
        let Self { population, next, count, .. } = self;
        let over = *next >= population.until || u64::from(*count) >= population.connections_max;
        if over { Time::NEVER } else { *next }
    }

    /// Removes the connection that arrives next. Returns its number and the task of its ends.
    pub fn take(&mut self) -> (u32, Task) {
        let (start, number) = (self.next, self.count);
        self.count += 1;
        self.next = start + self.gap.span();
        (number, self.task(start))
    }

    /// Draws the task of the ends of a connection.
    fn task(&mut self, start: Time) -> Task {
        if self.reply.is_none() {
            let octets = Some(self.send.octets());
            return Task::Bulk(Bulk { start, pause: Duration::ZERO, octets });
        }
        let count = self.requests.count();
        let each = self.request();
        let later = (count > 1).then(|| (1..count).map(|_| self.request()).collect());
        Task::Requests(RequestPlan { start, pause: Duration::ZERO, each, count, later })
    }

    /// Draws a request and its reply.
    fn request(&mut self) -> PlannedRequest {
        PlannedRequest {
            request_bytes: self.send.octets(),
            reply_bytes: self.reply.as_mut().map_or(1, Sampler::octets),
            think: self.think.span(),
            serve: self.serve.span(),
        }
    }
}
