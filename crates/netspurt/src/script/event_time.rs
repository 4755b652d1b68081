//! When an event of a script happens.

use core::fmt;

use crate::units::{Duration, Time};

use super::cursor::Cursor;
use super::error::Mistake;

/// When an event happens or may happen.
///
/// An offset counts from the instant that the previous event names. If that event names a range or
/// any time, the offset counts from the instant at which it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// `*`: at any time.
    Any,
    /// `0.1`: this long after the start.
    At(Duration),
    /// `+0.1`: this long after the previous event.
    After(Duration),
    /// `0.1~0.2`: between two instants after the start.
    Between(Duration, Duration),
    /// `+0.1~+0.2`: between two instants after the previous event.
    AfterBetween(Duration, Duration),
    /// `0.1...0.3`: a call that starts and ends this long after the start.
    Lasting(Duration, Duration),
    /// `+0.1...0.3`: a call that starts and ends this long after the previous event.
    AfterLasting(Duration, Duration),
}

/// The first and last instant of an [`EventTime`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventSpan {
    pub(super) from: Time,
    pub(super) to: Time,
    /// Whether it is written with a start and an end, as for a call that may block.
    pub(super) lasts: bool,
}

impl EventTime {
    /// The first and last instant, if the previous event was at `previous`.
    pub(super) fn span(self, previous: Time) -> EventSpan {
        let (base, from, to) = match self {
            EventTime::Any => return EventSpan { from: previous, to: Time::NEVER, lasts: false },
            EventTime::At(at) => (Time::ZERO, at, at),
            EventTime::After(after) => (previous, after, after),
            EventTime::Between(from, to) | EventTime::Lasting(from, to) => (Time::ZERO, from, to),
            EventTime::AfterBetween(from, to) | EventTime::AfterLasting(from, to) => {
                (previous, from, to)
            }
        };
        let lasts = matches!(self, EventTime::Lasting(..) | EventTime::AfterLasting(..));
        EventSpan { from: base + from, to: base + to, lasts }
    }

    /// The earliest instant, if the earliest instant of the previous event is `previous`.
    pub(super) fn earliest(self, previous: Duration) -> Duration {
        match self {
            EventTime::Any => previous,
            EventTime::At(at) | EventTime::Between(at, _) | EventTime::Lasting(at, _) => at,
            EventTime::After(after)
            | EventTime::AfterBetween(after, _)
            | EventTime::AfterLasting(after, _) => previous + after,
        }
    }

    /// Whether it names a single instant. The next event's offset counts from that instant.
    pub(super) const fn is_exact(self) -> bool {
        matches!(self, EventTime::At(_) | EventTime::After(_))
    }

    /// Reads a time at the start of an event.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Mistake> {
        let start = cursor.at();
        if cursor.take("*") {
            return Ok(EventTime::Any);
        }
        let relative = cursor.take("+");
        let from = seconds(cursor)?;
        let moment = if cursor.take("~") {
            let to_relative = cursor.take("+");
            let to = seconds(cursor)?;
            if relative != to_relative {
                let mistake =
                    Mistake::new(start..cursor.at(), "only one end counts from the previous event");
                return Err(mistake.fix("write `+` before both times or before neither"));
            }
            if relative { EventTime::AfterBetween(from, to) } else { EventTime::Between(from, to) }
        } else if take_dots(cursor) {
            let to_relative = cursor.take("+");
            let to = seconds(cursor)?;
            if to_relative && !relative {
                let mistake =
                    Mistake::new(start..cursor.at(), "only the end counts from the previous event");
                return Err(mistake.fix("write `+` before the start too"));
            }
            if relative { EventTime::AfterLasting(from, to) } else { EventTime::Lasting(from, to) }
        } else if relative {
            EventTime::After(from)
        } else {
            EventTime::At(from)
        };
        match moment {
            EventTime::Between(from, to)
            | EventTime::AfterBetween(from, to)
            | EventTime::Lasting(from, to)
            | EventTime::AfterLasting(from, to)
                if to < from =>
            {
                let mistake = Mistake::new(start..cursor.at(), "this ends before it starts");
                Err(mistake.fix("write the earlier time first"))
            }
            moment => Ok(moment),
        }
    }
}

/// Steps over `...` and the blanks around it. Returns whether it was there.
fn take_dots(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    let is_blank = |c: char| c == ' ' || c == '\t';
    ahead.take_while(is_blank);
    let found = ahead.take("...");
    if found {
        ahead.take_while(is_blank);
        *cursor = ahead;
    }
    found
}

/// Seconds with up to nine decimals.
fn seconds(cursor: &mut Cursor<'_>) -> Result<Duration, Mistake> {
    let start = cursor.at();
    let whole = cursor.take_while(|c| c.is_ascii_digit());
    let mut parts = cursor.rest().chars();
    let point = parts.next() == Some('.') && parts.next().is_some_and(|c| c.is_ascii_digit());
    if whole.is_empty() && !point {
        let message = format!("expected a time, found {}", cursor.shown());
        let fix = "write seconds, as in `0.1`, `+0.1`, `*`, `0.1~0.2` or `0.1...0.2`";
        return Err(cursor.mistake(message).fix(fix));
    }
    let decimals = if point {
        cursor.bump();
        cursor.take_while(|c| c.is_ascii_digit())
    } else {
        ""
    };
    let span = start..cursor.at();
    if decimals.len() > 9 {
        return Err(Mistake::new(span, "this is finer than a nanosecond")
            .fix("write at most nine decimals"));
    }
    let nanos = format!("{whole}{decimals:0<9}").parse::<u64>().ok();
    // With a limit of a century, sums of times do not overflow.
    let nanos = nanos.filter(|nanos| *nanos <= 3_155_760_000_000_000_000);
    let nanos = nanos
        .ok_or_else(|| Mistake::new(span, "this is too long").fix("write at most a century"))?;
    Ok(Duration::from_nanos(nanos))
}

/// Seconds without trailing zeros.
pub(super) struct Seconds(pub(super) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let decimals = format!("{:09}", nanos % 1_000_000_000);
        let decimals = decimals.trim_end_matches('0');
        write!(f, "{}", nanos / 1_000_000_000)?;
        if decimals.is_empty() { Ok(()) } else { write!(f, ".{decimals}") }
    }
}

impl fmt::Display for EventTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = Seconds;
        match *self {
            EventTime::Any => write!(f, "*"),
            EventTime::At(at) => write!(f, "{}", s(at)),
            EventTime::After(after) => write!(f, "+{}", s(after)),
            EventTime::Between(from, to) => write!(f, "{}~{}", s(from), s(to)),
            EventTime::AfterBetween(from, to) => write!(f, "+{}~+{}", s(from), s(to)),
            EventTime::Lasting(from, to) => write!(f, "{}...{}", s(from), s(to)),
            EventTime::AfterLasting(from, to) => write!(f, "+{}...{}", s(from), s(to)),
        }
    }
}
