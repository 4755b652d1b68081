//! Packets by their flags and options.

use crate::observe::Observed;
use crate::packed::packed_value;
use crate::segment::{Flags, SackBlock};
use crate::wire::TcpView;

/// How many packets of each kind a direction has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// TCP segments, whatever they carry.
    pub all: u64,
    /// Those with RST.
    pub resets: u64,
    /// Those with SYN.
    pub syns: u64,
    /// Those with FIN.
    pub fins: u64,
    /// Those with ACK.
    pub acks: u64,
    /// Of these, those with neither payload nor SYN, FIN or RST.
    pub pure_acks: u64,
    /// Those with SACK blocks.
    pub sacks: u64,
    /// Of these, those with ACK and without RST.
    pub sack_acks: u64,
    /// Of these, those whose first block reports duplicates (RFC 2883 §4).
    pub dsacks: u64,
    /// The most blocks that one of them has.
    pub sack_blocks_max: u8,
    /// Those with PSH and payload.
    pub pushes: u64,
    /// Those with URG and payload.
    pub urgent: u64,
    /// The sum of their urgent pointers.
    pub urgent_bytes: u64,
}

packed_value!(PacketCounts {
    all,
    resets,
    syns,
    fins,
    acks,
    pure_acks,
    sacks,
    sack_acks,
    dsacks,
    sack_blocks_max,
    pushes,
    urgent,
    urgent_bytes,
});

impl PacketCounts {
    /// A packet of the direction.
    pub fn take(&mut self, packet: &TcpView) {
        let flags = packet.flags;
        let [reset, ack] = [Flags::RST, Flags::ACK].map(|flag| flags.has(flag));
        self.all += 1;
        self.acks += u64::from(ack);
        if packet.payload_bytes > 0 {
            self.pushes += u64::from(flags.has(Flags::PSH));
            if flags.has(Flags::URG) {
                self.urgent += 1;
                self.urgent_bytes += u64::from(packet.urgent);
            }
        } else if flags.0 & (Flags::ACK.0 | Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0)
            == Flags::ACK.0
        {
            self.pure_acks += 1;
        }
        self.resets += u64::from(reset);
        self.syns += u64::from(flags.has(Flags::SYN));
        self.fins += u64::from(flags.has(Flags::FIN));
        if packet.options.sack_count > 0 {
            self.sacks += 1;
            if ack && !reset {
                self.take_blocks(packet.ack, packet.sack());
            }
        }
    }

    fn take_blocks(&mut self, ack: u32, blocks: &[SackBlock]) {
        self.sack_acks += 1;
        self.sack_blocks_max = self.sack_blocks_max.max(blocks.len() as u8);
        self.dsacks += u64::from(reports_duplicates(ack, blocks));
    }
}

/// Whether the first block reports octets that came twice: it lies below the acknowledgement, or
/// within the second block (RFC 2883 §4).
fn reports_duplicates(ack: u32, blocks: &[SackBlock]) -> bool {
    let within = |inner: &SackBlock, outer: &SackBlock| {
        not_above(outer.left, inner.left) && not_above(inner.right, outer.right)
    };
    match blocks {
        [first, ..] if not_above(first.right, ack) => true,
        [first, second, ..] => within(first, second),
        _ => false,
    }
}

/// Whether `a` is `b` or comes before it (RFC 9293 §3.4).
const fn not_above(a: u32, b: u32) -> bool {
    b.wrapping_sub(a).cast_signed() >= 0
}

/// What a direction's packets offer by their options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// The largest segment that the sender takes.
    pub mss: Option<u16>,
    /// The shift of the windows that it advertises (RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// Whether its SYN permits SACK.
    pub sack: bool,
    /// Whether any packet has time stamps.
    pub timestamps: bool,
}

packed_value!(Offers { mss, window_scale, sack, timestamps });

impl Offers {
    /// A packet of the direction.
    #[inline]
    pub fn take(&mut self, packet: &TcpView) {
        self.timestamps |= packet.options.timestamps.is_some();
        if packet.flags.has(Flags::SYN) {
            let syn = packet.options.syn;
            self.mss = syn.mss.or(self.mss);
            self.window_scale = syn.window_scale.or(self.window_scale);
            self.sack |= syn.sack;
        }
    }
}
