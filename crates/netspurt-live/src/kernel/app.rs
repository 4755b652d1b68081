//! The applications of connections on the kernel's TCP. A *source* opens its connection and writes.
//! A *sink* accepts its connection, reads, and may answer. A connection's *task* plans what both of
//! them write. The task's *pause* lasts from the connection's establishment to the first write.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use netspurt::app::{ClientRequests, Exchange, ServerReplies, Task};
use netspurt::ids::EndId;
use netspurt::units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use rustix::net::{SendFlags, Shutdown, SocketFlags, accept_with, connect, send, shutdown};

use super::TcpInfo;
use super::socket::clamp;
use crate::content;
use crate::wall::WallClock;

/// The time between two questions to the kernel about the state of connections.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The notes of an application about its flow.
#[derive(Clone, Debug, Default)]
pub struct FlowNotes {
    /// The end of the flow at which the application runs.
    pub end: EndId,
    /// When the connection was established. `None` at a listening end, or if that never happened.
    pub opened: Option<Time>,
    /// When the application first wrote. If the application opens the connection and its task has
    /// no pause, this is the time at which it began to open the connection.
    pub wrote: Option<Time>,
    /// When the application had read all octets that it had asked for.
    pub finished: Option<Time>,
    /// The requests that the application made, and their replies. If the task has no pause and the
    /// connection never opened, the requests include the first request, which never left the host.
    pub exchanges: Vec<Exchange>,
    /// The number of octets that the application read.
    pub read_bytes: u64,
    /// The number of reads in which octets differed from what the other end wrote.
    pub damaged: u64,
    /// The error with which the connection ended, if it failed.
    pub failure: Option<String>,
}

/// The kernel's report on a connection.
#[derive(Clone, Copy, Debug)]
pub struct Poll {
    /// When the kernel was asked.
    pub at: Time,
    /// The end of the connection.
    pub end: EndId,
    /// The kernel's information.
    pub info: TcpInfo,
}

/// The applications of a run.
#[derive(Debug, Default)]
pub struct Apps {
    sources: Vec<ContentSource>,
    sinks: Vec<Sink>,
    shared: Vec<SharedListener>,
    /// The number of sources before the first source that has not ended, and the number of sinks
    /// before the first sink that has not ended.
    ended: [usize; 2],
}

/// A listening socket that accepts many connections.
#[derive(Debug)]
struct SharedListener {
    listener: OwnedFd,
    /// The index of each sink in `Apps::sinks`. The key is the port of the end that opens the
    /// sink's connection.
    sinks: HashMap<u16, usize>,
}

/// The socket of an end. A listening end has this socket only after the connection was accepted.
pub type FlowSocket = Arc<OnceLock<OwnedFd>>;

#[derive(Debug)]
struct ContentSource {
    socket: FlowSocket,
    to: SocketAddr,
    task: Task,
    requests: Option<ClientRequests>,
    stage: AppStage,
    written: u64,
    /// The maximum of the receive window in octets.
    clamp: Option<u32>,
    notes: FlowNotes,
    /// If this is true, the kernel is not asked about the connection.
    unasked: bool,
    last: Option<TcpInfo>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AppStage {
    Waits,
    Connects,
    Pauses(Time),
    Writes(Option<u64>),
    Reads,
    Done,
}

#[derive(Debug)]
struct Sink {
    /// The listening socket. `None` if a shared listener accepts the connection.
    listener: Option<OwnedFd>,
    accepted: FlowSocket,
    replies: Option<ServerReplies>,
    /// The octets of the current reply that are not written yet.
    reply_bytes_left: u64,
    written: u64,
    over: bool,
    /// The maximum of the receive window in octets.
    clamp: Option<u32>,
    notes: FlowNotes,
    /// If this is true, the kernel is not asked about the connection.
    unasked: bool,
    last: Option<TcpInfo>,
}

impl Apps {
    /// Adds the applications of several connections that all come to the socket `listener`. For
    /// each connection, `connections` has the end that opens it, this end's socket and the task.
    /// Each of these sockets is bound to a different port. The kernel is not asked about these
    /// connections.
    ///
    /// # Errors
    /// When the kernel does not report the port of a socket.
    pub fn add_connections(
        &mut self,
        listener: OwnedFd,
        to: SocketAddr,
        connections: Vec<(EndId, OwnedFd, Task)>,
    ) -> io::Result<()> {
        let mut sinks = HashMap::new();
        for (end, socket, task) in connections {
            let address = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
            sinks.insert(address.port(), self.sinks.len());
            let shared = FlowSocket::default();
            let _ = shared.set(socket);
            self.add_source(end, shared, to, task.clone());
            self.add_listening(end.peer(), None, FlowSocket::default(), task);
            self.sources.last_mut().into_iter().for_each(|source| source.unasked = true);
            self.sinks.last_mut().into_iter().for_each(|sink| sink.unasked = true);
        }
        self.shared.push(SharedListener { listener, sinks });
        Ok(())
    }

    /// Accepts the connections that wait at a shared listener.
    fn admit(&mut self) {
        for SharedListener { listener, sinks } in &self.shared {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            while let Ok(socket) = accept_with(listener, flags) {
                let peer = rustix::net::getpeername(&socket).ok().flatten();
                let port = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
                let Some(place) = port.and_then(|peer| sinks.get(&peer.port())) else { continue };
                let _ = self.sinks[*place].accepted.set(socket);
            }
        }
    }

    /// Adds the application of `end`. This end opens the connection to the address `to`.
    pub fn add_source(&mut self, end: EndId, socket: FlowSocket, to: SocketAddr, task: Task) {
        let notes = FlowNotes { end, ..FlowNotes::default() };
        let requests = match task {
            Task::Bulk(_) => None,
            Task::Requests(ref plan) => Some(ClientRequests::new(plan.clone())),
        };
        let (stage, written, last) = (AppStage::Waits, 0, None);
        self.sources.push(ContentSource {
            socket,
            to,
            task,
            requests,
            stage,
            written,
            clamp: None,
            notes,
            unasked: false,
            last,
        });
    }

    /// Limits the receive window of `end` to `bytes` octets.
    pub fn clamp(&mut self, end: EndId, bytes: u32) {
        let sources = self.sources.iter_mut().filter(|source| source.notes.end == end);
        sources.for_each(|source| source.clamp = Some(bytes));
        let sinks = self.sinks.iter_mut().filter(|sink| sink.notes.end == end);
        sinks.for_each(|sink| sink.clamp = Some(bytes));
    }

    /// Adds the application of `end`. The application reads from the connection that comes to
    /// `listener`. It answers the requests of its task. The socket of the connection is put into
    /// `accepted`.
    pub fn add_sink(&mut self, end: EndId, listener: OwnedFd, accepted: FlowSocket, task: Task) {
        self.add_listening(end, Some(listener), accepted, task);
    }

    fn add_listening(
        &mut self,
        end: EndId,
        listener: Option<OwnedFd>,
        accepted: FlowSocket,
        task: Task,
    ) {
        let notes = FlowNotes { end, ..FlowNotes::default() };
        let replies = match task {
            Task::Bulk(_) => None,
            Task::Requests(plan) => Some(ServerReplies::new(plan)),
        };
        self.sinks.push(Sink {
            listener,
            accepted,
            replies,
            reply_bytes_left: 0,
            written: 0,
            over: false,
            clamp: None,
            notes,
            unasked: false,
            last: None,
        });
    }

    /// Runs the applications until `stop` is true. Returns their notes and the kernel's reports.
    /// Makes `over` true when every connection has ended. After that, no host sends anything.
    pub fn run(
        mut self,
        clock: WallClock,
        stop: &AtomicBool,
        over: &AtomicBool,
    ) -> (Vec<FlowNotes>, Vec<Poll>) {
        let mut polls = Vec::new();
        let mut next = Time::ZERO;
        let mut room = vec![0; content::PIECE_BYTES_MAX];
        while !stop.load(Ordering::Relaxed) {
            let now = clock.now();
            self.admit();
            self.sources.iter_mut().for_each(|source| source.step(now, &mut room));
            self.sinks.iter_mut().for_each(|sink| sink.step(now, &mut room));
            if now >= next {
                self.ask(now, &mut polls);
                next = now + POLL_INTERVAL;
                over.fetch_or(self.are_over(), Ordering::Relaxed);
            }
            self.wait(clock, next);
        }
        self.ask(clock.now(), &mut polls);
        let sources = self.sources.into_iter().map(ContentSource::into_notes);
        let sinks = self.sinks.into_iter().map(|sink| sink.notes);
        (sources.chain(sinks).collect(), polls)
    }

    /// Asks the kernel for the state of the connections that were opened, at the ends that write.
    /// Ends with `unasked` are left out. A state that equals the end's last state is left out.
    fn ask(&mut self, now: Time, polls: &mut Vec<Poll>) {
        let asked = |source: &&mut ContentSource| source.notes.opened.is_some() && !source.unasked;
        let sources = self.sources.iter_mut().filter(asked);
        let sources = sources.map(|source| (&source.socket, source.notes.end, &mut source.last));
        let sinks = self.sinks.iter_mut().filter(|sink| sink.replies.is_some() && !sink.unasked);
        let sinks = sinks.map(|sink| (&sink.accepted, sink.notes.end, &mut sink.last));
        for (socket, end, last) in sources.chain(sinks) {
            let Some(Ok(info)) = socket.get().map(|socket| TcpInfo::of(socket.as_fd())) else {
                continue;
            };
            if *last != Some(info) {
                *last = Some(info);
                polls.push(Poll { at: now, end, info });
            }
        }
    }

    /// Whether every connection has ended. A listening end without a connection counts as ended if
    /// the end that should open the connection has failed.
    fn are_over(&mut self) -> bool {
        let [sources, sinks] = &mut self.ended;
        *sources += self.sources[*sources..].iter().take_while(|source| source.is_over()).count();
        if *sources < self.sources.len() {
            return false;
        }
        let sources = &self.sources;
        let is_over = |sink: &&Sink| {
            let opener = sink.notes.end.peer();
            let failed = |source: &ContentSource| source.notes.failure.is_some();
            let given_up = || sources.iter().any(|own| own.notes.end == opener && failed(own));
            sink.is_over() || sink.accepted.get().is_none() && given_up()
        };
        *sinks += self.sinks[*sinks..].iter().take_while(is_over).count();
        *sinks == self.sinks.len()
    }

    /// Waits until there is something to do, or until the instant `until`.
    fn wait(&self, clock: WallClock, until: Time) {
        let sources = self.sources.iter().filter_map(ContentSource::due);
        let due = sources.chain(self.sinks.iter().filter_map(Sink::due)).fold(until, Time::min);
        let remaining = due.saturating_since(clock.now());
        let sources = self.sources.iter().filter_map(ContentSource::waits_for);
        let sinks = self.sinks.iter().filter_map(Sink::waits_for);
        let shared = self.shared.iter().map(|shared| PollFd::new(&shared.listener, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = sources.chain(sinks).chain(shared).collect();
        // An interrupted wait is not an error, because the loop then checks again what is due.
        let _ = poll(&mut fds, Some(&timespec(remaining)));
    }
}

/// Converts a span into the kernel's type.
pub fn timespec(span: Duration) -> Timespec {
    let (second, nanos) = (1_000_000_000, span.as_nanos().cast_signed());
    Timespec { tv_sec: nanos / second, tv_nsec: nanos % second }
}

/// The result of one read.
enum Read {
    /// Some octets were read.
    Octets,
    /// Nothing can be read at present.
    Nothing,
    /// The stream has ended.
    End,
    Failed(io::Error),
}

/// Reads once and checks the octets. Before the read, the window is limited to `limit`.
fn read(
    socket: BorrowedFd<'_>,
    limit: Option<u32>,
    notes: &mut FlowNotes,
    room: &mut [u8],
) -> Read {
    if let Some(bytes) = limit {
        // An error is ignored, because a connection that has ended has no window.
        let _ = clamp(socket, bytes);
    }
    match rustix::io::read(socket, &mut *room) {
        Ok(0) => Read::End,
        Ok(count) => {
            let written = content::octets(notes.read_bytes, count);
            notes.damaged += u64::from(room[..count] != *written);
            notes.read_bytes += count as u64;
            Read::Octets
        }
        Err(Errno::AGAIN | Errno::INTR) => Read::Nothing,
        Err(error) => Read::Failed(error.into()),
    }
}

/// Writes as many of the `left` octets as the socket accepts. Returns the number of octets that are
/// still left. `None` stands for an endless stream. `ends` is true if nothing follows these octets.
fn write(
    socket: BorrowedFd<'_>,
    written: &mut u64,
    mut left: Option<u64>,
    ends: bool,
) -> io::Result<Option<u64>> {
    loop {
        let all = content::PIECE_BYTES_MAX;
        let most = left.map_or(all, |left| usize::try_from(left).unwrap_or(usize::MAX).min(all));
        if most == 0 {
            return Ok(left);
        }
        // With `MORE`, the kernel holds the last segment until this side is closed. So the last
        // segment carries the FIN, as in the simulator.
        let last = ends && left == Some(most as u64);
        let flags = if last { SendFlags::MORE } else { SendFlags::empty() };
        match send(socket, content::octets(*written, most), flags) {
            Ok(count) => {
                *written += count as u64;
                left = left.map(|left| left - count as u64);
            }
            Err(Errno::AGAIN) => return Ok(left),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl ContentSource {
    fn open(&self) -> BorrowedFd<'_> {
        self.socket.get().expect("an end that opens a connection has a socket").as_fd()
    }

    /// Whether the application has completed its task or failed, and its connection has ended.
    fn is_over(&self) -> bool {
        self.stage == AppStage::Done && TcpInfo::is_closed(self.open())
    }

    /// The next instant at which the application acts even if nothing happens at its socket.
    fn due(&self) -> Option<Time> {
        match self.stage {
            AppStage::Waits => Some(self.task.start()),
            AppStage::Pauses(until) => Some(until),
            _ => None,
        }
    }

    fn waits_for(&self) -> Option<PollFd<'_>> {
        let events = match self.stage {
            AppStage::Connects | AppStage::Writes(_) => PollFlags::OUT,
            AppStage::Reads => PollFlags::IN,
            AppStage::Waits | AppStage::Pauses(_) | AppStage::Done => return None,
        };
        Some(PollFd::from_borrowed_fd(self.open(), events))
    }

    fn step(&mut self, now: Time, room: &mut [u8]) {
        let before = self.stage;
        self.stage = match self.stage {
            AppStage::Waits if now >= self.task.start() => self.connect(now),
            AppStage::Connects => self.look(now),
            AppStage::Pauses(until) if now >= until => self.begin(now),
            AppStage::Writes(left) => self.write(left),
            AppStage::Reads => self.read(now, room),
            same => same,
        };
        // A stage that has just started may have something to do immediately.
        let stage_changed = self.stage != before && !matches!(self.stage, AppStage::Done);
        if stage_changed
            && (!matches!(before, AppStage::Writes(_)) || self.stage == AppStage::Reads)
        {
            self.step(now, room);
        }
    }

    fn fail(&mut self, error: impl ToString) -> AppStage {
        self.notes.failure = Some(error.to_string());
        AppStage::Done
    }

    fn connect(&mut self, now: Time) -> AppStage {
        if self.task.pause().is_zero() {
            // The data waits until the connection is open, as in the simulator.
            self.notes.wrote = Some(now);
            if let Some(requests) = &mut self.requests {
                requests.begin(now);
            }
        }
        match connect(self.open(), &self.to) {
            Ok(()) | Err(Errno::INPROGRESS) => AppStage::Connects,
            Err(error) => self.fail(error),
        }
    }

    /// Checks whether the connection has opened, and returns the next stage.
    fn look(&mut self, now: Time) -> AppStage {
        match socket_error(self.open()) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => return self.fail(error),
        }
        if rustix::net::getpeername(self.open()).is_err() {
            return AppStage::Connects;
        }
        self.notes.opened = Some(now);
        AppStage::Pauses(now + self.task.pause())
    }

    fn begin(&mut self, now: Time) -> AppStage {
        let asked = self.requests.as_mut().map(|requests| {
            let at = requests.next().unwrap_or(now).min(now);
            (at, requests.ask(at))
        });
        self.notes.wrote.get_or_insert(asked.map_or(now, |(at, _)| at));
        AppStage::Writes(asked.map_or(self.task.octets()[0], |(_, octets)| Some(octets)))
    }

    fn write(&mut self, left: Option<u64>) -> AppStage {
        let socket = self.socket.get().expect("an end that opens a connection has a socket");
        match write(socket.as_fd(), &mut self.written, left, self.requests.is_none()) {
            Ok(Some(0)) if self.requests.is_some() => AppStage::Reads,
            Ok(Some(0)) => self.close(),
            Ok(left) => AppStage::Writes(left),
            Err(error) => self.fail(error),
        }
    }

    fn read(&mut self, now: Time, room: &mut [u8]) -> AppStage {
        loop {
            let socket = self.socket.get().expect("an end that opens a connection has a socket");
            match read(socket.as_fd(), self.clamp, &mut self.notes, room) {
                Read::Octets => {}
                Read::Nothing => return AppStage::Reads,
                Read::End => return self.fail("closed before the reply was complete"),
                Read::Failed(error) => return self.fail(error),
            }
            let Some(requests) = &mut self.requests else { return AppStage::Done };
            if requests.got(now, self.notes.read_bytes) {
                self.notes.finished = Some(now);
                return self.close();
            }
            if let Some(next) = requests.next() {
                return AppStage::Pauses(next);
            }
        }
    }

    /// Closes this side, because the application has nothing more to write.
    fn close(&self) -> AppStage {
        let _ = shutdown(self.open(), Shutdown::Write);
        AppStage::Done
    }

    fn into_notes(mut self) -> FlowNotes {
        if let (Some(requests), true) = (&mut self.requests, self.notes.opened.is_none()) {
            // The first request waited for a connection that was never established.
            if let Some(at) = requests.next() {
                requests.ask(at);
            }
        }
        let exchanges =
            self.requests.map(|requests| requests.exchanges().to_vec()).unwrap_or_default();
        FlowNotes { exchanges, ..self.notes }
    }
}

impl Sink {
    fn open(&self) -> BorrowedFd<'_> {
        let socket = self.accepted.get().or(self.listener.as_ref());
        socket.expect("an end that listens has a socket").as_fd()
    }

    /// Whether the application is done, because the other side has closed or because a read or a
    /// write failed, and the connection has ended.
    fn is_over(&self) -> bool {
        self.over && TcpInfo::is_closed(self.open())
    }

    /// The next instant at which the application acts even if nothing happens at its socket.
    fn due(&self) -> Option<Time> {
        self.replies.as_ref().filter(|_| self.reply_bytes_left == 0 && !self.over)?.next()
    }

    fn waits_for(&self) -> Option<PollFd<'_>> {
        let more = if self.reply_bytes_left > 0 { PollFlags::OUT } else { PollFlags::empty() };
        let there = self.accepted.get().is_some() || self.listener.is_some();
        (there && !self.over).then(|| PollFd::from_borrowed_fd(self.open(), PollFlags::IN | more))
    }

    fn step(&mut self, now: Time, room: &mut [u8]) {
        if let (false, None, Some(listener)) = (self.over, self.accepted.get(), &self.listener) {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            if let Ok(socket) = accept_with(listener, flags) {
                let _ = self.accepted.set(socket);
            }
        }
        while let Some(socket) = self.accepted.get().filter(|_| !self.over) {
            match read(socket.as_fd(), self.clamp, &mut self.notes, room) {
                Read::Octets => {}
                Read::Nothing => break,
                Read::End => return self.end(None),
                Read::Failed(error) => return self.end(Some(error.to_string())),
            }
        }
        if let Some(why) = self.answer(now).err() {
            self.end(Some(why.to_string()));
        }
    }

    /// Writes the replies that are due.
    fn answer(&mut self, now: Time) -> io::Result<()> {
        let (Some(socket), Some(replies)) = (self.accepted.get(), &mut self.replies) else {
            return Ok(());
        };
        loop {
            replies.got(now, self.notes.read_bytes);
            if self.reply_bytes_left == 0 && replies.next().is_some_and(|next| next <= now) {
                self.notes.wrote.get_or_insert(now);
                self.reply_bytes_left = replies.answer();
            }
            if self.over || self.reply_bytes_left == 0 {
                return Ok(());
            }
            let reply_bytes_left =
                write(socket.as_fd(), &mut self.written, Some(self.reply_bytes_left), false)?;
            self.reply_bytes_left = reply_bytes_left.unwrap_or(0);
            if self.reply_bytes_left > 0 {
                return Ok(());
            }
        }
    }

    /// Closes this side, because the other side has closed or the connection failed.
    fn end(&mut self, failure: Option<String>) {
        self.notes.failure = failure;
        self.over = true;
        if let Some(socket) = self.accepted.get() {
            let _ = shutdown(socket, Shutdown::Write);
        }
    }
}

#[cfg(test)]
mod tests;
