//! Carries out live runs: runs a scenario that has ends on the kernel's TCP, and fills the tables
//! of the run.

mod ends;
mod error;
mod ledger;
mod outcome;
mod population;
mod report;
mod scene;
mod sockets;
mod tables;
#[cfg(test)]
mod tests;
mod trips;
mod watcher;

use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netspurt::ids::{EndId, Side};
use netspurt::path::Path;
use netspurt::plan::{Network, NetworkEnd};
use netspurt::units::Duration;
use netspurt_scenario::scenario::Scenario;

pub use error::LiveError;
pub use ledger::Ledger;
pub use outcome::{LiveRun, replay};
pub use report::{
    DeviceReport, EndReport, FlowFailure, LatenessReport, LiveReport, PacketCounts, ProgramsReport,
    Replayed, RouteReport, SocketReport,
};
pub use scene::{Progress, RunScene, WatchedQueue, WatchedSender};
pub use sockets::Sockets;
pub use watcher::{Watcher, watcher};

use ends::{applications, make_ends};
use outcome::Outcome;
use population::add_connections;

use crate::drive::Driver;
use crate::exec::{ProgramHosts, Programs, ProgramsEnding, Waiting};
use crate::kernel::{FlowNotes, Poll};
use crate::sandbox::{KernelHost, Namespace, PacketPort, Sandbox, Wiring};
use crate::sys;
use crate::wall::WallClock;

/// The settings of a live run that are not in the scenario.
pub struct Options {
    /// The maximum lateness that a delivery may have in a valid run.
    pub budget: Duration,
    /// For this span before each instant at which the driver must act, the driver polls the clock
    /// and does not sleep. A driver without real-time priority always sleeps.
    pub spin: Duration,
    /// The devices that connect the hosts to the driver.
    pub wiring: Wiring,
    /// A function that the run calls from time to time with the run's time. The function returns
    /// whether the run continues.
    pub progress: Progress,
    /// The programs that run at the ends of the flow with `app = "programs"`.
    pub programs: Option<Programs>,
}

/// Runs `scenario` in new namespaces. The process must have only one thread. This process enters
/// the namespaces and does not leave them again. Captures are written to `folder` during the run.
///
/// # Errors
/// When the scenario has no flow for the kernel's TCP. When programs are missing, or are given
/// without a flow for them. When namespaces are not available, or the kernel refuses something in
/// them. When a file cannot be written, or the tables have more rows than the scenario allows.
pub fn run(scenario: &Scenario, folder: &FilePath, options: Options) -> Result<LiveRun, LiveError> {
    check_options(scenario, &options)?;
    let network = scenario.network();
    let mut sandbox = Sandbox::enter()?;
    let mut made = make_ends(&mut sandbox, &network, options.wiring)?;
    let pair = ProgramHosts::make(&mut sandbox, &network, options.wiring)?;
    let programs = pair.as_ref().zip(options.programs.as_ref());
    let wait = |(pair, programs)| Waiting::make(programs, pair, &network.names, folder);
    let waiting = programs.map(wait).transpose()?;
    // The processes of programs exist already, so they do not inherit the real-time priority.
    let real_time = sys::set_real_time(DRIVER_PRIORITY).is_ok();
    let spin = if real_time { options.spin } else { Duration::ZERO };
    let (mut apps, sockets) = applications(&mut made, &network.names);
    pair.iter().try_for_each(|pair| add_connections(&mut apps, pair, &network))?;
    let mut watcher = watcher(&network, folder, sockets, options.progress)?;
    watcher.programs = pair.as_ref().map(|pair| pair.watch(&network));
    let clock = WallClock::start();
    let (stop, keeps) = (network.stop, keeps_packets(&network));
    let (wanted, names) = (network.wanted, network.names.clone());
    let (shadows, captured) = (network.shadows.clone(), network.captured.clone());
    let kernel_tasks = network.kernel_tasks.clone().map(|tasks| (tasks, network.connections));
    let mut reports: Vec<_> = made.iter().map(|made| EndReport::of_kernel(&names, made)).collect();
    let mut hosts: Vec<_> = made.into_iter().map(|made| (made.end, made.host)).collect();
    let running = waiting.map(Waiting::go).transpose()?;
    let programs_first = pair.as_ref().map(|pair| pair.first);
    if let Some(pair) = pair {
        reports.extend(EndReport::of_programs(&names, &pair));
        hosts.extend(Side::BOTH.map(|side| pair.first.end(side)).into_iter().zip(pair.hosts));
    }
    let (ports, namespaces) = apart(hosts);
    let driver = Driver::new(clock, Path::new(network), ports).with_programs(programs_first);
    let mut driver = driver.keeping_packets(keeps).spinning(spin);
    let (over, quiet) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
    if let Some(running) = &running {
        driver = driver.woken_by(running.ended_descriptor()?);
        watcher.ends = Some(ProgramsEnding::new(running.ended_descriptor()?));
    } else {
        driver = driver.ending_with(Arc::clone(&quiet));
    }
    let (driven, (notes, polls)) = with_apps(
        || apps.run(clock, &over, &quiet),
        || {
            let _ends = SetOnDrop(&over);
            driver.run(stop, &mut watcher)
        },
    );
    let status = running.map(|running| running.end());
    let (path, log) = driven?;
    watcher.polled(&polls);
    watcher.timed(&log.arrivals);
    let program_polls =
        watcher.programs.as_mut().map(|programs| std::mem::take(&mut programs.polls));
    watcher.polled(&program_polls.unwrap_or_default());
    let programs = options.programs.zip(status);
    let outcome = Outcome {
        path,
        log,
        notes,
        ends: counted(reports, &namespaces)?,
        names,
        wanted,
        shadows,
        captured,
        real_time,
        wiring: options.wiring,
        programs,
        kernel_tasks,
    };
    outcome.finish(scenario, watcher, options.budget)
}

/// Runs `apps` on a thread of its own while `drive` runs, and returns the results of both.
fn with_apps<T>(
    apps: impl FnOnce() -> (Vec<FlowNotes>, Vec<Poll>) + Send,
    drive: impl FnOnce() -> T,
) -> (T, (Vec<FlowNotes>, Vec<Poll>)) {
    thread::scope(|scope| {
        let apps = scope.spawn(apps);
        let driven = drive();
        (driven, apps.join().unwrap_or_default())
    })
}

/// Splits the hosts into two lists: the ports, each with its end, and the namespaces. The caller
/// must keep the namespaces, because a namespace may end when its value is dropped.
fn apart(hosts: Vec<(EndId, KernelHost)>) -> (Vec<(EndId, PacketPort)>, Vec<Namespace>) {
    hosts.into_iter().map(|(end, host)| ((end, host.port), host.namespace)).unzip()
}

/// Adds to each report what the kernel of its host has counted so far.
fn counted(reports: Vec<EndReport>, hosts: &[Namespace]) -> Result<Vec<EndReport>, LiveError> {
    reports.into_iter().zip(hosts).map(|(report, host)| report.counted(host)).collect()
}

/// Sets the flag when this value is dropped, even after a panic. The flag ends the thread of the
/// applications.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Checks that the scenario has a flow for the kernel's TCP, and that there are programs if and
/// only if a flow needs them.
fn check_options(scenario: &Scenario, options: &Options) -> Result<(), LiveError> {
    if scenario.kernel_flow().is_none() {
        return Err(LiveError::NothingReal(scenario.first_endpoint()));
    }
    if scenario.programs_flow().is_some() != options.programs.is_some() {
        let what = "programs need a flow with `app = \"programs\"`, and such a flow needs \
                    programs: use `netspurt live exec`";
        return Err(LiveError::Programs(what));
    }
    Ok(())
}

/// The lowest real-time priority. With it, the driver runs before all threads that have no
/// real-time priority.
const DRIVER_PRIORITY: i32 = 1;

/// Whether a packet may leave the path more than once, because a link fragments or duplicates it,
/// or a shim retransmits it. A shim is a retransmission timer at the edge of a host.
fn keeps_packets(network: &Network) -> bool {
    let copies = |effects: &netspurt::link::Effects| effects.duplicate.is_some();
    let link = |link: &netspurt::link::LinkConfig| {
        link.mtu.is_some() || link.effects.as_ref().is_some_and(copies)
    };
    let shim = |(end, _): &(NetworkEnd, u32)| match end {
        NetworkEnd::Kernel(end) => end.shim.is_some(),
        NetworkEnd::Programs(end) => end.shim.is_some(),
        NetworkEnd::Model(_) => false,
    };
    network.links.iter().any(link) || network.ends.iter().any(shim)
}
