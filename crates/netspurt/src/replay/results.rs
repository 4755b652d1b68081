//! The results of a replay: the sums over all probes, and the timer of each probe.

use crate::delays::Delays;
use crate::rto::RtoEstimator;
use crate::units::Duration;

use super::account::Account;
use super::engine::{Replay, ReplayError};

impl Replay {
    /// Replays `delays` on `algorithm`, and returns the sums over all probes and the timer of each
    /// probe.
    ///
    /// Unlike [`run`](Self::run), this function is compiled with the core, so the loop over the
    /// probes is optimised whatever the settings of the calling crate are.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn results(
        &self,
        delays: &Delays,
        algorithm: &mut dyn RtoEstimator,
    ) -> Result<(Account, Vec<Duration>), ReplayError> {
        let (mut account, mut waits) =
            (Account::default(), Vec::with_capacity(delays.probes.len()));
        self.run(delays, algorithm, |judged| {
            account.take(judged);
            waits.push(judged.wait);
        })?;
        Ok((account, waits))
    }
}
