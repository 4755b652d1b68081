//! Reads real time (the wall clock).

use std::time::Instant;

use netspurt::units::Time;

/// A clock that counts the time since its start.
///
/// ```
/// use netspurt_live::wall::WallClock;
/// let clock = WallClock::start();
/// let first = clock.now();
/// assert!(clock.now() >= first);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    start: Instant,
}

impl WallClock {
    /// Starts a clock at zero.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The time since the start.
    pub fn now(&self) -> Time {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_nanos(nanos)
    }
}
