//! Tests that a run leaves no process and no namespace, at whatever time it is killed.

#![expect(clippy::disallowed_methods, reason = "the tests wait for processes")]

mod worker;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use worker::{Folder, PROGRAM, order, start, start_programs};

const SCENARIO: &str = r#"
stop = "20 s"
[links]
wire = { between = ["a", "b"], rate = "20 Mbit/s", delay = "5 ms" }
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "linux-default"
"#;

/// The network namespaces of the process at `path`: the namespaces of its threads, and the
/// namespaces that its descriptors keep.
fn namespaces(path: &Path) -> BTreeSet<PathBuf> {
    let inside = |folder: &str, file: &str| {
        let entries = fs::read_dir(path.join(folder)).into_iter().flatten().flatten();
        entries.filter_map(|entry| fs::read_link(entry.path().join(file)).ok()).collect::<Vec<_>>()
    };
    let held = fs::read_dir(path.join("fd")).into_iter().flatten().flatten();
    let held = held.filter_map(|entry| fs::read_link(entry.path()).ok());
    let all = inside("task", "ns/net").into_iter().chain(held);
    all.filter(|link| link.to_string_lossy().starts_with("net:[")).collect()
}

/// The folders under `/proc` of all processes.
fn processes() -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.join("task").is_dir()).collect()
}

/// The processes of runs that write to the folder of a test.
fn runs_for(folder: &Folder) -> Vec<PathBuf> {
    let order = folder.0.join("order").display().to_string();
    let of = |path: &PathBuf| {
        let command = fs::read(path.join("cmdline")).unwrap_or_default();
        let words: Vec<_> = command.split(|octet| *octet == 0).collect();
        words.first().is_some_and(|word| word.ends_with(b"netspurt-live"))
            && words.contains(&order.as_bytes())
    };
    processes().into_iter().filter(of).collect()
}

/// Waits until no run writes to `folder`, and no process is in a namespace of the set `theirs` or
/// keeps such a namespace open. The namespaces of this process do not count. Returns false after 10
/// s.
fn gone(folder: &Folder, theirs: &BTreeSet<PathBuf>) -> bool {
    let own = namespaces(Path::new("/proc/self"));
    let theirs: BTreeSet<_> = theirs.difference(&own).collect();
    let held =
        || processes().iter().any(|path| namespaces(path).iter().any(|ns| theirs.contains(ns)));
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if runs_for(folder).is_empty() && !held() {
            return true;
        }
        sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn a_killed_run_leaves_no_namespace_and_no_process_and_no_report() {
    let mut had_namespaces = 0;
    // The runs are killed at a fixed sequence of instants. Some of these instants come before the
    // namespaces are made, and others come while packets are sent.
    let mut state = 12_345_u64;
    for _ in 0..50 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let folder = Folder::new();
        let mut child = start(SCENARIO, &folder.0, None);
        sleep(Duration::from_micros(state >> 33 & 0x3_ffff));
        let theirs = namespaces(&PathBuf::from(format!("/proc/{}", child.id())));
        had_namespaces += u32::from(theirs.len() >= 3);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(gone(&folder, &theirs), "after 10 s the run still has a process or a namespace");
        assert!(!folder.0.join("live.json").exists(), "a killed run must have no report");
    }
    if had_namespaces == 0 {
        eprintln!("SKIPPED: no run had made its namespaces when it was killed");
    }
}

#[test]
fn a_run_ends_when_the_process_that_started_it_ends() {
    for wait in [20, 60, 150, 300] {
        let folder = Folder::new();
        let mut template = order(SCENARIO, &folder.0);
        template["parent"] = 0.into();
        let place = folder.0.display();
        fs::write(folder.0.join("template"), template.to_string()).unwrap();
        // The shell writes its own process id as `parent` into the order, so that the run ends with
        // the shell. Then it starts the run and waits.
        let own =
            format!("sed \"s/.parent.:0/\\\"parent\\\":$$/\" {place}/template > {place}/order");
        let line = format!("{own}; {PROGRAM} {place}/order & wait");
        let mut shell = Command::new("sh")
            .args(["-c", &line])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(wait));
        let runs = runs_for(&folder);
        let theirs = runs.iter().flat_map(|run| namespaces(run)).collect();
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(gone(&folder, &theirs), "after 10 s the run still has a process or a namespace");
    }
}

const PROGRAMS: &str = r#"
stop = "20 s"
[links]
wire = { between = ["a", "b"], rate = "20 Mbit/s", delay = "5 ms", loss = { probability = 0.02 } }
[flows.programs]
from     = "a"
to       = "b"
app      = "programs"
endpoint = "kernel"
profile  = "linux-default"
shim     = "sfr"
"#;

/// All processes that are in a namespace of the set `theirs` or keep such a namespace open. The
/// namespaces of this process do not count.
fn inside(theirs: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let own = namespaces(Path::new("/proc/self"));
    let theirs: BTreeSet<_> = theirs.difference(&own).collect();
    let of = |path: &PathBuf| namespaces(path).iter().any(|ns| theirs.contains(ns));
    processes().into_iter().filter(of).collect()
}

#[test]
fn a_run_of_programs_leaves_nothing_if_any_of_its_processes_is_killed() {
    // A tree of programs. Some of these programs have no parent that waits for them.
    let command = ["sh", "-c", "sleep 100 & (sleep 100 & exec sleep 100) & exec sleep 100"];
    let mut victims = BTreeSet::new();
    let mut state = 99_u64;
    for round in 0..50 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let folder = Folder::new();
        let mut child = start_programs(PROGRAMS, &folder.0, &command, None, None);
        sleep(Duration::from_micros(state >> 33 & 0x1_ffff));
        let theirs = namespaces(&PathBuf::from(format!("/proc/{}", child.id())));
        let all = inside(&theirs);
        let victim = all.get(round % (all.len() + 1));
        let number = |path: &PathBuf| path.file_name()?.to_str()?.parse().ok();
        let named = |path: &PathBuf| fs::read_to_string(path.join("comm")).unwrap_or_default();
        victims.extend(victim.map(named));
        match victim.and_then(number).and_then(rustix::process::Pid::from_raw) {
            // An error is ignored, because the process may have ended.
            Some(pid) => drop(rustix::process::kill_process(pid, rustix::process::Signal::KILL)),
            None => child.kill().unwrap(),
        }
        // A killed program ends the run only if it is the program at the first end.
        sleep(Duration::from_millis(50));
        let ended = folder.0.join("live.json").exists() || child.try_wait().unwrap().is_some();
        if !ended {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        assert!(gone(&folder, &theirs), "after 10 s the run still has a process or a namespace");
    }
    if victims.is_empty() {
        eprintln!("SKIPPED: no run had a process in its namespaces when it was to be killed");
    }
}
