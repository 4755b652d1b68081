//! Checks of Parquet files before they are decoded: the check refuses files that would keep the
//! decoder busy without end.

mod parquet;
mod thrift;

pub use parquet::{ParquetFault, open_parquet};
