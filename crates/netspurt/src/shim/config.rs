//! The configuration of a shim, which is a retransmission timer at a host's edge. It consists of a
//! timer with its constants, and of a limit of retransmissions. This file also reads the
//! configuration from a text.

use crate::rto::{EstimatorConfig, SfrConfig};

/// The timer of a shim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShimTimer {
    /// An estimator (an algorithm of the retransmission timer), with its backoff.
    Estimator(EstimatorConfig),
    /// Super Fast Retransmit (Tarr and Ghita 2005).
    Sfr(SfrConfig),
}

/// The configuration of a shim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShimConfig {
    /// The timer of the shim.
    pub timer: ShimTimer,
    /// The maximum number of retransmissions of one segment. After that number, the shim does not
    /// send the segment again until the host's TCP retransmits the whole segment.
    pub retransmissions_max: u8,
}

/// A mistake in the text of a shim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {fix}")]
pub struct ShimError {
    /// The mistake.
    pub message: String,
    /// The fix.
    pub fix: String,
}

impl ShimConfig {
    /// The default limit of retransmissions, which is Linux's (`tcp_retries2`).
    const RETRANSMISSIONS_DEFAULT: u8 = 15;

    /// Reads the text form of a shim. The text form is the text of an estimator, as
    /// [`EstimatorConfig::parse`] reads it, or `sfr` with the keys `factor` and `cutout`. Either
    /// text may have the key `retransmissions`.
    ///
    /// ```
    /// use netspurt::shim::{ShimConfig, ShimTimer};
    /// let shim = ShimConfig::parse("sfr:factor=2.5,cutout=none,retransmissions=3").unwrap();
    /// let ShimTimer::Sfr(sfr) = shim.timer else { panic!() };
    /// assert_eq!((sfr.factor_halves, sfr.cutout_bytes, shim.retransmissions_max), (5, None, 3));
    /// assert!(ShimConfig::parse("linux:rto_min=50ms").is_ok());
    /// ```
    ///
    /// # Errors
    /// When the name or a key is unknown, a key is given twice, a setting is malformed, a value is
    /// out of its range, or constants contradict each other.
    pub fn parse(text: &str) -> Result<Self, ShimError> {
        let (name, settings) = match text.split_once(':') {
            None => (text.trim(), Vec::new()),
            Some((name, settings)) => (name.trim(), settings.split(',').collect()),
        };
        let limit = |setting: &&str| setting.split('=').next().map(str::trim) == Some(LIMIT);
        let (limits, rest): (Vec<&str>, Vec<&str>) = settings.into_iter().partition(limit);
        let retransmissions_max = match limits.as_slice() {
            [] => Self::RETRANSMISSIONS_DEFAULT,
            [setting] => retransmissions(setting)?,
            _ => return Err(wrong(format!("`{LIMIT}` is given twice"), "give it once")),
        };
        let timer = match (limits.is_empty(), rest.is_empty()) {
            (true, _) => text.to_owned(),
            (false, true) => name.to_owned(),
            (false, false) => format!("{name}:{}", rest.join(",")),
        };
        let timer = if name == SfrConfig::NAME {
            SfrConfig::parse(&timer).map(ShimTimer::Sfr)
        } else {
            EstimatorConfig::parse(&timer).map(ShimTimer::Estimator)
        };
        let timer = timer.map_err(|error| {
            // If the error lists the known names, the list has only estimators, so `sfr` is added.
            let lists = error.key.is_empty() && error.fix.starts_with("write one of ");
            let more = if lists { ", or `sfr`" } else { "" };
            wrong(error.message, format!("{}{more}", error.fix))
        })?;
        Ok(Self { timer, retransmissions_max })
    }
}

/// The key of the maximum number of retransmissions.
const LIMIT: &str = "retransmissions";

/// Reads the setting `retransmissions=NUMBER`.
fn retransmissions(setting: &str) -> Result<u8, ShimError> {
    let value = setting.split_once('=').map_or("", |(_, value)| value.trim());
    let cannot = |_| wrong(format!("`retransmissions` cannot be `{value}`"), "write 0 to 255");
    value.parse().map_err(cannot)
}

fn wrong(message: String, fix: impl Into<String>) -> ShimError {
    ShimError { message, fix: fix.into() }
}
