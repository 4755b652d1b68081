//! Acknowledgments that passed the capture point, and whose windows the sender may not have used
//! yet. The *near round trip* is the time from the capture to the sender and back.

use std::collections::VecDeque;

use crate::seq::is_before;
use crate::units::{Duration, Time};

/// An acknowledgment that passed the capture.
#[derive(Clone, Copy, Debug)]
pub struct PassedAck {
    /// When the acknowledgment passed the capture.
    pub at: Time,
    /// The octet after the last acknowledged octet.
    pub una: u64,
    /// The octet after the last octet that the receiver's window allows. `None` if the window is
    /// not known.
    pub window_end: Option<u64>,
    /// Whether the acknowledgment closes the window, so that the window's end may move back.
    pub closes: bool,
    /// The timestamp of the acknowledgment.
    pub val: Option<u32>,
    /// The instant at which the sender's last packet with an echo older than `val` passed the
    /// capture. Most likely the sender sent this packet before the acknowledgment reached the
    /// sender.
    pub not_before: Time,
}

/// What the sender has done with an acknowledgment that reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReachedBy {
    /// The sender knows the number and the window of the acknowledgment.
    Number,
    /// The sender has had time to use the window of the acknowledgment.
    Window,
}

/// Acknowledgments on their way from the capture to the sender, and what the sender knows from
/// acknowledgments that have reached it. An acknowledgment stays in the list `acks` until the
/// sender has had time to use its window. The list holds the acknowledgments of about one near
/// round trip. Acknowledgments that passed at nearly the same time are one entry of the list.
#[derive(Clone, Debug, Default)]
pub struct PassedAcks {
    /// The octet after the last octet that the sender knows to be acknowledged.
    pub una: u64,
    /// The end of the window that the sender knows. The sender may not have used this window yet.
    pub known_end: Option<u64>,
    /// The acknowledgments whose windows the sender may not have used, the oldest first.
    acks: VecDeque<PassedAck>,
    /// The number of entries of `acks` whose acknowledgment numbers the sender knows.
    known: usize,
    /// The number of entries of `acks` whose timestamp, or a newer timestamp, the sender has
    /// echoed.
    echoed: usize,
    /// The instant at which the first acknowledgment of the newest entry of `acks` passed.
    began: Time,
    /// The farthest end of the windows that passed the capture since the window was last closed.
    window_end: Option<u64>,
    /// The instant at which the sender's last packet with an echoed timestamp passed the capture.
    echo_at: Time,
}

impl PassedAcks {
    /// Acknowledgments that pass within the near round trip divided by `PARTS` are one entry. The
    /// entry stores the last of these acknowledgments.
    const PARTS: u64 = 32;
    /// Data that uses a new window may come somewhat later than one near round trip after the
    /// acknowledgment. The limit for this delay is the longer of two times: the near round trip
    /// divided by `SLACK_PART`, and the time of one segment.
    const SLACK_PART: u64 = 16;
    /// The maximum number of entries of `acks`.
    const MOST: usize = 64;

    /// Returns an empty list for a sender that knows `una` and `window_end`.
    pub fn none(una: u64, window_end: Option<u64>) -> Self {
        Self { una, known_end: window_end, window_end, ..Self::default() }
    }

    /// The farthest end of the windows that passed the capture since the window was last closed.
    pub fn window_end(&self) -> Option<u64> {
        self.window_end
    }

    /// Adds an acknowledgment that passed the capture. `near` is the near round trip.
    pub fn add(&mut self, mut ack: PassedAck, near: Duration) {
        self.window_end = self.window_end.filter(|_| !ack.closes).max(ack.window_end);
        ack.window_end = self.window_end;
        let full = self.acks.len() >= Self::MOST;
        let soon = ack.at.saturating_since(self.began) < near / Self::PARTS;
        match self.acks.back_mut().filter(|_| full || soon) {
            Some(last) => {
                *last = ack;
                let before = self.acks.len() - 1;
                (self.known, self.echoed) = (self.known.min(before), self.echoed.min(before));
            }
            None => {
                self.began = ack.at;
                self.acks.push_back(ack);
            }
        }
    }

    /// Takes a packet of the sender that passed at the instant `at` and echoes the timestamp `ecr`.
    /// When this packet was sent, acknowledgments with newer timestamps had most likely not reached
    /// the sender.
    pub fn echoed(&mut self, at: Time, ecr: u32) {
        while let Some(ack) = self.acks.get_mut(self.echoed)
            && ack.val.is_none_or(|val| !is_before(ecr, val))
        {
            ack.not_before = self.echo_at;
            self.echoed += 1;
        }
        self.echo_at = at;
    }

    /// The next event at the sender, and the time at which data that answers this event passes the
    /// capture. `None` if the event may not have happened by the instant `at`. `near` is the near
    /// round trip.
    ///
    /// A sender that waited for a window uses the new window soon. The limit is the longer of two
    /// times: the time of a segment of `full` octets at the rate that the window allows, and `near`
    /// divided by `SLACK_PART`. A sender that takes longer did not wait for the window.
    pub fn next(&self, at: Time, near: Duration, full: u64) -> Option<(ReachedBy, Time)> {
        let by_number = self.acks.get(self.known).and_then(|ack| {
            let reached = ack.at + self.near_of(self.known, ack, near);
            (reached <= at).then_some((ReachedBy::Number, reached))
        });
        let by_window = self.acks.front().filter(|_| self.known > 0).and_then(|ack| {
            let near = self.near_of(0, ack, near);
            let window = ack.window_end.map_or(0, |end| end.saturating_sub(ack.una));
            let segment = near * full / window.max(full).max(1);
            let within = near + segment.max(near / Self::SLACK_PART);
            (ack.at + within <= at).then(|| (ReachedBy::Window, ack.at + near))
        });
        match (by_number, by_window) {
            (Some(number), Some(window)) if window.1 < number.1 => Some(window),
            (number, window) => number.or(window),
        }
    }

    /// The shortest possible near round trip for the entry of `acks` at the index `place`. It
    /// exceeds `near` if a later packet of the sender still echoed an older timestamp.
    ///
    /// An echo may also be old because the sender delays its acknowledgments (RFC 7323 §4.3). So
    /// the result is at most twice `near`.
    fn near_of(&self, place: usize, ack: &PassedAck, near: Duration) -> Duration {
        let not_before = if place < self.echoed { ack.not_before } else { self.echo_at };
        near.max(not_before.saturating_since(ack.at).min(near * 2))
    }

    /// Notes that the sender knows the number and the window of the next acknowledgment.
    pub fn take_number(&mut self) {
        if let Some(ack) = self.acks.get(self.known) {
            self.una = self.una.max(ack.una);
            self.known_end = ack.window_end.or(self.known_end);
            self.known += 1;
        }
    }

    /// Removes the oldest entry, whose window the sender has had time to use. Returns the end of
    /// this window.
    pub fn take_window(&mut self) -> Option<u64> {
        let ack = self.acks.pop_front()?;
        (self.known, self.echoed) = (self.known.saturating_sub(1), self.echoed.saturating_sub(1));
        ack.window_end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(after: u64) -> Time {
        Time::ZERO + ms(after)
    }

    /// An acknowledgment that passes at `passed` milliseconds and acknowledges all octets before
    /// octet `una`. It has a window of 16 segments of 1000 octets, and the timestamp `val`.
    fn ack(passed: u64, una: u64, val: Option<u32>) -> PassedAck {
        let window_end = Some(una + 16_000);
        PassedAck { at: at(passed), una, window_end, closes: false, val, not_before: Time::ZERO }
    }

    /// The next event that happens at the sender by `now` milliseconds, if the near round trip is
    /// 64 ms.
    fn next(acks: &PassedAcks, now: u64) -> Option<(ReachedBy, Time)> {
        acks.next(at(now), ms(64), 1000)
    }

    #[test]
    fn a_sender_knows_an_acknowledgment_before_it_uses_its_window() {
        let mut acks = PassedAcks::none(1, Some(16_001));
        acks.add(ack(1000, 3001, None), ms(64));
        assert_eq!(next(&acks, 1063), None);
        assert_eq!(next(&acks, 1064), Some((ReachedBy::Number, at(1064))));
        acks.take_number();
        assert_eq!((acks.una, next(&acks, 1067)), (3001, None), "data may still come");
        assert_eq!(next(&acks, 1068), Some((ReachedBy::Window, at(1064))), "no data came");
        assert_eq!(acks.take_window(), Some(19_001));
        assert_eq!(next(&acks, 2000), None);
    }

    #[test]
    fn an_older_echo_shows_that_an_acknowledgment_had_not_reached_the_sender() {
        let mut acks = PassedAcks::none(1, None);
        acks.add(ack(1000, 3001, Some(7)), ms(64));
        acks.echoed(at(1080), 6);
        assert_eq!(next(&acks, 1079), None);
        acks.echoed(at(1090), 7);
        assert_eq!(next(&acks, 1090), Some((ReachedBy::Number, at(1080))));
        acks.echoed(at(1095), 8);
        assert_eq!(next(&acks, 1095), Some((ReachedBy::Number, at(1080))));
    }

    #[test]
    fn an_old_echo_at_most_doubles_the_near_round_trip() {
        let mut acks = PassedAcks::none(1, None);
        acks.add(ack(1000, 3001, Some(7)), ms(64));
        acks.echoed(at(1400), 6);
        assert_eq!(next(&acks, 1400), Some((ReachedBy::Number, at(1128))));
    }

    #[test]
    fn the_number_of_kept_acknowledgments_is_bounded_and_the_newest_one_is_kept() {
        let mut acks = PassedAcks::none(1, None);
        for n in 0..10_000 {
            let passed = PassedAck { at: at(1000) + Duration::from_micros(n), ..ack(0, n, None) };
            acks.add(passed, ms(64));
        }
        assert_eq!(acks.acks.len(), 5, "10 ms in parts of 2 ms");
        for n in 0..1000 {
            acks.add(ack(1010 + 3 * n, 10_000 + n, None), ms(64));
        }
        assert_eq!(acks.acks.len(), PassedAcks::MOST);
        while let Some((by, _)) = next(&acks, 9000) {
            match by {
                ReachedBy::Number => acks.take_number(),
                ReachedBy::Window => assert!(acks.take_window().is_some()),
            }
        }
        assert_eq!((acks.una, acks.acks.len()), (10_999, 0));
    }
}
