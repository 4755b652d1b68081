//! The switches (settings) of a connection that uses the TCP of the RFCs.

use crate::clock::Clock;
use crate::congestion::{
    CongestionConfig, CubicConfig, HyStartConfig, NO_ABC_LIMIT, RenoConfig, SlowStartExit,
};
use crate::rto::{Bsd44Config, EstimatorConfig, LinuxConfig, Rfc6298Config, SfrConfig};
use crate::units::Duration;

use super::rules::{
    CwndRules, RackRules, ReceiveRules, SendRules, SpuriousRules, SynRules, TimerRules,
};

/// How a sender finds and repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment (Jacobson 1988).
    Tahoe,
    /// Fast recovery until the next new ACK (RFC 2001 §4).
    Reno,
    /// Fast recovery through partial ACKs (RFC 2582).
    NewReno,
    /// A pipe estimate and a scoreboard (Fall and Floyd 1996).
    Sack,
    /// Forward acknowledgment (Mathis and Mahdavi 1996).
    Fack,
    /// RACK, which finds losses by time (RFC 8985).
    Rack,
}

impl Recovery {
    /// Whether the sender needs SACK reports of the segments that arrived beyond a hole (a range of
    /// octets that has not arrived).
    pub const fn needs_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Fack | Recovery::Rack)
    }
}

/// When the receiving side acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// Each segment is acknowledged immediately.
    Never,
    /// Every second full segment is acknowledged immediately. Any other segment is acknowledged
    /// after this time at the latest (RFC 5681 §4.2, RFC 9293 §3.8.6.3).
    Fixed(Duration),
    /// Linux's rule: the first acknowledgments are sent immediately. Later acknowledgments wait for
    /// a time that follows the gaps between arrivals, from `min` up to `max`. An acknowledgment of
    /// more than a full segment waits only if
    /// [`full_needs_reader`](ReceiveRules::full_needs_reader) delays it. If a short segment, or a
    /// full segment with PSH, has arrived and the application has read all data, the acknowledgment
    /// does not wait. If the application answers quickly, one of these segments is not enough. Then
    /// another short segment must arrive after it.
    Adaptive {
        /// The shortest wait, which is also the first.
        min: Duration,
        /// The longest wait.
        max: Duration,
    },
}

/// Which round trips are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// One segment at a time is timed (RFC 6298 §3).
    OnePerRtt,
    /// Each ACK gives the round trip of the oldest segment that the ACK newly covers and that was
    /// sent once. If the ACK covers only retransmitted segments and [`karn`](RfcConfig::karn) is
    /// off, it gives the round trip of the oldest retransmitted segment that it newly acknowledges
    /// in order.
    EachAck,
    /// Linux's rule: the same as [`EachAck`](Self::EachAck) if the ACK acknowledges no
    /// retransmitted octets in order, or if [`karn`](RfcConfig::karn) is off. Otherwise the sample
    /// is the round trip of the oldest segment that was sent once and that the ACK newly reports by
    /// SACK. If the ACK reports no segment that was sent once, the sample comes from the echo of a
    /// timestamp. Without timestamps, this ACK then gives no sample.
    EachAckOrEcho,
    /// Each ACK gives the round trip of each segment that was sent once and that the ACK newly
    /// acknowledges in order (Allman and Paxson 1999). If the ACK acknowledges only retransmitted
    /// segments and [`karn`](RfcConfig::karn) is off, it gives the round trip of the oldest
    /// retransmitted segment that it newly acknowledges in order.
    EachSegment,
    /// Each ACK of new data gives the round trip by the echo of a timestamp (RFC 7323 §4). Without
    /// an echo, it gives the round trip of the oldest segment that it newly acknowledges in order
    /// and that was sent once.
    Timestamps,
}

/// The instant from which the retransmission timer counts when an ACK restarts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// From the ACK (RFC 6298 §5.3).
    OnAck,
    /// From the last transmission of the oldest segment outstanding.
    PerSegment,
    /// The instant of [`PerSegment`](Self::PerSegment) while fewer than four segments are
    /// outstanding and no new data waits. Otherwise the instant of [`OnAck`](Self::OnAck) (RFC 7765
    /// §4).
    Rfc7765,
}

/// The effect of a Super Fast Retransmit on the congestion window. The paper that proposes this
/// retransmission (Tarr and Ghita 2005) does not define this effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SfrResponse {
    /// No effect.
    None,
    /// The effect of a loss found by duplicate ACKs.
    Halve,
    /// The effect of a timeout, without the backoff.
    Reset,
}

/// All settings in which connections of the RFCs' TCP differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RfcConfig {
    /// Initial sequence number.
    pub iss: u32,
    /// Octets of the IP header: 20 or 40.
    pub ip_header_bytes: u16,
    /// The largest payload of a segment without options. The MSS option of our SYN has this value.
    pub mss: u16,
    /// The minimum for the peer's MSS option. A smaller MSS counts as this value, because a hostile
    /// peer could otherwise demand a packet for each octet. Linux's value was `TCP_MIN_MSS`, and
    /// since 5.2 it is `TCP_MIN_SND_MSS`.
    ///
    /// departs: RFC 9293 §3.7.1 - an MSS option below 88 octets counts as 88; the RFC sets no
    /// minimum.
    pub peer_mss_bytes_min: u32,
    /// The connection offers and accepts timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// The connection offers and accepts SACK blocks (RFC 2018).
    pub sack: bool,
    /// The connection offers and accepts window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// The connection offers and accepts congestion marks (RFC 3168).
    pub ecn: bool,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// The number of duplicate ACKs, or of segments reported by SACK, that shows a loss (RFC 5681
    /// §3.2).
    pub dup_thresh: u32,
    /// On each of the first two duplicate ACKs, the sender sends a new segment (RFC 3042).
    pub limited_transmit: bool,
    /// If few segments are outstanding, fewer duplicate ACKs than usual show a loss (RFC 5827).
    pub early_retransmit: bool,
    /// In recovery, proportional rate reduction sets cwnd (RFC 9937).
    pub prr: bool,
    /// The rules by which the congestion window is counted, cut and opened.
    pub cwnd_rules: CwndRules,
    /// The rules by which the retransmission timer is set, in addition to the rules of RFC 6298.
    pub timer_rules: TimerRules,
    /// The rules by which the receiving side reports and acknowledges.
    pub receive_rules: ReceiveRules,
    /// The rules about the options of SYNs and about their retransmission.
    pub syn_rules: SynRules,
    /// The rules by which segments are held back or sent.
    pub send_rules: SendRules,
    /// The rules about proofs that a cut (a reduction of ssthresh because of congestion) was
    /// spurious, and about what the sender learns from them.
    pub spurious_rules: SpuriousRules,
    /// The rules by which RACK learns from ACKs and chooses the segments that it checks.
    pub rack_rules: RackRules,
    /// RACK ignores the round trip of a retransmission if the ACK echoes a timestamp that is older
    /// than the retransmission (RFC 8985 §6.2 step 2; Linux's `tcp_skb_spurious_retrans`).
    pub rack_checks_echo: bool,
    /// If RACK's timer begins a repair, proportional rate reduction counts this firing of the timer
    /// as the delivery of one segment. Later firings of the timer do not change cwnd, and the timer
    /// sends no new data (`tcp_rack_reo_timeout`). Without the switch, each firing counts as an ACK
    /// that delivered nothing, because RFC 9937 speaks only of ACKs.
    pub rack_timer_delivers: bool,
    /// A short segment waits only while another short segment is outstanding (Minshall 1999,
    /// `tcp_nagle_check`). Without the switch, a short segment waits while any octet is outstanding
    /// (RFC 896).
    pub minshall: bool,
    /// The sender sends tail loss probes (RFC 8985 §7).
    pub tlp: bool,
    /// F-RTO: the ACKs after a timeout show whether the timeout was spurious (RFC 5682).
    pub frto: bool,
    /// With SACK, the first ACK may already prove a timeout spurious, and F-RTO also examines
    /// repeated timeouts, as in Linux (`tcp_process_loss`). RFC 5682 §3.1 step 2 waits for the next
    /// ACK.
    pub frto_at_once: bool,
    /// If a timestamp shows that a retransmission was spurious, the sender undoes the cut (RFC
    /// 3522, RFC 4015).
    pub eifel: bool,
    /// The values that are restored when a spurious cut is undone.
    pub undo: Undo,
    /// The receiving side reports duplicates (RFC 2883).
    pub dsack: bool,
    /// The sender undoes a cut if all retransmissions of the repair were reported as duplicates
    /// (RFC 3708).
    pub dsack_undo: bool,
    /// The constants of Super Fast Retransmit. The value is `None` if Super Fast Retransmit is off.
    pub sfr: Option<SfrConfig>,
    /// The effect of a Super Fast Retransmit on the congestion window.
    pub sfr_response: SfrResponse,
    /// After the timer of Super Fast Retransmit has fired, an ACK may cover only a part of the data
    /// that was outstanding at that time. This value says how long the timer then waits before it
    /// retransmits the next segment, in halves of the handshake's round trip. With `None`, the
    /// timer stops.
    pub sfr_next_halves: Option<u32>,
    /// Whether the timer of Super Fast Retransmit stops when another repair sends the first
    /// unacknowledged segment.
    pub sfr_yields: bool,
    /// The algorithm of the retransmission timer.
    pub rto: EstimatorConfig,
    /// The round trips that the timer gets as samples.
    pub sampling: Sampling,
    /// Karn's rule (Karn and Partridge 1987): the transmission time of a retransmitted segment
    /// gives no sample. The sample of a retransmitted SYN is labelled ambiguous, unless it comes
    /// from an echo.
    pub karn: bool,
    /// The effect of an ACK on a running timer.
    pub restart: Restart,
    /// The clock that measures round trips.
    pub clock: Clock,
    /// The clock that decides when timers fire.
    pub timer_clock: Clock,
    /// The algorithm of the congestion window.
    pub congestion: CongestionConfig,
    /// Initial window in segments (RFC 6928).
    pub initial_window_segs: u32,
    /// Maximum of the initial window in octets. The maximum is never less than two segments (RFC
    /// 3390 §1, RFC 6928 §2). `None` means that there is no maximum in octets.
    pub initial_window_bytes: Option<u32>,
    /// Segments are spaced evenly. While cwnd is below half of ssthresh, the rate is two cwnd per
    /// round trip. Afterwards it is 1.2 cwnd per round trip.
    pub pacing: bool,
    /// The sender holds short segments back while something is outstanding (RFC 896); see
    /// [`minshall`](Self::minshall).
    pub nagle: bool,
    /// When the receiving side acknowledges.
    pub acks: DelayedAck,
    /// The maximum number of segments that are acknowledged immediately at the start (Linux's quick
    /// ACKs).
    pub quick_acks_segs: u32,
    /// The octets of payload in each segment, if arriving packets were merged from several segments
    /// on their way (GRO). This number of octets counts as a full segment.
    pub merged_mss: Option<u16>,
    /// The octets that the receiving side can hold for its application. With the rule `autotuning`,
    /// this is the largest size of the buffer in octets of memory.
    pub receive_buffer_bytes: u64,
    /// The largest part of the receive buffer that a SYN offers.
    pub first_window_bytes: u64,
    /// The size of the receive buffer in octets of memory, if memory is counted and an application
    /// set the size. The size is twice the number that the application gave, because Linux doubles
    /// `SO_RCVBUF`.
    pub receive_memory_bytes: Option<u64>,
    /// The number of retransmissions of one segment before the connection is given up (RFC 9293
    /// §3.8.3, R2).
    pub retries: u32,
    /// The number of retransmissions of a SYN before the connection is given up. Linux's timer may
    /// allow more retransmissions, and also limits the time (`LinuxConfig::syn_limit`).
    pub syn_retries: u32,
    /// The number of retransmissions of a SYN that do not reduce the initial window: none in RFC
    /// 5681 §3.1, one in Linux.
    pub syn_retransmissions_forgiven: u32,
    /// How long an end waits in TIME-WAIT: twice the MSL of RFC 9293 §3.6.1.
    pub time_wait: Duration,
    /// Probes of a closed window have no payload and an old sequence number, as in Linux.
    pub empty_window_probes: bool,
    /// How long a tail loss probe waits, in hundredths of a round trip (RFC 8985 §7.2: two round
    /// trips).
    pub tlp_wait_percent: u32,
    /// The first reordering window of RACK, in hundredths of the minimum round trip (RFC 8985 §6.2
    /// step 4: a quarter).
    pub reorder_window_percent: u32,
    /// The time that a tail loss probe of a lone segment allows for the peer's delayed ACK (RFC
    /// 8985 §7.2).
    pub max_ack_delay: Duration,
    /// The time that RACK's timer adds to its wait: nothing in RFC 8985, 2 ms in Linux. A tail loss
    /// probe also adds this time if more than one segment is outstanding.
    pub timer_slack: Duration,
}

/// The values that are restored when a retransmission proves to have been spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// ssthresh becomes `pipe_prev` of RFC 4015. cwnd is raised to the data in the network plus one
    /// burst. The burst has the octets that the ACK acknowledges, but at most the initial window.
    /// After a spurious timeout, the retransmission timer adapts (RFC 4015 §3).
    Rfc4015,
    /// cwnd and ssthresh are restored, as in Linux. The timer does not adapt.
    Prior,
}

impl RfcConfig {
    /// Returns the configuration of the RFCs in force in 2026. It has RACK-TLP and proportional
    /// rate reduction, and it undoes spurious cuts.
    ///
    /// departs: RFC 9293 §3.8.6.3 - the delayed ACK waits 40 ms, as in most stacks.
    pub fn rfc_2026() -> Self {
        Self {
            iss: 0,
            ip_header_bytes: 20,
            mss: 1460,
            peer_mss_bytes_min: 88,
            timestamps: true,
            sack: true,
            window_scaling: true,
            ecn: false,
            recovery: Recovery::Rack,
            dup_thresh: 3,
            limited_transmit: true,
            early_retransmit: false,
            prr: true,
            cwnd_rules: CwndRules::RFC,
            timer_rules: TimerRules::RFC,
            receive_rules: ReceiveRules::RFC,
            syn_rules: SynRules::RFC,
            send_rules: SendRules::RFC,
            spurious_rules: SpuriousRules::RFC,
            rack_rules: RackRules::RFC,
            rack_checks_echo: true,
            rack_timer_delivers: false,
            minshall: false,
            tlp: true,
            frto: true,
            frto_at_once: false,
            eifel: true,
            undo: Undo::Rfc4015,
            dsack: true,
            dsack_undo: true,
            sfr: None,
            sfr_response: SfrResponse::None,
            sfr_next_halves: None,
            sfr_yields: false,
            rto: EstimatorConfig::Rfc6298(Rfc6298Config::default()),
            sampling: Sampling::EachAck,
            karn: true,
            restart: Restart::OnAck,
            clock: Clock::EXACT,
            timer_clock: Clock::EXACT,
            congestion: CongestionConfig::Cubic(CubicConfig::default()),
            initial_window_segs: 10,
            initial_window_bytes: Some(14_600),
            pacing: false,
            nagle: true,
            acks: DelayedAck::Fixed(Duration::from_millis(40)),
            quick_acks_segs: 0,
            merged_mss: None,
            receive_buffer_bytes: 1 << 22,
            first_window_bytes: 1 << 30,
            receive_memory_bytes: None,
            retries: 15,
            syn_retries: 6,
            syn_retransmissions_forgiven: 0,
            time_wait: Duration::from_secs(240),
            empty_window_probes: false,
            max_ack_delay: Duration::from_millis(200),
            tlp_wait_percent: 200,
            reorder_window_percent: 25,
            timer_slack: Duration::ZERO,
        }
    }

    /// Returns the profile from which scripts (tests in packetdrill's notation) start: `rfc_2026`
    /// with Reno as congestion control, NewReno as recovery, and an ACK for every segment. This
    /// profile lacks mechanisms that could hide the mechanism that a script tests.
    pub fn plain() -> Self {
        Self {
            recovery: Recovery::NewReno,
            limited_transmit: false,
            prr: false,
            tlp: false,
            frto: false,
            eifel: false,
            congestion: CongestionConfig::Reno(RenoConfig::default()),
            initial_window_bytes: None,
            nagle: false,
            acks: DelayedAck::Never,
            ..Self::rfc_2026()
        }
    }

    /// Returns the configuration of Linux 6 with its defaults and 250 jiffies a second.
    pub fn linux_6() -> Self {
        let jiffy = Duration::from_millis(4);
        Self {
            peer_mss_bytes_min: 48,
            undo: Undo::Prior,
            congestion: CongestionConfig::Cubic(CubicConfig {
                slow_start_exit: SlowStartExit::HyStart(HyStartConfig {
                    train_allowance: Duration::from_millis(1),
                    ..HyStartConfig::default()
                }),
                abc_limit_segs: NO_ABC_LIMIT,
                initial_segs_per_increase_max: Some(20),
                idle_from_sending: true,
                whole_segments: true,
                ..CubicConfig::default()
            }),
            rto: EstimatorConfig::Linux(LinuxConfig { jiffy, ..LinuxConfig::default() }),
            clock: Clock::LINUX_HZ250,
            timer_clock: Clock::LINUX_HZ250,
            acks: DelayedAck::Adaptive {
                min: Duration::from_millis(40),
                // `tcp_delack_max`: a jiffy less than this host's minimum RTO.
                max: Duration::from_millis(196),
            },
            quick_acks_segs: 16,
            // The buffer is `tcp_rmem[2]`, and the first window is half of `tcp_rmem[1]`.
            receive_buffer_bytes: 6 << 20,
            first_window_bytes: 1 << 16,
            time_wait: Duration::from_secs(60),
            timer_slack: Duration::from_millis(2),
            initial_window_bytes: None,
            syn_retransmissions_forgiven: 1,
            empty_window_probes: true,
            frto_at_once: true,
            cwnd_rules: CwndRules::LINUX,
            timer_rules: TimerRules::LINUX,
            receive_rules: ReceiveRules::LINUX,
            syn_rules: SynRules::LINUX,
            send_rules: SendRules::LINUX,
            spurious_rules: SpuriousRules::LINUX,
            rack_rules: RackRules::LINUX,
            rack_timer_delivers: true,
            minshall: true,
            sampling: Sampling::EachAckOrEcho,
            ..Self::rfc_2026()
        }
    }

    /// Returns the configuration of Reno as RFC 2001 describes it, on a BSD system of that time.
    /// The clock has ticks of half a second, and the MSS is the only option.
    pub fn reno_1998() -> Self {
        let tick = Duration::from_millis(500);
        let clock = Clock::ticking(tick, Duration::ZERO).expect("the phase is within the tick");
        Self {
            timestamps: false,
            sack: false,
            window_scaling: false,
            recovery: Recovery::Reno,
            limited_transmit: false,
            prr: false,
            tlp: false,
            frto: false,
            eifel: false,
            dsack: false,
            dsack_undo: false,
            rto: EstimatorConfig::Bsd44(Bsd44Config::default()),
            sampling: Sampling::OnePerRtt,
            clock,
            timer_clock: clock,
            congestion: CongestionConfig::Reno(RenoConfig {
                abc_limit_segs: None,
                ..RenoConfig::default()
            }),
            initial_window_segs: 1,
            acks: DelayedAck::Fixed(Duration::from_millis(200)),
            receive_buffer_bytes: 65_535,
            retries: 12,
            ..Self::rfc_2026()
        }
    }

    /// Returns the configuration of Reno as RFC 2581 describes it, with the timer of RFC 2988 and
    /// the initial window of RFC 3390.
    pub fn reno_2005() -> Self {
        Self {
            rto: EstimatorConfig::Rfc6298(Rfc6298Config::rfc2988()),
            clock: Clock::EXACT,
            timer_clock: Clock::EXACT,
            initial_window_segs: 4,
            initial_window_bytes: Some(4380),
            ..Self::reno_1998()
        }
    }
}
