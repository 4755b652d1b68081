//! The two processes that start the programs of a run, such as curl and a server, and that end
//! them.
//!
//! The *holder* creates the namespaces for processes and mounts, and waits. *Init* is the first
//! process inside these namespaces. When init ends in any way, the kernel kills all other processes
//! inside. The holder ends with the run, and init ends with the holder. Both also end when the run
//! closes its end of the lifeline, which is a pipe.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{Pid, Signal, WaitOptions, wait, waitpid};

use super::programs::ProgramsOrder;
use crate::sandbox::end_with;
use crate::sys::{self, Unshared};

/// The exit status if netspurt failed before it could start the program. The commands `env` and
/// `timeout` use the same status if they fail themselves.
const FAILED: i32 = 125;
/// The exit status if the program exists, but cannot be started.
const NOT_RUN: i32 = 126;
/// The exit status if the program does not exist.
const NOT_FOUND: i32 = 127;

/// This flag is added to the reported status if the program never ran.
const NEVER_RAN: i32 = 1 << 16;

/// How the command ended. The command is the program at the first end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit status of the program. If a signal ended the program, the status is 128 plus the
    /// signal's number. If the run ended before the program had ended, the status is 124. If the
    /// program never ran, the status is 125 to 127.
    pub status: i32,
    /// Whether the program ran at all.
    pub ran: bool,
    /// Whether the program still ran when the run was over, and was stopped then.
    pub stopped: bool,
}

impl Ended {
    /// Converts the code that init reported. `None` means that init is gone.
    pub(super) fn of_code(code: Option<i32>) -> Self {
        let code = code.unwrap_or(FAILED | NEVER_RAN);
        Self { status: code & !NEVER_RAN, ran: code & NEVER_RAN == 0, stopped: false }
    }
}

/// Init checks every 10 ms whether the server listens, at most this many times.
const LISTEN_STEPS: u32 = 500;

/// Runs as the holder and never returns.
pub(super) fn hold(
    parent: u32,
    order: &ProgramsOrder<'_>,
    lifeline: OwnedFd,
    status_pipe: OwnedFd,
) -> ! {
    let held = end_with(parent).map_err(io::Error::other).and_then(|()| {
        sys::unshare(Unshared::ProcessesAndMounts)?;
        if let Err(error) = names(order) {
            say(&format!("programs cannot use the names of nodes: {error}"));
        }
        sys::fork()
    });
    match held {
        Ok(Some(init)) => {
            drop((lifeline, status_pipe));
            let init = Pid::from_raw(init.cast_signed());
            let _ = waitpid(init, WaitOptions::empty());
            sys::end(0)
        }
        Ok(None) => be_init(order, &lifeline, &status_pipe),
        Err(error) => {
            say(&format!("no namespaces for programs: {error}"));
            let _ = rustix::io::write(&status_pipe, &(FAILED | NEVER_RAN).to_ne_bytes());
            sys::end(0)
        }
    }
}

/// Replaces the machine's `/etc/hosts` by the run's file of names, for the programs only.
fn names(order: &ProgramsOrder<'_>) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount_bind(&order.hosts_file, "/etc/hosts")?;
    Ok(())
}

/// Mounts a `/proc` that shows only the run's own processes to the programs. The mount fails if
/// parts of the machine's `/proc` are hidden, as in many containers. Such a failure affects only
/// tools such as `ps`.
fn own_processes() {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount("proc", "/proc", "proc", flags, None);
}

fn say(what: &str) {
    // An error is ignored here, because the reader may be gone.
    let _ = writeln!(io::stderr(), "netspurt: {what}");
}

/// Runs as init: starts the server and the command, and reports how the command ended.
fn be_init(order: &ProgramsOrder<'_>, lifeline: &OwnedFd, status_pipe: &OwnedFd) -> ! {
    let bound = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    own_processes();
    // The programs inherit this setting, so the terminal's keys can end them. The keys cannot end
    // this process, because the kernel protects the first process of a namespace from such signals.
    sys::ignore_terminal_keys(false);
    if bound.is_err() || !waits(lifeline, None) || rustix::io::read(lifeline, &mut [0]) != Ok(1) {
        sys::end(FAILED);
    }
    let server = order.programs.server.as_ref().map(|line| serve(order, line, lifeline));
    let mut status = match server {
        Some(Err(error)) => {
            say(&format!("the server does not run: {error}"));
            Some(FAILED | NEVER_RAN)
        }
        _ => None,
    };
    let first = match status {
        Some(_) => None,
        None => start(order).inspect_err(|failed| status = Some(*failed)).ok(),
    };
    let first = first.map(|child| child.id());
    loop {
        if let Some(status) = status.take() {
            let _ = rustix::io::write(status_pipe, &status.to_ne_bytes());
        }
        while let Ok(Some((who, how))) = wait(WaitOptions::NOHANG) {
            if first == Some(who.as_raw_nonzero().get().cast_unsigned()) {
                let how = std::process::ExitStatus::from_raw(how.as_raw());
                status = how.code().or(how.signal().map(|signal| 128 + signal));
            }
        }
        if status.is_none() && waits(lifeline, Some(2)) {
            sys::end(0);
        }
    }
}

/// Waits up to `ms` milliseconds, or without a limit if `ms` is `None`. Returns true if there is
/// something to read or the writer is gone.
fn waits(fd: &OwnedFd, ms: Option<i64>) -> bool {
    let span = ms.map(|ms| Timespec { tv_sec: 0, tv_nsec: ms * 1_000_000 });
    poll(&mut [PollFd::new(fd, PollFlags::IN)], span.as_ref()).unwrap_or(0) > 0
}

/// Starts the command. If there is a terminal, the command can use it. The error is the code that
/// init reports.
fn start(order: &ProgramsOrder<'_>) -> Result<Child, i32> {
    let name = order.programs.command.first().map_or("", String::as_str);
    let begin = || {
        Command::new(name)
            .args(order.programs.command.iter().skip(1))
            .env("NETSPURT_PEER", order.peer.to_string())
            .spawn()
    };
    let started = order.hosts[0].within(begin).unwrap_or_else(|error| Err(io::Error::other(error)));
    started.map_err(|error| {
        say(&format!("{name}: {error}"));
        NEVER_RAN | if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN }
    })
}

/// Starts the server, and waits until it listens. If the server does not listen in time, this
/// function prints a message, and the run continues.
fn serve(order: &ProgramsOrder<'_>, line: &str, lifeline: &OwnedFd) -> io::Result<()> {
    let output = File::create_new(&order.output)?;
    let both = output.try_clone()?;
    let begin = || {
        Command::new("sh")
            .args(["-c", line])
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(both)
            .process_group(0)
            .spawn()
    };
    let mut server = order.hosts[1].within(begin).map_err(io::Error::other)??;
    for _ in 0..LISTEN_STEPS {
        if order.hosts[1].within(listens).unwrap_or(false) {
            return Ok(());
        }
        if let Some(status) = server.try_wait()? {
            let output = fs::read_to_string(&order.output).unwrap_or_default();
            let last = output.trim().lines().last().unwrap_or("it wrote no message");
            return Err(io::Error::other(format!(
                "it ended before it listened ({status}): {last}"
            )));
        }
        if waits(lifeline, Some(10)) {
            sys::end(0);
        }
    }
    say("the server listens on no port after 5 s");
    Ok(())
}

/// Whether any socket of the calling thread's host listens.
fn listens() -> bool {
    let rows = |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
    let any = |file: &str, state: &str| {
        let rows = rows(file).unwrap_or_default();
        rows.lines().skip(1).any(|row| row.split_whitespace().nth(3) == Some(state))
    };
    any("tcp", "0A") || any("tcp6", "0A") || any("udp", "07") || any("udp6", "07")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_encodes_the_exit_of_a_program() {
        for (what, code, status, ran) in [
            ("it succeeded", Some(0), 0, true),
            ("it failed", Some(3), 3, true),
            ("a signal ended it", Some(128 + 9), 137, true),
            ("there is no such program", Some(NEVER_RAN | NOT_FOUND), 127, false),
            ("the program cannot be started", Some(NEVER_RAN | NOT_RUN), 126, false),
            ("no namespaces", Some(NEVER_RAN | FAILED), 125, false),
            ("init is gone", None, 125, false),
        ] {
            assert_eq!(Ended::of_code(code), Ended { status, ran, stopped: false }, "{what}");
        }
    }
}
