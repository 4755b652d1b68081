//! Sequence numbers: 32 bits on the wire, and 64 bits inside the program.
//!
//! A connection counts the octets of its sequence space from its initial sequence number. The SYN
//! is octet 0, and the first octet of data is octet 1. A segment carries only the low 32 bits of
//! the sum of the initial sequence number and the count. These 32 bits wrap (RFC 9293 §3.4).

use core::cmp::Ordering;

/// The initial sequence number of every simulated connection.
pub const SIMULATED_ISN: u32 = 0;

/// The 32-bit sequence number that the octet numbered `count` has on the wire. `isn` is the initial
/// sequence number.
#[expect(clippy::cast_possible_truncation, reason = "the wire carries the low 32 bits")]
pub const fn to_wire(isn: u32, count: u64) -> u32 {
    isn.wrapping_add(count as u32)
}

/// The number of the octet that has the 32-bit sequence number `wire`. If several octets have this
/// sequence number, the result is the number nearest to the number `near`. If the nearest number
/// would be negative, the result is the lowest number that is not negative.
///
/// ```
/// use netspurt::seq::{from_wire, to_wire};
/// let (isn, count) = (0xffff_fff0, 5_000_000_000);
/// assert_eq!(from_wire(isn, to_wire(isn, count), count - 70_000), count);
/// assert_eq!(from_wire(isn, to_wire(isn, count), count + 70_000), count);
/// ```
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the difference counts modulo 2^32"
)]
pub const fn from_wire(isn: u32, wire: u32, near: u64) -> u64 {
    let ahead = wire.wrapping_sub(isn).wrapping_sub(near as u32) as i32;
    let count = near.wrapping_add_signed(ahead as i64);
    if count > near && ahead < 0 { near.wrapping_add((ahead as u32) as u64) } else { count }
}

/// Whether the number `a` on the wire comes before `b`. The numbers may wrap, but must be less than
/// 2³¹ apart. Sequence numbers (RFC 9293 §3.4) and timestamps (RFC 7323 §5.2) are such numbers.
///
/// ```
/// use netspurt::seq::is_before;
/// assert!(is_before(u32::MAX, 0) && !is_before(0, u32::MAX) && !is_before(7, 7));
/// ```
#[inline]
pub const fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

/// Compares two numbers on the wire, as [`is_before`] does.
#[inline]
pub fn compare(a: u32, b: u32) -> Ordering {
    a.wrapping_sub(b).cast_signed().cmp(&0)
}

/// Compares the identifications of two IP packets. The numbers may wrap, but must be less than 2¹⁵
/// apart.
///
/// ```
/// use netspurt::seq::compare_ids;
/// assert!(compare_ids(u16::MAX, 0).is_lt() && compare_ids(0, u16::MAX).is_gt());
/// ```
#[inline]
pub fn compare_ids(a: u16, b: u16) -> Ordering {
    a.wrapping_sub(b).cast_signed().cmp(&0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_count_is_read_back_if_it_is_less_than_2_to_the_31_away(
            isn: u32, near in 0..1_u64 << 40, off in -(1_i64 << 31) + 1..(1_i64 << 31)
        ) {
            let count = near.saturating_add_signed(off);
            prop_assert_eq!(from_wire(isn, to_wire(isn, count), near), count);
        }
    }
}
