//! What a connection spent its time on.

use crate::units::{Duration, Time};

/// What a connection waits for at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitingFor {
    /// The handshake.
    #[default]
    Handshake,
    /// An application: all data is acknowledged, and neither side has sent more.
    Application,
    /// The path: all data that the application had is on its way.
    Delivery,
    /// The congestion window, or the pacing of the sender: data is on its way, and the receiver
    /// would allow more.
    CongestionWindow,
    /// The receiver: its window has no room for another segment.
    ReceiveWindow,
    /// The repair of segments that were lost, or that the sender counted as lost.
    Repair,
    /// A timer that fires at the end of the wait: the timer of retransmissions, SYNs or probes.
    Timeout,
}

impl WaitingFor {
    /// The number of values.
    pub const COUNT: usize = 7;
    /// All values, in their order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Handshake,
        Self::Application,
        Self::Delivery,
        Self::CongestionWindow,
        Self::ReceiveWindow,
        Self::Repair,
        Self::Timeout,
    ];
    /// The names in tables, in the order of the values.
    pub const NAMES: [&str; Self::COUNT] = [
        "handshake",
        "application",
        "delivery",
        "congestion_window",
        "receive_window",
        "repair",
        "timeout",
    ];
}

impl WaitingFor {
    /// What a connection waits for whose senders wait for these. Senders with nothing outstanding
    /// wait for nothing.
    #[inline]
    pub fn of_senders(one: Option<Self>, other: Option<Self>) -> Self {
        match (one, other) {
            (Some(one), Some(other)) if one as u8 >= other as u8 => one,
            (one, other) => other.or(one).unwrap_or(Self::Application),
        }
    }
}

/// The time that a connection spent on each thing that it waited for.
///
/// The span between two packets counts for the thing that the connection waited for after the first
/// packet, as seen where the capture was taken. A span that a timer ended counts as
/// [`WaitingFor::Timeout`].
///
/// ```
/// use netspurt::explain::{TimeSpent, WaitingFor};
/// use netspurt::units::{Duration, Time};
/// let at = |ms| Time::ZERO + Duration::from_millis(ms);
/// let mut spent = TimeSpent::default();
/// spent.packet(at(0), None, WaitingFor::Handshake);
/// spent.packet(at(30), None, WaitingFor::CongestionWindow);
/// spent.packet(at(230), Some(WaitingFor::Timeout), WaitingFor::Repair);
/// assert_eq!(spent.of(WaitingFor::Timeout), Duration::from_millis(200));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpent {
    spent: [Duration; WaitingFor::COUNT],
    last: Option<Time>,
    waiting: WaitingFor,
}

impl TimeSpent {
    /// Takes a packet that was captured at `at`. `waited` is what the connection waited for before
    /// the packet, if the packet tells; from `at` on it waits for `waiting`.
    #[inline]
    pub fn packet(&mut self, at: Time, waited: Option<WaitingFor>, waiting: WaitingFor) {
        let span = self.last.map_or(Duration::ZERO, |last| at.saturating_since(last));
        let place = waited.unwrap_or(self.waiting) as usize;
        self.spent[place] = self.spent[place] + span;
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
        self.waiting = waiting;
    }

    /// How long the connection has waited at `at`, if it waits for `what`.
    #[inline]
    pub fn waited_since(&self, what: WaitingFor, at: Time) -> Option<Duration> {
        let last = self.last.filter(|_| self.waiting == what)?;
        Some(at.saturating_since(last))
    }

    /// The time spent waiting for `what`.
    pub const fn of(&self, what: WaitingFor) -> Duration {
        self.spent[what as usize]
    }
}
