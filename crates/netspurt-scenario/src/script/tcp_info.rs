//! The state of netspurt's connection in the fields and units of `tcp_info`, in which Linux reports
//! the state of a connection.

use netspurt::congestion::Window;
use netspurt::tcp::{ConnectionInfo, MemoryInfo, Phase, TcpState};
use netspurt::units::{BitRate, Duration};

use super::info::{Info, InfoField};

/// The ssthresh that Linux shows for a connection without an ssthresh.
const NO_THRESHOLD: u64 = 0x7fff_ffff;

/// Linux's number for a state.
pub(super) fn state_number(state: TcpState) -> i64 {
    match state {
        TcpState::Established => 1,
        TcpState::SynSent => 2,
        TcpState::SynReceived => 3,
        TcpState::FinWait1 => 4,
        TcpState::FinWait2 => 5,
        TcpState::TimeWait => 6,
        TcpState::Closed => 7,
        TcpState::CloseWait => 8,
        TcpState::LastAck => 9,
        TcpState::Listen => 10,
        TcpState::Closing => 11,
    }
}

/// Linux's number for a congestion state.
fn phase_number(phase: Phase) -> i64 {
    match phase {
        Phase::Open => 0,
        Phase::Disorder => 1,
        Phase::Cwr => 2,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}

fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1000
}

/// The number of octets delivered in a second. Before the first sample, the number is 0.
fn delivery_rate(tcp: &ConnectionInfo) -> u64 {
    let (bytes, interval) = tcp.delivered.rate.unwrap_or_default();
    (bytes * 1_000_000).checked_div(micros(interval)).unwrap_or(0)
}

/// Linux's number that says which options both ends agreed on, and whether the peer used ECN.
fn options_number(tcp: &ConnectionInfo) -> u64 {
    let options = &tcp.options;
    let bits =
        [options.timestamps, options.sack, options.shifts.is_some(), options.ecn, options.ecn_seen];
    bits.iter().rev().fold(0, |sum, bit| sum << 1 | u64::from(*bit))
}

/// Sets the fields about the memory of the receive buffer.
fn set_memory(info: &mut Info, memory: &MemoryInfo) {
    for (field, value) in [
        (InfoField::RcvSsthresh, memory.threshold),
        (InfoField::RcvSpace, memory.read),
        (InfoField::RcvRtt, micros(memory.rtt)),
        (InfoField::ReceiveBufferSize, memory.size),
        (InfoField::ReceiveBufferUsed, memory.used),
    ] {
        info.set(field, i64::try_from(value).unwrap_or(i64::MAX));
    }
}

/// Sets the fields that count retransmissions, timeouts, delivered segments and arrivals.
fn set_counts(set: &mut impl FnMut(InfoField, u64), tcp: &ConnectionInfo) {
    set(InfoField::TotalRetrans, tcp.sent.retransmissions);
    set(InfoField::BytesRetrans, tcp.sent.retransmitted_bytes);
    let new_bytes = tcp.acked + tcp.outstanding.data_bytes;
    set(InfoField::BytesSent, new_bytes + tcp.sent.retransmitted_bytes);
    set(InfoField::TotalRto, tcp.sent.timeouts);
    // At each timeout, Linux changes the hash that selects the path (`tcp_write_timeout`).
    set(InfoField::Rehash, tcp.sent.timeouts);
    // Linux always shows 0 in these two fields.
    set(InfoField::Fackets, 0);
    set(InfoField::LastAckSent, 0);
    set(InfoField::Delivered, tcp.sent.delivered_segments);
    set(InfoField::DeliveredCe, tcp.sent.marked_segments);
    set(InfoField::DsackDups, tcp.sent.reported_duplicates);
    set(InfoField::DataSegsIn, tcp.receiving.count.segments);
    set(InfoField::RcvOoopack, tcp.receiving.count.out_of_order);
}

/// The `tcp_info` of a connection. cwnd and ssthresh are in whole segments, rounded down.
pub(super) fn linux_info(tcp: &ConnectionInfo) -> Info {
    let mut info = Info::default();
    let mut set = |field, value: u64| info.set(field, i64::try_from(value).unwrap_or(i64::MAX));
    let smss = tcp.smss.max(1);
    let threshold = match tcp.ssthresh {
        Window::NO_THRESHOLD => NO_THRESHOLD,
        bytes => bytes / smss,
    };
    set(InfoField::Retransmits, tcp.retries.into());
    set(InfoField::Probes, tcp.probes.unanswered.into());
    let backoff = tcp.rto.backoff.max(1).ilog2().max(tcp.probes.backoff);
    set(InfoField::Backoff, backoff.into());
    set(InfoField::Options, options_number(tcp));
    let (peer_shift, own_shift) = tcp.options.shifts.unwrap_or((0, 0));
    set(InfoField::SndWscale, peer_shift.into());
    set(InfoField::RcvWscale, own_shift.into());
    set(InfoField::Rto, micros(tcp.rto.rto));
    set(InfoField::Ato, micros(tcp.receiving.ack_wait));
    set(InfoField::SndMss, tcp.smss);
    set(InfoField::RcvMss, tcp.receiving.peer_smss);
    set(InfoField::Unacked, tcp.outstanding.segs);
    set(InfoField::Sacked, tcp.outstanding.sacked_segs);
    set(InfoField::Lost, tcp.outstanding.lost_segs);
    set(InfoField::Retrans, tcp.outstanding.retransmitted_segs);
    set(InfoField::SndSsthresh, threshold);
    set(InfoField::SndCwnd, tcp.cwnd / smss);
    // Linux subtracts the size of the timestamps, which every segment carries.
    set(
        InfoField::Advmss,
        u64::from(tcp.receiving.mss) - if tcp.options.timestamps { 12 } else { 0 },
    );
    set(InfoField::Pmtu, tcp.receiving.packet_bytes);
    set_counts(&mut set, tcp);
    // Linux counts all of its own sequence numbers that were acknowledged, except the SYN of a
    // passive opener. Among the received octets, it also counts the peer's FIN.
    set(InfoField::BytesAcked, tcp.numbers_acked);
    let fin = u64::from(tcp.receiving.has_fin);
    set(InfoField::BytesReceived, tcp.receiving.count.delivered_bytes + fin);
    set(InfoField::DeliveryRate, delivery_rate(tcp));
    set(InfoField::DeliveryRateAppLimited, tcp.delivered.is_app_limited.into());
    set(InfoField::NotsentBytes, tcp.unsent);
    set(InfoField::DataSegsOut, tcp.sent.data_segments);
    set(InfoField::ReordSeen, tcp.reordering.seen.into());
    set(InfoField::Reordering, tcp.reordering.segs);
    set(InfoField::SndWnd, tcp.peer_window);
    set(InfoField::RcvWnd, tcp.receiving.window);
    if let Some(bits) = tcp.pacing.and_then(BitRate::bits_per_second) {
        set(InfoField::PacingRate, bits / 8);
    }
    for (field, span) in [
        // Linux shows 0 before the first sample.
        (InfoField::Rtt, tcp.rto.srtt.or(tcp.srtt).or(Some(Duration::ZERO))),
        (InfoField::Rttvar, tcp.rto.rttvar),
        (InfoField::MinRtt, tcp.min_rtt),
    ] {
        if let Some(span) = span {
            set(field, micros(span));
        }
    }
    if let Some(memory) = &tcp.receiving.memory {
        set_memory(&mut info, memory);
    }
    info.set(InfoField::State, state_number(tcp.state));
    info.set(InfoField::CaState, phase_number(tcp.phase));
    info
}
