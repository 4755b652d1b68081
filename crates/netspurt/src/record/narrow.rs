//! Two kinds of lists that take little memory. A list of the first kind has whole numbers. A list
//! of the second kind says, for each row of a column, whether the row has a value. Columns of
//! tables can be stored in this way.

/// Whole numbers, in order. Each of them takes as many octets as the largest one needs: none (if
/// all are zero), one, two, four or eight. A signed number is stored as its 64 bits, so a negative
/// number needs eight octets.
///
/// ```
/// use netspurt::record::{NarrowNumbers, StoredNumbers};
/// let mut numbers = NarrowNumbers::with_capacity(2);
/// numbers.push(0);
/// assert!(matches!(numbers.stored(), StoredNumbers::Zeros { count: 1, .. }));
/// numbers.push(7);
/// assert!(matches!(numbers.stored(), StoredNumbers::One(_)));
/// numbers.push(70_000);
/// assert!(matches!(numbers.stored(), StoredNumbers::Four(_)));
/// assert_eq!(numbers.wide(), [0, 7, 70_000]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct NarrowNumbers(StoredNumbers);

/// The numbers of [`NarrowNumbers`].
#[derive(Clone, Debug)]
pub enum StoredNumbers {
    /// Zeros, which take no octets.
    Zeros {
        /// How many zeros there are.
        count: usize,
        /// For how many numbers memory is reserved when a number above zero is added.
        room: usize,
    },
    /// Numbers of one octet each.
    One(Vec<u8>),
    /// Numbers of two octets each.
    Two(Vec<u16>),
    /// Numbers of four octets each.
    Four(Vec<u32>),
    /// Numbers of eight octets each.
    Eight(Vec<u64>),
}

impl Default for StoredNumbers {
    fn default() -> Self {
        Self::Zeros { count: 0, room: 0 }
    }
}

impl StoredNumbers {
    fn len(&self) -> usize {
        match self {
            Self::Zeros { count, .. } => *count,
            Self::One(all) => all.len(),
            Self::Two(all) => all.len(),
            Self::Four(all) => all.len(),
            Self::Eight(all) => all.len(),
        }
    }

    fn capacity(&self) -> usize {
        match self {
            Self::Zeros { count, room } => *count.max(room),
            Self::One(all) => all.capacity(),
            Self::Two(all) => all.capacity(),
            Self::Four(all) => all.capacity(),
            Self::Eight(all) => all.capacity(),
        }
    }

    fn at(&self, row: usize) -> u64 {
        match self {
            Self::Zeros { count, .. } => {
                assert!(
                    row < *count,
                    "row {row} does not exist, because the list has {count} rows"
                );
                0
            }
            Self::One(all) => all[row].into(),
            Self::Two(all) => all[row].into(),
            Self::Four(all) => all[row].into(),
            Self::Eight(all) => all[row],
        }
    }

    fn wide(&self) -> Vec<u64> {
        fn widened<T: Copy + Into<u64>>(all: &[T]) -> Vec<u64> {
            all.iter().map(|number| (*number).into()).collect()
        }
        match self {
            Self::Zeros { count, .. } => vec![0; *count],
            Self::One(all) => widened(all),
            Self::Two(all) => widened(all),
            Self::Four(all) => widened(all),
            Self::Eight(all) => all.clone(),
        }
    }

    /// Adds `number` if it fits into as many octets as each stored number has. Returns whether it
    /// fits.
    #[inline]
    fn add(&mut self, number: u64) -> bool {
        fn put<T: TryFrom<u64>>(all: &mut Vec<T>, number: u64) -> bool {
            T::try_from(number).map(|number| all.push(number)).is_ok()
        }
        match self {
            Self::Zeros { count, .. } => {
                *count += usize::from(number == 0);
                number == 0
            }
            Self::One(all) => put(all, number),
            Self::Two(all) => put(all, number),
            Self::Four(all) => put(all, number),
            Self::Eight(all) => put(all, number),
        }
    }

    /// Stores each number in as many octets as `number` needs, and adds `number`.
    #[cold]
    fn widen(&mut self, number: u64) {
        fn widened<T: TryFrom<u64>>(numbers: &StoredNumbers) -> Vec<T> {
            let mut all = Vec::with_capacity(numbers.capacity());
            let held = numbers.wide().into_iter();
            all.extend(held.map_while(|number| T::try_from(number).ok()));
            all
        }
        *self = match number {
            0..0x100 => Self::One(widened(self)),
            0x100..0x1_0000 => Self::Two(widened(self)),
            0x1_0000..0x1_0000_0000 => Self::Four(widened(self)),
            _ => Self::Eight(widened(self)),
        };
        self.add(number);
    }
}

impl NarrowNumbers {
    /// Makes a list without numbers. It has room for `room` numbers.
    pub fn with_capacity(room: usize) -> Self {
        Self(StoredNumbers::Zeros { count: 0, room })
    }

    /// How many numbers the list has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers as they are stored.
    pub fn stored(&self) -> &StoredNumbers {
        &self.0
    }

    /// Adds a number.
    #[inline]
    pub fn push(&mut self, number: u64) {
        if !self.0.add(number) {
            self.0.widen(number);
        }
    }

    /// All numbers, each in eight octets.
    pub fn wide(&self) -> Vec<u64> {
        self.0.wide()
    }

    /// All numbers as signed numbers.
    pub fn signed(&self) -> Vec<i64> {
        self.wide().into_iter().map(u64::cast_signed).collect()
    }

    /// Returns the numbers of `rows`, in this order.
    pub(super) fn of_rows(&self, rows: &[usize]) -> Self {
        rows.iter().map(|row| self.0.at(*row)).collect()
    }
}

/// Lists are equal if their numbers are equal.
impl PartialEq for NarrowNumbers {
    fn eq(&self, other: &Self) -> bool {
        self.wide() == other.wide()
    }
}

impl FromIterator<u64> for NarrowNumbers {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut all = Self::default();
        numbers.into_iter().for_each(|number| all.push(number));
        all
    }
}

/// For each row of a column, one bit that says whether the row has a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Existence {
    words: Vec<u64>,
    rows: usize,
}

impl Existence {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, exists: bool) {
        let bit = self.rows % 64;
        if bit == 0 {
            self.words.push(0);
        }
        self.words[self.rows / 64] |= u64::from(exists) << bit;
        self.rows += 1;
    }

    /// For each row, whether it has a value.
    pub fn iter(&self) -> impl Iterator<Item = bool> {
        (0..self.rows).map(|row| self.words[row / 64] >> (row % 64) & 1 == 1)
    }

    /// For each of `rows`, the index of its value among the values that exist, or `None` if the
    /// value does not exist.
    pub(super) fn places(&self, rows: &[usize]) -> impl Iterator<Item = Option<usize>> {
        let mut many = 0;
        let before = self.words.iter().map(|word| {
            many += word.count_ones() as usize;
            many - word.count_ones() as usize
        });
        let before: Vec<usize> = before.collect();
        rows.iter().map(move |row| {
            let (word, bit) = (self.words[row / 64], row % 64);
            let lower = word & ((1 << bit) - 1);
            (word >> bit & 1 == 1).then(|| before[row / 64] + lower.count_ones() as usize)
        })
    }

    /// The value of each row, or `None` if the row has no value. `existing` has the values that
    /// exist, in order.
    pub fn spread<T: Copy>(&self, existing: &[T]) -> impl Iterator<Item = Option<T>> {
        let mut existing = existing.iter().copied();
        self.iter().map(move |exists| if exists { existing.next() } else { None })
    }
}
