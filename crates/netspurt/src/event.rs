//! Events: what hosts and links report during a run. Simulations and live runs use the same events.
//! A *frame* is what links carry: a simulated segment, or a handle to the octets of a real packet.
//! The *driver* is the code that runs the hosts and the links.

use crate::ids::EndId;
use crate::units::{Duration, Time};

/// The way in which a frame passed a point of observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// The node of observation sent the frame.
    Out,
    /// The frame arrived at the node of observation, which is its destination.
    In,
    /// The frame passed through the node of observation.
    Through,
}

/// The reason why a frame was not passed on. A queue or a host *drops* a frame, and a link *loses*
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// The link lost the frame.
    Loss,
    /// The queue's AQM dropped the frame.
    Aqm,
    /// The frame is larger than the link's MTU, and the link does not fragment.
    TooBig,
    /// Fragments of a datagram were missing at its destination when the reassembly timer fired. The
    /// frame stands for the datagram. The size of the frame is the size of the parts that had
    /// arrived, with one header.
    Reassembly,
    /// A handover dropped the frame: the link transmitted nothing, its queue was flushed, or the
    /// old path ended.
    Handover,
}

/// The retransmission timer's state after it changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtoState {
    /// The smoothed round trip, or `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The smoothed variation. The value is `None` before the first sample, and for algorithms
    /// without a variation.
    pub rttvar: Option<Duration>,
    /// The factor by which timeouts without an answer have made the RTO longer.
    pub backoff: u32,
    /// The value with which the timer would be armed now.
    pub rto: Duration,
    /// Whether the timer just fired.
    pub fired: bool,
}

/// The sender's congestion state after it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CwndState {
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold.
    pub ssthresh_bytes: u64,
    /// The number of octets that were sent and not acknowledged.
    pub flight_bytes: u64,
    /// The number of duplicate ACKs that the sender has counted.
    pub dupacks: u32,
    /// Whether the sender is repairing a loss. For the senders of ns-2, this is false during the
    /// repair after a timeout or after Tahoe's fast retransmit.
    pub in_recovery: bool,
}

/// One event. `F` is the type of the frames that links carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event<F> {
    /// When the event happened, in the logical time of the host or link where it happened.
    pub at: Time,
    /// The kind of the event, with its data.
    pub what: What<F>,
}

/// The kinds of events, each with its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What<F> {
    /// A frame was seen at a node under observation.
    Seen {
        /// The node.
        node: u32,
        /// Whether the frame left, arrived or passed.
        way: Way,
        /// The frame.
        frame: F,
    },
    /// A frame was dropped or lost.
    Dropped {
        /// The number of the link's direction, or `None` if the frame was dropped at its
        /// destination.
        link: Option<u32>,
        /// The reason.
        reason: DropReason,
        /// The frame.
        frame: F,
    },
    /// A queue's AQM marked a frame instead of dropping it (RFC 3168 §5).
    Marked {
        /// The number of the link's direction.
        link: u32,
        /// The frame, with its mark.
        frame: F,
    },
    /// A link's queue changed. The counts include the frame in transmission.
    Queue {
        /// The number of the link's direction.
        link: u32,
        /// The number of frames that are queued or in transmission.
        packets: u32,
        /// The number of octets in these frames.
        bytes: u64,
    },
    /// A sender's congestion state changed.
    Cwnd {
        /// The end that sends.
        end: EndId,
        /// The new state.
        state: CwndState,
    },
    /// A sender measured a round trip.
    Rtt {
        /// The end that sends.
        end: EndId,
        /// When the timed octets left.
        sent: Time,
        /// The round trip as the sender's clock read it.
        rtt: Duration,
    },
    /// A sender's retransmission timer changed or fired.
    Rto {
        /// The end that sends.
        end: EndId,
        /// The new state.
        state: RtoState,
    },
}

/// Which kinds of events the hosts and links shall report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Whether to report [`What::Seen`].
    pub seen: bool,
    /// Whether to report [`What::Dropped`] and [`What::Marked`].
    pub drops: bool,
    /// Whether to report [`What::Queue`].
    pub queue: bool,
    /// Whether to report [`What::Cwnd`].
    pub cwnd: bool,
    /// Whether to report [`What::Rtt`].
    pub rtt: bool,
    /// Whether to report [`What::Rto`].
    pub rto: bool,
}

/// The buffer for the events that hosts, links and their driver report. It keeps the order of the
/// reports. The driver empties the buffer from time to time.
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

/// When the buffer holds this many events, the driver of the hosts and links should drain it.
const DRAIN_AT: usize = 4096;

impl<F> Events<F> {
    /// A buffer for the kinds of events in `wanted`.
    pub fn new(wanted: Wanted) -> Self {
        Self { wanted, buffer: Vec::new() }
    }

    /// The kinds of events to report. A report of another kind would only cost time.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Reports that the event `what` happened at the instant `at`.
    pub fn report(&mut self, at: Time, what: What<F>) {
        self.buffer.push(Event { at, what });
    }

    /// Whether it is time to [`drain`](Self::drain).
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= DRAIN_AT
    }

    /// Removes and returns the events reported so far.
    pub fn drain(&mut self) -> impl Iterator<Item = Event<F>> + '_ {
        self.buffer.drain(..)
    }
}
