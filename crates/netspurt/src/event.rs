//! What happened, as the stages tell it: the one vocabulary of every instrument.

use crate::ids::EndId;
use crate::units::{Duration, Time};

/// How a frame passed a point of observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// Sent from here.
    Out,
    /// Arrived here.
    In,
    /// Passed through on its way.
    Through,
}

/// Why a frame went no further. A *drop* is a queue's doing or a host's, a *loss* the link's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// The link lost it.
    Loss,
    /// The algorithm that manages the queue chose it.
    Aqm,
    /// It is larger than the link takes, and the link does not fragment.
    TooBig,
    /// Fragments of it were missing at its destination when the time for them was up. The frame
    /// is the datagram, its size what had come of it, under one header.
    Reassembly,
}

/// The retransmission timer's state after it changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtoState {
    /// Smoothed round trip; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Smoothed variation; `None` before the first sample, and where the algorithm keeps none.
    pub rttvar: Option<Duration>,
    /// The factor the timeouts so far have put on the timer.
    pub backoff: u32,
    /// The timer as it would be armed now.
    pub rto: Duration,
    /// Whether it just fired.
    pub fired: bool,
}

/// The sender's congestion state after it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CwndState {
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold.
    pub ssthresh_bytes: u64,
    /// Octets sent and not acknowledged.
    pub flight_bytes: u64,
    /// Duplicate ACKs counted.
    pub dupacks: u32,
    /// Whether it is repairing a loss found by duplicate ACKs.
    pub in_recovery: bool,
}

/// One event; `F` is the frame the links carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event<F> {
    /// When it happened, in the logical time of its stage.
    pub at: Time,
    /// What happened.
    pub what: What<F>,
}

/// What an [`Event`] reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What<F> {
    /// A frame was seen at a node under observation.
    Seen {
        /// The node.
        node: u32,
        /// Whether it left, arrived or passed.
        way: Way,
        /// The frame.
        frame: F,
    },
    /// A frame went no further.
    Dropped {
        /// The link, one direction; none where it was at its destination.
        link: Option<u32>,
        /// Whose doing it was.
        reason: DropReason,
        /// The frame.
        frame: F,
    },
    /// The algorithm that manages a queue marked a frame instead of dropping it (RFC 3168 §5).
    Marked {
        /// The link, one direction.
        link: u32,
        /// The frame, with its mark.
        frame: F,
    },
    /// A link's queue changed; the frame in transmission counts.
    Queue {
        /// The link, one direction.
        link: u32,
        /// Frames queued or in transmission.
        packets: u32,
        /// Their octets.
        bytes: u64,
    },
    /// A sender's congestion state changed.
    Cwnd {
        /// The end.
        end: EndId,
        /// The new state.
        state: CwndState,
    },
    /// A sender measured a round trip.
    Rtt {
        /// The end.
        end: EndId,
        /// When the timed octets left.
        sent: Time,
        /// The reading.
        rtt: Duration,
    },
    /// A sender's retransmission timer changed or fired.
    Rto {
        /// The end.
        end: EndId,
        /// The new state.
        state: RtoState,
    },
}

/// The kinds of event someone asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// [`What::Seen`].
    pub seen: bool,
    /// [`What::Dropped`] and [`What::Marked`].
    pub drops: bool,
    /// [`What::Queue`].
    pub queue: bool,
    /// [`What::Cwnd`].
    pub cwnd: bool,
    /// [`What::Rtt`].
    pub rtt: bool,
    /// [`What::Rto`].
    pub rto: bool,
}

/// Where stages report: a buffer that is emptied from time to time, in order of report.
///
/// ```
/// use netspurt::event::{Events, Wanted, What};
/// use netspurt::units::Time;
/// let mut events: Events<()> = Events::new(Wanted { queue: true, ..Wanted::default() });
/// if events.wanted().queue {
///     events.report(Time::ZERO, What::Queue { link: 0, packets: 1, bytes: 1000 });
/// }
/// assert_eq!(events.drain().count(), 1);
/// ```
#[derive(Debug)]
pub struct Events<F> {
    wanted: Wanted,
    buffer: Vec<Event<F>>,
}

/// Events held before whoever drives the stages should drain them.
const COMFORTABLE: usize = 4096;

impl<F> Events<F> {
    /// A buffer for the kinds in `wanted`.
    pub fn new(wanted: Wanted) -> Self {
        Self { wanted, buffer: Vec::new() }
    }

    /// What to report; anything else would only cost time.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Reports that `what` happened at `at`.
    pub fn report(&mut self, at: Time, what: What<F>) {
        self.buffer.push(Event { at, what });
    }

    /// Whether it is time to [`drain`](Self::drain).
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= COMFORTABLE
    }

    /// Takes the events reported so far.
    pub fn drain(&mut self) -> impl Iterator<Item = Event<F>> + '_ {
        self.buffer.drain(..)
    }
}
