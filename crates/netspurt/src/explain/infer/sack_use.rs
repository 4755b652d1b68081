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
    /// The number of duplicate ACKs with captured options and without SACK blocks.
    without: u8,
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

    /// Notes that the snap length cut the options of an acknowledgment.
    pub fn cut(&mut self) {
        self.cut = true;
    }

    /// Counts a duplicate ACK with captured options and without SACK blocks.
    pub fn bare_duplicate(&mut self) {
        self.without = self.without.saturating_add(1);
    }

    /// Whether SACK is used. `None` if the capture does not show it.
    pub fn known(self) -> Option<bool> {
        match self.permitted {
            [Some(false), _] | [_, Some(false)] if !self.seen => Some(false),
            _ if self.cut => None,
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
    use crate::segment::{Segment, SynOptions, Timestamps};
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
}
