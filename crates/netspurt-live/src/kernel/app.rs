//! What the applications at the kernel's ends do: one writes, the other reads.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use netspurt::app::Bulk;
use netspurt::units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use rustix::net::{SendFlags, Shutdown, SocketFlags, accept_with, connect, send, shutdown};

use super::TcpInfo;
use crate::content;
use crate::wall::WallClock;

/// How often connections are asked for their state.
const EVERY: Duration = Duration::from_millis(10);

/// What an application saw of its flow.
#[derive(Clone, Debug, Default)]
pub struct FlowNotes {
    /// The end, two a flow.
    pub end: u32,
    /// When the connection was open.
    pub opened: Option<Time>,
    /// When it first wrote.
    pub wrote: Option<Time>,
    /// Octets it read.
    pub read_bytes: u64,
    /// How many times it read what nobody wrote there.
    pub damaged: u64,
    /// What the connection ended with, if it failed.
    pub failure: Option<String>,
}

/// What the kernel said of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Poll {
    /// When.
    pub at: Time,
    /// Whose end it is.
    pub end: u32,
    /// What.
    pub info: TcpInfo,
}

/// The applications of a run.
#[derive(Debug, Default)]
pub struct Apps {
    sources: Vec<Source>,
    sinks: Vec<Sink>,
}

#[derive(Debug)]
struct Source {
    socket: Arc<OwnedFd>,
    to: SocketAddr,
    task: Bulk,
    stage: Stage,
    written: u64,
    notes: FlowNotes,
    last: Option<TcpInfo>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waits,
    Connects,
    Pauses(Time),
    Writes(Option<u64>),
    Done,
}

#[derive(Debug)]
struct Sink {
    listener: OwnedFd,
    accepted: Option<OwnedFd>,
    over: bool,
    notes: FlowNotes,
}

impl Apps {
    /// Adds the application of the end numbered `end` that opens its connection to `to`.
    pub fn add_source(&mut self, end: u32, socket: Arc<OwnedFd>, to: SocketAddr, task: Bulk) {
        let notes = FlowNotes { end, ..FlowNotes::default() };
        self.sources.push(Source {
            socket,
            to,
            task,
            stage: Stage::Waits,
            written: 0,
            notes,
            last: None,
        });
    }

    /// Adds the application of the end numbered `end` that reads what comes to `listener`.
    pub fn add_sink(&mut self, end: u32, listener: OwnedFd) {
        let notes = FlowNotes { end, ..FlowNotes::default() };
        self.sinks.push(Sink { listener, accepted: None, over: false, notes });
    }

    /// Runs them until `stop` is set; what they saw, and what the kernel said on the way.
    pub fn run(mut self, clock: WallClock, stop: &AtomicBool) -> (Vec<FlowNotes>, Vec<Poll>) {
        let mut told = Vec::new();
        let mut next = Time::ZERO;
        let mut room = vec![0; content::LONGEST];
        while !stop.load(Ordering::Relaxed) {
            let now = clock.now();
            self.sources.iter_mut().for_each(|source| source.step(now));
            self.sinks.iter_mut().for_each(|sink| sink.step(&mut room));
            if now >= next {
                self.ask(now, &mut told);
                next = now + EVERY;
            }
            self.wait(clock, next);
        }
        self.ask(clock.now(), &mut told);
        let sources = self.sources.into_iter().map(|source| source.notes);
        let sinks = self.sinks.into_iter().map(|sink| sink.notes);
        (sources.chain(sinks).collect(), told)
    }

    /// Asks the kernel for the state of every connection that has one.
    fn ask(&mut self, now: Time, told: &mut Vec<Poll>) {
        for source in &mut self.sources {
            if source.notes.opened.is_none() {
                continue;
            }
            let Ok(info) = TcpInfo::of(source.socket.as_fd()) else { continue };
            if source.last != Some(info) {
                source.last = Some(info);
                told.push(Poll { at: now, end: source.notes.end, info });
            }
        }
    }

    /// Waits until there is something to do, or `until`.
    fn wait(&self, clock: WallClock, until: Time) {
        let due = self.sources.iter().filter_map(Source::due).fold(until, Time::min);
        let left = due.saturating_since(clock.now());
        let sources = self.sources.iter().filter_map(Source::waits_for);
        let sinks = self.sinks.iter().filter_map(Sink::waits_for);
        let mut fds: Vec<PollFd<'_>> = sources.chain(sinks).collect();
        // Interrupted or not: what there is to do is looked at again.
        let _ = poll(&mut fds, Some(&timespec(left)));
    }
}

/// A span as the kernel takes it.
pub fn timespec(span: Duration) -> Timespec {
    let (second, nanos) = (1_000_000_000, span.as_nanos().cast_signed());
    Timespec { tv_sec: nanos / second, tv_nsec: nanos % second }
}

impl Source {
    /// When it does something of its own accord.
    fn due(&self) -> Option<Time> {
        match self.stage {
            Stage::Waits => Some(self.task.start),
            Stage::Pauses(until) => Some(until),
            _ => None,
        }
    }

    fn waits_for(&self) -> Option<PollFd<'_>> {
        let busy = matches!(self.stage, Stage::Connects | Stage::Writes(_));
        busy.then(|| PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::OUT))
    }

    fn step(&mut self, now: Time) {
        let before = self.stage;
        self.stage = match self.stage {
            Stage::Waits if now >= self.task.start => self.connect(),
            Stage::Connects => self.look(now),
            Stage::Pauses(until) if now >= until => {
                self.notes.wrote = Some(now);
                Stage::Writes(self.task.octets)
            }
            Stage::Writes(left) => self.write(left),
            same => same,
        };
        // What has just begun may have something to do at once.
        let begun = self.stage != before && !matches!(before, Stage::Writes(_));
        if begun && self.stage != Stage::Done {
            self.step(now);
        }
    }

    fn fail(&mut self, error: impl ToString) -> Stage {
        self.notes.failure = Some(error.to_string());
        Stage::Done
    }

    fn connect(&mut self) -> Stage {
        match connect(&self.socket, &self.to) {
            Ok(()) | Err(Errno::INPROGRESS) => Stage::Connects,
            Err(error) => self.fail(error),
        }
    }

    /// Whether the connection has opened.
    fn look(&mut self, now: Time) -> Stage {
        match socket_error(&self.socket) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => return self.fail(error),
        }
        if rustix::net::getpeername(&self.socket).is_err() {
            return Stage::Connects;
        }
        self.notes.opened = Some(now);
        Stage::Pauses(now + self.task.pause)
    }

    fn write(&mut self, mut left: Option<u64>) -> Stage {
        loop {
            let all = content::LONGEST;
            let most =
                left.map_or(all, |left| usize::try_from(left).unwrap_or(usize::MAX).min(all));
            if most == 0 {
                // The application has no more to say.
                let _ = shutdown(&self.socket, Shutdown::Write);
                return Stage::Done;
            }
            // The end is known, as the model knows it: the FIN rides on the last segment.
            let last = left == Some(most as u64);
            let flags = if last { SendFlags::MORE } else { SendFlags::empty() };
            match send(&self.socket, content::octets(self.written, most), flags) {
                Ok(count) => {
                    self.written += count as u64;
                    left = left.map(|left| left - count as u64);
                }
                Err(Errno::AGAIN) => return Stage::Writes(left),
                Err(Errno::INTR) => {}
                Err(error) => return self.fail(error),
            }
        }
    }
}

impl Sink {
    fn open(&self) -> BorrowedFd<'_> {
        self.accepted.as_ref().unwrap_or(&self.listener).as_fd()
    }

    fn waits_for(&self) -> Option<PollFd<'_>> {
        (!self.over).then(|| PollFd::from_borrowed_fd(self.open(), PollFlags::IN))
    }

    fn step(&mut self, room: &mut [u8]) {
        if self.over {
            return;
        }
        if self.accepted.is_none() {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            self.accepted = accept_with(&self.listener, flags).ok();
        }
        while let Some(socket) = &self.accepted {
            match rustix::io::read(socket, &mut *room) {
                Ok(0) => return self.end(None),
                Ok(count) => {
                    let written = content::octets(self.notes.read_bytes, count);
                    self.notes.damaged += u64::from(room[..count] != *written);
                    self.notes.read_bytes += count as u64;
                }
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(error) => return self.end(Some(io::Error::from(error).to_string())),
            }
        }
    }

    /// The other side has closed, or the connection failed: this side closes, too.
    fn end(&mut self, failure: Option<String>) {
        self.notes.failure = failure;
        self.over = true;
        self.accepted = None;
    }
}
