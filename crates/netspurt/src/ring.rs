//! A first-in, first-out queue in a ring buffer.

/// A queue of values. The first value is in a field of the queue, and the other values are in
/// slots. The number of slots doubles when all are full.
///
/// A queue of one value needs no slots, because the value that leaves next is always in the field.
/// When the slots become empty, the queue starts again at the first slot, which is in the
/// processor's cache.
///
/// ```
/// use netspurt::ring::Ring;
/// let mut ring = Ring::default();
/// (1..=5).for_each(|n| ring.push(n));
/// assert_eq!((ring.pop(), ring.first(), ring.len()), (Some(1), Some(&2), 4));
/// ```
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// The value that has been in the queue for the longest time, if the queue is not empty.
    first: T,
    len: u32,
    /// The slot of the second value.
    second: u32,
    /// The slots with the values after the first. Their number is a power of two, or zero.
    slots: Vec<T>,
}

impl<T: Default> Default for Ring<T> {
    fn default() -> Self {
        Self { first: T::default(), len: 0, second: 0, slots: Vec::new() }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// The number of values in the queue.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value that has been in the queue for the longest time.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(&self.first) }
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len == 0 {
            self.first = value;
        } else {
            let behind = self.len - 1;
            if behind as usize == self.slots.len() {
                self.grow();
            }
            let place = self.place(behind);
            self.slots[place] = value;
        }
        self.len += 1;
    }

    /// Removes the value that has been in the queue for the longest time.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.first;
        self.len -= 1;
        if self.len > 0 {
            self.first = self.slots[self.second as usize];
            self.second = self.place(1) as u32 * u32::from(self.len > 1);
        }
        Some(value)
    }

    /// Empties the queue and releases the slots.
    pub fn free(&mut self) {
        *self = Self::default();
    }

    /// The slot of the value with the index `behind`, counted from the second value.
    #[inline]
    fn place(&self, behind: u32) -> usize {
        (self.second + behind) as usize & (self.slots.len() - 1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.slots.rotate_left(self.second as usize);
        self.second = 0;
        let slots = (2 * self.slots.len()).max(1);
        self.slots.reserve_exact(slots - self.slots.len());
        self.slots.resize(slots, T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn values_come_out_in_the_order_in_which_they_went_in(
            steps in prop::collection::vec(0_u8..5, 0..300)
        ) {
            let (mut ring, mut oracle) = (Ring::default(), VecDeque::new());
            for (n, step) in (0..).zip(steps) {
                match step {
                    0 | 1 => prop_assert_eq!(ring.pop(), oracle.pop_front()),
                    2 if n % 16 == 0 => {
                        ring.free();
                        oracle.clear();
                    }
                    _ => {
                        ring.push(n);
                        oracle.push_back(n);
                    }
                }
                prop_assert_eq!(ring.first(), oracle.front());
                prop_assert_eq!((ring.len() as usize, ring.is_empty()), (oracle.len(), oracle.is_empty()));
            }
        }
    }
}
