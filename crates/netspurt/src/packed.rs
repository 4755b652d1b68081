//! Packs state into octets, so that an idle connection takes little memory. A small number takes
//! few octets.
//!
//! A part of a connection packs its fields one after another. To unpack them, the caller makes a
//! new part with the same configuration and unpacks the octets over it. Fields that the
//! configuration fixes are not packed.

use std::array;
use std::collections::VecDeque;

use crate::ids::Side;
use crate::ranges::Ranges;
use crate::units::{Duration, Time};

/// A value that can be packed, and unpacked over another value with the same configuration.
///
/// ```
/// use netspurt::packed::Packed;
/// let mut octets = Vec::new();
/// (300_u64, Some(true)).pack(&mut octets);
/// assert_eq!(octets.len(), 4);
/// let mut copy = (0_u64, None::<bool>);
/// copy.unpack(&mut octets.as_slice());
/// assert_eq!(copy, (300, Some(true)));
/// ```
pub trait Packed {
    /// Appends the octets of the value to the list `into`.
    fn pack(&self, into: &mut Vec<u8>);

    /// Takes the octets of a packed value from the front of the octets `from`, and sets this value
    /// to the packed value.
    ///
    /// # Panics
    /// When the octets `from` do not begin with a packed value.
    fn unpack(&mut self, from: &mut &[u8]);
}

/// A value that can be packed, and made again from the octets alone.
pub trait PackedValue: Sized {
    /// Appends the octets of the value to the list `into`.
    fn put(&self, into: &mut Vec<u8>);

    /// Takes the octets of a packed value from the front of the octets `from`, and returns the
    /// value.
    ///
    /// # Panics
    /// When the octets `from` do not begin with a packed value.
    fn get(from: &mut &[u8]) -> Self;
}

impl<T: PackedValue> Packed for T {
    fn pack(&self, into: &mut Vec<u8>) {
        self.put(into);
    }

    fn unpack(&mut self, from: &mut &[u8]) {
        *self = T::get(from);
    }
}

/// The message of the panic if octets are missing or wrong.
const OTHER: &str = "the octets are those that were packed";

/// Numbers below this limit take one octet.
const ONE_OCTET: u8 = 192;
/// A first octet of at least [`ONE_OCTET`] and below this limit begins a number of two octets. A
/// first octet *b* that is not below this limit says that *b* - limit + 1 octets follow.
const TWO_OCTETS: u8 = 248;
/// Numbers below this limit take at most two octets.
const PAIRS: u64 = ((TWO_OCTETS - ONE_OCTET) as u64) << 8;

impl PackedValue for u64 {
    /// Writes a small number in one or two octets. For a larger number, writes the count of its
    /// octets, and then the octets, the lowest first.
    #[inline]
    fn put(&self, into: &mut Vec<u8>) {
        let [low, high, ..] = self.to_le_bytes();
        if *self < ONE_OCTET.into() {
            into.push(low);
        } else if *self < PAIRS {
            into.extend_from_slice(&[ONE_OCTET + high, low]);
        } else {
            let many = u64::BITS.div_ceil(8) - self.leading_zeros() / 8;
            let end = into.len() + 1 + many as usize;
            // All eight octets are copied, and then the unneeded octets are cut off. A copy of a
            // fixed length takes a few instructions, but a copy of a variable length takes a
            // function call. The count is appended alone, because a processor waits if it copies
            // octets in one piece immediately after they were written in two pieces.
            into.push(TWO_OCTETS + (many - 1) as u8);
            into.extend_from_slice(&self.to_le_bytes());
            into.truncate(end);
        }
    }

    #[inline(always)]
    fn get(from: &mut &[u8]) -> Self {
        let first = *from.split_off_first().expect(OTHER);
        if first < ONE_OCTET {
            return first.into();
        }
        if first < TWO_OCTETS {
            let low = *from.split_off_first().expect(OTHER);
            return u64::from(first - ONE_OCTET) << 8 | u64::from(low);
        }
        let many = usize::from(first - TWO_OCTETS) + 1;
        let value = match from.first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight) & (u64::MAX >> (64 - 8 * many)),
            None => from[..many].iter().rev().fold(0, |high, octet| high << 8 | u64::from(*octet)),
        };
        *from = &from[many..];
        value
    }
}

/// Packs numbers of the given types like numbers of the type `u64`.
macro_rules! packed_as_u64 {
    ($($number:ty)+) => {$(
        impl PackedValue for $number {
            #[inline]
            fn put(&self, into: &mut Vec<u8>) {
                (*self as u64).put(into);
            }

            #[inline]
            fn get(from: &mut &[u8]) -> Self {
                Self::try_from(u64::get(from)).expect(OTHER)
            }
        }
    )+};
}

packed_as_u64!(u8 u16 u32 usize);

impl PackedValue for u128 {
    #[inline]
    fn put(&self, into: &mut Vec<u8>) {
        ((*self >> 64) as u64).put(into);
        ((*self & u128::from(u64::MAX)) as u64).put(into);
    }

    #[inline]
    fn get(from: &mut &[u8]) -> Self {
        u128::from(u64::get(from)) << 64 | u128::from(u64::get(from))
    }
}

impl PackedValue for f64 {
    /// The octets are reversed. The octets of a round number end in zeros, so the reversed octets
    /// are a small number, which takes few octets.
    #[inline]
    fn put(&self, into: &mut Vec<u8>) {
        self.to_bits().swap_bytes().put(into);
    }

    #[inline]
    fn get(from: &mut &[u8]) -> Self {
        Self::from_bits(u64::get(from).swap_bytes())
    }
}

impl PackedValue for bool {
    #[inline]
    fn put(&self, into: &mut Vec<u8>) {
        into.push(u8::from(*self));
    }

    #[inline]
    fn get(from: &mut &[u8]) -> Self {
        u8::get(from) != 0
    }
}

impl PackedValue for Time {
    /// [`Time::NEVER`], which is frequent, takes one octet.
    #[inline]
    fn put(&self, into: &mut Vec<u8>) {
        self.as_nanos().wrapping_add(1).put(into);
    }

    #[inline]
    fn get(from: &mut &[u8]) -> Self {
        Time::from_nanos(u64::get(from).wrapping_sub(1))
    }
}

impl PackedValue for Duration {
    #[inline]
    fn put(&self, into: &mut Vec<u8>) {
        self.as_nanos().put(into);
    }

    #[inline]
    fn get(from: &mut &[u8]) -> Self {
        Duration::from_nanos(u64::get(from))
    }
}

impl<A: PackedValue, B: PackedValue> PackedValue for (A, B) {
    fn put(&self, into: &mut Vec<u8>) {
        self.0.put(into);
        self.1.put(into);
    }

    fn get(from: &mut &[u8]) -> Self {
        let first = A::get(from);
        (first, B::get(from))
    }
}

impl<A: PackedValue, B: PackedValue, C: PackedValue> PackedValue for (A, B, C) {
    fn put(&self, into: &mut Vec<u8>) {
        self.0.put(into);
        self.1.put(into);
        self.2.put(into);
    }

    fn get(from: &mut &[u8]) -> Self {
        let (first, second) = <(A, B)>::get(from);
        (first, second, C::get(from))
    }
}

impl<T: PackedValue, const N: usize> PackedValue for [T; N] {
    fn put(&self, into: &mut Vec<u8>) {
        self.iter().for_each(|value| value.put(into));
    }

    fn get(from: &mut &[u8]) -> Self {
        array::from_fn(|_| T::get(from))
    }
}

impl PackedValue for Side {
    fn put(&self, into: &mut Vec<u8>) {
        self.index().put(into);
    }

    fn get(from: &mut &[u8]) -> Self {
        *Self::BOTH.get(usize::get(from)).expect(OTHER)
    }
}

impl<T: PackedValue> PackedValue for Option<T> {
    fn put(&self, into: &mut Vec<u8>) {
        self.is_some().put(into);
        if let Some(value) = self {
            value.put(into);
        }
    }

    fn get(from: &mut &[u8]) -> Self {
        bool::get(from).then(|| T::get(from))
    }
}

impl<T: PackedValue> PackedValue for Vec<T> {
    fn put(&self, into: &mut Vec<u8>) {
        self.len().put(into);
        self.iter().for_each(|value| value.put(into));
    }

    fn get(from: &mut &[u8]) -> Self {
        (0..usize::get(from)).map(|_| T::get(from)).collect()
    }
}

impl<T: PackedValue> PackedValue for VecDeque<T> {
    fn put(&self, into: &mut Vec<u8>) {
        self.len().put(into);
        self.iter().for_each(|value| value.put(into));
    }

    fn get(from: &mut &[u8]) -> Self {
        Vec::get(from).into()
    }
}

impl PackedValue for Ranges {
    fn put(&self, into: &mut Vec<u8>) {
        self.iter().collect::<Vec<_>>().put(into);
    }

    fn get(from: &mut &[u8]) -> Self {
        let mut ranges = Ranges::default();
        for (left, right) in Vec::<(u64, u64)>::get(from) {
            ranges.insert(left, right);
        }
        ranges
    }
}

/// Returns `octets` without their zeros. An octet is put before each group of eight octets. The
/// bits of this additional octet show which octets of the group are not zero.
///
/// ```
/// use netspurt::packed::{without_zeros, with_zeros};
/// let octets = [0, 0, 7, 0, 0, 0, 0, 0, 0, 3];
/// assert_eq!(without_zeros(&octets), [0b100, 7, 0b10, 3]);
/// assert_eq!(with_zeros(&[0b100, 7, 0b10, 3])[..10], octets);
/// ```
pub fn without_zeros(octets: &[u8]) -> Vec<u8> {
    let mut left = Vec::with_capacity(octets.len() + octets.len().div_ceil(8));
    for eight in octets.chunks(8) {
        // A group consists of the additional octet and the octets that are not zero.
        let (mut group, mut count) = ([0; 16], 1);
        for (place, octet) in eight.iter().enumerate() {
            let there = u8::from(*octet != 0);
            group[0] |= there << place;
            group[count % 16] = *octet;
            count += usize::from(there);
        }
        left.extend_from_slice(&group[..count]);
    }
    left
}

/// Returns the octets from which [`without_zeros`] made the octets `left`, followed by zeros up to
/// a multiple of eight.
///
/// # Panics
/// When the octets `left` end too early, so they do not come from [`without_zeros`].
pub fn with_zeros(mut left: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(4 * left.len());
    while let Some(marks) = left.split_off_first() {
        let mut eight = [0; 8];
        let mut marks = *marks;
        while marks != 0 {
            eight[marks.trailing_zeros() as usize] = *left.split_off_first().expect(OTHER);
            marks &= marks - 1;
        }
        octets.extend_from_slice(&eight);
    }
    octets
}

/// Packs a struct field by field. The fields after the word `keeps` are not packed, because the
/// configuration fixes them, or because they hold nothing that is needed later. If a field is named
/// neither before nor after `keeps`, the code does not compile.
macro_rules! packed {
    ($name:ty { $($field:ident),+ $(,)? } $(keeps { $($kept:ident),+ })?) => {
        impl $crate::packed::Packed for $name {
            fn pack(&self, into: &mut Vec<u8>) {
                let Self { $($field,)+ $($($kept: _,)+)? } = self;
                $($crate::packed::Packed::pack($field, into);)+
            }

            fn unpack(&mut self, from: &mut &[u8]) {
                let Self { $($field,)+ $($($kept: _,)+)? } = self;
                $($crate::packed::Packed::unpack($field, from);)+
            }
        }
    };
}

/// Packs all fields of a struct. The value can be made again from the octets alone.
macro_rules! packed_value {
    ($name:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::packed::PackedValue for $name {
            fn put(&self, into: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $($crate::packed::PackedValue::put($field, into);)+
            }

            fn get(from: &mut &[u8]) -> Self {
                $(let $field = $crate::packed::PackedValue::get(from);)+
                Self { $($field),+ }
            }
        }
    };
}

/// Packs an enum without fields as the index of its variant in a list of all variants. The caller
/// names the variants, or names an array that contains all of them, such as `WaitingFor::ALL`.
macro_rules! packed_variants {
    ($name:ty { $($variant:ident),+ $(,)? }) => {
        // If a variant is not in the list, this does not compile.
        const _: fn(&$name) = |variant| match variant {
            $(<$name>::$variant)|+ => {}
        };
        packed_variants!($name: [$(<$name>::$variant),+]);
    };
    ($name:ty: $all:expr) => {
        impl $crate::packed::PackedValue for $name {
            fn put(&self, into: &mut Vec<u8>) {
                let place = $all.iter().position(|variant| variant == self);
                $crate::packed::PackedValue::put(&place.unwrap_or_default(), into);
            }

            fn get(from: &mut &[u8]) -> Self {
                let place: usize = $crate::packed::PackedValue::get(from);
                $all[place]
            }
        }
    };
}

pub(crate) use {packed, packed_value, packed_variants};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Weather {
        Fair,
        Foul,
    }

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Day {
        number: u32,
        weather: Weather,
        rain: Vec<(Time, u128)>,
        rest: Option<Duration>,
    }

    packed_variants!(Weather { Fair, Foul });
    packed_value!(Day { number, weather, rain, rest });

    proptest! {
        #[test]
        fn unpacking_gives_the_packed_value(
            number: u32,
            foul: bool,
            rain: Vec<(u64, u128)>,
            rest: Option<u64>,
        ) {
            let weather = if foul { Weather::Foul } else { Weather::Fair };
            let rain = rain.into_iter().map(|(at, mm)| (Time::from_nanos(at), mm)).collect();
            let day = Day { number, weather, rain, rest: rest.map(Duration::from_nanos) };
            let mut octets = Vec::new();
            day.pack(&mut octets);
            let mut rest = octets.as_slice();
            prop_assert_eq!(Day::get(&mut rest), day);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn removed_zeros_are_restored(octets in prop::collection::vec(0_u8..3, 0..40)) {
            let all = with_zeros(&without_zeros(&octets));
            prop_assert_eq!(&all[..octets.len()], &octets[..]);
            prop_assert!(all[octets.len()..].iter().all(|octet| *octet == 0));
        }

        #[test]
        fn unpacking_gives_the_packed_ranges(pairs: Vec<(u16, u8)>) {
            let mut ranges = Ranges::default();
            for (left, len) in pairs {
                ranges.insert(left.into(), u64::from(left) + u64::from(len));
            }
            let mut octets = Vec::new();
            ranges.pack(&mut octets);
            let copy = Ranges::get(&mut octets.as_slice());
            prop_assert_eq!(format!("{copy:?}"), format!("{ranges:?}"));
        }
    }

    #[test]
    fn an_instant_that_is_never_reached_takes_one_octet() {
        let mut octets = Vec::new();
        (Time::NEVER, Time::ZERO).pack(&mut octets);
        assert_eq!(octets, [0, 1]);
    }
}
