//! Remembers when segments were last sent. The rule `bugfix_ts` of newreno, a sender of the network
//! simulator ns-2, compares these times with echoed timestamps.

use std::collections::VecDeque;

use crate::units::Time;

/// The last transmissions of the outstanding segments and of the segment before them.
#[derive(Debug, Default)]
pub(super) struct SentStamps {
    /// The timestamp that the last new ACK echoed (`ts_echo_`). A partial ACK does not count.
    pub(super) echo: Time,
    /// The octet at which each segment starts, and when the segment last left. The octets ascend.
    sent: VecDeque<(u64, Time)>,
}

impl SentStamps {
    /// Notes that the segment at octet `seq` leaves at the instant `now`. `una` is the oldest
    /// outstanding octet.
    pub(super) fn sent(&mut self, seq: u64, una: u64, now: Time) {
        // The last segment below `una` is kept.
        while self.sent.get(1).is_some_and(|(next, _)| *next < una) {
            self.sent.pop_front();
        }
        match self.sent.binary_search_by_key(&seq, |(known, _)| *known) {
            Ok(place) => self.sent[place].1 = now,
            Err(place) => self.sent.insert(place, (seq, now)),
        }
    }

    /// Whether the last echo is the timestamp of the last transmission of the segment at `seq`.
    pub(super) fn echoes_last_of(&self, seq: u64) -> bool {
        let place = self.sent.binary_search_by_key(&seq, |(known, _)| *known);
        place.is_ok_and(|place| self.sent[place].1 == self.echo)
    }
}
