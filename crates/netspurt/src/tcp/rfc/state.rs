//! The states of a TCP connection, and the reasons for its failure.

use crate::packed::packed_variants;

/// The states of RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpState {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN came, and a SYN was sent.
    SynReceived,
    /// Data may flow in both directions.
    Established,
    /// A FIN was sent.
    FinWait1,
    /// Our FIN was acknowledged.
    FinWait2,
    /// The peer has closed, this end has not.
    CloseWait,
    /// Both ends closed simultaneously.
    Closing,
    /// The peer closed first, then this end.
    LastAck,
    /// Both ends have closed. Late segments are answered.
    TimeWait,
}

packed_variants!(TcpState {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait
});

impl TcpState {
    /// Whether data and FIN may be sent or retransmitted.
    pub(super) fn may_send(self) -> bool {
        use TcpState::{CloseWait, Closing, Established, FinWait1, LastAck};
        matches!(self, Established | CloseWait | FinWait1 | Closing | LastAck)
    }

    /// Whether the handshake has ended: the state is ESTABLISHED or a later state.
    pub(super) fn is_synchronised(self) -> bool {
        !matches!(
            self,
            TcpState::Closed | TcpState::Listen | TcpState::SynSent | TcpState::SynReceived
        )
    }

    /// The state after this end sent its FIN.
    pub(super) fn after_fin_sent(self) -> TcpState {
        match self {
            TcpState::Established => TcpState::FinWait1,
            TcpState::CloseWait => TcpState::LastAck,
            other => other,
        }
    }

    /// The state after the peer's FIN arrived. The flag `own_is_acked` says whether our FIN was
    /// acknowledged.
    pub(super) fn after_fin_received(self, own_is_acked: bool) -> TcpState {
        match self {
            TcpState::Established => TcpState::CloseWait,
            TcpState::FinWait1 if own_is_acked => TcpState::TimeWait,
            TcpState::FinWait1 => TcpState::Closing,
            TcpState::FinWait2 => TcpState::TimeWait,
            other => other,
        }
    }

    /// The state after our FIN was acknowledged.
    pub(super) fn after_fin_acked(self) -> TcpState {
        match self {
            TcpState::FinWait1 => TcpState::FinWait2,
            TcpState::Closing => TcpState::TimeWait,
            TcpState::LastAck => TcpState::Closed,
            other => other,
        }
    }
}

/// The reason why a connection failed, that is, ended without an exchange of FINs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer answered the SYN with a reset.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// Too many retransmissions or probes had no answer (RFC 9293 §3.8.3, §3.8.4).
    TimedOut,
}

packed_variants!(Failure { Refused, Reset, TimedOut });

#[cfg(test)]
mod tests {
    use super::TcpState::{
        CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, TimeWait,
    };

    /// RFC 9293 §3.6, figure 12: A closes, B closes later.
    #[test]
    fn the_normal_close_leads_one_end_to_time_wait_and_the_other_to_closed() {
        let a = Established.after_fin_sent();
        let b = Established.after_fin_received(false);
        assert_eq!((a, b), (FinWait1, CloseWait));
        let a = a.after_fin_acked();
        let b = b.after_fin_sent();
        assert_eq!((a, b), (FinWait2, LastAck));
        assert_eq!((a.after_fin_received(true), b.after_fin_acked()), (TimeWait, Closed));
    }

    /// RFC 9293 §3.6, figure 13: both ends close simultaneously.
    #[test]
    fn a_simultaneous_close_passes_through_closing() {
        let crossed = Established.after_fin_sent().after_fin_received(false);
        assert_eq!((crossed, crossed.after_fin_acked()), (Closing, TimeWait));
        assert_eq!(Established.after_fin_sent().after_fin_received(true), TimeWait);
    }
}
