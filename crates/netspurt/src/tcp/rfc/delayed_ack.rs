//! Computes how long an acknowledgment may be delayed: a fixed time, or Linux's time, which depends
//! on the times between arrivals.

use crate::clock::Clock;
use crate::packed::{packed, packed_variants};
use crate::segment::{Flags, Segment};
use crate::units::{Duration, Time};
use crate::wire::{TIMESTAMPS_BYTES, full_payload};

use super::config::{DelayedAck, RfcConfig};

/// The octets that a full segment is assumed to have before any segment arrives
/// (`TCP_MSS_DEFAULT`).
const FULL_INITIAL: u64 = 536;
/// The minimum number of octets of a full segment that carries neither PSH nor FIN (`TCP_MIN_MSS`).
const FULL_MIN: u64 = 88;

/// After the application asks for immediate acknowledgments (`TCP_QUICKACK`), this many segments
/// are acknowledged without delay. With Linux's delays, this number is not used.
const QUICK_SEGS: u32 = 16;

/// After a congestion mark, this many segments are acknowledged without delay.
const QUICK_AFTER_MARK: u32 = 2;

/// Which acknowledgment a segment needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AckNeed {
    /// No acknowledgment, for example because the segment had no octets.
    None,
    /// An acknowledgment that may wait.
    Later,
    /// An acknowledgment that is sent immediately.
    Now,
    /// An immediate acknowledgment without other processing, because the segment was discarded.
    Alone,
}

packed_variants!(AckNeed { None, Later, Now, Alone });

/// The state of the connection when a segment arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrivalState {
    pub(super) now: Time,
    pub(super) srtt: Option<Duration>,
    pub(super) rto: Duration,
}

/// How the application reads arriving data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    /// True if the application reads data as soon as it arrives.
    pub(super) reads: bool,
    /// Whether the receive window is still at least as wide as it was last advertised. Always true
    /// if `reads` is true. Otherwise the value is computed only with the switch
    /// `full_needs_reader`, and only while more than a full segment waits for its acknowledgment.
    /// In all other cases, the value is false.
    pub(super) keeps_window: bool,
}

/// The number of short segments that the peer sent since the last acknowledgment. A full segment
/// with PSH also counts, but only if nothing was counted before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Pushed {
    #[default]
    Never,
    Once,
    Again,
}

packed_variants!(Pushed { Never, Once, Again });

/// How the receiver delays acknowledgments.
///
/// Linux's rules, as measured on Linux 6.18 (`tcp_event_data_recv`, `tcp_measure_rcv_mss`,
/// `__tcp_ack_snd_check`, `tcp_cleanup_rbuf`, `tcp_delack_timer_handler`):
///
/// - The first segments are acknowledged immediately; their number is `quick`.
/// - More than a full segment is acknowledged immediately, unless the receive window has shrunk.
/// - Otherwise the acknowledgment of octets in order is delayed by `ato`, which follows the gaps
///   between arrivals. It is sent earlier if a short segment, or a full segment with PSH, has
///   arrived and the application has read all data. In an interactive flow, one of these segments
///   is not enough: another short segment must follow.
/// - If the application answers within `ato`, the flow is interactive (`pingpong`): an
///   acknowledgment waits for the next answer. The flow stops being interactive when the delay ends
///   without an answer.
#[derive(Debug)]
pub(super) struct AckDelay {
    algorithm: DelayedAck,
    /// The clock by which times are counted.
    clock: Clock,
    /// The number of acknowledgments that are still to be sent immediately.
    quick: u32,
    /// The maximum of `quick`.
    quick_max: u32,
    /// Octets of a full segment: Linux's `rcv_mss`; with other algorithms the octets of the longest
    /// segment so far.
    full: u64,
    /// Octets of the last segment, if it has fewer octets than `full` but may still be a full
    /// segment. Otherwise the field is 0.
    candidate: u64,
    /// The wait before an acknowledgment in Linux. Zero before the first segment.
    ato: Duration,
    last_arrival: Time,
    interactive: bool,
    pushed: Pushed,
    /// Whether a segment was accepted since the last acknowledgment (`ICSK_ACK_SCHED`).
    pub(super) is_due: bool,
    /// Whether the acknowledgment of more than a full segment may wait until the application reads.
    /// In this case, it waits if the receive window has shrunk.
    full_needs_reader: bool,
    /// Octets of the longest segment that the peer may send.
    advertised: u64,
}

packed!(AckDelay { quick, full, candidate, ato, last_arrival, interactive, pushed, is_due, advertised } keeps { algorithm, clock, quick_max, full_needs_reader });

impl AckDelay {
    pub(super) fn new(config: &RfcConfig) -> Self {
        let adaptive = matches!(config.acks, DelayedAck::Adaptive { .. });
        let quick_max = config.quick_acks_segs;
        Self {
            algorithm: config.acks,
            clock: config.timer_clock,
            quick: if adaptive { 0 } else { quick_max },
            quick_max,
            full: if adaptive { FULL_INITIAL } else { 0 },
            candidate: 0,
            ato: Duration::ZERO,
            last_arrival: Time::ZERO,
            interactive: false,
            pushed: Pushed::Never,
            is_due: false,
            full_needs_reader: config.receive_rules.full_needs_reader,
            advertised: full_payload(config.mss, config.timestamps).into(),
        }
    }

    /// Sets the first estimate of a full segment when the connection is open. The peer sends
    /// segments of up to `advertised` octets, but probably of at most `likely` octets
    /// (`tcp_initialize_rcv_mss`). The end of the handshake counts as an arrival.
    pub(super) fn open(&mut self, advertised: u64, likely: u64, now: Time) {
        self.advertised = advertised;
        self.last_arrival = now;
        if let DelayedAck::Adaptive { .. } = self.algorithm {
            self.full = advertised.min(likely).clamp(FULL_MIN, FULL_INITIAL);
        }
    }

    /// Adapts the delay when the next octets arrived in order. The segment, or each segment that
    /// was merged into it, has as many octets as `part`. The receive window had `window` octets.
    pub(super) fn on_arrival(
        &mut self,
        segment: &Segment,
        part: u64,
        window: u64,
        at: &ArrivalState,
    ) {
        let DelayedAck::Adaptive { min, .. } = self.algorithm else {
            self.full = self.full.max(part);
            return;
        };
        self.measure(segment, part);
        if self.ato.is_zero() {
            self.allow_quick_acks(window, self.quick_max);
            self.ato = min;
        } else {
            let gap = self.clock.jiffies_between(self.last_arrival, at.now);
            self.follow(gap, min, window, at.rto);
        }
        self.last_arrival = at.now;
    }

    /// Learns from a segment that arrived beyond a hole (a range of octets that has not arrived)
    /// how long a full segment is.
    pub(super) fn on_beyond(&mut self, segment: &Segment, part: u64) {
        if matches!(self.algorithm, DelayedAck::Adaptive { .. }) {
            self.measure(segment, part);
        }
    }

    /// Lets an acknowledgment be sent immediately, because the limit of the receive window
    /// (`rcv_ssthresh`) has grown. The acknowledgment advertises the larger window
    /// (`icsk_ack.quick |= 1`).
    pub(super) fn on_growth(&mut self) {
        if self.quick_max > 0 && matches!(self.algorithm, DelayedAck::Adaptive { .. }) {
            self.quick |= 1;
        }
    }

    /// Ends the immediate acknowledgments when the receive window is small
    /// (`__tcp_select_window`).
    pub(super) fn on_scarcity(&mut self) {
        if matches!(self.algorithm, DelayedAck::Adaptive { .. }) {
            self.quick = 0;
        }
    }

    /// Adapts the wait to the gap since the last arrival.
    fn follow(&mut self, gap: Duration, min: Duration, window: u64, rto: Duration) {
        let half = self.clock.whole_jiffies(self.ato / 2);
        if gap <= min / 2 {
            self.ato = half + min / 2;
        } else if gap < self.ato {
            self.ato = (half + gap).min(rto);
        } else if gap > rto {
            self.allow_quick_acks(window, self.quick_max);
        }
    }

    /// Learns from a segment, or from several segments of `len` octets each, how long a full
    /// segment is, and whether the peer will probably send more data soon.
    fn measure(&mut self, segment: &Segment, len: u64) {
        let last = core::mem::take(&mut self.candidate);
        let pushes = segment.flags.has(Flags::PSH);
        if len >= self.full {
            // A segment that has more octets than `advertised` was merged on its way
            // (`tcp_measure_rcv_mss`).
            self.full = len.min(self.advertised);
            if pushes {
                self.pushed = self.pushed.max(Pushed::Once);
            }
            return;
        }
        let options = if segment.timestamps().is_some() { TIMESTAMPS_BYTES } else { 0 };
        let held_back = pushes || segment.flags.has(Flags::FIN);
        let full_min = if held_back { FULL_INITIAL } else { FULL_MIN };
        if len + u64::from(options) >= full_min {
            self.candidate = len;
            if len == last {
                self.full = len;
                return;
            }
        }
        self.pushed = if self.pushed == Pushed::Never { Pushed::Once } else { Pushed::Again };
    }

    /// Lets the next acknowledgments be sent immediately. Their number is the number of full
    /// segments in half the receive window. A number of zero is replaced by 2. The result is at
    /// most `acks_max`. A larger number that was set before is kept.
    fn allow_quick_acks(&mut self, window: u64, acks_max: u32) {
        let half = match window / (2 * self.full.max(1)) {
            0 => 2,
            some => u32::try_from(some).unwrap_or(u32::MAX),
        };
        self.quick = self.quick.max(half.min(acks_max));
    }

    /// Switches immediate acknowledgments on or off, as the application requests (`TCP_QUICKACK`).
    /// The flag `owed` says whether an acknowledgment waits. With Linux's delays, the request
    /// decides whether the flow counts as interactive. If `owed` is true, the waiting
    /// acknowledgment leaves when the application has read all data (`tcp_sock_set_quickack`).
    /// Returns true if a waiting acknowledgment leaves even if the application has not read all
    /// data.
    pub(super) fn set_quick(&mut self, quick: bool, owed: bool) -> bool {
        if let DelayedAck::Adaptive { .. } = self.algorithm {
            self.interactive = !quick;
            if owed {
                self.pushed = self.pushed.max(Pushed::Once);
            }
            return false;
        }
        self.quick = if quick { QUICK_SEGS } else { 0 };
        quick
    }

    /// Handles a segment whose octets had all been received in order. The peer may have missed an
    /// acknowledgment, so the next acknowledgments are sent immediately.
    pub(super) fn on_duplicate(&mut self, window: u64) {
        self.enter_quick_acks(window, self.quick_max);
    }

    /// Handles a congestion mark: the next acknowledgments are sent immediately, because the peer's
    /// cwnd may be very small (`tcp_data_ecn_check`).
    pub(super) fn on_mark(&mut self, window: u64) {
        self.enter_quick_acks(window, QUICK_AFTER_MARK);
    }

    /// Lets up to `acks_max` acknowledgments be sent immediately (`tcp_enter_quickack_mode`).
    fn enter_quick_acks(&mut self, window: u64, acks_max: u32) {
        if let DelayedAck::Adaptive { min, .. } = self.algorithm {
            self.allow_quick_acks(window, acks_max);
            self.interactive = false;
            self.ato = min;
        }
    }

    /// Returns how urgent the acknowledgment of octets in order is; `held` is their number. At
    /// least every second full segment is acknowledged immediately (RFC 5681 §4.2), unless the
    /// switch `full_needs_reader` delays the acknowledgment.
    pub(super) fn need(&self, held: u64, reader: Reader) -> AckNeed {
        if self.is_urgent(held, reader) || reader.reads && self.is_sent_when_all_is_read() {
            AckNeed::Now
        } else {
            AckNeed::Later
        }
    }

    /// True if the acknowledgment must not wait, even if the application has read nothing.
    pub(super) fn is_urgent(&self, held: u64, reader: Reader) -> bool {
        // Linux asks for more octets than one full segment has, and RFC 5681 asks for two full
        // segments. If all segments are full, the two rules agree.
        let is_full = held > self.full && (!self.full_needs_reader || reader.keeps_window);
        let is_quick = self.quick > 0 && !self.interactive;
        is_quick || is_full || self.algorithm == DelayedAck::Never
    }

    /// Returns how urgent the acknowledgment is if the last of the `held` octets is the peer's FIN.
    /// The flow becomes interactive, because the application is expected to answer the FIN
    /// (`tcp_fin`).
    pub(super) fn need_of_fin(&mut self, held: u64, reader: Reader) -> AckNeed {
        self.interactive = true;
        // Short segments, and full segments with PSH, do not make this acknowledgment urgent.
        self.need(held, Reader { reads: false, ..reader })
    }

    /// Whether the acknowledgment leaves when the application reads. The acknowledgment covers
    /// `held` octets.
    pub(super) fn is_sent_on_reading(&self, held: u64) -> bool {
        self.full_needs_reader && held > self.full
    }

    /// Whether the acknowledgment leaves when the application has read all data.
    pub(super) fn is_sent_when_all_is_read(&self) -> bool {
        match self.pushed {
            Pushed::Never => false,
            Pushed::Once => !self.interactive,
            Pushed::Again => true,
        }
    }

    /// Returns how long the acknowledgment may wait.
    pub(super) fn wait(&self, at: &ArrivalState) -> Duration {
        let longest = self.longest();
        let DelayedAck::Adaptive { min, .. } = self.algorithm else { return longest };
        // The wait need not be longer than the round trip, because the peer waits for a round trip
        // in any case.
        at.srtt.map_or(longest, |srtt| longest.min(srtt.max(min)))
    }

    /// Returns how long the acknowledgment may wait, without the limit by the round trip.
    pub(super) fn longest(&self) -> Duration {
        match self.algorithm {
            DelayedAck::Never => Duration::ZERO,
            DelayedAck::Fixed(wait) => wait,
            DelayedAck::Adaptive { max, .. } => self.ato.min(max),
        }
    }

    /// The octets of a full segment.
    pub(super) fn full(&self) -> u64 {
        self.full
    }

    /// Returns the instant at which a quarter of a new wait would have passed. Without Linux's
    /// delays, this is the present instant. If the running wait ends by this instant, the
    /// acknowledgment is sent immediately (`tcp_send_delayed_ack`).
    pub(super) fn nearly_over(&self, at: &ArrivalState) -> Time {
        match self.algorithm {
            DelayedAck::Adaptive { .. } => {
                self.clock.expiry(at.now, self.clock.whole_jiffies(self.wait(at) / 4))
            }
            _ => at.now,
        }
    }

    /// Notes that an acknowledgment was sent.
    pub(super) fn on_acknowledged(&mut self) {
        self.pushed = Pushed::Never;
        if core::mem::take(&mut self.is_due) && self.quick > 0 {
            self.quick -= 1;
            if let (0, DelayedAck::Adaptive { min, .. }) = (self.quick, self.algorithm) {
                self.ato = min;
            }
        }
    }

    /// Notes that data was sent. The data counts as an answer to the last arrival if it is sent
    /// within the wait of a delayed ACK (`tcp_event_data_sent`).
    pub(super) fn on_data_sent(&mut self, now: Time) {
        self.interactive |= self.clock.jiffies_between(self.last_arrival, now) < self.ato;
    }

    /// Adapts the next wait when a wait ended without an answer.
    pub(super) fn on_wait_over(&mut self, rto: Duration) {
        let DelayedAck::Adaptive { min, .. } = self.algorithm else { return };
        self.ato = if self.interactive { min } else { (self.ato * 2).min(rto) };
        self.interactive = false;
    }
}
