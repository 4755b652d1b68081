//! Live runs as processes of their own, for tests.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use netspurt::record::{Table, read_table};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_netspurt-live");

/// A folder that goes with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new one, that anyone may write to.
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

    /// A table that a run left here.
    pub fn table(&self, name: &str) -> Table {
        let file = File::open(self.0.join(format!("{name}.parquet"))).unwrap();
        read_table("table", file).unwrap()
    }

    /// What a run said of itself.
    pub fn report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.0.join("live.json")).unwrap()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A run that has been started; as the user numbered `user`, if given.
pub fn start(scenario: &str, folder: &Path, user: Option<u32>) -> Child {
    start_on(&[], scenario, folder, user)
}

/// The same with hosts' wires made of what `wiring` says.
pub fn start_on(wiring: &[&str], scenario: &str, folder: &Path, user: Option<u32>) -> Child {
    let mut command = Command::new(PROGRAM);
    command.arg(std::process::id().to_string()).arg(folder).args(["10000000000", "0"]);
    command.args(wiring);
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(scenario.as_bytes()).unwrap();
    child
}

/// A run of programs that has been started: `command` at the first end, `server` at the second.
pub fn start_programs(
    scenario: &str,
    folder: &Path,
    command: &[&str],
    server: Option<&str>,
    user: Option<u32>,
) -> Child {
    let order = folder.join("order.json");
    let told = json!({ "scenario": scenario, "command": command, "server": server });
    fs::write(&order, told.to_string()).unwrap();
    let mut run = Command::new(PROGRAM);
    run.arg(std::process::id().to_string()).arg(folder).args(["10000000000", "0"]);
    run.arg(format!("order:{}", order.display()));
    if let Some(user) = user {
        run.uid(user).gid(user);
    }
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Whether a program is there; said loudly where it is not.
pub fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: there is no {program} here");
    }
    found
}

/// Waits for a run; `None`, said loudly, where the machine has no namespaces to give, or no TUN
/// devices to this user.
pub fn finish(child: Child) -> Option<()> {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.starts_with("no namespaces") || said.starts_with("TUN, ") {
        eprintln!("SKIPPED: {}", said.trim());
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(())
}
