//! A datagram that is not complete, because some of its fragments are missing.

use crate::ranges::Ranges;
use crate::segment::{Ecn, IPV4_HEADER_BYTES, Part};
use crate::wire::cut::set_ecn;
use crate::wire::decode::checksum;

use super::fragment::{Fragment, LONGEST};

/// The parts of a datagram that its fragments have brought so far.
#[derive(Debug, Default)]
pub(super) struct PartialDatagram {
    /// The headers of the first fragment, without IPv6's fragment header.
    head: Vec<u8>,
    /// For IPv6: the offset in `head` of the octet that names the fragment header, and the protocol
    /// that this octet has to name in the whole datagram.
    name: Option<(usize, u8)>,
    /// The payload, with zeros in place of octets that were not captured.
    payload: Vec<u8>,
    captured: Ranges,
    /// The ranges of the payload that the fragments cover. Some of these octets may not have been
    /// captured.
    there: Ranges,
    /// The number of octets of the payload. `None` until the fragment with the last octet arrives.
    end: Option<u32>,
    marked: bool,
    fragments: usize,
}

/// A fragment contradicts another fragment of its datagram: they overlap in IPv6, or they do not
/// agree on the datagram's end.
pub(super) struct FragmentConflict;

impl PartialDatagram {
    /// Takes a fragment.
    ///
    /// If two fragments have the same octet, the later fragment counts (RFC 791 §3.2). In IPv6,
    /// fragments must not overlap unless they are copies (RFC 5722 §3, RFC 8200 §4.5). Here a
    /// fragment counts as a copy if earlier fragments cover all its octets.
    ///
    /// # Errors
    /// When the fragment contradicts another fragment.
    pub(super) fn add(&mut self, fragment: &Fragment<'_>) -> Result<(), FragmentConflict> {
        let &Fragment { from, to, captured, .. } = fragment;
        let (left, right) = (u64::from(from), u64::from(to));
        let known = self.there.holds(left, right);
        let touched = self.there.next_from(left).is_some_and(|range| range.0 < right);
        if fragment.name.is_some() && touched && !known {
            return Err(FragmentConflict);
        }
        let last = !fragment.more_follow;
        if self.end.is_some_and(|end| to > end || last && to != end)
            || last && self.there.top().is_some_and(|top| top > right)
        {
            return Err(FragmentConflict);
        }
        if last {
            self.end = Some(to);
        }
        if from == 0 {
            self.head = fragment.head.to_vec();
            self.name = fragment.name;
        }
        self.there.insert(left, right);
        self.marked |= fragment.ecn == Ecn::CE;
        self.fragments += 1;
        self.copy(from as usize, captured);
        Ok(())
    }

    fn copy(&mut self, at: usize, captured: &[u8]) {
        let end = at + captured.len();
        if self.payload.len() < end {
            self.payload.resize(end, 0);
        }
        self.payload[at..end].copy_from_slice(captured);
        self.captured.insert(at as u64, end as u64);
    }

    /// The approximate memory of the datagram, in octets.
    pub(super) fn cost_bytes(&self) -> usize {
        const FIXED: usize = 512;
        // The memory of a fragment. A fragment adds at most one range to each of two sets. In the
        // worst case, a set takes twice the memory of its ranges.
        const FRAGMENT: usize = 64;
        FIXED + self.head.len() + self.payload.len() + FRAGMENT * self.fragments
    }

    /// Whether no fragment is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.end.is_some_and(|end| self.there.holds(0, end.into()))
    }

    /// Empties the buffer `out`, and writes the datagram into this buffer, up to the first octet
    /// that was not captured. Returns the length of the whole datagram. `None` if its last fragment
    /// is missing, or if the length is too great.
    pub(super) fn join(&self, out: &mut Vec<u8>) -> Option<u32> {
        let captured = self.captured.holding(0).map_or(0, |range| range.1 as usize);
        let length = self.head.len() as u32 + self.end?;
        out.clear();
        out.extend_from_slice(&self.head);
        match self.name {
            None => join_ipv4(out, u16::try_from(length).ok()?),
            Some((at, next)) => {
                const FIXED: u32 = 40;
                let payload = u16::try_from(length.checked_sub(FIXED)?).ok()?;
                out[4..6].copy_from_slice(&payload.to_be_bytes());
                out[at] = next;
            }
        }
        if self.marked {
            set_ecn(out, Ecn::CE);
        }
        out.extend_from_slice(&self.payload[..captured]);
        (length <= LONGEST).then_some(length)
    }
}

/// Turns the header of an IPv4 fragment into the header of the datagram, which has `length` octets.
fn join_ipv4(header: &mut [u8], length: u16) {
    const DO_NOT_FRAGMENT: u8 = 0x40;
    debug_assert!(header.len() >= IPV4_HEADER_BYTES.into());
    header[2..4].copy_from_slice(&length.to_be_bytes());
    let [high, low] = Part::WHOLE.bits().to_be_bytes();
    (header[6], header[7]) = (header[6] & DO_NOT_FRAGMENT | high, low);
    header[10..12].fill(0);
    let sum = checksum(0, header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}
