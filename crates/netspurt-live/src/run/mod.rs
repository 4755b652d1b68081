//! A live run of a scenario with kernel's ends, from its text to its tables.

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

use netspurt::app::Task;
use netspurt::ids::{EndId, Side};
use netspurt::record::{FlowName, Names, Recorder};
use netspurt::scenario::{KernelEnd, Network, NetworkEnd, Scenario};
use netspurt::units::{Duration, Time};
use netspurt::wire::PcapngWriter;

pub use ledger::Ledger;
pub use outcome::{LiveRun, Replayed};
use watcher::Capture;
pub use watcher::{Sockets, Watcher};

use crate::drive::Driver;
use crate::exec::{ProgramPair, Programs, ProgramsEnding, Waiting};
use crate::kernel::{Apps, FlowNotes, FlowSocket, Poll, open, sysctls};
use crate::path::Path;
use crate::sandbox::{HostPlan, KernelHost, RouteHints, Sandbox, SandboxError, Wiring};
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
    /// The flow of programs without any, or programs without that flow.
    #[error("{0}")]
    Programs(&'static str),
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
    /// What is to run at the ends of the flow of programs.
    pub programs: Option<Programs>,
}

/// One end that is the kernel's, made.
struct Made {
    end: EndId,
    host: KernelHost,
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
    suits(scenario, &options)?;
    let network = scenario.network();
    let mut sandbox = Sandbox::enter()?;
    let mut made = make_ends(&mut sandbox, &network, options.wiring)?;
    let pair = ProgramPair::make(&mut sandbox, &network, options.wiring)?;
    let waiting = match (&pair, &options.programs) {
        (Some(pair), Some(programs)) => {
            Some(Waiting::make(programs, pair, &network.names, folder)?)
        }
        _ => None,
    };
    // Programs have no part in this.
    let first = sys::run_first(FIRST).is_ok();
    let spin = if first { options.spin } else { Duration::ZERO };
    let (apps, sockets) = applications(&mut made, &network.names);
    let mut watcher = watcher(&network, folder, sockets, options.progress)?;
    watcher.programs = pair.as_ref().map(|pair| pair.watch(&network));
    let clock = WallClock::start();
    let (stop, keeps) = (network.stop, keeps_packets(&network));
    let (ends, wanted, names) = (network.ends.len(), network.wanted, network.names.clone());
    let shadows = network.shadows.clone();
    let mut profiles: Vec<_> = made.iter().map(|made| outcome::profile(&names, made)).collect();
    let mut ports: Vec<_> = made.into_iter().map(|made| (made.end, made.host.port)).collect();
    let running = waiting.map(Waiting::go).transpose()?;
    let programs_first = pair.as_ref().map(|pair| pair.first);
    if let Some(pair) = pair {
        profiles.extend(outcome::profiles_of_programs(&names, &pair));
        let ends = Side::BOTH.map(|side| pair.first.end(side));
        ports.extend(ends.into_iter().zip(pair.hosts.map(|host| host.port)));
    }
    let mut driver =
        Driver::new(clock, Path::new(network), ports, ends).keeping_packets(keeps).spinning(spin);
    if let (Some(first), Some(running)) = (programs_first, &running) {
        driver = driver.with_programs(first, running.ended()?);
        watcher.ends = Some(ProgramsEnding::new(running.ended()?));
    }
    let over = AtomicBool::new(false);
    let (driven, (notes, polls)) = thread::scope(|scope| {
        let apps = scope.spawn(|| apps.run(clock, &over));
        let ends = SetOnDrop(&over);
        let driven = driver.run(stop, &mut watcher);
        drop(ends);
        (driven, apps.join().unwrap_or_else(|_| (Vec::<FlowNotes>::new(), Vec::<Poll>::new())))
    });
    let status = running.map(|running| running.end());
    let (path, log) = driven?;
    watcher.polled(&polls);
    watcher.timed(&log.arrivals);
    let said = watcher.programs.as_mut().map(|programs| std::mem::take(&mut programs.polls));
    watcher.polled(&said.unwrap_or_default());
    let programs = options.programs.zip(status);
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
        programs,
    };
    outcome.finish(scenario, watcher, options.budget)
}

/// Tells others that it is over, however that came: after a panic nobody would wait for them to
/// end by themselves.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Whether there is something real to do, and programs where they are asked for.
fn suits(scenario: &Scenario, options: &Options) -> Result<(), LiveError> {
    if scenario.kernel_flow().is_none() {
        return Err(LiveError::NothingReal);
    }
    if scenario.programs_flow().is_some() != options.programs.is_some() {
        let what =
            "programs and a flow with `app = \"programs\"` go together: `netspurt live exec`";
        return Err(LiveError::Programs(what));
    }
    Ok(())
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
    // A shim sends copies, too.
    let shim = |(end, _): &(NetworkEnd, u32)| match end {
        NetworkEnd::Kernel(end) => end.shim.is_some(),
        NetworkEnd::Programs(end) => end.shim.is_some(),
        NetworkEnd::Model(_) => false,
    };
    network.links.iter().any(link) || network.ends.iter().any(shim)
}

/// Hosts and sockets for the ends that are the kernel's.
fn make_ends(
    sandbox: &mut Sandbox,
    network: &Network,
    wiring: Wiring,
) -> Result<Vec<Made>, LiveError> {
    let addresses = Watcher::addresses_of(&network.names);
    let mut made = Vec::new();
    for (end, (what, _)) in (0..).map(EndId::at).zip(&network.ends) {
        let NetworkEnd::Kernel(asked) = what else { continue };
        let (flow, side) = (end.flow().index(), end.side());
        let (own, peer) = (addresses[flow][side.index()], addresses[flow][side.peer().index()]);
        let plan = HostPlan {
            address: Some(own.ip()),
            peer: Some(peer.ip()),
            mtu: asked.tcp.packet_bytes,
            hints: RouteHints {
                initial_window_segs: Some(asked.tcp.initial_window_segs),
                quick_acks: asked.tcp.quick_acks,
                // Of its own sockets it is said one by one.
                congestion: None,
            },
            sysctls: sysctls(&asked.tcp),
            wiring,
        };
        let host = sandbox.add_host(&plan)?;
        let socket = host.within(|| open(&asked.tcp, own, asked.listens))?.map_err(|error| {
            LiveError::Socket { flow: network.names.flows[flow].name.clone(), error }
        })?;
        made.push(Made { end, host, socket: Some(socket), plan, asked: *asked });
    }
    Ok(made)
}

/// The applications of the kernel's ends, and their sockets.
fn applications(made: &mut [Made], names: &Names) -> (Apps, Sockets) {
    let addresses = Watcher::addresses_of(names);
    let mut apps = Apps::default();
    let mut sockets: Sockets = vec![None; 2 * addresses.len()];
    for Made { end, socket, asked, .. } in made {
        let Some(socket) = socket.take() else { continue };
        let flow = end.flow().index();
        let KernelEnd { tcp, task, listens, .. } = *asked;
        let shared = FlowSocket::default();
        if !listens || matches!(task, Task::Requests(_)) {
            sockets[end.index()] = Some((Arc::clone(&shared), tcp.rack));
        }
        if listens {
            apps.add_sink(*end, socket, shared, task);
        } else {
            let _ = shared.set(socket);
            apps.add_source(*end, shared, addresses[flow][1], task);
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
    let ledgers = |(flow, pair): (&FlowName, &[(NetworkEnd, u32); 2])| {
        let real = pair.iter().any(|(end, _)| !matches!(end, NetworkEnd::Model(_)));
        [0, 1].map(|side: usize| {
            let octets = match &pair[side].0 {
                NetworkEnd::Kernel(end) => end.task.octets()[side],
                _ => None,
            };
            (real && (side == 0 || flow.answers)).then(|| Ledger::new(octets))
        })
    };
    let ledgers = names.flows.iter().zip(network.ends.as_chunks::<2>().0).flat_map(ledgers);
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
        programs: None,
        ends: None,
        progress,
    })
}
