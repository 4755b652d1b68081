//! The flows of a scenario file, and the TCP that carries them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteCount, Duration, SegmentCount};
use crate::wire::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES};

use super::number::{Number, Whole};
use super::quantity::{Amount, BothWays, WordOr, above_zero};

/// A flow, or `count` of them: one transfer in one direction.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// The node that sends. `{i}` stands for the flow's number, from 0, in a group.
    pub from: String,
    /// The node that receives; `{i}` as in `from`.
    pub to: String,
    /// Whose TCP it is, the simulator's or the kernel's of a live run: at both ends, or `[from,
    /// to]`.
    #[serde(default = "model")]
    pub endpoint: BothWays<EndpointWord>,
    /// The version of IP that carries it.
    #[serde(default)]
    pub family: Family,
    /// A named set of TCP switches.
    #[serde(default)]
    pub profile: Profile,
    /// Switches that differ from the profile's.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// What the application is.
    #[serde(default = "bulk", skip_serializing_if = "is_bulk")]
    pub app: WordOr<AppWord, RequestsTable>,
    /// How much the application sends; of requests, each of them.
    #[serde(default = "unlimited")]
    pub send: SendSpec,
    /// A timer at the host's edge that resends for the kernel's TCP, as text (`"linux:rto_min=50ms"`,
    /// `"sfr:factor=3"`) or `"off"`: at both ends, or `[from, to]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<BothWays<String>>,
    /// When it starts.
    #[serde(default)]
    pub start: Duration,
    /// How long after the connection is open the application waits before it writes.
    #[serde(default)]
    pub pause: Duration,
    /// How many such flows; those of a group are called after it, `name.0`, `name.1`, …
    #[serde(default = "one")]
    pub count: Number,
    /// How long after one flow of the group the next one starts.
    #[serde(default)]
    pub every: Duration,
}

/// Whose TCP is at an end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndpointWord {
    /// The one of this laboratory.
    Model,
    /// The running kernel's; only in live runs.
    Kernel,
}

/// A version of IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Version 4, with headers of 20 octets.
    #[default]
    Ipv4,
    /// Version 6, with headers of 40.
    Ipv6,
}

impl Family {
    /// Octets of its header beyond version 4's.
    pub(super) const fn more_bytes(self) -> u16 {
        match self {
            Self::Ipv4 => 0,
            Self::Ipv6 => IPV6_HEADER_BYTES - IPV4_HEADER_BYTES,
        }
    }
}

/// What is at the two ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppWord {
    /// One transfer, there.
    #[default]
    Bulk,
    /// Programs that `netspurt live exec` runs; whatever they send crosses.
    Programs,
}

impl FlowSpec {
    /// Whether programs are at its ends.
    pub(super) fn is_of_programs(&self) -> bool {
        self.app == WordOr::Word(AppWord::Programs)
    }
}

/// Requests, one after the other over one connection, and their replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestsTable {
    /// How long each reply is.
    pub reply: ByteCount,
    /// How many requests there are.
    #[serde(default = "one")]
    pub requests: Number,
    /// How long after a reply the next request is written.
    #[serde(default)]
    pub think: Duration,
    /// How long after a request its reply is written.
    #[serde(default)]
    pub serve: Duration,
}

fn bulk() -> WordOr<AppWord, RequestsTable> {
    WordOr::Word(AppWord::Bulk)
}

fn is_bulk(app: &WordOr<AppWord, RequestsTable>) -> bool {
    *app == bulk()
}

fn model() -> BothWays<EndpointWord> {
    BothWays::Same(EndpointWord::Model)
}

fn unlimited() -> SendSpec {
    Amount::Unlimited
}

fn one() -> Number {
    Whole(1)
}

/// A named set of TCP switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Profile {
    /// The one-way senders of ns-2.35: packets, no handshake, a timer that counts ticks.
    #[default]
    #[serde(rename = "ns-2")]
    Ns2,
    /// Reno as of RFC 2001 on a BSD of that time: half-second ticks, no options.
    #[serde(rename = "reno-1998")]
    Reno1998,
    /// Reno as of RFC 2581 with the timer of RFC 2988 and the initial window of RFC 3390.
    #[serde(rename = "reno-2005")]
    Reno2005,
    /// The RFCs in force in 2026: RACK-TLP, proportional rate reduction, undoing.
    #[serde(rename = "rfc-2026")]
    Rfc2026,
    /// Linux 6 with its defaults and 250 jiffies a second.
    #[serde(rename = "linux-6")]
    Linux6,
    /// The running kernel with its defaults; only of the kernel's ends.
    #[serde(rename = "linux-default")]
    LinuxDefault,
}

/// Switches of a TCP connection; what is left out comes from the profile.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpSpec {
    /// How losses are found and repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryWord>,
    /// Segments sent at the start of the connection; later slow starts begin with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<SegmentCount>,
    /// The receiver's window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<SegmentCount>,
    /// A full packet on the wire: 40 bytes of IP and TCP headers, and the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<ByteCount>,
    /// One new segment on each of the first two duplicate ACKs (RFC 3042).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,
    /// No second fast retransmit for losses of one window (ns-2's bugFix_).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bugfix: Option<bool>,
    /// Duplicate ACKs, or segments' worth of SACK blocks, that tell a loss (RFC 5681 §3.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dup_thresh: Option<u32>,
    /// Fewer duplicates suffice where fewer segments are out (RFC 5827).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_retransmit: Option<bool>,
    /// Proportional rate reduction (RFC 9937).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prr: Option<bool>,
    /// Tail loss probes (RFC 8985 §7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tlp: Option<bool>,
    /// Detection of needless timeouts from the next ACKs (RFC 5682).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frto: Option<bool>,
    /// Detection of needless resends from time stamps (RFC 3522).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eifel: Option<bool>,
    /// What is restored when a resend proves needless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<UndoWord>,
    /// Reports duplicates to the sender (RFC 2883).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// Undoes resends that were all reported as duplicates (RFC 3708).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsack_undo: Option<bool>,
    /// Super Fast Retransmit (Tarr and Ghita 2005, §5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sfr: Option<WordOr<OffWord, SfrTable>>,
    /// Labels samples of segments sent twice as ambiguous (Karn and Partridge 1987).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub karn: Option<bool>,
    /// The law of the congestion window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionWord>,
    /// Most segments by which an ACK may open the window in slow start (RFC 3465); 0 counts
    /// ACKs, not octets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abc_limit: Option<SegmentCount>,
    /// What ends slow start before a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_start_exit: Option<SlowStartWord>,
    /// Whether CUBIC leaves room for others at a second loss below its plateau (RFC 9438 §4.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_convergence: Option<bool>,
    /// Spreads each window over a round trip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<bool>,
    /// Holds short segments back while any octet is outstanding (RFC 896).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nagle: Option<bool>,
    /// Segments acknowledged at once at the start (Linux's quick ACKs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_acks: Option<SegmentCount>,
    /// Time stamps (RFC 7323 §3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// SACK blocks (RFC 2018).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Window scaling (RFC 7323 §2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// Congestion marks (RFC 3168).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Octets the receiving side holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ByteCount>,
    /// Resends of one segment before the connection is given up (RFC 9293 §3.8.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The same of a SYN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_retries: Option<u32>,
    /// How long who closed first waits for stragglers (RFC 9293 §3.6.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_wait: Option<Duration>,
    /// How many round trips a tail loss probe waits (RFC 8985 §7.2), in steps of 0.01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tlp_wait: Option<f64>,
    /// RACK's reordering window to begin with, as a share of the least round trip (RFC 8985 §6.2
    /// step 4), in steps of 0.01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder_window: Option<f64>,
    /// What the probe of a lone segment allows for the peer's delayed ACK (RFC 8985 §7.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ack_delay: Option<Duration>,
    /// How timers fire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_clock: Option<WordOr<ClockWord, ClockTable>>,
    /// When the receiver acknowledges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acks: Option<WordOr<AckWord, DelayedAckTable>>,
    /// How the sender reads time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<WordOr<ClockWord, ClockTable>>,
    /// The retransmission timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto: Option<RtoTable>,
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryWord {
    /// Fast retransmit, then slow start from one segment.
    Tahoe,
    /// Fast recovery until the next new ACK.
    Reno,
    /// Fast recovery through partial ACKs.
    Newreno,
    /// A scoreboard and a pipe estimate (ns-2's sack1).
    Sack,
    /// Forward acknowledgment.
    Fack,
    /// By time (RFC 8985); not among ns-2's.
    Rack,
}

/// Acknowledging without delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum AckWord {
    /// Each segment at once.
    #[serde(rename = "every segment")]
    EverySegment,
}

/// Acknowledging with delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedAckTable {
    /// How long the acknowledgment of one segment waits for a second.
    pub delayed: Duration,
    /// Lets that wait follow the gaps between arrivals up to this, as Linux does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Duration>,
}

/// Time without granularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockWord {
    /// To the nanosecond.
    Exact,
    /// Linux's, with 250 jiffies a second and its timer wheel.
    #[serde(rename = "linux-hz250")]
    LinuxHz250,
}

/// Time in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockTable {
    /// The clock's granularity.
    #[schemars(schema_with = "above_zero")]
    pub tick: Duration,
    /// How long before the start of the run the clock last ticked; by default 0.555880716 of
    /// a tick, which is what ns-2 draws for its first sender with seed 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Duration>,
}

/// The constants of the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtoTable {
    /// The law, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimator: Option<EstimatorWord>,
    /// Which round trips are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingWord>,
    /// What an ACK of new octets does to a running timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<RestartWord>,
    /// Before the first sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Duration>,
    /// The floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Duration>,
    /// The ceiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Duration>,
}

/// How much an application sends.
pub type SendSpec = Amount<SegmentCount>;

/// The laws of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EstimatorWord {
    /// RFC 793.
    Rfc793,
    /// RFC 889.
    Mills,
    /// Jacobson 1988.
    Jacobson88,
    /// RFC 6298.
    Rfc6298,
    /// RFC 2988.
    Rfc2988,
    /// 4.4BSD.
    Bsd44,
    /// Linux 6.
    Linux,
    /// RFC 9002.
    Quic,
    /// A constant: `initial`.
    Fixed,
    /// ns-2.35.
    Ns2,
    /// FreeBSD.
    Freebsd,
    /// Solaris and illumos.
    Solaris,
    /// ns-3.
    Ns3,
    /// smoltcp 0.13.
    Smoltcp,
    /// RFC 9260.
    Sctp,
    /// RFC 6298 in microseconds.
    Datacenter,
    /// draft-ietf-core-cocoa-03.
    Cocoa,
    /// Ludwig and Sklower 2000.
    Eifel,
    /// Ekström and Ludwig 2004.
    PeakHopper,
    /// Nunes et al. 2014.
    Experts,
}

/// Which round trips are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingWord {
    /// One segment at a time (RFC 6298 §3).
    OnePerRtt,
    /// The oldest segment each ACK newly covers.
    EachAck,
    /// The same, and the echo of a time stamp where all it covers was sent again (Linux).
    EachAckOrEcho,
    /// Each segment an ACK newly covers.
    EachSegment,
    /// The echo of a time stamp (RFC 7323 §4).
    Timestamps,
}

/// What an ACK of new octets does to a running timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestartWord {
    /// It starts anew (RFC 6298 §5.3).
    OnAck,
    /// It follows the oldest segment outstanding.
    PerSegment,
    /// That while few segments are outstanding (RFC 7765).
    Rfc7765,
}

/// What is restored when a resend proves needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UndoWord {
    /// The threshold, and a window of what is outstanding (RFC 4015).
    Rfc4015,
    /// Window and threshold as they were.
    Prior,
}

/// Without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OffWord {
    /// Switched off.
    Off,
}

/// Super Fast Retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfrTable {
    /// The timer in round trips of the handshake, in steps of a half.
    #[serde(default = "three")]
    pub factor: f64,
    /// It rests for good once so much was acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cutout: Option<ByteCount>,
    /// What a resend does to the window.
    #[serde(default)]
    pub response: SfrWord,
}

fn three() -> f64 {
    3.0
}

/// What a Super Fast Retransmit does to the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SfrWord {
    /// Nothing.
    #[default]
    None,
    /// What a loss found by duplicate ACKs does.
    Halve,
    /// What a timeout does.
    Reset,
}

/// The laws of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionWord {
    /// Reno (RFC 5681).
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// BBR, version 1.
    Bbr,
    /// Westwood+, a remedy for losses that are no congestion.
    Westwood,
}

/// What ends slow start before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum SlowStartWord {
    /// Nothing.
    #[serde(rename = "none")]
    None,
    /// HyStart as Linux has it.
    #[serde(rename = "hystart")]
    HyStart,
    /// HyStart++ (RFC 9406).
    #[serde(rename = "hystart++")]
    HyStartPlusPlus,
}
