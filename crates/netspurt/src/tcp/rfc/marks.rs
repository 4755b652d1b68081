//! Receives congestion marks (ECN) and echoes them to the sender (RFC 3168 §6.1.3). With the flag
//! CWR, the sender says that it has reduced its cwnd.

use crate::packed::packed;
use crate::segment::{Ecn, Flags, Segment};

use super::config::RfcConfig;

/// The receiver's state about congestion marks.
#[derive(Debug)]
pub(super) struct MarkEcho {
    /// Whether marks count only in new data, and CWR only in segments with data, SYN or FIN.
    in_text_only: bool,
    /// Whether both ends agreed on ECN.
    is_on: bool,
    /// Whether marks are echoed now. The echo ends when the peer says by CWR that it reacted.
    pub(super) is_echoed: bool,
    /// Whether any segment so far was ECN-capable. With `in_text_only`, only new data counts.
    pub(super) is_seen: bool,
}

packed!(MarkEcho { is_on, is_echoed, is_seen } keeps { in_text_only });

impl MarkEcho {
    pub(super) fn new(config: &RfcConfig) -> Self {
        let in_text_only = config.receive_rules.marks_in_text;
        Self { in_text_only, is_on: false, is_echoed: false, is_seen: false }
    }

    /// Sets the state at the beginning, when the peer's SYN has arrived. The flag `ecn` says
    /// whether both ends agreed on ECN.
    pub(super) fn begin(&mut self, ecn: bool) {
        self.is_on = ecn;
    }

    /// Processes the CWR of an arrived segment, and without `in_text_only` also the mark. By CWR
    /// the peer says that it reacted (`tcp_ecn_accept_cwr`). Returns whether the segment must be
    /// acknowledged immediately. With `in_text_only`, a segment must be acknowledged immediately if
    /// it has CWR and also data, SYN or FIN. Without `in_text_only`, a segment must be acknowledged
    /// immediately if it has a mark.
    pub(super) fn on_segment(&mut self, segment: &Segment) -> bool {
        if !self.is_on {
            return false;
        }
        let reacted = segment.flags.has(Flags::CWR);
        if self.in_text_only {
            let counts = reacted && segment.seq_len() > 0;
            self.is_echoed &= !counts;
            return counts;
        }
        let marked = segment.ecn == Ecn::CE;
        self.is_seen |= segment.ecn != Ecn::NOT_ECT;
        self.is_echoed = marked || self.is_echoed && !reacted;
        marked
    }

    /// Processes the mark of new data, if marks count only in new data. Returns whether the next
    /// acknowledgments must be sent immediately. Immediate acknowledgments are necessary after a
    /// mark that starts the echo. They are also necessary after data that is not ECN-capable, if
    /// earlier data was ECN-capable. The data that is not ECN-capable is probably a retransmission
    /// (`tcp_data_ecn_check`).
    pub(super) fn on_new_data(&mut self, segment: &Segment) -> bool {
        if !self.is_on || !self.in_text_only {
            return false;
        }
        let seen = self.is_seen;
        match segment.ecn {
            Ecn::NOT_ECT => return seen,
            Ecn::CE => {
                self.is_seen = true;
                return !core::mem::replace(&mut self.is_echoed, true);
            }
            _ => self.is_seen = true,
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state of a receiver that agreed on ECN.
    fn marks(in_text_only: bool) -> MarkEcho {
        let config = if in_text_only { RfcConfig::linux_6() } else { RfcConfig::rfc_2026() };
        let mut marks = MarkEcho::new(&config);
        marks.begin(true);
        marks
    }

    /// RFC 3168 §6.1.3: the receiver echoes marks until it receives CWR.
    #[test]
    fn marks_are_echoed_until_the_peer_says_that_it_reacted() {
        let mut marks = marks(false);
        let marked = Segment { ecn: Ecn::CE, ..Segment::default() };
        let reacted = Segment { flags: Flags::CWR, ..Segment::default() };
        assert!(marks.on_segment(&marked) && marks.is_echoed);
        assert!(!marks.on_segment(&Segment::default()) && marks.is_echoed);
        assert!(!marks.on_segment(&reacted) && !marks.is_echoed);
        let both = Segment { flags: Flags::CWR, ..marked };
        assert!(marks.on_segment(&both) && marks.is_echoed);
        marks.begin(false);
        assert!(!marks.on_segment(&marked) && !marks.on_new_data(&marked), "ECN is not agreed on");
    }

    #[test]
    fn the_ack_is_immediate_after_the_first_mark_and_after_later_data_without_ecn() {
        let mut marks = marks(true);
        let segment = |ecn| Segment { ecn, len: 1000, ..Segment::default() };
        assert!(!marks.on_new_data(&segment(Ecn::NOT_ECT)), "no earlier segment was ECN-capable");
        assert!(!marks.on_new_data(&segment(Ecn::ECT0)) && marks.is_seen);
        assert!(marks.on_new_data(&segment(Ecn::CE)) && marks.is_echoed);
        assert!(!marks.on_new_data(&segment(Ecn::CE)) && marks.on_new_data(&segment(Ecn::NOT_ECT)));
        let mut reacted = Segment { flags: Flags::CWR, ..Segment::default() };
        assert!(!marks.on_segment(&reacted) && marks.is_echoed, "CWR without data");
        reacted.len = 1;
        assert!(marks.on_segment(&reacted) && !marks.is_echoed);
    }
}
