//! One end of a connection: its state, its two halves, and the application's calls.

use std::sync::Arc;

use crate::packed::packed;
use crate::units::Time;

use super::super::context::{Context, CwndReport};
use super::config::RfcConfig;
use super::header::HeaderState;
use super::info::{ConnectionInfo, ReorderingInfo};
use super::lifecycle::Lifecycle;
use super::merge::Merging;
use super::pacer::spread_rate;
use super::receive::RfcReceiver;
use super::recovery::LossRecovery;
use super::send_window::ShortSegments;
use super::sender::RfcSender;
use super::state::{Failure, TcpState};
use super::written::{Leaving, WrittenPart};

/// One end of a connection (a "transmission control block", RFC 9293 §3.3.1).
#[derive(Debug)]
pub(in crate::tcp) struct Tcb {
    pub(super) config: Arc<RfcConfig>,
    pub(super) life: Lifecycle,
    pub(super) header: HeaderState,
    pub(super) tx: RfcSender,
    pub(super) rx: RfcReceiver,
    /// The segment that waits to be merged with later segments.
    pub(super) merging: Merging,
    reported: CwndReport,
}

packed!(Tcb { life, header, tx, rx, reported } keeps { config, merging });

impl Tcb {
    pub(in crate::tcp) fn new(config: &Arc<RfcConfig>) -> Self {
        Self {
            config: Arc::clone(config),
            life: Lifecycle::new(config),
            header: HeaderState::new(config),
            tx: RfcSender::new(config),
            rx: RfcReceiver::new(config),
            merging: Merging::default(),
            reported: CwndReport::default(),
        }
    }

    /// Whether the state can be packed into octets: no segment waits to be merged, and the
    /// algorithms for the timer and for congestion control can be packed.
    pub(super) fn can_be_packed(&self) -> bool {
        let RfcSender { timers, recovery, .. } = &self.tx;
        let waits = !self.merging.is_empty();
        !waits && timers.retransmission.can_be_packed() && recovery.cwnd.algorithm.can_be_packed()
    }

    pub(in crate::tcp) fn life(&self) -> &Lifecycle {
        &self.life
    }

    /// The sending half.
    pub(in crate::tcp) fn sender(&self) -> &RfcSender {
        &self.tx
    }

    /// The receiving half.
    pub(in crate::tcp) fn receiver(&self) -> &RfcReceiver {
        &self.rx
    }

    /// The earliest instant at which something is due.
    pub(in crate::tcp) fn next_deadline(&self) -> Time {
        let all = self.tx.timers.first().min(self.rx.deadline).min(self.life.deadline());
        all.min(self.merging.deadline())
    }

    /// Whether the connection only waits for the end of TIME-WAIT.
    pub(in crate::tcp) fn only_in_time_wait(&self) -> bool {
        let time_wait_end = self.life.deadline();
        time_wait_end < Time::NEVER && self.next_deadline() == time_wait_end
    }

    /// Opens the connection (RFC 9293 §3.10.1, active).
    pub(in crate::tcp) fn open(&mut self, cx: &mut Context<'_>) {
        if self.life.open() {
            self.send_syn(None, cx);
        }
    }

    /// Waits for a peer (RFC 9293 §3.10.1, passive).
    pub(in crate::tcp) fn listen(&mut self) {
        self.life.listen();
    }

    /// Returns to LISTEN as if no segment had come. The counts of sent segments do not change.
    pub(super) fn listen_again(&mut self) {
        let mut fresh = Self::new(&self.config);
        fresh.header.sent = self.header.sent;
        fresh.tx.count = self.tx.count;
        fresh.rx.copy_settings_of(&self.rx);
        *self = fresh;
        self.listen();
    }

    /// Accepts more octets to send. Opens the connection if it is not open. A connection that the
    /// application has closed, or that has ended, accepts no octets.
    pub(in crate::tcp) fn write(&mut self, part: &WrittenPart, cx: &mut Context<'_>) {
        if self.tx.window.closing || self.life.is_over() {
            return;
        }
        self.account_for(cx.now);
        self.tx.window.append(part);
        self.open(cx);
        match part.leaving {
            Leaving::All => self.output(cx),
            Leaving::Packet => self.output_packet(cx),
            Leaving::Nothing => {}
        }
        self.report(cx);
    }

    /// Notes that the application has read `octets` octets of the arrived data.
    pub(in crate::tcp) fn read(&mut self, octets: u64, cx: &mut Context<'_>) {
        if self.rx.read(octets, cx.now) && self.life.state().is_synchronised() {
            self.send_ack(cx);
        }
    }

    /// Changes what short segments wait for, and sends the segments that no longer wait.
    pub(in crate::tcp) fn hold_short(
        &mut self,
        change: impl FnOnce(&mut ShortSegments),
        cx: &mut Context<'_>,
    ) {
        self.account_for(cx.now);
        change(&mut self.tx.window.short);
        self.output(cx);
    }

    /// Sets whether the next segments are acknowledged immediately. If immediate acknowledgments
    /// are switched on and an acknowledgment is owed, it is sent now. With the delays of Linux, it
    /// is sent only if all data is read.
    pub(in crate::tcp) fn set_quick_acks(&mut self, quick: bool, cx: &mut Context<'_>) {
        if self.rx.set_quick_acks(quick, cx.now) {
            self.send_ack(cx);
        }
    }

    /// Closes the connection, because the application will write no more data (RFC 9293 §3.10.4).
    ///
    /// departs: RFC 9293 §3.10.4 - a CLOSE in SYN-SENT still sends what was written before.
    pub(in crate::tcp) fn close(&mut self, cx: &mut Context<'_>) {
        if self.tx.window.closing {
            return;
        }
        self.account_for(cx.now);
        match self.life.state() {
            TcpState::SynSent if self.tx.window.end > 1 => self.tx.window.closing = true,
            TcpState::Closed | TcpState::Listen | TcpState::SynSent => self.end(),
            _ => {
                self.tx.window.closing = true;
                self.output(cx);
                self.report(cx);
            }
        }
    }

    /// Ends the connection immediately. In CLOSING and LAST-ACK, a reset is sent only if the
    /// application has not read all octets that came (RFC 9293 §3.6.1, §3.10.5).
    pub(in crate::tcp) fn abort(&mut self, cx: &mut Context<'_>) {
        use TcpState::{CloseWait, Closing, Established, FinWait1, FinWait2, LastAck, SynReceived};
        let resets = match self.life.state() {
            SynReceived | Established | FinWait1 | FinWait2 | CloseWait => true,
            Closing | LastAck => self.rx.unread() > 0,
            _ => false,
        };
        if resets {
            self.send_reset(cx);
        }
        self.end();
    }

    /// Ends the connection without sending a segment, and stops all timers.
    pub(super) fn end(&mut self) {
        self.life.end();
        self.tx.timers.stop();
        self.rx.deadline = Time::NEVER;
    }

    /// Ends the connection because of a failure.
    pub(in crate::tcp) fn fail(&mut self, failure: Failure) {
        self.life.fail(failure);
        self.end();
    }

    /// Adds the time since the last call to the account of the sender's time
    /// ([`SendTimes`](super::SendTimes)).
    #[inline]
    pub(super) fn account_for(&mut self, now: Time) {
        self.tx.account_for(now, self.life.state() != TcpState::Closed);
    }

    /// Reports the congestion state if it changed and the run records it.
    #[inline]
    pub(super) fn report(&mut self, cx: &mut Context<'_>) {
        if cx.events.wanted().cwnd && self.life.state().is_synchronised() {
            self.reported.report(self.tx.cwnd_state(), cx);
        }
    }

    /// The state of the connection.
    pub(in crate::tcp) fn info(&self) -> ConnectionInfo {
        let tx = &self.tx;
        let LossRecovery { loss, repair, cwnd, .. } = &tx.recovery;
        ConnectionInfo {
            state: self.life.state_with(tx.window.closing),
            phase: repair.phase,
            retries: tx.timers.retries(),
            probes: tx.persist.info(),
            options: self.header.options_info(self.rx.marks.is_seen),
            smss: tx.window.smss,
            cwnd: cwnd.window.cwnd,
            ssthresh: cwnd.window.ssthresh,
            flight: tx.window.flight(),
            outstanding: loss.outstanding_info(&tx.window),
            pipe: tx.pipe(),
            rto: tx.timers.retransmission.state_by_deviation(),
            srtt: tx.meter.srtt,
            min_rtt: tx.meter.min_rtt,
            reordering: ReorderingInfo {
                seen: loss.rack.reordering_seen,
                segs: loss.reordered_thresh.map_or_else(
                    || loss.rack.reordered_segs.max(self.config.dup_thresh.into()),
                    u64::from,
                ),
            },
            unsent: tx.window.unsent(),
            delivered: tx.delivery.info(),
            peer_window: tx.window.peer(),
            peer_window_max: tx.window.peer_max(),
            pacing: cwnd.pacing_rate().or_else(|| spread_rate(&cwnd.window, tx.meter.srtt)),
            acked: tx.window.acknowledged(),
            numbers_acked: tx.window.una.saturating_sub(self.life.is_passive().into()),
            sent: tx.count,
            receiving: self.rx.info(&self.config),
        }
    }
}
