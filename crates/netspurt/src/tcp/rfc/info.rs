//! A summary of a connection's state, like Linux's TCP_INFO.

use crate::event::RtoState;
use crate::units::{BitRate, Duration};

use super::super::receiver::ReceiveCount;
use super::super::transmit::SendCount;
use super::repair::Phase;
use super::state::TcpState;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionInfo {
    /// RFC 9293's state; a FIN that waits behind data counts as sent (§3.10.4).
    pub state: TcpState,
    /// Its phase of loss recovery.
    pub phase: Phase,
    /// Timeouts in a row.
    pub retries: u32,
    /// Probes of a closed window, or of a full queue of the host's own.
    pub probes: ProbesInfo,
    /// The options on which both ends agreed.
    pub options: OptionsInfo,
    /// Octets of payload in a full segment.
    pub smss: u64,
    /// Congestion window in octets.
    pub cwnd: u64,
    /// Slow-start threshold in octets.
    pub ssthresh: u64,
    /// Octets outstanding.
    pub flight: u64,
    /// Segments outstanding.
    pub outstanding: OutstandingInfo,
    /// The estimate of octets in the network.
    pub pipe: u64,
    /// The retransmission timer, its variation without the minimum that the timer sets.
    pub rto: RtoState,
    /// Smoothed round trip to the nanosecond.
    pub srtt: Option<Duration>,
    /// The minimum round trip.
    pub min_rtt: Option<Duration>,
    /// Its knowledge of reordering.
    pub reordering: ReorderingInfo,
    /// Octets written and not sent.
    pub unsent: u64,
    /// The data delivered to the peer, as far as acknowledgments show.
    pub delivered: DeliveredInfo,
    /// The peer's window.
    pub peer_window: u64,
    /// The largest window that the peer ever offered.
    pub peer_window_max: u64,
    /// The pacing rate.
    pub pacing: Option<BitRate>,
    /// Octets acknowledged in order.
    pub acked: u64,
    /// Sequence numbers acknowledged: of those octets, of a FIN, and of an active opener's SYN.
    pub numbers_acked: u64,
    /// The counts of the sending half.
    pub sent: SendCount,
    /// The receiving half.
    pub receiving: ReceivingInfo,
}

/// The knowledge of a connection about reordering on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReorderingInfo {
    /// How often it was seen (RFC 8985 §6.2).
    pub seen: u32,
    /// By how many segments others were overtaken at most; the duplicates that tell a loss where
    /// it was by fewer (Linux's `reordering`).
    pub segs: u64,
}

/// The data that a connection has delivered to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveredInfo {
    /// Octets.
    pub bytes: u64,
    /// The last rate that was sampled, as octets in a time. A sample that the application limited
    /// counts only if its rate is not lower (`tcp_rate_gen`). `None` if samples are not taken.
    pub rate: Option<(u64, Duration)>,
    /// Whether the application limited that sample.
    pub is_app_limited: bool,
}

/// The options on which both ends of a connection agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionsInfo {
    /// Timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Congestion marks (RFC 3168).
    pub ecn: bool,
    /// Whether any segment of the peer's could have been marked.
    pub ecn_seen: bool,
    /// The peer's shift and ours, if windows are scaled (RFC 7323 §2).
    pub shifts: Option<(u8, u8)>,
}

/// The probes of a window that takes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbesInfo {
    /// How many left since the peer was heard of.
    pub unanswered: u32,
    /// How often the wait for the next one was doubled.
    pub backoff: u32,
}

/// The segments that a connection has outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutstandingInfo {
    /// All of them.
    pub segs: u64,
    /// Packets for offload that they left in, as far as these are known.
    pub packets: u64,
    /// Octets of their payload.
    pub data_bytes: u64,
    /// Known to have arrived, duplicate ACKs without SACK included.
    pub sacked_segs: u64,
    /// Thought lost.
    pub lost_segs: u64,
    /// Sent again.
    pub retransmitted_segs: u64,
}

/// The receiving half of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivingInfo {
    /// Our window, as last advertised.
    pub window: u64,
    /// Whether the peer's FIN arrived, and all before it.
    pub has_fin: bool,
    /// The memory of the receive buffer, if it is counted.
    pub memory: Option<MemoryInfo>,
    /// The counts of arrivals.
    pub count: ReceiveCount,
    /// The largest payload this end takes.
    pub mss: u16,
    /// Octets of the packet with that, headers included.
    pub packet_bytes: u64,
    /// How long the next acknowledgment may wait: Linux's `ato`.
    pub ack_wait: Duration,
    /// Octets of payload in what counts as a full segment of the peer's.
    pub peer_smss: u64,
}

/// The memory of a receive buffer that is counted so, in octets (Linux's `tcp_info`, `SO_MEMINFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Its size.
    pub size: u64,
    /// The part in use.
    pub used: u64,
    /// The threshold of the window: Linux's `rcv_ssthresh`.
    pub threshold: u64,
    /// The round trip as the receiver estimates it; zero where it knows none.
    pub rtt: Duration,
    /// The maximum number of octets that the application read in a round trip: Linux's `rcv_space`.
    pub read: u64,
}
