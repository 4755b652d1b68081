//! A queue in a ring of slots.

/// A queue whose capacity doubles when it is full. A queue that runs empty starts at its first slot
/// again, which is in the processor's cache.
///
/// ```
/// use netspurt::ring::Ring;
/// let mut ring = Ring::default();
/// (1..=5).for_each(|n| ring.push(n));
/// assert_eq!((ring.pop(), ring.first(), ring.len()), (Some(1), Some(&2), 4));
/// ```
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// The number of slots is a power of two, or zero.
    slots: Vec<T>,
    first: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), first: 0, len: 0 }
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
        if self.len == 0 { None } else { self.slots.get(self.first as usize) }
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.len as usize == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.slots[place] = value;
        self.len += 1;
    }

    /// Removes the value that has been in the queue for the longest time.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let value = *self.first()?;
        self.len -= 1;
        // This code has no branch, because the processor would mispredict it every other time.
        self.first = self.place(1) as u32 * u32::from(self.len > 0);
        Some(value)
    }

    /// Empties the queue and releases the slots.
    pub fn free(&mut self) {
        *self = Self::default();
    }

    /// The slot of the value that is `behind` values after the first.
    #[inline]
    fn place(&self, behind: u32) -> usize {
        (self.first + behind) as usize & (self.slots.len() - 1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.slots.rotate_left(self.first as usize);
        self.first = 0;
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
