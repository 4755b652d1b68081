//! The header fields of the segments that one end of a TCP connection sends: agreed options and
//! timestamps.

use crate::ids::TransmissionId;
use crate::packed::packed;
use crate::segment::{Flags, IPV4_HEADER_BYTES, SackBlocks, Segment, SynOptions, Timestamps};
use crate::units::{Duration, Time};
use crate::wire::{TCP_HEADER_BYTES, full_payload, option_bytes};

use super::super::context::Context;
use super::config::RfcConfig;
use super::info::OptionsInfo;
use super::rules::ReceiveRules;
use super::stamps::{PeerStamp, stamp};

/// The MSS of a peer that sends no MSS option over IPv4 (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;
/// The MSS of a peer that sends no MSS option over IPv6 (RFC 9293 §3.7.1).
const DEFAULT_MSS_V6: u16 = 1220;
/// The largest shift (RFC 7323 §2.3).
const SHIFT_MAX: u8 = 14;
/// The largest window in bytes without window scaling: the field has 16 bits (RFC 9293 §3.1).
const UNSCALED_MAX: u64 = u16::MAX as u64;

/// Returns the window in bytes. If windows are not scaled, it is limited to what the field holds.
pub(super) fn advertisable(window: u64, unscaled: bool) -> u64 {
    if unscaled { window.min(UNSCALED_MAX) } else { window }
}

/// The options on which both ends agreed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    pub(super) timestamps: bool,
    pub(super) sack: bool,
    pub(super) ecn: bool,
    pub(super) scaling: bool,
    /// The shift of the peer's windows.
    pub(super) peer_shift: u8,
    /// The shift of our windows.
    pub(super) own_shift: u8,
}

packed!(Agreed { timestamps, sack, ecn, scaling, peer_shift, own_shift });

impl Agreed {
    /// Returns the options that both `config` and the peer's `syn` offer, without ECN.
    fn on(syn: &Segment, config: &RfcConfig) -> Self {
        let offer = syn.syn_options();
        let scaling = config.window_scaling && offer.window_scale.is_some();
        let shift = |shift: u8| if scaling { shift.min(SHIFT_MAX) } else { 0 };
        Self {
            timestamps: config.timestamps && syn.timestamps().is_some(),
            sack: config.sack && offer.sack,
            ecn: false,
            scaling,
            peer_shift: shift(offer.window_scale.unwrap_or(0)),
            own_shift: shift(wanted_shift(config)),
        }
    }

    /// Octets of payload in a full segment to the peer that sent `syn`.
    fn smss(&self, syn: &Segment, config: &RfcConfig) -> u64 {
        let fallback =
            if config.ip_header_bytes > IPV4_HEADER_BYTES { DEFAULT_MSS_V6 } else { DEFAULT_MSS };
        let mss_min = u16::try_from(config.peer_mss_bytes_min).unwrap_or(u16::MAX);
        // An MSS option of zero counts as absent.
        let mss = syn
            .syn_options()
            .mss
            .filter(|mss| *mss > 0)
            .unwrap_or(fallback)
            .max(mss_min)
            .min(config.mss);
        u64::from(full_payload(mss, self.timestamps))
    }
}

/// A Linux host chooses its shift as if its buffer had at least this size, unless the application
/// set the size of the buffer. The value is `rmem_max` of Linux 6.18, the kernel that
/// the profile `linux-6` follows.
const BUFFER_ALLOWED: u64 = 4 << 20;

/// The shift with which the window field can advertise the whole buffer.
fn wanted_shift(config: &RfcConfig) -> u8 {
    let ReceiveRules { counts_memory, autotuning, .. } = config.receive_rules;
    let may_grow = counts_memory && autotuning && config.receive_memory_bytes.is_none();
    let buffer_min = if may_grow { BUFFER_ALLOWED } else { 0 };
    let buffer = config.receive_buffer_bytes.max(buffer_min);
    (0..SHIFT_MAX).find(|shift| buffer >> shift <= UNSCALED_MAX).unwrap_or(SHIFT_MAX)
}

/// The state from which the headers of this end's segments are made: the agreed options, the peer's
/// newest timestamp, and the number of segments sent.
#[derive(Debug)]
pub(super) struct HeaderState {
    /// The octets of the IP header.
    ip_bytes: u16,
    pub(super) agreed: Agreed,
    peer_stamp: PeerStamp,
    /// The number of segments sent.
    pub(super) sent: u64,
}

packed!(HeaderState { agreed, peer_stamp, sent } keeps { ip_bytes });

impl HeaderState {
    pub(super) fn new(config: &RfcConfig) -> Self {
        Self {
            ip_bytes: config.ip_header_bytes,
            agreed: Agreed::default(),
            peer_stamp: PeerStamp::default(),
            sent: 0,
        }
    }

    /// Reads the offers in the peer's SYN. Returns the payload of a full segment to the peer,
    /// in octets (SMSS, RFC 5681 §2).
    pub(super) fn on_syn(&mut self, syn: &Segment, config: &RfcConfig, now: Time) -> u64 {
        self.agreed = Agreed::on(syn, config);
        self.peer_stamp = PeerStamp::new(syn.timestamps().map_or(0, |stamps| stamps.val), now);
        self.agreed.smss(syn, config)
    }

    /// Returns the options that our SYN offers or, with `answering`, accepts.
    pub(super) fn offer(&self, answering: bool, config: &RfcConfig) -> SynOptions {
        let scaling = if answering { self.agreed.scaling } else { config.window_scaling };
        SynOptions {
            mss: Some(config.mss),
            window_scale: scaling.then(|| wanted_shift(config)),
            sack: if answering { self.agreed.sack } else { config.sack },
        }
    }

    /// Whether the segment's timestamp is older than the peer's newest timestamp, which shows an
    /// old duplicate (RFC 7323 §5.2). With the switch `stamp_may_lag`, a timestamp that is older by
    /// one unit is still accepted. A reset is never an old duplicate.
    pub(super) fn is_old_duplicate(
        &self,
        segment: &Segment,
        rules: &ReceiveRules,
        now: Time,
    ) -> bool {
        let Some(stamps) = segment.timestamps() else { return false };
        let lag = u32::from(rules.stamp_may_lag);
        let older = self.peer_stamp.outdates(stamps.val.wrapping_add(lag), now);
        self.agreed.timestamps && !segment.flags.has(Flags::RST) && older
    }

    /// Returns by how much the timestamp of a segment is older than the peer's newest timestamp. The
    /// result is right only if the peer's timestamps count milliseconds.
    pub(super) fn lag(&self, segment: &Segment) -> Duration {
        let lag =
            segment.timestamps().map_or(0, |stamps| self.recent_stamp().wrapping_sub(stamps.val));
        Duration::from_millis(lag.into())
    }

    /// Whether a segment lacks the timestamps on which both ends agreed (RFC 7323 §3.2). A reset
    /// may lack them.
    pub(super) fn lacks_stamps(&self, segment: &Segment) -> bool {
        self.agreed.timestamps && segment.timestamps().is_none() && !segment.flags.has(Flags::RST)
    }

    /// The peer's newest timestamp.
    #[inline]
    pub(super) fn recent_stamp(&self) -> u32 {
        self.peer_stamp.recent
    }

    /// Keeps the timestamp of `segment` to echo it, if the segment begins at or before the last
    /// acknowledgment `last_ack` (RFC 7323 §4.3). The segment begins at the octet `left`. The kept
    /// timestamp decreases only if it is too old to be compared (RFC 7323 §5.5).
    #[inline]
    pub(super) fn take_stamp(&mut self, segment: &Segment, left: u64, last_ack: u64, now: Time) {
        if let Some(stamps) = segment.timestamps()
            && self.agreed.timestamps
            && left <= last_ack
            && !self.peer_stamp.outdates(stamps.val, now)
        {
            self.peer_stamp = PeerStamp::new(stamps.val, now);
        }
    }

    /// Returns our timestamp that `segment` echoes. The result is `None` if timestamps are not
    /// used.
    #[inline]
    pub(super) fn echo(&self, segment: &Segment) -> Option<u32> {
        segment.timestamps().filter(|_| self.agreed.timestamps).map(|stamps| stamps.ecr)
    }

    /// The peer's window in octets.
    #[inline]
    pub(super) fn peer_window(&self, segment: &Segment) -> u64 {
        u64::from(segment.window) << self.agreed.peer_shift
    }

    /// The number of SACK blocks that fit into a segment without payload (RFC 2018 §3).
    #[inline]
    pub(super) fn sack_room(&self) -> usize {
        if self.agreed.timestamps { SackBlocks::MAX_STAMPED } else { SackBlocks::MAX }
    }

    /// The number of SACK blocks that fit into a segment. The payload of this segment is `spare`
    /// octets shorter than the payload of a full segment.
    #[inline]
    pub(super) fn sack_room_in(&self, spare: u64) -> usize {
        // With padding, the option has 4 octets, and 8 more for each block.
        let blocks = spare.saturating_sub(4) / 8;
        usize::try_from(blocks).map_or(usize::MAX, |blocks| blocks.min(self.sack_room()))
    }

    /// The timestamps of a segment that leaves at the instant `now`.
    #[inline]
    pub(super) fn stamps(&self, now: Time) -> Timestamps {
        Timestamps { val: stamp(now), ecr: self.peer_stamp.recent }
    }

    /// Puts a segment into the outbox, with the number `seq` on the wire. The segment has no
    /// payload and no acknowledgment number yet. The caller completes the segment in the outbox, so
    /// that it need not be copied.
    #[inline(always)]
    pub(super) fn begin<'a>(&mut self, seq: u32, cx: &'a mut Context<'_>) -> &'a mut Segment {
        let stamps = self.stamps(cx.now);
        let segment = self.begin_bare(seq, cx);
        if self.agreed.timestamps {
            segment.set_timestamps(stamps);
        }
        segment
    }

    /// Does the same as [`begin`](Self::begin), but the segment has no timestamps.
    #[inline(always)]
    pub(super) fn begin_bare<'a>(&mut self, seq: u32, cx: &'a mut Context<'_>) -> &'a mut Segment {
        self.sent += 1;
        cx.outbox.push_back(Segment::default());
        let segment = cx.outbox.back_mut().expect("the segment was just added");
        segment.id = TransmissionId::new(cx.end, self.sent);
        segment.dest = cx.end.peer();
        segment.seq = seq;
        segment.flags = Flags::ACK;
        segment
    }

    /// Sets and returns the size of a segment on the wire, after its options were set.
    #[inline]
    pub(super) fn set_wire_size(&self, segment: &mut Segment) -> u16 {
        let header = self.ip_bytes + TCP_HEADER_BYTES + option_bytes(segment);
        segment.size_bytes = header + segment.len;
        segment.size_bytes
    }

    /// The options on which both ends agreed, for reports.
    pub(super) fn options_info(&self, ecn_seen: bool) -> OptionsInfo {
        let Agreed { timestamps, sack, ecn, scaling, peer_shift, own_shift } = self.agreed;
        let shifts = scaling.then_some((peer_shift, own_shift));
        OptionsInfo { timestamps, sack, ecn, ecn_seen, shifts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN with these options.
    fn syn(mss: Option<u16>, window_scale: Option<u8>, sack: bool) -> Segment {
        let mut syn = Segment::default();
        syn.set_syn_options(SynOptions { mss, window_scale, sack });
        syn
    }

    #[test]
    fn an_option_is_used_if_both_ends_offer_it() {
        let config = RfcConfig { sack: false, ..RfcConfig::rfc_2026() };
        let agreed = Agreed::on(&syn(None, Some(20), true), &config);
        assert!(!agreed.sack && !agreed.timestamps && agreed.scaling);
        // RFC 7323 §2.3: a shift above 14 counts as 14. Our shift of 7 suffices to advertise 4 MiB.
        assert_eq!((agreed.peer_shift, agreed.own_shift), (14, 7));
        let agreed = Agreed::on(&syn(None, None, true), &RfcConfig::rfc_2026());
        assert!(agreed.sack && !agreed.scaling && agreed.own_shift == 0);
    }

    /// RFC 9293 §3.7.1 and RFC 6691 §2: the octets of options are subtracted from the MSS.
    #[test]
    fn a_full_segment_has_the_smaller_mss_minus_the_octets_of_timestamps() {
        let smss = |mss, timestamps, header_bytes| {
            let config = RfcConfig { ip_header_bytes: header_bytes, ..RfcConfig::rfc_2026() };
            let agreed = Agreed { timestamps, ..Agreed::default() };
            agreed.smss(&syn(mss, None, false), &config)
        };
        assert_eq!((smss(Some(1400), true, 20), smss(Some(9000), false, 20)), (1388, 1460));
        assert_eq!((smss(None, false, 20), smss(None, false, 40)), (536, 1220));
        assert_eq!((smss(Some(1), false, 20), smss(Some(0), false, 20)), (88, 536));
    }

    /// RFC 2018 §3: the option has two octets, and eight more for each block. Padding adds two
    /// octets.
    #[test]
    fn sack_blocks_must_fit_into_the_free_room_and_into_the_option_field() {
        let mut header = HeaderState::new(&RfcConfig::rfc_2026());
        for (spare, room) in [(0, 0), (11, 0), (12, 1), (19, 1), (20, 2), (1448, SackBlocks::MAX)] {
            assert_eq!(header.sack_room_in(spare), room, "{spare}");
        }
        header.agreed.timestamps = true;
        assert_eq!(header.sack_room_in(1448), SackBlocks::MAX_STAMPED);
    }
}
