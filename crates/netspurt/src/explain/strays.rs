//! Recognises numbers that lie far outside of the receive window.

/// The numbers of the last stray packets of a direction; 0 if there were none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strays {
    /// The first octet of the last stray segment.
    segment: u64,
    /// The number in the last stray acknowledgment of the direction.
    ack: u64,
}

impl Strays {
    /// Whether a segment that begins with the octet `left` is stray. Octets below `highest` were
    /// sent, and octets below `una` are acknowledged. `window` is the largest window so far, in
    /// octets; 0 if it is not known. One window may be in use, and the capture may lack the
    /// acknowledgments of another.
    pub fn takes_segment(&mut self, left: u64, (una, highest): (u64, u64), window: u64) -> bool {
        left > highest && is_far(left, una, window, &mut self.segment)
    }

    /// Whether an acknowledgment with the number `ack` is stray, if octets below `highest` were
    /// sent. `window` is the largest window so far, in octets; 0 if it is not known.
    pub fn takes_ack(&mut self, ack: u64, highest: u64, window: u64) -> bool {
        is_far(ack, highest, window, &mut self.ack)
    }
}

/// Whether `number` is more than two windows above `base`, and not near the number `last`, which
/// was far away, too. In this case `last` becomes `number`.
fn is_far(number: u64, base: u64, window: u64, last: &mut u64) -> bool {
    if window == 0 || number <= base + 2 * window {
        return false;
    }
    let near = number != *last && number.abs_diff(*last) <= 2 * window;
    *last = number;
    !near
}
