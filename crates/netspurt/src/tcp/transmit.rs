//! The parts that all senders of the network simulator ns-2 share: the sequence space, the timed
//! segment (the segment whose round trip is measured), and outgoing segments. [`SendCount`] also
//! serves the TCP of the RFCs.

use crate::ids::TransmissionId;
use crate::packed::packed;
use crate::rto::Ns2;
use crate::sample::RttSample;
use crate::segment::{Cause, Flags, Segment};
use crate::seq;
use crate::units::Time;

use super::config::NsConfig;
use super::context::Context;
use super::timer::RetransmitTimer;

/// The counts of a sender so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCount {
    /// Segments with payload sent, retransmissions included.
    pub data_segments: u64,
    /// Retransmissions sent. ns-2's senders count only retransmissions with payload. The TCP of the
    /// RFCs also counts retransmissions of a SYN or FIN alone.
    pub retransmissions: u64,
    /// Octets of payload in retransmissions; always 0 in ns-2's senders.
    pub retransmitted_bytes: u64,
    /// Segments known to have arrived, including the SYN and duplicates; always 0 in ns-2's
    /// senders.
    pub delivered_segments: u64,
    /// Segments whose delivery was reported by an ACK that echoed a congestion mark.
    pub marked_segments: u64,
    /// Segments that the peer reported as duplicates; always 0 in ns-2's senders.
    pub reported_duplicates: u64,
    /// How often the retransmission timer fired while octets were outstanding.
    pub timeouts: u64,
    /// How often ACKs or RACK's timer started a repair. A repair that a timeout started does not
    /// count.
    pub fast_retransmits: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Reductions of cwnd that were undone, because the timeout or the recovery that caused them
    /// proved spurious.
    pub undone: u64,
    /// In ns-2's senders: how often the receive window held back data that cwnd allowed. Other
    /// senders have `None`, because they measure the duration of this limit.
    pub window_limited: Option<u64>,
}

packed!(SendCount {
    data_segments,
    retransmissions,
    retransmitted_bytes,
    delivered_segments,
    marked_segments,
    reported_duplicates,
    timeouts,
    fast_retransmits,
    probes,
    undone,
    window_limited
});

/// The sending half's sequence space (RFC 9293 §3.3.1), counted in octets from 1.
///
/// ns-2 counts its SYN as a packet. So here the SYN takes the octets of a full segment, from octet
/// 1 on. On the wire the SYN has the number 0, and data starts at 1.
#[derive(Debug)]
pub(super) struct Transmitter {
    smss: u64,
    /// Octets of headers in an ACK, and in a segment with data.
    header_bytes: [u16; 2],
    /// True if the headers of packet 0 (ns-2's first packet) are not counted when packet 0 carries
    /// data.
    first_is_bare: bool,
    /// The octets that the SYN takes. The value is 0 without a handshake.
    syn_room: u64,
    /// The oldest octet that is not acknowledged.
    pub(super) una: u64,
    /// The next octet to send. It is below `max` during go-back-N.
    pub(super) nxt: u64,
    /// The octet after the highest octet ever sent.
    pub(super) max: u64,
    /// The octet after the last octet that the application wrote.
    pub(super) end: u64,
    pub(super) timer: RetransmitTimer,
    timed: Option<Timed>,
    round: Round,
    sent: u64,
    pub(super) count: SendCount,
}

/// The timed segment.
#[derive(Clone, Copy, Debug)]
struct Timed {
    seq: u64,
    at: Time,
    wire_bytes: u32,
}

/// The count of rounds, which advances with the samples.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    count: u64,
    /// A sample of an ACK beyond this octet begins the next round.
    end: u64,
}

impl Round {
    /// Processes a sample of the cumulative ACK `ack`. If `ack` is beyond the end of the round, the
    /// next round begins. The new round ends at `max`, the first octet that was never sent.
    fn on_sample(&mut self, ack: u64, max: u64) {
        if ack > self.end {
            *self = Round { count: self.count + 1, end: max };
        }
    }
}

impl Transmitter {
    pub(super) fn new(config: &NsConfig) -> Self {
        let clock =
            if config.timestamps { config.clock.to_the_nearest_tick() } else { config.clock };
        let timer = RetransmitTimer::new(Box::new(Ns2::new(config.rto)), clock);
        let smss = u64::from(config.smss());
        Self {
            smss,
            header_bytes: [config.header_bytes, config.data_header_bytes()],
            first_is_bare: config.headers_on_top,
            syn_room: if config.handshake { smss } else { 0 },
            una: 1,
            nxt: 1,
            max: 1,
            end: 1,
            timer,
            timed: None,
            round: Round::default(),
            sent: 0,
            count: SendCount::default(),
        }
    }

    /// Octets of payload in a full segment.
    pub(super) fn smss(&self) -> u64 {
        self.smss
    }

    /// The number of segments in a span of octets. A shorter last segment counts as one.
    pub(super) fn segs(&self, octets: u64) -> u64 {
        octets.div_ceil(self.smss)
    }

    /// Octets of data acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.una.saturating_sub(1 + self.syn_room)
    }

    /// Octets of data written and not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.end.saturating_sub(self.una.max(1 + self.syn_room))
    }

    /// Octets of data sent and not acknowledged.
    pub(super) fn flight_bytes(&self) -> u64 {
        self.max.saturating_sub(self.una.max(1 + self.syn_room))
    }

    /// Adds the octets that the application wrote; `octets` is their number. With a handshake, a
    /// SYN is queued before the first octet.
    pub(super) fn write(&mut self, octets: u64) {
        let syn = if self.end == 1 { self.syn_room } else { 0 };
        self.end = self.end.saturating_add(octets).saturating_add(syn);
    }

    /// The number of octets that the SYN takes. Octet numbers in this type are larger by this
    /// number than the numbers on the wire.
    #[inline]
    pub(super) fn syn_room(&self) -> u64 {
        self.syn_room
    }

    /// The octet at which the first packet after packet 0 starts.
    #[inline]
    pub(super) fn second(&self) -> u64 {
        1 + self.smss
    }

    /// The octet at which the packet that ends at the octet `end` starts.
    pub(super) fn start_of(&self, end: u64) -> u64 {
        let whole_bytes = end.saturating_sub(2) / self.smss * self.smss;
        1 + whole_bytes
    }

    /// Converts `wire`, the acknowledgment number of an ACK, to the octet number that this type
    /// uses.
    #[inline]
    pub(super) fn count(&self, wire: u32) -> u64 {
        let near = self.una.saturating_sub(self.syn_room);
        let octet = seq::from_wire(seq::SIMULATED_ISN, wire, near);
        if octet == 0 { 1 } else { octet + self.syn_room }
    }

    /// An octet's number on the wire.
    #[inline]
    fn wire(&self, octet: u64) -> u32 {
        seq::to_wire(seq::SIMULATED_ISN, octet.saturating_sub(self.syn_room))
    }

    /// The cause of the first retransmission after a timeout.
    pub(super) fn cause_after_timeout(&self) -> Cause {
        if self.una < 1 + self.syn_room { Cause::Syn } else { Cause::Rto }
    }

    /// Whether octets are outstanding.
    pub(super) fn outstanding(&self) -> bool {
        self.una < self.max
    }

    /// Sends the segment that starts at octet `seq`. If the segment was sent before, `cause` is the
    /// cause of the retransmission.
    ///
    /// New data is timed if no other data is being timed. The timer starts if it is idle, or if
    /// everything was acknowledged (RFC 6298 §5.1).
    pub(super) fn send(&mut self, seq: u64, cause: Option<Cause>, cx: &mut Context<'_>) {
        let all_acked = !self.outstanding();
        // ns-2 counts whole packets and does not check whether there is data. So a fast retransmit
        // after everything was acknowledged sends a full packet beyond the data.
        let len = match self.end.saturating_sub(seq) {
            0 => self.smss,
            left => left.min(self.smss),
        };
        let cause = if seq < self.max { cause } else { None };
        let mut segment = self.packet(seq, len, cx);
        if seq >= self.max {
            self.max = seq + len;
            let wire_bytes = segment.size_bytes.into();
            self.timed.get_or_insert(Timed { seq, at: cx.now, wire_bytes });
        } else if segment.len > 0 {
            self.count.retransmissions += 1;
        }
        if self.timer.is_idle() || all_acked {
            self.timer.arm(cx.now);
        }
        self.count.data_segments += u64::from(segment.len > 0);
        segment.cause = cause.into();
        segment.set_stamp(cx.now);
        cx.outbox.push_back(segment);
    }

    /// Makes the packet that starts at octet `seq`: the SYN if `seq` belongs to the SYN, otherwise
    /// `len` octets of data.
    #[inline]
    fn packet(&mut self, seq: u64, len: u64, cx: &Context<'_>) -> Segment {
        let mut segment = self.blank(cx);
        segment.seq = self.wire(seq);
        if seq < 1 + self.syn_room {
            segment.flags = Flags::SYN;
            segment.ack = 0;
            return segment;
        }
        segment.len = len as u16;
        let headers = if self.first_is_bare && seq == 1 { 0 } else { self.header_bytes[1] };
        segment.size_bytes = headers + segment.len;
        segment
    }

    /// A new segment without payload.
    #[inline]
    pub(super) fn blank(&mut self, cx: &Context<'_>) -> Segment {
        self.sent += 1;
        Segment {
            id: TransmissionId::new(cx.end, self.sent),
            dest: cx.end.peer(),
            seq: seq::to_wire(seq::SIMULATED_ISN, self.nxt.saturating_sub(self.syn_room).max(1)),
            ack: seq::to_wire(seq::SIMULATED_ISN, 1),
            size_bytes: self.header_bytes[0],
            window: u16::MAX,
            flags: Flags::ACK,
            ..Segment::default()
        }
    }

    /// Takes the sample of the timed segment if the cumulative ACK `ack` covers this segment.
    pub(super) fn take_sample(&mut self, ack: u64, acked_bytes: u64, cx: &mut Context<'_>) {
        let Some(timed) = self.timed.take_if(|timed| ack > timed.seq) else { return };
        let sample = self.label(ack, acked_bytes);
        let sample = RttSample { sent: timed.at, wire_bytes: timed.wire_bytes, ..sample };
        self.timer.sample(sample, cx);
    }

    /// Returns a sample without times for the cumulative ACK `ack`. It contains the acknowledged
    /// octets, the flight size, the SMSS and the round.
    pub(super) fn label(&mut self, ack: u64, acked_bytes: u64) -> RttSample {
        self.round.on_sample(ack, self.max);
        RttSample {
            acked_bytes,
            flight_bytes: self.flight_bytes(),
            smss_bytes: self.smss as u32,
            round: self.round.count,
            ..RttSample::default()
        }
    }

    /// Ends timing without a sample (Karn and Partridge 1987).
    pub(super) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Ends timing without a sample if `ack` covers the timed segment, and reports to the timer
    /// that an ACK covered the timed segment.
    pub(super) fn stop_timing_covered(&mut self, ack: u64) {
        if self.timed.take_if(|timed| ack > timed.seq).is_some() {
            self.timer.progress(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux's rule: when a round begins, the sender stores the next octet to be sent. The round
    /// ends, and the next round begins, with the first sample of an ACK beyond this octet. An ACK
    /// of exactly this octet does not end the round.
    #[test]
    fn a_round_ends_with_an_ack_beyond_the_octet_that_was_next_to_be_sent() {
        let mut round = Round::default();
        let counts = [(961, 3841), (1921, 4801), (3841, 6721), (4801, 7681), (5761, 8641)].map(
            |(ack, max)| {
                round.on_sample(ack, max);
                round.count
            },
        );
        assert_eq!(counts, [1, 1, 1, 2, 2]);
        assert_eq!(round.end, 7681);
    }
}
