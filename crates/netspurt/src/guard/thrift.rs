//! Thrift's compact protocol, in which the footer of a Parquet file is written: whether a decoder that
//! skips what it does not know comes to an end.

/// Structures that may be inside each other.
const DEPTH_MAX: u32 = 32;

/// Whether the footer of the Parquet file whose last octets are `end` can be walked.
///
/// A list says how many elements it has, and elements of some types take no octet: a decoder that
/// skips them one by one may take years for a footer of a hundred octets. Here a list has no more
/// elements than octets follow, and no element is empty.
///
/// ```
/// use netspurt::guard::has_sound_footer;
/// // Field 1 is a list of 2^28 empty elements.
/// let footer = [0x19, 0xf1, 0xff, 0xff, 0xff, 0x7f, 0, 6, 0, 0, 0];
/// assert!(!has_sound_footer(&[&footer[..], b"PAR1"].concat()));
/// // Field 1 is the number 2.
/// assert!(has_sound_footer(&[&[0x15, 4, 0, 3, 0, 0, 0], &b"PAR1"[..]].concat()));
/// ```
pub fn has_sound_footer(end: &[u8]) -> bool {
    let Some((rest, [size @ .., b'P', b'A', b'R', b'1'])) = end.split_last_chunk::<8>() else {
        return false;
    };
    let size = usize::try_from(u32::from_le_bytes(*size)).unwrap_or(usize::MAX);
    let Some(start) = rest.len().checked_sub(size) else { return false };
    Walk { left: &rest[start..] }.structure(0).is_some()
}

/// What is left to walk through.
struct Walk<'a> {
    left: &'a [u8],
}

impl Walk<'_> {
    /// Fields up to the one that ends them.
    fn structure(&mut self, depth: u32) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        loop {
            let head = self.octet()?;
            if head == 0 {
                return Some(());
            }
            if head >> 4 == 0 {
                self.number()?;
            }
            // A field of truth has its value in its type.
            if !matches!(head & 15, 1 | 2) {
                self.value(head & 15, depth)?;
            }
        }
    }

    fn value(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            3 => self.octets(1),
            4..=6 => self.number().map(drop),
            7 => self.octets(8),
            8 => {
                let length = self.number()?;
                self.octets(usize::try_from(length).ok()?)
            }
            9 | 10 => self.list(depth),
            12 => self.structure(depth + 1),
            13 => self.octets(16),
            _ => None,
        }
    }

    fn list(&mut self, depth: u32) -> Option<()> {
        let head = self.octet()?;
        let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        let count = usize::try_from(count).ok().filter(|count| *count <= self.left.len())?;
        if depth > DEPTH_MAX || count > 0 && matches!(head & 15, 1 | 2) {
            return None;
        }
        (0..count).try_for_each(|_| self.value(head & 15, depth + 1))
    }

    fn octet(&mut self) -> Option<u8> {
        let (first, left) = self.left.split_first()?;
        self.left = left;
        Some(*first)
    }

    fn octets(&mut self, count: usize) -> Option<()> {
        self.left = self.left.get(count..)?;
        Some(())
    }

    /// A number of seven bits in each octet, the least first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let octet = self.octet()?;
            number |= u64::from(octet & 127) << shift;
            if octet < 128 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_inside_each_other_have_a_bound() {
        let mut footer = vec![0x1c; 100_000];
        footer.extend([0; 100_001]);
        let size = u32::try_from(footer.len()).unwrap().to_le_bytes();
        assert!(!has_sound_footer(&[&footer[..], &size, b"PAR1"].concat()));
    }

    #[test]
    fn what_is_no_end_of_a_file_is_not_sound() {
        assert!(!has_sound_footer(b"PAR1") && !has_sound_footer(&[]));
        assert!(!has_sound_footer(b"\x15\x04\x00\x04\x00\x00\x00PAR1"), "longer than the file");
    }
}
