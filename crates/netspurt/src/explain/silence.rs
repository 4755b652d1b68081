//! What a connection waited for during a silence, as the packet that ends the silence shows.
//!
//! A silence is a time in which no packet of the connection was captured. During the silence, the
//! connection seems to wait for the same thing as before the silence. The packet after the silence
//! shows more:
//!
//! * The packet may be a reply or a delayed ACK that comes more than a round trip after the data
//!   that it acknowledges. If the packet acknowledges all data, the silence has two parts. The
//!   shortest round trip after the data counts as a wait for the path. The rest of the silence
//!   counts as a wait for the application of the end that answers. If the packet is an ACK without
//!   data, the rest counts in this way only if the end that sent the ACK sends the next data. The
//!   reason is that a receiver may delay an ACK for up to 0.5 s, to send it with data (RFC 9293
//!   §3.8.6.3).
//! * A sender that the congestion window holds back sends when an acknowledgment comes. If a sender
//!   sends new data after a silence, and no acknowledgment came, its application had no data to
//!   send during the silence.

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::infer::PathTimes;
use super::{CapturedConnection, WaitingFor};

impl CapturedConnection {
    /// Silences that are shorter than `SILENCE_MIN` are ignored, because hosts and links delay
    /// packets by about `SILENCE_MIN`.
    pub(super) const SILENCE_MIN: Duration = Duration::from_millis(1);
    /// Round trips vary. A packet is *late* if its round trip exceeds the expected round trip by
    /// more than the expected round trip divided by `LATE_PART`. Then something besides the path
    /// delayed the packet.
    const LATE_PART: u64 = 4;
    /// A sender that sends at least three evenly spaced segments in a round trip does not pause for
    /// longer than the round trip divided by `PAUSE_PART`.
    const PAUSE_PART: u64 = 3;

    /// Returns what the connection waited for in a pause in which it only seemed to wait for an
    /// application. The pause ended when `side` sent data, or repeated a SYN or FIN. `None` if
    /// there was no such pause.
    ///
    /// In a capture away from the sender, all captured data may be acknowledged while more data is
    /// on its way from the sender to the capture. Then the connection seems to wait for an
    /// application. If the next data comes soon after the last acknowledgment, the next data was
    /// already on its way. Soon means within about one round trip between the capture and the
    /// sender.
    ///
    /// If the data comes later, the application paused after the acknowledgment had reached the
    /// sender. Until the acknowledgment reached the sender, data was on its way. This method counts
    /// the time until then as a wait for what held the sender back.
    #[inline]
    pub(super) fn was_on_its_way(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
    ) -> Option<WaitingFor> {
        let waiting = self.spent.waits_for(at).0;
        let paused = waiting == WaitingFor::Application;
        let reached = (paused && (packet.len() > 0 || self.repeats(side, packet)))
            .then(|| self.reached_after(side))
            .flatten();
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

    /// Whether `packet` of `side` has the number of a SYN or FIN that `side` sent before.
    fn repeats(&self, side: Side, packet: &impl CapturedTcp) -> bool {
        packet.seq_len() > 0
            && self.directions[side.index()].as_deref().is_some_and(|direction| {
                let sequence = direction.octets.sequence();
                sequence.octet(packet.seq()) < sequence.highest()
            })
    }

    /// When data of `side` was last sent or acknowledged, and the shortest and the current round
    /// trip between the capture and the sender. `None` if the capture was taken beside the sender,
    /// because no data is on its way to such a capture.
    fn reached_after(&self, side: Side) -> Option<(Time, [Duration; 2])> {
        let direction = self.directions[side.index()].as_deref()?;
        let path = Some(&direction.sender.path).filter(|path| !path.is_beside_sender())?;
        Some((direction.limits.progress?, [path.near(), path.near_now()]))
    }

    /// What the connection waited for in the silence before a packet of `side`. `None` if the
    /// packet shows nothing new. If only the first part of the silence was a wait for the path,
    /// this method has already counted this part.
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
            WaitingFor::CongestionWindow if packet.len() > 0 => {
                self.had_no_more(side, silence, packet)
            }
            WaitingFor::CongestionWindow => self.was_answered_late(side, at, packet),
            WaitingFor::Application if self.opens_window(side, packet) => {
                Some(WaitingFor::Handshake)
            }
            _ => None,
        }
    }

    /// Whether `packet` of `side` only opens the window that the SYN of `side` closed. A proxy may
    /// send such a SYN, and open the window when it has reached the server. The wait for the open
    /// window belongs to the handshake.
    fn opens_window(&self, side: Side, packet: &impl CapturedTcp) -> bool {
        packet.seq_len() == 0
            && packet.advertised() > Some(0)
            && self.directions[side.peer().index()]
                .as_deref()
                .is_some_and(|direction| direction.limits.closed_by_syn)
    }

    /// Splits a silence that began when all data was sent: first the connection waited for the
    /// path, and then for an application. There are three conditions. First, the packet of `side`
    /// acknowledges all data. Second, this packet is late (see `LATE_PART`). Third, `side` has
    /// nothing outstanding. Returns [`WaitingFor::Application`] for the second part. `None` if a
    /// condition does not hold or the round trip is not known. Also `None` for a delayed ACK
    /// without data, because only the next data shows how the delay counts.
    fn was_answered_late(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
    ) -> Option<WaitingFor> {
        let direction = self.directions[side.peer().index()].as_deref()?;
        let own = self.directions[side.index()].as_deref();
        let flags = packet.flags();
        let answers = flags.has(Flags::ACK) && !flags.has(Flags::RST) && !flags.has(Flags::SYN);
        let all = direction.octets.sequence().octet(packet.ack())
            == direction.octets.sequence().highest();
        let alone = own.is_none_or(|own| own.octets.outstanding().is_empty());
        let far = direction.sender.path.far().filter(|_| answers && all && alone)?;
        let arrived = direction.limits.arrived(&direction.octets, far)?;
        let late = at.saturating_since(arrived);
        if late <= far / Self::LATE_PART {
            return None;
        }
        if packet.len() > 0 {
            self.spent.packet(arrived, None, WaitingFor::Application);
            return Some(WaitingFor::Application);
        }
        self.spent.delays_ack(side, late);
        None
    }

    /// What the connection waited for in a `silence` before a packet of `side` with data.
    /// `Delivery` if the data is new and the sender had no data to send during the silence,
    /// although the congestion window seemed to hold the sender back. Otherwise `None`.
    fn had_no_more(
        &self,
        side: Side,
        silence: Duration,
        packet: &impl CapturedTcp,
    ) -> Option<WaitingFor> {
        let direction = self.directions[side.index()].as_deref().filter(|_| packet.len() > 0)?;
        let new = direction.octets.sequence().octet(packet.seq())
            == direction.octets.sequence().highest();
        let held =
            direction.limits.waiting(&direction.octets) == Some(WaitingFor::CongestionWindow);
        (new && held && had_no_more_in(silence, &direction.sender.path))
            .then_some(WaitingFor::Delivery)
    }
}

/// Whether a silence shows that a sender on this path had no more data. `silence` is the time
/// before the sender's new data.
pub(super) fn had_no_more_in(silence: Duration, path: &PathTimes) -> bool {
    let part = CapturedConnection::PAUSE_PART;
    path.least().is_some_and(|least| silence > least / part) && path.is_beside_sender()
}
