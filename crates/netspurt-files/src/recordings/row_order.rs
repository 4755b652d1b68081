//! Recognises files whose rows are not in the order in which the probes left.

use super::clock_steps::is_step_back;
use super::slots::ProbeSlot;

/// The order of the rows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOrder {
    /// The order of sending. The clock may have been set back a few times.
    Sent,
    /// The first row is the last probe.
    Reversed,
    /// Another order, for example the order in which the replies arrived.
    Mixed,
}

/// In a reversed file, the times fall more often than they rise, by at least this factor. If the
/// times go back more often than once in this number of rows, the cause is not a clock that was set
/// back.
const RARE: u64 = 20;

/// A clock may be set back up to this number of times in a file of any length.
const STEPS_MAX: u64 = 2;

impl RowOrder {
    /// Finds the order of `rows`. Rows without a time of sending do not count.
    pub fn of<'a>(rows: impl Iterator<Item = &'a ProbeSlot>) -> Self {
        let (mut rises, mut falls, mut steps) = (0_u64, 0_u64, 0_u64);
        let mut before = None;
        for row in rows {
            let Some(ns) = row.sent_ns() else { continue };
            if let Some(before) = before.replace(ns) {
                rises += u64::from(ns > before);
                falls += u64::from(ns < before);
                steps += u64::from(is_step_back(before, ns, row.rtt()));
            }
        }
        let many = steps > STEPS_MAX && steps * RARE > rises + falls;
        if falls > 0 && rises * RARE <= falls {
            Self::Reversed
        } else if falls > 0 && (steps == 0 || many) {
            Self::Mixed
        } else {
            Self::Sent
        }
    }
}
