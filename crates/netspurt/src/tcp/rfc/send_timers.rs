//! The timers of the sending half of a connection: when each timer starts, stops and fires.

use crate::clock::Clock;
use crate::packed::packed;
use crate::units::{Duration, Time};

use super::super::timer::{Oldest, RetransmitTimer};
use super::config::{Restart, RfcConfig};
use super::recovery::NextLook;
use super::scoreboard::Scoreboard;

/// The length of a jiffy (a tick of Linux's clock), if the host's clock has no jiffies: as in Linux
/// with 250 jiffies a second.
const JIFFY: Duration = Duration::from_millis(4);

/// Reneging means that the receiver has discarded octets that it had reported. If the sender
/// suspects reneging, it waits for at least this time. An ACK in this time may show that the
/// receiver has discarded nothing.
const RENEGING_WAIT_MIN: Duration = Duration::from_millis(10);

/// The retransmission timer and the deadlines of the other timers. A deadline is [`Time::NEVER`]
/// while its timer does not run.
#[derive(Debug)]
pub(super) struct SendTimers {
    pub(super) retransmission: RetransmitTimer,
    /// The number of consecutive timeouts of the retransmission timer.
    retries: u32,
    /// The effect of an ACK on the retransmission timer.
    restart: Restart,
    /// Whether the rule `counts_from_head` is on. By this rule, the next restart of the
    /// retransmission timer counts from the last transmission of the head (the first outstanding
    /// segment), if RACK's timer was armed after the retransmission timer.
    from_head: bool,
    /// True if the retransmission timer stops while RACK's timer runs.
    yields: bool,
    tail_probe: Time,
    /// When RACK's timer fires.
    reordering: Time,
    /// Whether RACK's timer was armed after the retransmission timer. Linux runs only one of the
    /// two timers at a time, and records which timer runs (`icsk_pending`).
    rack_is_last: bool,
    super_fast: Time,
    /// When a window probe is due, or when a short segment that is held back must be sent.
    persist: Time,
    /// When the pacer allows the next segment.
    pace: Time,
    /// The clock that decides when timers fire.
    clock: Clock,
    /// The time that is added to the wait of RACK's timer.
    slack: Duration,
}

packed!(SendTimers { retransmission, retries, tail_probe, reordering, rack_is_last, super_fast, persist, pace } keeps { restart, from_head, yields, clock, slack });

/// A due event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The pacer allows the next segment.
    Pace,
    /// RACK checks again the segments that were not late enough at its last look.
    Reordering,
    /// A tail loss probe is due.
    TailProbe,
    /// A Super Fast Retransmit is due.
    SuperFast,
    /// A probe of the peer's window is due, or a short segment that is held back must be sent.
    Persist,
}

impl SendTimers {
    pub(super) fn new(config: &RfcConfig) -> Self {
        Self {
            retransmission: RetransmitTimer::new(config.rto.build(), config.clock),
            retries: 0,
            restart: config.restart,
            from_head: config.timer_rules.counts_from_head,
            yields: config.timer_rules.yields_to_rack,
            tail_probe: Time::NEVER,
            reordering: Time::NEVER,
            rack_is_last: false,
            super_fast: Time::NEVER,
            persist: Time::NEVER,
            pace: Time::NEVER,
            clock: config.timer_clock,
            slack: config.timer_slack,
        }
    }

    /// Returns the earliest instant at which a timer is due.
    #[inline]
    pub(super) fn first(&self) -> Time {
        let beside = self.tail_probe.min(self.reordering).min(self.super_fast);
        self.retransmission.deadline().min(beside.min(self.persist).min(self.pace))
    }

    /// Returns one event that is due at the instant `now`. The retransmission timer is not an event
    /// here.
    pub(super) fn due(&self, now: Time) -> Option<Due> {
        let order = [
            (self.pace, Due::Pace),
            (self.reordering, Due::Reordering),
            (self.tail_probe, Due::TailProbe),
            (self.super_fast, Due::SuperFast),
            (self.persist, Due::Persist),
        ];
        order.into_iter().find(|(at, _)| *at <= now).map(|(_, due)| due)
    }

    /// Stops all timers.
    pub(super) fn stop(&mut self) {
        self.retransmission.stop();
        self.super_fast = Time::NEVER;
        self.pace = Time::NEVER;
        self.stop_reordering();
        self.rest();
    }

    /// Stops the timers of tail loss probes and window probes, because no segment is to be sent.
    #[inline]
    pub(super) fn rest(&mut self) {
        self.tail_probe = Time::NEVER;
        self.persist = Time::NEVER;
    }

    /// Returns the number of consecutive timeouts.
    #[inline]
    pub(super) fn retries(&self) -> u32 {
        self.retries
    }

    /// Sets the count of timeouts to zero, because the peer is alive.
    #[inline]
    pub(super) fn forget_retries(&mut self) {
        self.retries = 0;
    }

    /// True if the retransmission timer stops while RACK's timer runs.
    #[inline]
    pub(super) fn yields(&self) -> bool {
        self.yields
    }

    /// True if the retransmission timer does not run, and RACK's timer does not replace it.
    #[inline]
    pub(super) fn is_unguarded(&self) -> bool {
        self.retransmission.is_idle() && !(self.yields && self.awaits_reordering())
    }

    /// Arms the retransmission timer at the instant `now` (RFC 6298 §5.1, 5.6). This function is
    /// not inlined, because the timer already runs when most segments are sent.
    #[inline(never)]
    pub(super) fn arm(&mut self, scoreboard: &Scoreboard, now: Time) {
        self.arm_from(now, scoreboard, now);
    }

    fn arm_from(&mut self, from: Time, scoreboard: &Scoreboard, now: Time) {
        let sent = scoreboard.front().map_or(now, |oldest| oldest.at);
        let oldest = Oldest { sent, flight_segs: scoreboard.len() as u64 };
        self.retransmission.restart(now, from, oldest, self.clock);
    }

    /// Lets the retransmission timer fire after the shortest wait of Linux's timers
    /// (`TCP_TIMEOUT_MIN`, two jiffies).
    pub(super) fn fire_soon(&mut self, now: Time) {
        let jiffy = self.clock.jiffy().unwrap_or(JIFFY);
        self.retransmission.fire_at(self.clock.expiry(now, jiffy * 2));
    }

    /// Lets the retransmission timer fire after half an `srtt`, but not before `RENEGING_WAIT_MIN`,
    /// because the receiver seems to have discarded octets that it had reported
    /// (`tcp_check_sack_reneging`).
    pub(super) fn fire_soon_for_reneging(&mut self, srtt: Option<Duration>, now: Time) {
        self.begin_repair();
        let wait = (srtt.unwrap_or_default() / 2).max(RENEGING_WAIT_MIN);
        self.retransmission.fire_at(self.clock.expiry(now, wait));
    }

    /// Restarts or stops the retransmission timer after an ACK of new data (RFC 6298 §5.2, 5.3).
    /// The flag `all_sent` says whether all data was sent.
    pub(super) fn restart(&mut self, scoreboard: &Scoreboard, all_sent: bool, now: Time) {
        let after_rack = core::mem::take(&mut self.rack_is_last) && self.from_head;
        if self.yields {
            self.stop_reordering();
        }
        let Some(oldest) = scoreboard.front().map(|oldest| oldest.at) else {
            return self.retransmission.stop();
        };
        let from_oldest = match self.restart {
            Restart::OnAck => false,
            Restart::PerSegment => true,
            Restart::Rfc7765 => scoreboard.len() < 4 && all_sent,
        };
        let from = if from_oldest || after_rack { oldest } else { now };
        self.arm_from(from, scoreboard, now);
    }

    /// Restarts the retransmission timer after a Super Fast Retransmit of the head, if the timer
    /// counts from the head's last transmission.
    pub(super) fn restart_for_head(&mut self, scoreboard: &Scoreboard, now: Time) {
        if self.restart == Restart::PerSegment {
            self.restart(scoreboard, false, now);
        }
    }

    /// Counts a timeout. Returns false if there were more than `retries_max` consecutive timeouts.
    pub(super) fn count_timeout(&mut self, retries_max: u32) -> bool {
        self.retries += 1;
        self.retries <= retries_max
    }

    /// Stops the timers of tail loss probes and of RACK, because the retransmission timer has begun
    /// a repair, or will soon begin one.
    pub(super) fn begin_repair(&mut self) {
        self.rack_is_last = false;
        self.stop_tail_probe();
        self.stop_reordering();
    }

    /// Sets RACK's timer after RACK has looked for losses.
    pub(super) fn look_again(&mut self, next: NextLook, now: Time) {
        match next {
            NextLook::Unchanged => {}
            // If `yields` is true and the ACK acknowledged new data, the function `restart` has
            // already stopped RACK's timer. Other ACKs do not stop it.
            NextLook::OnAck if self.yields => {}
            NextLook::OnAck => self.stop_reordering(),
            NextLook::After(wait) => {
                self.reordering = self.clock.expiry(now, wait + self.slack);
                self.rack_is_last = true;
                if self.yields {
                    self.retransmission.stop();
                }
                // RFC 8985 §8: RACK's timer and the timer of tail loss probes never run at the same
                // time.
                self.stop_tail_probe();
            }
        }
    }

    /// Restarts the retransmission timer after RACK's timer has fired, if the rules require it
    /// (`counts_from_head`, `yields_to_rack`).
    pub(super) fn follow_rack(&mut self, scoreboard: &Scoreboard, now: Time) {
        if self.from_head || self.yields {
            self.restart(scoreboard, false, now);
        }
    }

    /// Restarts the retransmission timer in the same way as [`follow_rack`](Self::follow_rack),
    /// when a tail loss probe was due but could not be sent.
    pub(super) fn follow_tail_probe(&mut self, scoreboard: &Scoreboard, now: Time) {
        self.rack_is_last = true;
        self.follow_rack(scoreboard, now);
    }

    /// Stops RACK's timer.
    #[inline]
    pub(super) fn stop_reordering(&mut self) {
        self.reordering = Time::NEVER;
    }

    /// Whether RACK's timer runs.
    #[inline]
    pub(super) fn awaits_reordering(&self) -> bool {
        self.reordering < Time::NEVER
    }

    /// Arms the timer of tail loss probes for the time `wait`. The probe is due at the latest when
    /// the retransmission timer would fire (RFC 8985 §7.2).
    pub(super) fn arm_tail_probe(&mut self, wait: Duration, now: Time) {
        self.tail_probe = self.clock.expiry(now, wait).min(self.retransmission.deadline());
    }

    /// Stops the timer of tail loss probes.
    #[inline]
    pub(super) fn stop_tail_probe(&mut self) {
        self.tail_probe = Time::NEVER;
    }

    /// Arms the timer of Super Fast Retransmit for the time `wait`; `None` stops the timer.
    pub(super) fn arm_super_fast(&mut self, wait: Option<Duration>, now: Time) {
        self.super_fast = wait.map_or(Time::NEVER, |wait| self.clock.expiry(now, wait));
    }

    /// Whether the timer of Super Fast Retransmit runs.
    #[inline]
    pub(super) fn awaits_super_fast(&self) -> bool {
        self.super_fast < Time::NEVER
    }

    /// Arms the timer of window probes for the time `wait`.
    pub(super) fn arm_persist(&mut self, wait: Duration, now: Time) {
        self.persist = self.clock.expiry(now, wait);
    }

    /// Stops the timer of window probes.
    #[inline]
    pub(super) fn stop_persist(&mut self) {
        self.persist = Time::NEVER;
    }

    /// Whether the timer of window probes runs.
    #[inline]
    pub(super) fn awaits_persist(&self) -> bool {
        self.persist < Time::NEVER
    }

    /// Sets when the pacer allows the next segment. With `None`, the pacer allows it immediately.
    #[inline]
    pub(super) fn pace(&mut self, at: Option<Time>) {
        self.pace = at.unwrap_or(Time::NEVER);
    }

    /// Whether the pacer holds a segment back.
    #[inline]
    pub(super) fn awaits_pacer(&self) -> bool {
        self.pace < Time::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_timers_are_due_at_one_instant_the_pacer_and_rack_come_before_probes() {
        let now = Time::from_nanos(5);
        let mut timers = SendTimers::new(&RfcConfig::rfc_2026());
        assert_eq!((timers.first(), timers.due(now)), (Time::NEVER, None));
        (timers.tail_probe, timers.reordering, timers.pace) = (now, now, now);
        assert_eq!((timers.first(), timers.due(now)), (now, Some(Due::Pace)));
        timers.pace(None);
        assert_eq!(timers.due(now), Some(Due::Reordering));
        timers.reordering = Time::from_nanos(6);
        assert_eq!(timers.due(now), Some(Due::TailProbe));
    }

    /// RFC 8985 §8: RACK's timer and the timer of tail loss probes are never armed at the same
    /// time.
    #[test]
    fn while_the_timer_of_rack_runs_no_tail_loss_probe_is_armed() {
        let (now, wait) = (Time::from_nanos(5), Duration::from_millis(1));
        let mut timers = SendTimers::new(&RfcConfig::rfc_2026());
        timers.arm_tail_probe(wait, now);
        timers.look_again(NextLook::Unchanged, now);
        assert_eq!(timers.due(now + wait), Some(Due::TailProbe));
        timers.look_again(NextLook::After(wait), now);
        assert_eq!(timers.due(now + wait), Some(Due::Reordering));
        timers.look_again(NextLook::OnAck, now);
        assert_eq!(timers.due(now + wait), None);
    }
}
