//! Opens Parquet files. Before, each file is checked: the check refuses files that would keep the
//! decoder busy without end.

mod open;
mod thrift;

pub use open::{ParquetFault, open_parquet};
