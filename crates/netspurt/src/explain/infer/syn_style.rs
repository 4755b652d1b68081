//! What a sender's SYN shows about its stack (its implementation of TCP).

use crate::wire::SynStyle;

/// Whether a sender sends tail loss probes (RFC 8985 §7), as far as its SYN shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbesBySyn {
    /// The sender may send probes.
    #[default]
    Usual,
    /// The sender seldom sends probes: FreeBSD sends them only if its stack RACK is chosen.
    Rare,
    /// The sender sends no probes.
    Never,
}

impl ProbesBySyn {
    /// Whether the SYN may be a SYN of Linux, which sends probes.
    pub fn may_be_linux(self) -> bool {
        self == Self::Usual
    }
}

/// Whether the stack that writes SYNs in the style `style` sends tail loss probes.
///
/// Linux, Windows and Apple's systems send probes. The order of the options of a SYN shows these
/// systems. In `style.order`, each hexadecimal digit is the kind of an option: 2 is MSS, 3 window
/// scale, 4 SACK permitted, and 8 timestamps. Linux puts the window scale last, and Windows and
/// Apple's systems have fixed orders. FreeBSD writes the same orders as Windows, but only Windows
/// begins with a TTL of 128. Stacks without probes, such as those of ns-3 and picoTCP, write other
/// orders. A SYN without window scale shows nothing.
pub fn probing(style: SynStyle) -> ProbesBySyn {
    const WINDOW_SCALE: u16 = 3;
    const APPLE: u16 = 0x2384;
    const WINDOWS: [u16; 2] = [0x2348, 0x234];
    let scales = (0..4).any(|place| style.order >> (4 * place) & 0xf == WINDOW_SCALE);
    match style.order {
        _ if !scales || style.order & 0xf == WINDOW_SCALE => ProbesBySyn::Usual,
        APPLE => ProbesBySyn::Usual,
        order if !WINDOWS.contains(&order) => ProbesBySyn::Never,
        _ if (65..=128).contains(&style.hop_limit) => ProbesBySyn::Usual,
        _ => ProbesBySyn::Rare,
    }
}

/// Whether only Linux writes the options of SYNs and SYN-ACKs in this order. The order of Linux is
/// MSS, SACK permitted, timestamps, and window scale. An option is missing if it is switched off,
/// or if the peer's SYN lacks it. No other stack puts the window scale last, after SACK permitted
/// or timestamps. The other orders of Linux, with fewer options, show nothing, because FreeBSD also
/// writes them.
pub fn is_linux(style: SynStyle) -> bool {
    matches!(style.order, 0x2483 | 0x243 | 0x283)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The orders come from `tcp_options_write` of Linux and `tcp_addoptions` of FreeBSD.
    #[test]
    fn only_linux_writes_the_window_scale_as_last_option_after_sack_or_timestamps() {
        let is = |order| is_linux(SynStyle { order, ..SynStyle::default() });
        // In these three cases, the peer's SYN has all options, no timestamps, or no SACK.
        assert!([0x2483, 0x243, 0x283].into_iter().all(is));
        // These are the orders of FreeBSD (for these peers), of OpenBSD, and of stacks without
        // window scale.
        assert!(![0x2348, 0x234, 0x238, 0x2438, 0x23, 0x248, 0x24, 0x28, 0x2].into_iter().any(is));
    }

    #[test]
    fn the_order_of_syn_options_shows_which_stacks_send_no_probes() {
        let shown =
            |order, hop_limit| probing(SynStyle { order, hop_limit, ..SynStyle::default() });
        for (order, hop_limit) in [(0x2483, 64), (0x43, 50), (0x2384, 64), (0x234, 117), (0x24, 64)]
        {
            assert_eq!(shown(order, hop_limit), ProbesBySyn::Usual, "{order:x}");
        }
        // These are the orders of FreeBSD, without and with timestamps.
        for (order, hop_limit) in [(0x234, 64), (0x2348, 51)] {
            assert_eq!(shown(order, hop_limit), ProbesBySyn::Rare, "{order:x}");
        }
        // These are the orders of ns-3 and of picoTCP.
        for (order, hop_limit) in [(0x834, 64), (0x2438, 64)] {
            assert_eq!(shown(order, hop_limit), ProbesBySyn::Never, "{order:x}");
        }
    }
}
