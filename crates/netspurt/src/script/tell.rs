//! A connection's state in Linux's words and units.

use crate::congestion::Window;
use crate::tcp::{Phase, State, TcpInfo};
use crate::units::{BitRate, Duration};

use super::info::{Field, Info};

/// Linux's threshold of a connection that has none.
const NO_THRESHOLD: u64 = 0x7fff_ffff;

/// The number Linux gives a state.
pub(super) fn state_number(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

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

/// `told` as Linux's `tcp_info` has it. Windows are whole segments, rounded down.
pub(super) fn linux_info(told: &TcpInfo) -> Info {
    let mut info = Info::default();
    let mut tell = |field, value: u64| info.set(field, i64::try_from(value).unwrap_or(i64::MAX));
    let smss = told.smss.max(1);
    let threshold = match told.ssthresh {
        Window::NO_THRESHOLD => NO_THRESHOLD,
        octets => octets / smss,
    };
    tell(Field::Retransmits, told.retries.into());
    tell(Field::Probes, told.persist_backoff.into());
    tell(Field::Backoff, u64::from(told.rto.backoff.max(1).ilog2()));
    let bits = [told.timestamps, told.sack, told.shifts.is_some(), told.ecn];
    tell(Field::Options, bits.iter().rev().fold(0, |sum, bit| sum << 1 | u64::from(*bit)));
    let (peer_shift, own_shift) = told.shifts.unwrap_or((0, 0));
    tell(Field::SndWscale, peer_shift.into());
    tell(Field::RcvWscale, own_shift.into());
    tell(Field::Rto, micros(told.rto.rto));
    tell(Field::Ato, micros(told.ack_wait));
    tell(Field::SndMss, told.smss);
    tell(Field::RcvMss, told.peer_smss);
    tell(Field::Unacked, told.unacked_segs);
    tell(Field::Sacked, told.sacked_segs);
    tell(Field::Lost, told.lost_segs);
    tell(Field::Retrans, told.resent_segs);
    tell(Field::SndSsthresh, threshold);
    tell(Field::SndCwnd, told.cwnd / smss);
    // Linux takes off what the time stamps of every segment take.
    tell(Field::Advmss, u64::from(told.mss) - if told.timestamps { 12 } else { 0 });
    tell(Field::TotalRetrans, told.resends);
    tell(Field::BytesAcked, told.acked);
    tell(Field::BytesReceived, told.received);
    tell(Field::NotsentBytes, told.unsent);
    tell(Field::DataSegsOut, told.data_segments);
    tell(Field::ReordSeen, told.reordering_seen.into());
    tell(Field::SndWnd, told.peer_window);
    tell(Field::RcvWnd, told.own_window);
    if let Some(bits) = told.pacing.and_then(BitRate::bits_per_second) {
        tell(Field::PacingRate, bits / 8);
    }
    for (field, span) in [
        (Field::Rtt, told.rto.srtt.or(told.srtt)),
        (Field::Rttvar, told.rto.rttvar),
        (Field::MinRtt, told.min_rtt),
    ] {
        if let Some(span) = span {
            tell(field, micros(span));
        }
    }
    info.set(Field::State, state_number(told.state));
    info.set(Field::CaState, phase_number(told.phase));
    info
}
