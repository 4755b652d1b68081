//! The timer of Super Fast Retransmit (Tarr and Ghita 2005, §5): a multiple of the handshake's
//! round trip. This timer takes no samples, so it is not an estimator (see `estimator.rs`). Its
//! constants can be written as text.

use crate::units::Duration;

use super::keys::{
    Constant, Contradiction, EstimatorError, Keys, name_and_settings, read_settings,
};

/// The timer of Super Fast Retransmit.
///
/// ```
/// use netspurt::rto::SfrConfig;
/// use netspurt::units::Duration;
/// let ms = Duration::from_millis;
/// assert_eq!(SfrConfig::default().wait(ms(20)), ms(60));
/// let slow = SfrConfig::parse("sfr:factor=4.5,cutout=none").unwrap();
/// assert_eq!((slow.factor_halves, slow.cutout_bytes), (9, None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfrConfig {
    /// The RTO, counted in halves of the handshake's round trip: 6 for the paper's factor 3.
    pub factor_halves: u32,
    /// The number of acknowledged octets after which the timer stops permanently. The value is
    /// `None` if the timer never stops.
    pub cutout_bytes: Option<u64>,
}

impl Default for SfrConfig {
    fn default() -> Self {
        Self { factor_halves: 6, cutout_bytes: Some(80_000) }
    }
}

impl SfrConfig {
    /// The name of the timer in texts.
    pub const NAME: &str = "sfr";

    /// The minimum and the maximum of [`factor_halves`](Self::factor_halves).
    pub const FACTORS_HALVES: [u32; 2] = [1, 2000];

    /// Reads `sfr`, or `sfr:factor=3,cutout=80kB`.
    ///
    /// # Errors
    /// When the name is not `sfr`, when a key is unknown or given twice, when a setting is
    /// malformed, or when a value is out of range.
    pub fn parse(text: &str) -> Result<Self, EstimatorError> {
        let (name, settings) = name_and_settings(text);
        if name != Self::NAME {
            let message = format!("no timer is called `{name}`");
            return Err(EstimatorError::unknown(name, "", "", message, &[Self::NAME]));
        }
        let mut config = Self::default();
        read_settings(&mut config, name, settings)?;
        config.check().map(|()| config).map_err(|mistake| {
            let Contradiction { key, message, fix } = mistake;
            let written = settings.into_iter().flat_map(|settings| settings.split(','));
            let mut pairs = written.filter_map(|setting| setting.split_once('='));
            let value = pairs.find(|(own, _)| own.trim() == key).map_or("", |(_, value)| value);
            EstimatorError::new(name, key, value.trim(), format!("`{key}`: {message}"), fix)
        })
    }

    /// Returns the RTO after a handshake that took `rtt`.
    pub fn wait(&self, rtt: Duration) -> Duration {
        rtt * u64::from(self.factor_halves) / 2
    }

    /// True if the timer has stopped permanently when `acked_bytes` octets are acknowledged.
    pub fn has_stopped(&self, acked_bytes: u64) -> bool {
        self.cutout_bytes.is_some_and(|cutout| acked_bytes >= cutout)
    }
}

impl Keys for SfrConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        vec![
            ("factor", Constant::Halves(&mut self.factor_halves)),
            ("cutout", Constant::MaybeBytes(&mut self.cutout_bytes)),
        ]
    }

    fn bounds(&self) -> [Option<&'static str>; 3] {
        [None; 3]
    }

    fn check(&self) -> Result<(), Contradiction> {
        let [halves_min, halves_max] = Self::FACTORS_HALVES;
        if (halves_min..=halves_max).contains(&self.factor_halves) {
            return Ok(());
        }
        let message = format!("{} is out of range", f64::from(self.factor_halves) / 2.0);
        let fix = "write 0.5 to 1000, in steps of a half".into();
        Err(Contradiction { key: "factor", message, fix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_a_number_of_halves_within_bounds() {
        for (text, halves) in [("0.5", 1), ("3", 6), ("4.50", 9), ("1000", 2000)] {
            let read = SfrConfig::parse(&format!("sfr:factor={text}")).unwrap();
            assert_eq!(read, SfrConfig { factor_halves: halves, ..SfrConfig::default() });
        }
        for (text, says) in [
            ("0", "`factor`: 0 is out of range: write 0.5 to 1000"),
            ("1000.5", "`factor`: 1000.5 is out of range"),
            ("2.3", "`factor` cannot be `2.3`: write a number in steps of a half"),
            ("-1", "`factor` cannot be `-1`"),
            ("3.x", "`factor` cannot be `3.x`"),
        ] {
            let error = SfrConfig::parse(&format!("sfr:factor={text}")).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let error = SfrConfig::parse("sfr:cutout=2kB, factor = 0 ").unwrap_err();
        assert_eq!((error.key.as_str(), error.value.as_str()), ("factor", "0"));
    }

    #[test]
    fn the_timer_stops_after_the_given_number_of_acknowledged_octets() {
        let algorithm = SfrConfig::parse("sfr:cutout=2kB").unwrap();
        assert_eq!([1999, 2000].map(|octets| algorithm.has_stopped(octets)), [false, true]);
        assert!(!SfrConfig::parse("sfr:cutout=none").unwrap().has_stopped(u64::MAX));
    }
}
