//! Reads the socket calls of scripts, as in `write(4, ..., 1000) = 1000`. A script is a test in
//! packetdrill's notation.

use super::arguments::{Arguments, arguments};
use super::call::{Call, ERRNOS, Expected, Fd, IoctlRequest, OptionValue, Shutdown, status};
use super::cursor::{Blank, Cursor, Excerpt};
use super::dialect::ScriptDialect;
use super::error::Mistake;
use super::error_numbers::ERROR_NUMBERS;
use super::message_text::{epoll_control, epoll_wait, message, poll};
use super::names::named;
use super::stamping::Stamping;

const CALLS: [&str; 25] = [
    "socket",
    "bind",
    "listen",
    "accept",
    "connect",
    "write",
    "send",
    "sendto",
    "sendmsg",
    "read",
    "recv",
    "recvfrom",
    "recvmsg",
    "close",
    "shutdown",
    "fcntl",
    "setsockopt",
    "getsockopt",
    "ioctl",
    "open",
    "sendfile",
    "poll",
    "epoll_create",
    "epoll_ctl",
    "epoll_wait",
];

/// Calls that are not supported, and what to write instead.
const UNSUPPORTED: [(&str, &str); 5] = [
    ("select", "use `poll`"),
    ("writev", "use `sendmsg`"),
    ("readv", "use `recvmsg`"),
    ("splice", "use `write`"),
    ("pipe", "remove it"),
];

/// Reads a call and, after `=`, its expected result.
pub(super) fn call(
    cursor: &mut Cursor<'_>,
    dialect: ScriptDialect,
) -> Result<(Call, Expected), Mistake> {
    let (name, span) = cursor.word();
    if let Some((_, fix)) = UNSUPPORTED.iter().find(|(known, _)| *known == name) {
        return Err(Mistake::new(span, format!("`{name}` is not supported")).fix(*fix));
    }
    if !CALLS.contains(&name) {
        return Err(Mistake::unknown(span, "call", name, CALLS));
    }
    cursor.expect("(", "put the arguments in parentheses")?;
    let arguments = arguments(cursor)?;
    let call_arguments = Arguments { name, all: &arguments, span: span.start..cursor.at() };
    let (mut call, out) = build(&call_arguments)?;
    let mut expected = result(cursor, dialect)?;
    expected.out = out;
    if dialect == ScriptDialect::Packetdrill {
        name_socket(&mut call, &expected);
    }
    Ok((call, expected))
}

/// Gives the new socket, epoll or file the number that the script expects as the call's result.
fn name_socket(call: &mut Call, expected: &Expected) {
    let wanted = expected.value.and_then(|value| Fd::try_from(value).ok()).filter(|fd| *fd >= 0);
    if let Call::Socket { number, .. }
    | Call::Accept { number, .. }
    | Call::EpollCreate { number }
    | Call::Open { number, .. } = call
    {
        *number = wanted;
    }
}

/// Makes the call. If the script gives the value that the call must write into an argument, also
/// returns this value.
fn build(arguments: &Arguments<'_>) -> Result<(Call, Option<OptionValue>), Mistake> {
    let call = match arguments.name {
        "socket" => socket(arguments)?,
        "bind" | "accept" | "connect" => {
            arguments.count(3..4, &format!("{}(3, ..., ...)", arguments.name))?;
            arguments.ellipsis(1..3)?;
            let fd = arguments.fd()?;
            match arguments.name {
                "bind" => Call::Bind { fd },
                "accept" => Call::Accept { fd, number: None },
                _ => Call::Connect { fd },
            }
        }
        "listen" => {
            arguments.count(2..3, "listen(3, 1)")?;
            Call::Listen { fd: arguments.fd()?, backlog: arguments.number(1)? }
        }
        "write" | "send" | "sendto" => transfer(arguments, true)?,
        "read" | "recv" | "recvfrom" => transfer(arguments, false)?,
        "close" => {
            arguments.count(1..2, "close(3)")?;
            Call::Close { fd: arguments.fd()? }
        }
        "shutdown" => {
            arguments.count(2..3, "shutdown(3, SHUT_WR)")?;
            let how = arguments.word(1, "direction to shut down", &Shutdown::ALL)?;
            Call::Shutdown { fd: arguments.fd()?, how }
        }
        "fcntl" => fcntl(arguments)?,
        "setsockopt" => {
            arguments.count(5..6, "setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4)")?;
            let option = arguments.option()?;
            Call::SetOption { fd: arguments.fd()?, option, value: value(arguments.all[3])? }
        }
        "getsockopt" => {
            arguments.count(5..6, "getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4])")?;
            let call = Call::GetOption { fd: arguments.fd()?, option: arguments.option()? };
            return Ok((call, Some(value(arguments.all[3])?)));
        }
        "open" => open(arguments)?,
        "sendfile" => send_file(arguments)?,
        "sendmsg" | "recvmsg" => return message(arguments),
        "poll" => return poll(arguments),
        "epoll_create" => {
            arguments.count(1..2, "epoll_create(1)")?;
            Call::EpollCreate { number: None }
        }
        "epoll_ctl" => epoll_control(arguments)?,
        "epoll_wait" => return epoll_wait(arguments),
        _ => {
            arguments.count(3..4, "ioctl(4, SIOCINQ, [1000])")?;
            let request = arguments.word(1, "request", &IoctlRequest::ALL)?;
            let call = Call::Ioctl { fd: arguments.fd()?, request };
            return Ok((call, Some(value(arguments.all[2])?)));
        }
    };
    Ok((call, None))
}

fn socket(arguments: &Arguments<'_>) -> Result<Call, Mistake> {
    arguments.count(3..4, "socket(..., SOCK_STREAM, IPPROTO_TCP)")?;
    arguments.ellipsis(0..1)?;
    let [_, kind, protocol] = arguments.all else { unreachable!("the call has three arguments") };
    let mut words = kind.text.split('|').map(str::trim);
    let nonblocking = match (words.next(), words.next(), words.next()) {
        (Some("SOCK_STREAM"), None, None) => false,
        (Some("SOCK_STREAM"), Some("SOCK_NONBLOCK"), None) => true,
        _ => return Err(kind.wrong("`SOCK_STREAM`", "only TCP sockets are supported")),
    };
    if protocol.text != "IPPROTO_TCP" && protocol.text != "0" {
        return Err(protocol.wrong("`IPPROTO_TCP`", "only TCP sockets are supported"));
    }
    Ok(Call::Socket { nonblocking, number: None })
}

fn transfer(arguments: &Arguments<'_>, out: bool) -> Result<Call, Mistake> {
    let name = arguments.name;
    match name {
        "write" | "read" => arguments.count(3..4, &format!("{name}(4, ..., 1000)"))?,
        "send" | "recv" => arguments.count(4..5, &format!("{name}(4, ..., 1000, 0)"))?,
        _ => {
            arguments.count(6..7, &format!("{name}(4, ..., 1000, 0, ..., ...)"))?;
            arguments.ellipsis(4..6)?;
        }
    }
    if arguments.all[1].text == "NULL" {
        return Ok(Call::BadBuffer { fd: arguments.fd()?, name: known_call(name) });
    }
    arguments.ellipsis(1..2)?;
    let (fd, bytes) = (arguments.fd()?, arguments.number(2)?);
    let flags = arguments.message_flags(3)?;
    Ok(if out { Call::Write { fd, bytes, flags } } else { Call::Read { fd, bytes, flags } })
}

fn open(arguments: &Arguments<'_>) -> Result<Call, Mistake> {
    let form = "open(\"/tmp/zeros\", O_RDONLY)";
    arguments.count(2..3, form)?;
    let [path, mode] = arguments.all else { unreachable!("the call has two arguments") };
    let content = path.text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let path =
        content.ok_or_else(|| path.wrong("a path in quotes", "write it as in `\"/tmp/zeros\"`"))?;
    let path = path.to_owned();
    if mode.text != "O_RDONLY" {
        return Err(mode.wrong("`O_RDONLY`", "a script can only read files"));
    }
    Ok(Call::Open { path, number: None })
}

fn send_file(arguments: &Arguments<'_>) -> Result<Call, Mistake> {
    arguments.count(4..5, "sendfile(4, 5, [0], 1000)")?;
    let (file, offset) = (arguments.all[1], arguments.all[2]);
    let file = file
        .text
        .parse()
        .map_err(|_| file.wrong("the number of a file", "write a number, as in `5`"))?;
    let content = offset.text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let number = content.and_then(|text| text.trim().parse().ok());
    if number.is_none() && offset.text != "NULL" {
        let fix = "write `[0]`, or `NULL` to continue where the last call ended";
        return Err(offset.wrong("an offset", fix));
    }
    let (fd, bytes) = (arguments.fd()?, arguments.number(3)?);
    Ok(Call::SendFile { fd, file, offset: number, bytes })
}

/// Returns the name of a call as the static text in `CALLS`.
fn known_call(name: &str) -> &'static str {
    CALLS.iter().find(|known| **known == name).copied().expect("`call` has checked the name")
}

fn fcntl(arguments: &Arguments<'_>) -> Result<Call, Mistake> {
    arguments.count(2..4, "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK)")?;
    let fd = arguments.fd()?;
    let set = arguments.word(1, "command", &[("F_GETFL", false), ("F_SETFL", true)])?;
    if !set {
        arguments.count(2..3, "fcntl(3, F_GETFL)")?;
        return Ok(Call::GetStatus { fd });
    }
    arguments.count(3..4, "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK)")?;
    let argument = arguments.all[2];
    let bits = status_bits(argument.text)
        .ok_or_else(|| argument.wrong("status flags", "write `O_RDWR` or `O_RDWR|O_NONBLOCK`"))?;
    Ok(Call::SetStatus { fd, nonblocking: bits & status::O_NONBLOCK != 0 })
}

/// Reads status flags, as in `O_RDWR|O_NONBLOCK`, or a number that has only these bits.
fn status_bits(text: &str) -> Option<i64> {
    let word = |word: &str| match word {
        "O_RDWR" => Some(status::O_RDWR),
        "O_NONBLOCK" => Some(status::O_NONBLOCK),
        word => number(word).filter(|bits| bits & !(status::O_RDWR | status::O_NONBLOCK) == 0),
    };
    text.split('|').try_fold(0, |bits, part| Some(bits | word(part.trim())?))
}

/// Values of socket options that have names.
const NAMED_VALUES: [(&str, i64); 3] =
    [("IP_PMTUDISC_DONT", 0), ("IP_PMTUDISC_WANT", 1), ("IP_PMTUDISC_DO", 2)];

/// Reads a number, the name of a number, or several of these with `|` between them.
fn named_bits(text: &str) -> Option<i64> {
    let word = |word: &str| {
        let known = [NAMED_VALUES.as_slice(), &Stamping::NAMES, &ERROR_NUMBERS];
        number(word).or_else(|| known.iter().find_map(|names| named(names, word)))
    };
    text.split('|').try_fold(0, |bits, part| Some(bits | word(part.trim())?))
}

/// Reads `[1]`, `[ECONNRESET]`, `"cubic"` or `{onoff=1, linger=5}`.
fn value(argument: Excerpt<'_>) -> Result<OptionValue, Mistake> {
    let text = argument.text;
    let wrong = || argument.wrong("a value", "write `[1]`, `\"cubic\"` or `{onoff=1, linger=0}`");
    if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let number = named_bits(inner);
        return number.map(OptionValue::Number).ok_or_else(wrong);
    }
    if let Some(content) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return Ok(OptionValue::Text(content.to_owned()));
    }
    let content =
        text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(wrong)?;
    let (on, seconds) = content.split_once(',').ok_or_else(wrong)?;
    let field = |text: &str, name: &str| {
        let (key, value) = text.split_once('=')?;
        (key.trim() == name).then(|| value.trim().parse::<u32>().ok()).flatten()
    };
    match (field(on, "onoff"), field(seconds, "linger")) {
        (Some(on @ 0..=1), Some(seconds)) => Ok(OptionValue::Linger { on: on == 1, seconds }),
        _ => Err(wrong()),
    }
}

/// Reads a whole number, which may be negative or hexadecimal.
fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => {
            i64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// Reads `= 1000`, `= ?` or `= -1 EAGAIN (comment)`.
fn result(cursor: &mut Cursor<'_>, dialect: ScriptDialect) -> Result<Expected, Mistake> {
    cursor.skip(Blank::Lines)?;
    cursor.expect("=", "write what the call returns, as in `= 0`, or `= ?` for any value")?;
    cursor.skip(Blank::Line)?;
    let start = cursor.at();
    let text = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '-' || c == '?');
    let value = if text == "?" { None } else { number(text) };
    if value.is_none() && text != "?" {
        let span = start..cursor.at().max(start + 1);
        return Err(
            Mistake::new(span, "expected a returned value").fix("write a whole number or `?`")
        );
    }
    cursor.skip(Blank::Line)?;
    let (name, span) = cursor.word();
    let known = if name == "EWOULDBLOCK" { "EAGAIN" } else { name };
    let errno = ERRNOS.iter().find(|errno| **errno == known).copied();
    if !name.is_empty() && errno.is_none() {
        return Err(Mistake::unknown(span, "error", name, ERRNOS));
    }
    if errno.is_some() && value != Some(-1) {
        return Err(Mistake::new(span, "only the result -1 can have the name of an error")
            .fix("remove the name of the error"));
    }
    let any_errno = value == Some(-1) && errno.is_none() && dialect == ScriptDialect::Packetdrill;
    if value == Some(-1) && errno.is_none() && !any_errno {
        let mistake = Mistake::new(start..start + 2, "the result -1 needs the name of an error");
        return Err(mistake.fix("write the name after the result, as in `-1 EAGAIN`"));
    }
    // Steps over a note for people. The note says what the error means or which flags the value
    // has.
    if cursor.take_mark("(")? {
        cursor.take_while(|c| c != ')' && c != '\n');
        cursor.expect(")", "end the note in parentheses with `)`")?;
    }
    Ok(Expected { value, errno, any_errno, out: None })
}
