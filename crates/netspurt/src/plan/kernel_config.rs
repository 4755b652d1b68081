//! The configuration of Linux's own TCP (the kernel's TCP), as plain data. Live runs use it.

use crate::units::Duration;
use crate::wire::BARE_HEADER_BYTES;

/// A named set of values for the kernel's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelProfile {
    /// Reno without options, as far as the kernel's switches allow.
    Reno1998,
    /// Like `Reno1998`, with the initial window of RFC 3390.
    Reno2005,
    /// The kernel's defaults, each set explicitly.
    LinuxDefault,
}

impl KernelProfile {
    /// The name that scenarios use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno1998 => "reno-1998",
            Self::Reno2005 => "reno-2005",
            Self::LinuxDefault => "linux-default",
        }
    }
}

/// The configuration of the kernel's TCP at one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTcp {
    /// The profile that gives every value that a scenario does not set.
    pub profile: KernelProfile,
    /// The initial cwnd, in segments.
    pub initial_window_segs: u32,
    /// Octets of the largest packet.
    pub packet_bytes: u16,
    /// Octets of IP and TCP headers without options.
    pub header_bytes: u16,
    /// The congestion control algorithm, by the kernel's name.
    pub congestion: &'static str,
    /// Whether SACK blocks are offered and accepted (RFC 2018).
    pub sack: bool,
    /// Whether timestamps are offered and accepted (RFC 7323 §3).
    pub timestamps: bool,
    /// Whether window scaling is offered and accepted (RFC 7323 §2).
    pub window_scaling: bool,
    /// Whether the sender asks for congestion marks (RFC 3168).
    pub ecn: bool,
    /// Whether losses are found by time (RFC 8985).
    pub rack: bool,
    /// Whether tail loss probes are sent (RFC 8985 §7).
    pub tlp: bool,
    /// Whether spurious timeouts are detected (RFC 5682).
    pub frto: bool,
    /// Whether the receiver acknowledges every segment immediately.
    pub quick_acks: bool,
    /// Whether a short segment is held back while another short segment is outstanding
    /// (`tcp_nagle_check`).
    pub nagle: bool,
    /// The maximum window that the receiver advertises, in octets, during the whole connection.
    /// With `None` and window scaling, the buffer begins with the kernel's default size and grows.
    /// With `None` and without window scaling, the buffer is set for a window of 16 bits and does
    /// not grow.
    pub receive_buffer_bytes: Option<u32>,
    /// The minimum time that the retransmission timer adds to the smoothed round trip.
    pub rto_min: Duration,
    /// The number of duplicate ACKs that indicate a loss.
    pub dup_thresh: u32,
}

impl KernelTcp {
    /// Octets of payload in a full segment.
    pub fn smss(&self) -> u16 {
        let options = if self.timestamps { 12 } else { 0 };
        self.packet_bytes - self.header_bytes - options
    }
}

impl KernelTcp {
    /// The configuration of this profile.
    pub fn of(profile: KernelProfile) -> Self {
        let modern = profile == KernelProfile::LinuxDefault;
        Self {
            profile,
            initial_window_segs: match profile {
                KernelProfile::Reno1998 => 1,
                KernelProfile::Reno2005 => 3,
                KernelProfile::LinuxDefault => 10,
            },
            packet_bytes: 1500,
            header_bytes: BARE_HEADER_BYTES,
            congestion: if modern { "cubic" } else { "reno" },
            sack: modern,
            timestamps: modern,
            window_scaling: modern,
            ecn: false,
            rack: modern,
            tlp: modern,
            frto: modern,
            quick_acks: false,
            nagle: true,
            receive_buffer_bytes: None,
            rto_min: Duration::from_millis(200),
            dup_thresh: 3,
        }
    }
}
