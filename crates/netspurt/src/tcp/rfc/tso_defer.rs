//! TSO deferral: the last segments that the windows allow wait until a whole packet for the network
//! card's segmentation (TSO) can be sent (`tcp_tso_should_defer`).

use crate::congestion::Window;
use crate::units::{Duration, Time};

use super::sender::RfcSender;

/// Segments wait only if the last one was sent less than this ago, and if an ACK is expected within
/// this time. Linux counts 1 ms as recent; a host whose steps take time has then just passed it.
const RECENT: Duration = Duration::from_millis(1);
/// The fewest segments of a whole packet (`tcp_min_tso_segs`).
const PACKET_SEGS_MIN: u64 = 2;
/// The most octets of a whole packet (`sk_gso_max_size`).
const PACKET_BYTES_MAX: u64 = 1 << 16;
/// A whole packet has the octets that the pacing rate sends in a second, divided by this
/// (`sk_pacing_shift`). Linux keeps that rate also where it does not pace.
const PACKETS_PER_SECOND: u64 = 1024;
/// The pacing rate in percent of cwnd per round trip: below half of ssthresh, and otherwise
/// (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const RATE_PERCENT: (u64, u64) = (200, 120);
/// On short paths a packet may be longer: by `PACKET_BYTES_MAX`, halved once for every so many
/// nanoseconds of the least round trip (`tcp_tso_rtt_log`).
const HALVING_NS: u64 = 512_000;
/// After so many halvings nothing is left.
const HALVINGS_MAX: u64 = 32;
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

/// Segments of a whole packet (`tcp_tso_autosize`).
fn packet_segs(sender: &RfcSender) -> u64 {
    let smss = sender.window.smss.max(1);
    let Some(srtt) = sender.meter.srtt.map(|srtt| srtt.as_nanos().max(1)) else {
        return PACKET_SEGS_MIN;
    };
    let Window { cwnd, ssthresh } = sender.recovery.cwnd.window;
    let percent = if cwnd < ssthresh / 2 { RATE_PERCENT.0 } else { RATE_PERCENT.1 };
    let rate = u128::from(cwnd) * u128::from(percent) * 10_000_000 / u128::from(srtt);
    let steady = u64::try_from(rate).unwrap_or(u64::MAX) / PACKETS_PER_SECOND;
    let halvings = sender.meter.min_rtt.map_or(u64::MAX, Duration::as_nanos) / HALVING_NS;
    let more = if halvings < HALVINGS_MAX { PACKET_BYTES_MAX >> halvings } else { 0 };
    (steady.saturating_add(more).min(PACKET_BYTES_MAX) / smss).max(PACKET_SEGS_MIN)
}
