//! The handshake of a captured connection, and what its SYNs offer.

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::Time;
use crate::wire::CapturedTcp;

/// What was captured of a connection's handshake: the SYNs of both sides and their options.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handshake {
    /// For each side, the window scale shift (RFC 7323 §2.2) in its last SYN.
    shifts: [Option<u8>; 2],
    /// Whether the capture cut off options of a SYN, so the SYN may have offered window scaling.
    scale_cut: bool,
    /// The MSS that the SYN of each side offers, in octets. It is 0 if it is not known.
    offered: [u16; 2],
    /// For each side, when its last SYN was captured.
    syns: [Option<Time>; 2],
    /// For each side, whether it sent a SYN-ACK.
    syn_acks: [bool; 2],
    /// See [`is_over`](Self::is_over).
    over: bool,
}

impl Handshake {
    /// The largest window scale shift (RFC 7323 §2.3).
    const SHIFT_MAX: u8 = 14;

    /// Takes a packet that `side` sent and that was captured at the instant `at`. Returns whether
    /// the packet is a SYN-ACK that answers the other side's last SYN.
    #[inline]
    pub fn take(&mut self, side: Side, at: Time, packet: &impl CapturedTcp) -> bool {
        let syn = packet.flags().has(Flags::SYN);
        let answers_syn = syn && self.take_syn(side, at, packet);
        // Of the packets of the handshake, only the last packet has neither SYN nor RST.
        let in_handshake = syn || packet.flags().has(Flags::RST);
        self.over |= self.syn_acks == [true; 2] || !in_handshake;
        answers_syn
    }

    fn take_syn(&mut self, side: Side, at: Time, packet: &impl CapturedTcp) -> bool {
        let options = packet.syn_options();
        let shift = options.window_scale;
        self.scale_cut |= shift.is_none() && !packet.options_whole();
        self.offered[side.index()] = options.mss.unwrap_or_default();
        self.shifts[side.index()] = shift.map(|shift| shift.min(Self::SHIFT_MAX));
        let last = self.syns[side.index()].replace(at);
        self.syn_acks[side.index()] |= packet.flags().has(Flags::ACK);
        packet.flags().has(Flags::ACK) && last < self.syns[side.peer().index()]
    }

    /// Whether a SYN of `side` was captured.
    #[inline]
    pub fn has_syn(&self, side: Side) -> bool {
        self.syns[side.index()].is_some()
    }

    /// Whether the handshake is over: a packet without SYN was captured, or a SYN-ACK of each side
    /// (simultaneous open, RFC 9293 §3.5 figure 7).
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The MSS that the SYN of `side` offers, in octets. It is 0 if it is not known.
    pub fn offered_mss(&self, side: Side) -> u16 {
        self.offered[side.index()]
    }

    /// The shift of the windows that `side` advertises. It is 0 unless both SYNs offer scaling (RFC
    /// 7323 §2.2). `None` if a SYN, or its options, were not captured.
    #[inline]
    pub fn shift(&self, side: Side) -> Option<u8> {
        match (self.syns, self.shifts) {
            ([Some(_), Some(_)], [Some(_), Some(_)]) => self.shifts[side.index()],
            ([Some(_), Some(_)], _) if !self.scale_cut => Some(0),
            _ => None,
        }
    }

    /// The shift of the windows that `side` advertises. `None` unless both SYNs were captured and
    /// offer scaling.
    #[inline]
    pub fn shift_offered(&self, side: Side) -> Option<u8> {
        match self.shifts {
            [Some(_), Some(_)] => self.shifts[side.index()],
            _ => None,
        }
    }
}
