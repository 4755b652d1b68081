//! Super Fast Retransmit (Tarr and Ghita 2005, §5): a retransmission by a timer that waits for a
//! multiple of the handshake's round trip. This file decides whether the timer runs, and how long
//! it waits.

use crate::packed::packed;
use crate::rto::SfrConfig;
use crate::units::Duration;

use super::config::{RfcConfig, SfrResponse};

/// The state of Super Fast Retransmit.
///
/// departs: Tarr and Ghita 2005 §5 - with `sfr.next` an ACK of only a part of the outstanding data
/// starts the timer again, because the next segment may also be lost; the paper waits for a new
/// segment. The paper does not say what its timer does when another repair sends the same segment
/// first. Here the timer continues, or stops with `sfr.yields`.
#[derive(Debug)]
pub(super) struct SuperFast {
    timer: Option<SfrConfig>,
    response: SfrResponse,
    /// The wait that the switch `sfr.next` sets, in halves of the handshake's round trip. The value
    /// is `None` without this switch.
    next_halves: Option<u32>,
    /// True if the timer stops when another repair retransmits the head, the first outstanding
    /// segment (`sfr.yields`).
    yields: bool,
    /// True at the beginning, after a Super Fast Retransmit, and with `sfr.yields` after another
    /// repair has retransmitted the head. New octets that are sent make the field false. While the
    /// field is true, the timer runs only with `sfr.next`.
    rests: bool,
    /// The end of the octets that were outstanding at the first Super Fast Retransmit of the last
    /// series. The value is 0 before the first series. A series ends when all these octets are
    /// acknowledged.
    until: u64,
}

packed!(SuperFast { rests, until } keeps { timer, response, next_halves, yields });

impl SuperFast {
    pub(super) fn new(config: &RfcConfig) -> Self {
        Self {
            timer: config.sfr,
            response: config.sfr_response,
            next_halves: config.sfr_next_halves,
            yields: config.sfr_yields,
            rests: true,
            until: 0,
        }
    }

    /// Whether the connection uses Super Fast Retransmit.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.timer.is_some()
    }

    /// Lets the timer run, because new octets were sent.
    #[inline]
    pub(super) fn on_new_data(&mut self) {
        self.rests = false;
    }

    /// Notes that another repair retransmitted the first unacknowledged segment. Returns whether
    /// the timer must stop.
    pub(super) fn on_other_repair(&mut self) -> bool {
        self.rests |= self.yields;
        self.yields
    }

    /// Returns how long the timer waits. The result is `None` if the timer does not run (steps 1 to
    /// 3). The round trip of the handshake was `rtt`, and `acknowledged` octets are acknowledged.
    pub(super) fn wait(&self, acknowledged: u64, rtt: Option<Duration>) -> Option<Duration> {
        let timer = self.timer.filter(|timer| !self.rests && !timer.has_stopped(acknowledged))?;
        Some(timer.wait(rtt?))
    }

    /// How long the timer waits after an ACK of new octets up to `una`. While `una` (the oldest
    /// octet that is not acknowledged) is below the octet `until`, the timer waits `sfr.next` round
    /// trips, unless another repair is in progress (`is_repairing`). After the timer has fired,
    /// only an ACK or new data starts it again, so it has no backoff. The timer of RFC 6298 repairs
    /// a lost retransmission.
    pub(super) fn wait_after_ack(
        &self,
        una: u64,
        is_repairing: bool,
        acknowledged: u64,
        rtt: Option<Duration>,
    ) -> Option<Duration> {
        let behind = una < self.until && !is_repairing;
        let is_over = self.timer.is_none_or(|timer| timer.has_stopped(acknowledged));
        match self.next_halves.filter(|_| behind && !is_over) {
            Some(halves) => Some(rtt? * u64::from(halves) / 2),
            None => self.wait(acknowledged, rtt),
        }
    }

    /// Notes that the first unacknowledged segment, at the octet `una`, is retransmitted. Without
    /// `sfr.next` the timer stops until a new segment is sent (step 4). Returns the effect on cwnd
    /// and ssthresh. `nxt` is the next octet to send.
    pub(super) fn fire(&mut self, una: u64, nxt: u64) -> SfrResponse {
        self.rests = true;
        if una >= self.until {
            self.until = nxt;
        }
        self.response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tarr and Ghita 2005, §5, steps 1 to 4, with the paper's factor 3 and limit of 80 000 octets.
    #[test]
    fn the_timer_waits_three_round_trips_and_stops_after_a_retransmission() {
        let config = RfcConfig { sfr: Some(SfrConfig::default()), ..RfcConfig::rfc_2026() };
        let mut sfr = SuperFast::new(&config);
        let rtt = Some(Duration::from_millis(20));
        assert_eq!(sfr.wait(0, rtt), None, "nothing was sent");
        sfr.on_new_data();
        assert_eq!(sfr.wait(79_999, rtt), Some(Duration::from_millis(60)));
        assert_eq!((sfr.wait(80_000, rtt), sfr.wait(0, None)), (None, None));
        assert_eq!((sfr.fire(1, 3001), sfr.wait(0, rtt)), (SfrResponse::None, None));
        assert_eq!(
            sfr.wait_after_ack(1001, false, 1000, rtt),
            None,
            "without `next` the timer stops"
        );
        assert!(!SuperFast::new(&RfcConfig::rfc_2026()).is_on());
    }

    #[test]
    fn if_the_switch_next_is_on_each_partial_ack_restarts_the_timer() {
        let sfr = Some(SfrConfig::default());
        let config = RfcConfig { sfr, sfr_next_halves: Some(3), ..RfcConfig::rfc_2026() };
        let mut sfr = SuperFast::new(&config);
        let rtt = Some(Duration::from_millis(20));
        sfr.on_new_data();
        sfr.fire(1, 3001);
        let next = Some(Duration::from_millis(30));
        assert_eq!(sfr.wait_after_ack(1001, false, 1000, rtt), next);
        assert_eq!(
            sfr.wait_after_ack(1001, true, 1000, rtt),
            None,
            "another repair is in progress"
        );
        sfr.fire(1001, 4001);
        assert_eq!(sfr.wait_after_ack(2001, false, 2000, rtt), next);
        assert_eq!(sfr.wait_after_ack(3001, false, 3000, rtt), None, "the series is over");
        sfr.fire(3001, 4001);
        assert_eq!(sfr.wait_after_ack(3501, false, 3500, rtt), next, "a new series has begun");
        assert_eq!(
            sfr.wait_after_ack(3501, false, 80_000, rtt),
            None,
            "the timer has stopped permanently"
        );
    }
}
