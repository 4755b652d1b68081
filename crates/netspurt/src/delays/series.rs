//! One recording: its probes in the order in which they left.

use crate::units::{Duration, Time};

/// What the numbers of a recording are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Round trips, one measurement each.
    RoundTrip,
    /// Delays in one direction, one measurement each.
    OneWay,
    /// A filter's output, such as the kernel's srtt: never replayed as samples.
    Smoothed,
}

/// How the probes followed each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOrder {
    /// One probe in flight: the next left when the last was answered or given up, as in RFC 889.
    Sequence,
    /// Probes left by the clock, whatever was still under way.
    Causal,
}

/// Where the times of sending come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendTimeSource {
    /// They are in the recording.
    Recorded,
    /// They were reckoned from an interval that the recording or the user names.
    Reckoned,
    /// Nobody knows them: only the order counts.
    Unknown,
}

/// One probe and what became of it.
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
    /// When it left, since the recording began; its place in the order where
    /// [`Delays::send_times`] is unknown.
    pub sent: Time,
    /// Its delay; `None` where no reply is known.
    pub rtt: Option<Duration>,
    /// Whether the tool had given it up before the reply came.
    pub late: bool,
    /// Octets on the wire, IP header included; zero where unknown.
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

/// A recording of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    /// What it is called: its file, and within it the path where there are several.
    pub name: String,
    /// What it was read as, in words: `ping (Linux)`.
    pub format: String,
    /// What its numbers are.
    pub measure: Measure,
    /// How its probes followed each other.
    pub order: ProbeOrder,
    /// Where the times of sending come from.
    pub send_times: SendTimeSource,
    /// The probes, in the order of sending.
    pub probes: Vec<Probe>,
    /// Probes that were answered, as the recording says, without a delay that it tells: they are
    /// not among [`probes`](Delays::probes).
    pub untimed: u64,
    /// Replies beyond the first to a probe.
    pub duplicates: u64,
    /// What was assumed or left out, a sentence each.
    pub notes: Vec<String>,
}

impl Delays {
    /// A recording without probes: round trips by the clock, at times that nobody knows.
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
            probes: Vec::new(),
            untimed: 0,
            duplicates: 0,
            notes: Vec::new(),
        }
    }

    /// Round trips that were not read from a file, with nothing to say of them.
    pub fn of(
        name: &str,
        probes: Vec<Probe>,
        order: ProbeOrder,
        send_times: SendTimeSource,
    ) -> Self {
        Self { order, send_times, probes, ..Self::new(name, "") }
    }

    /// Counts replies that came more than `limit` after their probes left as lost, as RFC 889 §2
    /// did after half a minute, and says in a note how many those were.
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
            0 => format!("no reply was later than {limit}: none is counted as lost for that"),
            1 => format!("one reply later than {limit} is counted as lost"),
            _ => format!("{turned} replies later than {limit} are counted as lost"),
        });
    }

    /// How many probes left, those without a delay included.
    pub fn sent(&self) -> u64 {
        self.probes.len() as u64 + self.untimed
    }

    /// How many probes were answered, in time or late, with a delay or without.
    pub fn received(&self) -> u64 {
        self.sent() - self.lost()
    }

    /// How many probes no reply is known to.
    pub fn lost(&self) -> u64 {
        self.probes.iter().filter(|probe| probe.rtt.is_none()).count() as u64
    }

    /// How many probes were answered after the tool had given them up.
    pub fn late(&self) -> u64 {
        self.probes.iter().filter(|probe| probe.late).count() as u64
    }
}
