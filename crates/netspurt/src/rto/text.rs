//! Timers as text: a name, and the constants that differ from what is published under it.

use core::fmt;
use core::str::FromStr;

use crate::units::Duration;

use super::keys::{Contradiction, EstimatorError, Keys};
use super::{EstimatorConfig, MillsConfig, Rfc6298Config};

/// The bounds of a timer, as far as its law has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The timer before any sample.
    pub initial: Option<Duration>,
    /// The least.
    pub min: Option<Duration>,
    /// The greatest.
    pub max: Option<Duration>,
}

impl EstimatorConfig {
    /// Other names: constants of a law that are known by a name of their own.
    pub const ALIASES: &[&str] = &["rfc2988", "mills-single"];

    /// The constants known as `alias`.
    fn aliased(alias: &str) -> Option<Self> {
        match alias {
            "rfc2988" => Some(Self::Rfc6298(Rfc6298Config::rfc2988())),
            "mills-single" => Some(Self::Mills(MillsConfig::single_gain())),
            _ => None,
        }
    }

    /// The law called `name`, or the constants known by it.
    fn published(name: &str) -> Option<Self> {
        Self::named(name).or_else(|| Self::aliased(name))
    }

    /// Reads a timer: a name, and constants under the names of their fields.
    ///
    /// Times are written with their unit, ratios as `7/8` or `0.875`, what may be absent as `none`.
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
    /// An unknown name, an unknown key or one given twice, a value that is none, or constants that
    /// contradict each other.
    pub fn parse(text: &str) -> Result<Self, EstimatorError> {
        let (name, settings) = match text.split_once(':') {
            None => (text.trim(), None),
            Some((name, settings)) => (name.trim(), Some(settings)),
        };
        let mut config = Self::published(name).ok_or_else(|| {
            let known: Vec<&str> = Self::NAMES.iter().chain(Self::ALIASES).copied().collect();
            EstimatorError::unknown(name, "", "", format!("no timer is called `{name}`"), &known)
        })?;
        if settings.is_some_and(|settings| settings.trim().is_empty()) {
            let (message, fix) =
                (format!("nothing stands after `{name}:`"), format!("write `{name}`"));
            return Err(EstimatorError::new(name, "", "", message, fix));
        }
        let mut given = Vec::new();
        for setting in settings.iter().flat_map(|settings| settings.split(',')) {
            let key = config.read(name, setting)?;
            if given.contains(&key) {
                let (message, fix) = (format!("`{key}` is given twice"), "leave one out".into());
                return Err(EstimatorError::new(name, key, "", message, fix));
            }
            given.push(key);
        }
        config.check().map(|()| config)
    }

    /// Reads `key=value` over what stands, and returns the key.
    fn read(&mut self, name: &str, setting: &str) -> Result<&'static str, EstimatorError> {
        let Some((key, value)) = setting.split_once('=') else {
            let message = format!("`{}` is no setting", setting.trim());
            let fix = format!("write `{name}`, or `{name}:key=value,...`");
            return Err(EstimatorError::new(name, setting.trim(), "", message, fix));
        };
        let (key, value) = (key.trim(), value.trim());
        let mut slots = self.keys_mut().keys();
        let known: Vec<&str> = slots.iter().map(|(known, _)| *known).collect();
        let Some((key, slot)) = slots.iter_mut().find(|(known, _)| *known == key) else {
            let message = format!("no key `{key}`");
            return Err(EstimatorError::unknown(name, key, value, message, &known));
        };
        slot.read(value).map_err(|fix| {
            let message = format!("`{key}` cannot be `{value}`");
            EstimatorError::new(name, key, value, message, fix)
        })?;
        Ok(key)
    }

    /// Every constant as text under its key, so that the name and these read as the same timer.
    ///
    /// ```
    /// use netspurt::rto::EstimatorConfig;
    /// let fixed = EstimatorConfig::named("fixed").unwrap();
    /// assert_eq!(fixed.settings(), [("rto", "3s".to_owned()), ("max", "3s".to_owned())]);
    /// ```
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let mut config = *self;
        config.keys_mut().keys().iter().map(|(key, slot)| (*key, slot.write())).collect()
    }

    /// Whether the constants stand together, so that [`build`](Self::build) makes a timer of them.
    ///
    /// # Errors
    /// The key to blame.
    pub fn check(&self) -> Result<(), EstimatorError> {
        let mut config = *self;
        let keys = config.keys_mut();
        let found = keys.check().and_then(|()| fires(keys));
        found.map_err(|Contradiction { key, message, fix }| {
            let settings = self.settings();
            let stands = settings.iter().find(|(known, _)| *known == key);
            let value = stands.map_or("", |(_, value)| value);
            EstimatorError::new(self.name(), key, value, format!("`{key}`: {message}"), fix)
        })
    }

    /// The bounds, whatever the law calls them.
    pub fn bounds(&self) -> Bounds {
        let mut config = *self;
        let keys = config.keys_mut().bounds();
        let slots = config.keys_mut().keys();
        let of = |key: Option<&str>| {
            slots.iter().find(|(known, _)| Some(*known) == key).and_then(|(_, slot)| slot.span())
        };
        let [initial, min, max] = keys.map(of);
        Bounds { initial, min, max }
    }

    /// The same timer within those of `bounds` that are given.
    ///
    /// # Errors
    /// The name of a bound that the law does not have: `initial`, `min` or `max`.
    pub fn within(&self, bounds: Bounds) -> Result<Self, &'static str> {
        let mut config = *self;
        let keys = config.keys_mut().bounds();
        let Bounds { initial, min, max } = bounds;
        let given = [("initial", initial), ("min", min), ("max", max)];
        for ((name, to), key) in given.into_iter().zip(keys) {
            let Some(to) = to else { continue };
            let key = key.ok_or(name)?;
            for (known, mut slot) in config.keys_mut().keys() {
                if known == key {
                    slot.set_span(to);
                }
            }
        }
        Ok(config)
    }

    /// The text that starts from the name `start`.
    fn text_from(&self, start: &str) -> Option<String> {
        let published = Self::published(start).filter(|law| law.name() == self.name())?;
        let differing: Vec<String> = (self.settings().into_iter().zip(published.settings()))
            .filter(|(own, published)| own != published)
            .map(|((key, value), _)| format!("{key}={value}"))
            .collect();
        let colon = if differing.is_empty() { "" } else { ":" };
        Some(format!("{start}{colon}{}", differing.join(",")))
    }
}

/// A first timer or a ceiling of nothing would fire at once, for ever.
fn fires(keys: &mut dyn Keys) -> Result<(), Contradiction> {
    let [initial, _, max] = keys.bounds();
    let slots = keys.keys();
    let is_zero = |key| slots.iter().any(|(known, slot)| *known == key && slot.span() == ZERO);
    match [initial, max].into_iter().flatten().find(|key| is_zero(*key)) {
        None => Ok(()),
        Some(key) => {
            let (message, fix) = ("a timer that fires at once", "write a time above zero");
            Err(Contradiction { key, message: message.into(), fix: fix.into() })
        }
    }
}

const ZERO: Option<Duration> = Some(Duration::ZERO);

impl fmt::Display for EstimatorConfig {
    /// The shortest text that reads as this timer: a name, and what differs from what is published
    /// under it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = core::iter::once(self.name()).chain(Self::ALIASES.iter().copied());
        let shortest = names.filter_map(|name| self.text_from(name)).min_by_key(String::len);
        f.write_str(&shortest.unwrap_or_default())
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
    use super::super::jacobson88::Deviations;
    use super::super::keys::Slot;
    use super::*;

    fn parse(text: &str) -> EstimatorConfig {
        EstimatorConfig::parse(text).unwrap_or_else(|slip| panic!("{slip}"))
    }

    fn slip(text: &str) -> String {
        EstimatorConfig::parse(text).unwrap_err().to_string()
    }

    fn names() -> impl Iterator<Item = &'static str> {
        EstimatorConfig::NAMES.iter().chain(EstimatorConfig::ALIASES).copied()
    }

    #[test]
    fn a_name_alone_is_what_is_published_under_it() {
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
    fn constants_are_written_as_in_scenarios_and_blanks_do_not_count() {
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
    fn what_is_published_under_another_name_is_called_by_it() {
        let old = parse("rfc6298:initial=3 s,spread_gains=false");
        assert_eq!(old.to_string(), "rfc2988");
        assert_eq!(parse("rfc2988:max=64 s").to_string(), "rfc2988:max=64s");
        assert_eq!(parse("rfc6298:initial=3 s").to_string(), "rfc6298:initial=3s");
    }

    #[test]
    fn a_slip_names_the_law_the_key_the_value_and_what_to_write() {
        for (text, message) in [
            ("linus", "no timer is called `linus`: did you mean `linux`?"),
            ("mills:fallin=1/2", "mills: no key `fallin`: did you mean `falling`?"),
            ("fixed:colour=red", "fixed: no key `colour`: write one of rto, max"),
            ("fixed:", "nothing stands after `fixed:`: write `fixed`"),
            ("fixed:rto", "fixed: `rto` is no setting: write `fixed`, or `fixed:key=value,...`"),
            (
                "fixed:rto=200",
                "fixed: `rto` cannot be `200`: `200` has no unit: write `200 ms` or `200 s`",
            ),
            ("fixed:rto=1s,rto=2s", "fixed: `rto` is given twice: leave one out"),
            (
                "mills:g=-2",
                "mills: `g` cannot be `-2`: write a ratio, as in `7/8` or `0.875`, of numbers below a thousand million",
            ),
            ("mills:karn=yes", "mills: `karn` cannot be `yes`: write `true` or `false`"),
            (
                "rfc6298:k=4.5",
                "rfc6298: `k` cannot be `4.5`: write a whole number from 0 to 4294967295",
            ),
        ] {
            assert_eq!(slip(text), message);
        }
        let slip = EstimatorConfig::parse("linux:rto_mn=50ms").unwrap_err();
        assert_eq!((&*slip.law, &*slip.key, &*slip.value), ("linux", "rto_mn", "50ms"));
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
            ("ns2:tick=0 s", "ns2: `tick`: a unit of nothing: write a time above zero"),
            (
                "quic:initial_rtt=0 s",
                "quic: `initial_rtt`: a timer that fires at once: write a time above zero",
            ),
        ] {
            assert_eq!(slip(text), message);
        }
    }

    #[test]
    fn bounds_are_found_and_set_whatever_the_law_calls_them() {
        let ms = |n| Some(Duration::from_millis(n));
        let bounds = Bounds { initial: ms(500), min: ms(20), max: ms(9000) };
        let missing = [("bsd44", "initial"), ("quic", "min"), ("fixed", "min"), ("cocoa", "min")];
        for name in EstimatorConfig::NAMES {
            match (parse(name).within(bounds), missing.iter().find(|(law, _)| law == name)) {
                (Err(bound), Some((_, missing))) => assert_eq!(bound, *missing),
                (Ok(law), None) => assert_eq!(law.bounds(), bounds, "{name}"),
                (got, _) => panic!("{name}: {got:?}"),
            }
            assert_eq!(parse(name).within(Bounds::default()), Ok(parse(name)));
        }
    }

    /// Puts random constants into every key, most of them sensible.
    fn scramble(config: &mut EstimatorConfig, rng: &mut TestRng) {
        for (_, mut slot) in config.keys_mut().keys() {
            let n = rng.next_u64();
            let span = Duration::from_nanos(n >> (14 + n % 50));
            match &mut slot {
                Slot::Span(to) => **to = span,
                Slot::MaybeSpan(to) => **to = (!n.is_multiple_of(3)).then_some(span),
                Slot::Ratio(to) => **to = Ratio::new(n % 1000, n % 997 + 1),
                Slot::Count(to) => **to = u32::try_from(n % 200).unwrap(),
                Slot::MaybeSeed(to) => **to = (!n.is_multiple_of(3)).then_some(n >> 1),
                Slot::Switch(to) => **to = n.is_multiple_of(2),
                Slot::Deviations(to) => {
                    **to = if n.is_multiple_of(2) { Deviations::Two } else { Deviations::Four }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn settings_and_the_shortest_text_read_as_the_same_timer(
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
                Err(slip) => {
                    prop_assert_eq!(full.map_err(|e| e.message), Err(slip.message.clone()));
                    prop_assert_eq!(short.map_err(|e| e.message), Err(slip.message));
                }
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[a-z0-9_]{0,8}:?[a-z_]{0,8}=?[-0-9./ a-zµ]{0,12}|.{0,40}") {
            let _ = EstimatorConfig::parse(&text);
        }
    }
}
