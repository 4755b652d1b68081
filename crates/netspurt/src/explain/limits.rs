//! What limits a sender, as far as its packets and their acknowledgments show.
//!
//! A sender may send up to the end of the receive window that it knows (RFC 9293 §3.8.6). This end
//! is the sum of the acknowledgment number and the window of the newest acknowledgment that reached
//! the sender. In a capture at the sender, an acknowledgment reaches the sender when it is
//! captured. In any other capture, the acknowledgment must still travel to the sender, and the
//! sender's answer must travel back to the capture. Both ways together take the *near round trip*.
//! So an acknowledgment that passes the capture at the time u changes the captured data from the
//! time u + n on. Here n is the near round trip. Until then only earlier acknowledgments count.
//!
//! A *repair* begins with a retransmission. It lasts until all data that was sent before is
//! acknowledged. While data is on its way, the acknowledgments that count decide three questions:
//! does the window have room, is a repair in progress, and did the window cut the last segment? So
//! the results equal the results of a capture at the sender. They are only delayed by the time that
//! data takes from the sender to the capture. These are the details:
//!
//! * The number of an acknowledgment counts from the time u + n on. Its window counts a little
//!   later, when the sender has had time to use it. If the sender fills the new window at once, the
//!   old window held the sender back until this later time.
//! * Data comes a little later than u + n, because other packets travel before it. The limit for
//!   this delay is the longer of two times: the time of one segment at the rate that the window
//!   allows, and a sixteenth of the near round trip. If data comes within this limit, the sender
//!   sent it at once. Otherwise the window did not hold the sender back from u + n on.
//! * The near round trip changes with the queues before the capture. The time from an
//!   acknowledgment to the echo of its timestamp shows the change (`PathTimes::near_now`). If a
//!   packet echoes an older timestamp than the timestamp of an acknowledgment, the sender sent
//!   the packet before the acknowledgment reached the sender.
//! * If the first window has ample room and no repair began, it does not matter when an
//!   acknowledgment reaches the sender. So most directions keep no list of the acknowledgments that
//!   are on their way to the sender.
//! * If the near round trip is not known, the capture counts as a capture at the sender.
//! * If all captured data is acknowledged, only later data shows whether the sender had more to
//!   send. See `CapturedConnection::was_on_its_way`.
//! * The end of the window moves back only if the newest acknowledgment has a window of zero. A
//!   receiver should not shrink the window (§3.8.6), but some receivers close it at once. Any other
//!   smaller end may come from an old acknowledgment that is late.

use crate::observe::{OneWay, Transmission};
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::passed_acks::{PassedAck, PassedAcks, ReachedBy};
use super::{CapturedSegment, WaitingFor};

/// What limits the sender of one direction.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The octet after the highest octet sent when the current repair began. The repair lasts until
    /// all octets before this octet are acknowledged. `None` if no repair is in progress.
    repair_end: Option<u64>,
    /// The octet after the last octet that the receive window allows, as far as the sender knows.
    window_end: Option<u64>,
    /// The largest window that the receiver advertised, in octets.
    window_max: u64,
    /// Acknowledgments that may not have reached the sender. `None` in a capture at the sender, and
    /// while the first window has ample room.
    passed: Option<Box<PassedAcks>>,
    /// The payload size of a full segment, in octets. It is the payload that the two SYNs allow for
    /// a segment without options. If the SYNs do not show this, it is the largest payload seen.
    full_bytes: u32,
    /// Whether `full_bytes` comes from the SYNs.
    offered: bool,
    /// The payload size of a full segment as the sender makes it, in octets: the greatest common
    /// divisor of the payload sizes of the last new segments without PSH. A captured packet may
    /// hold several segments. If the path or additional TCP options make segments smaller, this is
    /// less than `full_bytes`.
    made_bytes: u32,
    /// Whether the last new segment is *short*, which means that it seems to end the application's
    /// data. Such a segment has PSH and is not full, and the window does not seem to have cut it.
    short: bool,
    /// The number of octets that were outstanding after the last new octets were sent.
    flight: u64,
    /// In a capture beside the sender: whether more than half of the octets in `flight` are
    /// acknowledged and no new octets were sent. A sender that has more data sends new octets for
    /// each acknowledgment. So in this case its application had no more data.
    drained: bool,
    /// Whether an acknowledgment was captured.
    heard: bool,
    /// Whether the sender may have more data: it sent data and no FIN.
    goes_on: bool,
    /// Whether the receiver's last packet is a SYN with a window of zero.
    pub closed_by_syn: bool,
    /// When data was last sent or acknowledged. The retransmission timer started then, or earlier.
    pub progress: Option<Time>,
    /// When new octets were last acknowledged.
    acked: Time,
    /// When new octets were acknowledged for the last time before `acked`.
    acked_before: Time,
}

/// The parts of an acknowledgment that may show what limits a sender.
#[derive(Clone, Copy, Debug)]
pub struct AckForLimits {
    /// The octet after the last acknowledged octet.
    pub ack: u64,
    /// The number of octets that are acknowledged for the first time.
    pub new_bytes: u64,
    /// The window scale shift. `None` if a SYN, or its options, were not captured.
    pub shift: Option<u8>,
    /// The time from the capture to the sender and back. `None` if the capture may have been taken
    /// at the sender.
    pub near: Option<Duration>,
    /// Whether the capture was taken beside the sender.
    pub beside_sender: bool,
}

impl Limits {
    /// The size of the timestamps option, in octets. This option reduces the payload of a segment
    /// (RFC 6691 §2).
    const STAMP_BYTES: u32 = 12;

    /// The default MSS (RFC 9293 §3.7.1). Most full segments have at least `SMALL_MSS_BYTES`
    /// octets, so a smaller divisor does not count as the size of a full segment.
    const SMALL_MSS_BYTES: u32 = 536;

    /// Takes the MSS that the receiver's SYN offers, and the MSS that the sender's own SYN offers,
    /// in octets. 0 means that an MSS is not known.
    ///
    /// A sender sends no segment that is larger than the receiver's MSS or than its own link takes
    /// (RFC 9293 §3.7.1). Its own MSS shows the largest segment that its link takes.
    pub fn offered(&mut self, of_receiver: u16, own: u16) {
        if of_receiver > 0 {
            let most = if own > 0 { own.min(of_receiver) } else { of_receiver };
            (self.full_bytes, self.offered) = (most.into(), true);
        }
    }

    /// Takes a segment of this direction. `sent` is the result of adding the segment to `octets`.
    /// `again` says whether the segment is a retransmission. A segment with old octets need not be
    /// a retransmission, because it may be an original that came late.
    #[inline]
    pub fn sent(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        (sent, again): (Transmission, bool),
        octets: &OneWay<CapturedSegment>,
    ) {
        if packet.len() > 0 {
            if sent.again {
                if again && !self.repairs(octets) {
                    self.repair_end = Some(octets.sequence().highest());
                }
            } else {
                self.new_data(packet);
                self.set_flight(octets);
            }
        }
        self.goes_on &= !packet.flags().has(Flags::FIN);
        self.progress = Some(at);
    }

    /// Takes a segment with new octets of payload.
    #[inline]
    pub fn new_data(&mut self, packet: &impl CapturedTcp) {
        if !self.offered {
            self.full_bytes = self.full_bytes.max(packet.len());
        }
        let stamps = packet.timestamps().map_or(0, |_| Self::STAMP_BYTES);
        let full =
            if self.offered { self.full_bytes.saturating_sub(stamps) } else { self.full_bytes };
        let pushed = packet.flags().has(Flags::PSH);
        if !pushed {
            self.made_bytes = made_bytes(self.made_bytes, packet.len());
        }
        let is_full = |full: u32| full > 0 && packet.len().is_multiple_of(full);
        self.short = pushed && !is_full(full) && !is_full(self.made_bytes);
        self.goes_on = true;
        self.drained = false;
        if !self.heard {
            // The sender sends new octets, so acknowledgments that were not captured ended the
            // repair.
            self.repair_end = None;
        }
    }

    /// Whether the last new segment seems to end the application's data.
    pub const fn ends_short(&self) -> bool {
        self.short
    }

    /// Notes how many octets are outstanding after new octets were sent.
    pub fn set_flight(&mut self, octets: &OneWay<CapturedSegment>) {
        self.flight = octets.sequence().highest().saturating_sub(octets.una());
    }

    /// Takes an acknowledgment of this direction. If it ends a repair, returns the number of new
    /// octets that were sent during the repair.
    #[inline]
    pub fn answered(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        how: &AckForLimits,
        octets: &OneWay<CapturedSegment>,
    ) -> Option<u64> {
        let &AckForLimits { ack, new_bytes, shift, near, beside_sender } = how;
        self.closed_by_syn = packet.flags().has(Flags::SYN) && packet.advertised() == Some(0);
        let (mut window_end, mut closes) = (None, false);
        if !packet.flags().has(Flags::SYN)
            && let (Some(shift), Some(window)) = (shift, packet.advertised())
        {
            let window = u64::from(window) << shift;
            self.window_max = self.window_max.max(window);
            window_end = Some(ack + window);
            closes = window == 0 && ack == octets.una() && !packet.flags().has(Flags::RST);
        }
        self.heard = true;
        if new_bytes > 0 {
            self.progress = Some(at);
            self.acked_before = std::mem::replace(&mut self.acked, at);
            let outstanding = octets.sequence().highest().saturating_sub(octets.una());
            self.drained |= beside_sender && 2 * outstanding < self.flight;
        }
        let (una, highest) = (octets.una(), octets.sequence().highest());
        if near.is_some() && self.passed.is_none() {
            // A sender knows the first window before it sends data.
            self.window_end = self.window_end.or(window_end);
            if self.has_ample_room(highest) && !closes {
                return None;
            }
        }
        if near.is_some() || self.passed.is_some() {
            let val = packet.timestamps().map(|stamps| stamps.val);
            let repeats = new_bytes == 0 && packet.len() > 0;
            let ack = PassedAck { at, una, window_end, closes, val, not_before: Time::ZERO };
            return self.passes(&ack, how, repeats, highest);
        }
        if window_end.is_some() {
            // If the window had no room for more octets, it may have cut the last segment.
            self.short &= !self.has_no_room(highest);
        }
        self.window_reaches(window_end, closes);
        self.number_reaches(una, highest)
    }

    /// The latest time at which the acknowledgment of all outstanding data passes the capture if
    /// the receiver does not delay it. `far` is the shortest round trip to the receiver.
    ///
    /// If at most two segments are outstanding, the receiver may delay their acknowledgment (RFC
    /// 5681 §4.2). Without this delay, the acknowledgment passes the capture a round trip after the
    /// segments were sent, or later if a queue delayed them. Such a queue also delayed the segments
    /// that were acknowledged last. So the time from the last acknowledgment to the next
    /// acknowledgment is at most the time between the last two acknowledgments. If more segments
    /// are outstanding, the later ones may wait in a queue for longer. Then the round trip counts
    /// from the last segment or acknowledgment of new data.
    pub fn arrived(&self, octets: &OneWay<CapturedSegment>, far: Duration) -> Option<Time> {
        let outstanding = octets.sequence().highest().saturating_sub(octets.una());
        if outstanding > 2 * u64::from(self.full_bytes) {
            return self.progress.map(|progress| progress + far);
        }
        let sent = octets.outstanding().back()?.last_sent + far;
        let step = self.acked.saturating_since(self.acked_before.max(sent));
        Some(sent.max(self.acked + step))
    }

    /// Whether two conditions hold: no repair began, and the first window that passed the capture
    /// still has room for more than half of the largest window. If no window has passed the capture
    /// yet, only the repair counts. If the result is true, it does not matter which later
    /// acknowledgments the sender knows.
    fn has_ample_room(&self, highest: u64) -> bool {
        let room = self.window_end.map(|end| end.saturating_sub(highest));
        self.repair_end.is_none() && room.is_none_or(|room| room > self.window_max / 2)
    }

    /// The largest window that the receiver advertised, in octets. It is 0 if it is not known.
    pub const fn window_max(&self) -> u64 {
        self.window_max
    }

    /// The maximum length of a piece of the send buffer, if the sender is Linux. It is half of the
    /// largest window (`tcp_bound_to_half_wnd`), but at most 64 KiB with the headers
    /// (`GSO_LEGACY_MAX_SIZE`, `MAX_TCP_HEADER`).
    pub const fn piece_bytes_max(&self) -> u64 {
        const MOST: u64 = (1 << 16) - 1 - 320;
        let half = self.window_max / 2;
        if half == 0 || half > MOST { MOST } else { half }
    }

    /// When new octets were last acknowledged.
    pub const fn acked(&self) -> Time {
        self.acked
    }

    /// Whether the last acknowledgment of new octets came after the last data.
    pub fn ack_was_last(&self) -> bool {
        self.heard && self.progress == Some(self.acked)
    }

    /// Whether acknowledgments may be on their way from the capture to the sender.
    #[inline]
    pub fn is_afar(&self) -> bool {
        self.passed.is_some()
    }

    /// Takes the end of the window of an acknowledgment when this acknowledgment reaches the
    /// sender. If the acknowledgment `closes` the window, the end may move back.
    #[inline]
    fn window_reaches(&mut self, window_end: Option<u64>, closes: bool) {
        if let Some(end) = window_end {
            let before = self.window_end.filter(|_| !closes);
            self.window_end = Some(before.map_or(end, |before| before.max(end)));
        }
    }

    /// Takes an acknowledgment number when it reaches the sender. Returns what
    /// [`answered`](Self::answered) returns.
    #[inline]
    fn number_reaches(&mut self, una: u64, highest: u64) -> Option<u64> {
        let ended = self.repair_end.take_if(|end| una >= *end)?;
        Some(highest.saturating_sub(ended))
    }

    /// Takes an acknowledgment that passes the capture, and keeps it until it reaches the sender.
    /// `repeats` says that its segment carries data and acknowledges nothing new. Such an
    /// acknowledgment is kept only if it enlarges or closes the window. If the value `how` has no
    /// near round trip, the capture counts as a capture at the sender. Then this acknowledgment and
    /// all kept acknowledgments reach the sender now.
    #[inline(never)]
    fn passes(
        &mut self,
        ack: &PassedAck,
        how: &AckForLimits,
        repeats: bool,
        highest: u64,
    ) -> Option<u64> {
        let Some(near) = how.near else {
            let newest = self.passed.take().and_then(|passed| passed.window_end());
            self.window_reaches(newest, true);
            self.window_reaches(ack.window_end, ack.closes);
            return self.number_reaches(ack.una, highest);
        };
        let (known, window_end) = (ack.una.saturating_sub(how.new_bytes), self.window_end);
        let passed =
            self.passed.get_or_insert_with(|| Box::new(PassedAcks::none(known, window_end)));
        // Most data segments of the other direction only repeat the acknowledgment of the segment
        // before them, so they are not kept.
        if !repeats || ack.closes || passed.window_end() < ack.window_end {
            passed.add(*ack, near);
        }
        None
    }

    /// Takes a packet of the sender that echoes the timestamp `ecr`.
    pub fn echoed(&mut self, at: Time, ecr: u32) {
        if let Some(passed) = self.passed.as_deref_mut() {
            passed.echoed(at, ecr);
        }
    }

    /// The next event at the sender, and the time at which the effect of the event passes the
    /// capture. `None` if it is not certain that the event has happened by the instant `at`. `near`
    /// is the round trip between the capture and the sender.
    pub fn reached(&self, at: Time, near: Duration) -> Option<(ReachedBy, Time)> {
        self.passed.as_deref()?.next(at, near, self.full_bytes.into())
    }

    /// Takes the event that [`reached`](Self::reached) returned. Returns what
    /// [`answered`](Self::answered) returns.
    pub fn take_reached(&mut self, by: ReachedBy, octets: &OneWay<CapturedSegment>) -> Option<u64> {
        let (passed, highest) = (self.passed.as_deref_mut()?, octets.sequence().highest());
        match by {
            ReachedBy::Number => {
                let known_end = passed.known_end;
                passed.take_number();
                let una = passed.una;
                self.short &= known_end.is_none_or(|end| self.next_end(highest) <= end);
                self.number_reaches(una, highest)
            }
            ReachedBy::Window => {
                let end = passed.take_window();
                self.window_reaches(end, true);
                None
            }
        }
    }

    /// The number of new octets that were sent since the current repair began.
    pub fn sent_in_repair(&self, octets: &OneWay<CapturedSegment>) -> u64 {
        self.repair_end.map_or(0, |end| octets.sequence().highest().saturating_sub(end))
    }

    /// Whether a repair is in progress, as far as the sender knows: octets that were sent before
    /// the repair began are not acknowledged.
    #[inline]
    fn repairs(&self, octets: &OneWay<CapturedSegment>) -> bool {
        let una = || self.passed.as_deref().map_or(octets.una(), |passed| passed.una);
        self.repair_end.is_some_and(|end| una() < end)
    }

    /// Whether the window that the sender knows has no room for a full segment that begins at the
    /// octet `highest`.
    #[inline]
    fn has_no_room(&self, highest: u64) -> bool {
        self.window_end.is_some_and(|end| self.next_end(highest) > end)
    }

    /// The octet after a full segment that begins at the octet `highest`.
    #[inline]
    fn next_end(&self, highest: u64) -> u64 {
        highest + u64::from(self.full_bytes.max(1))
    }

    /// Whether a sender with nothing outstanding must wait until the receive window grows (RFC 9293
    /// §3.8.6.1). The sender must wait if the window has no room at all. It must also wait if the
    /// window has room neither for a full segment nor for half of the largest window (§3.8.6.2.1).
    /// If the last segment was short, the application may have no more data. Then the sender must
    /// wait only if the window has no room at all. The newest captured window counts here, even
    /// before it reaches the sender.
    #[inline]
    fn is_closed(&self, highest: u64) -> bool {
        let newest = self.passed.as_deref().map_or(self.window_end, PassedAcks::window_end);
        let Some(end) = newest else { return false };
        let room = end.saturating_sub(highest);
        let small = self.next_end(highest) > end && 2 * room < self.window_max;
        room == 0 || small && !self.short
    }

    /// What the sender waits for. If nothing is outstanding, the sender waits for the receive
    /// window or for nothing (`None`). It waits for the window if this window is closed and the
    /// sender may have more data.
    #[inline]
    pub fn waiting(&self, octets: &OneWay<CapturedSegment>) -> Option<WaitingFor> {
        if octets.outstanding().is_empty() {
            let closed = self.is_closed(octets.sequence().highest());
            return (closed && self.goes_on).then_some(WaitingFor::ReceiveWindow);
        }
        Some(self.held_back_by(octets))
    }

    /// What the sender waits for while its data is on its way.
    #[inline]
    pub fn held_back_by(&self, octets: &OneWay<CapturedSegment>) -> WaitingFor {
        if self.repairs(octets) {
            WaitingFor::Repair
        } else if self.has_no_room(octets.sequence().highest()) {
            WaitingFor::ReceiveWindow
        } else if self.short || self.drained {
            WaitingFor::Delivery
        } else {
            WaitingFor::CongestionWindow
        }
    }
}

/// The payload size of a full segment after a segment of `len` new octets without PSH, if the size
/// until then was `before`. A sender sets PSH if it has no more data (RFC 9293 §3.9.1). So a
/// segment without PSH is full, unless the receive window cut it. A segment that was cut has no
/// large divisor in common with other segments, so its size does not count for long.
fn made_bytes(before: u32, len: u32) -> u32 {
    let (mut divisor, mut rest) = (len, before);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    if divisor < Limits::SMALL_MSS_BYTES { len } else { divisor }
}
