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
