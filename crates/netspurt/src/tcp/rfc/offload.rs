//! Packets for segmentation offload (GSO, TSO). Linux sends several segments as one packet, which is cut
//! into segments behind the network stack. The last segment of such a packet has PSH
//! (`__tcp_transmit_skb`), so that the receiver's stack delivers it at once. The last segments that the
//! windows allow may wait until a whole packet can be sent (`tcp_tso_should_defer`).

use crate::congestion::Window;
use crate::segment::Cause;
use crate::units::{Duration, Time};

use super::gso::PacketPlace;
use super::sender::RfcSender;

/// The most octets of a packet (`sk_gso_max_size`).
const PACKET_BYTES_MAX: u64 = 1 << 16;
/// A packet has the octets that the pacing rate sends in a second, divided by this
/// (`sk_pacing_shift`). Linux keeps that rate also where it does not pace.
const PACKETS_PER_SECOND: u64 = 1024;
/// The pacing rate in percent of cwnd per round trip: below half of ssthresh, and otherwise
/// (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const RATE_PERCENT: (u64, u64) = (200, 120);
/// On short paths a packet may be longer: by `PACKET_BYTES_MAX`, halved once for each such number
/// of nanoseconds of the least round trip (`tcp_tso_rtt_log`).
const HALVING_NS: u64 = 512_000;
/// After this number of halvings nothing is left.
const HALVINGS_MAX: u64 = 32;

/// Segments wait only if the last one was sent less than this ago, and if an ACK is expected within
/// this time. Linux counts 1 ms as recent; a host whose steps take time has then just passed it.
const RECENT: Duration = Duration::from_millis(1);
/// Segments that fill the window divided by this are sent at once (`tcp_tso_win_divisor`).
const WINDOW_PART: u64 = 3;

/// The octet up to which new data may be sent now, if the last segments that the windows allow wait
/// for a whole packet; `None` if nothing waits.
pub(super) fn packet_edge(sender: &RfcSender, now: Time) -> Option<u64> {
    let open = !sender.recovery.repair.phase.is_repairing();
    if !sender.config.send_rules.waits_for_packets || !open || sender.pacer.is_on() {
        return None;
    }
    let (window, smss) = (&sender.window, sender.window.smss.max(1));
    let cwnd = sender.recovery.cwnd.window.cwnd;
    let filled = sender.recovery.filled_of(sender.pipe(), window, &sender.config);
    let room = cwnd.saturating_sub(filled).min(window.room()) / smss;
    let most = packet_segs(sender);
    let (whole, rest) = (room - room % most, room % most);
    let left = window.unsent_data().saturating_sub(whole * smss);
    let enough = rest * smss >= window.peer().min(cwnd) / WINDOW_PART;
    let recent = whole > 0 || now.saturating_since(sender.last_sent) < RECENT;
    let waits = rest > 0 && left > smss && left > rest * smss && !enough && recent;
    (waits && expects_ack_soon(sender, now)).then_some(window.nxt + whole * smss)
}

/// Whether the first segment outstanding left about a round trip ago, or more.
fn expects_ack_soon(sender: &RfcSender, now: Time) -> bool {
    let (Some(head), Some(srtt)) = (sender.recovery.loss.scoreboard.front(), sender.meter.srtt)
    else {
        return false;
    };
    head.at + srtt <= now + RECENT.min(srtt / 2)
}

/// The place in a packet of the next new segment, which has `len` octets.
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

/// The place in a packet of the segment at `at` of the scoreboard, which is sent again, maybe with
/// others that were in one packet with it and are lost, too (`tcp_retransmit_skb`).
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

/// Where the packet ends that begins with the lost segment at `at`.
fn end_of_copy(sender: &RfcSender, at: usize, cause: Cause) -> u64 {
    let scoreboard = &sender.recovery.loss.scoreboard;
    let first = scoreboard.get(at);
    if matches!(cause, Cause::Tlp | Cause::Sfr) {
        return first.end();
    }
    let most = usize::try_from(segs_that_fit(sender).max(1)).unwrap_or(usize::MAX);
    let run = scoreboard.iter().skip(at).take(most);
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

/// Small buffers of the host join for a packet, unless one is under way.
#[cold]
pub(super) fn grow_packet(sender: &mut RfcSender) {
    if sender.new_packet.rest_from(sender.window.nxt) == 0 {
        let most = sender.window.smss * segs_that_fit(sender).min(half_of_cwnd(sender));
        sender.window.grow_packet(most);
    }
}

/// The most segments of a packet where at least two are to be in flight (`tcp_cwnd_test`).
fn half_of_cwnd(sender: &RfcSender) -> u64 {
    (sender.recovery.cwnd.window.cwnd / sender.window.smss.max(1) / 2).max(1)
}

/// Octets of the short segment with which a packet under way fills the peer's window.
pub(super) fn packet_tail(sender: &RfcSender) -> Option<u64> {
    let window = &sender.window;
    let rest = sender.new_packet.rest_from(window.nxt);
    let fills = sender.config.send_rules.packets_fill_windows && rest == window.room();
    (fills && rest > 0 && rest < window.next_data()).then_some(rest)
}

/// Where a packet of new data ends that begins at octet `seq` (`tcp_write_xmit`).
#[inline(never)]
pub(super) fn end_of_new(sender: &RfcSender, seq: u64) -> u64 {
    let (window, smss) = (&sender.window, sender.window.smss.max(1));
    let half = half_of_cwnd(sender);
    // A buffer has half of the peer's largest window at most (`tcp_bound_to_half_wnd`); where buffers
    // are known, the end of one is known, too.
    let buffer =
        if window.grows_packets() { u64::MAX } else { (window.peer_max() / 2 / smss).max(1) };
    let most = smss * half.min(buffer).min(segs_that_fit(sender));
    let edge = sender.packet_edge.unwrap_or(u64::MAX).min(window.peer_edge());
    let data = window.end.min(window.record_end());
    let ready = data.min(edge).saturating_sub(seq);
    if most <= ready {
        return seq + most;
    }
    let fills = sender.config.send_rules.packets_fill_windows
        && edge == window.peer_edge()
        && ready > smss
        && window.lets_tail_go();
    let takes_all = fills || data <= edge && window.lets_short_go();
    seq + if takes_all { ready } else { ready - ready % smss }
}

/// The segments of a packet for which cwnd has room.
fn segs_that_fit(sender: &RfcSender) -> u64 {
    let smss = sender.window.smss.max(1);
    let filled = sender.recovery.filled_of(sender.pipe(), &sender.window, &sender.config);
    let room = sender.recovery.cwnd.window.cwnd.saturating_sub(filled);
    (room / smss).min(packet_segs(sender))
}

/// The segments of a whole packet (`tcp_tso_autosize`).
fn packet_segs(sender: &RfcSender) -> u64 {
    let smss = sender.window.smss.max(1);
    let least = sender.config.send_rules.packet_segs_min.into();
    let Some(srtt) = sender.meter.srtt.map(|srtt| srtt.as_nanos().max(1)) else {
        return (PACKET_BYTES_MAX / smss).max(least);
    };
    let Window { cwnd, ssthresh } = sender.recovery.cwnd.window;
    let percent = if cwnd < ssthresh / 2 { RATE_PERCENT.0 } else { RATE_PERCENT.1 };
    let rate = u128::from(cwnd) * u128::from(percent) * 10_000_000 / u128::from(srtt);
    let steady = u64::try_from(rate).unwrap_or(u64::MAX) / PACKETS_PER_SECOND;
    let halvings = sender.meter.min_rtt.map_or(u64::MAX, Duration::as_nanos) / HALVING_NS;
    let more = if halvings < HALVINGS_MAX { PACKET_BYTES_MAX >> halvings } else { 0 };
    (steady.saturating_add(more).min(PACKET_BYTES_MAX) / smss).max(least)
}
