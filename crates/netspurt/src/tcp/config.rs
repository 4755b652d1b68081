//! The switches of a connection.

use std::sync::Arc;

use crate::clock::Clock;
use crate::rto::Ns2Config;
use crate::units::Duration;

use super::rfc::RfcConfig;
use crate::wire::{BARE_HEADER_BYTES, TCP_HEADER_BYTES, full_payload};

/// The senders of ns-2.35.
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
    /// Whether the sink has to report what arrived out of order.
    pub const fn needs_sack(self) -> bool {
        matches!(self, NsVariant::Sack | NsVariant::Fack)
    }
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// At once, each segment.
    EverySegment,
    /// Every second segment, or when this long has passed; anything out of order at once.
    Delayed(Duration),
}

/// Everything that sets one connection apart from another.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpConfig {
    /// ns-2's one-way senders and sinks, which count packets.
    Ns(NsConfig),
    /// The TCP of the RFCs, which counts octets.
    Rfc(Arc<RfcConfig>),
}

impl From<RfcConfig> for TcpConfig {
    fn from(config: RfcConfig) -> Self {
        Self::Rfc(Arc::new(config))
    }
}

impl TcpConfig {
    /// Octets of payload in a full segment (SMSS of RFC 5681 §2), between two ends alike.
    pub fn smss(&self) -> u16 {
        match self {
            TcpConfig::Ns(config) => config.smss(),
            TcpConfig::Rfc(config) => full_payload(config.mss, config.timestamps),
        }
    }

    /// Octets of a full packet, headers included.
    pub fn packet_bytes(&self) -> u16 {
        match self {
            TcpConfig::Ns(config) => config.packet_bytes,
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

/// The switches of ns-2's senders and sinks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsConfig {
    /// Octets of a full IP datagram: headers and payload.
    pub packet_bytes: u16,
    /// Octets of headers in each; also the size of an ACK without options.
    pub header_bytes: u16,
    /// Segments sent at the start of the connection. Later slow starts begin with one.
    pub initial_window_segs: u32,
    /// The receiver's window in segments; never filled beyond.
    pub receive_window_segs: u32,
    /// Which of the senders.
    pub variant: NsVariant,
    /// One new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// No second fast retransmit for losses of one window (ns-2's `bugFix_`; RFC 2582 §5).
    pub bugfix: bool,
    /// When the receiving side acknowledges.
    pub acks: AckPolicy,
    /// How the sender reads round trips.
    pub clock: Clock,
    /// The constants of its timer.
    pub rto: Ns2Config,
}

impl Default for NsConfig {
    /// The defaults of ns-2.35, with `useHeaders_` off, so that a packet has the size it says; its
    /// clock has the phase that ns-2 draws for its first sender.
    fn default() -> Self {
        let rto = Ns2Config::default();
        let clock = Clock::ticking(rto.tick, Clock::ns2_phase(rto.tick));
        Self {
            packet_bytes: 1000,
            header_bytes: BARE_HEADER_BYTES,
            initial_window_segs: 2,
            receive_window_segs: 20,
            variant: NsVariant::Tahoe,
            limited_transmit: true,
            bugfix: true,
            acks: AckPolicy::EverySegment,
            clock: clock.expect("a phase within the tick"),
            rto,
        }
    }
}

impl NsConfig {
    /// Octets of payload in a full segment (SMSS of RFC 5681 §2).
    pub const fn smss(&self) -> u16 {
        self.packet_bytes - self.header_bytes
    }
}
