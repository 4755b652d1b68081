//! The five one-way senders of the network simulator ns-2.35: tahoe, reno, newreno, sack1 and fack.
//!
//! ns-2 counts whole packets, and this code counts octets. A packet is a full segment here. Where
//! ns-2 stores the number of the last packet that was acknowledged or sent, this code stores the
//! octet after this packet. cwnd is a double in segments, as in ns-2, so that sums of `1/cwnd` have
//! the same bits. This file has the parts that the five senders share. How a sender processes an
//! ACK is in the file with the sender's name.
//!
//! The rules follow Debian's ns2 2.35+dfsg-5. Tests compare the packets of this code with the
//! packets of ns-2 in the folder `authorities/ns2`. [`NsConfig`] has most of ns-2's switches. The
//! other switches have the values of that release. These switches are on: slow_start_restart_,
//! restart_bugfix_, timerfix_, exitFastRetrans_ and aggressive_maxburst_. These are off:
//! LimTransmitFix_, rampdown_ and ts_resetRTO_. The values of maxburst_ and overhead_ are 0, and
//! spurious_response_ is 1.

mod ack;
mod fack;
mod frto;
mod newreno;
mod reno;
mod sack;
mod scoreboards;
mod stamps;
mod tahoe;
#[cfg(test)]
mod tests;
mod trial;

use crate::event::CwndState;
use crate::rto::TimeoutKind;
use crate::sample::{RttSample, SampleSource};
use crate::segment::{Cause, Segment};

use super::config::{NsConfig, NsVariant};
use super::context::{Context, CwndReport};
use super::transmit::Transmitter;

use ack::Ack;
use scoreboards::{FackScoreboard, SackScoreboard};
use stamps::SentStamps;
use trial::TimeoutTrial;

/// The number of duplicate ACKs that starts a fast retransmit (ns-2's `numdupacks_`).
const DUP_THRESH: u32 = 3;

/// The last reaction of the sender to a loss (ns-2's `last_cwnd_action_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CwndAction {
    None,
    /// A fast retransmit was sent, and its repair has not ended. Tahoe does not record the end.
    DupAck,
    /// The repair that a fast retransmit began has ended.
    Exited,
    Timeout,
}

/// A sender of ns-2.
#[derive(Debug)]
pub(super) struct NsSender {
    pub(super) tx: Transmitter,
    config: NsConfig,
    cwnd_segs: f64,
    ssthresh_segs: u32,
    dupacks: u32,
    /// An ACK with this number is a duplicate (`last_ack_`). The number equals `una`, the oldest
    /// octet that is not acknowledged, except while sack1 or fack recovers.
    last: u64,
    /// The end of the data that had been sent when the last loss was found (`recover_`). In fack:
    /// the end of the packet that was to be sent next. Sack1 sets another value at the end of a
    /// recovery, and F-RTO sets another value after a spurious timeout.
    recover: u64,
    /// `una` before the last new ACK that was not a partial ACK (`prev_highest_ack_`).
    previous_una: u64,
    action: CwndAction,
    /// Window inflation in segments (`dupwnd_`).
    inflation_segs: u64,
    /// Whether newreno has had a partial ACK in this recovery.
    first_partial: bool,
    /// The cause of the next retransmission in [`send_step`](Self::send_step).
    retransmission_cause: Cause,
    trial: TimeoutTrial,
    stamps: SentStamps,
    sack: SackScoreboard,
    fack: FackScoreboard,
    reported: CwndReport,
}

impl NsSender {
    pub(super) fn new(config: &NsConfig) -> Self {
        let mut tx = Transmitter::new(config);
        tx.count.window_limited = Some(0);
        let cautious = config.handshake && config.delay_growth;
        let initial_segs = if cautious { 1 } else { config.first_window_segs() };
        Self {
            config: *config,
            cwnd_segs: f64::from(initial_segs),
            ssthresh_segs: config.receive_window_segs,
            dupacks: 0,
            last: tx.una,
            // recover_ starts at packet 0, so `recover` is the end of this packet.
            recover: tx.second(),
            previous_una: tx.una,
            action: CwndAction::None,
            inflation_segs: 0,
            first_partial: false,
            retransmission_cause: Cause::GoBackN,
            trial: TimeoutTrial::default(),
            stamps: SentStamps::default(),
            sack: SackScoreboard::default(),
            fack: FackScoreboard::new(tx.una),
            reported: CwndReport::default(),
            tx,
        }
    }

    /// Adds the octets that the application wrote, and sends what the window allows. `octets` is
    /// their number.
    pub(super) fn on_write(&mut self, octets: u64, cx: &mut Context<'_>) {
        self.tx.write(octets);
        if self.tx.max == 1 {
            self.tx.timer.report(false, cx);
        }
        self.send_step(cx);
        self.count_window_limit();
        self.report(cx);
    }

    /// Processes a pure ACK.
    #[inline]
    pub(super) fn on_ack(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        let ack = Ack {
            ack: self.tx.count(segment.ack),
            blocks: segment.sack(),
            echo: segment.stamp(),
            syn_room: self.tx.syn_room(),
        };
        match self.config.variant {
            NsVariant::Tahoe => self.tahoe_ack(&ack, cx),
            NsVariant::Reno => self.reno_ack(&ack, cx),
            NsVariant::NewReno => self.newreno_ack(&ack, cx),
            NsVariant::Sack => self.sack_ack(&ack, cx),
            NsVariant::Fack => self.fack_ack(&ack, cx),
        }
        self.count_window_limit();
        self.report(cx);
    }

    /// Processes a firing of the retransmission timer.
    pub(super) fn on_timeout(&mut self, cx: &mut Context<'_>) {
        let mut repairing = false;
        match self.config.variant {
            NsVariant::Tahoe => {}
            NsVariant::Reno | NsVariant::NewReno => {
                self.inflation_segs = 0;
                self.dupacks = 0;
            }
            NsVariant::Sack => repairing = self.sack_before_timeout(),
            NsVariant::Fack => {
                self.fack_timeout(cx);
                return self.report(cx);
            }
        }
        self.frto_before_timeout();
        self.recover = self.tx.max;
        if self.tx.una == 1 {
            self.config.forget_initial_window();
        }
        if self.tx.outstanding() {
            self.cut_to_one();
            self.frto_on_timeout(repairing);
            self.back_off(cx);
            self.tx.timer.arm(cx.now);
        } else {
            // Nothing is outstanding, so this firing does not count as a timeout and is not
            // reported. ns-2 sets cwnd to one segment and arms the timer again. Here the timer is
            // stopped, because another firing would change nothing.
            self.cwnd_segs = 1.0;
            self.tx.timer.stop();
        }
        self.tx.nxt = self.tx.una;
        self.tx.stop_timing();
        self.action = CwndAction::Timeout;
        self.retransmission_cause = self.tx.cause_after_timeout();
        self.send_step(cx);
        self.report(cx);
    }

    fn back_off(&mut self, cx: &mut Context<'_>) {
        self.tx.count.timeouts += 1;
        self.tx.timer.back_off(TimeoutKind::Rto, cx);
    }

    /// Whether `octet` lies within the receiver's window, counted from `una`.
    fn in_receive_window(&self, octet: u64) -> bool {
        octet < self.tx.una + u64::from(self.config.receive_window_segs) * self.tx.smss()
    }

    /// The sum of cwnd and its inflation, limited to the receiver's window (`windowd()`).
    #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^53 segments")]
    fn window_segs(&self) -> f64 {
        let inflated = self.cwnd_segs + self.inflation_segs as f64;
        inflated.min(f64::from(self.config.receive_window_segs))
    }

    /// The window in whole segments (`window()`), limited to the receiver's window. If F-RTO sets a
    /// window, this function returns that window. Otherwise it returns the sum of the whole part of
    /// cwnd and the inflation.
    fn whole_window_segs(&self) -> u64 {
        let cwnd = match self.frto_window_segs() {
            Some(forced) => return forced.min(u64::from(self.config.receive_window_segs)),
            None => whole(self.cwnd_segs),
        };
        (cwnd + self.inflation_segs).min(u64::from(self.config.receive_window_segs))
    }

    /// Increases cwnd by one segment if cwnd is below ssthresh (slow start), and otherwise by
    /// 1/cwnd segments (Jacobson 1988).
    fn open_window(&mut self) {
        if self.cwnd_segs < f64::from(self.ssthresh_segs) {
            self.cwnd_segs += 1.0;
        } else {
            self.cwnd_segs += 1.0 / self.cwnd_segs;
        }
    }

    /// Sets ssthresh to half the window, in whole segments, and at least to two segments. Returns
    /// half the window.
    #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^53 segments")]
    fn cut(&mut self) -> f64 {
        let half = if self.config.precise_cut {
            self.window_segs() / 2.0
        } else {
            (self.whole_window_segs() / 2) as f64
        };
        let ssthresh_segs = u32::try_from(whole(half)).unwrap_or(u32::MAX);
        self.ssthresh_segs = ssthresh_segs.max(2);
        half
    }

    fn cut_to_half(&mut self) {
        self.cwnd_segs = self.cut();
    }

    fn cut_to_one(&mut self) {
        self.cut();
        self.cwnd_segs = 1.0;
    }

    /// Processes a new ACK while no repair is in progress.
    #[inline]
    fn acked_in_order(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.new_ack(ack, cx);
        self.open_window();
        self.frto_on_new_ack();
        if self.config.delay_growth && self.last == self.tx.second() {
            self.cwnd_segs = f64::from(self.config.first_window_segs());
        }
    }

    /// Moves `una` on a new ACK, takes the sample of the round trip, and restarts the timer.
    #[inline]
    fn new_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.dupacks = 0;
        let acked = ack.ack.saturating_sub(self.tx.una);
        self.last = ack.ack;
        self.previous_una = self.tx.una;
        self.tx.una = ack.ack;
        self.tx.nxt = self.tx.nxt.max(ack.ack);
        if self.config.timestamps {
            self.sample_echo(ack, acked, cx);
        } else {
            self.tx.take_sample(ack.ack, acked, cx);
        }
        self.restart_timer(ack.ack, cx);
    }

    /// Takes a sample from the echoed timestamp. An acknowledgment of the timed segment gives no
    /// second sample, but it ends the backoff.
    fn sample_echo(&mut self, ack: &Ack<'_>, acked: u64, cx: &mut Context<'_>) {
        self.stamps.echo = ack.echo;
        let sample = self.tx.label(ack.ack, acked);
        let sample = RttSample { sent: ack.echo, source: SampleSource::Echo, ..sample };
        self.tx.timer.sample(sample, cx);
        self.tx.stop_timing_covered(ack.ack);
    }

    /// Arms the timer again, or stops it, as ns-2 does after an ACK.
    fn restart_timer(&mut self, ack: u64, cx: &Context<'_>) {
        if self.tx.nxt >= ack || ack < self.tx.max || self.cwnd_segs < 1.0 {
            self.tx.timer.arm(cx.now);
        } else {
            self.tx.timer.stop();
        }
    }

    /// Whether the third duplicate ACK may start a repair. With the switch `bugfix`, a repair may
    /// start only if `una` is above `recover`. With the switch `bugfix_ss`, a loss of packet 1 is
    /// an exception.
    fn may_repair(&self) -> bool {
        let after_first = self.config.bugfix_ss && self.tx.una == self.tx.second();
        !self.config.bugfix || self.tx.una > self.recover || after_first
    }

    /// Carries out the first part of a fast retransmit. The caller cuts the window. Fack does not
    /// use this method.
    fn begin_repair(&mut self, cx: &Context<'_>) {
        self.recover = self.tx.max;
        self.action = CwndAction::DupAck;
        self.tx.count.fast_retransmits += 1;
        self.tx.timer.arm(cx.now);
        self.tx.stop_timing();
    }

    /// Carries out Limited Transmit on the first two duplicate ACKs (RFC 3042).
    #[expect(clippy::cast_precision_loss, reason = "windows are far below 2^53 segments")]
    fn limited_transmit(&mut self, cx: &mut Context<'_>) {
        let ahead = self.tx.segs(self.tx.nxt - self.tx.una) + 1;
        let allowed = self.cwnd_segs + f64::from(self.dupacks);
        if self.config.limited_transmit
            && self.in_receive_window(self.tx.nxt)
            && ahead as f64 <= allowed
            && self.tx.nxt < self.tx.end
        {
            self.send_next(cx);
        }
    }

    /// Sends the next packet in order, which may be a retransmission.
    fn send_next(&mut self, cx: &mut Context<'_>) {
        let seq = self.tx.nxt;
        self.tx.nxt = self.tx.end.min(seq + self.tx.smss());
        self.retransmit_or_send(seq, cx);
    }

    fn retransmit_or_send(&mut self, seq: u64, cx: &mut Context<'_>) {
        let cause = self.retransmission_cause;
        if seq < self.tx.max {
            self.retransmission_cause = Cause::GoBackN;
        }
        self.send(seq, cause, cx);
    }

    /// Sends the packet at octet `seq`. If it was sent before, `cause` is the cause of the
    /// retransmission.
    #[inline]
    fn send(&mut self, seq: u64, cause: Cause, cx: &mut Context<'_>) {
        self.tx.send(seq, Some(cause), cx);
        if self.config.newreno.bugfix_ts {
            self.stamps.sent(seq, self.tx.una, cx.now);
        }
    }

    /// Counts a duplicate ACK. If the ACK ends F-RTO, the count becomes zero.
    fn count_duplicate(&mut self) {
        self.dupacks = if self.frto_fails() { 0 } else { self.dupacks + 1 };
    }

    /// Sends segments while the window has room and there is data.
    fn send_step(&mut self, cx: &mut Context<'_>) {
        match self.config.variant {
            NsVariant::Sack => self.sack_send(cx),
            NsVariant::Fack => self.fack_send(cx),
            NsVariant::Tahoe | NsVariant::Reno | NsVariant::NewReno => {
                self.send_in_window(u64::MAX, cx);
            }
        }
    }

    /// Counts how often the receive window holds back data that cwnd allows.
    fn count_window_limit(&mut self) {
        let allowed = whole(self.cwnd_segs) + self.inflation_segs;
        let beyond = allowed > u64::from(self.config.receive_window_segs);
        if beyond && self.tx.nxt < self.tx.end && !self.in_receive_window(self.tx.nxt) {
            *self.tx.count.window_limited.get_or_insert(0) += 1;
        }
    }

    /// Sends at most `burst` segments within the window.
    fn send_in_window(&mut self, burst: u64, cx: &mut Context<'_>) {
        let edge = self.tx.una + self.whole_window_segs() * self.tx.smss();
        for _ in 0..burst {
            if self.tx.nxt >= edge || self.tx.nxt >= self.tx.end {
                break;
            }
            self.send_next(cx);
        }
    }

    /// Reports the congestion state if it changed.
    fn report(&mut self, cx: &mut Context<'_>) {
        if !cx.events.wanted().cwnd {
            return;
        }
        let in_recovery = match self.config.variant {
            NsVariant::Sack => self.sack.in_recovery,
            NsVariant::Fack => self.fack.in_recovery,
            // Tahoe has no recovery: after its fast retransmit, slow start begins immediately.
            NsVariant::Tahoe => false,
            NsVariant::Reno | NsVariant::NewReno => self.action == CwndAction::DupAck,
        };
        let smss = self.tx.smss();
        let state = CwndState {
            cwnd_bytes: whole(self.cwnd_segs * f64::from(u32::try_from(smss).unwrap_or(u32::MAX))),
            ssthresh_bytes: u64::from(self.ssthresh_segs) * smss,
            flight_bytes: self.tx.flight_bytes(),
            dupacks: self.dupacks,
            in_recovery,
        };
        self.reported.report(state, cx);
    }
}

/// The whole part of a number of segments.
///
/// The number is first converted to a signed number, because this takes fewer instructions.
#[expect(clippy::cast_possible_truncation, reason = "windows are far below 2^63")]
fn whole(segs: f64) -> u64 {
    (segs as i64).cast_unsigned()
}
