//! What limits a sender, as far as its packets and their acknowledgments tell.

use crate::observe::{OneWay, Transmission};
use crate::segment::Flags;
use crate::units::Time;
use crate::wire::CapturedTcp;

use super::{CapturedSegment, WaitingFor};

/// What limits one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The current repair lasts until this octet is acknowledged.
    repair_end: u64,
    /// The octet after the last one that the receiver's window allows, if the window is known.
    window_end: Option<u64>,
    /// Octets of payload in a full segment: the MSS in the receiver's SYN, or else the most seen.
    full_bytes: u32,
    /// Whether `full_bytes` comes from the receiver's SYN.
    offered: bool,
    /// Whether the last new segment had PSH and was not full, so the application had no more data.
    short: bool,
    /// Whether an acknowledgment was captured.
    heard: bool,
    /// Whether data was sent, and no FIN.
    goes_on: bool,
    /// When data was last sent or acknowledged, which restarts the retransmission timer.
    pub progress: Option<Time>,
}

impl Limits {
    /// Octets of the time stamps option, which reduce the payload of a segment (RFC 6691 §2).
    const STAMP_BYTES: u32 = 12;

    /// Takes a segment of this direction, with the result `sent` of adding it to `octets`.
    #[inline]
    pub fn sent(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        sent: Transmission,
        octets: &OneWay<CapturedSegment>,
    ) {
        if packet.len() > 0 {
            if sent.again {
                if octets.una() >= self.repair_end {
                    self.repair_end = octets.sequence().highest();
                }
            } else {
                self.fresh(packet);
            }
        }
        self.goes_on &= !packet.flags().has(Flags::FIN);
        self.progress = Some(at);
    }

    /// Takes a segment with new octets of payload.
    pub fn fresh(&mut self, packet: &impl CapturedTcp) {
        if !self.offered {
            self.full_bytes = self.full_bytes.max(packet.len());
        }
        let stamps = packet.timestamps().map_or(0, |_| Self::STAMP_BYTES);
        let full =
            if self.offered { self.full_bytes.saturating_sub(stamps) } else { self.full_bytes };
        self.short = packet.flags().has(Flags::PSH) && !packet.len().is_multiple_of(full.max(1));
        self.goes_on = true;
        if !self.heard {
            // The sender goes on, so acknowledgments that were not captured ended the repair.
            self.repair_end = 0;
        }
    }

    /// Takes an acknowledgment of this direction. `shift` is the shift of its window; `None` if
    /// the SYNs were not captured.
    #[inline]
    pub fn answered(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        news: bool,
        ack: u64,
        shift: Option<u8>,
    ) {
        if packet.flags().has(Flags::SYN) {
            if let Some(mss) = packet.syn_options().mss {
                (self.full_bytes, self.offered) = (mss.into(), true);
            }
        } else if let (Some(shift), Some(window)) = (shift, packet.advertised()) {
            let end = ack + (u64::from(window) << shift);
            self.window_end = Some(self.window_end.map_or(end, |before| before.max(end)));
        }
        self.heard = true;
        if news {
            self.progress = Some(at);
        }
    }

    /// What the sender waits for. `None` if nothing is outstanding and the receiver's window is open.
    #[inline]
    pub fn waiting(&self, octets: &OneWay<CapturedSegment>) -> Option<WaitingFor> {
        if octets.outstanding().is_empty() {
            // While the window is closed, the sender cannot go on (RFC 9293 §3.8.6.1).
            let closed = self.window_end.is_some_and(|end| end <= octets.sequence().highest());
            return (closed && self.goes_on).then_some(WaitingFor::ReceiveWindow);
        }
        let next = octets.sequence().highest() + u64::from(self.full_bytes.max(1));
        Some(if octets.una() < self.repair_end {
            WaitingFor::Repair
        } else if self.window_end.is_some_and(|end| next > end) {
            WaitingFor::ReceiveWindow
        } else {
            self.held_back_by()
        })
    }

    /// What a sender waits for that the receiver and no repair holds up.
    pub fn held_back_by(&self) -> WaitingFor {
        if self.short { WaitingFor::Delivery } else { WaitingFor::CongestionWindow }
    }
}
