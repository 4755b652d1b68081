//! Tables for Python, with their columns as numpy arrays.

use std::fs::File;
use std::sync::Arc;

use netspurt::record::{self as core, Data, read_table, read_table_bytes, write_table};
use netspurt::results::Results;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;

use crate::array::array;
use crate::errors::file_error;

/// A table of a record.
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

    /// Returns a table of the rows with these numbers, in this order.
    fn with_rows(&self, rows: Vec<usize>) -> PyResult<Self> {
        match rows.iter().find(|row| **row >= self.table().rows()) {
            Some(row) => Err(PyIndexError::new_err(format!("there is no row {row}"))),
            None => Ok(Self::of(self.table().with_rows(&rows))),
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

    /// Returns a column as (values, texts, valid).
    ///
    /// If `texts` is not `None`, the values are indices into that list. If `valid` is not `None`,
    /// it shows which values exist.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<PyColumn<'py>> {
        let Some(data) = self.table().column(name) else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        let valid = |exist: &[bool]| array(py, exist).map(Some);
        Ok(match data {
            Data::I64(values) => (array(py, values)?, None, None),
            Data::OptionalI64(all) => (array(py, all.filled())?, None, valid(all.exist())?),
            Data::OptionalF64(all) => (array(py, all.filled())?, None, valid(all.exist())?),
            Data::MissingI64(count) => {
                (array(py, &vec![0_i64; *count])?, None, valid(&vec![false; *count])?)
            }
            Data::U32(values) => (array(py, values)?, None, None),
            Data::U16(values) => (array(py, values)?, None, None),
            Data::U64(values) => (array(py, values)?, None, None),
            Data::Bool(values) => (array(py, values)?, None, None),
            Data::Text { codes, texts } => (array(py, codes)?, Some(texts.to_vec()), None),
            Data::Tag { codes, texts } => {
                let texts = texts.iter().map(|text| (*text).to_owned()).collect();
                (array(py, codes)?, Some(texts), None)
            }
        })
    }
}

type PyColumn<'py> = (Bound<'py, PyAny>, Option<Vec<String>>, Option<Bound<'py, PyAny>>);
