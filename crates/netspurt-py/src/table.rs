//! The tables of runs and captures for Python, with their columns as numpy arrays.

use std::fs::File;
use std::sync::Arc;

use netspurt::record::{
    self as core, Data, Existence, NarrowColumn, NarrowNumbers, StoredNumbers, write_table,
};
use netspurt::results::Results;
use netspurt_files::tables::{read_table, read_table_bytes};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;

use crate::array::{Cell, array, collected};
use crate::errors::file_error;

/// A table of a run or of a capture.
#[pyclass(frozen, name = "Table", module = "netspurt._core")]
pub struct PyTable(TableSource);

enum TableSource {
    Run(Arc<Results>, usize),
    Alone(core::Table),
}

impl PyTable {
    pub fn of(table: core::Table) -> Self {
        Self(TableSource::Alone(table))
    }

    pub fn of_run(results: Arc<Results>, index: usize) -> Self {
        Self(TableSource::Run(results, index))
    }

    /// The table itself.
    pub fn table(&self) -> &core::Table {
        match &self.0 {
            TableSource::Run(results, index) => &results.tables()[*index],
            TableSource::Alone(table) => table,
        }
    }
}

#[pymethods]
impl PyTable {
    /// Reads the table called `name` from a Parquet file.
    #[staticmethod]
    fn read(py: Python<'_>, name: &str, path: &str) -> PyResult<Self> {
        py.detach(|| {
            let file = File::open(path).map_err(|e| file_error(path, e))?;
            let table = read_table(name, file).map_err(|e| file_error(path, e))?;
            Ok(Self(TableSource::Alone(table)))
        })
    }

    /// Reads the table called `name` from the octets of a Parquet file.
    #[staticmethod]
    fn parse(py: Python<'_>, name: &str, octets: Vec<u8>) -> PyResult<Self> {
        let table = py.detach(|| read_table_bytes(name, octets));
        table.map(|table| Self(TableSource::Alone(table))).map_err(|e| file_error(name, e))
    }

    /// Writes the table as a Parquet file.
    fn write(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| {
            let mut file = File::create(path).map_err(|e| file_error(path, e))?;
            write_table(self.table(), &mut file).map_err(|e| file_error(path, e))
        })
    }

    /// Returns a table of the rows with these numbers, in this order. It has the columns that
    /// `columns` names, or all columns if `columns` is `None`.
    #[pyo3(signature = (rows, columns=None))]
    fn with_rows(&self, rows: Vec<usize>, columns: Option<Vec<String>>) -> PyResult<Self> {
        match rows.iter().find(|row| **row >= self.table().rows()) {
            Some(row) => Err(PyIndexError::new_err(format!(
                "there is no row {row}: the table has {} rows, counted from 0",
                self.table().rows()
            ))),
            None => {
                let has =
                    |name: &str| columns.as_ref().is_none_or(|all| all.iter().any(|n| n == name));
                Ok(Self::of(self.table().with_rows(&rows, has)))
            }
        }
    }

    /// The name of the table.
    #[getter]
    fn name(&self) -> &str {
        &self.table().name
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.table().columns.iter().map(|column| &*column.name).collect()
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.table().rows()
    }

    /// Returns a column as (values, texts, valid, dtype).
    ///
    /// If `texts` is not `None`, the values are indices into the list `texts`. If `valid` is not
    /// `None`, it shows which values exist. The values of a column have the type `dtype`, but the
    /// array may have a narrower type that holds all of them.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<PyColumn<'py>> {
        let Some(data) = self.table().column(name) else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        let valid = |exist: &[bool]| array(py, exist).map(Some);
        Ok(match data {
            Data::I64(values) => plain(py, values)?,
            Data::OptionalI64(all) => {
                (array(py, all.filled())?, None, valid(all.exist())?, i64::DTYPE)
            }
            Data::OptionalF64(all) => {
                (array(py, all.filled())?, None, valid(all.exist())?, f64::DTYPE)
            }
            Data::MissingI64(count) => {
                let exist = valid(&vec![false; *count])?;
                (array(py, &vec![0_u8; *count])?, None, exist, i64::DTYPE)
            }
            Data::U32(values) => plain(py, values)?,
            Data::U16(values) => plain(py, values)?,
            Data::U64(values) => plain(py, values)?,
            Data::Narrow(column) => narrow(py, column)?,
            Data::Bool(values) => plain(py, values)?,
            Data::Text { codes, texts } => {
                (array(py, codes)?, Some(texts.to_vec()), None, u32::DTYPE)
            }
            Data::Tag { codes, texts } => {
                let texts = texts.iter().map(|text| (*text).to_owned()).collect();
                (array(py, codes)?, Some(texts), None, u8::DTYPE)
            }
        })
    }
}

type PyColumn<'py> =
    (Bound<'py, PyAny>, Option<Vec<String>>, Option<Bound<'py, PyAny>>, &'static str);

fn plain<'py, T: Cell>(py: Python<'py>, values: &[T]) -> PyResult<PyColumn<'py>> {
    Ok((array(py, values)?, None, None, T::DTYPE))
}

fn narrow<'py>(py: Python<'py>, column: &NarrowColumn) -> PyResult<PyColumn<'py>> {
    let valid = |exist: &Existence| array(py, &exist.iter().collect::<Vec<_>>()).map(Some);
    Ok(match column {
        NarrowColumn::U64(all) => (numbers(py, all, None)?, None, None, u64::DTYPE),
        NarrowColumn::U32(all) => (numbers(py, all, None)?, None, None, u32::DTYPE),
        NarrowColumn::I64(all) => (numbers(py, all, None)?, None, None, i64::DTYPE),
        NarrowColumn::OptionalI64(all, exist) => {
            (numbers(py, all, Some(exist))?, None, valid(exist)?, i64::DTYPE)
        }
        NarrowColumn::OptionalF64(all, exist) => {
            (spread(py, all, Some(exist))?, None, valid(exist)?, f64::DTYPE)
        }
    })
}

/// Makes an array of numbers. Each number has as many octets as in the column. `exist` shows which
/// rows have a number; the other rows get zeros.
fn numbers<'py>(
    py: Python<'py>,
    all: &NarrowNumbers,
    exist: Option<&Existence>,
) -> PyResult<Bound<'py, PyAny>> {
    match all.stored() {
        StoredNumbers::Zeros { count, .. } => spread(py, &vec![0_u8; *count], exist),
        StoredNumbers::One(all) => spread(py, all, exist),
        StoredNumbers::Two(all) => spread(py, all, exist),
        StoredNumbers::Four(all) => spread(py, all, exist),
        StoredNumbers::Eight(all) => spread(py, all, exist),
    }
}

fn spread<'py, T: Cell + Default>(
    py: Python<'py>,
    all: &[T],
    exist: Option<&Existence>,
) -> PyResult<Bound<'py, PyAny>> {
    match exist {
        Some(exist) => collected(py, exist.spread(all).map(Option::unwrap_or_default)),
        None => array(py, all),
    }
}
