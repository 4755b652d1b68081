//! The instant at which a recording of delays began, by the clock of the machine that made it.

/// The instant at which the first probe of a recording left.
///
/// ```
/// use netspurt::delays::Began;
/// let began = Began::of(1_729_591_872_000_000_000, false).unwrap();
/// assert_eq!(began.unix_ns, 1_729_591_872_000_000_000);
/// assert_eq!(Began::of(3_600_000_000_000, false), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Began {
    /// The instant in nanoseconds since 1970-01-01 UTC. A time without a time zone counts as UTC.
    pub unix_ns: i64,
    /// Whether the file of the recording gives the time without a time zone.
    pub local: bool,
}

impl Began {
    /// The earliest instant that counts as a calendar time: 1990-01-01. A clock that counts from
    /// the start of a machine or of a program shows an earlier instant.
    const EARLIEST_NS: i64 = 631_152_000_000_000_000;

    /// Returns the instant `unix_ns`, or `None` if it is too early to be a calendar time.
    pub fn of(unix_ns: i64, local: bool) -> Option<Self> {
        (unix_ns >= Self::EARLIEST_NS).then_some(Self { unix_ns, local })
    }
}
