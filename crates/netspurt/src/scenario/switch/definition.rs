//! What a switch is: its key, its kind, a line of documentation, and where each sender keeps it.

use crate::tcp::{NsConfig, RfcConfig};
use crate::units::Duration;

use super::super::kernel_config::KernelTcp;
use super::kind::SwitchKind;
use super::value::SwitchValue;
use super::words::{Words, words};

/// A switch of a TCP connection, defined once for all that read, write, check or list switches.
#[derive(Debug)]
pub struct Switch {
    /// Its key below `tcp`; `rto.min` is `min` in the table `rto`.
    pub key: &'static str,
    /// What it does, in a line.
    pub doc: &'static str,
    /// What may be written behind the key.
    pub kind: SwitchKind,
    /// Where ns-2's senders keep it.
    ns: Option<Access<NsConfig>>,
    /// Where byte-sequenced connections keep it.
    rfc: Option<Access<RfcConfig>>,
    /// Where it is among what the kernel is asked for.
    kernel: Option<Access<KernelTcp>>,
}

/// How a switch is read from a configuration and written to it.
#[derive(Clone, Copy, Debug)]
pub struct Access<C: 'static> {
    via: Via<C>,
    /// The kernel's bounds, where they are narrower than those of the switch's kind.
    bounds: Option<[u64; 2]>,
}

#[derive(Clone, Copy, Debug)]
enum Via<C: 'static> {
    /// It is a field of its own.
    Field(fn(&mut C) -> Field<'_>),
    /// It takes a rule to read and to write it.
    Rule(Rule<C>),
}

/// How a switch is read and written that is no field of its own.
#[derive(Clone, Copy, Debug)]
pub struct Rule<C: 'static> {
    /// The value; `None` where the configuration has no such switch as it stands.
    pub read: fn(&C) -> Option<SwitchValue>,
    /// Sets it.
    pub write: fn(&mut C, &SwitchValue) -> Result<(), Refusal>,
}

/// A field that is the value of a switch.
pub enum Field<'a> {
    /// On or off.
    Flag(&'a mut bool),
    /// A number below 2^32.
    Small(&'a mut u32),
    /// A number.
    Number(&'a mut u64),
    /// A time.
    Time(&'a mut Duration),
    /// One of a few.
    Word(&'a mut dyn Worded),
}

/// A field that has a word.
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

/// Why a configuration does not take a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The key in the switch's table that is to blame, if it is one of them.
    pub part: Option<&'static str>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

impl Refusal {
    /// A refusal of a value as a whole.
    pub fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { part: None, message: message.into(), fix: fix.into() }
    }

    /// The same, of what stands behind `key` in the switch's table.
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

/// A configuration that switches are kept in.
pub trait Configured: Copy + 'static {
    /// How it keeps `switch`, if it does.
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
    /// A switch that no sender has yet.
    pub const fn new(key: &'static str, doc: &'static str, kind: SwitchKind) -> Self {
        Self { key, doc, kind, ns: None, rfc: None, kernel: None }
    }

    /// One that is on or off.
    pub const fn flag(key: &'static str, doc: &'static str) -> Self {
        Self::new(key, doc, SwitchKind::Flag)
    }

    /// One that has a word of `T`.
    pub const fn word<T: Words>(key: &'static str, doc: &'static str) -> Self {
        Self::new(key, doc, SwitchKind::Word(words::<T>))
    }

    /// The same, kept by ns-2's senders in this field.
    pub const fn ns(mut self, at: fn(&mut NsConfig) -> Field<'_>) -> Self {
        self.ns = Some(Access { via: Via::Field(at), bounds: None });
        self
    }

    /// The same, kept by ns-2's senders under this rule.
    pub const fn ns_rule(mut self, rule: Rule<NsConfig>) -> Self {
        self.ns = Some(Access { via: Via::Rule(rule), bounds: None });
        self
    }

    /// The same, kept by byte-sequenced connections in this field.
    pub const fn rfc(mut self, at: fn(&mut RfcConfig) -> Field<'_>) -> Self {
        self.rfc = Some(Access { via: Via::Field(at), bounds: None });
        self
    }

    /// The same, kept by byte-sequenced connections under this rule.
    pub const fn rfc_rule(mut self, rule: Rule<RfcConfig>) -> Self {
        self.rfc = Some(Access { via: Via::Rule(rule), bounds: None });
        self
    }

    /// The same, asked of the kernel in this field.
    pub const fn kernel(mut self, at: fn(&mut KernelTcp) -> Field<'_>) -> Self {
        self.kernel = Some(Access { via: Via::Field(at), bounds: None });
        self
    }

    /// The same, asked of the kernel under this rule.
    pub const fn kernel_rule(mut self, rule: Rule<KernelTcp>) -> Self {
        self.kernel = Some(Access { via: Via::Rule(rule), bounds: None });
        self
    }

    /// The same, of which the kernel takes only so much.
    pub const fn kernel_bounds(mut self, least: u64, most: u64) -> Self {
        if let Some(access) = &mut self.kernel {
            access.bounds = Some([least, most]);
        }
        self
    }

    /// The table the switch lies in, if it lies in one, and its key there.
    pub fn place(&self) -> (Option<&'static str>, &'static str) {
        match self.key.split_once('.') {
            Some((table, key)) => (Some(table), key),
            None => (None, self.key),
        }
    }

    /// Whether configurations of this type keep it.
    pub fn is_of<C: Configured>(&self) -> bool {
        C::access(self).is_some()
    }

    /// Its value in `config`; `None` where that has no such switch.
    pub fn read<C: Configured>(&self, config: &C) -> Option<SwitchValue> {
        match C::access(self)?.via {
            Via::Field(at) => {
                let mut config = *config;
                Some(at(&mut config).get())
            }
            Via::Rule(rule) => (rule.read)(config),
        }
    }

    /// Sets it in `config`, which keeps it.
    ///
    /// # Errors
    /// When the configuration does not take the value.
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
