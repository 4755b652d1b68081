//! Calls of foreign decoders: a panic in one is a fault of its file, not of ours; and a look ahead at
//! what would keep one busy without end.

mod parquet;
mod thrift;

pub use parquet::{ParquetFault, open_parquet};

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a decoder runs on this thread.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// What `decode` returns; `None` if it panics. Such a panic prints nothing.
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
