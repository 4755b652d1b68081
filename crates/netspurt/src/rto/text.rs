//! Reads and writes the text form of retransmission timers, such as `linux:rto_min=50ms`: the name
//! of an algorithm, and the constants that differ from the published constants.

use core::fmt;
use core::str::FromStr;

use crate::clock::Clock;
use crate::foreign::ForeignError;
use crate::units::Duration;

use super::keys::{Contradiction, EstimatorError, Keys, name_and_settings, read_settings};
use super::{EstimatorConfig, FOREIGN_TIMERS, ForeignConfig, MillsConfig, Rfc6298Config};

/// The first RTO, the minimum RTO and the maximum RTO of a timer. A bound that the algorithm does
/// not have is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The timer before any sample. For `quic` and `ns3`, this is the round trip from which the
    /// timer is computed.
    pub initial: Option<Duration>,
    /// The minimum RTO.
    pub min: Option<Duration>,
    /// The maximum RTO.
    pub max: Option<Duration>,
}

impl EstimatorConfig {
    /// Names that stand for an algorithm with certain constants.
    pub const ALIASES: &[&str] = &["rfc2988", "mills-single"];

    /// The algorithm and the constants that `alias` names.
    fn aliased(alias: &str) -> Option<Self> {
        match alias {
            "rfc2988" => Some(Self::Rfc6298(Rfc6298Config::rfc2988())),
            "mills-single" => Some(Self::Mills(MillsConfig::single_gain())),
            _ => None,
        }
    }

    /// The algorithm called `name` with its published constants, or with the constants of the alias
    /// `name`.
    fn published(name: &str) -> Option<Self> {
        Self::named(name).or_else(|| Self::aliased(name))
    }

    /// Reads a timer: the name of an algorithm, and constants as `key=value`. A key is the name of
    /// the constant's field.
    ///
    /// Times are written with their unit, and ratios as `7/8` or `0.875`. The value of an absent
    /// constant is written as `none`.
    ///
    /// ```
    /// use netspurt::rto::{EstimatorConfig, FixedConfig};
    /// use netspurt::units::Duration;
    /// let timer = EstimatorConfig::parse("fixed:rto=200ms,max=5 s").unwrap();
    /// let (rto, max) = (Duration::from_millis(200), Duration::from_secs(5));
    /// assert_eq!(timer, EstimatorConfig::Fixed(FixedConfig { rto, max }));
    /// assert_eq!(timer.to_string(), "fixed:rto=200ms,max=5s");
    /// ```
    ///
    /// # Errors
    /// When the name or a key is unknown, a key is given twice, a setting is malformed, a value is
    /// out of its range, or constants contradict each other.
    pub fn parse(text: &str) -> Result<Self, EstimatorError> {
        Self::parse_on(text, Clock::EXACT)
    }

    /// Reads a timer as [`parse`](Self::parse) does, for a host whose timers fire by `timer_clock`.
    /// This clock sets the algorithm's unit or granularity as the method [`on`](Self::on) does,
    /// unless the text sets it.
    ///
    /// ```
    /// use netspurt::clock::Clock;
    /// use netspurt::rto::EstimatorConfig;
    /// let timer = EstimatorConfig::parse_on("linux:rto_min=50ms", Clock::LINUX_HZ250).unwrap();
    /// assert_eq!(timer.to_string(), "linux:rto_min=50ms,jiffy=4ms");
    /// ```
    ///
    /// # Errors
    /// For the same reasons as [`parse`](Self::parse).
    pub fn parse_on(text: &str, timer_clock: Clock) -> Result<Self, EstimatorError> {
        let (config, _) = Self::read_on(text, timer_clock)?;
        config.check().map(|()| config)
    }

    /// Returns three answers: whether the settings in `text` set the first timer, the minimum, and
    /// the maximum.
    ///
    /// ```
    /// use netspurt::rto::EstimatorConfig;
    /// assert_eq!(EstimatorConfig::bounds_in("linux:rto_min=50ms"), Ok([false, true, false]));
    /// ```
    ///
    /// # Errors
    /// When the name or a key is unknown, a key is given twice, or a setting is malformed.
    pub fn bounds_in(text: &str) -> Result<[bool; 3], EstimatorError> {
        let (mut config, given) = Self::read_on(text, Clock::EXACT)?;
        let bounds = config.keys_mut().bounds();
        Ok(bounds.map(|bound| bound.is_some_and(|key| given.contains(&key))))
    }

    /// The timer that `text` describes on a host with this clock, and the keys that the text sets.
    fn read_on(
        text: &str,
        timer_clock: Clock,
    ) -> Result<(Self, Vec<&'static str>), EstimatorError> {
        let (name, settings) = name_and_settings(text);
        let Some(published) = Self::published(name) else {
            return Self::foreign(name, text).map(|config| (config, Vec::new()));
        };
        let mut config = published.on(timer_clock);
        let given = read_settings(config.keys_mut(), name, settings)?;
        Ok((config, given))
    }

    /// The foreign timer that `text` names. The argument `name` is the beginning of the text.
    fn foreign(name: &str, text: &str) -> Result<Self, EstimatorError> {
        match FOREIGN_TIMERS.find(text.trim()) {
            Some(Ok(timer)) => Ok(Self::Foreign(ForeignConfig::of(timer))),
            Some(Err(ForeignError { message, fix })) => {
                Err(EstimatorError::new(text, "", "", message, fix))
            }
            None => {
                let offered = FOREIGN_TIMERS.offered();
                let known = Self::NAMES.iter().chain(Self::ALIASES).copied();
                let known: Vec<&str> = known.chain(offered.iter().map(String::as_str)).collect();
                let message = format!("no timer is called `{name}`");
                Err(EstimatorError::unknown(name, "", "", message, &known))
            }
        }
    }

    /// Returns the same algorithm for a host whose timers fire by `timer_clock`. A clock with
    /// jiffies sets the key `jiffy`. A clock that ticks sets the keys `tick` (the algorithm's unit)
    /// and `granularity` (the G of RFC 6298 §2.3). An algorithm without these keys is unchanged.
    ///
    /// ```
    /// use netspurt::clock::Clock;
    /// use netspurt::rto::EstimatorConfig;
    /// use netspurt::units::Duration;
    /// let coarse = Clock::ticking(Duration::from_millis(500), Duration::ZERO).unwrap();
    /// let timer = EstimatorConfig::named("rfc6298").unwrap().on(coarse);
    /// assert_eq!(timer.to_string(), "rfc6298:granularity=500ms");
    /// ```
    #[must_use]
    pub fn on(mut self, timer_clock: Clock) -> Self {
        let jiffy = timer_clock.jiffy().map(|jiffy| (jiffy, ["jiffy"].as_slice()));
        let tick = timer_clock.ticks().map(|(tick, _)| (tick, ["tick", "granularity"].as_slice()));
        if let Some((unit, names)) = jiffy.or(tick) {
            for (key, mut constant) in self.keys_mut().keys() {
                if names.contains(&key) {
                    constant.set_span(unit);
                }
            }
        }
        self
    }

    /// All constants as texts, each with its key. If a text has the algorithm's name and all these
    /// settings, it reads as the same timer.
    ///
    /// ```
    /// use netspurt::rto::EstimatorConfig;
    /// let fixed = EstimatorConfig::named("fixed").unwrap();
    /// assert_eq!(fixed.settings(), [("rto", "3s".to_owned()), ("max", "3s".to_owned())]);
    /// ```
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let mut config = *self;
        config.keys_mut().keys().iter().map(|(key, constant)| (*key, constant.write())).collect()
    }

    /// Checks that each constant is in its range, and that constants do not contradict each other.
    /// If this check succeeds, [`build`](Self::build) also succeeds.
    ///
    /// # Errors
    /// When a constant is out of its range, constants contradict each other, or the first timer or
    /// the maximum is zero. The error names the key with the wrong value.
    pub fn check(&self) -> Result<(), EstimatorError> {
        let mut config = *self;
        let keys = config.keys_mut();
        let found = keys.check().and_then(|()| refuse_zero(keys));
        found.map_err(|Contradiction { key, message, fix }| {
            let settings = self.settings();
            let setting = settings.iter().find(|(known, _)| *known == key);
            let value = setting.map_or("", |(_, value)| value);
            EstimatorError::new(self.name(), key, value, format!("`{key}`: {message}"), fix)
        })
    }

    /// The bounds of the timer. The names of their keys differ between algorithms.
    pub fn bounds(&self) -> Bounds {
        let mut config = *self;
        let keys = config.keys_mut().bounds();
        let constants = config.keys_mut().keys();
        let of = |key: Option<&str>| {
            constants
                .iter()
                .find(|(known, _)| Some(*known) == key)
                .and_then(|(_, constant)| constant.span())
        };
        let [initial, min, max] = keys.map(of);
        Bounds { initial, min, max }
    }

    /// Returns the same timer with every bound that `bounds` gives.
    ///
    /// # Errors
    /// When `bounds` gives a bound that the algorithm does not have. The error is the name of this
    /// bound: `initial`, `min` or `max`.
    pub fn within(&self, bounds: Bounds) -> Result<Self, &'static str> {
        let mut config = *self;
        let keys = config.keys_mut().bounds();
        let Bounds { initial, min, max } = bounds;
        let given = [("initial", initial), ("min", min), ("max", max)];
        for ((name, to), key) in given.into_iter().zip(keys) {
            let Some(to) = to else { continue };
            let key = key.ok_or(name)?;
            for (known, mut constant) in config.keys_mut().keys() {
                if known == key {
                    constant.set_span(to);
                }
            }
        }
        Ok(config)
    }

    /// The shortest text of this timer without its bounds. On a host whose timers fire by
    /// `timer_clock`, the text and the bounds together give this timer again.
    ///
    /// ```
    /// use netspurt::clock::Clock;
    /// use netspurt::rto::EstimatorConfig;
    /// let timer = EstimatorConfig::parse("linux:rto_min=50ms,jiffy=4ms").unwrap();
    /// assert_eq!(timer.unbounded_text_on(Clock::LINUX_HZ250), "linux");
    /// assert_eq!(timer.unbounded_text_on(Clock::EXACT), "linux:jiffy=4ms");
    /// ```
    pub fn unbounded_text_on(&self, timer_clock: Clock) -> String {
        if let Self::Foreign(config) = self {
            return config.text().to_owned();
        }
        self.shortest(|name| {
            let mut published = Self::published(name)?.on(timer_clock);
            if published.name() == self.name() {
                published = published.within(self.bounds()).unwrap_or(published);
            }
            self.text_over(name, &published)
        })
    }

    /// The shortest of the texts that begin with the algorithm's name or an alias.
    fn shortest(&self, text: impl Fn(&str) -> Option<String>) -> String {
        let names = core::iter::once(self.name()).chain(Self::ALIASES.iter().copied());
        names.filter_map(text).min_by_key(String::len).unwrap_or_default()
    }

    /// Returns the text of `name` and the settings that differ from the configuration `published`.
    /// `None` if this configuration has another algorithm.
    fn text_over(&self, name: &str, published: &Self) -> Option<String> {
        let alike = published.name() == self.name();
        let differing: Vec<String> = (self.settings().into_iter().zip(published.settings()))
            .filter(|(own, published)| own != published)
            .map(|((key, value), _)| format!("{key}={value}"))
            .collect();
        let colon = if differing.is_empty() { "" } else { ":" };
        alike.then(|| format!("{name}{colon}{}", differing.join(",")))
    }
}

/// Refuses a first timer or a maximum of zero, because such a timer would fire repeatedly at the
/// same instant.
fn refuse_zero(keys: &mut dyn Keys) -> Result<(), Contradiction> {
    let [initial, _, max] = keys.bounds();
    let constants = keys.keys();
    let is_zero =
        |key| constants.iter().any(|(known, constant)| *known == key && constant.span() == ZERO);
    match [initial, max].into_iter().flatten().find(|key| is_zero(*key)) {
        None => Ok(()),
        Some(key) => {
            let (message, fix) =
                ("a timer with an RTO of zero would fire immediately", "write a time above zero");
            Err(Contradiction { key, message: message.into(), fix: fix.into() })
        }
    }
}

const ZERO: Option<Duration> = Some(Duration::ZERO);

impl fmt::Display for EstimatorConfig {
    /// Writes the shortest text that reads as this timer: a name, and the settings that differ from
    /// the published constants of that name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Foreign(config) = self {
            return f.write_str(config.text());
        }
        f.write_str(&self.shortest(|name| self.text_over(name, &Self::published(name)?)))
    }
}

impl FromStr for EstimatorConfig {
    type Err = EstimatorError;

    fn from_str(text: &str) -> Result<Self, EstimatorError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::TestRng;

    use super::super::arith::Ratio;
    use super::super::keys::Constant;
    use super::super::mean::Deviations;
    use super::*;

    /// Reads a correct text.
    fn parse(text: &str) -> EstimatorConfig {
        EstimatorConfig::parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads a faulty text, and returns the error message.
    fn error(text: &str) -> String {
        EstimatorConfig::parse(text).unwrap_err().to_string()
    }

    /// The names and the aliases of all algorithms.
    fn names() -> impl Iterator<Item = &'static str> {
        EstimatorConfig::NAMES.iter().chain(EstimatorConfig::ALIASES).copied()
    }

    #[test]
    fn a_name_without_settings_means_the_published_constants() {
        for name in names() {
            let published = parse(name);
            assert_eq!(published.to_string(), name);
            assert_eq!(published.check(), Ok(()));
        }
        for name in EstimatorConfig::NAMES {
            assert_eq!(Some(parse(name)), EstimatorConfig::named(name));
        }
        assert_eq!(parse("rfc2988"), EstimatorConfig::Rfc6298(Rfc6298Config::rfc2988()));
    }

    #[test]
    fn blanks_around_names_and_values_are_ignored_and_the_written_text_has_none() {
        let config = MillsConfig {
            falling: Ratio::new(7, 8),
            g: Ratio::new(3, 2),
            max: Some(Duration::from_secs(30)),
            karn: true,
            ..MillsConfig::default()
        };
        let written = parse(" mills : falling = 0.875 , g=3/2, max=30s,karn=true ");
        assert_eq!(written, EstimatorConfig::Mills(config));
        assert_eq!(written.to_string(), "mills:falling=7/8,g=3/2,max=30s,karn=true");
        assert_eq!(parse("mills:max=none"), parse("mills"));
    }

    #[test]
    fn a_timer_is_written_with_an_alias_if_this_text_is_shorter() {
        let old = parse("rfc6298:initial=3 s,spread_gains=false");
        assert_eq!(old.to_string(), "rfc2988");
        assert_eq!(parse("rfc2988:max=64 s").to_string(), "rfc2988:max=64s");
        assert_eq!(parse("rfc6298:initial=3 s").to_string(), "rfc6298:initial=3s");
    }

    #[test]
    fn an_error_names_the_algorithm_the_key_the_value_and_the_fix() {
        for (text, message) in [
            ("linus", "no timer is called `linus`: did you mean `linux`?"),
            ("mills:fallin=1/2", "mills: no key `fallin`: did you mean `falling`?"),
            ("fixed:colour=red", "fixed: no key `colour`: write one of rto, max"),
            ("fixed:", "there are no settings after `fixed:`: write `fixed`"),
            ("fixed:rto", "fixed: `rto` is not a setting: write `fixed`, or `fixed:key=value,...`"),
            (
                "fixed:rto=200",
                "fixed: `rto` cannot be `200`: `200` has no unit: write `200 ms` or `200 s`",
            ),
            ("fixed:rto=1s,rto=2s", "fixed: `rto` is given twice: leave one out"),
            (
                "mills:g=-2",
                "mills: `g` cannot be `-2`: write a ratio of two numbers below 1000000000, as in `7/8` or `0.875`",
            ),
            ("mills:karn=yes", "mills: `karn` cannot be `yes`: write `true` or `false`"),
            (
                "rfc6298:k=4.5",
                "rfc6298: `k` cannot be `4.5`: write a whole number from 0 to 4294967295",
            ),
        ] {
            assert_eq!(error(text), message);
        }
        let error = EstimatorConfig::parse("linux:rto_mn=50ms").unwrap_err();
        assert_eq!((&*error.algorithm, &*error.key, &*error.value), ("linux", "rto_mn", "50ms"));
    }

    #[test]
    fn constants_that_contradict_each_other_are_an_error() {
        for (text, message) in [
            (
                "fixed:rto=5 s",
                "fixed: `rto`: 5 s is above `max`, 3 s: write at most 3 s, or raise `max`",
            ),
            (
                "rfc6298:min=2 s,max=1 s",
                "rfc6298: `min`: 2 s is above `max`, 1 s: write at most 1 s, or raise `max`",
            ),
            ("mills:rising=5/4", "mills: `rising`: 5/4 is above 1: write a ratio from 0 to 1"),
            ("ns2:tick=0 s", "ns2: `tick`: the time is zero: write a time above zero"),
            (
                "ns2:tick=2h",
                "ns2: `tick`: the RTO is at least 2 ticks, which is above `max`, 60 s: write at \
                 most 30 s, or raise `max`",
            ),
            (
                "quic:initial_rtt=0 s",
                "quic: `initial_rtt`: a timer with an RTO of zero would fire immediately: write a \
                 time above zero",
            ),
        ] {
            assert_eq!(error(text), message);
        }
    }

    #[test]
    fn a_clock_sets_the_unit_of_the_algorithms_of_its_host() {
        let tick = Duration::from_millis(100);
        let ticking = Clock::ticking(tick, Duration::ZERO).unwrap();
        let on = |text, clock| EstimatorConfig::parse_on(text, clock).unwrap().to_string();
        assert_eq!(on("ns2", ticking), "ns2:tick=100ms");
        assert_eq!(on("linux", Clock::LINUX_HZ250), "linux:jiffy=4ms");
        assert_eq!(on("linux:jiffy=10ms", Clock::LINUX_HZ250), "linux:jiffy=10ms");
        assert_eq!(on("linux", ticking), "linux");
    }

    #[test]
    fn bounds_are_found_and_set_under_any_name_that_the_algorithm_gives_them() {
        let ms = |n| Some(Duration::from_millis(n));
        let bounds = Bounds { initial: ms(500), min: ms(20), max: ms(9000) };
        let missing = [("bsd44", "initial"), ("quic", "min"), ("fixed", "min"), ("cocoa", "min")];
        for name in EstimatorConfig::NAMES {
            match (
                parse(name).within(bounds),
                missing.iter().find(|(algorithm, _)| algorithm == name),
            ) {
                (Err(bound), Some((_, missing))) => assert_eq!(bound, *missing),
                (Ok(algorithm), None) => assert_eq!(algorithm.bounds(), bounds, "{name}"),
                (got, _) => panic!("{name}: {got:?}"),
            }
            assert_eq!(parse(name).within(Bounds::default()), Ok(parse(name)));
        }
    }

    /// Sets every key to a random value. Most values are valid.
    fn scramble(config: &mut EstimatorConfig, rng: &mut TestRng) {
        for (_, mut constant) in config.keys_mut().keys() {
            let n = rng.next_u64();
            let span = Duration::from_nanos(n >> (14 + n % 50));
            match &mut constant {
                Constant::Span(to) => **to = span,
                Constant::MaybeSpan(to) => **to = (!n.is_multiple_of(3)).then_some(span),
                Constant::Ratio(to) => **to = Ratio::new(n % 1000, n % 997 + 1),
                Constant::Halves(to) => **to = u32::try_from(n % 2000).unwrap(),
                Constant::MaybeBytes(to) => **to = (!n.is_multiple_of(3)).then_some(n >> 8),
                Constant::Count(to) => **to = u32::try_from(n % 200).unwrap(),
                Constant::MaybeSeed(to) => **to = (!n.is_multiple_of(3)).then_some(n >> 1),
                Constant::Switch(to) => **to = n.is_multiple_of(2),
                Constant::Deviations(to) => {
                    **to = if n.is_multiple_of(2) { Deviations::Two } else { Deviations::Four }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_text_of_all_settings_and_the_shortest_text_read_as_the_same_timer(
            index in 0..EstimatorConfig::NAMES.len(),
            rng in any::<()>().prop_perturb(|(), rng| rng),
        ) {
            let mut rng = rng;
            let name = EstimatorConfig::NAMES[index];
            let mut config = EstimatorConfig::named(name).unwrap();
            scramble(&mut config, &mut rng);
            let settings: Vec<String> =
                config.settings().iter().map(|(key, value)| format!("{key}={value}")).collect();
            let full = EstimatorConfig::parse(&format!("{name}:{}", settings.join(",")));
            let short = EstimatorConfig::parse(&config.to_string());
            match config.check() {
                Ok(()) => {
                    prop_assert_eq!(full, Ok(config));
                    prop_assert_eq!(short, Ok(config));
                    config.build();
                }
                Err(error) => {
                    prop_assert_eq!(full.map_err(|e| e.message), Err(error.message.clone()));
                    prop_assert_eq!(short.map_err(|e| e.message), Err(error.message));
                }
            }
        }

        #[test]
        fn the_text_without_bounds_and_the_bounds_together_give_the_same_timer(
            index in 0..EstimatorConfig::NAMES.len(),
            tick in proptest::option::of(1..500_000_000_u64),
            rng in any::<()>().prop_perturb(|(), rng| rng),
        ) {
            let mut rng = rng;
            let clock = tick.map_or(Clock::LINUX_HZ250, |tick| {
                Clock::ticking(Duration::from_nanos(tick), Duration::ZERO).unwrap()
            });
            let mut config = EstimatorConfig::named(EstimatorConfig::NAMES[index]).unwrap();
            scramble(&mut config, &mut rng);
            let text = config.unbounded_text_on(clock);
            prop_assert_eq!(EstimatorConfig::bounds_in(&text), Ok([false; 3]), "{}", text);
            let (read, _) = EstimatorConfig::read_on(&text, clock).unwrap();
            prop_assert_eq!(read.within(config.bounds()), Ok(config), "{}", text);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[a-z0-9_]{0,8}:?[a-z_]{0,8}=?[-0-9./ a-zµ]{0,12}|.{0,40}") {
            let _ = EstimatorConfig::parse(&text);
        }
    }
}
