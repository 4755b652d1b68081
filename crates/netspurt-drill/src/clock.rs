//! The clock that packetdrill reads, and the time of the simulated host that packetdrill tests.

use netspurt::units::{Duration, Time};

/// Each call that reads the clock advances it by this time. In the last 20 µs before an event,
/// packetdrill reads the clock repeatedly until the event is due. So the clock must advance when it
/// is read.
const READING: Duration = Duration::from_nanos(10);

/// The instant at which the clock starts, in microseconds since 1970.
const START_US: i64 = 1_000_000_000_000_000;

/// A clock that moves when it is read and when a thread waits.
///
/// The host's time starts at packetdrill's first call that does anything other than read the clock.
/// Usually this call comes at the first event of a script. Then the host sees exactly the times of
/// the script, and its ticks, such as Linux's jiffies, begin at the same times as in
/// `netspurt script`. If a shell command comes before the first event, the host's time starts
/// earlier, and the ticks may begin at other times. The host's time advances in whole microseconds.
/// After the host has waited for an instant between two microseconds, its time is exactly this
/// instant.
///
/// ```
/// use netspurt::units::{Duration, Time};
/// use netspurt_drill::clock::DrillClock;
/// let mut clock = DrillClock::default();
/// let start = clock.read_us();
/// assert_eq!(clock.host_time(), Time::ZERO);
/// clock.wait_until(Time::ZERO + Duration::from_millis(2));
/// assert_eq!(clock.read_us(), start + 2000);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct DrillClock {
    now: Time,
    /// When the host's time starts.
    origin: Option<Time>,
    /// The host's time, which never goes back.
    host: Time,
}

impl DrillClock {
    /// Reads the clock, in whole microseconds since 1970.
    pub fn read_us(&mut self) -> i64 {
        self.now += READING;
        since_1970(self.now)
    }

    /// Returns the host's time. The first call starts the host's time.
    pub fn host_time(&mut self) -> Time {
        let now = whole_micros(self.now);
        let origin = *self.origin.get_or_insert(now);
        self.host = self.host.max(Time::ZERO + (now - origin));
        self.host
    }

    /// Advances the clock to this time of the host. Does nothing if the time has already passed.
    pub fn wait_until(&mut self, at: Time) {
        self.host = self.host_time().max(at);
        let origin = self.origin.unwrap_or(Time::ZERO);
        self.now = self.now.max(origin + (self.host - Time::ZERO));
    }

    /// Converts a time of the host to whole microseconds since 1970.
    pub fn host_us(&self, at: Time) -> i64 {
        let origin = self.origin.unwrap_or(Time::ZERO);
        since_1970(origin + (at - Time::ZERO))
    }
}

/// Rounds a time down to a whole microsecond.
fn whole_micros(at: Time) -> Time {
    Time::from_nanos(at.as_nanos() / 1000 * 1000)
}

fn since_1970(at: Time) -> i64 {
    START_US.saturating_add_unsigned(at.as_nanos() / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_reaches_an_instant_if_a_thread_only_reads_the_clock() {
        let mut clock = DrillClock::default();
        let wanted = clock.read_us() + 20;
        let readings = (1..).find(|_| clock.read_us() >= wanted).unwrap();
        assert!(readings <= 2000, "{readings}");
        // The host's time starts at the microsecond for which the thread waited.
        assert_eq!(clock.host_time(), Time::ZERO);
        assert_eq!(clock.host_us(Time::ZERO), wanted);
        clock.read_us();
        assert_eq!(clock.host_time(), Time::ZERO);
    }

    #[test]
    fn a_host_may_wait_for_an_instant_between_microseconds() {
        let mut clock = DrillClock::default();
        let start = clock.read_us();
        let at = Time::from_nanos(2_345);
        clock.host_time();
        clock.wait_until(at);
        assert_eq!((clock.host_time(), clock.read_us()), (at, start + 2));
        clock.wait_until(Time::from_nanos(1_000));
        assert_eq!(clock.host_time(), at);
    }
}
