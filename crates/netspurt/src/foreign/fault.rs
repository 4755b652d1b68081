//! Ends a run at once when a foreign algorithm fails. A foreign algorithm comes from outside the
//! core (this crate), for example from a Python file.

use core::any::Any;
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The reason why a foreign algorithm cannot continue.
pub struct ForeignFault {
    /// What failed, and where, in one line.
    pub message: String,
    /// Details for code that knows the algorithm's language, for example a Python exception.
    pub cause: Box<dyn Any + Send>,
}

impl fmt::Debug for ForeignFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignFault").field("message", &self.message).finish_non_exhaustive()
    }
}

/// Ends the run that called a foreign algorithm. The traits of algorithms cannot return errors,
/// because the core's own algorithms never fail. Therefore the stack is unwound up to [`watched`].
/// Nothing is printed.
///
/// # Panics
/// Always, but without a message.
pub fn fail(fault: ForeignFault) -> ! {
    resume_unwind(Box::new(fault))
}

/// Calls the function `run` and returns its result, or the fault of a foreign algorithm that this
/// function called. After a fault, data that the function was changing must not be used. Other
/// panics pass through.
///
/// # Errors
/// When a foreign algorithm that the function `run` called has called [`fail`].
///
/// ```
/// use netspurt::foreign::{ForeignFault, fail, watched};
/// assert_eq!(watched(|| 3).unwrap(), 3);
/// let fault = || ForeignFault { message: "rto() returned -1".into(), cause: Box::new(()) };
/// assert_eq!(watched(|| fail(fault())).unwrap_err().message, "rto() returned -1");
/// ```
pub fn watched<T>(run: impl FnOnce() -> T) -> Result<T, Box<ForeignFault>> {
    let ended = catch_unwind(AssertUnwindSafe(run));
    ended.map_err(|unwound| {
        unwound.downcast::<ForeignFault>().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
