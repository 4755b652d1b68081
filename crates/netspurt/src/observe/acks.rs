//! The acknowledgements that one end of a connection sends.

use core::cmp::Ordering;

use crate::segment::{Flags, Segment};

use super::Sequence;

/// What a pure ACK is beside those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckKind {
    /// It acknowledges more.
    New,
    /// It repeats both the highest number and the last window.
    Duplicate,
    /// It changes the window alone.
    WindowUpdate,
    /// It acknowledges less than was acknowledged before: it was overtaken.
    Old,
}

/// The acknowledgements of one end: the highest number, and the last window.
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
    /// The space of the octets that are acknowledged.
    sequence: Sequence,
    window: Option<u16>,
}

/// Of a simulated connection, before its handshake.
impl Default for Acks {
    fn default() -> Self {
        Self::new(Sequence::default())
    }
}

impl Acks {
    /// Of octets in the space `sequence`; what lies below its highest has been acknowledged.
    pub const fn new(sequence: Sequence) -> Self {
        Self { sequence, window: None }
    }

    /// The highest number.
    pub const fn highest(&self) -> u64 {
        self.sequence.highest()
    }

    /// The octet nearest to the highest acknowledged that the wire calls `wire`.
    pub const fn octet(&self, wire: u32) -> u64 {
        self.sequence.octet(wire)
    }

    /// Takes in what `segment` acknowledges. What it is counts where it carries nothing else
    /// (RFC 5681 §2; whether data is outstanding is not looked at).
    #[inline]
    pub fn take(&mut self, segment: &Segment) -> AckKind {
        let ack = self.octet(segment.ack);
        let kind = match ack.cmp(&self.highest()) {
            Ordering::Greater => AckKind::New,
            Ordering::Equal if self.window.is_none_or(|last| last == segment.window) => {
                AckKind::Duplicate
            }
            Ordering::Equal => AckKind::WindowUpdate,
            Ordering::Less => AckKind::Old,
        };
        if !segment.flags.has(Flags::SYN) {
            self.sequence.raise(ack);
            self.window = Some(segment.window);
        } else if segment.flags.has(Flags::ACK) {
            // The window of a SYN is not scaled as those that follow (RFC 7323 §2.2): the first of
            // them has none to differ from.
            self.sequence.raise(ack);
        } else if self.window.is_none() {
            // Nothing is acknowledged yet, not even the other side's SYN.
            self.sequence = self.sequence.sent_to(self.sequence.first());
        }
        kind
    }
}
