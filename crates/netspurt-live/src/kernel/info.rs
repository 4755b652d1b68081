//! The kernel's information on a connection (`TCP_INFO`).

use std::io;
use std::os::fd::BorrowedFd;

use netspurt::event::{CwndState, RtoState};
use netspurt::units::Duration;

use crate::sys;

/// The parts of `struct tcp_info` that netspurt uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The congestion state: 0 open, 1 disorder, 2 cwnd reduced (CWR), 3 recovery, 4 loss.
    pub state: u8,
    /// How many times the retransmission timeout was doubled.
    pub backoff: u8,
    /// Whether both sides agreed on SACK.
    pub sack: bool,
    /// Whether the kernel finds losses by time (RACK). `TCP_INFO` does not report this, so the
    /// caller sets the field.
    pub rack: bool,
    /// The RTO, including the backoff.
    pub rto: Duration,
    /// The number of octets of payload in a full segment.
    pub smss: u32,
    /// The number of segments that are sent and not acknowledged.
    pub unacked: u32,
    /// The smoothed round trip.
    pub srtt: Duration,
    /// The smoothed variation of the round trip.
    pub rttvar: Duration,
    /// The slow-start threshold in segments.
    pub ssthresh: u32,
    /// The congestion window in segments.
    pub cwnd: u32,
    /// The number of timeouts so far. Kernels before Linux 6.7 report only the timeouts since the
    /// last ACK of new data.
    pub timeouts: u32,
}

impl TcpInfo {
    /// The state while the sender repairs losses that duplicate ACKs, SACK blocks or RACK showed.
    pub const RECOVERY: u8 = 3;
    /// The state after a timeout.
    pub const LOSS: u8 = 4;

    /// Whether the sender repairs losses after a timeout.
    pub const fn in_loss(&self) -> bool {
        self.state == Self::LOSS
    }

    /// Whether the sender repairs losses that it found without a timeout.
    pub const fn in_recovery(&self) -> bool {
        self.state == Self::RECOVERY
    }

    /// The congestion state, in the simulator's form.
    pub fn cwnd_state(&self) -> CwndState {
        let smss = u64::from(self.smss);
        CwndState {
            cwnd_bytes: u64::from(self.cwnd) * smss,
            // Linux reports 2^31 - 1 segments for a threshold that was never set.
            ssthresh_bytes: u64::from(self.ssthresh) * smss,
            flight_bytes: u64::from(self.unacked) * smss,
            dupacks: 0,
            in_recovery: self.in_recovery() || self.in_loss(),
        }
    }

    /// The retransmission timer, in the simulator's form. `fired` says whether the timer has just
    /// fired.
    pub fn rto_state(&self, fired: bool) -> RtoState {
        RtoState {
            srtt: (!self.srtt.is_zero()).then_some(self.srtt),
            rttvar: (!self.srtt.is_zero()).then_some(self.rttvar),
            backoff: 1 << self.backoff.min(31),
            rto: self.rto,
            fired,
        }
    }

    /// Asks the kernel about the connection of a socket.
    ///
    /// # Errors
    /// When the kernel refuses, or its answer is too short. The answers of all kernels since
    /// 2.6 are long enough.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut octets = [0; 256];
        let length = sys::read_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut octets)?;
        Self::read(&octets[..length])
            .ok_or_else(|| io::Error::other("TCP_INFO is shorter than in every kernel since 2.6"))
    }

    /// Whether the connection of a socket has ended: it was never open, it failed, or both
    /// directions are closed and everything is acknowledged. TIME-WAIT counts as ended, because the
    /// kernel then waits without the socket.
    pub fn is_closed(socket: BorrowedFd<'_>) -> bool {
        const TCP_CLOSE: u8 = 7;
        let mut octets = [0; 256];
        let read = sys::read_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut octets);
        read.is_ok_and(|length| length > 0) && octets[0] == TCP_CLOSE
    }

    /// Reads a `struct tcp_info`. New kernels only add fields at its end.
    pub(crate) fn read(octets: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            octets.get(at..).and_then(<[u8]>::first_chunk).map(|word| u32::from_ne_bytes(*word))
        };
        let micros = |at| word(at).map(|us| Duration::from_micros(us.into()));
        const SACK: u8 = 2;
        // Linux 6.7 and later report all timeouts. Older kernels report only the timeouts since the
        // last ACK of new data.
        let total = octets.get(240..242).map(|half| u16::from_ne_bytes([half[0], half[1]]));
        Some(Self {
            state: *octets.get(1)?,
            backoff: *octets.get(4)?,
            sack: octets.get(5)? & SACK != 0,
            rack: false,
            rto: micros(8)?,
            smss: word(16)?,
            unacked: word(24)?,
            srtt: micros(68)?,
            rttvar: micros(72)?,
            ssthresh: word(76)?,
            cwnd: word(80)?,
            timeouts: total.map_or(u32::from(*octets.get(2)?), u32::from),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_at_the_kernels_offsets() {
        let mut octets = [0; 248];
        octets[1] = 3;
        octets[5] = 2;
        octets[8..12].copy_from_slice(&204_000_u32.to_ne_bytes());
        octets[80..84].copy_from_slice(&10_u32.to_ne_bytes());
        octets[240..242].copy_from_slice(&7_u16.to_ne_bytes());
        let info = TcpInfo::read(&octets).unwrap();
        assert!(info.in_recovery() && info.sack);
        assert_eq!((info.rto, info.cwnd, info.timeouts), (Duration::from_millis(204), 10, 7));
        assert_eq!(TcpInfo::read(&octets[..80]), None);
    }

    /// The fields have the offsets of `struct tcp_info` in `linux/tcp.h`.
    #[test]
    fn every_field_has_a_place_of_its_own() {
        let words = [(8, 1000), (16, 2), (24, 3), (68, 4000), (72, 5000), (76, 6), (80, 7)];
        let mut octets = [0; 104];
        (octets[1], octets[2], octets[4]) = (4, 9, 8);
        for (at, value) in words {
            octets[at..at + 4].copy_from_slice(&u32::to_ne_bytes(value));
        }
        let expected = TcpInfo {
            state: 4,
            backoff: 8,
            sack: false,
            rack: false,
            rto: Duration::from_millis(1),
            smss: 2,
            unacked: 3,
            srtt: Duration::from_millis(4),
            rttvar: Duration::from_millis(5),
            ssthresh: 6,
            cwnd: 7,
            timeouts: 9,
        };
        assert_eq!(TcpInfo::read(&octets), Some(expected), "of a kernel before 6.7");
        assert!(expected.in_loss() && !expected.in_recovery());
        for options in [0, 1, 4, 0xfd] {
            octets[5] = options;
            assert!(!TcpInfo::read(&octets).unwrap().sack, "{options}: the bit of SACK is not set");
        }
    }

    #[test]
    fn truncated_information_is_not_read() {
        let octets = [0; 300];
        for length in 0..84 {
            assert_eq!(TcpInfo::read(&octets[..length]), None, "{length} octets");
        }
        assert!((84..300).all(|length| TcpInfo::read(&octets[..length]).is_some()));
    }
}
