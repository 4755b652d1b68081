//! How much time a connection spent waiting for each thing, such as the path, an application or a
//! timer.

use std::ops::{Deref, DerefMut};

use crate::ids::Side;
use crate::packed::{PackedValue, packed_value, packed_variants};
use crate::units::{Duration, Time};

/// What a connection waits for at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitingFor {
    /// The handshake.
    #[default]
    Handshake,
    /// An application: all data has arrived, and neither side has sent more data.
    Application,
    /// The path: the sender has sent all the data that its application had, and some of it is not
    /// acknowledged.
    Delivery,
    /// The congestion window, Nagle's algorithm or the pacing of the sender: data is on its way,
    /// and the receive window has room for more data.
    CongestionWindow,
    /// The receiver: its window has no room for another segment.
    ReceiveWindow,
    /// The repair of segments that were lost, or that the sender counted as lost.
    Repair,
    /// A timer that fires at the end of the wait: the timer of retransmissions, SYNs or probes.
    Timeout,
}

impl WaitingFor {
    /// The number of values.
    pub const COUNT: usize = 7;
    /// All values, in their order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Handshake,
        Self::Application,
        Self::Delivery,
        Self::CongestionWindow,
        Self::ReceiveWindow,
        Self::Repair,
        Self::Timeout,
    ];
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; Self::COUNT] = [
        "handshake",
        "application",
        "delivery",
        "congestion_window",
        "receive_window",
        "repair",
        "timeout",
    ];
}

impl WaitingFor {
    /// Returns what a connection waits for. `one` and `other` say what its two senders wait for;
    /// `None` means that a sender waits for nothing. If both wait, the method returns the value
    /// that comes later in [`ALL`](Self::ALL). If both are `None`, the connection waits for an
    /// application.
    #[inline]
    pub fn of_senders(one: Option<Self>, other: Option<Self>) -> Self {
        match (one, other) {
            (Some(one), Some(other)) if one as u8 >= other as u8 => one,
            (one, other) => other.or(one).unwrap_or(Self::Application),
        }
    }
}

/// The time that a connection spent on each thing that it waited for.
///
/// The time between two packets counts for what the connection waited for after the first packet.
/// The times of packets come from the capture. If a timer ended the time between two packets, this
/// time counts as [`WaitingFor::Timeout`]. A sender cannot send more than the receive window in a
/// round trip. So if a capture beside the sender shows that data fills the window, the round trip
/// before this data counts as [`WaitingFor::ReceiveWindow`]. At the end of the connection, the
/// method [`repairs_that_waited`](Self::repairs_that_waited) reduces the time of repairs to the
/// time by which they delayed new data.
///
/// ```
/// use netspurt::explain::{TimeSpent, WaitingFor};
/// use netspurt::units::{Duration, Time};
/// let at = |ms| Time::ZERO + Duration::from_millis(ms);
/// let mut spent = TimeSpent::default();
/// spent.packet(at(0), None, WaitingFor::Handshake);
/// spent.packet(at(30), None, WaitingFor::CongestionWindow);
/// spent.packet(at(230), Some(WaitingFor::Timeout), WaitingFor::Repair);
/// assert_eq!(spent.of(WaitingFor::Timeout), Duration::from_millis(200));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpent {
    spent: [Duration; WaitingFor::COUNT],
    last: Option<Time>,
    waiting: WaitingFor,
    /// The end that sent the last delayed ACK without data.
    delayed_by: Option<Side>,
    /// How long the last delayed ACK was delayed. Zero after data of either end.
    delayed: Duration,
    /// What the connection seemed to wait for until the last delayed ACK came.
    delayed_place: WaitingFor,
    /// The length of the wait that the last packet ended, if this was a wait for the path
    /// ([`WaitingFor::Delivery`]). Otherwise zero.
    all_sent: Duration,
    /// What happened after data was last sent.
    since_data: SinceData,
    /// For each side, what it waited for after it had stopped sending, and how long.
    stops: [Stops; 2],
    /// New octets that were sent during repairs.
    repair_bytes: u64,
    /// How long the connection has waited for the congestion window without a break, until now.
    on_its_way: Duration,
    /// The length of the current pause. Zero outside of a pause. In a *pause*, neither end has data
    /// to send.
    paused: Duration,
    last_pause: LastPause,
    /// For each side, the sum of the pauses that this side ended. The side that sends data first
    /// ends a pause.
    pause_ended_by: [Duration; 2],
}

/// What happened in a connection after data was last sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SinceData {
    /// The ACKs without data that came after data was last sent.
    /// [`data_sent`](TimeSpent::data_sent) and data of the other end set this field to `None`.
    acked: Option<AcksOfSide>,
    /// The time between the last two packets.
    gap: Duration,
    /// The time since data was last sent.
    without_data: Duration,
    /// The part of `without_data` in which no end had data to send, or all data was on its way.
    stopped: Duration,
}

/// ACKs without data that came one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AcksOfSide {
    /// The end whose data the ACKs acknowledged.
    of: Side,
    /// When the last ACK came.
    at: Time,
    /// The time between the last ACK and the packet before it. ACKs that come at once after each
    /// other count as one.
    gap: Duration,
    /// How long the end in `of` seemed to have no more data before the last ACK came.
    waited: Duration,
}

/// How long a side waited, and for what, after it stopped sending and before it sent new data. The
/// other side sent no data in this time. Only a capture beside the waiting side shows these waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    /// The time for which the side had sent all its data, and waited until its application wrote
    /// more data.
    pub write: Duration,
    /// The time for which the side waited for room in its send buffer. This wait begins when more
    /// than half of the outstanding data is acknowledged. It ends when full segments leave just
    /// after an ACK. A sender that only the congestion window holds back sends data for each ACK,
    /// so the send buffer was full.
    pub buffer: Duration,
    /// The time for which a short segment waited for an ACK (Nagle's algorithm, RFC 9293 §3.7.4).
    pub short: Duration,
}

/// A segment with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentData {
    /// Whether the segment's data is new.
    pub new: bool,
    /// Whether the segment seems to end the application's data.
    pub short: bool,
    /// Whether no other segment is outstanding.
    pub alone: bool,
}

packed_value!(Stops { write, buffer, short });

/// The last pause of a connection. In a pause, neither end seems to have data to send. But the
/// pause may have been the wait for a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LastPause {
    /// When the pause ended, and its length. `None` if one side sent the last data before the
    /// pause, and the other side sent the first data after it.
    ended: Option<(Time, Duration)>,
    /// How long the connection waited for the congestion window before the pause, without a break.
    busy: Duration,
    /// The side that sent data last.
    data_by: Option<Side>,
}

/// Stores nothing for types whose values do not matter in a packed connection, because this
/// connection is closed or has ended. When such a connection is unpacked, these values are the
/// defaults.
macro_rules! packed_as_nothing {
    ($($name:ty)+) => {$(
        impl PackedValue for $name {
            fn put(&self, _into: &mut Vec<u8>) {}

            fn get(_from: &mut &[u8]) -> Self {
                Self::default()
            }
        }
    )+};
}

packed_as_nothing!(LastPause SinceData);

packed_value!(TimeSpent {
    spent,
    last,
    waiting,
    delayed_by,
    delayed,
    delayed_place,
    all_sent,
    since_data,
    stops,
    repair_bytes,
    on_its_way,
    paused,
    last_pause,
    pause_ended_by,
});

packed_variants!(WaitingFor: WaitingFor::ALL);

/// A box with the [`TimeSpent`] of a connection. There is no box before the first packet, or while
/// the connection rests (it is packed to save memory). Without a box, reading or changing the time
/// panics.
#[derive(Clone, Debug, Default)]
pub struct CurrentTimeSpent(pub Option<Box<TimeSpent>>);

impl CurrentTimeSpent {
    const MESSAGE: &'static str = "no packet was taken yet, or the connection is packed";
}

impl Deref for CurrentTimeSpent {
    type Target = TimeSpent;

    #[inline]
    fn deref(&self) -> &TimeSpent {
        self.0.as_deref().expect(Self::MESSAGE)
    }
}

impl DerefMut for CurrentTimeSpent {
    #[inline]
    fn deref_mut(&mut self) -> &mut TimeSpent {
        self.0.as_deref_mut().expect(Self::MESSAGE)
    }
}

impl TimeSpent {
    /// If two ACKs come within the time `AT_ONCE`, they count as one. A sender that waited for an
    /// ACK sends its data within the same time after the ACK.
    const AT_ONCE: Duration = Duration::from_micros(200);
    /// A pause that is shorter than `TIMER_MIN` does not count as the wait for a timer. `TIMER_MIN`
    /// is the minimum RTO of Linux (`TCP_RTO_MIN`); some stacks have a shorter minimum.
    const TIMER_MIN: Duration = Duration::from_millis(200);
    /// A sender that the congestion window held back for `BUSY_ROUNDS` round trips had more data.
    const BUSY_ROUNDS: u64 = 2;

    /// Takes a packet that was captured at the instant `at`. `waited` is what the connection waited
    /// for before the packet. `None` if the packet does not show this. From the instant `at` on,
    /// the connection waits for `waiting`.
    #[inline]
    pub fn packet(&mut self, at: Time, waited: Option<WaitingFor>, waiting: WaitingFor) {
        let span = self.last.map_or(Duration::ZERO, |last| at.saturating_since(last));
        let place = waited.unwrap_or(self.waiting) as usize;
        self.spent[place] = self.spent[place] + span;
        if place == WaitingFor::Application as usize && self.paused.is_zero() {
            self.last_pause.busy = self.on_its_way;
        }
        self.on_its_way = match place == WaitingFor::CongestionWindow as usize {
            true => self.on_its_way + span,
            false if span.is_zero() => self.on_its_way,
            false => Duration::ZERO,
        };
        if place == WaitingFor::Application as usize {
            self.paused = self.paused + span;
        }
        let sent = place == WaitingFor::Delivery as usize;
        self.all_sent = if sent { span } else { Duration::ZERO };
        self.since_data.gap = span;
        self.since_data.without_data = self.since_data.without_data + span;
        if sent || place == WaitingFor::Application as usize {
            self.since_data.stopped = self.since_data.stopped + span;
        }
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
        self.waiting = waiting;
    }

    /// Moves time from the wait `from` to the wait `to`: the time `most`, or all the time of `from`
    /// if `from` has less. Returns the moved time.
    fn shift(&mut self, most: Duration, from: WaitingFor, to: WaitingFor) -> Duration {
        let moved = most.min(self.of(from));
        self.spent[from as usize] = self.of(from) - moved;
        self.spent[to as usize] = self.of(to) + moved;
        moved
    }

    /// Notes that data was sent. If the data filled the receive window, the round trip `rtt` before
    /// the data counts as [`WaitingFor::ReceiveWindow`] and not as
    /// [`WaitingFor::CongestionWindow`].
    #[inline]
    pub fn window_filled(&mut self, rtt: impl FnOnce() -> Duration) {
        if self.waiting == WaitingFor::ReceiveWindow && !self.on_its_way.is_zero() {
            let (from, to) = (WaitingFor::CongestionWindow, WaitingFor::ReceiveWindow);
            self.shift(self.on_its_way.min(rtt()), from, to);
            self.on_its_way = Duration::ZERO;
        }
    }

    /// Notes that `side` sent an ACK without data. The ACK acknowledges all data. `late` is the
    /// time from the arrival of this data until the ACK left. The caller calls
    /// [`packet`](Self::packet) for this ACK afterwards.
    pub fn delays_ack(&mut self, side: Side, late: Duration) {
        (self.delayed_by, self.delayed) = (Some(side), late);
        self.delayed_place = self.waiting;
    }

    /// Notes that `side` sends data. If `side` had delayed its last ACK, the delay shows that
    /// `side` had no data to send during this time. If the other end sends data first, nothing
    /// changes, because the other end may have waited for the ACK (RFC 9293 §3.7.4).
    #[inline]
    pub fn has_data(&mut self, side: Side) {
        if self.delayed.is_zero() {
            return;
        }
        let late = std::mem::take(&mut self.delayed);
        if self.delayed_by == Some(side) {
            let (from, to) = (self.delayed_place, WaitingFor::Application);
            self.on_its_way = Duration::ZERO;
            let moved = self.shift(late, from, to);
            self.paused = self.paused + moved;
        }
    }

    /// Notes that the last packet is an ACK without data, and acknowledges data of `side`. The
    /// packet was captured at the instant `at`.
    pub fn acked(&mut self, side: Side, at: Time) {
        let (mut gap, mut waited) = (self.since_data.gap, self.all_sent);
        if let Some(before) = self.since_data.acked.filter(|acks| acks.of == side) {
            waited = waited + before.waited;
            if at.saturating_since(before.at) <= Self::AT_ONCE {
                gap = gap + before.gap;
            }
        }
        self.since_data.acked = Some(AcksOfSide { of: side, at, gap, waited });
    }

    /// Notes that `side` sent `data` at the instant `at`, and that the capture was taken beside
    /// `side`.
    ///
    /// If an ACK came just before, the application had already written this data, and the data
    /// waited for the ACK. The congestion window, the send buffer or Nagle's algorithm held the
    /// data back (RFC 9293 §3.7.4). The application cannot have reacted to the ACK, because it does
    /// not see ACKs. But an application that waits for room in the send buffer can write again when
    /// an ACK makes room.
    pub fn data_sent(&mut self, side: Side, at: Time, data: SentData) {
        /// An application that writes at random instants may write soon after an ACK by chance. In
        /// at most one of `CHANCE` cases, this counts as a reaction to the ACK.
        const CHANCE: u64 = 8;
        let stopped = std::mem::take(&mut self.since_data.stopped);
        let acks = self.since_data.acked.take().filter(|acks| {
            acks.of == side && at.saturating_since(acks.at) <= Self::AT_ONCE.min(acks.gap / CHANCE)
        });
        if let Some(AcksOfSide { waited, .. }) = acks {
            self.shift(waited, WaitingFor::Delivery, WaitingFor::CongestionWindow);
        }
        if data.new && self.last_pause.data_by == Some(side) {
            let own = &mut self.stops[side.index()];
            match (acks, data) {
                (None, _) => own.write = own.write + stopped,
                (Some(_), SentData { short: false, .. }) => own.buffer = own.buffer + stopped,
                (Some(_), SentData { alone: true, .. }) => {
                    own.short = own.short + self.since_data.without_data;
                }
                (Some(_), _) => own.short = own.short + stopped,
            }
        }
    }

    /// Whether there was a time, after data was last sent, in which no end had data to send, or all
    /// data was on its way.
    #[inline]
    pub const fn has_stopped(&self) -> bool {
        !self.since_data.stopped.is_zero()
    }

    /// How long `side` waited, and for what, when it had stopped sending.
    pub const fn stops(&self, side: Side) -> Stops {
        self.stops[side.index()]
    }

    /// Whether the connection is in a pause: neither end has had data to send for some time.
    pub const fn is_paused(&self) -> bool {
        !self.paused.is_zero()
    }

    /// Notes that `side` sent new data at the instant `at`. This ends a pause.
    pub fn went_on(&mut self, side: Side, at: Time) {
        let pause = std::mem::take(&mut self.paused);
        let own = &mut self.pause_ended_by[side.index()];
        *own = *own + pause;
        let same = self.last_pause.data_by == Some(side);
        self.last_pause.ended = same.then_some((at, pause));
    }

    /// Notes that `side` sent data. If new data ends a pause, the caller calls
    /// [`went_on`](Self::went_on) before this method.
    #[inline]
    pub fn data_of(&mut self, side: Side) {
        self.last_pause.data_by = Some(side);
        (self.since_data.stopped, self.since_data.without_data) = (Duration::ZERO, Duration::ZERO);
        // ACKs of the other end's data are forgotten here. If the other end sends data next, its
        // application may have reacted to the new data, and not to such an ACK.
        self.since_data.acked = self.since_data.acked.filter(|acks| acks.of == side);
    }

    /// Notes that a timer of `side` may have ended the pause that ended at the instant `at`.
    /// Returns whether the pause counts as [`WaitingFor::Timeout`]. There are three conditions:
    /// * `side` sent the last data before the pause, and the first data after it.
    /// * Before the pause, the congestion window held data back for at least two round trips of
    ///   `rtt`, so the application had more data.
    /// * The pause is long enough for a timer.
    pub fn was_timer(&mut self, side: Side, at: Time, rtt: Duration) -> bool {
        let LastPause { ended: Some((ended, pause)), busy, data_by } = self.last_pause else {
            return false;
        };
        if ended != at || data_by != Some(side) {
            return false;
        }
        if pause < Self::TIMER_MIN || busy < rtt * Self::BUSY_ROUNDS {
            return false;
        }
        let moved = self.shift(pause, WaitingFor::Application, WaitingFor::Timeout);
        let own = &mut self.pause_ended_by[side.index()];
        *own = *own - moved;
        self.last_pause.ended = None;
        true
    }

    /// The sum of the pauses that `side` ended by sending data.
    pub const fn pause_ended_by(&self, side: Side) -> Duration {
        self.pause_ended_by[side.index()]
    }

    /// Notes that `bytes` new octets were sent during a repair.
    pub fn sent_in_repair(&mut self, bytes: u64) {
        self.repair_bytes += bytes;
    }

    /// Returns a copy of the times. In the copy, the time of repairs is reduced to the time by
    /// which they delayed new data. `bytes` is the number of all new octets that the connection
    /// sent.
    ///
    /// A sender may send new data during a repair. Even without the repair, this new data would
    /// have needed time. The needed time is computed from the rate of the other new octets. The
    /// rate is the number of these octets, divided by the time in which the congestion window or
    /// the receive window held data back. The computed time counts as
    /// [`WaitingFor::CongestionWindow`], and not as a repair.
    #[must_use]
    pub fn repairs_that_waited(mut self, bytes: u64) -> Self {
        let (to, from) = (WaitingFor::CongestionWindow, WaitingFor::Repair);
        let sending = self.of(to) + self.of(WaitingFor::ReceiveWindow);
        let others = bytes.saturating_sub(self.repair_bytes);
        if others > 0 {
            let product = u128::from(self.repair_bytes) * u128::from(sending.as_nanos());
            let anyway = u64::try_from(product / u128::from(others)).unwrap_or(u64::MAX);
            self.shift(Duration::from_nanos(anyway), from, to);
        }
        self
    }

    /// What the connection has waited for since the last packet, and how long it has waited at the
    /// instant `at`.
    #[inline]
    pub fn waits_for(&self, at: Time) -> (WaitingFor, Duration) {
        let span = self.last.map_or(Duration::ZERO, |last| at.saturating_since(last));
        (self.waiting, span)
    }

    /// The time spent waiting for the thing `what`.
    pub const fn of(&self, what: WaitingFor) -> Duration {
        self.spent[what as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The milliseconds that a connection waited for the congestion window and for a repair. The
    /// connection sent 4,000 new octets in 400 ms, and then `bytes` new octets in a repair of 100
    /// ms.
    fn repaired(bytes: u64) -> [u64; 2] {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut spent = TimeSpent::default();
        spent.packet(at(0), None, WaitingFor::CongestionWindow);
        spent.packet(at(400), None, WaitingFor::Repair);
        spent.packet(at(500), None, WaitingFor::CongestionWindow);
        spent.sent_in_repair(bytes);
        let spent = spent.repairs_that_waited(4000 + bytes);
        [WaitingFor::CongestionWindow, WaitingFor::Repair]
            .map(|what| spent.of(what).as_nanos() / 1_000_000)
    }

    #[test]
    fn a_repair_counts_only_for_the_time_by_which_it_delayed_new_data() {
        assert_eq!(repaired(0), [400, 100], "nothing new was sent");
        assert_eq!(repaired(500), [450, 50], "new octets at half the rate");
        assert_eq!(repaired(1000), [500, 0], "new octets at the same rate");
        assert_eq!(repaired(3000), [500, 0], "a repair never counts less than zero");
    }

    #[test]
    fn a_repair_counts_in_full_if_all_new_data_was_sent_during_repairs() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut spent = TimeSpent::default();
        spent.packet(at(0), None, WaitingFor::Repair);
        spent.packet(at(100), None, WaitingFor::Application);
        spent.sent_in_repair(1000);
        let spent = spent.repairs_that_waited(1000);
        assert_eq!(spent.of(WaitingFor::Repair), Duration::from_millis(100));
    }
}
