//! The largest datagram that a link carries, and what happens to larger datagrams.

use crate::ip::{fragment_payload, full_fragments};
use crate::segment::IPV4_HEADER_BYTES;

/// What a link does with a datagram that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooBig {
    /// Sends the datagram in fragments (RFC 791 §2.3).
    Fragment,
    /// Drops the datagram, as if all datagrams forbade fragmentation. The sender is not informed,
    /// because ICMP is not modelled.
    Drop,
}

/// The largest datagram that a link carries.
///
/// ```
/// use netspurt::link::{Mtu, TooBig};
/// assert!(Mtu::new(68, TooBig::Fragment).is_some() && Mtu::new(67, TooBig::Fragment).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mtu {
    bytes: u32,
    too_big: TooBig,
}

impl Mtu {
    /// The least possible limit in octets, because every link of the internet must carry a datagram
    /// of this size (RFC 791 §3.2).
    pub const BYTES_MIN: u32 = 68;

    /// A limit of `bytes` octets, if it is at least [`BYTES_MIN`](Self::BYTES_MIN).
    pub const fn new(bytes: u32, too_big: TooBig) -> Option<Self> {
        if bytes < Self::BYTES_MIN { None } else { Some(Self { bytes, too_big }) }
    }

    /// The limit in octets.
    pub(super) fn bytes(self) -> u32 {
        self.bytes
    }

    /// What the link does with a larger datagram.
    pub(super) fn too_big(self) -> TooBig {
        self.too_big
    }

    /// Whether a frame of `size` octets is sent in fragments.
    pub(super) fn fragments_frame(self, size: u32) -> bool {
        self.too_big == TooBig::Fragment && size > self.bytes
    }

    /// The octets of the largest frame that the link sends for a frame of `size` octets. If the
    /// link drops larger frames, the result is at most the limit.
    pub(super) fn largest_part(self, size: u32) -> u32 {
        match self.too_big {
            _ if size <= self.bytes => size,
            TooBig::Fragment => {
                let header = u32::from(IPV4_HEADER_BYTES);
                let (full, payload) = (fragment_payload(self.bytes), size - header);
                let last = payload - full_fragments(payload, self.bytes) * full;
                header + full.max(last)
            }
            TooBig::Drop => self.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DropReason;
    use crate::event::{Wanted, What};
    use crate::ids::TransmissionId;
    use crate::link::alone::SingleLink;
    use crate::link::{
        Delay, Effects, Framing, LinkConfig, LinkCount, Order, Pick, Queue, QueueLimit,
    };
    use crate::segment::Segment;
    use crate::units::{BitRate, Duration, Time};

    /// A datagram of this size.
    fn datagram(size_bytes: u16) -> Segment {
        Segment { id: TransmissionId::from_bits(9), size_bytes, ..Segment::default() }
    }

    /// Makes a link of 8 kbit/s, on which an octet takes a millisecond.
    fn link(mtu: Option<Mtu>, queue: QueueLimit, effects: Option<Effects>) -> SingleLink {
        let rate = BitRate::new(8000).unwrap().into();
        let delay = Delay::constant(Duration::ZERO);
        let (order, queue) = (Order::Fifo, Queue::DropTail(queue));
        let framing = Framing::NONE;
        let wanted = Wanted { drops: true, ..Wanted::default() };
        let handovers = Vec::new();
        let config = LinkConfig { rate, framing, delay, order, mtu, queue, effects, handovers };
        SingleLink::new(3, config, wanted)
    }

    /// The arrivals of a datagram's frames (the time in milliseconds and the octets of each), the
    /// reported events, and the counts.
    type Outcome = (Vec<(u64, u16)>, Vec<What<Segment>>, LinkCount);

    /// Sends one datagram through `link`.
    fn arrivals(mut link: SingleLink, frame: Segment) -> Outcome {
        link.push(Time::ZERO, frame);
        let mut out = Vec::new();
        while let Some((at, frame)) = link.pop(Time::NEVER) {
            out.push((at.as_nanos() / 1_000_000, frame.size_bytes));
        }
        let (events, count) = link.finish();
        (out, events.into_iter().map(|event| event.what).collect(), count)
    }

    #[test]
    fn every_fragment_takes_its_own_time_on_the_line() {
        let narrow = link(Mtu::new(576, TooBig::Fragment), QueueLimit::Unlimited, None);
        let (out, _, count) = arrivals(narrow, datagram(1500));
        // 1480 octets are sent as 552, 552 and 376 octets, each after a header of 20 octets.
        assert_eq!(out, [(572, 572), (1144, 572), (1540, 396)]);
        assert_eq!((count.carried, count.carried_bytes), (3, 1540));
    }

    #[test]
    fn each_fragment_is_queued_and_lost_by_itself() {
        let two = QueueLimit::Packets(2);
        let (out, events, _) =
            arrivals(link(Mtu::new(576, TooBig::Fragment), two, None), datagram(1500));
        assert_eq!(out, [(572, 572), (1144, 572)]);
        let [What::Dropped { reason: DropReason::QueueFull, frame, .. }] = events[..] else {
            panic!("{events:?}")
        };
        assert_eq!((frame.id.bits(), frame.part.offset_bytes()), (9, 1104));
        let loss = Some(Pick::default().nth(vec![2]));
        let effects = Some(Effects { loss, ..Effects::default() });
        let lossy = link(Mtu::new(576, TooBig::Fragment), QueueLimit::Unlimited, effects);
        assert_eq!(arrivals(lossy, datagram(1500)).0, [(572, 572), (1540, 396)]);
    }

    #[test]
    fn a_link_that_does_not_fragment_drops_packets_above_its_limit() {
        let narrow = || link(Mtu::new(576, TooBig::Drop), QueueLimit::Unlimited, None);
        let (out, events, count) = arrivals(narrow(), datagram(577));
        let frame = datagram(577);
        let expected = What::Dropped { link: Some(3), reason: DropReason::TooBig, frame };
        assert_eq!((out, events), (vec![], vec![expected]));
        assert_eq!(count.dropped, 1);
        assert_eq!(arrivals(narrow(), datagram(576)).0, [(576, 576)]);
    }

    #[test]
    fn a_limit_that_no_packet_exceeds_has_no_effect() {
        let [wide, free] = [Mtu::new(1500, TooBig::Fragment), None]
            .map(|mtu| arrivals(link(mtu, QueueLimit::Unlimited, None), datagram(1500)));
        assert_eq!(wide, free);
    }
}
