//! One recording: its probes in the order of sending.

use crate::units::{Duration, Time};

use super::began::Began;

/// The kind of a recording's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Round trips, one measurement each.
    RoundTrip,
    /// One-way delays, one measurement each.
    OneWay,
    /// A filter's output, such as the kernel's srtt: never replayed as samples.
    Smoothed,
}

/// How the probes followed each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOrder {
    /// One probe in flight: the next left when the last was answered or given up, as in RFC 889.
    Sequence,
    /// Probes left at their times, even if others were in flight.
    Causal,
}

/// The source of the times of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendTimeSource {
    /// They are in the recording.
    Recorded,
    /// They were computed from an interval in the recording or from the user.
    Reckoned,
    /// They are unknown: only the order counts.
    Unknown,
}

/// One probe and its outcome.
///
/// ```
/// use netspurt::delays::Probe;
/// use netspurt::units::{Duration, Time};
/// let lost = Probe::lost(7, Time::ZERO);
/// let answered = Probe::answered(8, Time::ZERO, Duration::from_millis(20));
/// assert!(lost.rtt.is_none() && answered.rtt.is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its number in the recording.
    pub number: u64,
    /// When it left, from the beginning of the recording; if [`Delays::send_times`] is unknown, its
    /// index.
    pub sent: Time,
    /// Its delay; `None` if no reply is known.
    pub rtt: Option<Duration>,
    /// Whether the tool had given up waiting before the reply came.
    pub late: bool,
    /// Octets on the wire, including the IP header; zero if unknown.
    pub wire_bytes: u32,
}

impl Probe {
    /// A probe that was answered after `rtt`.
    pub const fn answered(number: u64, sent: Time, rtt: Duration) -> Self {
        Self { number, sent, rtt: Some(rtt), late: false, wire_bytes: 0 }
    }

    /// A probe without a reply.
    pub const fn lost(number: u64, sent: Time) -> Self {
        Self { number, sent, rtt: None, late: false, wire_bytes: 0 }
    }
}

/// What a recording tells of the two directions of a probe, beside its round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfDelays {
    /// Nothing.
    Unknown,
    /// The delay of its request in nanoseconds, by the clocks of both ends: negative if these
    /// differ by more than the delay.
    Forward(i64),
    /// The request was lost.
    RequestLost,
    /// The reply was lost.
    ReplyLost,
}

/// A recording of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Its name: the file, and the path within it if there are several.
    pub name: String,
    /// The format as which it was read, in words: `ping (Linux)`.
    pub format: String,
    /// The kind of its numbers.
    pub measure: Measure,
    /// How its probes followed each other.
    pub order: ProbeOrder,
    /// The source of the times of sending.
    pub send_times: SendTimeSource,
    /// When its first probe left, if the file tells.
    pub began: Option<Began>,
    /// The probes, in the order of sending.
    pub probes: Vec<Probe>,
    /// What is known of the directions of each; empty if nothing is known of any.
    pub one_way: Vec<HalfDelays>,
    /// The number of probes that were answered without a recorded delay: they are not among
    /// [`probes`](Delays::probes).
    pub untimed: u64,
    /// Replies beyond the first to a probe.
    pub duplicates: u64,
    /// Assumptions and omissions, a sentence each.
    pub notes: Vec<String>,
}

impl Delays {
    /// A recording without probes: round trips of probes sent at unknown times.
    ///
    /// ```
    /// use netspurt::delays::{Delays, Probe};
    /// use netspurt::units::Time;
    /// let mut delays = Delays::new("a.txt", "ping (Linux)");
    /// delays.probes.push(Probe::lost(1, Time::ZERO));
    /// assert_eq!((delays.sent(), delays.received(), delays.lost()), (1, 0, 1));
    /// ```
    pub fn new(name: impl Into<String>, format: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            format: format.into(),
            measure: Measure::RoundTrip,
            order: ProbeOrder::Causal,
            send_times: SendTimeSource::Unknown,
            began: None,
            probes: Vec::new(),
            one_way: Vec::new(),
            untimed: 0,
            duplicates: 0,
            notes: Vec::new(),
        }
    }

    /// Round trips that do not come from a file, without notes.
    pub fn of(
        name: &str,
        probes: Vec<Probe>,
        order: ProbeOrder,
        send_times: SendTimeSource,
    ) -> Self {
        Self { order, send_times, probes, ..Self::new(name, "") }
    }

    /// Counts replies later than `limit` as lost, as RFC 889 §2 did after half a minute. A note
    /// says how many those were.
    ///
    /// ```
    /// use netspurt::delays::{Delays, Probe};
    /// use netspurt::units::{Duration, Time};
    /// let mut delays = Delays::new("a.txt", "ping (Linux)");
    /// delays.probes.push(Probe::answered(1, Time::ZERO, Duration::from_secs(31)));
    /// delays.give_up_after(Duration::from_secs(30));
    /// assert_eq!((delays.received(), delays.lost()), (0, 1));
    /// ```
    pub fn give_up_after(&mut self, limit: Duration) {
        let mut turned = 0_u64;
        for probe in &mut self.probes {
            if probe.rtt.is_some_and(|rtt| rtt > limit) {
                (probe.rtt, probe.late) = (None, false);
                turned += 1;
            }
        }
        self.notes.push(match turned {
            0 => format!("no reply was later than {limit}, so this limit changes nothing"),
            1 => format!("one reply later than {limit} is counted as lost"),
            _ => format!("{turned} replies later than {limit} are counted as lost"),
        });
    }

    /// How many probes were sent, including those without a delay.
    pub fn sent(&self) -> u64 {
        self.probes.len() as u64 + self.untimed
    }

    /// How many probes were answered, in time or late, with a delay or without.
    pub fn received(&self) -> u64 {
        self.sent() - self.lost()
    }

    /// How many probes have no known reply.
    pub fn lost(&self) -> u64 {
        self.probes.iter().filter(|probe| probe.rtt.is_none()).count() as u64
    }

    /// How many probes were answered after the tool had given up waiting.
    pub fn late(&self) -> u64 {
        self.probes.iter().filter(|probe| probe.late).count() as u64
    }
}
