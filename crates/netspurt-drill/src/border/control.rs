//! Encodes the control messages of `recvmsg` as octets. A *notice* is an entry of a socket's error
//! queue. A control message has the number of unread octets, or a part of a notice.

use std::ffi::c_int;

use libc::msghdr;
use netspurt_scenario::script::{NoticeKind, OptionValue, SocketNotice, StampEvent};

use super::guard::BorderResult;
use super::memory;
use crate::machine::DrillMachine;

/// The number of octets in the header of a control message. The header contains the message's
/// length, level and type.
const HEAD_BYTES: usize = 16;
/// The offset of each control message is a multiple of this number of octets.
const ALIGNMENT: usize = 8;
/// The type of a control message with timestamps. `libc` does not define it. Its value is the
/// number of the socket option `SO_TIMESTAMPING`.
const SCM_TIMESTAMPING: c_int = libc::SO_TIMESTAMPING;
/// The number of octets in a socket address of IPv4, and in a socket address of IPv6.
const ADDRESS_BYTES: (usize, usize) = (16, 28);

/// What [`put_control`] has written.
pub(super) struct ControlWritten {
    /// The flags of the message.
    pub(super) flags: c_int,
    /// The number of octets of control messages that were written.
    pub(super) control_bytes: usize,
}

/// Writes the value `out`, which a call has returned, as control messages to the buffer that the
/// message header `head` names. If the buffer has no room for them, writes nothing and sets
/// `MSG_CTRUNC`.
pub(super) fn put_control(
    machine: &DrillMachine,
    head: &msghdr,
    out: Option<&OptionValue>,
) -> BorderResult<ControlWritten> {
    let octets = match out {
        Some(OptionValue::Unread(left)) => {
            let left = c_int::try_from(*left).unwrap_or(c_int::MAX);
            one(libc::IPPROTO_TCP, libc::TCP_CM_INQ, &left.to_ne_bytes())
        }
        Some(OptionValue::Notice(notice)) => notice_octets(machine, notice),
        _ => Vec::new(),
    };
    let mut flags = match out {
        Some(OptionValue::Notice(SocketNotice { is_cut, .. })) => {
            libc::MSG_ERRQUEUE | if *is_cut { libc::MSG_TRUNC } else { 0 }
        }
        _ => 0,
    };
    let has_room = !head.msg_control.is_null() && octets.len() <= head.msg_controllen;
    if !has_room || octets.is_empty() {
        flags |= if octets.is_empty() { 0 } else { libc::MSG_CTRUNC };
        return Ok(ControlWritten { flags, control_bytes: 0 });
    }
    // SAFETY: the buffer for control messages has room for these octets.
    let control_bytes = unsafe { memory::write(head.msg_control, head.msg_controllen, &octets) }?;
    Ok(ControlWritten { flags, control_bytes })
}

/// Encodes one control message, with its padding.
fn one(level: c_int, kind: c_int, data: &[u8]) -> Vec<u8> {
    let mut octets = (HEAD_BYTES + data.len()).to_ne_bytes().to_vec();
    octets.extend([level, kind].map(c_int::to_ne_bytes).concat());
    octets.extend(data);
    octets.resize(octets.len().next_multiple_of(ALIGNMENT), 0);
    octets
}

/// Encodes a notice as control messages: first its timestamp if the notice has one, then its error
/// report.
fn notice_octets(machine: &DrillMachine, notice: &SocketNotice) -> Vec<u8> {
    let (at_us, is_ipv6) = machine.with(|world| {
        let at = notice.at.map(|at| world.clock().host_us(at));
        (at, world.ends().is_mapped())
    });
    let mut octets = Vec::new();
    if let Some(at) = at_us {
        let mut stamps = [at / 1_000_000, at % 1_000_000 * 1000].map(i64::to_ne_bytes).concat();
        // The message has two more timestamps. They stay 0, because they would come from hardware.
        stamps.resize(3 * stamps.len(), 0);
        octets = one(libc::SOL_SOCKET, SCM_TIMESTAMPING, &stamps);
    }
    let mut error = error_octets(&notice.kind);
    let (level, kind, address) = match is_ipv6 {
        true => (libc::IPPROTO_IPV6, libc::IPV6_RECVERR, ADDRESS_BYTES.1),
        false => (libc::IPPROTO_IP, libc::IP_RECVERR, ADDRESS_BYTES.0),
    };
    error.resize(error.len() + address, 0);
    octets.extend(one(level, kind, &error));
    octets
}

/// Returns the octets of `struct sock_extended_err` for a notice.
fn error_octets(kind: &NoticeKind) -> Vec<u8> {
    let (errno, origin, code, info, data) = match *kind {
        NoticeKind::Completed { first, last, copied } => {
            let code = if copied { NoticeKind::CODE_COPIED } else { 0 };
            (0, NoticeKind::ORIGIN_ZERO_COPY, code, first, last)
        }
        NoticeKind::Stamped { event, key } => {
            let place = StampEvent::ALL.iter().position(|(_, known)| *known == event);
            let number =
                place.and_then(|place| u32::try_from(place).ok()).expect("`ALL` has every event");
            (libc::ENOMSG, NoticeKind::ORIGIN_STAMPING, 0, number, key)
        }
    };
    let mut octets = errno.to_ne_bytes().to_vec();
    octets.extend([origin, 0, code, 0]);
    octets.extend([info, data].map(u32::to_ne_bytes).concat());
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_encoded_as_linuxs_sock_extended_err() {
        let kind = NoticeKind::Stamped { event: StampEvent::Acknowledged, key: 7 };
        let mut expected = libc::ENOMSG.to_ne_bytes().to_vec();
        expected.extend([4, 0, 0, 0]);
        expected.extend([2_u32, 7].map(u32::to_ne_bytes).concat());
        assert_eq!(error_octets(&kind), expected);
        let completed = error_octets(&NoticeKind::Completed { first: 1, last: 3, copied: true });
        assert_eq!((completed[4], completed[6], completed.len()), (5, 1, 16));
    }

    #[test]
    fn a_control_message_is_padded_to_a_multiple_of_eight_octets() {
        let message = one(libc::IPPROTO_TCP, libc::TCP_CM_INQ, &7_i32.to_ne_bytes());
        assert_eq!((message.len(), message[0], message[16]), (24, 20, 7));
    }
}
