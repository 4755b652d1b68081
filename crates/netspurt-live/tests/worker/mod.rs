//! Starts live runs as separate processes, for tests.

#![allow(dead_code, reason = "each file of tests uses only some of these helpers")]

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use netspurt::record::Table;
use netspurt_files::tables::read_table;
use serde_json::{Value, json};

/// The program whose processes carry out live runs.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_netspurt-live");

/// A folder that is removed at the end of the test.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes a new folder to which any user may write.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("netspurt-live-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&folder, all).unwrap();
        Self(folder)
    }

    /// Reads a table that a run wrote here.
    pub fn table(&self, name: &str) -> Table {
        let file = File::open(self.0.join(format!("{name}.parquet"))).unwrap();
        read_table("table", file).unwrap()
    }

    /// Returns the report that a run wrote here.
    pub fn report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.0.join("live.json")).unwrap()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the order for a run of `scenario`: a JSON object that tells a new process what to run.
/// The run writes to `folder`.
pub fn order(scenario: &str, folder: &Path) -> Value {
    json!({
        "parent": std::process::id(),
        "folder": folder,
        "source": "a test",
        "scenario": scenario,
        "code": {},
        "budget_ns": 10_000_000_000_u64,
        "spin_ns": 0,
        "wire": "veth",
        "offload": false,
        "programs": null,
    })
}

/// Starts the run that `order` describes. If `user` is given, the process belongs to the user with
/// this number. The order is in a file in the run's folder, and the path of this file is the only
/// argument of the process. So the processes of two runs have different arguments.
pub fn start_by(order: &Value, folder: &Path, user: Option<u32>) -> Child {
    let file = folder.join("order");
    fs::write(&file, order.to_string()).unwrap();
    let mut run = Command::new(PROGRAM);
    run.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    if let Some(user) = user {
        run.uid(user).gid(user);
    }
    run.spawn().unwrap()
}

/// Starts a run of `scenario`.
pub fn start(scenario: &str, folder: &Path, user: Option<u32>) -> Child {
    start_by(&order(scenario, folder), folder, user)
}

/// Starts a run of `scenario`. `wiring` has the kind of the devices (`veth` or `tun`), and whether
/// they use segmentation offload.
pub fn start_on(wiring: (&str, bool), scenario: &str, folder: &Path, user: Option<u32>) -> Child {
    let mut order = order(scenario, folder);
    (order["wire"], order["offload"]) = (wiring.0.into(), wiring.1.into());
    start_by(&order, folder, user)
}

/// Starts a run of programs: `command` at the first end, `server` at the second.
pub fn start_programs(
    scenario: &str,
    folder: &Path,
    command: &[&str],
    server: Option<&str>,
    user: Option<u32>,
) -> Child {
    let mut order = order(scenario, folder);
    order["programs"] = json!({ "command": command, "server": server });
    start_by(&order, folder, user)
}

/// The lateness with which a sleeping thread may wake up on a machine that counts as punctual.
const ALLOWED: Duration = Duration::from_millis(1);
/// The number of times that a test of real time is tried.
const TRIES: usize = 5;

/// Runs a test that is valid only while the machine wakes up sleeping threads punctually. During
/// the test, a thread sleeps for short spans. If the test fails and the thread woke up late, the
/// test is tried again. If this happens each time, the test is skipped and prints the reason. If
/// the test fails and the thread always woke up punctually, the failure counts.
pub fn real_time(test: impl Fn()) {
    let mut worst = Duration::ZERO;
    for _ in 0..TRIES {
        let over = AtomicBool::new(false);
        let (result, late) = thread::scope(|scope| {
            let sleeper = scope.spawn(|| oversleep(&over));
            let result = catch_unwind(AssertUnwindSafe(&test));
            over.store(true, Ordering::Relaxed);
            (result, sleeper.join().unwrap())
        });
        match result {
            Ok(()) => return,
            Err(failure) if late <= ALLOWED => resume_unwind(failure),
            Err(_) => worst = worst.max(late),
        }
    }
    eprintln!("SKIPPED: the machine was too late {TRIES} times, by up to {worst:?}");
}

/// Sleeps again and again until the flag `over` is set. Returns the longest time by which a sleep
/// was too long.
#[allow(clippy::disallowed_methods, reason = "the function measures how late the machine is")]
fn oversleep(over: &AtomicBool) -> Duration {
    let (span, mut worst) = (Duration::from_millis(2), Duration::ZERO);
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        thread::sleep(span);
        worst = worst.max(began.elapsed().saturating_sub(span));
    }
    worst
}

/// Whether a program exists on this machine. If the program is missing, this function prints that
/// the test is skipped for this reason.
pub fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: there is no {program} here");
    }
    found
}

/// Waits for a run. If the machine gives this user no namespaces or no TUN devices, this function
/// prints that the test is skipped for this reason, and returns `None`.
pub fn finish(child: Child) -> Option<()> {
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if stderr.starts_with("no namespaces") || stderr.starts_with("making a TUN device") {
        eprintln!("SKIPPED: {}", stderr.trim());
        return None;
    }
    assert!(output.status.success(), "{stderr}");
    Some(())
}
