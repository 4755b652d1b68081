//! Protection from panics in the decoders of other crates. A panic in a decoder counts as a fault
//! of the file that the decoder reads.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a guarded decoder is running on this thread.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Calls the function `decode` and returns its result, or `None` if the function panics. The panic
/// prints nothing.
///
/// ```
/// use netspurt::guard::guarded;
/// let octets = [1, 2, 3];
/// assert_eq!(guarded(|| octets[2]), Some(3));
/// assert_eq!(guarded(|| octets[octets.len()]), None);
/// ```
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !DECODES.get() {
                usual(panic);
            }
        }));
    });
    let outer = DECODES.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    DECODES.set(outer);
    decoded.ok()
}
