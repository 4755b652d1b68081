//! A client that sends requests over one connection, and a server that answers them. Only one
//! request is outstanding at a time.

use std::sync::Arc;

use crate::event::Events;
use crate::segment::Segment;
use crate::stage::{Port, Stage};
use crate::tcp::{Connection, TcpState};
use crate::units::{Duration, Time};

use super::FlowResult;

/// The plan of a flow in which one end sends requests and the other end answers them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPlan {
    /// When the connection is opened.
    pub start: Time,
    /// How long the client waits, after the handshake, before it writes the first request. Zero is
    /// special: the client then writes the first request when it opens the connection.
    pub pause: Duration,
    /// The first request. Later requests that `later` does not list are like the first.
    pub each: PlannedRequest,
    /// The number of requests, at least one. After the last reply, the connection is closed.
    pub count: u32,
    /// The requests from the second on. The requests after the end of this list are like the field
    /// `each`. `None` means that all requests are like `each`.
    pub later: Option<Arc<[PlannedRequest]>>,
}

/// The plan of a request and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRequest {
    /// The number of octets in the request, at least one.
    pub request_bytes: u64,
    /// The number of octets in the reply, at least one.
    pub reply_bytes: u64,
    /// The time from the reply's last octet until the next request is written.
    pub think: Duration,
    /// The time from the request's last octet until its reply is written.
    pub serve: Duration,
}

impl RequestPlan {
    /// Returns the request numbered `number`, counted from 0.
    pub fn request(&self, number: usize) -> PlannedRequest {
        let later = self.later.as_ref().filter(|_| number > 0);
        later.and_then(|later| later.get(number - 1)).copied().unwrap_or(self.each)
    }

    /// The number of octets in all requests, and the number of octets in all replies.
    pub fn octets(&self) -> [u64; 2] {
        let listed = self.later.as_ref().map_or(0, |later| later.len());
        let own = u64::from(self.count).saturating_sub(listed as u64);
        let later = || self.later.iter().flat_map(|later| later.iter());
        let all = |of: fn(&PlannedRequest) -> u64| {
            later().fold(of(&self.each).saturating_mul(own), |sum, request| {
                sum.saturating_add(of(request))
            })
        };
        [all(|request| request.request_bytes), all(|request| request.reply_bytes)]
    }
}

/// The outcome of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When the client wrote the request. Without a pause, the client writes the first request when
    /// it begins to open the connection.
    pub asked: Time,
    /// When the client read the first octet of the reply. The value is `None` before that.
    pub began: Option<Time>,
    /// When the client read the last octet of the reply. The value is `None` before that.
    pub complete: Option<Time>,
}

/// The state of a client: its requests so far, and when it writes the next request.
#[derive(Clone, Debug)]
pub struct ClientRequests {
    plan: RequestPlan,
    exchanges: Vec<Exchange>,
    /// The number of octets in the replies to all requests before the newest request.
    before: u64,
    /// When the client writes the next request. The value is `None` before [`begin`](Self::begin),
    /// while a request is outstanding, and after the last reply.
    next: Option<Time>,
}

impl ClientRequests {
    /// Makes the state of a client with this plan, before its first request.
    pub fn new(plan: RequestPlan) -> Self {
        Self { plan, exchanges: Vec::new(), before: 0, next: None }
    }

    /// The requests of the client so far, in order.
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// When the client writes the next request. The value is `None` before [`begin`](Self::begin),
    /// while a request is outstanding, and after the last reply.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Sets the instant `at` at which the first request is written.
    pub fn begin(&mut self, at: Time) {
        self.next = Some(at);
    }

    /// Notes that a request is written at the instant `at`. Returns the number of its octets.
    pub fn ask(&mut self, at: Time) -> u64 {
        self.next = None;
        if let Some(number) = self.exchanges.len().checked_sub(1) {
            self.before += self.plan.request(number).reply_bytes;
        }
        self.exchanges.push(Exchange { asked: at, began: None, complete: None });
        self.plan.request(self.exchanges.len() - 1).request_bytes
    }

    /// Notes that the client has read `octets` octets in total from the connection by the instant
    /// `now`. Returns whether these octets complete the last reply of the plan.
    pub fn got(&mut self, now: Time, octets: u64) -> bool {
        let number = self.exchanges.len().saturating_sub(1);
        let Some(exchange) = self.exchanges.last_mut() else { return false };
        if exchange.complete.is_some() || octets <= self.before {
            return false;
        }
        exchange.began.get_or_insert(now);
        let request = self.plan.request(number);
        if octets < self.before + request.reply_bytes {
            return false;
        }
        exchange.complete = Some(now);
        let over = self.is_over();
        self.next = (!over).then(|| now + request.think);
        over
    }

    /// Whether all replies are complete and no request remains.
    pub fn is_over(&self) -> bool {
        self.exchanges.len() as u64 >= self.plan.count.into()
            && self.exchanges.last().is_none_or(|last| last.complete.is_some())
    }
}

/// The state of a server: how many requests it has answered, and when it answers the next request.
#[derive(Clone, Debug)]
pub struct ServerReplies {
    plan: RequestPlan,
    /// The number of requests that were answered.
    answered: u32,
    /// The number of octets in the answered requests.
    before: u64,
    /// When the server writes the next reply. The value is `None` if no complete request waits for
    /// a reply.
    next: Option<Time>,
}

impl ServerReplies {
    /// Makes the state of a server with this plan, before its first request.
    pub fn new(plan: RequestPlan) -> Self {
        Self { plan, answered: 0, before: 0, next: None }
    }

    /// When the server writes the next reply. The value is `None` if no complete request waits for
    /// a reply.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Notes that the server has read `octets` octets in total from the connection by the instant
    /// `now`.
    pub fn got(&mut self, now: Time, octets: u64) {
        let request = self.plan.request(self.answered as usize);
        let waits = !self.is_over() && octets >= self.before + request.request_bytes;
        if self.next.is_none() && waits {
            self.next = Some(now + request.serve);
        }
    }

    /// Notes that the next reply is written. Returns the number of its octets.
    pub fn answer(&mut self) -> u64 {
        let request = self.plan.request(self.answered as usize);
        self.next = None;
        self.answered += 1;
        self.before += request.request_bytes;
        request.reply_bytes
    }

    /// Whether all requests of the plan were answered.
    pub fn is_over(&self) -> bool {
        self.answered >= self.plan.count
    }
}

/// The end that sends requests.
///
/// ```
/// use netspurt::app::{Client, PlannedRequest, RequestPlan};
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::stage::Stage;
/// use netspurt::tcp::{Connection, RfcConfig};
/// use netspurt::units::{Duration, Time};
/// let plan = RequestPlan {
///     start: Time::ZERO, pause: Duration::ZERO, count: 10, later: None,
///     each: PlannedRequest {
///         request_bytes: 200, reply_bytes: 20_000, think: Duration::from_millis(50),
///         serve: Duration::ZERO,
///     },
/// };
/// let connection = Connection::new(FlowId(0).end(Side::From), &RfcConfig::rfc_2026().into());
/// assert_eq!(Client::new(connection, plan).next_wakeup(), Some(Time::ZERO));
/// ```
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    requests: ClientRequests,
    step: ClientStep,
    /// When the client read the last reply.
    finished: Option<Time>,
}

/// The progress of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientStep {
    /// The client waits for the instant at which it opens the connection.
    Waits,
    /// The client waits until the connection is open.
    Opens,
    /// The client sends requests.
    Asks,
}

impl Client {
    /// Makes the client that sends requests over `connection`.
    pub fn new(connection: Connection, plan: RequestPlan) -> Self {
        Self {
            connection,
            requests: ClientRequests::new(plan),
            step: ClientStep::Waits,
            finished: None,
        }
    }

    /// The requests of the client so far, in order.
    pub fn exchanges(&self) -> &[Exchange] {
        self.requests.exchanges()
    }

    /// The plan of the client.
    pub fn plan(&self) -> &RequestPlan {
        &self.requests.plan
    }

    /// The results of the client so far.
    pub fn result(&self) -> FlowResult {
        let wrote = self.requests.exchanges.first().map(|first| first.asked);
        FlowResult::of(&self.connection, wrote, self.finished)
    }

    /// Reduces the memory of the client until its next event.
    /// [`Host::rest`](crate::stage::Host::rest) calls this method.
    pub fn rest(&mut self) {
        self.requests.exchanges.shrink_to_fit();
        self.connection.rest();
    }

    /// If the connection has just opened, starts the pause before the first request.
    fn pause_if_open(&mut self, now: Time) {
        if self.step == ClientStep::Opens && self.connection.state() == TcpState::Established {
            self.step = ClientStep::Asks;
            self.requests.begin(now + self.requests.plan.pause);
        }
    }

    /// When the client will open the connection. The value is `None` after that.
    fn opens(&self) -> Option<Time> {
        (self.step == ClientStep::Waits).then_some(self.requests.plan.start)
    }

    fn open(&mut self, at: Time, events: &mut Events<Segment>) {
        if self.requests.plan.pause.is_zero() {
            self.step = ClientStep::Asks;
            self.requests.begin(at);
        } else {
            self.step = ClientStep::Opens;
            self.connection.open(at, events);
            self.pause_if_open(at);
        }
    }
}

impl Stage<Segment> for Client {
    fn push(&mut self, now: Time, port: Port, segment: Segment, events: &mut Events<Segment>) {
        self.connection.push(now, port, segment, events);
        self.pause_if_open(now);
        if self.requests.got(now, self.connection.received().delivered_bytes) {
            self.finished = Some(now);
            self.connection.close(now, events);
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        if self.finished.is_some() && self.connection.only_in_time_wait() {
            return None;
        }
        let own = self.opens().or(self.requests.next());
        own.into_iter().chain(self.connection.next_wakeup()).min()
    }

    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        if let Some(at) = self.opens().filter(|at| *at <= now) {
            self.open(at, events);
        }
        if let Some(at) = self.requests.next().filter(|at| *at <= now) {
            self.connection.write(at, self.requests.ask(at), events);
        }
        self.connection.pop(now, events)
    }
}

/// The end that sends replies.
///
/// ```
/// use netspurt::app::{PlannedRequest, RequestPlan, Server};
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::stage::Stage;
/// use netspurt::tcp::{Connection, RfcConfig};
/// use netspurt::units::{Duration, Time};
/// let plan = RequestPlan {
///     start: Time::ZERO, pause: Duration::ZERO, count: 10, later: None,
///     each: PlannedRequest {
///         request_bytes: 200, reply_bytes: 20_000, think: Duration::ZERO,
///         serve: Duration::from_millis(2),
///     },
/// };
/// let connection = Connection::new(FlowId(0).end(Side::To), &RfcConfig::rfc_2026().into());
/// assert_eq!(Server::new(connection, plan).next_wakeup(), None);
/// ```
#[derive(Debug)]
pub struct Server {
    connection: Connection,
    replies: ServerReplies,
    /// When the server wrote its first reply.
    wrote: Option<Time>,
    /// When all replies were acknowledged.
    finished: Option<Time>,
    closed: bool,
}

impl Server {
    /// Makes the server that sends replies over `connection`.
    pub fn new(mut connection: Connection, plan: RequestPlan) -> Self {
        connection.listen();
        let replies = ServerReplies::new(plan);
        Self { connection, replies, wrote: None, finished: None, closed: false }
    }

    /// The results of the server so far.
    pub fn result(&self) -> FlowResult {
        FlowResult::of(&self.connection, self.wrote, self.finished)
    }

    /// Reduces the memory of the server until its next event.
    /// [`Host::rest`](crate::stage::Host::rest) calls this method.
    pub fn rest(&mut self) {
        self.connection.rest();
    }
}

impl Stage<Segment> for Server {
    fn push(&mut self, now: Time, port: Port, segment: Segment, events: &mut Events<Segment>) {
        self.connection.push(now, port, segment, events);
        self.replies.got(now, self.connection.received().delivered_bytes);
        if self.replies.is_over() && self.connection.unacknowledged() == 0 {
            self.finished.get_or_insert(now);
        }
        if !self.closed && self.connection.peer_closed() && self.replies.next().is_none() {
            self.closed = true;
            self.connection.close(now, events);
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.replies.next().into_iter().chain(self.connection.next_wakeup()).min()
    }

    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        if let Some(at) = self.replies.next().filter(|at| *at <= now) {
            self.wrote.get_or_insert(at);
            self.connection.write(at, self.replies.answer(), events);
            self.replies.got(at, self.connection.received().delivered_bytes);
        }
        self.connection.pop(now, events)
    }
}
