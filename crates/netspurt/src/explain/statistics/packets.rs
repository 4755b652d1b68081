//! Counts of packets by their flags and options.

use crate::packed::packed_value;
use crate::segment::Flags;
use crate::wire::CapturedTcp;

use super::super::kept::reports_duplicate;

/// The number of packets of each kind in a direction. No count exceeds 2³² - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketStatistics {
    /// All TCP segments.
    pub all: u32,
    /// Segments with RST.
    pub resets: u32,
    /// Whether the last segment has RST.
    pub ends_with_reset: bool,
    /// Segments with SYN.
    pub syns: u32,
    /// Segments with FIN.
    pub fins: u32,
    /// Segments with ACK.
    pub acks: u32,
    /// Segments with ACK that have no payload, SYN, FIN or RST.
    pub pure_acks: u32,
    /// Segments with SACK blocks.
    pub sacks: u32,
    /// Segments with SACK blocks and ACK, and without RST.
    pub sack_acks: u32,
    /// The [`sack_acks`](Self::sack_acks) whose first block reports duplicates (RFC 2883 §4).
    pub dsacks: u32,
    /// The maximum number of blocks in one of the [`sack_acks`](Self::sack_acks).
    pub sack_blocks_max: u8,
    /// Segments with ECE and without SYN. The sender of these segments received marked data (RFC
    /// 3168 §6.1.3).
    pub ece: u32,
    /// Segments with CWR and without SYN. Their sender has reduced cwnd (RFC 3168 §6.1.2).
    pub cwr: u32,
    /// Segments with PSH and payload.
    pub pushes: u32,
    /// Segments with URG and payload.
    pub urgent: u32,
    /// The sum of the urgent pointers of [`urgent`](Self::urgent) segments.
    pub urgent_bytes: u64,
}

packed_value!(PacketStatistics {
    all,
    resets,
    ends_with_reset,
    syns,
    fins,
    acks,
    pure_acks,
    sacks,
    sack_acks,
    dsacks,
    sack_blocks_max,
    ece,
    cwr,
    pushes,
    urgent,
    urgent_bytes,
});

impl PacketStatistics {
    /// Takes `many` packets of the direction that have the same flags, options and payload length
    /// as `packet`.
    #[inline]
    pub fn take(&mut self, packet: &impl CapturedTcp, many: u32) {
        let flags = packet.flags();
        let (reset, ack) = (flags.has(Flags::RST), flags.has(Flags::ACK));
        let tally = |count: &mut u32, counts: bool| {
            *count = count.saturating_add(if counts { many } else { 0 });
        };
        tally(&mut self.all, true);
        tally(&mut self.acks, ack);
        if packet.len() > 0 {
            tally(&mut self.pushes, flags.has(Flags::PSH));
            if flags.has(Flags::URG) {
                tally(&mut self.urgent, true);
                self.urgent_bytes += u64::from(packet.urgent()) * u64::from(many);
            }
        } else {
            let others = Flags::SYN.with(Flags::FIN).with(Flags::RST);
            tally(&mut self.pure_acks, ack && flags.without(others) == flags);
        }
        tally(&mut self.resets, reset);
        self.ends_with_reset = reset;
        tally(&mut self.syns, flags.has(Flags::SYN));
        tally(&mut self.fins, flags.has(Flags::FIN));
        if flags.without(Flags::ECE.with(Flags::CWR)) != flags && !flags.has(Flags::SYN) {
            tally(&mut self.ece, flags.has(Flags::ECE));
            tally(&mut self.cwr, flags.has(Flags::CWR));
        }
        if !packet.sack().is_empty() {
            tally(&mut self.sacks, true);
            if ack && !reset {
                tally(&mut self.sack_acks, true);
                tally(&mut self.dsacks, reports_duplicate(packet));
                self.sack_blocks_max = self.sack_blocks_max.max(packet.sack().len() as u8);
            }
        }
    }
}

/// What the packets of a direction offer in their flags and options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// The MSS that the sender's SYN offers, in octets: the largest segment that the sender
    /// accepts.
    pub mss: Option<u16>,
    /// The window scale shift that the sender's SYN offers (RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// Whether the sender's SYN permits SACK.
    pub sack: bool,
    /// Whether the sender's SYN offers or accepts ECN (RFC 3168 §6.1.1).
    pub ecn: bool,
    /// Whether any packet has timestamps.
    pub timestamps: bool,
}

packed_value!(Offers { mss, window_scale, sack, ecn, timestamps });

impl Offers {
    /// Takes a packet of the direction.
    #[inline]
    pub fn take(&mut self, packet: &impl CapturedTcp) {
        self.timestamps |= packet.timestamps().is_some();
        if packet.flags().has(Flags::SYN) {
            let syn = packet.syn_options();
            self.mss = syn.mss.or(self.mss);
            self.window_scale = syn.window_scale.or(self.window_scale);
            self.sack |= syn.sack;
            // A SYN that offers ECN also has CWR. A SYN-ACK that accepts ECN does not have CWR.
            let flags = packet.flags();
            self.ecn |= flags.has(Flags::ECE) && flags.has(Flags::CWR) != flags.has(Flags::ACK);
        }
    }
}
