//! A check of octets in Thrift's compact protocol. Parquet files have their footer and page headers
//! in this protocol; the check refuses octets that would keep a decoder busy without end.
//!
//! Source: Apache Thrift, `doc/specs/thrift-compact-protocol.md`.

/// The greatest depth to which structures and lists may be nested.
const DEPTH_MAX: u32 = 32;

/// The greatest id of a field. Ids have 16 bits, and decoders ignore higher bits.
const ID_MAX: u64 = i16::MAX as u64;

/// The type of a field according to its definition. A file may give the field another type.
pub(super) enum Holds {
    Truth,
    Octet,
    Whole,
    Real,
    Text,
    List(&'static Holds),
    Structure(&'static [(u64, Holds)]),
}

impl Holds {
    /// Whether a value of the protocol's type `kind` can be read as this type.
    fn fits(&self, kind: u8) -> bool {
        match self {
            Holds::Truth => matches!(kind, 1 | 2),
            Holds::Octet => kind == 3,
            Holds::Whole => matches!(kind, 4..=6),
            Holds::Real => kind == 7,
            Holds::Text => kind == 8,
            Holds::List(_) => kind == 9,
            Holds::Structure(_) => kind == 12,
        }
    }
}

/// Walks through octets of the protocol, and holds the octets that are left.
///
/// A list gives the number of its elements, and some decoders read no octets for an element that is
/// a boolean. A decoder that skips such elements one by one takes up to 2³¹ steps for a list of six
/// octets. The walk therefore refuses a list that has more elements than there are octets left. It
/// also refuses a list of booleans.
///
/// A decoder reads a known field by its definition, whatever type the file gives. If the file gives
/// another type, the decoder and the walk would read different octets. The walk therefore refuses
/// such a field.
pub(super) struct Walk<'a> {
    left: &'a [u8],
}

impl<'a> Walk<'a> {
    pub(super) fn new(left: &'a [u8]) -> Self {
        Self { left }
    }

    /// The number of octets that are left.
    pub(super) fn left(&self) -> usize {
        self.left.len()
    }

    /// Reads the id and the type of the field that follows the field with the id `last`. Returns
    /// `Some(None)` at the end of the structure, and `None` if the octets are refused.
    pub(super) fn field(&mut self, last: u64) -> Option<Option<(u64, u8)>> {
        let head = self.octet()?;
        if head == 0 {
            return Some(None);
        }
        let step = u64::from(head >> 4);
        let id = if step > 0 { last + step } else { self.whole()? };
        (id <= ID_MAX).then_some(Some((id, head & 15)))
    }

    /// Walks through the fields up to the end of the structure. The walk refuses a field with a
    /// `known` id if the field does not have its defined type.
    pub(super) fn structure(&mut self, known: &[(u64, Holds)], depth: u32) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut last = 0;
        while let Some((id, kind)) = self.field(last)? {
            self.value_of(known, id, kind, depth)?;
            last = id;
        }
        Some(())
    }

    /// Walks through the value of the field `id`.
    pub(super) fn value_of(
        &mut self,
        known: &[(u64, Holds)],
        id: u64,
        kind: u8,
        depth: u32,
    ) -> Option<()> {
        let content = known.iter().find(|(known, _)| *known == id).map(|(_, content)| content);
        if content.is_some_and(|content| !content.fits(kind)) {
            return None;
        }
        // A boolean has its value in the type of its field.
        if matches!(kind, 1 | 2) { Some(()) } else { self.value(content, kind, depth) }
    }

    fn value(&mut self, content: Option<&Holds>, kind: u8, depth: u32) -> Option<()> {
        match kind {
            3 => self.octets(1),
            4..=6 => self.number().map(drop),
            7 => self.octets(8),
            8 => {
                let length = self.number()?;
                self.octets(usize::try_from(length).ok()?)
            }
            9 | 10 => {
                let of = if let Some(Holds::List(of)) = content { Some(*of) } else { None };
                self.list(of, depth)
            }
            12 => {
                let known =
                    if let Some(Holds::Structure(known)) = content { known } else { &[][..] };
                self.structure(known, depth + 1)
            }
            13 => self.octets(16),
            _ => None,
        }
    }

    fn list(&mut self, of: Option<&Holds>, depth: u32) -> Option<()> {
        let head = self.octet()?;
        let kind = head & 15;
        let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        let count = usize::try_from(count).ok().filter(|count| *count <= self.left.len())?;
        if count == 0 {
            return Some(());
        }
        if depth > DEPTH_MAX || matches!(kind, 1 | 2) || of.is_some_and(|of| !of.fits(kind)) {
            return None;
        }
        (0..count).try_for_each(|_| self.value(of, kind, depth + 1))
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

    /// Reads a whole number that is not negative. Its zigzag encoding is two times the number.
    pub(super) fn whole(&mut self) -> Option<u64> {
        self.number().filter(|twice| twice & 1 == 0).map(|twice| twice / 2)
    }

    /// Reads a number with seven bits in each octet, the lowest bits first.
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

    const KNOWN: &[(u64, Holds)] =
        &[(1, Holds::Whole), (2, Holds::List(&Holds::Text)), (3, Holds::Structure(&[]))];

    /// Whether the walk reaches the end of the structure.
    fn ends(octets: &[u8]) -> bool {
        Walk::new(octets).structure(KNOWN, 0).is_some()
    }

    #[test]
    fn defined_fields_and_unknown_fields_pass_the_walk() {
        assert!(ends(&[0x15, 4, 0x19, 0x18, 1, b'a', 0x1c, 0, 0]), "all known fields");
        assert!(ends(&[0xa5, 4, 0]), "field 10 is unknown");
        assert!(ends(&[0x29, 0, 0]), "an empty list needs no type");
    }

    #[test]
    fn a_known_field_is_refused_if_its_type_is_not_the_defined_one() {
        assert!(!ends(&[0x18, 1, b'a', 0]), "a text in place of a number");
        assert!(!ends(&[0x29, 0x15, 4, 0]), "numbers in place of texts");
        assert!(!ends(&[0x05, 0x82, 0x80, 0x08, 4, 0]), "an id beyond 16 bits");
    }

    #[test]
    fn lists_that_could_keep_a_decoder_busy_are_refused() {
        assert!(!ends(&[0x99, 0xf5, 0xff, 0xff, 0xff, 0x7f, 0]), "2^28 - 1 numbers");
        assert!(!ends(&[0x99, 0x11, 0]), "some decoders read no octet for a boolean");
    }

    #[test]
    fn structures_that_are_nested_too_deeply_are_refused() {
        assert!(!ends(&[vec![0x9c; 100_000], vec![0; 100_001]].concat()));
    }
}
