//! What a packet tells of the silence before it.
//!
//! A connection is silent if the capture shows none of its packets. Without the packet that ends the
//! silence, the connection seems to wait for what its senders waited for before. The packet tells more:
//!
//! * A reply, or an ACK that its sender delayed, comes later than a round trip after the data that it
//!   acknowledges. If all data was sent, the path needs the shortest round trip of this silence. In the
//!   rest the end that answers had nothing to send: a receiver may delay an ACK for up to 0.5 s, to
//!   send it with data (RFC 9293 §3.8.6.3).
//! * A sender that its congestion window holds back sends when an acknowledgment comes. If it sends
//!   new data after a silence, it could have sent before, so its application had no more data.

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::infer::PathTimes;
use super::{CapturedConnection, WaitingFor};

impl CapturedConnection {
    /// A shorter silence is not looked at: packets come with the delays of hosts and links.
    pub(super) const SILENCE_MIN: Duration = Duration::from_millis(1);
    /// Round trips vary. What comes later than the shortest one by more than this part of it was not
    /// only on its way.
    const LATE_PART: u64 = 4;
    /// A sender that paces three segments or more in a round trip does not pause for longer than this
    /// part of it.
    const PAUSE_PART: u64 = 3;

    /// What the connection waited for before data of `side` came, if neither end seemed to have data
    /// to send, and the last acknowledgment of the sender's data had just reached it: then its
    /// application did not pause. Beside the receiver all data that was seen may be acknowledged while
    /// more is on its way.
    ///
    /// What comes later was on its way until the acknowledgment reached the sender, as seen from the
    /// capture. Then the application paused. The first part is counted here.
    #[inline]
    pub(super) fn was_on_its_way(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
    ) -> Option<WaitingFor> {
        let waiting = self.spent.waits_for(at).0;
        let paused = waiting == WaitingFor::Application && packet.len() > 0;
        let reached = paused.then(|| self.reached_after(side)).flatten();
        let soon = reached.is_some_and(|(progress, [_, near])| {
            at.saturating_since(progress) <= near + near / Self::LATE_PART
        });
        if self.afar {
            return self.let_reach(side, at, packet, (reached.is_some(), soon));
        }
        let (progress, [near, _]) = reached?;
        let held = self.held_back(side, true);
        if !soon {
            self.spent.packet(progress + near, held, WaitingFor::Application);
        }
        held.filter(|_| soon)
    }

    /// When data of `side` was last sent or acknowledged; and how long an acknowledgment then takes to
    /// the sender, and data from there: at the least, and now. Beside the sender nothing is on its way.
    fn reached_after(&self, side: Side) -> Option<(Time, [Duration; 2])> {
        let way = self.ways[side.index()].as_deref()?;
        let path = Some(&way.sender.path).filter(|path| !path.is_beside_sender())?;
        Some((way.limits.progress?, [path.near(), path.near_now()]))
    }

    /// What the connection waited for before a packet of `side`, if a silence before the packet tells.
    /// The part of the silence that the path needed is counted.
    #[inline]
    pub(super) fn told_of_silence(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
    ) -> Option<WaitingFor> {
        let (waiting, silence) = self.spent.waits_for(at);
        if silence < Self::SILENCE_MIN {
            return None;
        }
        match waiting {
            WaitingFor::Delivery => self.was_answered_late(side, at, packet),
            WaitingFor::CongestionWindow => self.had_no_more(side, silence, packet),
            _ => None,
        }
    }

    /// Splits the silence after all data was sent, if a packet of `side` ends it that acknowledges all
    /// and comes later than the round trip.
    fn was_answered_late(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
    ) -> Option<WaitingFor> {
        let way = self.ways[side.peer().index()].as_deref()?;
        let own = self.ways[side.index()].as_deref();
        let flags = packet.flags();
        let answers = flags.has(Flags::ACK) && !flags.has(Flags::RST) && !flags.has(Flags::SYN);
        let all = way.octets.sequence().octet(packet.ack()) == way.octets.sequence().highest();
        let alone = own.is_none_or(|own| own.octets.outstanding().is_empty());
        let far = way.sender.path.far().filter(|_| answers && all && alone)?;
        let late = at.saturating_since(way.limits.progress?) - far;
        if late <= far / Self::LATE_PART {
            return None;
        }
        if packet.len() > 0 {
            let arrived = Time::from_nanos((at.saturating_since(Time::ZERO) - late).as_nanos());
            self.spent.packet(arrived, None, WaitingFor::Application);
            return Some(WaitingFor::Application);
        }
        self.spent.delays_ack(side, late);
        None
    }

    /// Whether the sender `side` had no more data in a `silence` before it sends new data.
    fn had_no_more(
        &self,
        side: Side,
        silence: Duration,
        packet: &impl CapturedTcp,
    ) -> Option<WaitingFor> {
        let way = self.ways[side.index()].as_deref().filter(|_| packet.len() > 0)?;
        let new = way.octets.sequence().octet(packet.seq()) == way.octets.sequence().highest();
        let held = way.limits.waiting(&way.octets) == Some(WaitingFor::CongestionWindow);
        (new && held && had_no_more_in(silence, &way.sender.path)).then_some(WaitingFor::Delivery)
    }
}

/// Whether a sender on this path had no more data in a `silence`, if its windows would have allowed
/// more.
pub(super) fn had_no_more_in(silence: Duration, path: &PathTimes) -> bool {
    let part = CapturedConnection::PAUSE_PART;
    path.least().is_some_and(|least| silence > least / part) && path.is_beside_sender()
}
