//! The flow labels of one direction over IPv6, which some senders change when a timer fires.

/// What the flow label of a retransmission tells of its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelHint {
    /// Nothing: the sender sets none, or changes them otherwise.
    #[default]
    None,
    /// The label differs from that of the packet before, so a retransmission timer fired.
    Changed,
    /// The label is that of the packet before.
    Kept,
    /// The label is that of the packet before, and the sender was seen to change it when a timer
    /// fired.
    KeptByHabit,
}

/// The flow labels of one direction.
///
/// A label belongs to a flow and does not change (RFC 6437 §3). Linux draws a new one when a
/// retransmission timer fires (since version 5.10, `net.core.txrehash`), so that routers that
/// balance load by labels (RFC 6438) may take another path; repairs, probes and what follows a
/// timeout keep it. A receiver of such a segment may change its own label with its next
/// acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowLabels {
    /// The label of the last packet; 0 if there was none.
    last: u32,
    /// Packets with the label of the packet before them.
    kept: u16,
    /// New segments with another label than the packet before them.
    strayed: u16,
    /// Retransmissions with another label than the packet before them.
    moved: u16,
}

impl FlowLabels {
    /// For each packet that changed its label without a timeout, this many must have kept theirs.
    /// Otherwise labels tell nothing.
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

    /// What `label` tells about a retransmission that is taken next.
    pub fn hint(&self, label: u32) -> LabelHint {
        let steady = self.kept >= 2 && self.kept / Self::STEADY >= self.strayed;
        match label == self.last {
            _ if label == 0 || self.last == 0 || !steady => LabelHint::None,
            false => LabelHint::Changed,
            true if self.moved > 0 => LabelHint::KeptByHabit,
            true => LabelHint::Kept,
        }
    }
}
