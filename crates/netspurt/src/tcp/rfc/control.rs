//! The calls that a host makes to a TCP connection, in addition to the calls of RFC 9293 §3.9.1.
//! For example, the host sends keep-alive probes, changes switches, and asks whether a segment
//! belongs to the connection.

use std::sync::Arc;

use crate::congestion::CongestionConfig;
use crate::segment::{Flags, Segment};
use crate::seq::is_before;
use crate::units::Time;

use super::super::context::Context;
use super::config::RfcConfig;
use super::state::{Failure, TcpState};
use super::tcb::Tcb;

/// The distance from the next sequence number of an old connection to the initial sequence number
/// of the new connection (`tcp_timewait_state_process`).
const ISS_DISTANCE: u32 = 65_537;

/// Ends the connection by a reset, because the peer does not answer.
pub(in crate::tcp) fn break_off(tcb: &mut Tcb, cx: &mut Context<'_>) {
    tcb.send_reset(cx);
    tcb.fail(Failure::TimedOut);
}

/// Sends a keep-alive probe: a segment without payload and with an old sequence number. The peer
/// must answer it (RFC 9293 §3.8.4).
pub(in crate::tcp) fn probe_peer(tcb: &mut Tcb, cx: &mut Context<'_>) {
    let segment = tcb.header.begin(tcb.tx.window.on_wire(tcb.tx.window.nxt), cx);
    tcb.rx.acknowledge(segment, 0, &tcb.header);
    segment.seq = segment.seq.wrapping_sub(1);
    tcb.header.set_wire_size(segment);
}

/// Lets the connection sample the rate of delivery from now on.
pub(in crate::tcp) fn sample_delivery(tcb: &mut Tcb) {
    tcb.tx.delivery.is_sampled = true;
}

/// Changes the switches of the connection.
pub(in crate::tcp) fn adjust(tcb: &mut Tcb, change: impl FnOnce(&mut RfcConfig)) {
    let mut config = *tcb.config;
    change(&mut config);
    tcb.config = Arc::new(config);
    tcb.tx.config = Arc::clone(&tcb.config);
}

/// Ends a record (Linux's `MSG_EOR`). Octets that were written so far and octets that are written
/// later are never in the same segment.
pub(in crate::tcp) fn end_record(tcb: &mut Tcb) {
    tcb.tx.window.end_record();
}

/// Lets arrived data wait for [`Tcb::read`] from now on.
pub(in crate::tcp) fn read_by_hand(tcb: &mut Tcb) {
    tcb.rx.reads_at_once = false;
}

/// Sets whether the host's own queue drops all segments that are sent. A sender that learns of
/// drops (`learns_drops`) sends no data while the queue drops segments.
pub(in crate::tcp) fn set_queue_full(tcb: &mut Tcb, full: bool) {
    tcb.tx.persist.is_refused = full && tcb.config.send_rules.learns_drops;
}

/// Sets the receive buffer to `octets` octets of memory, as an application does.
pub(in crate::tcp) fn set_receive_memory(tcb: &mut Tcb, octets: u64) {
    if let Some(memory) = &mut tcb.rx.memory {
        memory.fix(octets);
    }
}

/// Sets whether an application has accepted the connection.
pub(in crate::tcp) fn set_accepted(tcb: &mut Tcb, accepted: bool) {
    tcb.rx.set_accepted(accepted);
}

/// Continues with another congestion control algorithm.
pub(in crate::tcp) fn set_congestion(tcb: &mut Tcb, congestion: &CongestionConfig) {
    adjust(tcb, |config| config.congestion = *congestion);
    let congestion = if tcb.config.pacing { congestion.paced() } else { *congestion };
    let congestion = congestion.on_clock(tcb.config.timer_clock);
    let rtt = tcb.tx.meter.handshake_rtt;
    let cwnd = &mut tcb.tx.recovery.cwnd;
    cwnd.replace(&congestion, rtt);
    tcb.tx.delivery.is_sampled |= cwnd.algorithm.wants_rate();
    if cwnd.is_owned() {
        tcb.tx.pacer.switch_on();
    }
}

/// Whether the receiving half accepts the sequence numbers of a segment (`RfcReceiver::accepts`),
/// and the segment is not an old duplicate. A segment that comes before the connection is open is
/// always accepted.
pub(in crate::tcp) fn accepts(tcb: &Tcb, segment: &Segment, now: Time) -> bool {
    let left = tcb.rx.octet(segment.seq);
    let right = left + u64::from(segment.seq_len());
    let rules = &tcb.config.receive_rules;
    !tcb.life.state().is_synchronised()
        || tcb.rx.accepts(left, right, rules) && !tcb.header.is_old_duplicate(segment, rules, now)
}

/// Returns the initial sequence number of a new connection that replaces this connection in
/// TIME-WAIT. The result is `None` if `segment` may not open a new connection. `segment` may open
/// one if it is a SYN with a higher sequence number or a newer timestamp than all segments before
/// it (RFC 6191 §2). As in Linux, the returned number is beyond all octets that this connection can
/// have sent.
pub(in crate::tcp) fn successor(tcb: &Tcb, segment: &Segment) -> Option<u32> {
    let lone_syn = segment.flags.without(Flags::ECE.with(Flags::CWR)) == Flags::SYN;
    let newer = tcb.rx.octet(segment.seq) > tcb.rx.nxt
        || segment.timestamps().is_some_and(|stamps| {
            tcb.header.agreed.timestamps && is_before(tcb.header.recent_stamp(), stamps.val)
        });
    (tcb.life.state() == TcpState::TimeWait && lone_syn && newer)
        .then(|| tcb.tx.window.on_wire(tcb.tx.window.nxt).wrapping_add(ISS_DISTANCE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{BbrConfig, RenoConfig};

    #[test]
    fn a_new_congestion_algorithm_gets_the_rates_and_the_pacing_that_it_needs() {
        let mut tcb = Tcb::new(&Arc::new(RfcConfig::plain()));
        let state = |tcb: &Tcb| (tcb.tx.delivery.is_sampled, tcb.tx.pacer.is_on());
        set_congestion(&mut tcb, &CongestionConfig::Reno(RenoConfig::default()));
        assert_eq!(state(&tcb), (false, false));
        set_congestion(&mut tcb, &CongestionConfig::Bbr(BbrConfig::default()));
        assert_eq!(state(&tcb), (true, true));
    }
}
