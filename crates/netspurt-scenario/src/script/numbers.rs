//! Translates the sequence numbers and timestamps of a script into the numbers on the wire, and
//! back. The host has the connection under test, and the script plays the remote end. A script is a
//! test in packetdrill's notation.

use std::collections::BTreeMap;

use netspurt::segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};

use super::packet::{EcnMark, PacketOptions, ScriptPacket};

/// The remote end's initial sequence number. The sequence numbers wrap after 1023 octets of data,
/// so a script in which the host receives more octets also tests the wrap.
const REMOTE_ISN: u32 = 0xffff_fc00;
/// The size of the IP and TCP headers without options.
const HEADERS_BYTES: u16 = 40;

/// The offsets between the script's numbers and the numbers on the wire.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The initial sequence number of the host's first SYN, from which all numbers of the host
    /// count.
    local_isn: Option<u32>,
    /// A timestamp on the wire minus the same timestamp in the script.
    stamp_offset: Option<u32>,
    /// For each timestamp that the script expected, the timestamp on the wire.
    stamps: BTreeMap<u32, u32>,
}

/// The remote end echoes a timestamp that cannot be translated, because no earlier line of the
/// script gives a timestamp of the connection (`TS val`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnknownEcho(pub(super) u32);

impl Numbers {
    /// Returns the segment with the script's numbers. Its timestamps stay as they are on the wire,
    /// because a later packet of the script may define their offset.
    pub(super) fn show(&mut self, segment: &Segment) -> ScriptPacket {
        if segment.flags.has(Flags::SYN) {
            self.local_isn.get_or_insert(segment.seq);
        }
        let syn = segment.syn_options();
        let relative = |block: &SackBlock| SackBlock {
            left: block.left.wrapping_sub(REMOTE_ISN),
            right: block.right.wrapping_sub(REMOTE_ISN),
        };
        let has_ack = segment.flags.has(Flags::ACK);
        ScriptPacket {
            ecn: Some(EcnMark::of(segment.ecn)),
            flags: segment.flags,
            seq: segment.seq.wrapping_sub(self.local()),
            len: segment.len,
            ack: has_ack.then(|| segment.ack.wrapping_sub(REMOTE_ISN)),
            window: Some(segment.window),
            options: Some(PacketOptions {
                mss: syn.mss,
                sack_permitted: syn.sack,
                timestamps: segment.timestamps(),
                window_scale: syn.window_scale,
                sack: segment.sack().iter().map(relative).collect(),
            }),
        }
    }

    /// The number on the wire for the host's sequence number 0 in the script.
    fn local(&self) -> u32 {
        self.local_isn.unwrap_or(0)
    }

    /// The number on the wire for the host's sequence number `number` in the script.
    pub(super) fn own_on_wire(&self, number: u32) -> u32 {
        number.wrapping_add(self.local())
    }

    /// Records that the script expected the timestamp `script` where the packet has the timestamp
    /// `wire` on the wire. The first such pair defines the offset.
    pub(super) fn pair(&mut self, script: u32, wire: u32) {
        self.stamp_offset.get_or_insert(wire.wrapping_sub(script));
        self.stamps.insert(script, wire);
    }

    /// Returns the packet with the script's timestamps. While their offset is unknown, they are the
    /// values on the wire.
    pub(super) fn with_own_stamps(&self, mut packet: ScriptPacket) -> ScriptPacket {
        let offset = self.stamp_offset.unwrap_or(0);
        let stamps = packet.options.as_mut().and_then(|options| options.timestamps.as_mut());
        if let Some(stamps) = stamps {
            stamps.val = stamps.val.wrapping_sub(offset);
        }
        packet
    }

    /// Makes the segment for a packet of the remote end.
    pub(super) fn segment(&self, packet: &ScriptPacket) -> Result<Segment, UnknownEcho> {
        let none = PacketOptions::default();
        let options = packet.options.as_ref().unwrap_or(&none);
        let mut segment = Segment {
            seq: packet.seq.wrapping_add(REMOTE_ISN),
            ack: packet.ack.map_or(0, |ack| ack.wrapping_add(self.local())),
            len: packet.len,
            size_bytes: packet.len.saturating_add(HEADERS_BYTES + options.size_bytes()),
            window: packet.window.unwrap_or(0),
            flags: packet.flags,
            ecn: packet.ecn.map_or_else(Default::default, EcnMark::codepoint),
            ..Segment::default()
        };
        if packet.flags.has(Flags::SYN) {
            segment.set_syn_options(SynOptions {
                mss: options.mss,
                window_scale: options.window_scale,
                sack: options.sack_permitted,
            });
        }
        if !options.sack.is_empty() {
            let mut blocks = SackBlocks::default();
            for block in options.sack.iter().take(SackBlocks::MAX) {
                blocks.add(SackBlock {
                    left: block.left.wrapping_add(self.local()),
                    right: block.right.wrapping_add(self.local()),
                });
            }
            segment.set_sack(&blocks);
        }
        if let Some(stamps) = options.timestamps {
            let ecr = self.echo(stamps.ecr).ok_or(UnknownEcho(stamps.ecr))?;
            segment.set_timestamps(Timestamps { val: stamps.val, ecr });
        }
        Ok(segment)
    }

    /// The echo on the wire. If the script expected the timestamp `ecr` in a packet, the echo is
    /// the actual timestamp of that packet. Otherwise, an echo of 0 stays 0, and any other echo is
    /// `ecr` plus the offset. Returns `None` if the offset is needed but not known.
    fn echo(&self, ecr: u32) -> Option<u32> {
        let seen = self.stamps.get(&ecr).copied();
        seen.or(if ecr == 0 {
            Some(0)
        } else {
            self.stamp_offset.map(|offset| ecr.wrapping_add(offset))
        })
    }
}
