//! The congestion window (cwnd) of a sender: the congestion control algorithm, and the sender's own
//! changes to cwnd.

use crate::congestion::{AckInfo, Congestion, CongestionConfig, CongestionControl, Window};
use crate::packed::packed;
use crate::units::{BitRate, Duration, Time};

use super::config::{RfcConfig, Undo};
use super::initial_window::InitialWindow;
use super::repair::Phase;
use super::rules::CwndRules;
use super::usage::{Sending, Usage, raise_ssthresh};

/// The congestion window and its algorithm.
#[derive(Debug)]
pub(super) struct CwndControl {
    pub(super) window: Window,
    pub(super) algorithm: Box<dyn CongestionControl>,
    initial: InitialWindow,
    /// Whether the algorithm sets cwnd even in recovery.
    is_owned: bool,
    /// Octets below this octet were sent in a flight that filled cwnd, so their ACKs open cwnd (RFC
    /// 2861 §3.1).
    filled_until: u64,
    /// How much of cwnd the sender uses. In Linux, this decides whether ACKs open cwnd.
    usage: Usage,
    /// True if the flag CWR must still be sent, so that the peer learns of a cut (RFC 3168 §6.1.2).
    /// A cut is a reduction of ssthresh because of congestion.
    pub(super) owes_cwr: bool,
}

packed!(CwndControl { window, algorithm, filled_until, usage, owes_cwr } keeps { initial, is_owned });

/// The state of the sender when congestion was found.
pub(super) struct CongestionEvent {
    pub(super) now: Time,
    pub(super) kind: Congestion,
    /// The outstanding octets.
    pub(super) flight: u64,
    pub(super) smss: u64,
}

impl CwndControl {
    pub(super) fn new(config: &RfcConfig) -> Self {
        let congestion = config.congestion.on_clock(config.timer_clock);
        let algorithm = if config.pacing { congestion.paced() } else { congestion }.build();
        Self {
            window: Window { cwnd: 0, ssthresh: Window::NO_THRESHOLD },
            is_owned: algorithm.owns_window(),
            algorithm,
            initial: InitialWindow::of(config),
            filled_until: 0,
            usage: Usage::default(),
            owes_cwr: false,
        }
    }

    /// Continues with another algorithm from the same window. `rtt` is the round trip of the
    /// handshake.
    pub(super) fn replace(&mut self, config: &CongestionConfig, rtt: Option<Duration>) {
        self.algorithm = config.build();
        self.is_owned = self.algorithm.owns_window();
        self.algorithm.on_open(rtt, &self.window);
    }

    /// Whether the algorithm sets cwnd even in recovery.
    pub(super) fn is_owned(&self) -> bool {
        self.is_owned
    }

    /// Scales cwnd and ssthresh when the number of octets in a full segment changes from the number
    /// `before` to the number `now`. cwnd and ssthresh keep their numbers of segments.
    #[inline]
    pub(super) fn follow_smss(&mut self, before: u64, now: u64) {
        if before != now {
            let scaled = |octets: u64| match octets {
                Window::NO_THRESHOLD => octets,
                octets => octets / before * now,
            };
            let Window { cwnd, ssthresh } = self.window;
            self.window = Window { cwnd: scaled(cwnd), ssthresh: scaled(ssthresh) };
        }
    }

    /// The initial window in octets, for segments of `smss` octets.
    #[inline]
    pub(super) fn initial(&self, smss: u64) -> u64 {
        self.initial.octets(smss)
    }

    /// Sets cwnd when the connection is open. `rtt` is the round trip of the handshake.
    pub(super) fn open(&mut self, cwnd: u64, rtt: Option<Duration>, now: Time) {
        self.window.cwnd = cwnd;
        self.usage.begin(now);
        self.algorithm.on_open(rtt, &self.window);
    }

    /// Sets ssthresh after congestion of any kind. With ECN, the next segment of new octets tells
    /// the peer by the flag CWR that the sender reacted (RFC 3168 §6.1.2).
    pub(super) fn cut(&mut self, met: &CongestionEvent, rules: &CwndRules) {
        self.owes_cwr = true;
        let flight = self.cut_base(met.flight, rules);
        let ssthresh =
            self.algorithm.on_congestion(met.now, met.kind, flight, met.smss, &self.window);
        let over = if rules.whole_segments { ssthresh % met.smss } else { 0 };
        self.window.ssthresh = (ssthresh - over).max(2 * met.smss);
    }

    /// Returns the number of octets from which a cut is computed: cwnd, or `flight`, the number of
    /// outstanding octets.
    pub(super) fn cut_base(&self, flight: u64, rules: &CwndRules) -> u64 {
        if rules.cut_from_cwnd { self.window.cwnd } else { flight }
    }

    /// Sets cwnd to ssthresh immediately, unless the algorithm sets cwnd even in recovery.
    pub(super) fn fall_to_threshold(&mut self) {
        if !self.is_owned() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Sets cwnd when `phase` ends. `burst_limit` is the maximum of cwnd if an ACK could release a
    /// burst (RFC 6582 §3.2 step 3).
    pub(super) fn leave(&mut self, phase: Phase, burst_limit: Option<u64>) {
        let Window { cwnd, ssthresh } = self.window;
        self.window.cwnd = match phase {
            _ if self.is_owned() => cwnd,
            // At the end of recovery, cwnd is ssthresh (RFC 5681 §3.2 step 6, RFC 6675 §5, RFC 9937
            // §6.2).
            Phase::Recovery => burst_limit.map_or(ssthresh, |most| ssthresh.min(most)),
            Phase::Cwr => cwnd.min(ssthresh),
            _ => cwnd,
        };
    }

    /// Undoes a cut that proved spurious (RFC 4015 §3). The argument `before` is the state before
    /// the cut. `pipe_prev` is the number of octets that were outstanding at the cut, but at least
    /// the old ssthresh. The argument `resumed` is the number of octets that are in the network
    /// now, plus one burst. The burst is the octets that the ACK acknowledges, but at most an
    /// initial window.
    pub(super) fn undo_cut(&mut self, before: &Window, pipe_prev: u64, resumed: u64, how: Undo) {
        match how {
            Undo::Rfc4015 => {
                self.window.cwnd = self.window.cwnd.max(resumed);
                self.window.ssthresh = pipe_prev;
            }
            Undo::Prior => {
                self.window.cwnd = self.window.cwnd.max(before.cwnd);
                self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
            }
        }
    }

    /// Notes that the outstanding octets fill cwnd. The next octet to send is `nxt`.
    #[inline]
    pub(super) fn note_full(&mut self, nxt: u64) {
        self.filled_until = nxt;
    }

    /// Lets an ACK open cwnd, as the algorithm decides.
    #[inline]
    pub(super) fn take_ack(&mut self, info: &AckInfo) {
        self.algorithm.on_ack(info, &mut self.window);
        self.usage.refresh(info.now);
    }

    /// Measures how much of cwnd the sender uses.
    pub(super) fn count_usage(&mut self, sending: &Sending) {
        self.usage.count(sending, &mut self.window, self.is_owned);
    }

    /// True if an ACK of octets starting at `una` lets cwnd grow.
    #[inline]
    pub(super) fn earns_growth(&self, una: u64, rules: &CwndRules) -> bool {
        if rules.validation {
            self.usage.earns_growth(&self.window)
        } else {
            una < self.filled_until
        }
    }

    /// Reduces cwnd after an idle time of more than an RTO. Without the switch `idle_decay`, cwnd
    /// is then at most the `initial` window (RFC 5681 §4.1). With `idle_decay`, cwnd is halved for
    /// each RTO that passed, but not below the `initial` window (RFC 2861 §3.1). With `idle_decay`,
    /// ssthresh is also raised to at least three quarters of the old cwnd.
    pub(super) fn restart_after_idle(&mut self, idle: &Idleness, rules: &CwndRules) {
        let &Idleness { now, idle, rto, initial, smss } = idle;
        if rules.idle_decay {
            raise_ssthresh(&mut self.window, smss);
            // If the idle time is exactly a multiple of the RTO, the last RTO of the idle time does
            // not count.
            let timers = (idle.as_nanos() - 1) / rto.as_nanos().max(1);
            let halved = (self.window.cwnd / smss) >> timers.min(63);
            self.window.cwnd = self.window.cwnd.min((halved * smss).max(initial));
            self.usage.begin(now);
        } else {
            self.window.cwnd = self.window.cwnd.min(initial);
        }
    }

    /// The rate at which the algorithm paces segments. The result is `None` if the algorithm leaves
    /// pacing to the sender.
    pub(super) fn pacing_rate(&self) -> Option<BitRate> {
        self.algorithm.pacing_rate()
    }
}

/// The state of the sender when it sends again after an idle time.
pub(super) struct Idleness {
    pub(super) now: Time,
    /// The idle time: how long no segment was sent.
    pub(super) idle: Duration,
    /// The retransmission timeout.
    pub(super) rto: Duration,
    /// The initial window in octets.
    pub(super) initial: u64,
    pub(super) smss: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{CongestionConfig, RenoConfig};

    /// A connection with Reno, with a cwnd of `cwnd` octets.
    fn reno(cwnd: u64) -> CwndControl {
        let congestion = CongestionConfig::Reno(RenoConfig::default());
        let mut control = CwndControl::new(&RfcConfig { congestion, ..RfcConfig::rfc_2026() });
        control.open(cwnd, None, Time::ZERO);
        control
    }

    /// A loss, found while `flight` octets are outstanding.
    fn met(flight: u64) -> CongestionEvent {
        CongestionEvent { now: Time::ZERO, kind: Congestion::Loss, flight, smss: 1000 }
    }

    /// RFC 9406 §4.2: if the sender paces, HyStart++ does not limit how far one ACK opens cwnd.
    #[test]
    fn if_the_sender_paces_an_ack_of_many_segments_opens_cwnd_without_limit() {
        let grown = |pacing| {
            let config = RfcConfig { pacing, ..RfcConfig::rfc_2026() };
            let mut control = CwndControl::new(&config);
            control.open(20_000, None, Time::ZERO);
            let ack = AckInfo {
                now: Time::ZERO,
                smss: 1000,
                acked_bytes: 12_000,
                delivered_bytes: 12_000,
                lost_bytes: 0,
                pipe_before: 20_000,
                pipe: 8000,
                rtt: None,
                srtt: None,
                min_rtt: None,
                una: 12_001,
                nxt: 20_001,
                window_limited: true,
                in_recovery: false,
                after_timeout: false,
                rate: None,
            };
            control.algorithm.on_ack(&ack, &mut control.window);
            control.window.cwnd - 20_000
        };
        assert_eq!((grown(false), grown(true)), (8000, 12_000));
    }

    /// RFC 5681 §3.1, equation 4: ssthresh is half of FlightSize, and at least two segments. Linux
    /// halves cwnd, in whole segments.
    #[test]
    fn a_cut_sets_ssthresh_to_half_of_the_outstanding_data_or_of_cwnd() {
        let cut = |flight, rules| {
            let mut control = reno(15_000);
            control.cut(&met(flight), &rules);
            assert!(control.owes_cwr);
            control.window.ssthresh
        };
        assert_eq!(cut(11_000, CwndRules::RFC), 5500);
        assert_eq!(cut(3000, CwndRules::RFC), 2000);
        assert_eq!(cut(11_000, CwndRules::LINUX), 7000);
    }

    #[test]
    fn at_the_end_of_a_repair_its_phase_and_the_burst_limit_determine_cwnd() {
        let leave = |phase, most| {
            let mut control = reno(15_000);
            control.window.ssthresh = 7000;
            control.leave(phase, most);
            control.window.cwnd
        };
        assert_eq!(leave(Phase::Recovery, None), 7000);
        assert_eq!(leave(Phase::Recovery, Some(3000)), 3000);
        assert_eq!((leave(Phase::Cwr, None), leave(Phase::Loss, None)), (7000, 15_000));
    }

    /// RFC 5681 §4.1: cwnd falls to the initial window. RFC 2861 §3.1: cwnd is halved for each RTO.
    #[test]
    fn idle_time_resets_cwnd_or_halves_cwnd_for_each_rto() {
        let rto = Duration::from_millis(200);
        let after = |ms, rules: CwndRules| {
            let mut control = reno(80_000);
            control.window.ssthresh = 1;
            let idle = Duration::from_millis(ms);
            let idle = Idleness { now: Time::ZERO + idle, idle, rto, initial: 10_000, smss: 1000 };
            control.restart_after_idle(&idle, &rules);
            control.window
        };
        assert_eq!(after(201, CwndRules::RFC), Window { cwnd: 10_000, ssthresh: 1 });
        assert_eq!(after(401, CwndRules::LINUX), Window { cwnd: 20_000, ssthresh: 60_000 });
        assert_eq!(after(400, CwndRules::LINUX).cwnd, 40_000);
        assert_eq!(after(2000, CwndRules::LINUX).cwnd, 10_000);
    }

    /// RFC 4015 §3.2: ssthresh becomes pipe_prev. cwnd becomes the outstanding octets plus one
    /// burst. Linux restores cwnd and ssthresh.
    #[test]
    fn an_undo_sets_ssthresh_by_rfc_4015_or_restores_cwnd_and_ssthresh_as_linux_does() {
        let before = Window { cwnd: 15_000, ssthresh: 12_000 };
        let back = |how| {
            let mut control = reno(2000);
            control.window.ssthresh = 4000;
            control.undo_cut(&before, 13_000, 6000, how);
            control.window
        };
        assert_eq!(back(Undo::Rfc4015), Window { cwnd: 6000, ssthresh: 13_000 });
        assert_eq!(back(Undo::Prior), before);
    }
}
