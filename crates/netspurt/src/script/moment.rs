//! When an event of a script happens.

use core::fmt;

use crate::units::{Duration, Time};

use super::cursor::Cursor;
use super::error::Slip;

/// When an event happens, or may.
///
/// Offsets count from the event before: from the instant it names or, where it names a range or
/// any time, from the instant it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// `*`: whenever it happens.
    Any,
    /// `0.1`: so long after the start.
    At(Duration),
    /// `+0.1`: so long after the event before.
    After(Duration),
    /// `0.1~0.2`: between two instants after the start.
    Between(Duration, Duration),
    /// `+0.1~+0.2`: between two instants after the event before.
    AfterBetween(Duration, Duration),
    /// `0.1...0.3`: a call that starts and ends so long after the start.
    Lasting(Duration, Duration),
    /// `+0.1...0.3`: a call that starts and ends so long after the event before.
    AfterLasting(Duration, Duration),
}

/// The instants that a [`Moment`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: Time,
    pub(super) to: Time,
}

impl Moment {
    /// The instants, for an event that follows one at `previous`.
    pub(super) fn span(self, previous: Time) -> Span {
        let (base, from, to) = match self {
            Moment::Any => return Span { from: previous, to: Time::NEVER },
            Moment::At(at) => (Time::ZERO, at, at),
            Moment::After(after) => (previous, after, after),
            Moment::Between(from, to) | Moment::Lasting(from, to) => (Time::ZERO, from, to),
            Moment::AfterBetween(from, to) | Moment::AfterLasting(from, to) => (previous, from, to),
        };
        Span { from: base + from, to: base + to }
    }

    /// The earliest it can be, for an event behind one that can be at `previous` at the earliest.
    pub(super) fn earliest(self, previous: Duration) -> Duration {
        match self {
            Moment::Any => previous,
            Moment::At(at) | Moment::Between(at, _) | Moment::Lasting(at, _) => at,
            Moment::After(after)
            | Moment::AfterBetween(after, _)
            | Moment::AfterLasting(after, _) => previous + after,
        }
    }

    /// Whether it names one instant, from which the next event's offset counts.
    pub(super) const fn is_exact(self) -> bool {
        matches!(self, Moment::At(_) | Moment::After(_))
    }

    /// Reads a time at the start of an event.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Slip> {
        let start = cursor.at();
        if cursor.take("*") {
            return Ok(Moment::Any);
        }
        let relative = cursor.take("+");
        let from = seconds(cursor)?;
        let moment = if cursor.take("~") {
            let to_relative = cursor.take("+");
            let to = seconds(cursor)?;
            if relative != to_relative {
                let slip = Slip::new(start..cursor.at(), "one end counts from the event before");
                return Err(slip.fix("write `+` before both times or before neither"));
            }
            if relative { Moment::AfterBetween(from, to) } else { Moment::Between(from, to) }
        } else if cursor.take("...") {
            let to_relative = cursor.take("+");
            let to = seconds(cursor)?;
            if to_relative && !relative {
                let slip = Slip::new(start..cursor.at(), "the end counts from the event before");
                return Err(slip.fix("write `+` before the start as well"));
            }
            if relative { Moment::AfterLasting(from, to) } else { Moment::Lasting(from, to) }
        } else if relative {
            Moment::After(from)
        } else {
            Moment::At(from)
        };
        match moment {
            Moment::Between(from, to)
            | Moment::AfterBetween(from, to)
            | Moment::Lasting(from, to)
            | Moment::AfterLasting(from, to)
                if to < from =>
            {
                let slip = Slip::new(start..cursor.at(), "this ends before it starts");
                Err(slip.fix("the later time comes second"))
            }
            moment => Ok(moment),
        }
    }
}

/// Seconds with up to nine decimals.
fn seconds(cursor: &mut Cursor<'_>) -> Result<Duration, Slip> {
    let start = cursor.at();
    let whole = cursor.take_while(|c| c.is_ascii_digit());
    let mut parts = cursor.rest().chars();
    let point = parts.next() == Some('.') && parts.next().is_some_and(|c| c.is_ascii_digit());
    if whole.is_empty() && !point {
        let message = format!("a time expected, and not {}", cursor.shown());
        let fix = "seconds as in `0.1`, `+0.1`, `*`, `0.1~0.2` or `0.1...0.2`";
        return Err(cursor.slip(message).fix(fix));
    }
    let decimals = if point {
        cursor.bump();
        cursor.take_while(|c| c.is_ascii_digit())
    } else {
        ""
    };
    let span = start..cursor.at();
    if decimals.len() > 9 {
        return Err(Slip::new(span, "this is finer than a nanosecond").fix("nine decimals at most"));
    }
    let nanos = format!("{whole}{decimals:0<9}").parse::<u64>().ok();
    // A century leaves room to add times up.
    let nanos = nanos.filter(|nanos| *nanos <= 3_155_760_000_000_000_000);
    let nanos =
        nanos.ok_or_else(|| Slip::new(span, "this is too long").fix("at most a century"))?;
    Ok(Duration::from_nanos(nanos))
}

/// Seconds without idle zeros.
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

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = Seconds;
        match *self {
            Moment::Any => write!(f, "*"),
            Moment::At(at) => write!(f, "{}", s(at)),
            Moment::After(after) => write!(f, "+{}", s(after)),
            Moment::Between(from, to) => write!(f, "{}~{}", s(from), s(to)),
            Moment::AfterBetween(from, to) => write!(f, "+{}~+{}", s(from), s(to)),
            Moment::Lasting(from, to) => write!(f, "{}...{}", s(from), s(to)),
            Moment::AfterLasting(from, to) => write!(f, "+{}...{}", s(from), s(to)),
        }
    }
}
