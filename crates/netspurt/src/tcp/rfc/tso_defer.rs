//! Segments that wait for a second one, as Linux's packets for offload do (`tcp_tso_should_defer`).

use crate::congestion::Window;
use crate::units::{Duration, Time};

use super::sender::RfcSender;

/// Linux holds segments back where it last sent something, and expects an ACK, so close to now. On a
/// host, whose steps take time, what is due after exactly as long comes later.
const SOON: Duration = Duration::from_millis(1);
/// A packet for offload has at least so many segments (`tcp_min_tso_segs`) ...
const PACKET_SEGS_MIN: u64 = 2;
/// ... and this many octets at most.
const PACKET_MAX: u64 = 1 << 16;
/// It holds what the pacing rate, kept for this even where nothing is paced, gives in so many parts
/// of a second (`sk_pacing_shift`).
const PACKETS_PER_SECOND: u64 = 1024;
/// The pacing rate in hundredths of cwnd for each round trip: below half of ssthresh, and otherwise.
const RATE_PERCENT: (u64, u64) = (200, 120);
/// On short paths a packet may be longer: by half of its octets less for each such part of the round
/// trip (`tcp_tso_rtt_log`).
const SHORT_PATH: u64 = 512_000;
/// The longest of such paths, in those parts.
const SHORT_PATHS: u64 = 32;
/// A part of the window that is worth sending at once (`tcp_tso_win_divisor`).
const WORTH: u64 = 3;

/// The octet up to which new data may leave now, where the last segments that the windows take
/// are to wait for room for a whole packet; `None` where nothing waits.
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
    let worth = rest * smss >= window.peer().min(cwnd) / WORTH;
    let recent = whole > 0 || now.saturating_since(sender.last_sent) < SOON;
    let waits = rest > 0 && left > smss && left > rest * smss && !worth && recent;
    (waits && expects_ack_soon(sender, now)).then_some(window.nxt + whole * smss)
}

/// Whether the first segment outstanding left about a round trip ago, or more.
fn expects_ack_soon(sender: &RfcSender, now: Time) -> bool {
    let (Some(head), Some(srtt)) = (sender.recovery.loss.scoreboard.front(), sender.meter.srtt)
    else {
        return false;
    };
    head.at + srtt <= now + SOON.min(srtt / 2)
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
    let least = sender.meter.min_rtt.map_or(u64::MAX, Duration::as_nanos) / SHORT_PATH;
    let more = if least < SHORT_PATHS { PACKET_MAX >> least } else { 0 };
    (steady.saturating_add(more).min(PACKET_MAX) / smss).max(PACKET_SEGS_MIN)
}
