//! The timestamps of sent octets that a socket asks for with its option `SO_TIMESTAMPING`.
//!
//! A write asks for timestamps of its last octet. Linux stores this request in the chunk
//! (`sk_buff`) that holds the octet (`tcp_tx_timestamp`). A chunk stores one request. If a later
//! write ends in the same chunk, the last octet of this write replaces the earlier octet. The chunk
//! then gets the kinds of timestamps that either write has requested. Each packet with the octet
//! gets a timestamp, even if the packet is a retransmission. The first ACK of the octet gets one
//! timestamp (`tcp_ack_tstamp`). Offsets count written octets from 0.

use std::collections::VecDeque;

use super::notice::StampEvent;

/// The request of `SO_TIMESTAMPING`: bits of `SOF_TIMESTAMPING_…`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamping(u32);

impl Stamping {
    const TX_SOFTWARE: Self = Self(1 << 1);
    const SOFTWARE: Self = Self(1 << 4);
    const OPT_ID: Self = Self(1 << 7);
    const TX_SCHED: Self = Self(1 << 8);
    const TX_ACK: Self = Self(1 << 9);
    const OPT_TSONLY: Self = Self(1 << 11);
    const OPT_ID_TCP: Self = Self(1 << 16);

    /// Each bit that scripts may set, with its name.
    pub(super) const NAMES: [(&'static str, i64); 7] = [
        ("SOF_TIMESTAMPING_TX_SOFTWARE", Self::TX_SOFTWARE.0 as i64),
        ("SOF_TIMESTAMPING_SOFTWARE", Self::SOFTWARE.0 as i64),
        ("SOF_TIMESTAMPING_OPT_ID", Self::OPT_ID.0 as i64),
        ("SOF_TIMESTAMPING_TX_SCHED", Self::TX_SCHED.0 as i64),
        ("SOF_TIMESTAMPING_TX_ACK", Self::TX_ACK.0 as i64),
        ("SOF_TIMESTAMPING_OPT_TSONLY", Self::OPT_TSONLY.0 as i64),
        ("SOF_TIMESTAMPING_OPT_ID_TCP", Self::OPT_ID_TCP.0 as i64),
    ];

    /// The option's value; `None` if it has bits that scripts may not set.
    pub(super) fn of(number: i64) -> Option<Self> {
        let known = Self::NAMES.iter().fold(0, |all, (_, bit)| all | bit);
        let bits = u32::try_from(number).ok().filter(|_| number & !known == 0)?;
        Some(Self(bits))
    }

    /// The option's value as a number.
    pub(super) fn number(self) -> i64 {
        self.0.into()
    }

    fn has(self, bit: Self) -> bool {
        self.0 & bit.0 != 0
    }

    /// Whether the key of a notice (a message in the socket's error queue) is the number of the
    /// octet to which the notice belongs. Otherwise the key is 0.
    /// [`counts_from_next`](Self::counts_from_next) says from which octet the numbers count.
    pub(super) fn counts(self) -> bool {
        self.has(Self::OPT_ID)
    }

    /// Whether keys count from the next octet to be written, and not from the oldest outstanding
    /// octet.
    pub(super) fn counts_from_next(self) -> bool {
        self.has(Self::OPT_ID_TCP)
    }

    /// Whether a notice has a time.
    pub(super) fn tells_time(self) -> bool {
        self.has(Self::SOFTWARE)
    }

    /// Whether a notice comes alone, without the packet that it is about.
    pub(super) fn leaves_packet_out(self) -> bool {
        self.has(Self::OPT_TSONLY)
    }
}

/// The timestamps that a write has requested for an octet.
#[derive(Clone, Copy, Debug)]
struct StampRequest {
    octet: u64,
    wanted: Stamping,
    /// Whether the first packet with the octet had already left when the request was stored. In
    /// this case, only retransmissions of the octet get timestamps.
    came_late: bool,
}

/// The requests for timestamps of octets that are not yet acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct StampRequests {
    requests: VecDeque<StampRequest>,
    /// The octet from which keys count.
    pub(super) key_from: u64,
}

impl StampRequests {
    /// Called when a write ended at offset `end`. `chunk` is the offset at which the last chunk
    /// begins. If a part of this chunk was sent before the write, `chunk` is the end of that part.
    /// `came_late` says whether all octets of the write left before the request.
    pub(super) fn ask(&mut self, end: u64, chunk: u64, wanted: Stamping, came_late: bool) {
        let Some(octet) = end.checked_sub(1) else { return };
        let kinds = Stamping::TX_SCHED.0 | Stamping::TX_SOFTWARE.0 | Stamping::TX_ACK.0;
        let mut wanted = Stamping(wanted.0 & kinds);
        if wanted == Stamping::default() {
            return;
        }
        while let Some(earlier) = self.requests.back().filter(|earlier| earlier.octet >= chunk) {
            wanted = Stamping(wanted.0 | earlier.wanted.0);
            self.requests.pop_back();
        }
        self.requests.push_back(StampRequest { octet, wanted, came_late });
    }

    /// The timestamps of a packet with the octets from `start` up to `end`. If `drops` is true, the
    /// host's queue drops the packet, and no device sends it.
    pub(super) fn on_packet(
        &mut self,
        start: u64,
        end: u64,
        drops: bool,
    ) -> Vec<(u64, StampEvent)> {
        let inside = self.requests.iter_mut().filter(|one| (start..end).contains(&one.octet));
        let mut found = Vec::new();
        for StampRequest { octet, wanted, came_late } in inside {
            if core::mem::take(came_late) {
                continue;
            }
            if wanted.has(Stamping::TX_SCHED) {
                found.push((*octet, StampEvent::Scheduled));
            }
            if wanted.has(Stamping::TX_SOFTWARE) && !drops {
                found.push((*octet, StampEvent::Sent));
            }
        }
        found
    }

    /// Removes the oldest request if its octet is acknowledged. All octets before `acked` are
    /// acknowledged. Returns the octet, and whether its acknowledgment gets a timestamp.
    pub(super) fn take_acked(&mut self, acked: u64) -> Option<(u64, bool)> {
        let first = self.requests.front().filter(|first| first.octet < acked)?;
        let taken = (first.octet, first.wanted.has(Stamping::TX_ACK));
        self.requests.pop_front();
        Some(taken)
    }

    /// The key of a notice: the number of its octet, counted from `key_from`.
    #[expect(clippy::cast_possible_truncation, reason = "a key counts modulo 2^32, as in Linux")]
    pub(super) fn key(&self, octet: u64) -> u32 {
        octet.wrapping_sub(self.key_from) as u32
    }

    /// Removes all requests, because the connection is over.
    pub(super) fn clear(&mut self) {
        self.requests.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Stamping = Stamping(Stamping::TX_SCHED.0 | Stamping::TX_ACK.0);

    #[test]
    fn a_later_write_in_the_same_chunk_replaces_the_request_of_an_earlier_write() {
        let mut requests = StampRequests::default();
        requests.ask(500, 0, Stamping::TX_SCHED, false);
        requests.ask(800, 500, BOTH, false);
        requests.ask(1100, 500, Stamping::TX_SOFTWARE, false);
        assert_eq!(requests.on_packet(0, 500, false), [(499, StampEvent::Scheduled)]);
        assert!(requests.on_packet(500, 1000, false).is_empty());
        let last = [(1099, StampEvent::Scheduled), (1099, StampEvent::Sent)];
        assert_eq!(requests.on_packet(1000, 1100, false), last);
        assert_eq!(requests.on_packet(1000, 1100, true), last[..1]);
    }

    #[test]
    fn the_request_for_an_acknowledged_octet_is_taken_once() {
        let mut requests = StampRequests { key_from: 100, ..StampRequests::default() };
        requests.ask(500, 0, Stamping::TX_SCHED, false);
        requests.ask(1000, 500, BOTH, false);
        assert_eq!(requests.take_acked(499), None);
        assert_eq!(requests.take_acked(1000), Some((499, false)));
        assert_eq!(requests.take_acked(1000), Some((999, true)));
        assert_eq!((requests.take_acked(u64::MAX), requests.key(999)), (None, 899));
    }

    #[test]
    fn if_a_packet_left_before_the_request_only_its_retransmissions_get_timestamps() {
        let mut requests = StampRequests::default();
        requests.ask(500, 0, BOTH, true);
        assert!(requests.on_packet(0, 500, false).is_empty());
        assert_eq!(requests.on_packet(0, 500, false), [(499, StampEvent::Scheduled)]);
        assert_eq!(requests.take_acked(500), Some((499, true)));
    }

    #[test]
    fn a_value_with_unknown_bits_is_refused() {
        assert_eq!(Stamping::of(0x392).map(Stamping::number), Some(0x392));
        assert!(Stamping::of(1).is_none() && Stamping::of(-1).is_none());
    }
}
