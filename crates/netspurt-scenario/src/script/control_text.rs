//! Reads what `recvmsg` must write into a message: control messages and flags. A control message
//! may have a notice, which is an entry of the socket's error queue.

use netspurt::units::Time;

use super::call::OptionValue;
use super::cursor::Excerpt;
use super::error::Mistake;
use super::message_flags::MessageFlags;
use super::names::named;
use super::notice::{NoticeKind, SocketNotice, StampEvent};
use super::refused::refuse;
use super::structure::{fields, parts};

/// The error number in notices of timestamps.
const ENOMSG: i64 = 42;

/// Linux's number of `SO_EE_ORIGIN_TIMESTAMPING`, in the type of the numbers in a script.
const STAMPING: i64 = NoticeKind::ORIGIN_STAMPING as i64;
/// Linux's number of `SO_EE_ORIGIN_ZEROCOPY`, in the type of the numbers in a script.
const ZERO_COPY: i64 = NoticeKind::ORIGIN_ZERO_COPY as i64;
/// Linux's number of `SO_EE_CODE_ZEROCOPY_COPIED`, in the type of the numbers in a script.
const COPIED: i64 = NoticeKind::CODE_COPIED as i64;

/// The numbers of a notice that have names.
const NAMED: [(&str, i64); 4] = [
    ("ENOMSG", ENOMSG),
    ("SO_EE_ORIGIN_TIMESTAMPING", STAMPING),
    ("SO_EE_ORIGIN_ZEROCOPY", ZERO_COPY),
    ("SO_EE_CODE_ZEROCOPY_COPIED", COPIED),
];

/// The parts of the message that `recvmsg` must write.
#[derive(Debug, Default)]
pub(super) struct ReadControl {
    /// Whether the message has the flag `MSG_TRUNC`.
    pub(super) is_cut: bool,
    /// Whether the call reads the error queue but the message must have no flags. This means that
    /// the queue is empty.
    pub(super) is_plain: bool,
    unread: Option<i64>,
    at: Option<Time>,
    kind: Option<NoticeKind>,
}

impl ReadControl {
    /// Returns the value that the call must write.
    ///
    /// # Errors
    /// When the message has parts that cannot occur together.
    pub(super) fn value(self, message: Excerpt<'_>) -> Result<Option<OptionValue>, Mistake> {
        match (self.kind, self.unread) {
            (Some(kind), None) if !self.is_plain => {
                let notice = SocketNotice { kind, at: self.at, is_cut: self.is_cut };
                Ok(Some(OptionValue::Notice(notice)))
            }
            (None, unread) if self.at.is_none() => Ok(unread.map(OptionValue::Unread)),
            _ => Err(message.wrong(
                "`TCP_CM_INQ` alone, or a notice of the error queue",
                "write `IP_RECVERR`, maybe with `SCM_TIMESTAMPING` before it",
            )),
        }
    }
}

/// Reads the flags that the message must have. The message has no flags if the call does not read
/// the error queue, or if the queue is empty.
pub(super) fn flags_read(
    value: Excerpt<'_>,
    call: MessageFlags,
    read: &mut ReadControl,
) -> Result<(), Mistake> {
    let wanted = if call.error_queue { "MSG_ERRQUEUE" } else { "0" };
    let words: Vec<&str> = value.text.split('|').map(str::trim).collect();
    match (words.join("|").as_str(), call.error_queue) {
        ("0", queue) => read.is_plain = queue,
        ("MSG_ERRQUEUE", true) => {}
        ("MSG_ERRQUEUE|MSG_TRUNC", true) => read.is_cut = true,
        _ => {
            return Err(
                value.wrong("the flags of a message that was read", &format!("write `{wanted}`"))
            );
        }
    }
    Ok(())
}

/// Reads the control messages.
pub(super) fn control(list: Excerpt<'_>, read: &mut ReadControl) -> Result<(), Mistake> {
    for one in parts(list, ('[', ']'))? {
        let (mut level, mut kind, mut data) = ("", "", None);
        for (name, value) in fields(one)? {
            match name.text {
                "cmsg_level" => level = known_level(value)?,
                "cmsg_type" => kind = value.text,
                "cmsg_data" => data = Some(value),
                _ => return Err(name.wrong("a field of a control message", "remove it")),
            }
        }
        let Some(data) = data else {
            return Err(one.wrong("`cmsg_data`", "add `cmsg_data=VALUE`"));
        };
        match (level, kind) {
            ("SOL_TCP", "TCP_CM_INQ") => read.unread = Some(number(data)?),
            ("SOL_SOCKET", "SCM_TIMESTAMPING") => read.at = Some(stamp(data)?),
            ("SOL_IP", "IP_RECVERR" | "CMSG_TYPE_RECVERR") => read.kind = Some(notice(data)?),
            _ => {
                let known = "`TCP_CM_INQ` of `SOL_TCP`, `SCM_TIMESTAMPING` of `SOL_SOCKET` or \
                             `IP_RECVERR` of `SOL_IP`";
                return Err(one.wrong(known, "other control messages are not supported"));
            }
        }
    }
    Ok(())
}

/// The level of a control message. packetdrill's users write `CMSG_LEVEL_IP` for the level of IP,
/// and define this name for each version of IP.
fn known_level(value: Excerpt<'_>) -> Result<&'static str, Mistake> {
    const LEVELS: [(&str, &str); 5] = [
        ("SOL_TCP", "SOL_TCP"),
        ("IPPROTO_TCP", "SOL_TCP"),
        ("SOL_SOCKET", "SOL_SOCKET"),
        ("SOL_IP", "SOL_IP"),
        ("CMSG_LEVEL_IP", "SOL_IP"),
    ];
    refuse(value)?;
    named(&LEVELS, value.text).ok_or_else(|| {
        let known = LEVELS.iter().map(|(name, _)| *name);
        Mistake::unknown(value.span(), "level of control messages", value.text, known)
    })
}

/// Reads `{scm_sec=0, scm_nsec=20000000}`.
fn stamp(data: Excerpt<'_>) -> Result<Time, Mistake> {
    let (mut seconds, mut nanos) = (0, 0);
    for (name, value) in fields(data)? {
        let part =
            || u64::try_from(number(value)?).map_err(|_| value.wrong("a time", "write 0 or more"));
        match name.text {
            "scm_sec" => seconds = part()?,
            "scm_nsec" => nanos = part()?,
            _ => return Err(name.wrong("`scm_sec` or `scm_nsec`", "remove it")),
        }
    }
    let sum = seconds.checked_mul(1_000_000_000).and_then(|seconds| seconds.checked_add(nanos));
    sum.map(Time::from_nanos).ok_or_else(|| data.wrong("a time", "write a smaller one"))
}

/// Reads a notice such as
/// `{ee_errno=0, ee_origin=SO_EE_ORIGIN_ZEROCOPY, ee_type=0, ee_code=0, ee_info=0, ee_data=1}`.
fn notice(data: Excerpt<'_>) -> Result<NoticeKind, Mistake> {
    const NAMES: [&str; 6] = ["ee_errno", "ee_origin", "ee_type", "ee_code", "ee_info", "ee_data"];
    let mut values = [0; NAMES.len()];
    for (name, value) in fields(data)? {
        let place = NAMES.iter().position(|known| *known == name.text);
        let place = place
            .ok_or_else(|| Mistake::unknown(name.span(), "field of a notice", name.text, NAMES))?;
        values[place] = number(value)?;
    }
    let [errno, origin, kind, code, info, key] = values;
    let count = |number: i64| u32::try_from(number).ok();
    let read = match (errno, origin, kind, code) {
        (0, ZERO_COPY, 0, 0 | COPIED) => {
            let copied = code == COPIED;
            let range = count(info).zip(count(key));
            range.map(|(first, last)| NoticeKind::Completed { first, last, copied })
        }
        (ENOMSG, STAMPING, 0, 0) => {
            let place = usize::try_from(info).ok();
            let event = place.and_then(|place| StampEvent::ALL.get(place));
            let found = event.zip(count(key));
            found.map(|(&(_, event), key)| NoticeKind::Stamped { event, key })
        }
        _ => None,
    };
    read.ok_or_else(|| {
        let fix = "for completed calls write `ee_errno=0` and `SO_EE_ORIGIN_ZEROCOPY`; for a \
                   timestamp write `ee_errno=ENOMSG` and `SO_EE_ORIGIN_TIMESTAMPING`";
        data.wrong("a notice of completed calls or of a timestamp", fix)
    })
}

/// Reads a whole number or the name of a number.
fn number(value: Excerpt<'_>) -> Result<i64, Mistake> {
    let event = || StampEvent::ALL.iter().position(|(name, _)| *name == value.text);
    let known =
        named(&NAMED, value.text).or_else(|| event().and_then(|place| i64::try_from(place).ok()));
    known.or_else(|| value.text.parse().ok()).ok_or_else(|| {
        value.wrong(
            "a whole number",
            "write a whole number or a name, as in `SO_EE_ORIGIN_ZEROCOPY`",
        )
    })
}
