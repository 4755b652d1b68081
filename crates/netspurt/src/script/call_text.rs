//! Reads socket calls.

use core::ops::Range;

use super::call::{
    Call, ERRNOS, Expected, Fd, IoctlRequest, MessageFlags, OptionValue, Shutdown, SocketOption,
    status,
};
use super::cursor::{Blank, Cursor, Excerpt};
use super::error::Mistake;
use super::names::named;

const CALLS: [&str; 17] = [
    "socket",
    "bind",
    "listen",
    "accept",
    "connect",
    "write",
    "send",
    "sendto",
    "read",
    "recv",
    "recvfrom",
    "close",
    "shutdown",
    "fcntl",
    "setsockopt",
    "getsockopt",
    "ioctl",
];

/// Calls that are not supported, and what to write instead.
const UNSUPPORTED: [(&str, &str); 13] = [
    ("poll", "use `read`, `write`, or an assertion in `%{ }%`"),
    ("select", "use `read`, `write`, or an assertion in `%{ }%`"),
    ("epoll_create", "use `read`, `write`, or an assertion in `%{ }%`"),
    ("epoll_ctl", "use `read`, `write`, or an assertion in `%{ }%`"),
    ("epoll_wait", "use `read`, `write`, or an assertion in `%{ }%`"),
    ("sendmsg", "use `send`"),
    ("writev", "use `write`"),
    ("readv", "use `read`"),
    ("recvmsg", "use `recv`"),
    ("sendfile", "use `write`"),
    ("splice", "use `write`"),
    ("pipe", "remove it"),
    ("open", "remove it"),
];

/// Reads a call and, after `=`, its expected result.
pub(super) fn call(cursor: &mut Cursor<'_>) -> Result<(Call, Expected), Mistake> {
    let (name, span) = cursor.word();
    if let Some((_, fix)) = UNSUPPORTED.iter().find(|(known, _)| *known == name) {
        return Err(Mistake::new(span, format!("`{name}` is not supported")).fix(*fix));
    }
    if !CALLS.contains(&name) {
        return Err(Mistake::unknown(span, "call", name, CALLS));
    }
    cursor.expect("(", "put the arguments in parentheses")?;
    let arguments = arguments(cursor)?;
    let whole = Arguments { name, all: &arguments, span: span.start..cursor.at() };
    let (call, out) = build(&whole)?;
    let mut expected = result(cursor)?;
    expected.out = out;
    Ok((call, expected))
}

/// Reads the arguments and the closing parenthesis.
fn arguments<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Excerpt<'a>>, Mistake> {
    let source = cursor.source();
    let mut found = Vec::new();
    cursor.skip(Blank::Lines)?;
    let (mut start, mut depth, mut quoted) = (cursor.at(), 0_u32, false);
    let open = cursor.at();
    while let Some(c) = cursor.peek() {
        let at = cursor.at();
        cursor.bump();
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            ')' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                let argument = Excerpt::trimmed(&source[start..at], start);
                if !(c == ')' && found.is_empty() && argument.text.is_empty()) {
                    found.push(argument);
                }
                if c == ')' {
                    return Ok(found);
                }
                start = cursor.at();
            }
            _ => {}
        }
    }
    let mistake = Mistake::new(open.saturating_sub(1)..open, "this parenthesis is not closed");
    Err(mistake.fix("add `)`"))
}

/// The arguments of one call.
struct Arguments<'a> {
    name: &'a str,
    all: &'a [Excerpt<'a>],
    span: Range<usize>,
}

impl<'a> Arguments<'a> {
    fn count(&self, wanted: Range<usize>, form: &str) -> Result<(), Mistake> {
        if wanted.contains(&self.all.len()) {
            return Ok(());
        }
        let message = format!("`{}` does not take {} arguments", self.name, self.all.len());
        Err(Mistake::new(self.span.clone(), message).fix(format!("as in `{form}`")))
    }

    fn fd(&self) -> Result<Fd, Mistake> {
        let argument = self.all[0];
        argument
            .text
            .parse()
            .map_err(|_| argument.wrong("the number of a socket", "write a number, as in `3`"))
    }

    fn number(&self, place: usize) -> Result<u32, Mistake> {
        let argument = self.all[place];
        argument.text.parse().map_err(|_| argument.wrong("a number", "write a whole number"))
    }

    fn ellipsis(&self, places: Range<usize>) -> Result<(), Mistake> {
        for argument in &self.all[places] {
            if argument.text != "..." {
                let fix = "write `...` for addresses and buffers";
                return Err(argument.wrong("`...`", fix));
            }
        }
        Ok(())
    }

    fn word<T: Copy>(
        &self,
        place: usize,
        what: &str,
        table: &[(&'static str, T)],
    ) -> Result<T, Mistake> {
        let argument = self.all[place];
        named(table, argument.text).ok_or_else(|| {
            let known = table.iter().map(|(name, _)| *name);
            Mistake::unknown(argument.span(), what, argument.text, known)
        })
    }

    /// The flags of `send` and `recv`; none if the argument is absent.
    fn message_flags(&self, place: usize) -> Result<MessageFlags, Mistake> {
        let mut flags = MessageFlags::default();
        let Some(argument) = self.all.get(place) else { return Ok(flags) };
        if argument.text == "0" {
            return Ok(flags);
        }
        for word in argument.text.split('|').map(str::trim) {
            match word {
                "MSG_DONTWAIT" => flags.dont_wait = true,
                "MSG_MORE" => flags.more = true,
                "MSG_NOSIGNAL" => {}
                _ => {
                    let known = ["MSG_DONTWAIT", "MSG_MORE", "MSG_NOSIGNAL"];
                    return Err(Mistake::unknown(argument.span(), "flag", word, known));
                }
            }
        }
        Ok(flags)
    }

    fn option(&self) -> Result<SocketOption, Mistake> {
        let option = self.word(2, "socket option", &SocketOption::ALL)?;
        let level = self.all[1];
        let same = level.text == option.level()
            || option.level() == "SOL_TCP" && level.text == "IPPROTO_TCP";
        if same {
            return Ok(option);
        }
        let mistake =
            Mistake::new(level.span(), format!("{} is not an option of this level", option.name()));
        Err(mistake.fix(format!("write `{}`", option.level())))
    }
}

/// The call, and the value that it must write.
fn build(arguments: &Arguments<'_>) -> Result<(Call, Option<OptionValue>), Mistake> {
    let call = match arguments.name {
        "socket" => socket(arguments)?,
        "bind" | "accept" | "connect" => {
            arguments.count(3..4, &format!("{}(3, ..., ...)", arguments.name))?;
            arguments.ellipsis(1..3)?;
            let fd = arguments.fd()?;
            match arguments.name {
                "bind" => Call::Bind { fd },
                "accept" => Call::Accept { fd },
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
            let value = value(arguments.all[3])?;
            Call::SetOption { fd: arguments.fd()?, option: arguments.option()?, value }
        }
        "getsockopt" => {
            arguments.count(5..6, "getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4])")?;
            let call = Call::GetOption { fd: arguments.fd()?, option: arguments.option()? };
            return Ok((call, Some(value(arguments.all[3])?)));
        }
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
    let [_, kind, protocol] = arguments.all else { unreachable!("three were counted") };
    let mut words = kind.text.split('|').map(str::trim);
    let nonblocking = match (words.next(), words.next(), words.next()) {
        (Some("SOCK_STREAM"), None, None) => false,
        (Some("SOCK_STREAM"), Some("SOCK_NONBLOCK"), None) => true,
        _ => return Err(kind.wrong("`SOCK_STREAM`", "only TCP sockets are supported")),
    };
    if protocol.text != "IPPROTO_TCP" && protocol.text != "0" {
        return Err(protocol.wrong("`IPPROTO_TCP`", "only TCP sockets are supported"));
    }
    Ok(Call::Socket { nonblocking })
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
    arguments.ellipsis(1..2)?;
    let (fd, bytes) = (arguments.fd()?, arguments.number(2)?);
    let flags = arguments.message_flags(3)?;
    Ok(if out { Call::Write { fd, bytes, flags } } else { Call::Read { fd, bytes, flags } })
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

/// Reads `O_RDWR|O_NONBLOCK`, or a number without other bits.
fn status_bits(text: &str) -> Option<i64> {
    let word = |word: &str| match word {
        "O_RDWR" => Some(status::O_RDWR),
        "O_NONBLOCK" => Some(status::O_NONBLOCK),
        word => number(word).filter(|bits| bits & !(status::O_RDWR | status::O_NONBLOCK) == 0),
    };
    text.split('|').try_fold(0, |bits, part| Some(bits | word(part.trim())?))
}

/// Reads `[1]`, `"cubic"` or `{onoff=1, linger=5}`.
fn value(argument: Excerpt<'_>) -> Result<OptionValue, Mistake> {
    let text = argument.text;
    let wrong = || argument.wrong("a value", "write `[1]`, `\"cubic\"` or `{onoff=1, linger=0}`");
    if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return number(inner.trim()).map(OptionValue::Number).ok_or_else(wrong);
    }
    if let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return Ok(OptionValue::Text(inner.to_owned()));
    }
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(wrong)?;
    let (on, seconds) = inner.split_once(',').ok_or_else(wrong)?;
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
fn result(cursor: &mut Cursor<'_>) -> Result<Expected, Mistake> {
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
        return Err(
            Mistake::new(span, "only -1 comes with an error").fix("remove the name of the error")
        );
    }
    if value == Some(-1) && errno.is_none() {
        let mistake = Mistake::new(start..start + 2, "the result -1 needs the name of an error");
        return Err(mistake.fix("write it, as in `-1 EAGAIN`"));
    }
    // A note for the reader: what the error means, or which flags the value has.
    if cursor.take_mark("(")? {
        cursor.take_while(|c| c != ')' && c != '\n');
        cursor.expect(")", "close the note")?;
    }
    Ok(Expected { value, errno, out: None })
}
