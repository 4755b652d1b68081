//! Reads the socket calls that have structures as arguments: `sendmsg`, `recvmsg`, `poll` and the
//! calls of `epoll`. Scripts make these calls. A script is a test in packetdrill's notation.

use super::arguments::Arguments;
use super::call::{Call, EpollOperation, Fd, OptionValue, Wait};
use super::control_text::{ReadControl, control, flags_read};
use super::cursor::Excerpt;
use super::error::Mistake;
use super::readiness::Readiness;
use super::refused::refuse;
use super::structure::{fields, parts};

/// A call, and the value that the call must write into one of its arguments. The value is `None` if
/// the script does not give it.
type ReadCall = Result<(Call, Option<OptionValue>), Mistake>;

/// Reads `sendmsg` or `recvmsg`.
pub(super) fn message(arguments: &Arguments<'_>) -> ReadCall {
    let form = "sendmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 1000}], msg_flags=0}, 0)";
    arguments.count(3..4, form)?;
    let (fd, flags) = (arguments.fd()?, arguments.message_flags(2)?);
    let reads = arguments.name == "recvmsg";
    let (mut pieces, mut read) = (Vec::new(), ReadControl::default());
    for (name, value) in fields(arguments.all[1])? {
        let known = name.text.split('(').next().unwrap_or_default();
        match known {
            "msg_name" => refuse(value)?,
            "msg_flags" if reads => flags_read(value, flags, &mut read)?,
            "msg_flags" if value.text == "0" => {}
            "msg_flags" => return Err(value.wrong("`0`", "write the flags as the last argument")),
            "msg_iov" => pieces = buffers(value)?,
            "msg_control" if reads => control(value, &mut read)?,
            _ => return Err(name.wrong("a field of a message", "remove it")),
        }
    }
    if !reads {
        return Ok((Call::WriteMessage { fd, pieces, flags }, None));
    }
    let bytes = pieces.iter().sum();
    Ok((Call::ReadMessage { fd, bytes, flags }, read.value(arguments.all[1])?))
}

/// The lengths of the buffers `[{..., 1000}, …]`. Their sum must fit into 32 bits.
fn buffers(list: Excerpt<'_>) -> Result<Vec<u32>, Mistake> {
    let mut sum = 0_u32;
    let buffer_length = |buffer: Excerpt<'_>| {
        let wrong = || buffer.wrong("a buffer", "write `{..., 1000}`");
        let length = parts(buffer, ('{', '}'))?;
        let [_, length] = length.as_slice() else { return Err(wrong()) };
        let length: u32 = length.text.parse().map_err(|_| wrong())?;
        sum = sum.checked_add(length).ok_or_else(wrong)?;
        Ok(length)
    };
    parts(list, ('[', ']'))?.into_iter().map(buffer_length).collect()
}

/// Reads `poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0)`.
pub(super) fn poll(arguments: &Arguments<'_>) -> ReadCall {
    let form = "poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0)";
    arguments.count(3..4, form)?;
    let (mut entries, mut ready) = (Vec::new(), Vec::new());
    for entry in parts(arguments.all[0], ('[', ']'))? {
        let (mut fd, mut asked, mut found) = (None, None, None);
        for (name, value) in fields(entry)? {
            match name.text {
                "fd" => fd = Some(socket(value)?),
                "events" => asked = Some(bits(value)?),
                "revents" => found = Some(bits(value)?),
                _ => return Err(name.wrong("`fd`, `events` or `revents`", "remove it")),
            }
        }
        let (Some(fd), Some(asked)) = (fd, asked) else {
            return Err(entry.wrong("a socket and its events", "write `{fd=4, events=POLLIN}`"));
        };
        entries.push((fd, asked));
        ready.push((fd, found.unwrap_or_default()));
    }
    let call = Call::Poll { entries, wait: wait(arguments.all[2])? };
    Ok((call, Some(OptionValue::Ready(ready))))
}

/// Reads `epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4})`.
pub(super) fn epoll_control(arguments: &Arguments<'_>) -> Result<Call, Mistake> {
    arguments.count(4..5, "epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4})")?;
    let operation = arguments.word(1, "operation", &EpollOperation::ALL)?;
    let (_, events) = event(arguments.all[3])?;
    Ok(Call::EpollControl {
        fd: arguments.fd()?,
        operation,
        socket: socket(arguments.all[2])?,
        events,
    })
}

/// Reads `epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0)`.
pub(super) fn epoll_wait(arguments: &Arguments<'_>) -> ReadCall {
    arguments.count(4..5, "epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0)")?;
    let list = arguments.all[1];
    let listed = if list.text.starts_with('[') { parts(list, ('[', ']'))? } else { vec![list] };
    let mut ready = Vec::new();
    for one in listed {
        if let (Some(fd), events) = event(one)?
            && !events.is_empty()
        {
            ready.push((fd, events));
        }
    }
    let call = Call::EpollWait {
        fd: arguments.fd()?,
        most: arguments.number(2)?,
        wait: wait(arguments.all[3])?,
    };
    Ok((call, Some(OptionValue::Ready(ready))))
}

/// Reads `{events=EPOLLIN, fd=4}`.
fn event(structure: Excerpt<'_>) -> Result<(Option<Fd>, Readiness), Mistake> {
    let (mut fd, mut events) = (None, Readiness::default());
    for (name, value) in fields(structure)? {
        match name.text {
            "fd" => fd = Some(socket(value)?),
            "events" => events = bits(value)?,
            "ptr" | "u32" | "u64" => {}
            _ => return Err(name.wrong("`events` or `fd`", "remove it")),
        }
    }
    Ok((fd, events))
}

fn socket(argument: Excerpt<'_>) -> Result<Fd, Mistake> {
    let wrong = |_| argument.wrong("the number of a socket", "write a number, as in `4`");
    argument.text.parse().map_err(wrong)
}

fn bits(argument: Excerpt<'_>) -> Result<Readiness, Mistake> {
    let fix = "write names with `|` between them, as in `POLLIN|POLLOUT`, or `0`";
    Readiness::read(argument.text).ok_or_else(|| argument.wrong("events", fix))
}

/// Reads milliseconds; -1 stands for a wait without a limit.
fn wait(argument: Excerpt<'_>) -> Result<Wait, Mistake> {
    if argument.text == "-1" {
        return Ok(Wait::Forever);
    }
    let wrong = |_| argument.wrong("milliseconds", "write a whole number, or -1 for no limit");
    argument.text.parse().map(Wait::Millis).map_err(wrong)
}
