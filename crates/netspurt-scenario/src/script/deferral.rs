//! Implements the socket option `TCP_DEFER_ACCEPT`: for the time that the option sets, the host
//! ignores an ACK that acknowledges the SYN-ACK and carries no data. Therefore, during this time,
//! `accept` returns the connection only after its first data or its FIN. Names such as
//! `tcp_check_req` are names in Linux's sources.

use netspurt::segment::{Flags, Segment};
use netspurt::units::Time;

/// The first RTO of a SYN-ACK, in seconds, as Linux counts it for this option.
const FIRST_WAIT_S: u64 = 1;
/// The longest RTO of a SYN-ACK, in seconds, as Linux counts it for this option.
const WAIT_MAX_S: u64 = 120;
/// The maximum number of timeouts that the option counts.
const TIMEOUTS_MAX: usize = 255;

/// The successive RTOs of a SYN-ACK, in seconds.
fn waits() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(FIRST_WAIT_S), |wait| Some((2 * wait).min(WAIT_MAX_S)))
}

/// A handshake whose last ACK may be ignored.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deferral {
    /// An ACK without data is ignored until the SYN-ACK has timed out this number of times. With 0,
    /// no ACK is ignored.
    timeouts_max: u32,
    /// How often the SYN-ACK has timed out.
    timeouts: u32,
    /// When the peer's last SYN came. A SYN-ACK that answers this SYN is no timeout.
    asked_at: Time,
    /// Whether an ACK was ignored.
    acked: bool,
}

impl Deferral {
    /// Sets the option to `seconds` seconds (`secs_to_retrans`).
    pub(super) fn set(&mut self, seconds: u64) {
        let mut period = 0;
        let shorter = waits().take(TIMEOUTS_MAX - 1).take_while(|wait| {
            period += wait;
            period < seconds
        });
        let timeouts = if seconds > 0 { 1 + shorter.count() } else { 0 };
        self.timeouts_max = u32::try_from(timeouts).expect("at most 255");
    }

    /// The seconds that `getsockopt` returns for the option (`retrans_to_secs`).
    pub(super) fn seconds(&self) -> u64 {
        waits().take(self.timeouts_max as usize).sum()
    }

    /// Called when a handshake begins.
    pub(super) fn begin(&mut self) {
        (self.timeouts, self.acked) = (0, false);
    }

    /// Whether this segment, which came at `now`, is ignored. `acknowledges` says whether the
    /// segment acknowledges our SYN-ACK (`tcp_check_req`).
    pub(super) fn ignores(&mut self, now: Time, segment: &Segment, acknowledges: bool) -> bool {
        if segment.flags.has(Flags::SYN) {
            self.asked_at = now;
        }
        let bare = segment.flags.without(Flags::PSH) == Flags::ACK && segment.len == 0;
        let out = bare && acknowledges && self.timeouts < self.timeouts_max;
        self.acked |= out;
        out
    }

    /// Called when a SYN-ACK is due at `now`. Returns whether it is sent. The answer to a SYN is
    /// always sent (`tcp_check_req`). After an ACK was ignored, only the timeout with the number
    /// `timeouts_max` and the later timeouts send the SYN-ACK (`syn_ack_recalc`).
    pub(super) fn sends_syn_ack(&mut self, now: Time) -> bool {
        if now == self.asked_at {
            return true;
        }
        self.timeouts += 1;
        !self.acked || self.timeouts >= self.timeouts_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results equal the results of Linux's `secs_to_retrans` and `retrans_to_secs`.
    #[test]
    fn the_seconds_of_the_option_are_rounded_up_to_a_whole_number_of_timeouts() {
        let rounded = |seconds| {
            let mut deferral = Deferral::default();
            deferral.set(seconds);
            (deferral.timeouts_max, deferral.seconds())
        };
        assert_eq!([0, 1, 2, 5, 8].map(rounded), [(0, 0), (1, 1), (2, 3), (3, 7), (4, 15)]);
    }

    #[test]
    fn an_ack_without_data_is_ignored_until_the_syn_ack_has_timed_out_often_enough() {
        let ack = Segment { flags: Flags::ACK, ..Segment::default() };
        let data = Segment { len: 1, ..ack };
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        let at = Time::from_nanos;
        let mut deferral = Deferral::default();
        deferral.set(1);
        assert!(!deferral.ignores(at(1), &syn, false) && deferral.sends_syn_ack(at(1)));
        assert!(!deferral.ignores(at(2), &data, true) && !deferral.ignores(at(2), &ack, false));
        assert!(deferral.ignores(at(2), &ack, true));
        assert!(deferral.sends_syn_ack(at(9)), "the last timeout sends a SYN-ACK");
        assert!(!deferral.ignores(at(10), &ack, true));
    }

    /// The option waits for two timeouts. The answer to a repeated SYN is not one of them.
    #[test]
    fn a_repeated_syn_is_answered_and_does_not_shorten_the_wait() {
        let ack = Segment { flags: Flags::ACK, ..Segment::default() };
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        let at = Time::from_nanos;
        let mut deferral = Deferral::default();
        deferral.set(2);
        for now in [1, 2, 3].map(at) {
            assert!(!deferral.ignores(now, &syn, false) && deferral.sends_syn_ack(now));
            assert!(deferral.ignores(now, &ack, true));
        }
        assert!(!deferral.sends_syn_ack(at(8)), "the first timeout sends no SYN-ACK");
        assert!(deferral.ignores(at(9), &ack, true));
        assert!(deferral.sends_syn_ack(at(16)), "the second timeout sends a SYN-ACK");
        assert!(!deferral.ignores(at(17), &ack, true));
    }
}
