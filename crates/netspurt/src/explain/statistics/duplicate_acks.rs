//! Counts duplicate acknowledgments.

use crate::packed::packed_value;
use crate::segment::Flags;
use crate::wire::CapturedTcp;

/// Duplicate acknowledgments of a direction's data (RFC 5681 §2). They have no payload, SYN, FIN or
/// RST. They repeat the highest acknowledgment number and the last window while data is
/// outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DuplicateAcks {
    /// The number of duplicate acknowledgments.
    pub count: u64,
    /// How often three duplicate acknowledgments came in a row.
    pub triples: u64,
    /// The number of duplicate acknowledgments in a row so far.
    run: u32,
    /// The last window, before scaling. `None` if there was none, or if it was in a SYN with window
    /// scaling.
    window: Option<u16>,
    /// Whether the last window was zero.
    pub closed: bool,
}

packed_value!(DuplicateAcks { count, triples, run, window, closed });

impl DuplicateAcks {
    /// Takes an acknowledgment. `repeats` says whether it repeats the highest acknowledgment
    /// number while data is outstanding.
    #[inline]
    pub fn take(&mut self, packet: &impl CapturedTcp, repeats: bool) {
        let flags = packet.flags();
        let bare = packet.len() == 0
            && !flags.has(Flags::SYN)
            && !flags.has(Flags::FIN)
            && !flags.has(Flags::RST);
        if repeats && bare && self.window == Some(packet.window()) {
            self.count += 1;
            self.run = self.run.saturating_add(1);
            self.triples += u64::from(self.run == 3);
        } else {
            self.run = 0;
        }
        self.advertise(packet);
    }

    /// Notes the window of a segment of the peer.
    #[inline]
    pub fn advertise(&mut self, packet: &impl CapturedTcp) {
        if !packet.flags().has(Flags::RST) {
            // If windows are scaled, the window of a SYN has another unit than the later windows
            // (RFC 7323 §2.2). Otherwise the unit is the same.
            let scaled = || !packet.options_whole() || packet.syn_options().window_scale.is_some();
            let other_unit = packet.flags().has(Flags::SYN) && scaled();
            self.window = (!other_unit).then_some(packet.window());
            self.closed = packet.advertised() == Some(0);
        }
    }
}
