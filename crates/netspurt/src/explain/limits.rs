//! What limits a sender, as far as its packets and their acknowledgments tell.

use crate::observe::OneWay;
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::{CapturedSegment, WaitingFor};

/// What limits one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The octet after the highest one when the current repair began: the repair lasts until all
    /// octets before it are acknowledged. `None` if no repair began since then.
    repair_end: Option<u64>,
    /// The octet after the last one that the receiver's window allows, if the window is known.
    window_end: Option<u64>,
    /// The largest window that the receiver advertised, in octets.
    window_max: u64,
    /// A window until it is known whether the sender fills it.
    offer: Option<WindowOffer>,
    /// Away from the sender: whether the sender filled the last window of which this is known.
    fills: bool,
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

/// The octets that a segment brought to the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentOctets {
    /// New ones, in order.
    New,
    /// Octets that were sent before.
    Again,
    /// Octets that others had overtaken, or a copy by the network or the capture. Nobody sent them
    /// again, so they repair nothing.
    Late,
}

/// A window that the receiver advertised.
#[derive(Clone, Copy, Debug)]
struct WindowOffer {
    /// The octet after the last one that it allows.
    end: u64,
    /// Its size.
    bytes: u64,
    /// When it was captured.
    since: Time,
}

/// An acknowledgment, as far as it may tell what limits a sender.
#[derive(Clone, Copy, Debug)]
pub struct AckForLimits {
    /// The octet after the last one that it acknowledges.
    pub ack: u64,
    /// Whether it acknowledges new octets.
    pub news: bool,
    /// The shift of its window; `None` if the SYNs were not captured.
    pub shift: Option<u8>,
    /// The time from the capture to the sender and back; `None` at the sender, or if it is not known.
    pub near: Option<Duration>,
}

impl Limits {
    /// Octets of the time stamps option, which reduce the payload of a segment (RFC 6691 §2).
    const STAMP_BYTES: u32 = 12;
    /// Data may take longer to pass the capture by this part of the round trip to the sender.
    const SLACK_PART: u64 = 16;

    /// Takes a segment of this direction that was added to `octets`.
    #[inline]
    pub fn sent(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        what: SentOctets,
        octets: &OneWay<CapturedSegment>,
    ) {
        if packet.len() > 0 {
            match what {
                SentOctets::New => self.fresh(packet),
                SentOctets::Again if !self.repairs(octets) => {
                    self.repair_end = Some(octets.sequence().highest());
                }
                SentOctets::Again | SentOctets::Late => {}
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
            self.repair_end = None;
        }
    }

    /// Takes an acknowledgment of this direction. Returns the new octets that were sent during a
    /// repair, if the acknowledgment ends one.
    #[inline]
    pub fn answered(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        how: &AckForLimits,
        octets: &OneWay<CapturedSegment>,
    ) -> Option<u64> {
        let &AckForLimits { ack, news, shift, near } = how;
        if packet.flags().has(Flags::SYN) {
            if let Some(mss) = packet.syn_options().mss {
                (self.full_bytes, self.offered) = (mss.into(), true);
            }
        } else if let (Some(shift), Some(window)) = (shift, packet.advertised()) {
            let window = u64::from(window) << shift;
            let end = ack + window;
            // If the window had no room for more, the last segment may be short because of that.
            self.short &= !self.has_no_room(octets.sequence().highest());
            self.window_max = self.window_max.max(window);
            self.window_end = Some(self.window_end.map_or(end, |before| before.max(end)));
        }
        // A segment of a flight in the other direction repeats what the one before told.
        if let Some(near) = near.filter(|_| news || packet.len() == 0) {
            self.look_at_offer(at, ack, octets.sequence().highest(), near);
        }
        self.heard = true;
        if news {
            self.progress = Some(at);
        }
        let ended = self.repair_end.take_if(|end| octets.una() >= *end)?;
        Some(octets.sequence().highest().saturating_sub(ended))
    }

    /// The new octets that were sent since the current repair began.
    pub fn sent_in_repair(&self, octets: &OneWay<CapturedSegment>) -> u64 {
        self.repair_end.map_or(0, |end| octets.sequence().highest().saturating_sub(end))
    }

    /// Whether octets are missing that were sent before the current repair began.
    #[inline]
    fn repairs(&self, octets: &OneWay<CapturedSegment>) -> bool {
        self.repair_end.is_some_and(|end| octets.una() < end)
    }

    /// Decides away from the sender whether it fills the receiver's window.
    ///
    /// A sender that fills the window sends up to its end as soon as the window is known to it. So
    /// these octets pass the capture `near` after the window did: the time from the capture to the
    /// sender and back. If they take longer by the time of a segment, something else holds the sender
    /// back.
    fn look_at_offer(&mut self, at: Time, ack: u64, highest: u64, near: Duration) {
        let full = u64::from(self.full_bytes.max(1));
        if let Some(WindowOffer { end, bytes, since }) = self.offer {
            let segment = near * full / bytes.max(1);
            let limit = near + segment.max(near / Self::SLACK_PART);
            if highest + full > end {
                // The last data came after the last acknowledgment, so this is its time.
                self.fills = self.progress.unwrap_or(at).saturating_since(since) <= limit;
            } else if at.saturating_since(since) > limit {
                self.fills = false;
            } else {
                return;
            }
        }
        let offer = |end: u64| WindowOffer { end, bytes: end.saturating_sub(ack), since: at };
        self.offer = self.window_end.map(offer);
    }

    /// Whether the receiver's window has no room for a full segment after the octet `highest`.
    #[inline]
    fn has_no_room(&self, highest: u64) -> bool {
        let next = highest + u64::from(self.full_bytes.max(1));
        self.window_end.is_some_and(|end| next > end)
    }

    /// Whether a sender with nothing outstanding must wait until the receiver's window grows
    /// (RFC 9293 §3.8.6.1): it has no room, or none for a full segment and for half of the largest
    /// window (§3.8.6.2.1). If the last segment ended what the application had, it may have no more
    /// data for a small window.
    fn is_closed(&self, highest: u64) -> bool {
        let Some(end) = self.window_end else { return false };
        let room = end.saturating_sub(highest);
        let small = self.has_no_room(highest) && 2 * room < self.window_max;
        room == 0 || small && !self.short
    }

    /// What the sender waits for. `None` if nothing is outstanding and the receiver's window is open.
    #[inline]
    pub fn waiting(&self, octets: &OneWay<CapturedSegment>) -> Option<WaitingFor> {
        if octets.outstanding().is_empty() {
            let closed = self.is_closed(octets.sequence().highest());
            return (closed && self.goes_on).then_some(WaitingFor::ReceiveWindow);
        }
        Some(if self.repairs(octets) {
            WaitingFor::Repair
        } else if self.has_no_room(octets.sequence().highest()) {
            WaitingFor::ReceiveWindow
        } else {
            self.held_back_by()
        })
    }

    /// What a sender waits for if no repair holds it up, and if octets would fit into the window at
    /// the point of the capture.
    pub fn held_back_by(&self) -> WaitingFor {
        match (self.short, self.fills) {
            (true, _) => WaitingFor::Delivery,
            (false, true) => WaitingFor::ReceiveWindow,
            (false, false) => WaitingFor::CongestionWindow,
        }
    }
}
