//! The time of an event of a script, as it is written before the event. A script is a test in
//! packetdrill's notation.

use core::fmt;

use netspurt::units::{Duration, Time};

use super::cursor::Cursor;
use super::error::Mistake;

/// When an event happens or may happen.
///
/// In our own dialect, an offset, as in `+0.1`, counts from the instant that the script gives for
/// the previous event. If the script gives the previous event a range, or `*` for any time, the
/// offset counts from the instant at which that event happened. In packetdrill's dialect, an offset
/// always counts from the instant at which the previous event happened. A call with a start and an
/// end counts as happening at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// `*`: at any time.
    Any,
    /// `0.1`: this long after the start of the script.
    At(Duration),
    /// `+0.1`: this long after the previous event.
    After(Duration),
    /// `0.1~0.2`: between two instants after the start of the script.
    Between(Duration, Duration),
    /// `+0.1~+0.2`: between two instants after the previous event.
    AfterBetween(Duration, Duration),
    /// `0.1...0.3`: a call that starts and ends at these times after the start of the script.
    Lasting(Duration, Duration),
    /// `+0.1...0.3`: a call that starts and ends at these times after the previous event.
    AfterLasting(Duration, Duration),
}

/// The first and last instant of an [`EventTime`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventSpan {
    pub(super) first: Time,
    pub(super) last: Time,
    /// True if the script gives the start and the end of a call that may block.
    pub(super) lasts: bool,
}

impl EventTime {
    /// Returns the first and the last instant. The previous event was at the instant `previous`.
    pub(super) fn span(self, previous: Time) -> EventSpan {
        let (base, first, last) = match self {
            EventTime::Any => {
                return EventSpan { first: previous, last: Time::NEVER, lasts: false };
            }
            EventTime::At(at) => (Time::ZERO, at, at),
            EventTime::After(after) => (previous, after, after),
            EventTime::Between(first, last) | EventTime::Lasting(first, last) => {
                (Time::ZERO, first, last)
            }
            EventTime::AfterBetween(first, last) | EventTime::AfterLasting(first, last) => {
                (previous, first, last)
            }
        };
        let lasts = matches!(self, EventTime::Lasting(..) | EventTime::AfterLasting(..));
        EventSpan { first: base + first, last: base + last, lasts }
    }

    /// Returns the earliest instant. `previous` is the earliest instant of the previous event.
    pub(super) fn earliest(self, previous: Duration) -> Duration {
        match self {
            EventTime::Any => previous,
            EventTime::At(at) | EventTime::Between(at, _) | EventTime::Lasting(at, _) => at,
            EventTime::After(after)
            | EventTime::AfterBetween(after, _)
            | EventTime::AfterLasting(after, _) => previous + after,
        }
    }

    /// True if the time is a single instant. In our own dialect, the next event's offset then
    /// counts from that instant.
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
        let first = seconds(cursor)?;
        let moment = if cursor.take("~") {
            let to_relative = cursor.take("+");
            let last = seconds(cursor)?;
            if relative != to_relative {
                let mistake =
                    Mistake::new(start..cursor.at(), "only one of the two times has a `+`");
                return Err(mistake.fix("write `+` before both times or before neither"));
            }
            if relative {
                EventTime::AfterBetween(first, last)
            } else {
                EventTime::Between(first, last)
            }
        } else if take_dots(cursor) {
            let to_relative = cursor.take("+");
            let last = seconds(cursor)?;
            if to_relative && !relative {
                let mistake =
                    Mistake::new(start..cursor.at(), "the end has a `+`, but the start has none");
                return Err(mistake.fix("also write `+` before the start"));
            }
            if relative {
                EventTime::AfterLasting(first, last)
            } else {
                EventTime::Lasting(first, last)
            }
        } else if relative {
            EventTime::After(first)
        } else {
            EventTime::At(first)
        };
        match moment {
            EventTime::Between(first, last)
            | EventTime::AfterBetween(first, last)
            | EventTime::Lasting(first, last)
            | EventTime::AfterLasting(first, last)
                if last < first =>
            {
                let mistake = Mistake::new(start..cursor.at(), "this time ends before it starts");
                Err(mistake.fix("write the earlier time first"))
            }
            moment => Ok(moment),
        }
    }
}

/// Steps over `...` and the blanks around it. Returns false if there is no `...`.
fn take_dots(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    let is_blank = |c: char| c == ' ' || c == '\t';
    ahead.take_while(is_blank);
    let has_dots = ahead.take("...");
    if has_dots {
        ahead.take_while(is_blank);
        *cursor = ahead;
    }
    has_dots
}

/// Reads seconds with up to nine decimals.
fn seconds(cursor: &mut Cursor<'_>) -> Result<Duration, Mistake> {
    let start = cursor.at();
    let whole_seconds = cursor.take_while(|c| c.is_ascii_digit());
    let mut parts = cursor.rest().chars();
    let point = parts.next() == Some('.') && parts.next().is_some_and(|c| c.is_ascii_digit());
    if whole_seconds.is_empty() && !point {
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
        return Err(Mistake::new(span, "this time has more than nine decimals")
            .fix("write at most nine decimals"));
    }
    let nanos = format!("{whole_seconds}{decimals:0<9}").parse::<u64>().ok();
    // With a limit of a century, the sum of up to 5 such times fits into 64 bits. Larger sums
    // saturate.
    let nanos = nanos.filter(|nanos| *nanos <= 3_155_760_000_000_000_000);
    let nanos = nanos.ok_or_else(|| {
        Mistake::new(span, "this time is too long").fix("write at most a century")
    })?;
    Ok(Duration::from_nanos(nanos))
}

/// Displays a span in seconds, without trailing zeros.
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
            EventTime::Between(first, last) => write!(f, "{}~{}", s(first), s(last)),
            EventTime::AfterBetween(first, last) => write!(f, "+{}~+{}", s(first), s(last)),
            EventTime::Lasting(first, last) => write!(f, "{}...{}", s(first), s(last)),
            EventTime::AfterLasting(first, last) => write!(f, "+{}...{}", s(first), s(last)),
        }
    }
}
