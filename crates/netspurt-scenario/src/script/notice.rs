//! The notices of a socket's error queue, as `recvmsg` with `MSG_ERRQUEUE` returns them. A notice
//! reports that calls are completed, or what happened to a sent octet.

use core::fmt;

use netspurt::units::Time;

use super::names::name_in;

/// A notice of a socket's error queue: a report, and what comes with the report.
///
/// ```
/// use netspurt_scenario::script::{SocketNotice, NoticeKind};
/// let kind = NoticeKind::Completed { first: 2, last: 4, copied: true };
/// let notice = SocketNotice { kind, at: None, is_cut: false };
/// assert!(notice.to_string().contains("ee_info=2, ee_data=4"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketNotice {
    /// The report: the control message `IP_RECVERR`.
    pub kind: NoticeKind,
    /// The timestamp in nanoseconds since the script's beginning: the control message
    /// `SCM_TIMESTAMPING`. In the notice that a script expects, 0 stands for any time.
    pub at: Option<Time>,
    /// `MSG_TRUNC`: the call had no room for the packet that comes with a timestamp.
    pub is_cut: bool,
}

/// The report of a notice (`struct sock_extended_err`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// `SO_EE_ORIGIN_ZEROCOPY`: the buffers of these calls may be used again.
    Completed {
        /// The first call that this notice completes. Calls with `MSG_ZEROCOPY` are numbered from
        /// 0.
        first: u32,
        /// The last call that this notice completes.
        last: u32,
        /// `SO_EE_CODE_ZEROCOPY_COPIED`: the host copied some of the octets.
        copied: bool,
    },
    /// `SO_EE_ORIGIN_TIMESTAMPING`: something happened to the last octet of a write.
    Stamped {
        /// What happened.
        event: StampEvent,
        /// The octet's number, or 0 without `SOF_TIMESTAMPING_OPT_ID`.
        key: u32,
    },
}

/// What happened to the octet at the instant of its timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampEvent {
    /// `SCM_TSTAMP_SND`: the host gave the octet's packet to the network device.
    Sent,
    /// `SCM_TSTAMP_SCHED`: the octet's packet entered the host's queue.
    Scheduled,
    /// `SCM_TSTAMP_ACK`: the peer acknowledged the octet.
    Acknowledged,
}

impl NoticeKind {
    /// Linux's number of `SO_EE_ORIGIN_TIMESTAMPING`.
    pub const ORIGIN_STAMPING: u8 = 4;
    /// Linux's number of `SO_EE_ORIGIN_ZEROCOPY`.
    pub const ORIGIN_ZERO_COPY: u8 = 5;
    /// Linux's number of `SO_EE_CODE_ZEROCOPY_COPIED`.
    pub const CODE_COPIED: u8 = 1;
}

impl StampEvent {
    /// Linux's names, in the order of their numbers from 0 on.
    pub const ALL: [(&'static str, StampEvent); 3] = [
        ("SCM_TSTAMP_SND", StampEvent::Sent),
        ("SCM_TSTAMP_SCHED", StampEvent::Scheduled),
        ("SCM_TSTAMP_ACK", StampEvent::Acknowledged),
    ];
}

impl SocketNotice {
    /// Whether `actual` is the notice that the script expects. The time of `actual` may differ by
    /// at most `tolerance_ns`.
    pub(super) fn admits(&self, actual: &SocketNotice, tolerance_ns: u64) -> bool {
        let timed = match (self.at, actual.at) {
            (Some(Time::ZERO), Some(_)) => true,
            (Some(wanted), Some(at)) => wanted.as_nanos().abs_diff(at.as_nanos()) <= tolerance_ns,
            (wanted, at) => wanted == at,
        };
        timed && self.kind == actual.kind && self.is_cut == actual.is_cut
    }
}

impl fmt::Display for NoticeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoticeKind::Completed { first, last, copied } => {
                let code = if *copied { "SO_EE_CODE_ZEROCOPY_COPIED" } else { "0" };
                write!(f, "{{ee_errno=0, ee_origin=SO_EE_ORIGIN_ZEROCOPY, ee_type=0, ")?;
                write!(f, "ee_code={code}, ee_info={first}, ee_data={last}}}")
            }
            NoticeKind::Stamped { event, key } => {
                let event = name_in(&StampEvent::ALL, *event);
                write!(f, "{{ee_errno=ENOMSG, ee_origin=SO_EE_ORIGIN_TIMESTAMPING, ee_type=0, ")?;
                write!(f, "ee_code=0, ee_info={event}, ee_data={key}}}")
            }
        }
    }
}

impl fmt::Display for SocketNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = if self.is_cut { "|MSG_TRUNC" } else { "" };
        write!(f, "MSG_ERRQUEUE{cut} [")?;
        if let Some(at) = self.at {
            let (seconds, rest) = (at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000);
            write!(f, "{{scm_sec={seconds}, scm_nsec={rest}}}, ")?;
        }
        write!(f, "{}]", self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_of_zero_in_a_script_matches_every_existing_timestamp() {
        let kind = NoticeKind::Stamped { event: StampEvent::Sent, key: 9 };
        let at =
            |at: Option<u64>| SocketNotice { kind, at: at.map(Time::from_nanos), is_cut: false };
        assert!(at(Some(0)).admits(&at(Some(77)), 0));
        assert!(!at(Some(0)).admits(&at(None), 0) && !at(None).admits(&at(Some(0)), 0));
        assert!(at(Some(70)).admits(&at(Some(77)), 7) && !at(Some(70)).admits(&at(Some(78)), 7));
        assert!(!at(None).admits(&SocketNotice { is_cut: true, ..at(None) }, 0));
    }
}
