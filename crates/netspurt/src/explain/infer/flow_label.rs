//! The IPv6 flow labels of one direction. Some senders change their label when a timer fires.

/// What the flow label of a retransmission shows about its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelHint {
    /// Nothing: the sender sets no labels, or changes them for other reasons, or too few packets
    /// had labels so far.
    #[default]
    None,
    /// The label differs from the label of the previous packet, so a retransmission timer fired.
    Changed,
    /// The label equals the label of the previous packet. This alone shows nothing, because the
    /// sender may never change its label. But other packets may show that the sender changes its
    /// label when a timer fires.
    Kept,
    /// The label equals the label of the previous packet, and this sender was seen to change its
    /// label when a timer fired.
    KeptByHabit,
}

/// The flow labels of one direction.
///
/// By RFC 6437 §3, a label belongs to a flow and does not change. Linux draws a new label when a
/// retransmission timer fires (`sk_rethink_txhash`), unless the sysctl `net.core.txrehash` is 0.
/// For a new label, routers that balance load by labels (RFC 6438) may choose another path. From
/// the timeout on, all segments have the new label. Probes and retransmissions without a timeout do
/// not change the label. A receiver of a segment with a new label may change the label of its
/// acknowledgments.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowLabels {
    /// The label of the last packet with a label. It is 0 before the first such packet.
    last: u32,
    /// The number of packets with the label of the previous packet. The count includes the first
    /// packet with a label.
    kept: u16,
    /// The number of packets, except retransmissions, with a label that differs from the previous
    /// label.
    strayed: u16,
    /// The number of retransmissions with a label that differs from the previous label.
    moved: u16,
}

impl FlowLabels {
    /// For each packet that is no retransmission and changed the label, at least `STEADY` packets
    /// must have kept the label. Otherwise labels show nothing.
    const STEADY: u16 = 4;

    /// Takes the label of a captured packet. `again` says whether the packet is a retransmission.
    #[inline]
    pub fn take(&mut self, label: u32, again: bool) {
        if label == 0 {
            return;
        }
        let count = match (label == self.last, again) {
            _ if self.last == 0 => &mut self.kept,
            (true, _) => &mut self.kept,
            (false, true) => &mut self.moved,
            (false, false) => &mut self.strayed,
        };
        *count = count.saturating_add(1);
        self.last = label;
    }

    /// Whether labels may show causes: most packets have the label of the packet before.
    fn is_steady(&self) -> bool {
        self.kept >= 2 && self.kept / Self::STEADY >= self.strayed
    }

    /// Whether the sender was seen to change its label when a timer fired.
    pub fn change_at_timeouts(&self) -> bool {
        self.is_steady() && self.moved > 0
    }

    /// What `label` shows about a retransmission that [`take`](Self::take) has not taken yet.
    pub fn hint(&self, label: u32) -> LabelHint {
        match label == self.last {
            _ if label == 0 || self.last == 0 || !self.is_steady() => LabelHint::None,
            false => LabelHint::Changed,
            true if self.moved > 0 => LabelHint::KeptByHabit,
            true => LabelHint::Kept,
        }
    }
}
