//! Reads the numbers in the headers of capture files, in the byte order of the machine that wrote
//! the file.

/// A byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    /// The 16-bit number at offset `at`.
    ///
    /// # Panics
    /// When there are too few octets.
    #[inline]
    pub(super) fn half(self, octets: &[u8], at: usize) -> u16 {
        let two = [octets[at], octets[at + 1]];
        match self {
            Self::Big => u16::from_be_bytes(two),
            Self::Little => u16::from_le_bytes(two),
        }
    }

    /// The 32-bit number at offset `at`.
    ///
    /// # Panics
    /// When there are too few octets.
    #[inline]
    pub(super) fn word(self, octets: &[u8], at: usize) -> u32 {
        let four = *octets[at..].first_chunk().expect("the caller checked the length");
        match self {
            Self::Big => u32::from_be_bytes(four),
            Self::Little => u32::from_le_bytes(four),
        }
    }

    /// The four 32-bit numbers in `octets`.
    #[inline]
    pub(super) fn words(self, octets: &[u8; 16]) -> [u32; 4] {
        let (&[a, b, c, d], _) = octets.as_chunks().0.split_first_chunk().expect("four words");
        match self {
            Self::Big => [
                u32::from_be_bytes(a),
                u32::from_be_bytes(b),
                u32::from_be_bytes(c),
                u32::from_be_bytes(d),
            ],
            Self::Little => [
                u32::from_le_bytes(a),
                u32::from_le_bytes(b),
                u32::from_le_bytes(c),
                u32::from_le_bytes(d),
            ],
        }
    }

    /// The 64-bit number at offset `at`.
    ///
    /// # Panics
    /// When there are too few octets.
    pub(super) fn long(self, octets: &[u8], at: usize) -> u64 {
        let eight = *octets[at..].first_chunk().expect("the caller checked the length");
        match self {
            Self::Big => u64::from_be_bytes(eight),
            Self::Little => u64::from_le_bytes(eight),
        }
    }
}
