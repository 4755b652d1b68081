//! A shim as text: a timer with its constants, and when it stops.

use crate::place::did_you_mean;
use crate::rto::EstimatorConfig;
use crate::units::{ByteCount, Duration};

/// Which timer a shim has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShimTimer {
    /// A law of the retransmission timer, with its backoff.
    Estimator(EstimatorConfig),
    /// Super Fast Retransmit.
    SuperFast(SuperFast),
}

/// Super Fast Retransmit (Tarr and Ghita 2005, §5): a multiple of the handshake's round trip,
/// once a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuperFast {
    /// The timer in halves of the handshake's round trip: 6 stands for the paper's factor 3.
    pub factor_halves: u32,
    /// It rests for good once so many octets were acknowledged; `None` never.
    pub cutout_bytes: Option<u64>,
}

impl Default for SuperFast {
    fn default() -> Self {
        Self { factor_halves: 6, cutout_bytes: Some(80_000) }
    }
}

/// What a shim does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShimConfig {
    /// Its timer.
    pub timer: ShimTimer,
    /// How often it sends one segment of the host's again at most; then it waits for the host.
    pub most_resends: u8,
}

/// What is wrong with the text of a shim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {fix}")]
pub struct ShimError {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub fix: String,
}

impl ShimConfig {
    /// As often as Linux would try (`tcp_retries2`).
    const MOST: u8 = 15;

    /// Reads a timer as [`EstimatorConfig::parse`] does, or `sfr` with `factor` and `cutout`; both
    /// may have `resends`.
    ///
    /// ```
    /// use netspurt::shim::{ShimConfig, ShimTimer};
    /// let shim = ShimConfig::parse("sfr:factor=2.5,cutout=none,resends=3").unwrap();
    /// let ShimTimer::SuperFast(sfr) = shim.timer else { panic!() };
    /// assert_eq!((sfr.factor_halves, sfr.cutout_bytes, shim.most_resends), (5, None, 3));
    /// assert!(ShimConfig::parse("linux:rto_min=50ms").is_ok());
    /// ```
    ///
    /// # Errors
    /// An unknown name or key, a value that is none, constants that contradict each other.
    pub fn parse(text: &str) -> Result<Self, ShimError> {
        let (name, settings) = match text.split_once(':') {
            None => (text.trim(), Vec::new()),
            Some((name, settings)) => (name.trim(), settings.split(',').collect()),
        };
        let limit = |setting: &&str| setting.trim_start().starts_with("resends");
        let (limits, rest): (Vec<&str>, Vec<&str>) = settings.into_iter().partition(limit);
        let most_resends = limits.iter().try_fold(Self::MOST, |_, setting| most(setting))?;
        let timer = if name == "sfr" {
            ShimTimer::SuperFast(SuperFast::parse(&rest)?)
        } else {
            let law = match (limits.is_empty(), rest.is_empty()) {
                (true, _) => text.to_owned(),
                (false, true) => name.to_owned(),
                (false, false) => format!("{name}:{}", rest.join(",")),
            };
            ShimTimer::Estimator(EstimatorConfig::parse(&law).map_err(|error| {
                // Where the name is to blame, there is one that the estimators do not know.
                let more = if error.key.is_empty() { ", or `sfr`" } else { "" };
                wrong(error.message, format!("{}{more}", error.fix))
            })?)
        };
        Ok(Self { timer, most_resends })
    }
}

/// How often one segment is sent again at most.
fn most(setting: &str) -> Result<u8, ShimError> {
    let value = setting.split_once('=').map_or("", |(_, value)| value.trim());
    let cannot = |_| wrong(format!("`resends` cannot be `{value}`"), "write 0 to 255");
    value.parse().map_err(cannot)
}

fn wrong(message: String, fix: impl Into<String>) -> ShimError {
    ShimError { message, fix: fix.into() }
}

impl SuperFast {
    fn parse(settings: &[&str]) -> Result<Self, ShimError> {
        const KEYS: [&str; 2] = ["factor", "cutout"];
        let mut law = Self::default();
        for setting in settings {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let (key, value) = (key.trim(), value.trim());
            let cannot = |fix: &str| wrong(format!("`{key}` cannot be `{value}`"), fix);
            match key {
                "factor" => {
                    let halves = value.parse::<f64>().ok().map(|factor| factor * 2.0);
                    let halves = halves.filter(|halves| (1.0..=200.0).contains(halves));
                    let whole = halves.filter(|halves| halves.fract() == 0.0);
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                    let whole = whole.map(|halves| halves as u32);
                    law.factor_halves =
                        whole.ok_or_else(|| cannot("0.5 to 100, in steps of a half"))?;
                }
                "cutout" if value == "none" => law.cutout_bytes = None,
                "cutout" => {
                    let bytes = value.parse::<ByteCount>();
                    let bytes = bytes.map_err(|_| cannot("a size as `80 kB`, or `none`"))?;
                    law.cutout_bytes = Some(bytes.0);
                }
                _ => {
                    let fix = did_you_mean(key, KEYS)
                        .unwrap_or_else(|| "`factor`, `cutout` or `resends`".into());
                    return Err(wrong(format!("`sfr` has no `{key}`"), fix));
                }
            }
        }
        Ok(law)
    }

    /// The timer for a handshake that took `rtt`.
    ///
    /// ```
    /// use netspurt::shim::SuperFast;
    /// use netspurt::units::Duration;
    /// let ms = Duration::from_millis;
    /// assert_eq!(SuperFast::default().wait(ms(20)), ms(60));
    /// ```
    pub fn wait(&self, rtt: Duration) -> Duration {
        rtt * u64::from(self.factor_halves) / 2
    }
}
