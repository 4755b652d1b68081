//! Converts columns to numpy arrays, and numpy arrays to columns.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// A type of numbers that a numpy array can hold.
pub trait Cell: Copy {
    /// numpy's name for the type.
    const DTYPE: &'static str;
    /// The octets of a number in memory.
    type Octets: AsRef<[u8]>;
    /// Returns the octets of the number in memory.
    fn octets(self) -> Self::Octets;
}

macro_rules! cells {
    ($($cell:ty: $dtype:literal),*) => {$(
        impl Cell for $cell {
            const DTYPE: &'static str = $dtype;
            type Octets = [u8; size_of::<$cell>()];
            fn octets(self) -> Self::Octets {
                self.to_ne_bytes()
            }
        }
    )*};
}

cells!(u8: "u1", u16: "u2", u32: "u4", u64: "u8", i64: "i8", f64: "f8");

impl Cell for bool {
    const DTYPE: &'static str = "?";
    type Octets = [u8; 1];
    fn octets(self) -> [u8; 1] {
        [u8::from(self)]
    }
}

/// Makes a new array of `cells`.
pub fn array<T: Cell>(
    py: Python<'_>,
    cells: impl ExactSizeIterator<Item = T>,
) -> PyResult<Bound<'_, PyAny>> {
    let octets = PyByteArray::new_with(py, cells.len() * size_of::<T>(), |room| {
        for (place, cell) in room.chunks_exact_mut(size_of::<T>()).zip(cells) {
            place.copy_from_slice(cell.octets().as_ref());
        }
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (octets, T::DTYPE))
}

/// Returns the numbers in an array of one dimension.
///
/// # Errors
/// When the array does not have one dimension, or has another type of numbers.
pub fn cells<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let buffer = PyBuffer::<T>::get(array)?;
    if buffer.dimensions() != 1 {
        let message = format!("the array has {} dimensions, not one", buffer.dimensions());
        return Err(PyTypeError::new_err(message));
    }
    buffer.to_vec(array.py())
}
