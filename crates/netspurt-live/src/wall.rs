//! The wall clock, and a function that drives a simulation by it.

use std::time::Instant;

use netspurt::plan::Simulation;
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

    /// Waits until the clock reads `until`.
    pub fn wait(&self, until: Time) {
        let left = until.saturating_since(self.now());
        std::thread::sleep(std::time::Duration::from_nanos(left.as_nanos()));
    }
}

/// Runs a simulation in real time: waits until the wall clock reaches the simulation's next
/// wake-up, and then lets the simulation process everything that is due.
///
/// The simulation records each event with the time at which it was due, even if the machine is
/// late. So the results equal the results of the same run in virtual time.
pub fn run(simulation: &mut Simulation) {
    let clock = WallClock::start();
    while simulation.now() < simulation.stop() {
        let next = simulation.next_wakeup().unwrap_or(simulation.stop()).min(simulation.stop());
        clock.wait(next);
        simulation.advance_to(clock.now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt_scenario::scenario::{STARTING_POINT, Scenario};

    #[test]
    fn a_run_by_the_wall_clock_has_the_same_digest_as_in_virtual_time() {
        let fast = [
            ("stop", "400 ms"),
            ("links.modem.rate", "960 kbit/s"),
            ("links.modem.delay", "2 ms"),
            ("links.t1.delay", "1 ms"),
        ];
        let scenario = Scenario::parse("here", STARTING_POINT).unwrap().with(&fast).unwrap();
        let mut real = scenario.simulate();
        run(&mut real);
        let mut virtual_time = scenario.simulate();
        virtual_time.advance_to(virtual_time.stop());
        assert_eq!(real.finish().digest(), virtual_time.finish().digest());
    }
}
