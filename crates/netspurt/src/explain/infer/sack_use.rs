//! Whether a connection uses SACK.

use crate::wire::TcpView;

/// Whether SACK is used, as far as was seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackUse {
    /// Whether the SYN of the sender, and of the receiver, permits it.
    permitted: [Option<bool>; 2],
    /// Blocks were seen.
    seen: bool,
    /// Duplicate ACKs without blocks, whose options were captured.
    without: u8,
}

impl SackUse {
    /// So many duplicate ACKs without blocks show that it is not used.
    const ENOUGH: u8 = 2;

    /// A SYN of the sender, or `by_receiver`.
    pub fn syn(&mut self, by_receiver: bool, packet: &TcpView) {
        if packet.options.whole {
            self.permitted[usize::from(by_receiver)] = Some(packet.options.syn.sack);
        }
    }

    /// Blocks were seen.
    pub fn blocks(&mut self) {
        self.seen = true;
    }

    /// A duplicate ACK without blocks was captured with its options.
    pub fn bare_duplicate(&mut self) {
        self.without = self.without.saturating_add(1);
    }

    /// Whether it is used; `None` if that was not captured.
    pub fn known(self) -> Option<bool> {
        match self.permitted {
            _ if self.seen => Some(true),
            [Some(true), Some(true)] => Some(true),
            [Some(false), _] | [_, Some(false)] => Some(false),
            _ if self.without >= Self::ENOUGH => Some(false),
            _ => None,
        }
    }
}
