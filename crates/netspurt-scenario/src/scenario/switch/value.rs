//! The values of switches, which are named settings of TCP.

/// The value of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchValue {
    /// A boolean.
    Flag(bool),
    /// A number, in the unit of the switch's kind.
    Number(u64),
    /// One of the words of the switch's kind, or the text that names a congestion control algorithm
    /// of the user, such as `mine.py:Mine`.
    Word(&'static str),
    /// A timer as text, such as `linux:rto_min=50ms`.
    Text(String),
    /// Values by key.
    Table(Vec<(&'static str, SwitchValue)>),
}

/// The message of the panic if the kind of a value is not the kind of its switch. The panic never
/// happens, because the reader of scenarios checks the kind.
const ANOTHER_KIND: &str = "a value has the kind of its switch";

impl SwitchValue {
    /// The value of a boolean switch.
    pub fn flag(&self) -> bool {
        match self {
            Self::Flag(on) => *on,
            _ => panic!("{ANOTHER_KIND}"),
        }
    }

    /// The value of a numeric switch.
    pub fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            _ => panic!("{ANOTHER_KIND}"),
        }
    }

    /// The number of a switch whose kind has a bound below 2^32.
    pub fn small(&self) -> u32 {
        u32::try_from(self.number()).expect(ANOTHER_KIND)
    }

    /// Returns the word or the text; `None` for any other value.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of `key` in a table. Returns `None` if the value is no table or has no
    /// such key.
    pub fn part(&self, key: &str) -> Option<&SwitchValue> {
        match self {
            Self::Table(parts) => parts.iter().find(|(known, _)| *known == key).map(|(_, v)| v),
            _ => None,
        }
    }
}
