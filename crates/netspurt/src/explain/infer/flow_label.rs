//! The flow labels of one direction over IPv6, which some senders change when a timer fires.

/// What the flow label of a retransmission tells of its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelHint {
    /// Nothing: the sender sets none, or changes them otherwise.
    #[default]
    None,
    /// It is not that of the packet before: a retransmission timer fired.
    Changed,
    /// It is that of the packet before.
    Kept,
    /// The same, of a sender that was seen to change it when a timer fired.
    KeptByHabit,
}

/// The flow labels of one direction.
///
/// A label is that of a flow and stays (RFC 6437 §3). Linux draws a new one when a retransmission
/// timer fires (since version 5.10, `net.core.txrehash`), so that routers that balance load by
/// labels (RFC 6438) may take another path; repairs, probes and what follows a timeout keep it. A
/// receiver of such a segment may change its own label with its next acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowLabels {
    /// That of the last packet; 0 if there was none.
    last: u32,
    /// Packets with the label of the packet before them.
    kept: u16,
    /// Other packets that were no retransmissions.
    strayed: u16,
    /// Retransmissions with another label.
    moved: u16,
}

impl FlowLabels {
    /// So many packets must have kept their label for each other that changed it for no timer.
    const STEADY: u16 = 4;

    /// A packet with `label`, which may be a retransmission (`again`), was captured.
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

    /// What `label` tells of a retransmission that comes now.
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
