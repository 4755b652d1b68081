//! A shorter path through the code for segments that *continue* the segment before them. Most
//! segments are of this kind.
//!
//! Such a segment carries the next octets. It may have a new timestamp, and a new IP identification
//! or (in IPv6) other low bits in the flow label. Its other header fields equal the fields of the
//! previous segment. So the segment repeats the acknowledgment, the window and the echoed
//! timestamp, and has little new information (compare Jacobson, "4BSD TCP Header Prediction",
//! 1990). The code in this file counts the common part of such segments once. It leaves the same
//! state as [`CapturedConnection::take`].

use crate::ids::Side;
use crate::observe::Observed as _;
use crate::units::{Duration, Time};
use crate::wire::{CapturedTcp as _, PlainSegment};

use super::silence::had_no_more_in;
use super::{
    CapturedConnection, CapturedDirection, CapturedSegment, SentData, SharedState, WaitingFor,
};

impl CapturedConnection {
    /// `segment` was taken last. Returns whether further segments of `side` may take the shorter
    /// path after it. They may not take this path if `segment` does not end with the highest octet
    /// of `side`, or if this octet is acknowledged.
    fn may_continue(&self, side: Side, segment: &PlainSegment) -> bool {
        self.directions[side.index()].as_deref().is_some_and(|direction| {
            let highest = direction.octets.sequence().highest();
            let end = segment.seq().wrapping_add(segment.len());
            direction.octets.sequence().octet(end) == highest
                && direction.octets.una() < highest
                && !direction.octets.outstanding().is_empty()
                && direction.statistics.goes_on_at(highest)
        })
    }

    /// Takes segments of `side` that continue the segment `before`. The segment `before` was taken
    /// last and was captured at the instant `at`. Each of `segments` comes with the time since the
    /// segment before it.
    pub(super) fn take_continued(
        &mut self,
        side: Side,
        mut at: Time,
        before: &PlainSegment,
        segments: impl ExactSizeIterator<Item = (Duration, PlainSegment)> + Clone,
        shared: &mut SharedState,
    ) {
        // The segments do not take the shorter path if the capture has copies of packets of this
        // connection, or if acknowledgments reach a sender before the last of these segments is
        // captured.
        let alone = self.copy_finder.is_some()
            || self.afar && {
                let span = segments.clone().fold(Duration::ZERO, |sum, (gap, _)| sum + gap);
                self.has_reached(at + span)
            };
        if alone || !self.may_continue(side, before) {
            for (gap, segment) in segments {
                at += gap;
                self.take(side, at, &segment, shared);
            }
            return;
        }
        let many = segments.len() as u32;
        let (shift, other) = (self.handshake.shift_offered(side), self.sender_waits(side.peer()));
        let Self { directions, spent, .. } = self;
        let spent = &mut **spent;
        let Some(direction) = &mut directions[side.index()] else { return };
        let CapturedDirection { octets, statistics, sender, limits, .. } = &mut **direction;
        let calm = sender.is_calm();
        // One call is enough for all `segments`, because their fields equal the fields of the
        // segment `before`. Without the call, `limits` may not know of new data, because the
        // segment `before` may have had no new octets.
        limits.new_data(before);
        for (gap, segment) in segments {
            at += gap;
            let segment = &segment;
            let left = octets.sequence().highest();
            let had_no_more = gap >= Self::SILENCE_MIN
                && spent.waits_for(at).0 == WaitingFor::CongestionWindow
                && limits.waiting(octets) == Some(WaitingFor::CongestionWindow)
                && had_no_more_in(gap, &sender.path);
            if calm {
                sender.note_sent(at, segment, (left, true), octets);
            } else {
                sender.sending(at, segment, left, octets);
            }
            sender.labelled(at, segment.flow_label());
            let sent = octets.sent_next(at, segment, CapturedSegment::of(segment));
            statistics.continuing(at, segment, sent, octets);
            let waited = had_no_more.then_some(WaitingFor::Delivery);
            spent.packet(at, waited, WaitingFor::of_senders(limits.waiting(octets), other));
            spent.window_filled(|| sender.path.round_trip_beside_sender());
            if spent.has_stopped() && sender.path.is_beside_sender() {
                let data = SentData { new: true, short: limits.ends_short(), alone: false };
                spent.data_sent(side, at, data);
            }
            spent.data_of(side);
        }
        limits.set_flight(octets);
        limits.progress = Some(at);
        statistics.continued(before, shift, many);
        if let Some(back) = directions[side.peer().index()].as_deref_mut() {
            back.sender.heard_packet(at, before, 0, &back.octets);
        }
    }
}
