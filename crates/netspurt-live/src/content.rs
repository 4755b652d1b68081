//! The octets that transfers carry. The value of an octet depends on its position, so the receiver
//! can check it.

use std::sync::LazyLock;

/// The values repeat after this number of octets. The number is prime. Therefore, a stream that is
/// shifted by 2^n octets never has the expected values.
const PERIOD: usize = 251;

/// The maximum number of octets that one call of [`octets`] returns.
pub const PIECE_BYTES_MAX: usize = 1 << 16;

#[expect(clippy::cast_possible_truncation, reason = "the value is below 251")]
static OCTETS: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..PIECE_BYTES_MAX + PERIOD).map(|place| (place % PERIOD) as u8).collect());

/// Returns `len` octets. The first of them has the position `from`; positions are counted from 0.
///
/// ```
/// use netspurt_live::content::octets;
/// assert_eq!(octets(250, 3), [250, 0, 1]);
/// ```
///
/// # Panics
/// When `len` is more than [`PIECE_BYTES_MAX`].
pub fn octets(from: u64, len: usize) -> &'static [u8] {
    let start = usize::try_from(from % PERIOD as u64).unwrap_or(0);
    assert!(len <= PIECE_BYTES_MAX, "`len` is more than `PIECE_BYTES_MAX`");
    &OCTETS[start..start + len]
}
