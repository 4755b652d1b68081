//! The process that probes: started by another one, told what to do by one order of JSON in a line
//! of its standard input. It ends once that input does, and with the one that started it.

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
use super::route::way;
use super::socket::{ProbeSocket, SeenReply};
use super::{ProbeError, tried};
use crate::kernel::timespec;
use crate::sandbox::end_with;

/// What the process is asked to do.
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
    /// The process with which this one ends.
    pub parent: u32,
    /// What to do.
    pub task: ProbingTask,
}

/// What the process can do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProbingTask {
    /// Echo probes, one after the other.
    EchoProbes(EchoProbesTask),
    /// Echo probes that live for one hop, then for two, up to the target.
    Hops(HopsTask),
    /// A host that echoes, or swallows.
    Serve(ServeTask),
    /// A capture of what crosses the device to a peer.
    Capture(CaptureTask),
}

/// Whom probes are sent to, and how.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeTarget {
    /// What people call it.
    pub host: String,
    /// Its address.
    pub address: IpAddr,
    /// Its port, of UDP and TCP.
    pub port: u16,
    /// The kind of probes.
    pub kind: ProbeKind,
}

/// Echo probes, one after the other. Spans are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EchoProbesTask {
    /// Whom they go to.
    pub target: ProbeTarget,
    /// How many; `None` for as many as there is time for.
    pub count: Option<u64>,
    /// For how long; `None` for no limit.
    pub span_ns: Option<u64>,
    /// How long an answer is waited for.
    pub timeout_ns: u64,
    /// How long each probe is.
    pub lengths: ProbeLengths,
    /// When each leaves.
    pub pace: Pace,
    /// Of lengths and pace.
    pub seed: u64,
    /// Echo probes over loopback beforehand.
    pub calibrate: u64,
    /// The data file; `None` keeps nothing.
    pub out: Option<PathBuf>,
    /// After how many echo probes a new file is begun.
    pub rotate_echo_probes: Option<u64>,
    /// After how long a new file is begun.
    pub rotate_ns: Option<u64>,
}

/// A survey of the hops to a target. Spans are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopsTask {
    /// Whom it leads to.
    pub target: ProbeTarget,
    /// Hops at most.
    pub most: u8,
    /// Echo probes for each.
    pub count: u32,
    /// Octets of each.
    pub octets: u16,
    /// How long an answer is waited for.
    pub timeout_ns: u64,
    /// What marks the probes.
    pub seed: u64,
    /// Echo probes over loopback beforehand.
    pub calibrate: u64,
    /// The data file; `None` keeps nothing.
    pub out: Option<PathBuf>,
}

/// A host that echoes, or swallows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeTask {
    /// Which of the two.
    pub service: Service,
    /// Where it listens.
    pub address: IpAddr,
    /// At which port; 0 for any.
    pub port: u16,
}

/// A capture of what crosses the device to a peer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureTask {
    /// The peer.
    pub address: IpAddr,
    /// Its port of TCP; 0 for all.
    pub port: u16,
    /// The file, which is not there.
    pub out: PathBuf,
}

/// Does what the standard input says. Lines of the data file go to the standard output, too.
///
/// # Errors
/// What went wrong, in a line for people.
pub fn work() -> Result<(), String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    ProbingOrder::read(&line).and_then(ProbingOrder::obey).map_err(|error| error.to_string())
}

impl ProbingOrder {
    /// Reads an order.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, ProbeError> {
        let wrong = |what: String| ProbeError::Order(format!("the order of a probe: {what}"));
        let order: Self = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if let ProbingTask::EchoProbes(task) = &order.task {
            task.lengths.check().map_err(wrong)?;
        }
        Ok(order)
    }

    fn obey(self) -> Result<(), ProbeError> {
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
        let at = SocketAddr::new(self.address, self.port);
        serve(self.service, at, |serving| say(&ServingLine { serving }))
            .map_err(tried(format!("serving at {at}")))
    }
}

impl CaptureTask {
    fn work(self) -> Result<(), ProbeError> {
        let (peer, halt) = (SocketAddr::new(self.address, self.port), io::stdin());
        let ready = || say(&ReadyLine { ready: true });
        let packets = capture(peer, &self.out, halt.as_fd(), ready)?;
        say(&CapturedLine { packets }).map_err(tried("the standard output"))
    }
}

#[expect(clippy::cast_precision_loss, reason = "spans that people write")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn end(book: &mut Book, line: EndLine) -> Result<(), ProbeError> {
    book.say(&line).map(|_| ()).map_err(tried("the data file"))
}

/// The socket, and a book whose header tells all that is known before the first echo probe.
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
    #[expect(clippy::cast_possible_truncation, reason = "a mark has 32 bits")]
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

/// What round trips over loopback take, by `count` of them; `None` without any.
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

/// The way to the target, once the first neighbour's address is known.
fn path(socket: &mut ProbeSocket, target: IpAddr) -> Result<PathReport, ProbeError> {
    let warmed = warm(socket)?;
    let way = way(target).unwrap_or_default();
    Ok(PathReport {
        source: socket.source(),
        device: way.device,
        gateway: way.gateway,
        mtu: socket.mtu(),
        warmed,
    })
}

/// Sends a probe that lives for one hop, so that the first neighbour's address is known before the
/// first echo probe; what came back within a second.
fn warm(socket: &mut ProbeSocket) -> Result<Warmed, ProbeError> {
    let failed = || tried("a first probe");
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

/// What comes first for the probe that left at `left_ns`.
fn first_answer(socket: &mut ProbeSocket, left_ns: u64) -> Result<Warmed, ProbeError> {
    const ANSWER_WAIT: Duration = Duration::from_secs(1);
    loop {
        let after_ns = raw_ns() - left_ns;
        match socket.take().map_err(tried("a first probe"))? {
            Some(SeenReply::Sent { .. }) => {}
            Some(SeenReply::Reply { .. }) => {
                return Ok(Warmed::Answered { answer: "reply".to_owned(), after_ns });
            }
            Some(SeenReply::Returned { told: (kind, code), .. }) => {
                return Ok(Warmed::Answered { answer: format!("ICMP {kind} {code}"), after_ns });
            }
            None if after_ns >= ANSWER_WAIT.as_nanos() => return Ok(Warmed::Silent { answer: () }),
            None => {
                let left = Duration::from_nanos(ANSWER_WAIT.as_nanos() - after_ns);
                let mut fds = [PollFd::new(&*socket, PollFlags::IN)];
                // Interrupted or not: what there is to do is looked at again.
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
