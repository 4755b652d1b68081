//! The two dialects of scripts (tests in packetdrill's notation): our own, strict dialect, and
//! packetdrill's dialect.

use netspurt::units::Duration;

/// The rules that a script follows.
///
/// A script with the option line `--title=` is in our own, strict dialect. Every other script is in
/// packetdrill's dialect.
///
/// ```
/// use netspurt_scenario::script::ScriptDialect;
/// assert_eq!(ScriptDialect::of("--title=a SYN\n0 close(3) = 0"), ScriptDialect::Strict);
/// assert_eq!(ScriptDialect::of("// --title=\n0 close(3) = 0"), ScriptDialect::Packetdrill);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScriptDialect {
    /// Our own dialect. An offset, as in `+0.1`, counts from the instant that the script gives for
    /// the previous event. If the script gives the previous event a range (`0.1~0.2`), a start and
    /// an end (`0.1...0.2`), or `*`, the offset counts from the instant at which that event
    /// happened. Each packet is compared with one line. Every packet that is sent before the end
    /// must be in the script.
    #[default]
    Strict,
    /// packetdrill's dialect. An offset counts from the instant at which the previous event
    /// happened. A line may stand for several segments. Packets after the last `>` line are
    /// ignored.
    Packetdrill,
}

impl ScriptDialect {
    /// The dialect of the script with this `text`.
    pub fn of(text: &str) -> Self {
        let text = without_mark(text);
        if text.lines().any(|line| line.trim_start().starts_with("--title=")) {
            ScriptDialect::Strict
        } else {
            ScriptDialect::Packetdrill
        }
    }

    /// The profile (a named configuration of TCP) of a script that names no profile.
    pub(super) const fn profile(self) -> &'static str {
        match self {
            ScriptDialect::Strict => "rfc-2026",
            ScriptDialect::Packetdrill => "linux-6",
        }
    }
}

/// The text without the byte order mark that some editors put before it.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// How much an instant may differ from the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// The minimum tolerance.
    pub least: Duration,
    /// A share of the time since the previous event, in thousandths. If this share is more than
    /// `least`, the share is the tolerance.
    pub share_per_mille: u32,
}

impl Tolerance {
    /// The tolerance if a script does not set it: 4 ms. In packetdrill's dialect, the tolerance is
    /// an eighth of the offset, if this eighth is more than 4 ms.
    pub const fn of(dialect: ScriptDialect) -> Self {
        let share_per_mille = match dialect {
            ScriptDialect::Strict => 0,
            ScriptDialect::Packetdrill => 125,
        };
        Self { least: Duration::from_millis(4), share_per_mille }
    }

    /// The tolerance of an event that comes `offset` after the previous event.
    pub fn at(self, offset: Duration) -> Duration {
        let share = u128::from(offset.as_nanos()) * u128::from(self.share_per_mille) / 1000;
        self.least.max(Duration::from_nanos(u64::try_from(share).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packetdrills_dialect_tolerates_an_eighth_of_a_long_offset() {
        let of = |ms| Tolerance::of(ScriptDialect::Packetdrill).at(Duration::from_millis(ms));
        assert_eq!(of(32), Duration::from_millis(4));
        assert_eq!(of(400), Duration::from_millis(50));
        let strict = Tolerance::of(ScriptDialect::Strict).at(Duration::from_secs(9));
        assert_eq!(strict, Duration::from_millis(4));
    }
}
