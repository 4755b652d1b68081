//! Runs programs at the two ends of a path, such as curl, a server or a shell. Also makes the hosts
//! of a *population* (many connections of one kind).
//!
//! The programs need no changes. Each program runs in the network namespace of its host. All
//! programs run in one process namespace. This namespace ends with the run, even if one of
//! netspurt's processes is killed.

mod connections;
mod diag;
mod init;
mod programs;
mod watch;

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use netspurt::ids::{EndId, FlowId};
use netspurt::plan::{Network, NetworkEnd, ProgramsEnd};
use netspurt::record::{Names, node_address};
use netspurt::units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

pub use connections::{Connections, Counts, connections_table};
pub use diag::Diag;
pub use init::Ended;
pub use programs::Programs;
pub use watch::ProgramsWatch;

use programs::ProgramsOrder;

use crate::kernel::sysctls;
use crate::sandbox::{HostPlan, KernelHost, RouteHints, Sandbox, SandboxError, Wiring};
use crate::sys;

/// The file in the run folder that takes the output of the server.
pub const SERVER_OUTPUT: &str = "server.log";

/// The maximum number of connections that have flows of their own.
const CONNECTIONS_MAX: usize = 1 << 28;

/// The file in the run folder with the names and addresses of hosts.
const HOSTS_FILE: &str = "hosts";

/// The status that is reported if the end of the run stopped the program. The command `timeout`
/// reports the same status.
pub const TIMED_OUT: i32 = 124;

/// The two hosts of the programs, or of the connections of a population.
#[derive(Debug)]
pub struct ProgramHosts {
    /// The first of the programs' flows in the network. Packets that belong to no connection get
    /// this flow.
    pub first: FlowId,
    /// The hosts.
    pub hosts: [KernelHost; 2],
    /// The configurations of the hosts.
    pub plans: [HostPlan; 2],
    /// The settings of the hosts' TCP.
    pub config: ProgramsEnd,
}

impl ProgramHosts {
    /// Creates the observer of the traffic between the hosts.
    pub fn watch(&self, network: &Network) -> ProgramsWatch {
        let diag = |host: &KernelHost| host.within(Diag::open).ok().and_then(Result::ok);
        let addresses = addresses(&network.names, self.first);
        let diags = [diag(&self.hosts[0]), diag(&self.hosts[1])];
        ProgramsWatch::new(self.first, CONNECTIONS_MAX, addresses, diags, self.config.tcp.rack)
    }

    /// Creates the hosts of the programs or of the population in `network`. `None` if the network
    /// has neither programs nor a population on the kernel's TCP.
    ///
    /// # Errors
    /// When the kernel refuses to create a host.
    pub fn make(
        sandbox: &mut Sandbox,
        network: &Network,
        wiring: Wiring,
    ) -> Result<Option<Self>, SandboxError> {
        let programs = (0..).zip(&network.ends).find_map(|(end, (what, _))| match what {
            NetworkEnd::Programs(config) => Some((EndId::at(end).flow(), *config)),
            _ => None,
        });
        let Some((first, config)) = programs else { return Ok(None) };
        let [from, to] = addresses(&network.names, first);
        let plans = [(from, to), (to, from)].map(|(own, peer)| plan(&config, own, peer, wiring));
        let hosts = [sandbox.add_host(&plans[0])?, sandbox.add_host(&plans[1])?];
        Ok(Some(Self { first, hosts, plans, config }))
    }
}

/// The addresses of the two hosts of the flow `first`.
pub fn addresses(names: &Names, first: FlowId) -> [IpAddr; 2] {
    let flow = &names.flows[first.index()];
    [node_address(flow.from), node_address(flow.to)]
}

/// Makes the configuration of the host with the address `own`.
fn plan(config: &ProgramsEnd, own: IpAddr, peer: IpAddr, wiring: Wiring) -> HostPlan {
    HostPlan {
        address: Some(own),
        peer: Some(peer),
        mtu: config.tcp.packet_bytes,
        hints: RouteHints {
            initial_window_segs: Some(config.tcp.initial_window_segs),
            quick_acks: config.tcp.quick_acks,
            congestion: Some(config.tcp.congestion),
        },
        sysctls: sysctls(&config.tcp),
        wiring,
    }
}

/// The processes that will start the programs. They already exist, and wait for the order.
#[derive(Debug)]
pub struct Waiting {
    /// The writing end of a pipe. The processes end when it is closed.
    lifeline: OwnedFd,
    /// The reading end of the pipe on which init reports how the command ended. The command is the
    /// program at the first end.
    status: OwnedFd,
    /// The process that created the namespaces.
    holder: Pid,
}

impl Waiting {
    /// Creates the processes. The calling process must have only one thread.
    ///
    /// # Errors
    /// When the file of names cannot be written, or the kernel refuses a pipe or a process.
    pub fn make(
        programs: &Programs,
        pair: &ProgramHosts,
        names: &Names,
        folder: &Path,
    ) -> io::Result<Self> {
        let hosts_file = folder.join(HOSTS_FILE);
        std::fs::write(&hosts_file, hosts_text(names, pair.first))?;
        let (lifeline_reader, lifeline) = pipe_with(PipeFlags::CLOEXEC)?;
        let (status, status_pipe) = pipe_with(PipeFlags::CLOEXEC)?;
        let parent = std::process::id();
        sys::ignore_terminal_keys(true);
        let peer = addresses(names, pair.first)[1];
        let output = folder.join(SERVER_OUTPUT);
        let order = ProgramsOrder { programs, hosts: &pair.hosts, peer, hosts_file, output };
        let Some(holder) = sys::fork()? else {
            drop((lifeline, status));
            init::hold(parent, &order, lifeline_reader, status_pipe);
        };
        let holder = Pid::from_raw(holder.cast_signed()).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { lifeline, status, holder })
    }

    /// Starts the programs.
    ///
    /// # Errors
    /// When the processes have ended.
    pub fn go(self) -> io::Result<Running> {
        rustix::io::write(&self.lifeline, b"g")?;
        Ok(Running { lifeline: self.lifeline, status: self.status, holder: self.holder })
    }
}

/// Programs that are running. The fields mean the same as in [`Waiting`].
#[derive(Debug)]
pub struct Running {
    lifeline: OwnedFd,
    status: OwnedFd,
    holder: Pid,
}

impl Running {
    /// Returns a descriptor that is readable when the command has ended.
    ///
    /// # Errors
    /// When the process has as many open descriptors as the kernel allows.
    pub fn ended_descriptor(&self) -> io::Result<OwnedFd> {
        self.status.try_clone()
    }

    /// Ends all programs and waits until they are gone. Returns how the command ended.
    pub fn end(self) -> Ended {
        let mut octets = [0; 4];
        let ended = match has_ended(&self.status) {
            false => Ended { status: TIMED_OUT, ran: true, stopped: true },
            true => {
                let read = rustix::io::read(&self.status, &mut octets);
                Ended::of_code((read == Ok(4)).then(|| i32::from_ne_bytes(octets)))
            }
        };
        drop(self.lifeline);
        let _ = waitpid(Some(self.holder), WaitOptions::empty());
        ended
    }
}

/// Whether the command has ended: its status can be read, or the writer of `status` is gone.
fn has_ended(status: &OwnedFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(status, PollFlags::IN)], Some(&at_once)).unwrap_or(0) > 0
}

/// The time for which the run continues after the command has ended, so that packets on their way
/// can arrive.
const LINGER: Duration = Duration::from_millis(300);

/// Decides when a run with programs is over.
#[derive(Debug)]
pub struct ProgramsEnding {
    status: OwnedFd,
    /// The instant at which the run is over. `None` until the command has ended.
    until: Option<Time>,
}

impl ProgramsEnding {
    /// Begins to watch the command. `status` is the descriptor from
    /// [`Running::ended_descriptor`].
    pub fn new(status: OwnedFd) -> Self {
        Self { status, until: None }
    }

    /// Whether the run is over at `now`.
    pub fn over(&mut self, now: Time) -> bool {
        if self.until.is_none() && has_ended(&self.status) {
            self.until = Some(now + LINGER);
        }
        self.until.is_some_and(|until| now >= until)
    }
}

/// Returns the text of the machine's `/etc/hosts`, followed by a line for each of the two nodes of
/// the flow `first`. A node is left out if its name cannot be a host's name.
fn hosts_text(names: &Names, first: FlowId) -> String {
    let mut text = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let flow = &names.flows[first.index()];
    for node in [flow.from, flow.to] {
        let name = &names.nodes[node as usize];
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if name.chars().all(is_usual) && !name.starts_with('-') {
            text.push_str(&format!("{} {name}\n", node_address(node)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt::record::FlowProperties;

    /// Returns the names of a network that has these two nodes.
    fn names(nodes: [&str; 2]) -> Names {
        let flow = FlowProperties {
            from: 0,
            to: 1,
            smss: 1000,
            echo_probes: false,
            answers: false,
            messages: [None; 2],
            ipv6: false,
            population: true,
        };
        Names::new(nodes.map(str::to_owned).to_vec(), Vec::new(), [("web".to_owned(), flow)])
    }

    #[test]
    fn programs_find_only_nodes_whose_names_are_ordinary_host_names() {
        for (node, known) in [
            ("server", true),
            ("www.example-1.org", true),
            ("node_2", true),
            ("-f", false),
            ("two words", false),
            ("evil\n10.0.0.9 bank", false),
            ("caf\u{e9}", false),
        ] {
            let names = names(["client", node]);
            let text = hosts_text(&names, FlowId(0));
            let [from, to] = addresses(&names, FlowId(0));
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.contains(&format!("{from} client").as_str()), "{text}");
            assert_eq!(lines.contains(&format!("{to} {node}").as_str()), known, "{node}");
            assert!(!lines.contains(&"10.0.0.9 bank"), "{text}");
            assert!(text.ends_with('\n'));
        }
    }
}
