//! Observes the acknowledgments that one end of a connection sends.

use core::cmp::Ordering;

use crate::segment::Flags;

use super::{Observed, Sequence};

/// The kind of a pure ACK, compared with the ACKs before it. A pure ACK is a segment without
/// payload, SYN, FIN or RST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckKind {
    /// The ACK acknowledges more than before.
    New,
    /// The ACK repeats the highest acknowledgment number and the last window. If no window is
    /// known, because no packet or only SYNs were seen before, an ACK that repeats the number is a
    /// duplicate.
    Duplicate,
    /// The ACK changes only the window.
    WindowUpdate,
    /// The ACK acknowledges less than an ACK that was seen before. That ACK was sent later, and has
    /// overtaken this ACK.
    Old,
}

/// The acknowledgments of one end: the highest acknowledgment number, and the last window.
///
/// ```
/// use netspurt::observe::{AckKind, Acks};
/// use netspurt::segment::{Flags, Segment};
/// let mut acks = Acks::default();
/// let ack = Segment { ack: 961, window: 50, flags: Flags::ACK, ..Segment::default() };
/// let kinds = [ack, ack, Segment { window: 60, ..ack }].map(|ack| acks.take(&ack));
/// assert_eq!(kinds, [AckKind::New, AckKind::Duplicate, AckKind::WindowUpdate]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Acks {
    /// The sequence space of the octets that the end acknowledges.
    sequence: Sequence,
    window: Option<u16>,
}

/// The default is the state of a simulated connection before its handshake.
impl Default for Acks {
    fn default() -> Self {
        Self::new(Sequence::default())
    }
}

impl Acks {
    /// Follows acknowledgments of octets in the space `sequence`. All octets below
    /// `sequence.highest()` count as acknowledged from the start.
    pub const fn new(sequence: Sequence) -> Self {
        Self { sequence, window: None }
    }

    /// The highest acknowledgment number, as an octet of the sequence space.
    pub const fn highest(&self) -> u64 {
        self.sequence.highest()
    }

    /// Returns the octet whose sequence number on the wire is `wire`. This number repeats after 2³²
    /// octets. The result is the octet with this number that is nearest to the highest acknowledged
    /// octet.
    pub const fn octet(&self, wire: u32) -> u64 {
        self.sequence.octet(wire)
    }

    /// Processes the acknowledgment in `segment`. Returns its kind, which has a meaning only if the
    /// segment is a pure ACK (RFC 5681 §2). The method does not check whether data is outstanding.
    #[inline]
    pub fn take(&mut self, segment: &impl Observed) -> AckKind {
        let (ack, window, flags) = (self.octet(segment.ack()), segment.window(), segment.flags());
        let kind = match ack.cmp(&self.highest()) {
            Ordering::Greater => AckKind::New,
            Ordering::Equal if self.window.is_none_or(|last| last == window) => AckKind::Duplicate,
            Ordering::Equal => AckKind::WindowUpdate,
            Ordering::Less => AckKind::Old,
        };
        if !flags.has(Flags::SYN) {
            self.sequence.raise(ack);
            self.window = Some(window);
        } else if flags.has(Flags::ACK) {
            // The window of a SYN is not scaled, but later windows are (RFC 7323 §2.2). So the
            // window of the SYN is not stored, and no later window is compared with it.
            self.sequence.raise(ack);
        } else if self.window.is_none() {
            // Nothing is acknowledged yet, not even the peer's SYN.
            self.sequence = self.sequence.sent_to(self.sequence.first());
        }
        kind
    }
}
