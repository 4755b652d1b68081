//! The state of each probe, by its number. A probe takes 32 octets of memory. The memory is freed
//! part by part while the probes are taken out.

use std::collections::BTreeMap;

use netspurt::units::Duration;

/// The state of one probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeSlot {
    rtt_ns: u64,
    sent_ns: i64,
    /// The octets of the probe on the wire.
    pub wire_bytes: u32,
    /// Whether the probe was answered, with a known delay or without.
    pub answered: bool,
    /// Whether the tool reported that the reply was missing.
    pub given_up: bool,
    /// Whether the reply came after the tool had counted it as missing.
    pub late: bool,
}

/// The value that stands for an unknown delay.
const NO_RTT: u64 = u64::MAX;
/// The value that stands for an unknown time of sending.
const NO_TIME: i64 = i64::MIN;

impl Default for ProbeSlot {
    fn default() -> Self {
        Self {
            rtt_ns: NO_RTT,
            sent_ns: NO_TIME,
            wire_bytes: 0,
            answered: false,
            given_up: false,
            late: false,
        }
    }
}

impl ProbeSlot {
    /// The delay of the probe, if it is known.
    pub fn rtt(&self) -> Option<Duration> {
        (self.rtt_ns != NO_RTT).then(|| Duration::from_nanos(self.rtt_ns))
    }

    pub fn set_rtt(&mut self, rtt: Option<Duration>) {
        self.rtt_ns = rtt.map_or(NO_RTT, Duration::as_nanos);
    }

    /// When the probe left, in nanoseconds on the recording's clock, if that is known.
    pub fn sent_ns(&self) -> Option<i64> {
        (self.sent_ns != NO_TIME).then_some(self.sent_ns)
    }

    pub fn set_sent(&mut self, sent_ns: Option<i64>) {
        self.sent_ns = sent_ns.unwrap_or(NO_TIME);
    }
}

/// The maximum number of slots in a chunk.
const CHUNK: usize = 1 << 14;

/// Slots by the numbers of their probes.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// Most slots, in ascending order of their numbers. A new slot is added here only if its number
    /// is higher than all numbers here.
    chunks: Vec<Vec<(u64, ProbeSlot)>>,
    /// The slots that are not in `chunks`.
    strays: BTreeMap<u64, ProbeSlot>,
}

impl Slots {
    /// Returns the slot of the probe with this number.
    pub fn get(&self, number: u64) -> Option<&ProbeSlot> {
        let (chunk, place) = self.find(number);
        match place {
            Ok(place) => Some(&self.chunks[chunk][place].1),
            Err(_) => self.strays.get(&number),
        }
    }

    /// Returns the slot of the probe with this number. If the slot does not exist, it is made.
    pub fn entry(&mut self, number: u64) -> &mut ProbeSlot {
        let (chunk, place) = self.find(number);
        if let Ok(place) = place {
            return &mut self.chunks[chunk][place].1;
        }
        if self.last().is_some_and(|last| number < last) {
            return self.strays.entry(number).or_default();
        }
        if self.chunks.last().is_none_or(|last| last.len() == CHUNK) {
            // Most recordings fit in one chunk, which grows.
            let room = if self.chunks.is_empty() { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(room));
        }
        let last = self.chunks.last_mut().expect("there is at least one chunk");
        last.push((number, ProbeSlot::default()));
        &mut last.last_mut().expect("the slot was pushed to the chunk").1
    }

    /// Returns the index of the chunk where `number` belongs, and the result of a binary search for
    /// `number` in this chunk.
    fn find(&self, number: u64) -> (usize, Result<usize, usize>) {
        let behind =
            |chunk: &Vec<(u64, ProbeSlot)>| chunk.first().is_some_and(|one| one.0 <= number);
        // Lines are nearly in order, so the number is most likely in the last chunk.
        let at = match self.chunks.last() {
            Some(last) if behind(last) => self.chunks.len() - 1,
            _ => self.chunks.partition_point(behind).saturating_sub(1),
        };
        let place = match self.chunks.get(at) {
            Some(chunk) => chunk.binary_search_by_key(&number, |one| one.0),
            None => Err(0),
        };
        (at, place)
    }

    /// The highest number.
    fn last(&self) -> Option<u64> {
        Some(self.chunks.last()?.last()?.0)
    }

    /// The lowest and the highest number.
    pub fn ends(&self) -> Option<(u64, u64)> {
        let first = self.chunks.first()?.first()?.0;
        let stray = self.strays.first_key_value().map_or(first, |(number, _)| *number);
        Some((first.min(stray), self.last()?))
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum::<usize>() + self.strays.len()
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Returns all slots, in any order.
    pub fn values(&self) -> impl Iterator<Item = &ProbeSlot> {
        self.chunks.iter().flatten().map(|(_, slot)| slot).chain(self.strays.values())
    }

    /// Returns all slots in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &ProbeSlot)> {
        let ordered = self.chunks.iter().flatten().map(|(number, slot)| (*number, slot));
        merged(ordered, self.strays.iter().map(|(number, slot)| (*number, slot)))
    }

    /// Removes and returns all slots in the order of their numbers. Each chunk is freed when its
    /// last slot is taken.
    pub fn into_sorted(self) -> impl Iterator<Item = (u64, ProbeSlot)> {
        merged(self.chunks.into_iter().flatten(), self.strays.into_iter())
    }
}

/// Merges two ascending series.
fn merged<T>(
    one: impl Iterator<Item = (u64, T)>,
    other: impl Iterator<Item = (u64, T)>,
) -> impl Iterator<Item = (u64, T)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    core::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if b.0 < a.0 => other.next(),
        (None, Some(_)) => other.next(),
        _ => one.next(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_slot_with_its_number_takes_32_octets() {
        assert_eq!(size_of::<(u64, ProbeSlot)>(), 32);
    }

    proptest! {
        #[test]
        fn numbers_in_any_order_are_found_once_and_come_out_in_order(
            numbers in prop::collection::vec(0_u64..300, 1..400)
        ) {
            let (mut slots, mut known) = (Slots::default(), BTreeMap::new());
            for number in numbers {
                slots.entry(number).wire_bytes += 1;
                *known.entry(number).or_insert(0) += 1;
            }
            let stored: Vec<(u64, u32)> = slots.iter().map(|(n, s)| (n, s.wire_bytes)).collect();
            let expected: Vec<(u64, u32)> = known.iter().map(|(n, c)| (*n, *c)).collect();
            prop_assert_eq!(&stored, &expected);
            prop_assert_eq!(slots.len(), known.len());
            let ends = (expected[0].0, expected[expected.len() - 1].0);
            prop_assert_eq!(slots.ends(), Some(ends));
            prop_assert!((0..300).all(|n| slots.get(n).is_some() == known.contains_key(&n)));
            let taken: Vec<u64> = slots.into_sorted().map(|(number, _)| number).collect();
            prop_assert!(taken.is_sorted() && taken.len() == known.len());
        }
    }

    #[test]
    fn numbers_out_of_order_are_found_within_chunks_and_between_chunks() {
        for stray in [0, 1, 32_767, 32_768, 32_769, 65_535, 99_997, 99_998] {
            let mut slots = Slots::default();
            for number in 0..50_000 {
                slots.entry(number * 2).answered = true;
            }
            slots.entry(stray).late = true;
            assert!(slots.get(stray).is_some_and(|slot| slot.late));
            assert_eq!(slots.len(), 50_000 + usize::from(stray % 2 == 1));
        }
    }
}
