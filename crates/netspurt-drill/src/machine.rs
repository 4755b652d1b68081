//! The *world* is the simulated host with its clock and its packets. The *machine* lets
//! packetdrill's two threads share the world: one thread makes calls that block, and the other
//! thread plays the rest of the script.

use std::fs;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration as RealSpan;

use netspurt::units::Duration;
use netspurt_scenario::script::{Call, CallOutcome, CallResult, Info};

use crate::world::DrillWorld;

/// The longest virtual time for which a thread waits for a packet or for the return of a call. If
/// no event has happened by then, no event will happen.
const LONGEST: Duration = Duration::from_secs(3600);
/// The maximum number of times that one thread checks whether the other thread is ready.
const CHECKS_MAX: u32 = 2000;
/// The maximum real time between two of these checks.
const CHECK_INTERVAL: RealSpan = RealSpan::from_micros(500);

/// A world that several threads use, one at a time.
///
/// The thread that made the machine plays the script and advances the clock. If a call of this
/// thread blocks, the call itself advances the clock. If a call of another thread blocks, that
/// thread waits until the first thread has advanced the clock far enough.
#[derive(Debug)]
pub struct DrillMachine {
    shared: Mutex<Shared>,
    changed: Condvar,
    first: ThreadId,
}

#[derive(Debug)]
struct Shared {
    world: DrillWorld,
    blocked: Option<BlockedThread>,
    /// The thread whose blocking call has returned, with the time of the return in microseconds
    /// since 1970. `None` as soon as this thread has read the clock.
    returned: Option<(ThreadId, i64)>,
}

/// A blocking call of the other thread.
#[derive(Debug)]
struct BlockedThread {
    thread: ThreadId,
    outcome: Option<CallOutcome>,
    /// The file in which Linux reports the state of the thread.
    state: Option<String>,
}

type Guard<'a> = MutexGuard<'a, Shared>;

impl DrillMachine {
    /// Shares a world. From now on, the calling thread advances the clock.
    pub fn new(world: DrillWorld) -> Self {
        let shared = Mutex::new(Shared { world, blocked: None, returned: None });
        Self { shared, changed: Condvar::new(), first: thread::current().id() }
    }

    fn lock(&self) -> Guard<'_> {
        // If a thread panics while it holds the lock, `border::guard` refuses the rest of the
        // script.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the world after everything that is due has happened.
    fn up_to_now(&self) -> Guard<'_> {
        let mut shared = self.lock();
        let now = shared.world.after(Duration::ZERO);
        while shared.world.step(now) {
            shared = self.release(shared);
        }
        shared
    }

    /// Reads or changes the world.
    pub fn with<T>(&self, work: impl FnOnce(&mut DrillWorld) -> T) -> T {
        work(&mut self.lock().world)
    }

    /// The state of the connection.
    pub fn info(&self) -> Info {
        self.up_to_now().world.info()
    }

    /// Reads the clock, in microseconds since 1970. The first result after a call that blocked is
    /// the time at which this call returned, although the clock may have moved on.
    pub fn read_us(&self) -> i64 {
        let mut shared = self.lock();
        let own = thread::current().id();
        if let Some((_, at)) = shared.returned.take_if(|(thread, _)| *thread == own) {
            self.changed.notify_all();
            return at;
        }
        shared.world.clock().read_us()
    }

    /// Makes a call and waits for its result. Returns `None` if the script is refused.
    pub fn call(&self, call: &Call) -> Option<CallOutcome> {
        let mut shared = self.up_to_now();
        if shared.world.is_refused() {
            return None;
        }
        if shared.blocked.is_some() {
            shared.world.refuse(format!("{call} while another call blocks"));
            return None;
        }
        match shared.world.call(call) {
            CallResult::Returned(outcome) => Some(outcome),
            CallResult::NotSupported(what) => {
                shared.world.refuse(what);
                None
            }
            CallResult::Blocks if thread::current().id() == self.first => drive(&mut shared, call),
            CallResult::Blocks => self.block(shared),
        }
    }

    /// Waits until the first thread has advanced the clock to the return of the call.
    fn block(&self, mut shared: Guard<'_>) -> Option<CallOutcome> {
        let own = fs::read_link("/proc/thread-self").ok();
        let state = own.map(|own| format!("/proc/{}/stat", own.display()));
        shared.blocked =
            Some(BlockedThread { thread: thread::current().id(), outcome: None, state });
        loop {
            let outcome = shared.blocked.as_mut().and_then(|blocked| blocked.outcome.take());
            if outcome.is_some() || shared.world.is_refused() {
                shared.blocked = None;
                return outcome;
            }
            shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether a call of another thread blocks.
    #[cfg(test)]
    pub fn is_blocked(&self) -> bool {
        self.lock().blocked.is_some()
    }

    /// Gives an arriving packet to the host. Returns false if the script cannot be played, for
    /// example because of this packet.
    pub fn inject(&self, packet: &[u8]) -> bool {
        let mut shared = self.up_to_now();
        let taken = !shared.world.is_refused() && shared.world.inject(packet);
        drop(self.release(shared));
        taken
    }

    /// Plays a shell command of the script. Returns false if the script cannot be played, for
    /// example because of this command.
    pub fn command(&self, text: &str) -> bool {
        let mut shared = self.up_to_now();
        let taken = shared.world.command(text);
        drop(self.release(shared));
        taken
    }

    /// Advances the clock by `span`. Everything that becomes due in this time happens.
    pub fn sleep(&self, span: Duration) {
        let mut shared = self.lock();
        let until = shared.world.after(span);
        while shared.world.step(until) {
            shared = self.release(shared);
        }
        drop(self.release(shared));
    }

    /// Advances the clock until a packet leaves. Returns the packet with the time of its departure
    /// in microseconds since 1970. Returns `None` if no packet will leave.
    pub fn receive(&self) -> Option<(i64, Vec<u8>)> {
        let mut shared = self.lock();
        let until = shared.world.after(LONGEST);
        loop {
            if let Some(packet) = shared.world.take_packet() {
                return Some(packet);
            }
            if !shared.world.has_plans() || !shared.world.step(until) {
                return None;
            }
            shared = self.release(shared);
        }
    }

    /// Wakes the thread that is blocked in a call, if this call returns now or if the script is
    /// refused. Then waits until that thread has read the clock and sleeps again. This wait ends
    /// after `CHECKS_MAX` checks at the latest. So the results of that thread do not depend on
    /// scheduling.
    fn release<'a>(&'a self, mut shared: Guard<'a>) -> Guard<'a> {
        let Shared { world, blocked, returned } = &mut *shared;
        let Some(waiting) = blocked.as_mut().filter(|waiting| waiting.outcome.is_none()) else {
            return shared;
        };
        let outcome = world.returned();
        if outcome.is_none() && !world.is_refused() {
            return shared;
        }
        *returned = Some((waiting.thread, world.clock().read_us()));
        waiting.outcome = outcome;
        let state = waiting.state.clone();
        self.changed.notify_all();
        for _ in 0..CHECKS_MAX {
            let is_back = shared.returned.is_none() && shared.blocked.is_none();
            if is_back && state.as_deref().is_none_or(sleeps) {
                break;
            }
            let waited = self.changed.wait_timeout(shared, CHECK_INTERVAL);
            shared = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        shared
    }
}

/// Reads whether a thread sleeps. `state` is the file in which Linux reports the thread's state. A
/// thread that has ended counts as sleeping.
fn sleeps(state: &str) -> bool {
    let Ok(text) = fs::read_to_string(state) else { return true };
    // The name before the state is in parentheses, and may itself contain parentheses.
    let behind_name = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    behind_name.starts_with('S')
}

/// Advances the clock until the call returns. A call that never returns is interrupted.
fn drive(shared: &mut Guard<'_>, call: &Call) -> Option<CallOutcome> {
    let until = shared.world.after(LONGEST);
    while shared.world.step(until) {
        if let Some(outcome) = shared.world.returned() {
            return Some(outcome);
        }
    }
    eprintln!("netspurt: {call} blocks for ever");
    Some(CallOutcome::failed("EINTR"))
}
