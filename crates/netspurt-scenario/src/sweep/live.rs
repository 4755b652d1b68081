//! Makes the result of a case (one run of a sweep) that ran live, which means in real time. The
//! result is a chunk that has only this case. Other chunks are groups of consecutive cases.

use netspurt::units::Duration;

use crate::scenario::Sweep;

use super::chunk::{CaseEnd, CaseRow, Chunk, FinishedChunk, done, too_long};
use super::measures::{EndedCase, measure};

/// The way in which a live case ended.
#[derive(Clone, Debug)]
pub enum LiveEnd<'a> {
    /// The run is valid.
    Counts(EndedCase<'a>),
    /// The run did not end within the sweep's budget of time.
    Cut,
    /// The run is not valid. The text is the reason, such as late packets. The case has the status
    /// `late`.
    Late(String),
    /// There was no run. The text is the reason.
    Error(String),
}

/// Makes the chunk of a single live case, whose run took the time `busy`.
pub fn live_chunk(sweep: &Sweep, case: u64, end: LiveEnd<'_>, busy: Duration) -> FinishedChunk {
    let mut row = CaseRow::new(sweep, case);
    let end = match end {
        LiveEnd::Counts(ended) => CaseEnd::Live(Box::new(measure(&ended))),
        LiveEnd::Cut => CaseEnd::Cut(too_long(sweep.budget().time.unwrap_or_default())),
        LiveEnd::Late(why) => CaseEnd::Late(why),
        LiveEnd::Error(why) => CaseEnd::Error(why),
    };
    row.end = match sweep.combination(case) {
        Ok(combination) => {
            row.fingerprint = combination.fingerprint;
            end
        }
        Err(error) => CaseEnd::of_mistake(&error),
    };
    done(sweep, Chunk { first: case, count: 1 }, &[row], busy)
}
