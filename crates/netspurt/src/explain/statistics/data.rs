//! Counts of payload: new octets, repeated octets, and octets that were not captured.

use crate::packed::packed_value;
use crate::segment::Flags;
use crate::wire::CapturedTcp;

use super::seen::NewOctets;

/// The payload of a direction, as numbers of segments and of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataCounts {
    /// Segments with payload.
    pub packets: u64,
    /// Octets of payload, including repeated octets.
    pub bytes: u64,
    /// Octets of payload, each counted once.
    pub unique_bytes: u64,
    /// The payload of the largest segment, in octets.
    pub bytes_max: u32,
    /// The payload of the smallest segment with payload, in octets.
    pub bytes_min: u32,
    /// Segments with sequence numbers that were captured before in this direction. SYN and FIN have
    /// one sequence number each.
    pub retransmissions: u64,
    /// How many sequence numbers of the `retransmissions` were captured before.
    pub retransmitted_bytes: u64,
    /// Segments with new sequence numbers that came after higher sequence numbers.
    pub out_of_order: u64,
    /// Segments with payload or a FIN that were sent while the peer's window was zero, except SYNs.
    /// They count neither as retransmissions nor as segments out of order.
    pub window_probes: u64,
    /// Octets of payload of the window probes.
    pub window_probe_bytes: u64,
    /// Segments whose payload was not captured in full.
    pub cut_packets: u64,
    /// Octets of payload that were not captured.
    pub cut_bytes: u64,
    /// Octets of payload that were sent before the first acknowledgment of data, without
    /// retransmissions. This is tcptrace's initial window. [`FirstFlight`](super::FirstFlight) has
    /// the initial window of the sender.
    pub initial_window_bytes: u64,
    /// The number of segments with the octets that `initial_window_bytes` counts.
    pub initial_window_packets: u64,
}

packed_value!(DataCounts {
    packets,
    bytes,
    unique_bytes,
    bytes_max,
    bytes_min,
    retransmissions,
    retransmitted_bytes,
    out_of_order,
    window_probes,
    window_probe_bytes,
    cut_packets,
    cut_bytes,
    initial_window_bytes,
    initial_window_packets,
});

/// The kind of a segment that occupies sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// New octets above all octets that were captured before.
    New,
    /// Octets that were captured before.
    Retransmission,
    /// New octets below octets that were captured before.
    OutOfOrder,
    /// A probe of a zero window.
    WindowProbe,
}

impl DataCounts {
    /// Takes `many` packets with as much payload as `packet`.
    #[inline]
    pub fn take(&mut self, packet: &impl CapturedTcp, many: u64) {
        let bytes = packet.len();
        self.bytes_max = self.bytes_max.max(bytes);
        self.bytes_min = if self.packets == 0 { bytes } else { self.bytes_min.min(bytes) };
        self.packets += many;
        self.bytes += u64::from(bytes) * many;
        let cut = bytes.saturating_sub(packet.captured_bytes());
        self.cut_bytes += u64::from(cut) * many;
        self.cut_packets += if cut > 0 { many } else { 0 };
    }

    /// Takes `many` packets, each with as many sequence numbers as `packet`, and returns their
    /// kind. `new_octets` says which sequence numbers of each packet are new. `closed` says whether
    /// the peer's window is zero.
    #[inline]
    pub fn place(
        &mut self,
        packet: &impl CapturedTcp,
        new_octets: NewOctets,
        closed: bool,
        many: u64,
    ) -> SegmentKind {
        let flags = packet.flags();
        let (syn, fin) = (flags.has(Flags::SYN), flags.has(Flags::FIN));
        // SYN and FIN do not count as payload.
        let outside = u64::from(syn && new_octets.first_repeated)
            + u64::from(fin && new_octets.last_repeated);
        let repeated = new_octets.repeated.saturating_sub(outside);
        self.unique_bytes += u64::from(packet.len()).saturating_sub(repeated) * many;
        if closed && !syn {
            self.window_probes += many;
            self.window_probe_bytes += u64::from(packet.len()) * many;
            return SegmentKind::WindowProbe;
        }
        if new_octets.repeated > 0 {
            self.retransmissions += many;
            self.retransmitted_bytes += new_octets.repeated * many;
            return SegmentKind::Retransmission;
        }
        self.out_of_order += if new_octets.late { many } else { 0 };
        if new_octets.late { SegmentKind::OutOfOrder } else { SegmentKind::New }
    }

    /// The mean payload of the segments with payload.
    pub fn bytes_mean(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.bytes as f64 / self.packets as f64)
    }

    /// Takes `many` segments of one kind, each with as much payload as `packet`. They were sent
    /// before the first acknowledgment of data.
    #[inline]
    pub fn begin(&mut self, packet: &impl CapturedTcp, kind: SegmentKind, many: u64) {
        if kind != SegmentKind::Retransmission {
            self.initial_window_bytes += u64::from(packet.len()) * many;
            self.initial_window_packets += many;
        }
    }
}
