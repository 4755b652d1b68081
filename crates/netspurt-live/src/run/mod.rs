//! A live run: a scenario whose flows have ends of the kernel's, from its text to its tables.

mod ledger;
mod outcome;
mod trips;
mod watcher;

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::OwnedFd;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use netspurt::record::{Names, Recorder};
use netspurt::scenario::{KernelEnd, Network, NetworkEnd, Scenario};
use netspurt::units::{Duration, Time};
use netspurt::wire::PcapngWriter;

pub use ledger::Ledger;
pub use outcome::{LiveRun, Replayed};
use watcher::Capture;
pub use watcher::Watcher;

use crate::drive::Driver;
use crate::kernel::{Apps, FlowNotes, Poll, open, sysctls};
use crate::path::Path;
use crate::sandbox::{Host, HostPlan, RouteHints, Sandbox, SandboxError, Wiring};
use crate::sys;
use crate::wall::WallClock;

/// Why there was no live run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// No namespaces, or something in them.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A socket of a flow.
    #[error("flow `{flow}`: {error}")]
    Socket {
        /// The flow.
        flow: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// A file, or a port of the emulated path.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nothing here is the kernel's.
    #[error("no flow has an end of the kernel's: add `endpoint = \"kernel\"` to one")]
    NothingReal,
}

/// What is asked for beside the scenario.
pub struct Options {
    /// How late a delivery may be before the run counts for nothing.
    pub budget: Duration,
    /// How long before an appointment the driver looks at the clock again and again; only where
    /// it may run before all others.
    pub spin: Duration,
    /// What hosts' wires are made of.
    pub wiring: Wiring,
    /// Told of the time now and then; whether to go on.
    pub progress: Box<dyn FnMut(Time) -> bool>,
}

/// One end that is the kernel's, made.
struct Made {
    end: u32,
    host: Host,
    socket: Option<OwnedFd>,
    plan: HostPlan,
    asked: KernelEnd,
}

/// Runs `scenario` in namespaces of its own, which this process, that must have one thread,
/// enters for good. Captures are written to `folder` on the way.
///
/// # Errors
/// When there are no namespaces, or the kernel refuses something in them.
pub fn run(scenario: &Scenario, folder: &FilePath, options: Options) -> Result<LiveRun, LiveError> {
    if scenario.kernel_flow().is_none() {
        return Err(LiveError::NothingReal);
    }
    let network = scenario.network();
    let first = sys::run_first(FIRST).is_ok();
    let spin = if first { options.spin } else { Duration::ZERO };
    let mut sandbox = Sandbox::enter()?;
    let mut made = make_ends(&mut sandbox, &network, options.wiring)?;
    let (apps, sockets) = applications(&mut made, &network.names);
    let clock = WallClock::start();
    let mut watcher = watcher(&network, folder, sockets, options.progress)?;
    let (stop, keeps) = (network.stop, keeps_packets(&network));
    let (ends, wanted, names) = (network.ends.len(), network.wanted, network.names.clone());
    let shadows = network.shadows.clone();
    let profiles = made.iter().map(|made| outcome::profile(&names, made)).collect();
    let ports = made.into_iter().map(|made| (made.end, made.host.port)).collect();
    let driver =
        Driver::new(clock, Path::new(network), ports, ends).keeping_packets(keeps).spinning(spin);
    let over = AtomicBool::new(false);
    let (driven, (notes, polls)) = thread::scope(|scope| {
        let apps = scope.spawn(|| apps.run(clock, &over));
        let driven = driver.run(stop, &mut watcher);
        over.store(true, Ordering::Relaxed);
        (driven, apps.join().unwrap_or_else(|_| (Vec::<FlowNotes>::new(), Vec::<Poll>::new())))
    });
    let (path, log) = driven?;
    watcher.polled(&polls);
    watcher.timed(&log.arrivals);
    let outcome = outcome::Outcome {
        path,
        log,
        notes,
        profiles,
        names,
        wanted,
        shadows,
        first,
        wiring: options.wiring,
    };
    outcome.finish(scenario, watcher, options.budget)
}

/// Among real-time threads the lowest: before all that are none.
const FIRST: i32 = 1;

/// Octets of a capture that are written at once: few calls, and none that takes long.
const CAPTURED_AT_ONCE: usize = 1 << 16;

/// Whether a packet may leave the path more than once.
fn keeps_packets(network: &Network) -> bool {
    let copies = |effects: &netspurt::link::Effects| effects.duplicate.is_some();
    let link = |link: &netspurt::link::LinkConfig| {
        link.mtu.is_some() || link.effects.as_ref().is_some_and(copies)
    };
    network.links.iter().any(link)
}

/// Hosts and sockets for the ends that are the kernel's.
fn make_ends(
    sandbox: &mut Sandbox,
    network: &Network,
    wiring: Wiring,
) -> Result<Vec<Made>, LiveError> {
    let addresses = Watcher::addresses_of(&network.names);
    let mut made = Vec::new();
    for (end, (what, _)) in (0_u32..).zip(&network.ends) {
        let NetworkEnd::Kernel(asked) = what else { continue };
        let flow = (end / 2) as usize;
        let side = (end & 1) as usize;
        let (own, peer) = (addresses[flow][side], addresses[flow][side ^ 1]);
        let plan = HostPlan {
            address: Some(own.ip()),
            peer: Some(peer.ip()),
            mtu: asked.tcp.packet_bytes,
            hints: RouteHints {
                initial_window_segs: Some(asked.tcp.initial_window_segs),
                quick_acks: asked.tcp.quick_acks,
            },
            sysctls: sysctls(&asked.tcp),
            wiring,
        };
        let host = sandbox.add_host(&plan)?;
        let listens = asked.task.is_none();
        let socket = host.within(|| open(&asked.tcp, own, listens))?.map_err(|error| {
            LiveError::Socket { flow: network.names.flows[flow].name.clone(), error }
        })?;
        made.push(Made { end, host, socket: Some(socket), plan, asked: *asked });
    }
    Ok(made)
}

/// By end: the socket to ask about resends, and whether it finds losses by time.
pub type Sockets = Vec<Option<(Arc<OwnedFd>, bool)>>;

/// The applications of the kernel's ends, and their sockets.
fn applications(made: &mut [Made], names: &Names) -> (Apps, Sockets) {
    let addresses = Watcher::addresses_of(names);
    let mut apps = Apps::default();
    let mut sockets: Sockets = vec![None; 2 * addresses.len()];
    for Made { end, socket, asked, .. } in made {
        let Some(socket) = socket.take() else { continue };
        let flow = (*end / 2) as usize;
        match asked.task {
            Some(task) => {
                let socket = Arc::new(socket);
                sockets[*end as usize] = Some((Arc::clone(&socket), asked.tcp.rack));
                apps.add_source(*end, socket, addresses[flow][1], task);
            }
            None => apps.add_sink(*end, socket),
        }
    }
    (apps, sockets)
}

/// What writes a run of `network` down, its captures into `folder`.
///
/// # Errors
/// When a capture cannot be made.
pub fn watcher(
    network: &Network,
    folder: &FilePath,
    sockets: Sockets,
    progress: Box<dyn FnMut(Time) -> bool>,
) -> io::Result<Watcher> {
    let names = &network.names;
    let octets = |end: &NetworkEnd| match end {
        NetworkEnd::Kernel(KernelEnd { task: Some(task), .. }) => task.octets,
        _ => None,
    };
    let real = |end: &NetworkEnd| matches!(end, NetworkEnd::Kernel(_));
    let ledgers = network.ends.chunks_exact(2).map(|ends| {
        let any = ends.iter().any(|(end, _)| real(end));
        any.then(|| Ledger::new(octets(&ends[0].0)))
    });
    let mut captures = Vec::new();
    for (file, &node) in outcome::capture_files(network).iter().zip(&network.spied) {
        let out = BufWriter::with_capacity(CAPTURED_AT_ONCE, File::create_new(folder.join(file))?);
        let application = concat!("netspurt ", env!("CARGO_PKG_VERSION"));
        let file = PcapngWriter::new(out, &names.nodes[node as usize], application)?;
        captures.push(Capture { node, file });
    }
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Watcher {
        recorder: Recorder::new(names.clone()),
        ledgers: ledgers.collect(),
        captures,
        began_unix_ns: u64::try_from(unix.as_nanos()).unwrap_or(0),
        sockets,
        addresses: Watcher::addresses_of(names),
        answers: Vec::new(),
        failure: None,
        progress,
    })
}
