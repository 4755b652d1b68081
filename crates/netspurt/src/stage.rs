//! The traits of frames, of the stages through which frames pass, and of the hosts at which frames
//! end. A frame is a simulated segment, or stands for a packet of a real host. Methods that need
//! the time get it as a parameter.

use core::ops::Range;

use crate::event::Events;
use crate::ids::{EndId, TransmissionId};
use crate::segment::{Ecn, Packetization, Part, Segment};
use crate::units::Time;

/// The number of a port of a stage. All stages of this crate have a single port, which has the
/// number 0.
pub type Port = usize;

/// The properties of frames that links use. A link treats simulated frames and frames of real hosts
/// in the same way.
pub trait Frame: Copy {
    /// The size of the IP datagram in octets, without the link's framing.
    fn size_bytes(&self) -> u32;
    /// The id of the transmission. Only its fragments and the copies that a link makes have the
    /// same id.
    fn id(&self) -> TransmissionId;
    /// The destination end of the frame.
    fn dest(&self) -> EndId;
    /// The number of octets of payload.
    fn payload_bytes(&self) -> u16;
    /// The packet's number in its flow, counted from 1. If the packet has no number, returns
    /// `None`. `packetization` is the rule by which the flow's octets are divided.
    fn packet_number(&self, packetization: Packetization) -> Option<u64>;
    /// A number that all frames of one flow in one direction share. Few other flows have the same
    /// number.
    fn flow_hash(&self) -> u64;
    /// The ECN codepoint of the frame's IP header.
    fn ecn(&self) -> Ecn;
    /// Returns the frame with the mark of a congested queue (RFC 3168 §5).
    #[must_use]
    fn with_mark(self) -> Self;
    /// The part of the datagram that the frame carries.
    fn part(&self) -> Part;
    /// The fragment that carries the octets `payload` of the frame, counted from the end of the
    /// frame's IP header. The fragment has its own IP header and the id of the frame.
    #[must_use]
    fn fragment(self, payload: Range<u32>) -> Self;
    /// The whole datagram, of `size_bytes` octets, to which the frame belongs as a fragment.
    #[must_use]
    fn reassembled(self, size_bytes: u32) -> Self;
}

/// An instant at which a stage has something to do. The fields `since` and `by` give the order of
/// appointments at the same instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Appointment {
    /// The instant.
    pub at: Time,
    /// When the appointment was made.
    pub since: Time,
    /// An earlier event caused this appointment. The first time is when that event was due. The
    /// second time is when the appointment of that event was made.
    pub by: (Time, Time),
}

/// Anything that frames pass through, or at which they end.
///
/// A stage acts at instants of its own. `next_wakeup` returns the earliest of them. The *driver*,
/// which is the code that runs the stages, calls `pop` at that instant or later. `pop` returns a
/// frame with the *logical* time of its departure. The driver pushes the frame into the next stage
/// with this logical time, and never with the time of its own clock. The same stages can therefore
/// run in virtual time and in real time, and give the same results for the same arrivals.
pub trait Stage<F: Frame> {
    /// Takes `frame` at `port` at the instant `now`.
    ///
    /// The instant `now` never decreases from call to call. A departure that is due at this instant
    /// precedes the arrival.
    fn push(&mut self, now: Time, port: Port, frame: F, events: &mut Events<F>);

    /// The earliest instant at which `pop` has something to do.
    fn next_wakeup(&self) -> Option<Time>;

    /// Processes what is due at the instant `now`: returns the next frame, its logical departure
    /// and its port, or `None` if nothing more is due.
    fn pop(&mut self, now: Time, events: &mut Events<F>) -> Option<(Time, Port, F)>;
}

/// A stage at which frames end.
pub trait Host<F: Frame>: Stage<F> {
    /// Inspects a frame that reaches the host at the instant `now`, before the frame is pushed. If
    /// no frame is to be pushed, returns `None`. Otherwise returns the frame that is then pushed.
    /// Most hosts return the frame itself. A host that reassembles fragments returns the datagram
    /// if a fragment completes it, and `None` for any other fragment. A gate, which stands for a
    /// real host, does the same, but returns the completing fragment instead of the datagram.
    #[inline]
    fn gather(&mut self, now: Time, frame: F, events: &mut Events<F>) -> Option<F> {
        let _ = (now, events);
        Some(frame)
    }

    /// Carries out the host's actions that precede an arrival at the instant `now`. The arrival was
    /// scheduled at the instant `since`. If an action and the arrival are at the same instant, the
    /// event that was scheduled first comes first. Instants that differ only by rounding to whole
    /// nanoseconds count as the same instant. The arrival is pushed after this call.
    #[inline]
    fn act_before(&mut self, now: Time, since: Time, events: &mut Events<F>) {
        let _ = (now, since, events);
    }

    /// Frees memory that the host does not need before its next event. This method is called when
    /// no frame of the flow is on its way and the next wake-up is far ahead.
    fn rest(&mut self) {}
}

impl Frame for crate::segment::Segment {
    fn size_bytes(&self) -> u32 {
        u32::from(self.size_bytes)
    }
    fn id(&self) -> TransmissionId {
        self.id
    }
    fn dest(&self) -> EndId {
        self.dest
    }
    fn payload_bytes(&self) -> u16 {
        self.len
    }
    fn packet_number(&self, packetization: Packetization) -> Option<u64> {
        Segment::packet_number(self, packetization)
    }
    fn flow_hash(&self) -> u64 {
        u64::from(self.dest.place())
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn with_mark(mut self) -> Self {
        self.ecn = Ecn::CE;
        self
    }
    fn part(&self) -> Part {
        self.part
    }
    fn fragment(self, payload: Range<u32>) -> Self {
        Segment::fragment(self, payload)
    }
    fn reassembled(self, size_bytes: u32) -> Self {
        Segment::reassembled(self, size_bytes)
    }
}
