//! A population is many connections of one kind that start at different instants. This file opens
//! the sockets of a population on the kernel's TCP, and computes the results of its connections.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use netspurt::app::{Exchange, Task};
use netspurt::ids::{EndId, FlowId, Side};
use netspurt::plan::Network;
use netspurt::record::{ConnectionSum, FlowSum, Names};
use netspurt::units::Time;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::error::LiveError;
use crate::exec::{Connections, ProgramHosts, addresses};
use crate::kernel::{Apps, FlowNotes, open, open_for};

/// The port of the first connection's opener. The openers of later connections have the next ports.
const FIRST_PORT: u16 = 10_000;

/// The port to which all connections are opened.
const LISTENING_PORT: u16 = 80;

/// Adds the applications of a population's connections at the hosts of `pair`, if `network` has a
/// population. The listening socket and the openers' sockets are made now, so that the run does not
/// wait for them later.
///
/// # Errors
/// When the kernel refuses something.
pub(super) fn add_connections(
    apps: &mut Apps,
    pair: &ProgramHosts,
    network: &Network,
) -> Result<(), LiveError> {
    let Some(tasks) = &network.kernel_tasks else { return Ok(()) };
    let name = || network.names.name(pair.first);
    let refused = |error: std::io::Error| LiveError::Socket { flow: name(), error };
    allow_many_descriptors();
    let [from, to] = addresses(&network.names, pair.first);
    let server = SocketAddr::new(to, LISTENING_PORT);
    let tcp = &pair.config.tcp;
    let backlog = i32::try_from(tasks.len()).unwrap_or(i32::MAX);
    let listener = pair.hosts[1].within(|| open_for(tcp, server, Some(backlog)))?;
    let listener = listener.map_err(refused)?;
    let open_one = |port| open(tcp, SocketAddr::new(from, port), false);
    let open_all = || (FIRST_PORT..).take(tasks.len()).map(open_one).collect();
    let sockets: std::io::Result<Vec<OwnedFd>> = pair.hosts[0].within(open_all)?;
    let sockets = sockets.map_err(refused)?;
    let ends = (0..).map(|number| end(&network.names, pair.first, number));
    let all = ends.zip(sockets).zip(tasks).map(|((end, socket), task)| (end, socket, task.clone()));
    apps.add_connections(listener, server, all.collect()).map_err(refused)
}

/// Returns the id of the end that opens the connection `number`. The notes of the applications use
/// this id. Here connections are numbered in the order in which they start.
fn end(names: &Names, population: FlowId, number: u32) -> EndId {
    let flow = names.connection(population, number).expect("the numbers of ends fit in 32 bits");
    flow.end(Side::From)
}

/// Raises the limit of open descriptors to the maximum, because each connection needs two
/// descriptors.
fn allow_many_descriptors() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If the kernel refuses this, the error appears when a socket is opened.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// The data on the connections of a population, after the run has ended.
pub(super) struct EndedPopulation<'a> {
    pub(super) names: &'a Names,
    pub(super) population: FlowId,
    pub(super) tasks: &'a [Task],
    /// The connections, in the order in which they were seen.
    pub(super) connections: &'a Connections,
    /// The notes of the applications at both ends of each connection.
    pub(super) notes: &'a [FlowNotes],
}

impl<'a> EndedPopulation<'a> {
    /// Returns the result of each connection that has started and whose packets were seen, with the
    /// results of its requests. The function `sum` returns the sums of the data that an end sent.
    pub(super) fn sums(
        &self,
        sum: impl Fn(EndId) -> FlowSum,
    ) -> Vec<(ConnectionSum, &'a [Exchange])> {
        let seen: HashMap<u16, u32> = (0..self.connections.count())
            .zip(0..)
            .map(|(n, place)| (self.port(n), place))
            .collect();
        let notes: HashMap<EndId, &FlowNotes> =
            self.notes.iter().map(|notes| (notes.end, notes)).collect();
        let one = |(number, task): (u32, &Task)| {
            let opener = notes.get(&end(self.names, self.population, number))?;
            let start = opener.wrote?;
            let port = u16::try_from(u32::from(FIRST_PORT) + number).ok()?;
            // In the results, connections are numbered in the order in which they were seen.
            let flow = self.names.connection(self.population, *seen.get(&port)?)?;
            let ends = Side::BOTH.map(|side| sum(flow.end(side)));
            let one = connection_sum(flow, task, (start, opener.finished), ends);
            Some((one, &*opener.exchanges))
        };
        (0..).zip(self.tasks).filter_map(one).collect()
    }

    fn port(&self, place: usize) -> u16 {
        self.connections.ports(place)[Side::From.index()]
    }
}

/// Returns the result of a connection. `start` and `finished` say when its opener began and
/// finished, and `ends` has the sums of the data that each end sent.
fn connection_sum(
    flow: FlowId,
    task: &Task,
    (start, finished): (Time, Option<Time>),
    ends: [FlowSum; 2],
) -> ConnectionSum {
    let since = |at: Option<Time>| at.map(|at| at.saturating_since(start));
    let (last, read, requests) = match task {
        Task::Bulk(_) => (ends[0].finished, None, 0),
        Task::Requests(plan) => (ends[1].finished, finished, plan.count),
    };
    // All octets of the answering end may be acknowledged before the opener has read the whole
    // reply.
    let complete = requests == 0 || read.is_some();
    ConnectionSum {
        flow,
        start,
        octets: task.octets().map(Option::unwrap_or_default),
        requests,
        duration: since(last.filter(|_| complete)),
        response: since(read),
        ends,
    }
}
