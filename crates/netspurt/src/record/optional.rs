//! The values of a table's column in which some values may be absent.

use std::ops::Range;

/// A list of values. Some may be absent. A row takes one octet more than its value.
///
/// ```
/// use netspurt::record::OptionalValues;
/// let values: OptionalValues<i64> = [Some(7), None].into_iter().collect();
/// assert_eq!((values.len(), values.at(0), values.at(1)), (2, Some(7), None));
/// assert_eq!((values.filled(), values.exist()), (&[7, 0][..], &[true, false][..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptionalValues<T> {
    filled: Vec<T>,
    exist: Vec<bool>,
}

impl<T: Copy + Default> OptionalValues<T> {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.filled.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// The value of a row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn at(&self, row: usize) -> Option<T> {
        self.exist[row].then_some(self.filled[row])
    }

    /// The values of all rows, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<T>> + '_ {
        (0..self.len()).map(|row| self.at(row))
    }

    /// The values of all rows, with zeros in place of absent values.
    pub fn filled(&self) -> &[T] {
        &self.filled
    }

    /// For each row, whether its value exists.
    pub fn exist(&self) -> &[bool] {
        &self.exist
    }

    /// Adds a row.
    pub fn push(&mut self, value: Option<T>) {
        self.filled.push(value.unwrap_or_default());
        self.exist.push(value.is_some());
    }

    /// The values of the rows with these numbers, in this order.
    pub(super) fn of_rows(&self, rows: &[usize]) -> Self {
        rows.iter().map(|row| self.at(*row)).collect()
    }

    /// The values that exist among `rows`, and a definition level for each of these rows, as
    /// Parquet needs it: 1 if its value exists, otherwise 0.
    pub(super) fn existing(&self, rows: Range<usize>) -> (Vec<T>, Vec<i16>) {
        let levels = self.exist[rows.clone()].iter().map(|exists| i16::from(*exists)).collect();
        (rows.filter_map(|row| self.at(row)).collect(), levels)
    }
}

impl<T: Copy + Default> FromIterator<Option<T>> for OptionalValues<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Self {
        let mut all = Self::default();
        values.into_iter().for_each(|value| all.push(value));
        all
    }
}

impl<T: Copy + Default> From<Vec<Option<T>>> for OptionalValues<T> {
    fn from(values: Vec<Option<T>>) -> Self {
        values.into_iter().collect()
    }
}
