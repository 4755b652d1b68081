//! The *border* is the set of functions that packetdrill calls. This file has the steps that most
//! of these functions need: to find the machine (the simulated host with its clock), to catch
//! panics, and to set `errno`.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use netspurt_scenario::script::{Call, CallOutcome};

use crate::machine::DrillMachine;
use crate::numbers;

/// The machine of the script that packetdrill plays. packetdrill plays one script after the other.
static CURRENT: Mutex<Option<Arc<DrillMachine>>> = Mutex::new(None);

/// Sets the machine when a script begins. `None` removes the machine, when packetdrill frees its
/// table of functions.
pub(super) fn set_current(machine: Option<DrillMachine>) {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = machine.map(Arc::new);
}

/// Returns the machine of the current script. Returns `None` if no script is played.
pub(super) fn current() -> Option<Arc<DrillMachine>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The number of an error, as in C's `errno`.
pub(super) struct Errno(pub(super) c_int);

/// The result of a function at the border. [`answer`] converts it to the number that C expects.
pub(super) type BorderResult<T = i64> = Result<T, Errno>;

/// Runs the function `work` on the machine. Returns -1 and sets `errno` if `work` fails or panics,
/// or if no script is played.
pub(super) fn answer(work: impl FnOnce(&DrillMachine) -> BorderResult) -> i64 {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let machine = current().ok_or(Errno(libc::ENOSYS))?;
        let inside = catch_unwind(AssertUnwindSafe(|| work(&machine)));
        inside.unwrap_or_else(|_| {
            Err(refuse(&machine, "a fault of netspurt: the library panicked".to_owned()))
        })
    }));
    match result {
        Ok(Ok(value)) => value,
        Ok(Err(Errno(number))) => {
            set_errno(number);
            -1
        }
        Err(_) => {
            set_errno(libc::EIO);
            -1
        }
    }
}

/// Does the same as [`answer`] for functions that return an `int`.
pub(super) fn answer_int(work: impl FnOnce(&DrillMachine) -> BorderResult) -> c_int {
    c_int::try_from(answer(work)).unwrap_or(c_int::MAX)
}

/// Refuses the script for the reason `what`. Returns the error with which the call then fails.
pub(super) fn refuse(machine: &DrillMachine, what: String) -> Errno {
    machine.with(|world| world.refuse(what));
    Errno(libc::EOPNOTSUPP)
}

/// Makes a call. If the call succeeds, the value in its outcome is not negative.
pub(super) fn make(machine: &DrillMachine, call: &Call) -> BorderResult<CallOutcome> {
    let outcome = machine.call(call).ok_or(Errno(libc::EOPNOTSUPP))?;
    match outcome.errno {
        Some(name) => Err(Errno(numbers::error(name))),
        None => Ok(outcome),
    }
}

/// Makes a call and returns the value in its outcome.
pub(super) fn value(machine: &DrillMachine, call: &Call) -> BorderResult {
    make(machine, call).map(|outcome| outcome.value)
}

fn set_errno(number: c_int) {
    // SAFETY: the pointer is to the calling thread's own `errno`, which exists until the thread
    // ends.
    unsafe { *libc::__errno_location() = number };
}
