//! Tables. A table has named columns of equal length.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Existence, NarrowNumbers, OptionalValues};

/// A table of a record.
///
/// ```
/// use netspurt::record::{Column, Data, Table};
/// let table = Table::new("rtt", vec![
///     Column::new("t_ns", Data::I64(vec![1, 2])),
///     Column::new("rtt_ns", Data::I64(vec![10, 20])),
/// ]);
/// assert_eq!((table.rows(), table.column("rtt_ns").is_some()), (2, true));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name of the table.
    pub name: Cow<'static, str>,
    /// The columns, in order.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name of the column. If the values have a unit, the name has the unit as a suffix, and a
    /// qualifier may follow the unit.
    pub name: Cow<'static, str>,
    /// The values.
    pub data: Data,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Whole numbers.
    I64(Vec<i64>),
    /// Whole numbers, some of which are absent.
    OptionalI64(OptionalValues<i64>),
    /// Whole numbers that are all absent. The field is their count. They take no memory. A file
    /// stores them as [`OptionalI64`](Self::OptionalI64).
    MissingI64(usize),
    /// Numbers with a fraction, some of which are absent.
    OptionalF64(OptionalValues<f64>),
    /// Counts and sizes.
    U32(Vec<u32>),
    /// Small counts and sizes.
    U16(Vec<u16>),
    /// Numbers used as ids.
    U64(Vec<u64>),
    /// Values that are stored so that they take little memory. A file stores them as the column
    /// that [`NarrowColumn::wide`] returns.
    Narrow(NarrowColumn),
    /// Booleans.
    Bool(Vec<bool>),
    /// Texts, stored as indices into a list of texts.
    Text {
        /// The index of each row's text.
        codes: Vec<u32>,
        /// The texts.
        texts: Arc<[String]>,
    },
    /// Texts from a short fixed list, stored as indices into this list.
    Tag {
        /// The index of each row's text.
        codes: Vec<u8>,
        /// The texts.
        texts: &'static [&'static str],
    },
}

/// A column of values that are stored so that they take little memory. A file stores it as the
/// column that [`wide`](Self::wide) returns.
#[derive(Clone, Debug, PartialEq)]
pub enum NarrowColumn {
    /// Numbers used as counts, sizes and ids.
    U64(NarrowNumbers),
    /// Counts and sizes below 2^32.
    U32(NarrowNumbers),
    /// Signed numbers.
    I64(NarrowNumbers),
    /// Signed numbers, some of which are absent. The fields are the numbers that exist, and which
    /// rows have a number.
    OptionalI64(NarrowNumbers, Existence),
    /// Numbers with a fraction, some of which are absent. The fields are the numbers that exist,
    /// and which rows have a number.
    OptionalF64(Vec<f64>, Existence),
}

impl NarrowColumn {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::U64(all) | Self::U32(all) | Self::I64(all) => all.len(),
            Self::OptionalI64(_, exist) | Self::OptionalF64(_, exist) => exist.rows(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of this column in a column that is not narrow.
    pub fn wide(&self) -> Data {
        match self {
            Self::U64(all) => Data::U64(all.wide()),
            Self::U32(all) => Data::U32(all.wide().into_iter().map(|one| one as u32).collect()),
            Self::I64(all) => Data::I64(all.signed()),
            Self::OptionalI64(all, exist) => {
                Data::OptionalI64(exist.spread(&all.signed()).collect())
            }
            Self::OptionalF64(all, exist) => Data::OptionalF64(exist.spread(all).collect()),
        }
    }

    /// Returns the column of the values of `rows`, in this order.
    fn of_rows(&self, rows: &[usize]) -> Self {
        match self {
            Self::U64(all) => Self::U64(all.of_rows(rows)),
            Self::U32(all) => Self::U32(all.of_rows(rows)),
            Self::I64(all) => Self::I64(all.of_rows(rows)),
            Self::OptionalI64(existing, exist) => {
                let (places, exist) = picked(exist, rows);
                Self::OptionalI64(existing.of_rows(&places), exist)
            }
            Self::OptionalF64(existing, exist) => {
                let (places, exist) = picked(exist, rows);
                Self::OptionalF64(places.into_iter().map(|place| existing[place]).collect(), exist)
            }
        }
    }
}

/// Picks `rows` from a column. `exist` shows which rows of the column have a value. Returns two
/// results: the index of each picked value among the values that exist, and which of `rows` have a
/// value.
fn picked(exist: &Existence, rows: &[usize]) -> (Vec<usize>, Existence) {
    let mut picked = Existence::default();
    let places = exist.places(rows).inspect(|place| picked.push(place.is_some()));
    (places.flatten().collect(), picked)
}

impl Data {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Data::I64(values) => values.len(),
            Data::OptionalI64(values) => values.len(),
            Data::MissingI64(count) => *count,
            Data::OptionalF64(values) => values.len(),
            Data::U32(values) => values.len(),
            Data::U16(values) => values.len(),
            Data::U64(values) => values.len(),
            Data::Narrow(values) => values.len(),
            Data::Bool(values) => values.len(),
            Data::Text { codes, .. } => codes.len(),
            Data::Tag { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values of `rows`, in this order.
    fn of_rows(&self, rows: &[usize]) -> Self {
        fn pick<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|row| values[*row]).collect()
        }
        match self {
            Data::I64(values) => Data::I64(pick(values, rows)),
            Data::OptionalI64(values) => Data::OptionalI64(values.of_rows(rows)),
            Data::MissingI64(_) => Data::MissingI64(rows.len()),
            Data::OptionalF64(values) => Data::OptionalF64(values.of_rows(rows)),
            Data::U32(values) => Data::U32(pick(values, rows)),
            Data::U16(values) => Data::U16(pick(values, rows)),
            Data::U64(values) => Data::U64(pick(values, rows)),
            Data::Narrow(values) => Data::Narrow(values.of_rows(rows)),
            Data::Bool(values) => Data::Bool(pick(values, rows)),
            Data::Text { codes, texts } => {
                Data::Text { codes: pick(codes, rows), texts: Arc::clone(texts) }
            }
            Data::Tag { codes, texts } => Data::Tag { codes: pick(codes, rows), texts },
        }
    }
}

impl Column {
    /// Makes a column called `name`.
    pub fn new(name: impl Into<Cow<'static, str>>, data: Data) -> Self {
        Self { name: name.into(), data }
    }
}

impl Table {
    /// Makes a table called `name`.
    ///
    /// # Panics
    /// When the columns differ in length.
    pub fn new(name: impl Into<Cow<'static, str>>, columns: Vec<Column>) -> Self {
        let lengths = columns.iter().map(|column| column.data.len());
        assert!(
            lengths.min() == columns.iter().map(|c| c.data.len()).max(),
            "the columns differ in length"
        );
        Self { name: name.into(), columns }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.data.len())
    }

    /// Returns the values of the column called `name`, if there is one.
    pub fn column(&self, name: &str) -> Option<&Data> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.data)
    }

    /// Returns a table of the rows with these numbers, in this order. The new table has only the
    /// columns for whose names the function `has` returns true.
    ///
    /// ```
    /// use netspurt::record::{Column, Data, Table};
    /// let table = Table::new("rtt", vec![Column::new("rtt_ns", Data::I64(vec![10, 20, 30]))]);
    /// let picked = table.with_rows(&[2, 0], |_| true);
    /// assert_eq!(picked.column("rtt_ns"), Some(&Data::I64(vec![30, 10])));
    /// ```
    ///
    /// # Panics
    /// When one of these numbers is not below [`rows`](Self::rows).
    #[must_use]
    pub fn with_rows(&self, rows: &[usize], has: impl Fn(&str) -> bool) -> Self {
        let taken = |of: &Column| Column { name: of.name.clone(), data: of.data.of_rows(rows) };
        let columns = self.columns.iter().filter(|column| has(&column.name)).map(taken);
        Self { name: self.name.clone(), columns: columns.collect() }
    }

    /// Returns the table with its rows ordered by `t_ns`. Rows of one instant keep their order.
    #[must_use]
    pub(super) fn in_time(mut self) -> Self {
        let Some(Data::I64(times)) = self.column("t_ns") else { return self };
        if times.is_sorted() {
            return self;
        }
        let mut rows: Vec<usize> = (0..times.len()).collect();
        rows.sort_by_key(|row| times[*row]);
        self.columns.iter_mut().for_each(|column| column.data = column.data.of_rows(&rows));
        self
    }
}
