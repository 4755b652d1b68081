//! The statistics of one direction of a connection. They include all statistics that the program
//! tcptrace prints in its long output.

mod ceiling;
mod copies;
mod course;
mod data;
mod delay_changes;
mod delivered;
mod duplicate_acks;
mod first_flight;
mod flight;
mod packets;
mod repairs;
mod round_trips;
mod seen;
mod spread;
mod times;
mod windows;

pub use ceiling::{CeilingSeries, FlightCeiling};
pub use copies::Copies;
pub use course::{Course, SteadyCourse};
pub use data::DataCounts;
pub use delay_changes::{ChangeSums, DelayChanges};
pub use duplicate_acks::DuplicateAcks;
pub use first_flight::FirstFlight;
pub use flight::FlightSize;
pub use packets::{Offers, PacketStatistics};
pub use repairs::Repairs;
pub use round_trips::RoundTripStatistics;
pub use spread::Spread;
pub use times::PacketTimes;
pub use windows::Windows;

use std::mem::take;

use crate::observe::{Answer, CoveredBy, OneWay, Transmission};
use crate::packed::packed;
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::kept::{Acknowledged, CapturedSegment};
use super::probed_octet::ProbedOctet;
use data::SegmentKind;
use delivered::Delivered;
use seen::{LateSegment, NewOctets, SeenOctets};

/// Counts, sizes, round trips and times of one direction.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Packets by their flags.
    pub packets: PacketStatistics,
    /// What the packets offer in their flags and options, such as an MSS or SACK.
    pub offers: Offers,
    /// The payload of the packets.
    pub data: DataCounts,
    /// The receive windows that the packets advertise.
    pub windows: Windows,
    /// The data that was sent with the initial window.
    pub first_flight: FirstFlight,
    /// How many octets were outstanding.
    pub flight: FlightSize,
    /// Round trips, measured by the acknowledgments of this direction's data.
    pub round_trips: RoundTripStatistics,
    /// Duplicate acknowledgments of this direction's data.
    pub duplicate_acks: DuplicateAcks,
    /// Statistics of segments that were sent more than once. `None` without such segments.
    pub repairs: Option<Box<Repairs>>,
    /// When the packets were captured.
    pub times: PacketTimes,
    /// Copies of packets that the network or the capturing host made.
    pub copies: Copies,
    /// The rate and the round trips over time. `None` until data is acknowledged after
    /// [`Course::FEWEST_BYTES`] octets were captured.
    pub course: Option<Box<Course>>,
    /// The sequence number of the SYN, unwrapped.
    syn: Option<u64>,
    /// The sequence number of the FIN, unwrapped.
    fin: Option<u64>,
    /// Whether data was acknowledged.
    data_acked: bool,
    /// The octets that the current acknowledgment reports as arrived.
    delivered: Delivered,
    probed: ProbedOctet,
    seen: SeenOctets,
}

impl Statistics {
    /// Takes a packet of this direction. `sent` is the range of its sequence numbers, which the
    /// caller has added to `octets`. `None` if the packet occupies no sequence numbers or is a
    /// reset. `shift` is the window scale shift, or `None` if the capture does not show that
    /// windows are scaled.
    #[inline]
    pub fn sent(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        sent: Option<Transmission>,
        octets: &OneWay<CapturedSegment>,
        shift: Option<u8>,
    ) {
        self.packets.take(packet, 1);
        self.offers.take(packet);
        self.copies.take(packet);
        self.windows.take(at, packet, shift, 1);
        self.times.take(at, packet.len() > 0);
        if packet.len() > 0 {
            self.data.take(packet, 1);
        }
        let kind = sent.map(|sent| self.place(at, packet, sent, octets));
        if self.first_flight.is_open() && sent.is_some() {
            let new = matches!(kind, Some(SegmentKind::New | SegmentKind::OutOfOrder));
            self.first_flight.take(at, packet.len(), new, self.handshake());
        }
        let orderly = !matches!(kind, Some(SegmentKind::Retransmission | SegmentKind::OutOfOrder));
        if orderly && !packet.flags().has(Flags::SYN) && !packet.flags().has(Flags::RST) {
            let begin =
                sent.map_or_else(|| octets.sequence().octet(packet.seq()), |sent| sent.left);
            let end = begin + u64::from(packet.len());
            self.flight.look(end.saturating_sub(octets.una()));
        }
        if let Some(sent) = sent {
            let flight = outstanding(octets);
            self.flight.change(at, flight);
            if let Some(course) = self.course.as_deref_mut() {
                if sent.again {
                    course.ceiling.interrupted();
                } else {
                    course.ceiling.outstanding(flight);
                    course.sent(at, sent.right - sent.left);
                }
            }
        }
    }

    /// Takes a packet that occupies sequence numbers, and returns its kind.
    #[inline]
    fn place(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        sent: Transmission,
        octets: &OneWay<CapturedSegment>,
    ) -> SegmentKind {
        let Transmission { left, right, .. } = sent;
        let known = self.seen.end();
        let mut new_octets = self.seen.take(left, right, at);
        if self.probed.begins((left, right), octets.una(), known) {
            new_octets = NewOctets::default();
            // `unique_bytes` contains the octet of the window probe. This segment adds the octet
            // again, so 1 is subtracted. If a FIN had this sequence number before, the probe added
            // nothing, and `unique_bytes` may be 0.
            self.data.unique_bytes = self.data.unique_bytes.saturating_sub(1);
        }
        self.probed.take(left, packet, self.duplicate_acks.closed);
        if packet.flags().has(Flags::SYN) {
            self.syn = Some(left);
        }
        if packet.flags().has(Flags::FIN) {
            self.fin = Some(right - 1);
        }
        if new_octets.repeated > 0 && left < octets.una() {
            self.round_trips.repeated(at);
        }
        self.kind(packet, new_octets, 1)
    }

    /// Takes `many` packets that occupy sequence numbers, and returns their kind.
    #[inline]
    fn kind(&mut self, packet: &impl CapturedTcp, new_octets: NewOctets, many: u64) -> SegmentKind {
        let kind = self.data.place(packet, new_octets, self.duplicate_acks.closed, many);
        if packet.len() > 0 && !self.data_acked {
            self.data.begin(packet, kind, many);
        }
        kind
    }

    /// Whether `left` is the octet after the highest octet captured.
    #[inline]
    pub fn goes_on_at(&self, left: u64) -> bool {
        self.seen.goes_on_at(left)
    }

    /// Like [`sent`](Self::sent), for a segment of new octets that continues the segment before it.
    /// After a series of such segments, the caller calls [`continued`](Self::continued) once.
    #[inline]
    pub fn continuing(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        sent: Transmission,
        octets: &OneWay<CapturedSegment>,
    ) {
        self.copies.take(packet);
        self.times.take(at, true);
        self.seen.take(sent.left, sent.right, at);
        self.probed.take(sent.left, packet, self.duplicate_acks.closed);
        if self.first_flight.is_open() {
            let open = !self.duplicate_acks.closed;
            self.first_flight.take(at, packet.len(), open, self.handshake());
        }
        self.flight.look(sent.right.saturating_sub(octets.una()));
        let flight = outstanding(octets);
        self.flight.change(at, flight);
        if let Some(course) = &mut self.course {
            course.ceiling.outstanding(flight);
            course.sent(at, sent.right - sent.left);
        }
    }

    /// Takes the fields that are equal in a series of `many` segments, such as flags and window.
    /// [`continuing`](Self::continuing) has taken each segment of the series. `packet` is one of
    /// these segments.
    #[inline]
    pub fn continued(&mut self, packet: &impl CapturedTcp, shift: Option<u8>, many: u32) {
        self.packets.take(packet, many);
        self.windows.take(self.times.last, packet, shift, many.into());
        self.data.take(packet, many.into());
        self.kind(packet, NewOctets::default(), many.into());
    }

    /// Takes a segment that begins at or below the highest octet sent. The caller must not add the
    /// segment to `octets` before this call. Window probes are no retransmissions. A segment that
    /// repeats the octet of a window probe is no retransmission, either.
    pub fn repeating(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        (left, right): (u64, u64),
        octets: &OneWay<CapturedSegment>,
    ) {
        let probes = self.duplicate_acks.closed && !packet.flags().has(Flags::SYN);
        if probes || self.probed.begins((left, right), octets.una(), self.seen.end()) {
            return;
        }
        let first = octets.outstanding().partition_point(|one| one.right <= left);
        let again = octets.outstanding().get(first).filter(|one| one.left < right);
        if let Some(segment) = again {
            let gap = at.saturating_since(segment.last_sent);
            let count = u64::from(segment.retransmissions) + 1;
            self.repairs.get_or_insert_default().take(count, gap);
        }
    }

    /// Takes an acknowledgment of all octets below `ack`, captured at the instant `at`. Afterwards,
    /// the caller calls [`covered`](Self::covered) for each segment that the acknowledgment covers.
    #[inline]
    pub fn acknowledging(&mut self, at: Time, ack: u64) {
        let Self { seen, round_trips, .. } = self;
        seen.acknowledge(ack, |LateSegment { left, right, sent }| {
            if round_trips.cover(sent, right == ack) {
                round_trips.sample(at.saturating_since(sent), right - left, false);
            }
        });
    }

    /// Notes that the acknowledgment with the number `ack` newly covers `segment`.
    #[inline]
    pub fn covered(&mut self, at: Time, ack: u64, segment: &Acknowledged, covered: CoveredBy) {
        self.delivered.covered(segment, covered);
        if covered == CoveredBy::ByBlock {
            self.first_flight.end();
            return;
        }
        let sent = segment.last_sent;
        if segment.continues {
            // This is a part of a segment that a retransmission or a SACK block divided, and not
            // the last part. Only the last part counts.
            self.round_trips.cover_part(sent);
            return;
        }
        if !self.round_trips.cover(sent, segment.right == ack) {
            return;
        }
        let rtt = at.saturating_since(sent);
        // A retransmission may end with new octets, which are then a separate outstanding segment.
        // `retransmissions` is 1 for this segment, although it was sent only once.
        let once = segment.retransmissions == 0
            || segment.retransmissions == 1 && segment.first_sent == sent;
        if once {
            let syn = self.syn == Some(segment.left);
            let fin = self.fin.is_some_and(|fin| fin + 1 == segment.right);
            let payload_bytes =
                (segment.right - segment.left).saturating_sub(u64::from(syn) + u64::from(fin));
            self.round_trips.sample(rtt, payload_bytes, syn);
        } else {
            self.repairs.get_or_insert_default().ambiguous.add(rtt);
        }
    }

    /// Takes an acknowledgment, which the caller has added to `octets`. It acknowledges all octets
    /// below `ack`. `raised` says whether some of them were not acknowledged before.
    #[inline]
    pub fn answered(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        (ack, raised): (u64, bool),
        octets: &OneWay<CapturedSegment>,
    ) {
        let sequence = octets.sequence();
        let repeats = !raised && ack == octets.una() && sequence.highest() > octets.una();
        let duplicates = self.duplicate_acks.count;
        self.duplicate_acks.take(packet, repeats);
        self.data_acked |= octets.una() > sequence.first() + 1;
        if self.data_acked || self.duplicate_acks.count > duplicates {
            self.first_flight.end();
        }
        if raised {
            self.flight.change(at, outstanding(octets));
            if let Some(course) = &mut self.course {
                let segment = u64::from(self.data.bytes_max).min(Course::SEGMENT_BYTES_MAX);
                course.ceiling.acked(at, (octets.una(), sequence.highest()), segment);
            }
        }
    }

    /// Takes the result `answer` of an acknowledgment that was captured at the instant `at`. `rtt`
    /// is the shortest round trip of the sender, if it is known.
    #[inline]
    pub fn progressed(&mut self, at: Time, answer: &Answer, rtt: Option<Duration>) {
        let delivered = take(&mut self.delivered);
        let bytes = delivered.bytes(answer.acked_bytes);
        if bytes == 0 {
            return;
        }
        if let Some(course) = &mut self.course {
            course.take(at, bytes, delivered.rtt(at));
        } else if self.data.unique_bytes >= Course::FEWEST_BYTES {
            self.course = Some(Box::new(Course::from(at, rtt.unwrap_or_default())));
        }
    }

    /// Whether octets below the highest octet captured are missing, or came late and are not
    /// acknowledged.
    pub fn has_holes(&self) -> bool {
        self.seen.has_holes()
    }

    /// The number of octets of the stream between the SYN and the FIN. `None` if the SYN or the FIN
    /// was not captured.
    pub fn stream_bytes(&self) -> Option<u64> {
        self.fin?.checked_sub(self.syn? + 1)
    }

    /// The number of octets of the stream that were not captured. Negative if octets beyond the FIN
    /// were captured.
    pub fn missing_bytes(&self) -> Option<i64> {
        Some(self.stream_bytes()?.cast_signed() - self.data.unique_bytes.cast_signed())
    }

    /// The number of octets of payload (each octet is counted once) divided by the time `span` of
    /// the connection. The result is in bits per second.
    pub fn throughput_bps(&self, span: Duration) -> Option<f64> {
        (!span.is_zero()).then(|| 8.0 * self.data.unique_bytes as f64 / span.as_secs_f64())
    }

    /// The round trip of the SYN. `None` unless the SYN was sent once.
    fn handshake(&self) -> Option<Duration> {
        self.handshake_ns().map(Duration::from_nanos)
    }

    /// The round trip of the SYN, in nanoseconds. `None` unless the SYN was sent once.
    pub fn handshake_ns(&self) -> Option<u64> {
        self.round_trips.handshake.filter(|_| self.packets.syns == 1)
    }
}

/// The number of octets that were sent and are not acknowledged.
fn outstanding(octets: &OneWay<CapturedSegment>) -> u64 {
    octets.sequence().highest().saturating_sub(octets.una())
}

/// The packed form of the statistics. To save memory, a closed connection that had no packets for a
/// while stores its statistics in this form.
mod rest {
    use super::{Course, Repairs, Statistics, packed};
    use crate::packed::PackedValue;

    impl PackedValue for Box<Course> {
        fn put(&self, into: &mut Vec<u8>) {
            (**self).put(into);
        }

        fn get(from: &mut &[u8]) -> Self {
            Box::new(Course::get(from))
        }
    }

    impl PackedValue for Box<Repairs> {
        fn put(&self, into: &mut Vec<u8>) {
            (**self).put(into);
        }

        fn get(from: &mut &[u8]) -> Self {
            Box::new(Repairs::get(from))
        }
    }

    packed!(Statistics {
        packets,
        offers,
        data,
        windows,
        first_flight,
        flight,
        round_trips,
        duplicate_acks,
        repairs,
        times,
        copies,
        course,
        syn,
        fin,
        data_acked,
        seen,
    } keeps { delivered, probed });
}
