//! Computes the digest of tables, a checksum of the results of a run.

use sha2::{Digest, Sha256};

use super::table::{Data, Table};

/// Returns the SHA-256 of tables, in hexadecimal. The hash covers the names of the tables and of
/// their columns, the types of the columns, and all values.
///
/// ```
/// use netspurt::record::{Column, Data, Table, digest};
/// let table = |rtt| Table::new("rtt", vec![Column::new("rtt_ns", Data::I64(vec![rtt]))]);
/// assert_eq!(digest([&table(1)]), digest([&table(1)]));
/// assert_ne!(digest([&table(1)]), digest([&table(2)]));
/// ```
pub fn digest<'a>(tables: impl IntoIterator<Item = &'a Table>) -> String {
    let mut hash = Sha256::new();
    for table in tables {
        text(&mut hash, &table.name);
        for column in &table.columns {
            text(&mut hash, &column.name);
            values(&mut hash, &column.data);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
}

/// The number of values in a block.
const BLOCK: usize = 4096;

/// Hashes three things: `kind` (the type of the column), the count of numbers, and the differences
/// between successive numbers. The differences are hashed in blocks. A block consists of an octet
/// with the width of its differences, and the differences in little-endian order. The width is the
/// least of 0, 1, 2, 4 and 8 octets that holds all differences of the block. This encoding loses no
/// information and halves the number of octets to hash.
fn numbers<T: Copy>(hash: &mut Sha256, kind: u8, all: &[T], word: impl Fn(T) -> u64) {
    hash.update([kind]);
    hash.update((all.len() as u64).to_le_bytes());
    // The list has the last number of the previous block, followed by the numbers of this block.
    let mut words = [0; BLOCK + 1];
    let mut octets = [0; BLOCK * 8];
    for block in all.chunks(BLOCK) {
        words[1..].iter_mut().zip(block).for_each(|(held, value)| *held = word(*value));
        let words = &mut words[..=block.len()];
        let steps = words.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).cast_signed());
        // The first value is the bitwise OR of all differences. In the second value, a bit is 1 if
        // this bit differs from the sign bit in at least one of the differences.
        let bits = steps
            .clone()
            .fold((0, 0), |(any, bits), step| (any | step, bits | (step ^ (step >> 63))));
        let width = if bits.0 == 0 { 0 } else { width(bits.1) };
        hash.update([width]);
        let used = usize::from(width) * block.len();
        match width {
            0 => {}
            1 => fill::<1>(&mut octets, steps),
            2 => fill::<2>(&mut octets, steps),
            4 => fill::<4>(&mut octets, steps),
            _ => fill::<8>(&mut octets, steps),
        }
        hash.update(&octets[..used]);
        words[0] = words[block.len()];
    }
}

/// Writes the lowest `N` octets of each difference in `steps` to `octets`.
fn fill<const N: usize>(octets: &mut [u8], steps: impl Iterator<Item = i64>) {
    for (place, step) in octets.chunks_exact_mut(N).zip(steps) {
        place.copy_from_slice(&step.to_le_bytes()[..N]);
    }
}

/// Returns the least width that holds all numbers of a list of signed numbers: 1, 2, 4 or 8 octets.
/// In `bits`, a bit is 1 if this bit differs from the sign bit in at least one of the numbers.
fn width(bits: i64) -> u8 {
    match 64 - bits.leading_zeros() {
        0..=7 => 1,
        8..=15 => 2,
        16..=31 => 4,
        _ => 8,
    }
}

fn values(hash: &mut Sha256, data: &Data) {
    match data {
        Data::I64(all) => numbers(hash, 0, all, i64::cast_unsigned),
        Data::OptionalI64(all) => {
            numbers(hash, 1, all.exist(), u64::from);
            numbers(hash, 1, all.filled(), i64::cast_unsigned);
        }
        Data::OptionalF64(all) => {
            numbers(hash, 9, all.exist(), u64::from);
            numbers(hash, 9, all.filled(), f64::to_bits);
        }
        Data::U32(all) => numbers(hash, 2, all, u64::from),
        Data::U16(all) => numbers(hash, 3, all, u64::from),
        Data::U64(all) => numbers(hash, 4, all, |value| value),
        Data::Narrow(all) => values(hash, &all.wide()),
        Data::Bool(all) => numbers(hash, 5, all, u64::from),
        Data::MissingI64(count) => {
            hash.update([8]);
            hash.update((*count as u64).to_le_bytes());
        }
        Data::Text { codes, texts } => {
            numbers(hash, 6, codes, u64::from);
            texts.iter().for_each(|name| text(hash, name));
        }
        Data::Tag { codes, texts } => {
            numbers(hash, 7, codes, u64::from);
            texts.iter().for_each(|name| text(hash, name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Column;
    use super::*;
    use proptest::prelude::*;

    /// The digest of a table with one column.
    fn of(numbers: &[i64]) -> String {
        digest([&Table::new("t", vec![Column::new("c", Data::I64(numbers.to_vec()))])])
    }

    proptest! {
        /// The numbers have differences of every size, and cross the borders of blocks.
        #[test]
        fn a_changed_or_additional_number_changes_the_digest(
            steps in prop::collection::vec((any::<i64>(), 0_u32..64), 1..40),
            repeat in 1_usize..300,
            place in any::<prop::sample::Index>(),
            bit in 0_u32..64,
        ) {
            let mut numbers: Vec<i64> = steps.iter().map(|(n, shift)| n >> shift).collect();
            numbers = numbers.repeat(repeat);
            let before = of(&numbers);
            prop_assert_eq!(&before, &of(&numbers));
            let place = place.index(numbers.len());
            numbers[place] ^= 1 << bit;
            prop_assert_ne!(&before, &of(&numbers));
            numbers.push(0);
            prop_assert_ne!(before, of(&numbers));
        }
    }

    #[test]
    fn the_width_of_a_difference_includes_its_sign() {
        for step in [0, 1, -1, 127, -128, 128, -129, 32_767, -32_768, 32_768, i64::MAX, i64::MIN] {
            let width = usize::from(width(step ^ (step >> 63)));
            let mut held = step.to_le_bytes();
            let sign = if held[width - 1] >= 128 { 255 } else { 0 };
            held[width..].fill(sign);
            assert_eq!(i64::from_le_bytes(held), step);
        }
    }

    #[test]
    fn an_absent_value_and_a_zero_have_different_digests() {
        let of = |value| {
            let column = Column::new("c", Data::OptionalI64(vec![value].into()));
            digest([&Table::new("t", vec![column])])
        };
        assert_ne!(of(None), of(Some(0)));
    }
}
