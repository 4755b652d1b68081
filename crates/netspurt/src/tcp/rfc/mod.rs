//! The byte-sequenced TCP of the RFCs, from 1988's to today's by its switches.
//!
//! One [`Tcb`] is one end of a connection. [`arrive`] takes segments in by state (RFC 9293
//! §3.10.7), [`ack`] works out what an acknowledgment brings, [`repair`] what to do about it,
//! [`detect`] what is lost, [`undo`] what was not, [`output`] what goes out, [`alarm`] what falls
//! due. Octets are counted from the SYN, which is 0, in 64 bits.

mod ack;
mod alarm;
mod arrive;
mod board;
mod config;
mod detect;
mod info;
mod output;
mod patience;
mod predict;
mod prr;
mod rack;
mod rate;
mod receive;
mod repair;
mod undo;
mod usage;

use std::sync::Arc;

use crate::congestion::{CongestionControl, Window};
use crate::event::{CwndState, What};
use crate::segment::Timestamps;
use crate::seq;
use crate::units::{Duration, Time};

use super::timer::RetransmitTimer;
use super::transmit::{Context, SendCount};

use board::Board;
pub use config::{DelayedAck, Restart, RfcConfig, Sampling, SfrConfig, SfrResponse, Undo};
pub use info::TcpInfo;
use rack::Rack;
use rate::Delivery;
use receive::Receiver;
pub use repair::Phase;
use repair::Repair;
use usage::Usage;

/// The states of RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// A SYN went out.
    SynSent,
    /// A SYN came, and one went out.
    SynReceived,
    /// Data may flow both ways.
    Established,
    /// A FIN went out.
    FinWait1,
    /// It was acknowledged.
    FinWait2,
    /// The peer has closed, this end has not.
    CloseWait,
    /// Both closed at once.
    Closing,
    /// The peer had closed, then this end did.
    LastAck,
    /// All is over; stragglers are answered.
    TimeWait,
}

impl State {
    /// Whether data and FIN may be sent.
    fn may_send(self) -> bool {
        use State::{CloseWait, Closing, Established, FinWait1, LastAck};
        matches!(self, Established | CloseWait | FinWait1 | Closing | LastAck)
    }

    /// Whether both SYNs were exchanged.
    pub(super) fn is_synchronised(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }
}

/// Why a connection ended otherwise than by closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer answered the SYN with a reset.
    Refused,
    /// The peer reset it.
    Reset,
    /// Resends were in vain (RFC 9293 §3.8.3).
    TimedOut,
}

/// What a sender's time went into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendTimes {
    /// Repairing losses.
    pub repairing: Duration,
    /// With something to send that the congestion window held back.
    pub cwnd_limited: Duration,
    /// With something to send that the peer's window held back.
    pub rwnd_limited: Duration,
    /// With something to send that pacing held back.
    pub paced: Duration,
}

/// What holds the next octets back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Held {
    /// Nothing, or there are none.
    #[default]
    No,
    ByCwnd,
    ByPeer,
    ByPacer,
}

/// What both ends agreed on.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    timestamps: bool,
    sack: bool,
    ecn: bool,
    scaling: bool,
    /// How far the peer's windows are shifted, and ours.
    peer_shift: u8,
    own_shift: u8,
}

/// Deadlines beside the retransmission timer's.
#[derive(Clone, Copy, Debug)]
struct Deadlines {
    /// Tail loss probe.
    tlp: Time,
    /// RACK's reordering window.
    reorder: Time,
    /// Super Fast Retransmit.
    sfr: Time,
    /// Zero-window probe, or a short segment held back too long.
    persist: Time,
    /// The next segment under pacing.
    pace: Time,
    /// The end of TIME-WAIT.
    linger: Time,
}

impl Deadlines {
    const NONE: Self = Self {
        tlp: Time::NEVER,
        reorder: Time::NEVER,
        sfr: Time::NEVER,
        persist: Time::NEVER,
        pace: Time::NEVER,
        linger: Time::NEVER,
    };

    fn first(&self) -> Time {
        let Self { tlp, reorder, sfr, persist, pace, linger } = *self;
        tlp.min(reorder).min(sfr).min(persist).min(pace).min(linger)
    }
}

/// A segment being timed (RFC 6298 §3).
#[derive(Clone, Copy, Debug)]
struct Timed {
    end: u64,
    at: Time,
}

/// One end of a connection (a "transmission control block", RFC 9293 §3.3.1).
#[derive(Debug)]
pub(super) struct Tcb {
    /// Connections of one kind share it: a run of many has it in the nearest cache.
    config: Arc<RfcConfig>,
    state: State,
    failure: Option<Failure>,
    /// Whether it began by listening.
    passive: bool,
    /// Oldest octet not acknowledged.
    una: u64,
    /// Next octet to send.
    nxt: u64,
    /// The octet after the last short segment sent.
    short_end: u64,
    /// The octet after the last one the application wrote.
    end: u64,
    /// The application wrote its last: a FIN stands at `end`.
    closing: bool,
    /// Octets of payload in a full segment, after options.
    smss: u64,
    /// The peer's window, the largest it ever was, and the segment that told it.
    peer_window: u64,
    peer_window_max: u64,
    window_told: (u64, u64),
    agreed: Agreed,
    window: Window,
    congestion: Box<dyn CongestionControl>,
    /// Whether segments are spread over time, by a law that owns the window or by a switch.
    paces: bool,
    /// Octets below this left in a flight that filled the window: their ACKs earn growth
    /// (RFC 2861 §3.1).
    limited_until: u64,
    /// The same as Linux tells it.
    usage: Usage,
    board: Board,
    repair: Repair,
    rack: Rack,
    delivery: Delivery,
    min_rtt: Option<Duration>,
    /// The handshake's round trip, where its SYN went out once.
    handshake_rtt: Option<Duration>,
    /// The smoothed round trip to the nanosecond, for pacing and probes.
    srtt: Option<Duration>,
    timer: RetransmitTimer,
    timed: Option<Timed>,
    /// When the segments left that the last ACK newly covered, of those sent once.
    covered_once: Covered,
    /// Whether an ACK moved `una` since probes were last armed.
    moved: bool,
    /// Timeouts in a row.
    retries: u32,
    /// The octet at which the present window of data ends, and how many there were.
    round_end: u64,
    round: u64,
    deadlines: Deadlines,
    probe: Probe,
    persist_backoff: u32,
    /// Window probes since the peer last acknowledged anything.
    probes_unanswered: u32,
    sfr_rests: bool,
    /// When the next segment may leave under pacing.
    paced_until: Time,
    last_sent: Time,
    /// The peer's newest time stamp (RFC 7323 §4.3).
    ts_recent: u32,
    /// When it came.
    ts_recent_at: Time,
    /// Marks to echo, and the answer to an echo still owed (RFC 3168 §6.1).
    echo_marks: bool,
    owe_cwr: bool,
    rx: Receiver,
    nagle: bool,
    corked: bool,
    sent: u64,
    pub(super) count: SendCount,
    times: SendTimes,
    held: Held,
    /// Up to when `times` is told.
    told: Time,
    reported: Option<CwndState>,
}

/// When the segments left that an ACK newly covered, of those sent once.
#[derive(Debug, Default)]
struct Covered {
    oldest: Option<Time>,
    newest: Option<Time>,
    /// All of them, where each is a sample.
    each: Vec<Time>,
}

impl Covered {
    fn clear(&mut self) {
        (self.oldest, self.newest) = (None, None);
        self.each.clear();
    }

    fn push(&mut self, sent: Time, each: bool) {
        self.oldest.get_or_insert(sent);
        self.newest = Some(sent);
        if each {
            self.each.push(sent);
        }
    }
}

/// A tail loss probe under way (RFC 8985 §7).
#[derive(Clone, Copy, Debug, Default)]
struct Probe {
    /// `nxt` when it went out; `None` while there is none.
    end_seq: Option<u64>,
    is_resend: bool,
}

/// What the peer takes where it does not say (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;
const DEFAULT_MSS_V6: u16 = 1220;

impl Tcb {
    pub(super) fn new(config: &Arc<RfcConfig>) -> Self {
        let congestion = config.congestion.build();
        Self {
            config: Arc::clone(config),
            state: State::Closed,
            failure: None,
            passive: false,
            una: 0,
            nxt: 0,
            short_end: 0,
            end: 1,
            closing: false,
            smss: u64::from(config.mss),
            peer_window: 0,
            peer_window_max: 0,
            window_told: (0, 0),
            agreed: Agreed::default(),
            window: Window { cwnd: 0, ssthresh: Window::NO_THRESHOLD },
            limited_until: 0,
            usage: Usage::default(),
            board: Board::default(),
            repair: Repair::default(),
            rack: Rack::default(),
            delivery: Delivery::new(congestion.wants_rate()),
            paces: config.pacing || congestion.owns_window(),
            congestion,
            min_rtt: None,
            handshake_rtt: None,
            srtt: None,
            timer: RetransmitTimer::new(config.rto.build(), config.clock),
            timed: None,
            covered_once: Covered::default(),
            moved: false,
            retries: 0,
            round_end: 0,
            round: 0,
            deadlines: Deadlines::NONE,
            probe: Probe::default(),
            persist_backoff: 0,
            probes_unanswered: 0,
            sfr_rests: true,
            paced_until: Time::ZERO,
            last_sent: Time::ZERO,
            ts_recent: 0,
            ts_recent_at: Time::ZERO,
            echo_marks: false,
            owe_cwr: false,
            rx: Receiver::new(config),
            nagle: config.nagle,
            corked: false,
            sent: 0,
            count: SendCount::default(),
            times: SendTimes::default(),
            held: Held::No,
            told: Time::ZERO,
            reported: None,
        }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Octets of data acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.una.clamp(1, self.end) - 1
    }

    /// Octets of data written and not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.end - self.una.clamp(1, self.end)
    }

    pub(super) fn received(&self) -> super::receiver::ReceiveCount {
        self.rx.count
    }

    /// Octets that arrived in order and were not read.
    pub(super) fn unread(&self) -> u64 {
        self.rx.unread()
    }

    /// Whether the peer will send no more, and all it sent was delivered.
    pub(super) fn peer_closed(&self) -> bool {
        self.rx.fin.is_some_and(|fin| self.rx.nxt > fin)
    }

    /// Octets sent and not acknowledged (FlightSize of RFC 5681 §2).
    fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// Octets outstanding as the window counts them: in Linux, which counts segments, a short one
    /// for a whole.
    fn counted_flight(&self) -> u64 {
        let flight = self.flight();
        let linux = self.config.linux_rules;
        // A FIN is an octet more than its segment is counted for.
        if linux { flight.max(self.board.len() as u64 * self.smss) } else { flight }
    }

    /// The estimate of octets in the network: what is outstanding less what has arrived and what
    /// is lost, and the resends (RFC 6675 §4). Duplicate ACKs stand for arrivals where there is
    /// no SACK.
    fn pipe(&self) -> u64 {
        let gone = self.board.sacked() + self.board.lost();
        let all = self.counted_flight() + self.board.resent();
        debug_assert!(all >= gone, "{gone} octets gone of {all}");
        // Duplicates stand for segments that are neither lost nor known to have arrived.
        (all - gone).saturating_sub(self.repair.dup_bytes)
    }

    fn segs(&self, octets: u64) -> u64 {
        octets.div_ceil(self.smss)
    }

    /// Octets not sent yet, the FIN included.
    fn unsent(&self) -> u64 {
        (self.end + u64::from(self.closing)).saturating_sub(self.nxt)
    }

    /// The clock of the time stamps option: milliseconds.
    #[expect(clippy::cast_possible_truncation, reason = "the option wraps")]
    fn stamp(now: Time) -> u32 {
        // Never zero: a zero echo says nothing.
        ((now.as_nanos() / 1_000_000) as u32).wrapping_add(1).max(1)
    }

    fn stamps(&self, now: Time) -> Timestamps {
        Timestamps { val: Self::stamp(now), ecr: self.ts_recent }
    }

    /// The count of our octet that the wire calls `wire`.
    fn octet(&self, wire: u32) -> u64 {
        seq::from_wire(self.config.iss, wire, self.una)
    }

    /// What its time went into, up to the last step.
    pub(super) fn times(&self) -> SendTimes {
        self.times
    }

    /// Counts the time since the last step, in which nothing changed. With all data acknowledged
    /// none counts: only a FIN may be left.
    pub(super) fn tell_time(&mut self, now: Time) {
        let span = now.saturating_since(self.told);
        self.told = now;
        if self.una >= self.end || self.state == State::Closed {
            return;
        }
        let SendTimes { repairing, cwnd_limited, rwnd_limited, paced } = &mut self.times;
        if self.repair.phase.is_repairing() {
            *repairing = *repairing + span;
        }
        match self.held {
            Held::No => {}
            Held::ByCwnd => *cwnd_limited = *cwnd_limited + span,
            Held::ByPeer => *rwnd_limited = *rwnd_limited + span,
            Held::ByPacer => *paced = *paced + span,
        }
    }

    /// The earliest instant at which something falls due.
    pub(super) fn next_deadline(&self) -> Time {
        self.timer.deadline().min(self.rx.deadline).min(self.deadlines.first())
    }

    /// Opens the connection (RFC 9293 §3.10.1, active).
    pub(super) fn open(&mut self, cx: &mut Context<'_>) {
        if matches!(self.state, State::Closed | State::Listen) && !self.is_over() {
            self.state = State::SynSent;
            self.passive = false;
            self.send_syn(None, cx);
        }
    }

    /// Whether it was a connection, or was to be one, and is none any more.
    fn is_over(&self) -> bool {
        self.state == State::Closed && (self.nxt > 0 || self.failure.is_some())
    }

    /// Waits for a peer (RFC 9293 §3.10.1, passive).
    pub(super) fn listen(&mut self) {
        if self.state == State::Closed && !self.is_over() {
            self.state = State::Listen;
            self.passive = true;
        }
    }

    /// Takes `octets` more to send; opens the connection where nobody did. One that is over takes
    /// none.
    pub(super) fn write(&mut self, octets: u64, cx: &mut Context<'_>) {
        if self.closing || self.is_over() {
            return;
        }
        self.tell_time(cx.now);
        self.end = self.end.saturating_add(octets);
        self.open(cx);
        self.output(cx);
        self.report(cx);
    }

    /// The application takes `octets` of what arrived.
    pub(super) fn read(&mut self, octets: u64, cx: &mut Context<'_>) {
        if self.rx.read(octets) && self.state.is_synchronised() {
            self.send_ack(cx);
        }
    }

    /// Whether short segments wait for the ACK of what is outstanding.
    pub(super) fn set_nagle(&mut self, nagle: bool, cx: &mut Context<'_>) {
        self.tell_time(cx.now);
        self.nagle = nagle;
        self.output(cx);
    }

    /// Whether short segments wait for more, whatever is outstanding.
    pub(super) fn set_cork(&mut self, corked: bool, cx: &mut Context<'_>) {
        self.tell_time(cx.now);
        self.corked = corked;
        self.output(cx);
    }

    /// Whether the next segments are acknowledged at once; what is owed goes out then.
    pub(super) fn set_quick_acks(&mut self, quick: bool, cx: &mut Context<'_>) {
        self.rx.patience.set_quick(quick);
        if quick && !alarm::is_idle(self.rx.deadline) {
            self.send_ack(cx);
        }
    }

    /// Whether data is read as it comes, or waits for [`read`](Self::read).
    pub(super) fn set_reads_at_once(&mut self, at_once: bool) {
        self.rx.reads_at_once = at_once;
    }

    /// No more will be written (RFC 9293 §3.10.4).
    ///
    /// departs: RFC 9293 §3.10.4 - what was written before the handshake is still sent.
    pub(super) fn close(&mut self, cx: &mut Context<'_>) {
        if self.closing {
            return;
        }
        self.tell_time(cx.now);
        match self.state {
            State::SynSent if self.end > 1 => self.closing = true,
            State::Closed | State::Listen | State::SynSent => {
                self.state = State::Closed;
                self.stop_everything();
            }
            _ => {
                self.closing = true;
                self.output(cx);
                self.report(cx);
            }
        }
    }

    /// Ends the connection at once (RFC 9293 §3.10.5).
    pub(super) fn abort(&mut self, cx: &mut Context<'_>) {
        if self.state.is_synchronised() && self.state != State::TimeWait
            || self.state == State::SynReceived
        {
            self.send_reset(cx);
        }
        self.state = State::Closed;
        self.stop_everything();
    }

    fn stop_everything(&mut self) {
        self.timer.stop();
        self.deadlines = Deadlines::NONE;
        self.rx.deadline = Time::NEVER;
    }

    fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.state = State::Closed;
        self.stop_everything();
    }

    /// Reports the congestion state where it changed, and somebody wants to know.
    #[inline]
    fn report(&mut self, cx: &mut Context<'_>) {
        if cx.events.wanted().cwnd && self.state.is_synchronised() {
            self.report_change(cx);
        }
    }

    fn report_change(&mut self, cx: &mut Context<'_>) {
        let state = CwndState {
            cwnd_bytes: self.window.cwnd,
            ssthresh_bytes: self.window.ssthresh,
            flight_bytes: self.flight(),
            dupacks: self.repair.dupacks,
            in_recovery: self.repair.phase.is_repairing(),
        };
        if self.reported != Some(state) {
            self.reported = Some(state);
            cx.events.report(cx.now, What::Cwnd { endpoint: cx.endpoint, state });
        }
    }
}
