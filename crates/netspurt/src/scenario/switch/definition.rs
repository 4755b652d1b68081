//! The definition of a switch: key, kind, a line of documentation, and its place in each sender's
//! configuration.

use crate::tcp::{NsConfig, RfcConfig};
use crate::units::Duration;

use super::super::kernel_config::KernelTcp;
use super::kind::SwitchKind;
use super::value::SwitchValue;
use super::words::{Words, words};

/// A switch of a TCP connection, defined once for all code that reads, writes, checks or lists
/// switches.
#[derive(Debug)]
pub struct Switch {
    /// Its key below `tcp`; `rto.min` is `min` in the table `rto`.
    pub key: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// The values that it takes.
    pub kind: SwitchKind,
    /// Its place in the configuration of ns-2's senders.
    ns: Option<Access<NsConfig>>,
    /// Its place in the configuration of byte-sequenced connections.
    rfc: Option<Access<RfcConfig>>,
    /// Its place in the configuration of the kernel.
    kernel: Option<Access<KernelTcp>>,
}

/// How a switch is read from a configuration and written to it.
#[derive(Clone, Copy, Debug)]
pub struct Access<C: 'static> {
    via: Via<C>,
    /// The kernel's bounds, if they are narrower than those of the switch's kind.
    bounds: Option<[u64; 2]>,
}

#[derive(Clone, Copy, Debug)]
enum Via<C: 'static> {
    /// The switch is a field.
    Field(fn(&mut C) -> Field<'_>),
    /// Reading and writing the switch needs a rule.
    Rule(Rule<C>),
}

/// How a switch that is not a field is read and written.
#[derive(Clone, Copy, Debug)]
pub struct Rule<C: 'static> {
    /// The value; `None` if the configuration does not have the switch at present.
    pub read: fn(&C) -> Option<SwitchValue>,
    /// Sets it.
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

/// A field whose values have words.
pub trait Worded {
    /// Its word.
    fn get(&self) -> &'static str;
    /// Sets it by its word.
    fn set(&mut self, word: &str);
}

impl<T: Words> Worded for T {
    fn get(&self) -> &'static str {
        self.word()
    }

    fn set(&mut self, word: &str) {
        *self = T::of_word(word).expect("reading checks words");
    }
}

/// Why a configuration refuses a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The key in the switch's table that is to blame, if there is one.
    pub part: Option<&'static str>,
    /// The mistake.
    pub message: String,
    /// The fix.
    pub fix: String,
}

impl Refusal {
    /// A refusal of a value as a whole.
    pub fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { part: None, message: message.into(), fix: fix.into() }
    }

    /// The same, for the value of `key` in the switch's table.
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
    /// How the configuration stores `switch`; `None` if it has no such switch.
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
    /// A switch that no sender has so far.
    pub const fn new(key: &'static str, doc: &'static str, kind: SwitchKind) -> Self {
        Self { key, doc, kind, ns: None, rfc: None, kernel: None }
    }

    /// A boolean switch.
    pub const fn flag(key: &'static str, doc: &'static str) -> Self {
        Self::new(key, doc, SwitchKind::Flag)
    }

    /// A switch with a word of `T`.
    pub const fn word<T: Words>(key: &'static str, doc: &'static str) -> Self {
        Self::new(key, doc, SwitchKind::Word(words::<T>))
    }

    /// The same, stored by ns-2's senders in this field.
    pub const fn ns(mut self, at: fn(&mut NsConfig) -> Field<'_>) -> Self {
        self.ns = Some(Access { via: Via::Field(at), bounds: None });
        self
    }

    /// The same, stored by ns-2's senders under this rule.
    pub const fn ns_rule(mut self, rule: Rule<NsConfig>) -> Self {
        self.ns = Some(Access { via: Via::Rule(rule), bounds: None });
        self
    }

    /// The same, stored by byte-sequenced connections in this field.
    pub const fn rfc(mut self, at: fn(&mut RfcConfig) -> Field<'_>) -> Self {
        self.rfc = Some(Access { via: Via::Field(at), bounds: None });
        self
    }

    /// The same, stored by byte-sequenced connections under this rule.
    pub const fn rfc_rule(mut self, rule: Rule<RfcConfig>) -> Self {
        self.rfc = Some(Access { via: Via::Rule(rule), bounds: None });
        self
    }

    /// The same, stored for the kernel in this field.
    pub const fn kernel(mut self, at: fn(&mut KernelTcp) -> Field<'_>) -> Self {
        self.kernel = Some(Access { via: Via::Field(at), bounds: None });
        self
    }

    /// The same, stored for the kernel under this rule.
    pub const fn kernel_rule(mut self, rule: Rule<KernelTcp>) -> Self {
        self.kernel = Some(Access { via: Via::Rule(rule), bounds: None });
        self
    }

    /// The same, with narrower bounds for the kernel.
    pub const fn kernel_bounds(mut self, min: u64, max: u64) -> Self {
        if let Some(access) = &mut self.kernel {
            access.bounds = Some([min, max]);
        }
        self
    }

    /// The table that contains the switch, if there is one, and its key there.
    pub fn place(&self) -> (Option<&'static str>, &'static str) {
        match self.key.split_once('.') {
            Some((table, key)) => (Some(table), key),
            None => (None, self.key),
        }
    }

    /// Whether configurations of this type have it.
    pub fn is_of<C: Configured>(&self) -> bool {
        C::access(self).is_some()
    }

    /// Its value in `config`; `None` if `config` has no such switch.
    pub fn read<C: Configured>(&self, config: &C) -> Option<SwitchValue> {
        match C::access(self)?.via {
            Via::Field(at) => {
                let mut config = *config;
                Some(at(&mut config).get())
            }
            Via::Rule(rule) => (rule.read)(config),
        }
    }

    /// Sets the switch in `config`, which must have it.
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
