//! Converts columns of numbers to numpy arrays, and numpy arrays to columns of numbers.

use bytemuck::{NoUninit, cast_slice};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// A type of numbers that a numpy array can hold.
pub trait Cell: NoUninit {
    /// numpy's name for the type.
    const DTYPE: &'static str;
}

macro_rules! cells {
    ($($cell:ty: $dtype:literal),*) => {$(
        impl Cell for $cell {
            const DTYPE: &'static str = $dtype;
        }
    )*};
}

cells!(bool: "?", u8: "u1", u16: "u2", u32: "u4", u64: "u8", i64: "i8", f64: "f8");

/// Makes a new array of `cells`.
pub fn array<'py, T: Cell>(py: Python<'py>, cells: &[T]) -> PyResult<Bound<'py, PyAny>> {
    let octets = PyByteArray::new(py, cast_slice(cells));
    py.import("numpy")?.call_method1("frombuffer", (octets, T::DTYPE))
}

/// Makes a new array of the cells that `cells` yields.
pub fn collected<T: Cell>(
    py: Python<'_>,
    cells: impl Iterator<Item = T>,
) -> PyResult<Bound<'_, PyAny>> {
    array(py, &cells.collect::<Vec<_>>())
}

/// Returns the numbers in an array of one dimension.
///
/// # Errors
/// When the array does not have one dimension, or has another type of numbers.
pub fn cells<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let buffer = PyBuffer::<T>::get(array)?;
    if buffer.dimensions() != 1 {
        let message =
            format!("the array has {} dimensions: pass an array with one", buffer.dimensions());
        return Err(PyTypeError::new_err(message));
    }
    buffer.to_vec(array.py())
}
