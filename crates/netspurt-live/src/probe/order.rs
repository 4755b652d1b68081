//! The probing process. Another process starts it and writes one order, a line of JSON, to its
//! standard input. The probing process ends when its task is done, or when the other process ends.
//! Every task also ends when the standard input ends.

use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;

use netspurt::units::Duration;
use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};

use super::book::{Book, Rotation};
use super::capture::capture;
use super::clock::{raw_ns, read};
use super::echo::{Service, serve};
use super::echo_probes::{Pace, ProbingPlan, run};
use super::hops::{HopPlan, survey};
use super::lengths::ProbeLengths;
use super::lines::{
    Asked, CapturedLine, Clocks, EndCounts, EndLine, NoiseReport, PathReport, ProbeHeader,
    ReadyLine, ServingLine, VERSION, Warmed,
};
use super::noise::measure;
use super::packet::ProbeKind;
use super::route::route_to;
use super::socket::{ProbeSocket, SeenReply};
use super::{ProbeError, tried};
use crate::kernel::timespec;
use crate::sandbox::end_with;

/// An order to the probing process.
///
/// ```
/// use netspurt_live::probe::ProbingOrder;
/// let text = r#"{"parent": 1, "task": {"kind": "serve", "service": "echo",
///     "address": "127.0.0.1", "port": 7}}"#;
/// assert!(ProbingOrder::read(text).is_ok());
/// let slip = ProbingOrder::read(&text.replace("echo", "ecko")).unwrap_err();
/// assert!(slip.to_string().contains("unknown variant `ecko`"), "{slip}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbingOrder {
    /// The id of the process that started the probing process. When that process ends, the probing
    /// process ends too.
    pub parent: u32,
    /// The task.
    pub task: ProbingTask,
}

/// The tasks of the probing process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProbingTask {
    /// Sends echo probes, one after the other.
    EchoProbes(EchoProbesTask),
    /// Sends echo probes whose hop limit is one, then two, and so on, until they reach the target
    /// or the maximum number of hops.
    Hops(HopsTask),
    /// Acts as a host that echoes or discards data.
    Serve(ServeTask),
    /// Captures the packets to and from a peer.
    Capture(CaptureTask),
}

/// The target of probes, and their kind.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeTarget {
    /// The name of the target, as the user gave it.
    pub host: String,
    /// The address of the target.
    pub address: IpAddr,
    /// The port of the target, for UDP and TCP.
    pub port: u16,
    /// The kind of probes.
    pub kind: ProbeKind,
}

/// A series of echo probes. Spans are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EchoProbesTask {
    /// The target of the probes.
    pub target: ProbeTarget,
    /// The maximum number of echo probes; `None` for no limit.
    pub count: Option<u64>,
    /// The duration of the series; `None` for no limit.
    pub span_ns: Option<u64>,
    /// The give-up time for an answer.
    pub timeout_ns: u64,
    /// The rule for the lengths of probes.
    pub lengths: ProbeLengths,
    /// The rule for the times at which probes leave.
    pub pace: Pace,
    /// The seed of the random lengths and times, and of the cookie. The cookie is a number by which
    /// the probes of this run are recognised.
    pub seed: u64,
    /// The number of echo probes over loopback before the series. These probes measure the delays
    /// of this machine.
    pub calibrate: u64,
    /// The path of the data file; `None` if no file is written.
    pub out: Option<PathBuf>,
    /// A new file begins after this number of echo probes; `None` for no limit.
    pub rotate_echo_probes: Option<u64>,
    /// A new file begins after this time; `None` for no limit.
    pub rotate_ns: Option<u64>,
}

/// A survey of the hops to a target. Spans are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopsTask {
    /// The target, at which the surveyed path ends.
    pub target: ProbeTarget,
    /// The maximum number of hops.
    pub most: u8,
    /// The number of echo probes for each hop.
    pub count: u32,
    /// The number of octets of each probe, with its IP header.
    pub octets: u16,
    /// The give-up time for an answer.
    pub timeout_ns: u64,
    /// The seed of the cookie. The cookie is a number by which the probes of this run are
    /// recognised.
    pub seed: u64,
    /// The number of echo probes over loopback before the survey. These probes measure the delays
    /// of this machine.
    pub calibrate: u64,
    /// The path of the data file; `None` if no file is written.
    pub out: Option<PathBuf>,
}

/// A host that echoes or discards data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeTask {
    /// What the host does with data.
    pub service: Service,
    /// The address at which the host listens.
    pub address: IpAddr,
    /// The port at which the host listens; 0 for any free port.
    pub port: u16,
}

/// A capture of the packets to and from a peer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureTask {
    /// The address of the peer.
    pub address: IpAddr,
    /// The TCP port of the peer; 0 for all ports.
    pub port: u16,
    /// The path of the new capture file. If this file exists, the task fails.
    pub out: PathBuf,
}

/// Reads an order from the standard input and carries it out. Lines of the data file also go to the
/// standard output.
///
/// # Errors
/// When the order cannot be read or carried out. The error is one line of text for the user.
pub fn work() -> Result<(), String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    ProbingOrder::read(&line).and_then(ProbingOrder::carry_out).map_err(|error| error.to_string())
}

impl ProbingOrder {
    /// Reads an order from a line of JSON.
    ///
    /// # Errors
    /// When the order is malformed, or its rule for lengths allows no length.
    pub fn read(text: &str) -> Result<Self, ProbeError> {
        let wrong =
            |what: String| ProbeError::Order(format!("the order to the probing process: {what}"));
        let order: Self = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if let ProbingTask::EchoProbes(task) = &order.task {
            task.lengths.check().map_err(wrong)?;
        }
        Ok(order)
    }

    fn carry_out(self) -> Result<(), ProbeError> {
        end_with(self.parent).map_err(|error| ProbeError::Order(error.to_string()))?;
        match self.task {
            ProbingTask::EchoProbes(task) => task.work(),
            ProbingTask::Hops(task) => task.work(),
            ProbingTask::Serve(task) => task.work(),
            ProbingTask::Capture(task) => task.work(),
        }
    }
}

impl ProbeTarget {
    fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

impl EchoProbesTask {
    fn work(self) -> Result<(), ProbeError> {
        let plan = ProbingPlan {
            count: self.count,
            span: self.span_ns.map(Duration::from_nanos),
            timeout: Duration::from_nanos(self.timeout_ns),
            lengths: self.lengths,
            pace: self.pace,
            seed: self.seed,
        };
        let rotation = Rotation {
            echo_probes: self.rotate_echo_probes,
            span: self.rotate_ns.map(Duration::from_nanos),
        };
        let asked = self.asked();
        let (mut socket, mut book) = begin(asked, self.calibrate, self.out, rotation)?;
        let halt = io::stdin();
        let (until, tally) = run(&plan, &mut socket, &mut book, Some(halt.as_fd()))?;
        let counts = EndCounts {
            echo_probes: tally.echo_probes,
            answered: tally.answered,
            late: tally.late,
            duplicates: tally.duplicates,
            clock_steps: tally.steps,
            raw_ns: raw_ns(),
        };
        end(&mut book, EndLine { end: until.word(), counts: Some(counts) })
    }

    fn asked(&self) -> Asked {
        Asked {
            task: "echo_probes",
            host: self.target.host.clone(),
            address: self.target.address,
            port: self.target.port,
            kind: self.target.kind,
            lengths: self.lengths,
            seed: self.seed,
            count: self.count,
            pace: self.pace.name(),
            gap_s: self.pace.gap_ns().map(seconds),
            timeout_s: seconds(self.timeout_ns),
        }
    }
}

impl HopsTask {
    fn work(self) -> Result<(), ProbeError> {
        let plan = HopPlan {
            most: self.most,
            echo_probes: self.count,
            timeout: Duration::from_nanos(self.timeout_ns),
            octets: self.octets,
        };
        let asked = self.asked();
        let target = self.target.address;
        let (mut socket, mut book) = begin(asked, self.calibrate, self.out, Rotation::default())?;
        let halt = io::stdin();
        let until = survey(&plan, &mut socket, target, &mut book, Some(halt.as_fd()))?;
        end(&mut book, EndLine { end: until.word(), counts: None })
    }

    fn asked(&self) -> Asked {
        Asked {
            task: "hops",
            host: self.target.host.clone(),
            address: self.target.address,
            port: self.target.port,
            kind: self.target.kind,
            lengths: ProbeLengths::Fixed { octets: self.octets },
            seed: self.seed,
            count: Some(self.count.into()),
            pace: Pace::Immediate.name(),
            gap_s: None,
            timeout_s: seconds(self.timeout_ns),
        }
    }
}

impl ServeTask {
    fn work(self) -> Result<(), ProbeError> {
        let (at, halt) = (SocketAddr::new(self.address, self.port), io::stdin());
        serve(self.service, at, halt.as_fd(), |serving| say(&ServingLine { serving }))
            .map_err(tried(format!("serving at {at}")))
    }
}

impl CaptureTask {
    fn work(self) -> Result<(), ProbeError> {
        let (peer, halt) = (SocketAddr::new(self.address, self.port), io::stdin());
        let ready = || say(&ReadyLine { ready: true });
        let packets = capture(peer, &self.out, halt.as_fd(), ready)?;
        say(&CapturedLine { packets }).map_err(tried("writing to the standard output"))
    }
}

#[expect(clippy::cast_precision_loss, reason = "only spans above 104 days are rounded")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn end(book: &mut Book, line: EndLine) -> Result<(), ProbeError> {
    book.say(&line).map(|_| ()).map_err(tried("writing the data file"))
}

/// Opens the socket and the data file. The file's header has everything that is known before the
/// first echo probe.
fn begin(
    asked: Asked,
    calibrate: u64,
    out: Option<PathBuf>,
    rotation: Rotation,
) -> Result<(ProbeSocket, Book), ProbeError> {
    let target = ProbeTarget {
        host: asked.host.clone(),
        address: asked.address,
        port: asked.port,
        kind: asked.kind,
    };
    let noise = noise(&target, calibrate)?;
    #[expect(clippy::cast_possible_truncation, reason = "a cookie has 32 bits")]
    let cookie = (read().unix_ns ^ asked.seed.rotate_left(17)) as u32;
    let mut socket = ProbeSocket::open(target.kind, target.socket(), cookie)?;
    let path = path(&mut socket, target.address)?;
    let machine = rustix::system::uname();
    let [system, release] =
        [machine.sysname(), machine.release()].map(|name| name.to_string_lossy());
    let header = ProbeHeader {
        netspurt: "probe",
        version: VERSION,
        made_by: concat!("netspurt ", env!("CARGO_PKG_VERSION")),
        asked,
        kernel: format!("{system} {release}"),
        clocks: Clocks::OURS,
        socket: socket.describe(),
        least_octets: socket.least_octets(),
        noise,
        path,
        began: read(),
        part: 1,
        file: None,
    };
    let book = Book::begin(out.as_deref(), header, rotation, Box::new(io::stdout()));
    Ok((socket, book.map_err(tried("the data file"))?))
}

/// Measures `count` round trips over loopback; `None` if `count` is zero.
fn noise(target: &ProbeTarget, count: u64) -> Result<Option<NoiseReport>, ProbeError> {
    if count == 0 {
        return Ok(None);
    }
    match measure(target.kind, target.address.is_ipv6(), count) {
        Ok(noise) => Ok(Some(noise.report())),
        Err(refused @ ProbeError::Forbidden { .. }) => Err(refused),
        Err(error) => Ok(Some(NoiseReport::Failed { failed: error.to_string() })),
    }
}

/// Sends the probe of [`warm`], and then describes the path to the target.
fn path(socket: &mut ProbeSocket, target: IpAddr) -> Result<PathReport, ProbeError> {
    let warmed = warm(socket)?;
    let route = route_to(target).unwrap_or_default();
    Ok(PathReport {
        source: socket.source(),
        device: route.device,
        gateway: route.gateway,
        mtu: socket.mtu(),
        warmed,
    })
}

/// Sends a probe with a hop limit of one, so that the link-layer address of the first hop is known
/// before the first echo probe. Returns the outcome within a second.
fn warm(socket: &mut ProbeSocket) -> Result<Warmed, ProbeError> {
    let failed = || tried("setting the hop limit of the first probe");
    socket.set_hops(Some(1)).map_err(failed())?;
    let left_ns = raw_ns();
    socket.prepare(socket.key(0, left_ns), 0, socket.least_octets());
    let warmed = match socket.send() {
        Err(error) => Warmed::Failed { failed: error.to_string() },
        Ok(()) => first_answer(socket, left_ns)?,
    };
    socket.set_hops(None).map_err(failed())?;
    Ok(warmed)
}

/// Waits for the first answer to the probe that left at `left_ns`.
fn first_answer(socket: &mut ProbeSocket, left_ns: u64) -> Result<Warmed, ProbeError> {
    const ANSWER_WAIT: Duration = Duration::from_secs(1);
    loop {
        let after_ns = raw_ns() - left_ns;
        match socket.take().map_err(tried("receiving from the probes' socket"))? {
            Some(SeenReply::Sent { .. }) => {}
            Some(SeenReply::Reply { .. }) => {
                return Ok(Warmed::Answered { answer: "reply".to_owned(), after_ns });
            }
            Some(SeenReply::Returned { icmp_error: (kind, code), .. }) => {
                return Ok(Warmed::Answered { answer: format!("ICMP {kind} {code}"), after_ns });
            }
            None if after_ns >= ANSWER_WAIT.as_nanos() => return Ok(Warmed::Silent { answer: () }),
            None => {
                let left = Duration::from_nanos(ANSWER_WAIT.as_nanos() - after_ns);
                let mut fds = [PollFd::new(&*socket, PollFlags::IN)];
                // If a signal interrupts the wait, the loop checks the socket and the time again.
                let _ = poll(&mut fds, Some(&timespec(left)));
            }
        }
    }
}

fn say(what: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(what)?;
    writeln!(io::stdout(), "{line}")?;
    io::stdout().flush()
}
