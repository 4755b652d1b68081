//! The definition of a switch, which is a named setting of TCP. The definition has the key and the
//! kind of the switch, a line of documentation, and its place in each sender's configuration.

use netspurt::plan::KernelTcp;
use netspurt::tcp::{NsConfig, RfcConfig};
use netspurt::units::Duration;

use super::kind::SwitchKind;
use super::value::SwitchValue;
use super::words::{Words, words};

/// A switch of a TCP connection. Each switch is defined in one place, for all code that reads,
/// writes, checks or lists switches.
#[derive(Debug)]
pub struct Switch {
    /// The key of the switch in the table `tcp`. For example, `rto.min` is `min` in the table `rto`.
    pub key: &'static str,
    /// What the switch does, in one line.
    pub doc: &'static str,
    /// The values that the switch takes.
    pub kind: SwitchKind,
    /// Whether a change of the switch affects an open connection immediately. Linux reads the
    /// sysctl of such a switch each time that it needs the value.
    live: bool,
    /// Where the switch is stored in the configuration of ns-2's senders.
    ns: Option<Access<NsConfig>>,
    /// Where the switch is stored in the configuration of byte-sequenced connections, which give
    /// each octet a sequence number. (ns-2's senders give each segment a number.)
    rfc: Option<Access<RfcConfig>>,
    /// Where the switch is stored in the configuration of the kernel.
    kernel: Option<Access<KernelTcp>>,
}

/// How a switch is read from a configuration and written to it.
#[derive(Clone, Copy, Debug)]
pub struct Access<C: 'static> {
    via: Via<C>,
    /// The kernel's bounds, if they are narrower than the bounds of the switch's kind.
    bounds: Option<[u64; 2]>,
}

#[derive(Clone, Copy, Debug)]
enum Via<C: 'static> {
    /// One field of the configuration holds the value of the switch.
    Field(fn(&mut C) -> Field<'_>),
    /// Two functions read and write the switch.
    Rule(Rule<C>),
}

/// How a switch is read and written if a [`Field`] is not enough.
#[derive(Clone, Copy, Debug)]
pub struct Rule<C: 'static> {
    /// Returns the value. `None` if the switch does not apply to this configuration, for example
    /// because of its congestion control algorithm. Also `None` if the kernel chooses the value.
    pub read: fn(&C) -> Option<SwitchValue>,
    /// Sets the value.
    pub write: fn(&mut C, &SwitchValue) -> Result<(), Refusal>,
}

/// A field that holds the value of a switch.
pub enum Field<'a> {
    /// A boolean.
    Flag(&'a mut bool),
    /// A number below 2^32.
    Small(&'a mut u32),
    /// A number.
    Number(&'a mut u64),
    /// A time.
    Time(&'a mut Duration),
    /// One of several words.
    Word(&'a mut dyn Worded),
}

/// A field whose value is one of several words.
pub trait Worded {
    /// Returns the word of the field's value.
    fn get(&self) -> &'static str;
    /// Sets the field to the value whose word is `word`. Panics if the field has no such word.
    fn set(&mut self, word: &str);
}

impl<T: Words> Worded for T {
    fn get(&self) -> &'static str {
        self.word()
    }

    fn set(&mut self, word: &str) {
        *self = T::of_word(word).expect("the reader has checked the word");
    }
}

/// Why a configuration refuses a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// If the value of the switch is a table, the key in it that is to blame. `None` if the whole
    /// value is to blame.
    pub part: Option<&'static str>,
    /// The mistake.
    pub message: String,
    /// The fix.
    pub fix: String,
}

impl Refusal {
    /// Makes a refusal that blames the whole value.
    pub fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { part: None, message: message.into(), fix: fix.into() }
    }

    /// Returns the refusal, but with the blame on `key`, a key in the table that is the value.
    pub fn of_part(self, key: &'static str) -> Self {
        Self { part: Some(key), ..self }
    }
}

impl Field<'_> {
    fn get(&self) -> SwitchValue {
        match self {
            Self::Flag(on) => SwitchValue::Flag(**on),
            Self::Small(number) => SwitchValue::Number(u64::from(**number)),
            Self::Number(number) => SwitchValue::Number(**number),
            Self::Time(time) => SwitchValue::Number(time.as_nanos()),
            Self::Word(word) => SwitchValue::Word(word.get()),
        }
    }

    fn set(self, value: &SwitchValue) {
        match self {
            Self::Flag(on) => *on = value.flag(),
            Self::Small(number) => *number = value.small(),
            Self::Number(number) => *number = value.number(),
            Self::Time(time) => *time = Duration::from_nanos(value.number()),
            Self::Word(word) => word.set(value.text().unwrap_or_default()),
        }
    }
}

/// A configuration that contains switches.
pub trait Configured: Copy + 'static {
    /// Returns how the configuration stores `switch`; `None` if it has no such switch.
    fn access(switch: &Switch) -> Option<Access<Self>>;
}

impl Configured for NsConfig {
    fn access(switch: &Switch) -> Option<Access<Self>> {
        switch.ns
    }
}

impl Configured for RfcConfig {
    fn access(switch: &Switch) -> Option<Access<Self>> {
        switch.rfc
    }
}

impl Configured for KernelTcp {
    fn access(switch: &Switch) -> Option<Access<Self>> {
        switch.kernel
    }
}

impl Switch {
    /// Makes a switch that belongs to no configuration yet.
    pub const fn new(key: &'static str, doc: &'static str, kind: SwitchKind) -> Self {
        Self { key, doc, kind, live: false, ns: None, rfc: None, kernel: None }
    }

    /// Makes a boolean switch that belongs to no configuration yet.
    pub const fn flag(key: &'static str, doc: &'static str) -> Self {
        Self::new(key, doc, SwitchKind::Flag)
    }

    /// Makes a switch whose values are the words of `T`. The switch belongs to no configuration
    /// yet.
    pub const fn word<T: Words>(key: &'static str, doc: &'static str) -> Self {
        Self::new(key, doc, SwitchKind::Word(words::<T>))
    }

    /// Adds the switch to the configuration of ns-2's senders, where the field `at` holds its
    /// value.
    pub const fn ns(mut self, at: fn(&mut NsConfig) -> Field<'_>) -> Self {
        self.ns = Some(Access { via: Via::Field(at), bounds: None });
        self
    }

    /// Adds the switch to the configuration of ns-2's senders, where `rule` reads and writes its
    /// value.
    pub const fn ns_rule(mut self, rule: Rule<NsConfig>) -> Self {
        self.ns = Some(Access { via: Via::Rule(rule), bounds: None });
        self
    }

    /// Adds the switch to the configuration of byte-sequenced connections, where the field `at`
    /// holds its value.
    pub const fn rfc(mut self, at: fn(&mut RfcConfig) -> Field<'_>) -> Self {
        self.rfc = Some(Access { via: Via::Field(at), bounds: None });
        self
    }

    /// Adds the switch to the configuration of byte-sequenced connections, where `rule` reads and
    /// writes its value.
    pub const fn rfc_rule(mut self, rule: Rule<RfcConfig>) -> Self {
        self.rfc = Some(Access { via: Via::Rule(rule), bounds: None });
        self
    }

    /// Adds the switch to the configuration of the kernel, where the field `at` holds its value.
    pub const fn kernel(mut self, at: fn(&mut KernelTcp) -> Field<'_>) -> Self {
        self.kernel = Some(Access { via: Via::Field(at), bounds: None });
        self
    }

    /// Adds the switch to the configuration of the kernel, where `rule` reads and writes its value.
    pub const fn kernel_rule(mut self, rule: Rule<KernelTcp>) -> Self {
        self.kernel = Some(Access { via: Via::Rule(rule), bounds: None });
        self
    }

    /// Lets a change of the switch affect an open connection immediately.
    pub const fn live(mut self) -> Self {
        self.live = true;
        self
    }

    /// Sets narrower bounds for the kernel, if the kernel's configuration has the switch.
    pub const fn kernel_bounds(mut self, min: u64, max: u64) -> Self {
        if let Some(access) = &mut self.kernel {
            access.bounds = Some([min, max]);
        }
        self
    }

    /// Returns the table that contains the switch, if there is one, and the key in that table.
    pub fn place(&self) -> (Option<&'static str>, &'static str) {
        match self.key.split_once('.') {
            Some((table, key)) => (Some(table), key),
            None => (None, self.key),
        }
    }

    /// Whether a change of the switch affects an open connection immediately.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Whether one field of the configuration `C` holds the value of the switch.
    #[cfg(test)]
    pub fn is_a_field_of<C: Configured>(&self) -> bool {
        C::access(self).is_some_and(|access| matches!(access.via, Via::Field(_)))
    }

    /// Whether configurations of the type `C` have the switch.
    pub fn is_of<C: Configured>(&self) -> bool {
        C::access(self).is_some()
    }

    /// Returns the value of the switch in `config`; `None` if `config` has no value for it.
    pub fn read<C: Configured>(&self, config: &C) -> Option<SwitchValue> {
        match C::access(self)?.via {
            Via::Field(at) => {
                let mut config = *config;
                Some(at(&mut config).get())
            }
            Via::Rule(rule) => (rule.read)(config),
        }
    }

    /// Sets the switch in `config`. Does nothing if `config` has no such switch.
    ///
    /// # Errors
    /// When the configuration refuses the value.
    pub fn write<C: Configured>(&self, config: &mut C, value: &SwitchValue) -> Result<(), Refusal> {
        let Some(access) = C::access(self) else { return Ok(()) };
        if let (Some(bounds), SwitchKind::Number { unit, .. }) = (access.bounds, self.kind) {
            let checked = unit.within(value.number(), bounds);
            let refuse = |[message, fix]: [String; 2]| {
                Refusal::new(format!("{message} for the kernel"), fix)
            };
            checked.map_err(refuse)?;
        }
        match access.via {
            Via::Field(at) => at(config).set(value),
            Via::Rule(rule) => (rule.write)(config, value)?,
        }
        Ok(())
    }
}
