//! Finds out whether a connection uses SACK, and whether its sender may send tail loss probes.

use crate::segment::Flags;
use crate::wire::CapturedTcp;

use super::syn_style::{ProbesBySyn, probing};

/// The signs of the use of SACK and of tail loss probes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackUse {
    /// Whether the SYNs of the sender and of the receiver permit SACK. `None` if the SYN, or its
    /// options, were not captured.
    permitted: [Option<bool>; 2],
    /// Whether SACK blocks were seen.
    seen: bool,
    /// Whether the snap length cut options of acknowledgments. These may have been SACK blocks.
    cut: bool,
    /// The number of duplicate ACKs without SACK blocks.
    without: u8,
    /// The smallest number of octets of options in acknowledgments whose options were cut, while no
    /// octets were known to be missing. `None` if there were none.
    calm_bytes: Option<u8>,
    /// The number of these acknowledgments.
    calm: u8,
    /// Whether options of an acknowledgment were cut that have room for a SACK block.
    roomy: bool,
    /// Whether the sender sends tail loss probes, as far as its SYN shows it.
    pub probing: ProbesBySyn,
}

impl SackUse {
    /// `ENOUGH` duplicate ACKs without blocks show that SACK is not used.
    const ENOUGH: u8 = 2;

    /// The options of a SYN have at least this number of octets if they permit SACK: four for the
    /// MSS, two for *SACK permitted* (RFC 2018 §2), and two that fill the last word of the header.
    /// A SYN without MSS could have fewer, but stacks send the MSS (RFC 9293 §3.7.1).
    const BYTES_WITH_SACK: u8 = 8;

    /// The number of octets that the option SACK takes with one block, filled to a whole word (RFC
    /// 2018 §3).
    const BYTES_OF_BLOCK: u8 = 12;

    /// A single acknowledgment of new octets may also report the first octets after a hole. So at
    /// least this number of them must have shown how long the options are without SACK blocks.
    const CALM: u8 = 8;

    /// Takes a SYN of the sender, or of the receiver if `by_receiver` is true. A SYN-ACK permits
    /// SACK only if the SYN permitted it. So if the SYN was not captured, the SYN-ACK shows whether
    /// the SYN permitted SACK.
    pub fn syn(&mut self, by_receiver: bool, packet: &impl CapturedTcp) {
        if packet.options_whole() {
            let sack = packet.syn_options().sack;
            self.permitted[usize::from(by_receiver)] = Some(sack);
            if sack && packet.flags().has(Flags::ACK) {
                self.permitted[usize::from(!by_receiver)].get_or_insert(true);
            }
            if !by_receiver {
                self.probing = self.probing.max(probing(packet.syn_style()));
            }
        } else if packet.syn_style().options_bytes < Self::BYTES_WITH_SACK {
            self.permitted[usize::from(by_receiver)] = Some(false);
        }
    }

    /// Notes that SACK blocks were seen.
    pub fn blocks(&mut self) {
        self.seen = true;
    }

    /// Notes that the snap length cut the `bytes` octets of options of an acknowledgment. `calm`
    /// says that it acknowledges new octets, and that no octets are missing.
    pub fn cut(&mut self, bytes: u8, calm: bool) {
        self.cut = true;
        if calm {
            self.calm_bytes = Some(self.calm_bytes.map_or(bytes, |least| least.min(bytes)));
            self.calm = self.calm.saturating_add(1);
        }
        self.roomy |=
            self.without_blocks().is_some_and(|most| bytes >= most + Self::BYTES_OF_BLOCK);
    }

    /// The number of octets of options in acknowledgments without SACK blocks, if options were cut.
    /// `None` if it is not known.
    fn without_blocks(&self) -> Option<u8> {
        self.calm_bytes.filter(|_| self.calm >= Self::CALM)
    }

    /// Counts a duplicate ACK without SACK blocks. Either its options were captured, or they have no
    /// room for a block (RFC 2018 §3): they have no more octets than the options of an acknowledgment
    /// without blocks.
    pub fn duplicate(&mut self, packet: &impl CapturedTcp) {
        let bare = match packet.options_whole() {
            true => packet.sack().is_empty(),
            false => self.without_blocks().is_some_and(|most| packet.option_bytes() <= most),
        };
        self.without = self.without.saturating_add(u8::from(bare));
    }

    /// Whether SACK is used. `None` if the capture does not show it.
    pub fn known(self) -> Option<bool> {
        match self.permitted {
            [Some(false), _] | [_, Some(false)] if !self.seen => Some(false),
            _ if self.cut => {
                let shown = self.seen || self.roomy || self.permitted == [Some(true); 2];
                let bare = self.without_blocks().is_some() && self.without >= Self::ENOUGH;
                (bare && !shown).then_some(false)
            }
            _ if self.seen => Some(true),
            [Some(true), Some(true)] => Some(true),
            _ if self.without >= Self::ENOUGH => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{SackBlock, SackBlocks, Segment, SynOptions, Timestamps};
    use crate::wire::{Packet, TcpView, encode};

    /// A SYN with these options, of which the capture has only the first `captured` octets.
    fn syn(options: SynOptions, stamped: bool, captured: usize) -> TcpView {
        let mut segment = Segment { flags: Flags::SYN, ..Segment::default() };
        segment.set_syn_options(options);
        if stamped {
            segment.set_timestamps(Timestamps { val: 1, ecr: 0 });
        }
        let [source, destination] = ["10.0.0.1:4", "10.0.0.2:80"].map(|end| end.parse().unwrap());
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut bytes);
        let whole = bytes.len();
        bytes.truncate(40 + captured);
        TcpView::of(&bytes, whole).unwrap()
    }

    #[test]
    fn a_cut_syn_shows_that_sack_is_not_used_if_its_header_has_no_room_for_the_option() {
        let mss = SynOptions { mss: Some(1460), ..SynOptions::default() };
        let sack = SynOptions { sack: true, ..mss };
        for (options, stamped, known) in
            [(mss, false, Some(false)), (sack, false, None), (mss, true, None)]
        {
            let mut found = SackUse::default();
            found.syn(false, &syn(options, stamped, 0));
            assert_eq!(found.known(), known, "{options:?} {stamped}");
        }
    }

    #[test]
    fn a_whole_syn_shows_whether_it_permits_sack() {
        let mss = SynOptions { mss: Some(1460), ..SynOptions::default() };
        for sack in [false, true] {
            let mut found = SackUse::default();
            let options = SynOptions { sack, ..mss };
            found.syn(false, &syn(options, false, 40));
            found.syn(true, &syn(options, false, 40));
            assert_eq!(found.known(), Some(sack));
        }
    }

    /// An ACK with timestamps and perhaps a SACK block. The capture has none of its options.
    fn cut_ack(block: bool) -> TcpView {
        let mut segment = Segment { flags: Flags::ACK, ..Segment::default() };
        segment.set_timestamps(Timestamps { val: 1, ecr: 0 });
        let mut blocks = SackBlocks::default();
        if block {
            blocks.add(SackBlock { left: 1000, right: 2000 });
        }
        segment.set_sack(&blocks);
        let [source, destination] = ["10.0.0.1:4", "10.0.0.2:80"].map(|end| end.parse().unwrap());
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut bytes);
        let whole = bytes.len();
        bytes.truncate(40);
        TcpView::of(&bytes, whole).unwrap()
    }

    /// What is known after `calm` cut acknowledgments of new octets without blocks, and then three
    /// duplicate ACKs. Only the first of these may have a block (`first`).
    fn after_duplicates(calm: usize, first: bool) -> Option<bool> {
        let mut found = SackUse::default();
        let bytes = cut_ack(false).option_bytes();
        (0..calm).for_each(|_| found.cut(bytes, true));
        for block in [first, false, false] {
            let duplicate = cut_ack(block);
            found.cut(duplicate.option_bytes(), false);
            found.duplicate(&duplicate);
        }
        found.known()
    }

    #[test]
    fn cut_duplicate_acks_show_that_sack_is_not_used_if_they_have_no_room_for_blocks() {
        assert_eq!(after_duplicates(8, false), Some(false));
        assert_eq!(after_duplicates(8, true), None, "a duplicate ACK has room for a block");
        assert_eq!(after_duplicates(1, false), None, "the first ACK may have had a block, too");
    }
}
