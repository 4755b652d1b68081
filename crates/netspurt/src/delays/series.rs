//! One recording: the probes that a tool sent over a path, and the delay until each probe was
//! answered.

use crate::units::{Duration, Time};

use super::began::Began;

/// The kind of a recording's delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Each delay is one measured round trip.
    RoundTrip,
    /// Each delay is one measured one-way delay.
    OneWay,
    /// Each delay is a filter's output, such as the kernel's srtt. Estimators never take it as a
    /// sample.
    Smoothed,
}

/// How the probes followed each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOrder {
    /// One probe was in flight at a time. The next probe left when the previous probe was answered
    /// or given up, as in RFC 889.
    Sequence,
    /// Each probe left at its own time, even if other probes were in flight.
    Causal,
}

/// The source of the times of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendTimeSource {
    /// The recording has the times of sending. Missing times were computed from the recorded times.
    Recorded,
    /// The times were computed from an interval, which the recording or the user gives.
    Computed,
    /// The times are unknown. Only the order of the probes is known.
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
    /// The number of the probe in the recording.
    pub number: u64,
    /// When the probe left, counted from the beginning of the recording. If [`Delays::send_times`]
    /// is [`Unknown`](SendTimeSource::Unknown), this field has no meaning.
    pub sent: Time,
    /// The delay, or `None` if no reply is known.
    pub rtt: Option<Duration>,
    /// Whether the tool that made the recording had given up waiting before the reply came.
    pub late: bool,
    /// The number of octets on the wire, including the IP header. Zero means that the number is
    /// unknown.
    pub wire_bytes: u32,
}

impl Probe {
    /// Makes a probe that was answered after `rtt`.
    pub const fn answered(number: u64, sent: Time, rtt: Duration) -> Self {
        Self { number, sent, rtt: Some(rtt), late: false, wire_bytes: 0 }
    }

    /// Makes a probe without a reply.
    pub const fn lost(number: u64, sent: Time) -> Self {
        Self { number, sent, rtt: None, late: false, wire_bytes: 0 }
    }
}

/// What a recording says about the two directions of a probe, in addition to the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfDelays {
    /// The recording has no facts about the directions.
    Unknown,
    /// The delay of the request in nanoseconds, by the clocks of both ends. It is negative if the
    /// clock of the answering host is behind by more than the delay.
    Forward(i64),
    /// The request was lost.
    RequestLost,
    /// The reply was lost.
    ReplyLost,
}

/// A recording of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    /// The name of the recording: the name of the file. If the file holds several recordings, the
    /// name also says which of them this is.
    pub name: String,
    /// The format of the file in words, as in `ping (Linux iputils)`.
    pub format: String,
    /// The kind of the recording's delays.
    pub measure: Measure,
    /// How the probes followed each other.
    pub order: ProbeOrder,
    /// The source of the times of sending.
    pub send_times: SendTimeSource,
    /// The calendar time at which the first probe left, if the file contains it.
    pub began: Option<Began>,
    /// Whether the file shows that the probed address is a loopback address. The delays are then
    /// those of one machine and not of a path.
    pub loopback: bool,
    /// The probes, in the order of sending.
    pub probes: Vec<Probe>,
    /// The facts about the directions of each probe. The list is empty if no fact is known.
    pub one_way: Vec<HalfDelays>,
    /// The number of probes that were answered, but whose delays were not recorded. They are not
    /// among [`probes`](Delays::probes).
    pub untimed: u64,
    /// The number of further replies to probes that already had a reply.
    pub duplicates: u64,
    /// Notes for the user. Each note names an assumption or an omission.
    pub notes: Vec<String>,
}

impl Delays {
    /// Makes a recording of round trips that has no probes yet. Its times of sending are unknown.
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
            loopback: false,
            probes: Vec::new(),
            one_way: Vec::new(),
            untimed: 0,
            duplicates: 0,
            notes: Vec::new(),
        }
    }

    /// Makes a recording of round trips that does not come from a file. It has no notes.
    pub fn of(
        name: &str,
        probes: Vec<Probe>,
        order: ProbeOrder,
        send_times: SendTimeSource,
    ) -> Self {
        Self { order, send_times, probes, ..Self::new(name, "") }
    }

    /// After this call, each probe whose delay exceeds `limit` counts as lost. The measurements of
    /// RFC 889 §2 had a limit of half a minute. This method adds a note that gives the number of
    /// probes that it has changed.
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

    /// The number of probes that were sent, including answered probes without a recorded delay.
    pub fn sent(&self) -> u64 {
        self.probes.len() as u64 + self.untimed
    }

    /// The number of probes that were answered, including late replies and replies without a
    /// recorded delay.
    pub fn received(&self) -> u64 {
        self.sent() - self.lost()
    }

    /// The number of probes without a known reply.
    pub fn lost(&self) -> u64 {
        self.probes.iter().filter(|probe| probe.rtt.is_none()).count() as u64
    }

    /// The number of probes that were answered after the tool had given up waiting.
    pub fn late(&self) -> u64 {
        self.probes.iter().filter(|probe| probe.late).count() as u64
    }
}
