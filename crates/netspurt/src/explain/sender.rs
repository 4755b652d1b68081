//! Why one side of a captured connection retransmits.

use crate::observe::{Answer, CoveredBy, OneWay, Transmission};
use crate::units::Time;
use crate::wire::TcpView;

use super::kept::{Acknowledged, CapturedSegment};
use super::retransmission::ExplainedRetransmission;

/// What is inferred of the sender of one direction, from its segments and their acknowledgements.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    retransmissions: Vec<ExplainedRetransmission>,
}

impl Sender {
    /// A segment that occupies sequence numbers is about to be added to `octets`.
    pub fn sending(&mut self, _at: Time, _packet: &TcpView, _octets: &OneWay<CapturedSegment>) {}

    /// It was added to `octets`, as `transmission`.
    pub fn sent(
        &mut self,
        at: Time,
        _packet: &TcpView,
        transmission: Transmission,
        _octets: &OneWay<CapturedSegment>,
    ) {
        if transmission.again {
            let Transmission { left, right, .. } = transmission;
            self.retransmissions.push(ExplainedRetransmission {
                at,
                left,
                right,
                ..Default::default()
            });
        }
    }

    /// An acknowledgement is about to be added to `octets`.
    pub fn answering(&mut self, _at: Time, _packet: &TcpView, _octets: &OneWay<CapturedSegment>) {}

    /// The acknowledgement is the first to cover `segment`.
    pub fn covered(&mut self, _at: Time, _segment: &Acknowledged, _covered: CoveredBy) {}

    /// The acknowledgement was added to `octets`, and acknowledged `answer`.
    pub fn answered(
        &mut self,
        _at: Time,
        _packet: &TcpView,
        _answer: &Answer,
        _octets: &OneWay<CapturedSegment>,
    ) {
    }

    /// Its latest retransmission, as far as is known by now.
    pub fn latest(&self) -> Option<&ExplainedRetransmission> {
        self.retransmissions.last()
    }

    /// The connection has ended, or the capture: all retransmissions, in order.
    pub fn finish(self) -> Vec<ExplainedRetransmission> {
        self.retransmissions
    }
}
