//! Fingerprints of tables.

use sha2::{Digest, Sha256};

use super::table::{Data, Table};

/// The SHA-256 of tables, in hexadecimal: names, types and every value count.
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

/// Feeds numbers in blocks, as little-endian bytes.
fn numbers<T: Copy, const N: usize>(
    hash: &mut Sha256,
    kind: u8,
    all: &[T],
    bytes: fn(T) -> [u8; N],
) {
    hash.update([kind]);
    hash.update((all.len() as u64).to_le_bytes());
    let mut block = Vec::with_capacity(4096 * N);
    for chunk in all.chunks(4096) {
        block.clear();
        chunk.iter().for_each(|value| block.extend_from_slice(&bytes(*value)));
        hash.update(&block);
    }
}

fn values(hash: &mut Sha256, data: &Data) {
    match data {
        Data::I64(all) => numbers(hash, 0, all, i64::to_le_bytes),
        Data::OptionalI64(all) => numbers(hash, 1, all, |value: Option<i64>| {
            let mut bytes = [0; 9];
            bytes[0] = u8::from(value.is_some());
            bytes[1..].copy_from_slice(&value.unwrap_or(0).to_le_bytes());
            bytes
        }),
        Data::MissingI64(count) => {
            hash.update([8]);
            hash.update((*count as u64).to_le_bytes());
        }
        Data::U32(all) => numbers(hash, 2, all, u32::to_le_bytes),
        Data::U16(all) => numbers(hash, 3, all, u16::to_le_bytes),
        Data::U64(all) => numbers(hash, 4, all, u64::to_le_bytes),
        Data::Bool(all) => numbers(hash, 5, all, |value| [u8::from(value)]),
        Data::Text { codes, texts } => {
            numbers(hash, 6, codes, u32::to_le_bytes);
            texts.iter().for_each(|name| text(hash, name));
        }
        Data::Tag { codes, texts } => {
            numbers(hash, 7, codes, |code| [code]);
            texts.iter().for_each(|name| text(hash, name));
        }
    }
}
