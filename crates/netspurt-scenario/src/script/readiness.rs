//! The readiness of a socket, as `poll` and `epoll` report it.

use core::fmt;
use core::ops::BitOr;

/// A set of bits such as `POLLIN` and `EPOLLOUT`. Linux gives the bits of `poll` and of `epoll` the
/// same numbers.
///
/// ```
/// use netspurt_scenario::script::Readiness;
/// let both = Readiness::IN | Readiness::OUT;
/// assert!(both.has(Readiness::OUT) && !both.has(Readiness::HANG_UP));
/// assert_eq!(both.to_string(), "EPOLLIN|EPOLLOUT");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness(pub u32);

impl Readiness {
    /// There is data to read, the end of the data, or a connection to accept.
    pub const IN: Self = Self(0x1);
    /// There is room to write, or a write fails immediately.
    pub const OUT: Self = Self(0x4);
    /// The connection failed and no call has returned its error yet, or its error queue has a
    /// notice.
    pub const ERROR: Self = Self(0x8);
    /// Both directions are closed, or the connection is over.
    pub const HANG_UP: Self = Self(0x10);
    /// The peer has closed its direction, the socket was shut down for reading, or the connection
    /// is over.
    pub const PEER_CLOSED: Self = Self(0x2000);
    /// `EPOLLEXCLUSIVE`: an event may wake only some of the epolls that watch a socket.
    pub const EXCLUSIVE: Self = Self(1 << 28);
    /// `EPOLLONESHOT`: after one report, nothing is reported until `EPOLL_CTL_MOD`.
    pub const ONCE: Self = Self(1 << 30);
    /// `EPOLLET`: a change is reported once; a state that lasts is not reported again.
    pub const EDGE: Self = Self(1 << 31);

    /// Each bit with its name, without the prefix `EPOLL` or `POLL`.
    const NAMES: [(&'static str, Readiness); 8] = [
        ("IN", Self::IN),
        ("OUT", Self::OUT),
        ("ERR", Self::ERROR),
        ("HUP", Self::HANG_UP),
        ("RDHUP", Self::PEER_CLOSED),
        ("EXCLUSIVE", Self::EXCLUSIVE),
        ("ONESHOT", Self::ONCE),
        ("ET", Self::EDGE),
    ];

    /// Whether all of these bits are set.
    pub const fn has(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// The bits that are set in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True if no bit is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Reads names with `|` between them, or `0`. `None` if a name is unknown.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text == "0" {
            return Some(Self::default());
        }
        text.split('|').map(str::trim).try_fold(Self::default(), |bits, word| {
            let name = word.strip_prefix("EPOLL").or_else(|| word.strip_prefix("POLL"))?;
            let (_, bit) = Self::NAMES.iter().find(|(known, _)| *known == name)?;
            Some(bits | *bit)
        })
    }
}

impl BitOr for Readiness {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = Self::NAMES.iter().filter(|(_, bit)| self.has(*bit));
        let names: Vec<String> = set.map(|(name, _)| format!("EPOLL{name}")).collect();
        if names.is_empty() { write!(f, "0") } else { write!(f, "{}", names.join("|")) }
    }
}
