//! A host with sockets but no network. On this host, a script (a test in packetdrill's notation)
//! tests netspurt's own TCP.

use std::collections::BTreeMap;

use netspurt::event::{Events, Wanted};
use netspurt::ids::EndId;
use netspurt::segment::{Flags, Segment};
use netspurt::stage::Stage;
use netspurt::tcp::{Connection, Failure, RfcConfig, TcpState};
use netspurt::units::{Duration, Time};

use super::call::{Call, CallOutcome, Fd, Wait};
use super::change::HostChange;
use super::clocks::HostClocks;
use super::deferral::Deferral;
use super::dialect::ScriptDialect;
use super::info::{Info, InfoField};
use super::interest::Epoll;
use super::keep_alive::KeepAlive;
use super::notices::{NoticeOptions, Notices};
use super::orphan::Orphan;
use super::send_buffer::{SendBuffer, SendProgress};
use super::socket_errors::SocketErrors;
use super::subject::{CallResult, Subject};
use super::tcp_info::{linux_info, state_number};
use super::unreachable::Unreachable;
use super::zero_files::ZeroFiles;

/// Our initial sequence number. Our sequence numbers wrap after 2047 octets of data, so every
/// script in which we send more octets also tests the wrap.
const ISS: u32 = 0xffff_f800;

/// A host with sockets and one connection, in virtual time.
///
/// ```
/// use netspurt_scenario::script::{SocketHost, Script, run};
/// let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
/// +0 connect(3, ..., ...) = -1 EINPROGRESS
/// +0 > S 0:0(0) <...>";
/// let script = Script::parse("a.pkt", &text.replace("STREAM", "STREAM|SOCK_NONBLOCK"))?;
/// let config = script.config(None, &[])?;
/// assert!(run(&script, &mut SocketHost::new(&config)).is_ok());
/// # Ok::<(), netspurt_scenario::script::ScriptError>(())
/// ```
#[derive(Debug)]
pub struct SocketHost {
    /// The configuration of the next `connect` or `listen`.
    pub(super) config: RfcConfig,
    /// The MSS of the host's interface, which `TCP_MAXSEG` can only lower.
    pub(super) interface_mss: u16,
    pub(super) sockets: BTreeMap<Fd, SocketState>,
    pub(super) connection: Connection,
    pub(super) events: Events<Segment>,
    pub(super) epolls: BTreeMap<Fd, Epoll>,
    pub(super) files: ZeroFiles,
    /// The send buffer; `None` if unsent data has no limit.
    pub(super) send: Option<SendBuffer>,
    /// The settings of the send buffers of new connections.
    pub(super) send_settings: SendSettings,
    /// The error queue, and the notices that will enter it.
    pub(super) notices: Notices,
    pub(super) clocks: HostClocks,
    /// Whether a short segment waits because a call had the flag `MSG_MORE`.
    pub(super) more_follows: bool,
    /// The call that blocks, if there is one.
    waiting: Option<BlockedCall>,
    /// The octets that a blocking call has transferred so far. The call is a write, or a `recv`
    /// that waits for all its octets.
    pub(super) done: u64,
    pub(super) keep_alive: KeepAlive,
    pub(super) deferral: Deferral,
    pub(super) orphan: Orphan,
    pub(super) errors: SocketErrors,
    /// Whether the handshake of the connection was ever completed.
    pub(super) was_ever_open: bool,
    /// Whether a connection in TIME-WAIT reports itself as closed, as Linux's socket does.
    hides_time_wait: bool,
    /// An RST that is still to be sent, in answer to data that no application will read.
    late: Option<(Time, Segment)>,
    /// Whether ECN is used only if the peer asks for it.
    ecn_if_asked: bool,
    /// Whether the host's queue drops everything that is sent.
    pub(super) drops_all: bool,
}

/// A call that blocks.
#[derive(Debug)]
struct BlockedCall {
    call: Call,
    /// When the call stops waiting.
    until: Time,
}

/// The settings of the send buffer of a new connection. All numbers are bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendSettings {
    /// The initial and the maximum size of the buffer; `None` if only `fixed` can limit the buffer.
    pub(super) sizes: Option<(u64, u64)>,
    /// `SO_SNDBUF`; `None` if it is not set.
    pub(super) fixed: Option<u64>,
    /// The sysctl `tcp_notsent_lowat`.
    pub(super) unsent_max: Option<u64>,
    /// The socket option `TCP_NOTSENT_LOWAT`. With 0, the sysctl's value applies.
    pub(super) own_unsent_max: u64,
}

/// The time from the start of a jiffy (a tick of 4 ms in Linux) to the start of a script in
/// packetdrill's dialect. With packetdrill on Linux 6.18, a timer of 7 jiffies (28 ms) fires 31.0
/// ms after most events. This is 1 ms less than 8 jiffies, so these events happen 1 ms after the
/// start of a jiffy.
const INTO_JIFFY: Duration = Duration::from_millis(1);

impl SendSettings {
    /// Linux's defaults (`tcp_wmem`).
    const LINUX: Self =
        Self { sizes: Some((16_384, 4 << 20)), fixed: None, unsent_max: None, own_unsent_max: 0 };

    /// The buffer of a new connection.
    fn buffer(&self) -> Option<SendBuffer> {
        let (first, most) = self.sizes.or(self.fixed.map(|size| (size, size)))?;
        let mut buffer = SendBuffer::new(first, most);
        if let Some(bytes) = self.fixed {
            buffer.fix(bytes);
        }
        buffer.set_unsent_max(self.unsent_max());
        Some(buffer)
    }

    /// Returns the maximum number of unsent bytes.
    pub(super) fn unsent_max(&self) -> u64 {
        match self.own_unsent_max {
            0 => self.unsent_max.unwrap_or(u64::MAX),
            own => own,
        }
    }
}

/// The use of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The socket is not used yet.
    Fresh,
    /// The socket listens; `accepted` says whether `accept` has returned its connection.
    Listening { accepted: bool },
    /// The socket is an end of the connection.
    Connected,
    /// The socket was shut down while it listened, or while its connection was in SYN-SENT.
    Disconnected,
}

impl Role {
    /// True if the socket may still become the end of a connection.
    pub(super) fn is_unused(self) -> bool {
        matches!(self, Self::Fresh | Self::Disconnected)
    }

    /// True if the socket listens.
    pub(super) fn listens(self) -> bool {
        matches!(self, Self::Listening { .. })
    }

    /// True if the socket has not been used since it was made.
    pub(super) fn is_fresh(self) -> bool {
        self == Self::Fresh
    }
}

/// A socket and its options.
#[derive(Clone, Copy, Debug)]
pub(super) struct SocketState {
    pub(super) role: Role,
    pub(super) nonblocking: bool,
    /// Whether a call has reported that the connection is established.
    pub(super) announced: bool,
    /// `SO_LINGER`: for how many seconds `close` waits; with 0, `close` sends an RST.
    pub(super) linger: Option<u32>,
    /// The latest instant at which a waiting `close` returns.
    pub(super) closes_until: Option<Time>,
    /// `TCP_CORK`.
    pub(super) cork: bool,
    /// Whether `shutdown` has closed the socket for reading.
    pub(super) read_shut: bool,
    /// Whether `shutdown` has closed the socket for writing.
    pub(super) write_shut: bool,
    /// `TCP_INQ`: `recvmsg` says how many bytes are left to read.
    pub(super) tells_unread: bool,
    /// The notices that enter the error queue.
    pub(super) notices: NoticeOptions,
}

impl SocketState {
    pub(super) fn new(role: Role, nonblocking: bool) -> Self {
        Self {
            role,
            nonblocking,
            announced: false,
            linger: None,
            closes_until: None,
            cork: false,
            read_shut: false,
            write_shut: false,
            tells_unread: false,
            notices: NoticeOptions::default(),
        }
    }
}

impl SocketHost {
    /// A host whose connection has this configuration.
    pub fn new(config: &RfcConfig) -> Self {
        let config = RfcConfig { iss: ISS, ..*config };
        Self {
            config,
            interface_mss: config.mss,
            sockets: BTreeMap::new(),
            connection: Connection::new(EndId::default(), &config.into()),
            events: Events::new(Wanted::default()),
            epolls: BTreeMap::new(),
            files: ZeroFiles::default(),
            send: None,
            send_settings: SendSettings::default(),
            notices: Notices::default(),
            clocks: HostClocks::default(),
            more_follows: false,
            waiting: None,
            done: 0,
            keep_alive: KeepAlive::default(),
            deferral: Deferral::default(),
            orphan: Orphan::default(),
            errors: SocketErrors::default(),
            was_ever_open: false,
            hides_time_wait: false,
            late: None,
            ecn_if_asked: false,
            drops_all: false,
        }
    }

    /// Makes the host behave as scripts of this dialect expect. packetdrill's scripts expect
    /// Linux's send buffer, Linux's limit for FIN-WAIT-2, and a connection in TIME-WAIT that
    /// reports itself as closed. The events of these scripts do not happen at the start of a jiffy.
    pub(super) fn follow(&mut self, dialect: ScriptDialect) {
        if dialect == ScriptDialect::Packetdrill {
            self.config.timer_clock = self.config.timer_clock.with_jiffies_from(INTO_JIFFY);
            self.send_settings = SendSettings::LINUX;
            self.orphan.time = Some(Duration::from_secs(60));
            self.hides_time_wait = true;
        }
    }

    /// Changes the host or its link.
    pub(super) fn apply(&mut self, change: &HostChange) {
        match *change {
            HostChange::SendBuffer { first, most } => {
                self.send_settings.sizes = Some((first, most));
            }
            HostChange::UnsentMax(bytes) => self.send_settings.unsent_max = Some(bytes),
            HostChange::OrphanTime(time) => self.orphan.time = Some(time),
            HostChange::Live(ref switch) => switch.apply(&mut self.config),
            HostChange::EcnIfAsked(only) => self.ecn_if_asked = only,
            HostChange::DropsAll(drops) => self.drops_all = drops,
            HostChange::File { ref path, bytes } => self.files.make(path, bytes),
        }
    }

    /// Creates a connection with the options that are set so far.
    pub(super) fn begin(&mut self, now: Time, active: bool) {
        let ecn = self.config.ecn && !(active && self.ecn_if_asked);
        let config = RfcConfig { ecn, ..self.config };
        self.connection = Connection::new(EndId::default(), &config.into());
        self.connection.read_by_hand();
        self.connection.sample_delivery();
        self.connection.set_accepted(active);
        self.connection.set_queue_full(now, self.drops_all, &mut self.events);
        self.send = self.send_settings.buffer();
        self.notices = Notices::default();
        self.clocks.begin(now);
        self.keep_alive.begin();
        self.deferral.begin();
        self.orphan.begin();
        self.more_follows = false;
        self.errors = SocketErrors::default();
        self.was_ever_open = false;
    }

    /// Returns the numbers of the connection that the send buffer needs.
    pub(super) fn progress(&self) -> SendProgress {
        let Some(info) = self.connection.info() else { return SendProgress::default() };
        let smss = info.smss.max(1);
        let written = info.acked + self.connection.unacknowledged();
        SendProgress {
            acked: info.acked,
            written,
            sent: written.saturating_sub(info.unsent),
            smss,
            peer_window_max: info.peer_window_max,
            cwnd_segs: info.cwnd / smss,
            flight_segs: info.pipe.div_ceil(smss),
            packets: info.outstanding.packets,
        }
    }

    /// Adds the time up to `now` to the sums of the host's clocks.
    fn advance_clocks(&mut self, now: Time) {
        let Some(info) = self.connection.info() else { return };
        let is_awaited = self.send.as_ref().is_some_and(|send| send.is_awaited);
        let progress = self.progress();
        self.clocks.advance(now, &info, (&progress, is_awaited), self.config.timer_clock);
    }

    /// Called when a segment arrives. If a short segment waits because of `MSG_MORE`, its wait
    /// ends.
    fn release_short(&mut self, now: Time) {
        if core::mem::take(&mut self.more_follows) {
            self.connection.set_cork(now, false, &mut self.events);
        }
    }

    /// Whether the segment has data that no application will read, because the socket is closed or
    /// shut down in both directions.
    fn comes_too_late(&self, segment: &Segment) -> bool {
        // In these states, a FIN was sent, or a FIN waits behind data and counts as sent (RFC 9293
        // §3.10.4).
        let waits = match self.connection.info().map_or(TcpState::Closed, |info| info.state) {
            TcpState::FinWait1 | TcpState::FinWait2 => {
                !self.is_open() || self.sockets.values().any(|socket| socket.read_shut)
            }
            TcpState::Closing => !self.is_open(),
            _ => false,
        };
        segment.len > 0 && waits && self.connection.expects(segment)
    }

    /// Sends an RST in answer to data that no application will read. The sequence number of the RST
    /// is the data's acknowledgment number (RFC 9293 §3.10.7.1, RFC 1122 §4.2.2.13).
    fn refuse_late(&mut self, now: Time, segment: &Segment) {
        self.connection.reset_by_peer(now);
        let reset =
            Segment { seq: segment.ack, flags: Flags::RST, size_bytes: 40, ..Segment::default() };
        self.late = Some((now, reset));
    }

    /// Returns the next segment that the host sends, with its instant.
    fn next_sent(&mut self, now: Time) -> Option<(Time, Segment)> {
        if let Some(late) = self.late.take() {
            return Some(late);
        }
        let popped = self.connection.pop(now, &mut self.events);
        self.settle_notices(now);
        if self.drops_all && self.connection.info().is_some_and(|info| info.probes.unanswered > 0) {
            self.clocks.repeated(now);
        }
        let (at, _, segment) = popped?;
        self.clocks.sent(&segment, at);
        self.note_sent(at, &segment);
        self.advance_clocks(at);
        Some((at, segment))
    }

    /// Whether a socket of the host is in use, or the connection is not closed.
    pub(super) fn is_taken(&self) -> bool {
        self.sockets.values().any(|socket| !socket.role.is_unused())
            || self.connection.state() != TcpState::Closed
    }

    fn is_free(&self, fd: Fd) -> bool {
        !self.sockets.contains_key(&fd) && !self.epolls.contains_key(&fd) && !self.files.holds(fd)
    }

    /// Returns the number of a new socket, epoll or file. This is the number that the script gives,
    /// if it is free. Otherwise it is the lowest free number from 3 on.
    pub(super) fn new_fd(&self, number: Option<Fd>) -> Fd {
        let wanted = number.filter(|fd| self.is_free(*fd));
        wanted.or_else(|| (3..).find(|fd| self.is_free(*fd))).expect("one number is always free")
    }

    /// Returns the error that ended the connection, but only once. A listening socket does not
    /// return the error of its connection.
    pub(super) fn take_error(&mut self, socket: SocketState) -> Option<&'static str> {
        let listens = socket.role.listens();
        self.errors.take(self.connection.failure().filter(|_| !listens))
    }

    /// Whether the handshake was completed and the connection is not closed yet.
    pub(super) fn was_established(&self) -> bool {
        !matches!(
            self.connection.state(),
            TcpState::Closed | TcpState::Listen | TcpState::SynSent | TcpState::SynReceived
        )
    }
}

impl Subject for SocketHost {
    fn call(&mut self, now: Time, call: &Call) -> CallResult {
        self.done = 0;
        let result = self.make(now, call);
        self.advance_clocks(now);
        if result == CallResult::Blocks {
            let until = end_of_wait(now, call, &self.sockets);
            self.waiting = Some(BlockedCall { call: call.clone(), until });
        }
        result
    }

    fn returned(&mut self, now: Time) -> Option<CallOutcome> {
        let BlockedCall { call, until } = self.waiting.take()?;
        let result = self.make(now, &call);
        self.advance_clocks(now);
        match result {
            CallResult::Returned(outcome) => Some(outcome),
            _ if now >= until => Some(self.nothing_ready(&call)),
            _ => {
                self.waiting = Some(BlockedCall { call, until });
                None
            }
        }
    }

    fn inject(&mut self, now: Time, segment: &Segment) {
        let (before, waits) = (self.signs(), self.connection.unacknowledged());
        self.clocks.count_received();
        self.release_short(now);
        if self.comes_too_late(segment) {
            return self.refuse_late(now, segment);
        }
        let acks_syn = self.connection.state() == TcpState::SynReceived
            && segment.ack == self.config.iss.wrapping_add(1);
        if self.deferral.ignores(now, segment, acks_syn) {
            return;
        }
        self.replace_time_wait(now, segment);
        let had_closed = self.connection.state() == TcpState::CloseWait;
        let taken = self.connection.accepts(segment, now);
        self.connection.push(now, 0, *segment, &mut self.events);
        self.errors.reset_after_fin |=
            had_closed && self.connection.failure() == Some(Failure::Reset);
        let progress = self.progress();
        let opened = !before.established && self.was_established();
        let has_news = opened || self.connection.unacknowledged() < waits;
        if taken || has_news {
            self.clocks.received(segment, has_news, now);
        }
        if opened {
            self.was_ever_open = true;
            let listener = listener(&self.sockets);
            self.notices.inherited = listener.map(|socket| socket.notices).unwrap_or_default();
            self.clocks.open(now, listener.is_some());
            if let Some(listener) = listener {
                self.connection.set_cork(now, listener.cork, &mut self.events);
            }
            self.keep_alive.start(now, self.config.timer_clock);
        }
        if taken && segment.flags.has(Flags::ACK) {
            self.keep_alive.on_segment_from_peer();
            self.errors.reported =
                self.errors.reported.filter(|_| self.connection.failure().is_some());
        }
        self.watch_orphan(now);
        let mut has_room = false;
        if let Some(send) = &mut self.send {
            if opened {
                send.open(&progress);
            }
            has_room = send.check_space(&progress);
        }
        self.wake_epolls(&before, has_room);
        self.settle_notices(now);
        self.advance_clocks(now);
    }

    fn unreachable(&mut self, now: Time, message: &Unreachable) -> Result<(), String> {
        self.take_unreachable(now, message);
        Ok(())
    }

    fn next_wakeup(&self) -> Option<Time> {
        let until = self.waiting.as_ref().map(|waiting| waiting.until);
        let until = until.filter(|until| *until < Time::NEVER);
        let late = self.late.as_ref().map(|(at, _)| *at);
        let own =
            [until, self.clocks.gives_up_at(), self.keep_alive.due(), self.orphan.until, late];
        self.connection.next_wakeup().into_iter().chain(own.into_iter().flatten()).min()
    }

    fn poll(&mut self, now: Time) -> Option<(Time, Segment)> {
        if self.clocks.gives_up_at().is_some_and(|at| at <= now) {
            self.connection.give_up(now);
            self.clocks.begin(now);
        }
        self.keep_peer_alive(now);
        if self.orphan.is_over(now) {
            self.connection.give_up(now);
        }
        loop {
            let (at, segment) = self.next_sent(now)?;
            let is_syn_ack = segment.flags.has(Flags::SYN.with(Flags::ACK));
            if !self.drops_all && (!is_syn_ack || self.deferral.sends_syn_ack(at)) {
                return Some((at, segment));
            }
        }
    }

    fn change(&mut self, now: Time, change: &HostChange) -> Result<(), String> {
        self.apply(change);
        if let HostChange::Live(switch) = change {
            self.connection.adjust(now, |config| switch.apply(config));
        }
        self.connection.set_queue_full(now, self.drops_all, &mut self.events);
        Ok(())
    }

    fn info(&self, now: Time) -> Info {
        let mut info = self.connection.info().map(|info| linux_info(&info)).unwrap_or_default();
        if self.hides_time_wait && self.connection.state() == TcpState::TimeWait {
            info.set(InfoField::State, state_number(TcpState::Closed));
        }
        self.clocks.fill_info(&mut info, now, self.config.timer_clock);
        if self.keep_alive.unanswered() > 0 {
            info.set(InfoField::Probes, self.keep_alive.unanswered().into());
        }
        if let Some(send) = &self.send {
            let bytes = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
            info.set(InfoField::SendBufferSize, bytes(send.size()));
            info.set(InfoField::SendBufferQueued, bytes(send.queued(&self.progress())));
        }
        info
    }
}

/// The socket that listens, whose options a connection inherits.
fn listener(sockets: &BTreeMap<Fd, SocketState>) -> Option<SocketState> {
    let listens = |socket: &&SocketState| socket.role.listens();
    sockets.values().find(listens).copied()
}

/// The instant at which a call that begins at `now` stops waiting.
fn end_of_wait(now: Time, call: &Call, sockets: &BTreeMap<Fd, SocketState>) -> Time {
    match call {
        Call::Poll { wait: Wait::Millis(millis), .. }
        | Call::EpollWait { wait: Wait::Millis(millis), .. } => {
            now + Duration::from_millis((*millis).into())
        }
        Call::Close { fd } => {
            sockets.get(fd).and_then(|socket| socket.closes_until).unwrap_or(Time::NEVER)
        }
        _ => Time::NEVER,
    }
}
