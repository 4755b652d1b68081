//! A connection's state for people: what Linux calls TCP_INFO.

use crate::event::RtoState;
use crate::units::{BitRate, Duration};

use super::repair::Phase;
use super::{State, Tcb};

/// What a connection knows of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpInfo {
    /// RFC 9293's state.
    pub state: State,
    /// Where it stands with losses.
    pub phase: Phase,
    /// Timeouts in a row.
    pub retries: u32,
    /// Zero-window probes in a row.
    pub persist_backoff: u32,
    /// Whether both ends agreed on time stamps, SACK, ECN, window scaling.
    pub timestamps: bool,
    /// See above.
    pub sack: bool,
    /// See above.
    pub ecn: bool,
    /// The peer's shift and ours, where scaling was agreed on.
    pub shifts: Option<(u8, u8)>,
    /// Octets of payload in a full segment.
    pub smss: u64,
    /// Congestion window in octets.
    pub cwnd: u64,
    /// Slow-start threshold in octets.
    pub ssthresh: u64,
    /// Octets outstanding.
    pub flight: u64,
    /// Segments outstanding; of these, reported by SACK; thought lost; sent again and not thought
    /// lost.
    pub unacked_segs: u64,
    /// See above; without SACK what duplicate ACKs stand for.
    pub sacked_segs: u64,
    /// See above.
    pub lost_segs: u64,
    /// See above.
    pub resent_segs: u64,
    /// The estimate of octets in the network.
    pub pipe: u64,
    /// The retransmission timer.
    pub rto: RtoState,
    /// Smoothed round trip to the nanosecond.
    pub srtt: Option<Duration>,
    /// The least round trip.
    pub min_rtt: Option<Duration>,
    /// Whether reordering was seen (RFC 8985 §6.2).
    pub reordering_seen: bool,
    /// Octets written and not sent.
    pub unsent: u64,
    /// Octets delivered to the peer, as far as acknowledgments tell.
    pub delivered: u64,
    /// The peer's window.
    pub peer_window: u64,
    /// Our window, as last told.
    pub own_window: u64,
    /// The pacing rate.
    pub pacing: Option<BitRate>,
    /// Octets acknowledged in order.
    pub acked: u64,
    /// Octets that arrived in order.
    pub received: u64,
    /// Segments with payload sent, and resends among all segments.
    pub data_segments: u64,
    /// See above.
    pub resends: u64,
    /// The largest payload this end takes.
    pub mss: u16,
    /// How long the next acknowledgment may wait: Linux's `ato`.
    pub ack_wait: Duration,
    /// Octets of payload in what counts as a full segment of the peer's.
    pub peer_smss: u64,
}

impl Tcb {
    /// What the connection knows of itself.
    pub(in crate::tcp) fn info(&self) -> TcpInfo {
        let dup_segs = self.segs(self.repair.dup_bytes);
        let count = |what: fn(&super::board::Sent) -> bool| {
            self.board.iter().filter(|sent| what(sent)).count() as u64
        };
        TcpInfo {
            state: self.state,
            phase: self.repair.phase,
            retries: self.retries,
            persist_backoff: self.persist_backoff,
            timestamps: self.agreed.timestamps,
            sack: self.agreed.sack,
            ecn: self.agreed.ecn,
            shifts: self.agreed.scaling.then_some((self.agreed.peer_shift, self.agreed.own_shift)),
            smss: self.smss,
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            flight: self.flight(),
            unacked_segs: self.board.len() as u64,
            sacked_segs: count(|sent| sent.sacked) + dup_segs,
            lost_segs: count(|sent| sent.lost.is_some()),
            resent_segs: count(|sent| sent.resent),
            pipe: self.pipe(),
            rto: self.timer.state(),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            reordering_seen: self.rack.reordering_seen,
            unsent: self.unsent(),
            delivered: self.delivery.octets,
            peer_window: self.peer_window,
            own_window: self.rx.window(),
            pacing: self.congestion.pacing_rate().or_else(|| self.spread_rate()),
            acked: self.acknowledged(),
            received: self.rx.count.delivered_bytes,
            data_segments: self.count.data_segments,
            resends: self.count.resends,
            mss: self.config.mss,
            ack_wait: self.rx.patience.longest(),
            peer_smss: self.rx.patience.full(),
        }
    }
}
