//! The causes of retransmissions: why a sender sent a segment again.

/// The cause of a retransmission.
///
/// The tables of simulated runs, of live runs and of captures use the same causes, so that every
/// table and plot can compare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// Duplicate ACKs, usually three (RFC 5681 §3.2), a partial ACK after them (RFC 6582), or the
    /// SACK reports that begin a recovery (RFC 6675).
    Fast,
    /// A hole reported by SACK during recovery (RFC 6675).
    SackRecovery,
    /// RACK declared the segment lost (RFC 8985).
    Rack,
    /// The retransmission timer fired (RFC 6298 §5.4).
    Rto,
    /// Tail loss probe (RFC 8985 §7).
    Tlp,
    /// Super Fast Retransmit (Tarr and Ghita 2005, §5).
    Sfr,
    /// Retransmission, in order, of outstanding data after a timeout or after Tahoe's fast
    /// retransmit.
    GoBackN,
    /// The retransmitted segment is a SYN or SYN-ACK.
    Syn,
    /// The timer of a shim fired. A shim is a retransmission timer at a host's edge, outside its
    /// TCP.
    Shim,
    /// ICMP reported that a router dropped the segment because its packet was too big (RFC 1191
    /// §6.4). This happens only in captures.
    TooBig,
    /// The cause cannot be determined. This happens with some retransmissions in captures.
    Unknown,
}

impl Cause {
    /// Every cause, in the order of their codes.
    pub const ALL: [Cause; 11] = [
        Cause::Fast,
        Cause::SackRecovery,
        Cause::Rack,
        Cause::Rto,
        Cause::Tlp,
        Cause::Sfr,
        Cause::GoBackN,
        Cause::Syn,
        Cause::Shim,
        Cause::TooBig,
        Cause::Unknown,
    ];

    /// The causes of retransmissions in runs, in the order of their codes. The other causes are
    /// only in captures.
    pub const IN_RUNS: &[Cause] = Cause::ALL.split_at(Cause::TooBig as usize).0;

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Fast => "fast",
            Cause::SackRecovery => "sack-recovery",
            Cause::Rack => "rack",
            Cause::Rto => "rto",
            Cause::Tlp => "tlp",
            Cause::Sfr => "sfr",
            Cause::GoBackN => "go-back-n",
            Cause::Syn => "syn",
            Cause::Shim => "shim",
            Cause::TooBig => "too-big",
            Cause::Unknown => "unknown",
        }
    }
}

/// An `Option<Cause>` in a byte that may have any value. The compiler therefore copies a segment as
/// four words of 16 bytes. With an enum, which has invalid values, the compiler would copy small
/// pieces, and the simulator would take twice as long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseCode(u8);

impl CauseCode {
    /// The cause that a code in a table stands for. The result is `None` if the code stands for no
    /// cause.
    pub fn of(code: u8) -> Option<Cause> {
        Self(code).get()
    }

    /// The cause. The result is `None` if the code stands for no cause.
    pub fn get(self) -> Option<Cause> {
        Cause::ALL.get(usize::from(self.0).wrapping_sub(1)).copied()
    }

    /// The code: 0 for no cause, otherwise the cause's index in [`Cause::ALL`] plus 1.
    pub const fn code(self) -> u8 {
        self.0
    }
}

impl From<Option<Cause>> for CauseCode {
    #[inline]
    fn from(cause: Option<Cause>) -> Self {
        Self(cause.map_or(0, |cause| cause as u8 + 1))
    }
}
