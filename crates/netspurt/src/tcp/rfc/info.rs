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
    /// The state of RFC 9293. A FIN that waits behind data counts as sent (§3.10.4).
    pub state: TcpState,
    /// The phase of loss recovery.
    pub phase: Phase,
    /// The number of consecutive timeouts.
    pub retries: u32,
    /// Probes of a closed window, or of a full queue in this host.
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
    /// The state of the retransmission timer. Its rttvar does not include the timer's minimum.
    pub rto: RtoState,
    /// The smoothed round trip, exact to the nanosecond.
    pub srtt: Option<Duration>,
    /// The minimum round trip.
    pub min_rtt: Option<Duration>,
    /// What the connection knows of reordering.
    pub reordering: ReorderingInfo,
    /// Octets written and not sent, and the FIN if it is not sent.
    pub unsent: u64,
    /// The data that was delivered to the peer, according to the acknowledgments.
    pub delivered: DeliveredInfo,
    /// The peer's window in octets.
    pub peer_window: u64,
    /// The largest window that the peer ever offered, in octets.
    pub peer_window_max: u64,
    /// The pacing rate, computed even if the sender does not pace. The value is `None` before the
    /// first round trip.
    pub pacing: Option<BitRate>,
    /// Octets acknowledged in order.
    pub acked: u64,
    /// How many sequence numbers are acknowledged. Each data octet, a FIN, and an active opener's
    /// SYN count as one.
    pub numbers_acked: u64,
    /// The counts of the sending half.
    pub sent: SendCount,
    /// The receiving half.
    pub receiving: ReceivingInfo,
}

/// The knowledge of a connection about reordering on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReorderingInfo {
    /// How often reordering was seen (RFC 8985 §6.2).
    pub seen: u32,
    /// The maximum number of segments by which a segment was overtaken, but at least the number of
    /// duplicate ACKs that shows a loss (Linux's `reordering`). Without SACK, reordering may have
    /// changed the number of duplicate ACKs that shows a loss. Then this value is the changed
    /// number.
    pub segs: u64,
}

/// The data that a connection has delivered to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveredInfo {
    /// Octets delivered.
    pub bytes: u64,
    /// The last rate that was sampled: a number of octets, and the time in which they were
    /// delivered. A sample that the application limited counts only if its rate is not lower than
    /// the last rate (`tcp_rate_gen`). `None` before the first sample, or if samples are not taken.
    pub rate: Option<(u64, Duration)>,
    /// Whether the application limited the sample of `rate`.
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
    /// Whether ECN-capable data arrived. The value is false if the ends did not agree on ECN.
    pub ecn_seen: bool,
    /// The peer's shift and our shift (RFC 7323 §2). The value is `None` if windows are not scaled.
    pub shifts: Option<(u8, u8)>,
}

/// The probes of a closed window, or of a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbesInfo {
    /// The number of probes sent since the last segment from the peer.
    pub unanswered: u32,
    /// How often the wait for the next probe was doubled.
    pub backoff: u32,
}

/// The segments that a connection has outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutstandingInfo {
    /// All outstanding segments.
    pub segs: u64,
    /// The number of packets for segmentation offload in which these segments were sent. Without
    /// offload, each segment is a packet.
    pub packets: u64,
    /// Octets of payload in these segments.
    pub data_bytes: u64,
    /// Segments known to have arrived. Without SACK, each duplicate ACK counts as an arrived
    /// segment.
    pub sacked_segs: u64,
    /// Segments that count as lost.
    pub lost_segs: u64,
    /// Segments whose last retransmission counts as outstanding, and not as lost.
    pub retransmitted_segs: u64,
}

/// The receiving half of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivingInfo {
    /// The receive window that this end last advertised, in octets.
    pub window: u64,
    /// Whether the peer's FIN and all octets before it arrived.
    pub has_fin: bool,
    /// The memory of the receive buffer. The value is `None` if memory is not counted.
    pub memory: Option<MemoryInfo>,
    /// The counts of arrivals.
    pub count: ReceiveCount,
    /// The largest payload that this end accepts.
    pub mss: u16,
    /// Octets of a packet with the largest payload, headers included.
    pub packet_bytes: u64,
    /// How long the next acknowledgment may wait: Linux's `ato`.
    pub ack_wait: Duration,
    /// Octets of payload that count as a full segment from the peer.
    pub peer_smss: u64,
}

/// The memory of a receive buffer, in octets (Linux's `tcp_info`, `SO_MEMINFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// The size of the buffer.
    pub size: u64,
    /// The part in use.
    pub used: u64,
    /// The octets to which the receive window is limited at present: Linux's `rcv_ssthresh`.
    pub threshold: u64,
    /// The receiver's estimate of the round trip. The value is zero if there is no estimate.
    pub rtt: Duration,
    /// The maximum number of octets that the application read in a round trip: Linux's `rcv_space`.
    pub read: u64,
}
