//! Memory for packed connections.

use bytes::{Bytes, BytesMut};

/// Memory for packed connections. Many connections share a chunk of memory, and the chunk is freed
/// when the last of these connections is dropped. If each connection had memory of its own, the
/// allocator could often not give this memory back to the operating system.
///
/// ```
/// use netspurt::explain::PackingChunks;
/// let mut packing = PackingChunks::default();
/// let kept = [b"one", b"two"].map(|octets| packing.keep(|room| room.extend_from_slice(octets)));
/// assert_eq!(kept, ["one", "two"]);
/// ```
#[derive(Debug, Default)]
pub struct PackingChunks {
    /// A buffer for the octets of one connection. When their length is known, they are copied to
    /// `chunk`.
    room: Vec<u8>,
    /// The unused rest of the current chunk.
    chunk: BytesMut,
}

impl PackingChunks {
    /// The minimum size of a chunk, in octets.
    const CHUNK: usize = 1 << 18;

    /// Keeps the octets that `pack` appends to an empty buffer.
    pub fn keep(&mut self, pack: impl FnOnce(&mut Vec<u8>)) -> Bytes {
        let Self { room, chunk } = self;
        room.clear();
        pack(room);
        if chunk.capacity() < room.len() {
            *chunk = BytesMut::with_capacity(room.len().max(Self::CHUNK));
        }
        chunk.extend_from_slice(room);
        chunk.split().freeze()
    }
}
