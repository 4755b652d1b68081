//! The configuration of a TCP connection. A connection uses the TCP of the RFCs, or a sender and a
//! receiver of the network simulator ns-2.

use std::sync::Arc;

use crate::clock::Clock;
use crate::rto::Ns2Config;
use crate::units::Duration;

use super::rfc::RfcConfig;
use crate::wire::{BARE_HEADER_BYTES, TCP_HEADER_BYTES, full_payload};

/// The senders of the network simulator ns-2.35.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NsVariant {
    /// Fast retransmit, then slow start from one segment (Jacobson 1988).
    Tahoe,
    /// Fast recovery until the next new ACK (RFC 2001 §4).
    Reno,
    /// Fast recovery through partial ACKs (RFC 2582).
    NewReno,
    /// A pipe estimate and a scoreboard: ns-2's Sack1 (Fall and Floyd 1996).
    Sack,
    /// Forward acknowledgment (Mathis and Mahdavi 1996).
    Fack,
}

impl NsVariant {
    /// Whether the sender needs a sink (a receiver of ns-2) that reports segments beyond a gap by
    /// SACK blocks.
    pub const fn needs_sack(self) -> bool {
        matches!(self, NsVariant::Sack | NsVariant::Fack)
    }
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// The receiver acknowledges each segment immediately.
    EverySegment,
    /// The receiver acknowledges every second segment, or a single segment after this time. It
    /// acknowledges a segment out of order immediately.
    Delayed(Duration),
}

/// All settings in which connections differ.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpConfig {
    /// ns-2's one-way senders and sinks, which count packets.
    Ns(Arc<NsConfig>),
    /// The TCP of the RFCs, which counts octets.
    Rfc(Arc<RfcConfig>),
}

impl From<NsConfig> for TcpConfig {
    fn from(config: NsConfig) -> Self {
        Self::Ns(Arc::new(config))
    }
}

impl From<RfcConfig> for TcpConfig {
    fn from(config: RfcConfig) -> Self {
        Self::Rfc(Arc::new(config))
    }
}

impl TcpConfig {
    /// Octets of payload in a full segment (SMSS of RFC 5681 §2), if both ends have the same
    /// configuration.
    pub fn smss(&self) -> u16 {
        match self {
            TcpConfig::Ns(config) => config.smss(),
            TcpConfig::Rfc(config) => full_payload(config.mss, config.timestamps),
        }
    }

    /// Octets of a full packet, headers included.
    pub fn packet_bytes(&self) -> u16 {
        match self {
            TcpConfig::Ns(config) => config.full_packet_bytes(),
            TcpConfig::Rfc(config) => config.ip_header_bytes + TCP_HEADER_BYTES + config.mss,
        }
    }

    /// Octets of a packet without payload and options.
    pub fn header_bytes(&self) -> u16 {
        match self {
            TcpConfig::Ns(config) => config.header_bytes,
            TcpConfig::Rfc(config) => config.ip_header_bytes + TCP_HEADER_BYTES,
        }
    }
}

/// The switches of ns-2's senders and sinks. The names in parentheses are ns-2's. A fack sender
/// ignores `limited_transmit`, `bugfix`, `bugfix_ss` and `frto`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsConfig {
    /// Octets of a full IP datagram with headers and payload. With `headers_on_top`, octets of the
    /// payload alone.
    pub packet_bytes: u16,
    /// Octets of headers in each packet. An ACK without options has the same size.
    pub header_bytes: u16,
    /// The headers are added to `packet_bytes`. Packet 0 has no headers if it carries data
    /// (`useHeaders_`).
    pub headers_on_top: bool,
    /// Segments sent at the start of the connection (`windowInit_`). After a loss, slow start
    /// begins with one segment.
    pub initial_window_segs: u32,
    /// The initial window is four, three or two segments, depending on the size of a segment
    /// (`windowInitOption_ 2`, RFC 3390). After a timeout before the first ACK, the initial window
    /// is `initial_window_segs`.
    pub initial_window_by_size: bool,
    /// The receiver's window in segments. The sender does not send beyond this window, except on a
    /// partial ACK with `partial_ack_sends`.
    pub receive_window_segs: u32,
    /// The kind of sender.
    pub variant: NsVariant,
    /// Packet 0 is a SYN (`syn_`).
    pub handshake: bool,
    /// The ACK of packet 0 sets cwnd to the initial window (not in a fack sender), and a SYN leaves
    /// with a cwnd of one segment (`delay_growth_`).
    pub delay_growth: bool,
    /// On each of the first two duplicate ACKs, the sender sends one new segment (RFC 3042;
    /// `singledup_`).
    pub limited_transmit: bool,
    /// Losses of one window cause at most one fast retransmit (`bugFix_`; RFC 2582 §5).
    pub bugfix: bool,
    /// The loss of packet 1 may always be repaired by a fast retransmit. Without
    /// `initial_window_by_size`, a timeout before the first ACK makes the initial window one
    /// segment (`bugfix_ss_`).
    pub bugfix_ss: bool,
    /// When a loss halves cwnd, cwnd is not rounded to whole segments (`precisionReduce_`).
    pub precise_cut: bool,
    /// The sender uses F-RTO (`frto_enabled_`). A sack sender uses the variant of F-RTO with SACK
    /// blocks (`sfrto_enabled_`).
    pub frto: bool,
    /// Round trips are measured by timestamps on every new ACK that is not a partial ACK, to the
    /// nearest tick (`timestamps_`).
    pub timestamps: bool,
    /// The rules of the sender newreno.
    pub newreno: NsNewReno,
    /// On a partial ACK, a sack sender sends two segments (`partial_ack_`).
    pub partial_ack_sends: bool,
    /// When the receiving side acknowledges.
    pub acks: AckPolicy,
    /// The segments that the receiving side acknowledges immediately, and the timestamps that it
    /// echoes.
    pub sink: NsSink,
    /// The clock with which the sender measures round trips.
    pub clock: Clock,
    /// The constants of the sender's timer.
    pub rto: Ns2Config,
}

/// The rules of ns-2's sender newreno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NsNewReno {
    /// Only the first partial ACK of a recovery restarts the timer (`newreno_changes1_`; RFC 2582's
    /// impatient variant).
    pub impatient: bool,
    /// A partial ACK reduces the inflated cwnd by the segments that it covers, less one segment
    /// (`partial_window_deflation_`). Without this switch, it removes the whole inflation.
    pub deflates: bool,
    /// At the end of a recovery, cwnd becomes the smaller of two values: ssthresh, and the
    /// outstanding data plus one segment (`exit_recovery_fix_`).
    pub exit_fix: bool,
    /// With `bugfix`, a fast retransmit is allowed if all octets that were sent before the last
    /// loss was found are acknowledged. Without this switch, it is allowed only if at least one
    /// more octet is acknowledged (`lessCareful_`; RFC 2582 §5).
    pub less_careful: bool,
    /// With `bugfix`, a fast retransmit is also allowed if cwnd is above one segment and the last
    /// new ACK acknowledged at most three segments (`bugFix_ack_`; RFC 3782 §6.1).
    pub bugfix_ack: bool,
    /// With `bugfix`, a fast retransmit is also allowed if the last new ACK acknowledged a segment
    /// and echoed the timestamp of this segment's last transmission (`bugFix_ts_`; RFC 3782 §6.2).
    pub bugfix_ts: bool,
}

/// The rules of ns-2's sinks (receivers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NsSink {
    /// A segment that fills a part of a gap is acknowledged immediately (`RFC2581_immediate_ack_`).
    /// A segment that fills a whole gap is always acknowledged immediately.
    pub gaps_at_once: bool,
    /// Packet 0 is acknowledged immediately (`SYN_immediate_ack_`).
    pub first_at_once: bool,
    /// The sink echoes the timestamp of a segment that begins at the last ACK, even if the previous
    /// echo is newer (`ts_echo_rfc1323_`).
    pub echoes_next: bool,
}

impl Default for NsConfig {
    /// The defaults of ns-2.35, without a handshake. `useHeaders_` is off, so that a packet has
    /// `packet_bytes` octets with its headers. The clock's phase (how far its tick had advanced at
    /// the start) is the phase that ns-2 draws for its first sender.
    fn default() -> Self {
        let rto = Ns2Config::default();
        let clock = Clock::ticking(rto.tick, Clock::ns2_phase(rto.tick));
        Self {
            packet_bytes: 1000,
            header_bytes: BARE_HEADER_BYTES,
            headers_on_top: false,
            initial_window_segs: 2,
            initial_window_by_size: false,
            receive_window_segs: 20,
            variant: NsVariant::Tahoe,
            handshake: false,
            delay_growth: false,
            limited_transmit: true,
            bugfix: true,
            bugfix_ss: true,
            precise_cut: true,
            frto: false,
            timestamps: false,
            newreno: NsNewReno {
                impatient: true,
                deflates: true,
                exit_fix: false,
                less_careful: false,
                bugfix_ack: false,
                bugfix_ts: false,
            },
            partial_ack_sends: false,
            acks: AckPolicy::EverySegment,
            sink: NsSink { gaps_at_once: true, first_at_once: true, echoes_next: false },
            clock: clock.expect("the phase is within the tick"),
            rto,
        }
    }
}

/// Octets that a timestamp adds to a segment with data in ns-2 if `headers_on_top` is on
/// (`ts_option_size_`).
const STAMP_BYTES: u16 = 10;

impl NsConfig {
    /// Octets of headers and options in a segment with data.
    pub(super) const fn data_header_bytes(&self) -> u16 {
        self.header_bytes + if self.timestamps && self.headers_on_top { STAMP_BYTES } else { 0 }
    }

    /// Octets of payload in a full segment (SMSS of RFC 5681 §2).
    pub const fn smss(&self) -> u16 {
        self.packet_bytes - if self.headers_on_top { 0 } else { self.header_bytes }
    }

    /// The initial window in segments (`initial_window()`).
    pub(super) const fn first_window_segs(&self) -> u32 {
        match self.smss() {
            _ if !self.initial_window_by_size => self.initial_window_segs,
            0..=1095 => 4,
            1096..=2189 => 3,
            _ => 2,
        }
    }

    /// Changes the initial window after a timeout before the first ACK. Only `delay_growth` uses
    /// the changed window, when packet 0 is acknowledged.
    pub(super) fn forget_initial_window(&mut self) {
        if self.initial_window_by_size {
            self.initial_window_by_size = false;
        } else if self.bugfix_ss {
            self.initial_window_segs = 1;
        }
    }

    /// Octets of a full packet on the wire.
    pub const fn full_packet_bytes(&self) -> u16 {
        self.smss() + self.data_header_bytes()
    }
}
