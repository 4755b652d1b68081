//! Computes the packets for segmentation offload (GSO, TSO). Linux sends several segments as one
//! packet, which is cut into segments below the network stack. The last segment of this packet has
//! PSH (`__tcp_transmit_skb`), so that the receiver's stack delivers it immediately. The last
//! segments that cwnd and the peer's window allow may wait until a whole packet can be sent
//! (`tcp_tso_should_defer`).

use crate::congestion::Window;
use crate::segment::Cause;
use crate::units::{Duration, Time};

use super::gso::PacketPlace;
use super::sender::RfcSender;

/// The maximum number of octets of a packet (`sk_gso_max_size`).
const PACKET_BYTES_MAX: u64 = 1 << 16;
/// On long paths, the number of octets in a packet is the pacing rate in octets per second, divided
/// by this number (`sk_pacing_shift`). Linux computes this rate even if it does not pace.
const PACKETS_PER_SECOND: u64 = 1024;
/// The pacing rate in percent of cwnd per round trip. The first value holds while cwnd is below
/// half of ssthresh, and the second value holds otherwise (`tcp_pacing_ss_ratio`,
/// `tcp_pacing_ca_ratio`).
const RATE_PERCENT: (u64, u64) = (200, 120);
/// On short paths, a packet may be longer than `PACKETS_PER_SECOND` allows. The extra length is
/// `PACKET_BYTES_MAX`, halved once for each `HALVING_NS` nanoseconds of the minimum round trip
/// (`tcp_tso_rtt_log`).
const HALVING_NS: u64 = 512_000;
/// From this number of halvings on, the extra length is zero.
const HALVINGS_MAX: u64 = 32;

/// Segments wait for a whole packet only if two conditions hold. First, an ACK is expected within
/// this time, and within half a round trip. Second, whole packets are sent now, or the last segment
/// was sent less than this time ago. In Linux, a segment that was sent exactly 1 ms ago also meets
/// the second condition. But where simulated time gives an age of exactly 1 ms, a real host
/// measures slightly more than 1 ms. So here a segment of exactly this age does not meet the
/// condition.
const RECENT_TIME_MAX: Duration = Duration::from_millis(1);
/// Segments are sent immediately if they fill a large part of the window. The window is the smaller
/// of cwnd and the peer's window. A large part is at least the window divided by this number
/// (`tcp_tso_win_divisor`).
const WINDOW_PART: u64 = 3;

/// Returns the octet up to which new data may be sent now. The segments after it wait until they
/// fill a whole packet, although cwnd and the receive window have room. `None` if no segment must
/// wait.
pub(super) fn packet_edge(sender: &RfcSender, now: Time) -> Option<u64> {
    let open = !sender.recovery.repair.phase.is_repairing();
    if !sender.config.send_rules.waits_for_packets || !open || sender.pacer.is_on() {
        return None;
    }
    let (window, smss) = (&sender.window, sender.window.smss.max(1));
    let cwnd = sender.recovery.cwnd.window.cwnd;
    let filled = sender.recovery.filled_of(sender.pipe(), window, &sender.config);
    let room = cwnd.saturating_sub(filled).min(window.room()) / smss;
    let packet_segs = packet_segs(sender);
    let (whole_packets_segs, last_segs) = (room - room % packet_segs, room % packet_segs);
    let unsent = window.unsent_data().saturating_sub(whole_packets_segs * smss);
    let fills_window = last_segs * smss >= window.peer().min(cwnd) / WINDOW_PART;
    let sent_recently =
        whole_packets_segs > 0 || now.saturating_since(sender.last_sent) < RECENT_TIME_MAX;
    let waits = last_segs > 0
        && unsent > smss
        && unsent > last_segs * smss
        && !fills_window
        && sent_recently;
    (waits && expects_ack_soon(sender, now)).then_some(window.nxt + whole_packets_segs * smss)
}

/// True if the ACK of the first outstanding segment is expected within 1 ms and within half a round
/// trip, or if a round trip has already passed since this segment was sent.
fn expects_ack_soon(sender: &RfcSender, now: Time) -> bool {
    let (Some(head), Some(srtt)) = (sender.recovery.loss.scoreboard.front(), sender.meter.srtt)
    else {
        return false;
    };
    head.at + srtt <= now + RECENT_TIME_MAX.min(srtt / 2)
}

/// Returns the place of the next new segment in its packet. The segment has `len` octets.
#[inline]
pub(super) fn place_of_new(sender: &mut RfcSender, len: u64) -> PacketPlace {
    if !sender.config.send_rules.pushes_packets {
        return PacketPlace::default();
    }
    let seq = sender.window.nxt;
    let mut packet = sender.new_packet;
    let place = packet.step(seq, len, || end_of_new(sender, seq));
    sender.new_packet = packet;
    place
}

/// Returns the place of a retransmitted segment in its packet. The segment has the index `at` in
/// the scoreboard. Other lost segments of the same original packet may be retransmitted in one
/// packet with this segment (`tcp_retransmit_skb`).
pub(super) fn place_of_copy(sender: &mut RfcSender, at: usize, cause: Cause) -> PacketPlace {
    if !sender.config.send_rules.pushes_packets {
        return PacketPlace::default();
    }
    let sent = *sender.recovery.loss.scoreboard.get(at);
    let mut packet = sender.copied_packet;
    let place = packet.step(sent.seq, sent.len(), || end_of_copy(sender, at, cause));
    sender.copied_packet = packet;
    if !place.goes_on {
        sender.recovery.loss.scoreboard.end_packet(at);
    }
    place
}

/// Returns the end of the packet that begins with the retransmission of the segment at the index
/// `at`.
fn end_of_copy(sender: &RfcSender, at: usize, cause: Cause) -> u64 {
    let scoreboard = &sender.recovery.loss.scoreboard;
    let first = scoreboard.get(at);
    if matches!(cause, Cause::Tlp | Cause::Sfr) {
        return first.end();
    }
    let segs_max = usize::try_from(segs_that_fit(sender).max(1)).unwrap_or(usize::MAX);
    let run = scoreboard.iter().skip(at).take(segs_max);
    let mut end = first.end();
    let mut goes_on = first.goes_on();
    for sent in run.skip(1) {
        if !goes_on || !sent.is_waiting() {
            break;
        }
        (end, goes_on) = (sent.end(), sent.goes_on());
    }
    end
}

/// Joins small buffers of the host into one packet, unless a packet is being sent.
#[cold]
pub(super) fn grow_packet(sender: &mut RfcSender) {
    if sender.new_packet.rest_from(sender.window.nxt) == 0 {
        let octets_max = sender.window.smss * segs_that_fit(sender).min(half_of_cwnd(sender));
        sender.window.grow_packet(octets_max);
    }
}

/// Returns the maximum number of segments of a packet: half of cwnd, so that two packets can be in
/// flight (`tcp_cwnd_test`), but at least one segment.
fn half_of_cwnd(sender: &RfcSender) -> u64 {
    (sender.recovery.cwnd.window.cwnd / sender.window.smss.max(1) / 2).max(1)
}

/// If the current packet ends with a short segment that fills the receive window, returns the
/// octets of this segment. Otherwise returns `None`.
pub(super) fn packet_tail(sender: &RfcSender) -> Option<u64> {
    let window = &sender.window;
    let rest = sender.new_packet.rest_from(window.nxt);
    let fills = sender.config.send_rules.packets_fill_windows && rest == window.room();
    (fills && rest > 0 && rest < window.next_data()).then_some(rest)
}

/// Returns the end of the packet of new data that begins at octet `seq` (`tcp_write_xmit`).
#[inline(never)]
pub(super) fn end_of_new(sender: &RfcSender, seq: u64) -> u64 {
    let (window, smss) = (&sender.window, sender.window.smss.max(1));
    let half = half_of_cwnd(sender);
    // A buffer has at most half of the peer's largest window (`tcp_bound_to_half_wnd`), and a
    // packet has the octets of two buffers (`tcp_grow_skb`). If the next octets are in a buffer
    // that may still grow (`grows_packets`), the end of this buffer (`record_end`) limits the
    // packet instead.
    let buffer =
        if window.grows_packets() { u64::MAX } else { 2 * (window.peer_max() / 2 / smss).max(1) };
    let octets_max = smss * half.min(buffer).min(segs_that_fit(sender));
    let edge = sender.packet_edge.unwrap_or(u64::MAX).min(window.peer_edge());
    let data = window.end.min(window.record_end());
    let ready = data.min(edge).saturating_sub(seq);
    if octets_max <= ready {
        return seq + octets_max;
    }
    let fills = sender.config.send_rules.packets_fill_windows
        && edge == window.peer_edge()
        && ready > smss
        && window.may_send_short_inner();
    let takes_all = fills || data <= edge && window.may_send_short_last();
    seq + if takes_all { ready } else { ready - ready % smss }
}

/// Returns the number of segments for which cwnd and a packet have room.
fn segs_that_fit(sender: &RfcSender) -> u64 {
    let smss = sender.window.smss.max(1);
    let filled = sender.recovery.filled_of(sender.pipe(), &sender.window, &sender.config);
    let room = sender.recovery.cwnd.window.cwnd.saturating_sub(filled);
    (room / smss).min(packet_segs(sender))
}

/// Returns the number of segments in a whole packet (`tcp_tso_autosize`).
fn packet_segs(sender: &RfcSender) -> u64 {
    let smss = sender.window.smss.max(1);
    let segs_min = sender.config.send_rules.packet_segs_min.into();
    let Some(srtt) = sender.meter.srtt.map(|srtt| srtt.as_nanos().max(1)) else {
        return (PACKET_BYTES_MAX / smss).max(segs_min);
    };
    let Window { cwnd, ssthresh } = sender.recovery.cwnd.window;
    let percent = if cwnd < ssthresh / 2 { RATE_PERCENT.0 } else { RATE_PERCENT.1 };
    let rate = u128::from(cwnd) * u128::from(percent) * 10_000_000 / u128::from(srtt);
    let steady = u64::try_from(rate).unwrap_or(u64::MAX) / PACKETS_PER_SECOND;
    let halvings = sender.meter.min_rtt.map_or(u64::MAX, Duration::as_nanos) / HALVING_NS;
    let more = if halvings < HALVINGS_MAX { PACKET_BYTES_MAX >> halvings } else { 0 };
    (steady.saturating_add(more).min(PACKET_BYTES_MAX) / smss).max(segs_min)
}
